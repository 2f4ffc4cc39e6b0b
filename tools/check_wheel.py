"""Try an installed package, such as a new wheel, in an environment that has nothing else.

    python -m venv empty && empty/bin/pip install dist/cranfield-*.whl && empty/bin/python tools/check_wheel.py

It takes some seconds and needs no compiler. Numbers that it compares with are worked out in the comments.
"""

from __future__ import annotations

import gzip
import math
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path


def command(*words: str) -> str:
    """The output of a command line of cranfield, which must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "cranfield", *words], capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise SystemExit(
            f"cranfield {' '.join(words)}\nended with status {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def check_library() -> None:
    import cranfield
    from cranfield import _core

    folders = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
    for module in (cranfield, _core):
        path = Path(str(module.__file__)).resolve()
        assert folders & set(path.parents), f"{path} is not the installed package; run this outside the checkout"
    qrels = {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    run = {"q1": {"d2": 3.0, "d1": 2.0, "d3": 2.0}}
    # d3 and d1 have equal scores, so the higher id comes first: grades 0, 1, 2
    scores = cranfield.evaluate(qrels, {"mine": run}, ["AP", "nDCG@3"]).mean()["mine"]
    assert math.isclose(scores["AP"], (1 / 2 + 2 / 3) / 2)
    ideal = 2 + 1 / math.log2(3)
    assert math.isclose(scores["nDCG@3"], (1 / math.log2(3) + 2 / 2) / ideal)


def check_commands() -> None:
    assert "bm25" in command("eval", "--sample")
    assert "fusion" in command("compare", "--sample", "-m", "nDCG@10", "--quiet")
    with tempfile.TemporaryDirectory() as folder:
        qrels, plain, packed = (Path(folder) / name for name in ("qrels.txt", "a.run", "b.run.gz"))
        qrels.write_bytes(b"1 0 d1 1\n1 0 d2 0\n")
        lines = b"1 Q0 d2 1 2.5 tag\n1 Q0 d1 2 1.5 tag\n"
        plain.write_bytes(lines)
        packed.write_bytes(gzip.compress(lines.replace(b"\n", b"\r\n")))
        for run in (plain, packed):  # the relevant document is at rank 2
            assert command("eval", str(qrels), str(run), "-m", "RR", "--format", "json").count("0.5")
        assert "RR" in command("explain", str(qrels), str(plain), "--topic", "1", "-m", "RR")
        assert command("trec_eval", "-m", "recip_rank", str(qrels), str(plain)).split() == [
            "recip_rank",
            "all",
            "0.5000",
        ]


if __name__ == "__main__":
    check_library()
    check_commands()
    print("the installed package works")
