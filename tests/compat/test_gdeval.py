"""The replacement for gdeval prints the output of gdeval.

Witnesses: `gdeval_output.txt` holds what gdeval.pl 1.3 printed for the files below; the script that comes with
ir_measures (version 1.2a, which prints no means) runs on random files; and arithmetic.
"""

from __future__ import annotations

import importlib.util
import io
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from cranfield.compat.gdeval import main

QRELS = """\
51 0 a 4
51 0 b 1
51 0 c 0
51 0 d -2
51 0 e 2
2 0 a 1
2 0 b 3
100 0 a 0
7 0 a 1
8 0 b 4
"""
RUN = """\
wt-51 Q0 c 1 9 first
51 Q0 b 2 9 first
51 Q0 a 3 16777216 first
51 Q0 e 4 16777217 first
51 Q0 x 5 1 first
2 Q0 b 1 2 first
100 Q0 a 1 2 first
99 Q0 a 1 2 last
"""
BASE = """\
51 Q0 a 1 9 base
51 Q0 b 2 8 base
2 Q0 a 1 2 base
7 Q0 a 1 2 base
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"qrels": QRELS, "run": RUN, "base": BASE}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(arguments.split(), out, err)
    return code, out.getvalue(), err.getvalue()


def recorded() -> list[tuple[str, str]]:
    text = (Path(__file__).parent / "gdeval_output.txt").read_text()
    cases = [case.partition("\n") for case in text.split("$ gdeval ")[1:]]
    return [(arguments, output) for arguments, _, output in cases]


@pytest.mark.parametrize(("arguments", "output"), recorded(), ids=lambda text: text[:60].split("\n")[0])
def test_prints_what_gdeval_printed(arguments: str, output: str) -> None:
    assert call(arguments) == (0, output, "")


def test_a_topic_by_hand() -> None:
    # Topic 2: b (grade 3) alone at rank 1. DCG is 7, that of the ideal list b a is 7 + 1 / log2 3 = 7.63093; ERR stops
    # at rank 1 with 7/16.
    assert "last,2,0.91732,0.43750\n" in call("qrels run")[1]


@pytest.mark.skipif(shutil.which("perl") is None, reason="the script needs Perl")
def test_agrees_with_the_script_of_ir_measures_on_random_files() -> None:
    spec = importlib.util.find_spec("ir_measures")
    assert spec is not None
    assert spec.origin is not None
    script = Path(spec.origin).parent / "bin" / "gdeval.pl"
    rng = random.Random(3)
    for _ in range(30):
        docs, topics = (
            [f"d{i}" for i in range(rng.randint(1, 40))],
            rng.sample(["1", "10", "2", "51"], rng.randint(1, 4)),
        )
        judged = [(topic, doc) for topic in topics for doc in rng.sample(docs, rng.randint(1, len(docs)))]
        Path("qrels").write_text("".join(f"{t} 0 {doc} {rng.choice([-2, 0, 1, 2, 3, 4])}\n" for t, doc in judged))
        found = [(topic, doc) for topic in [*topics, "9"] for doc in rng.sample(docs, rng.randint(1, len(docs)))]
        scores = [1, 2, 0.5, 16777216, 16777217, -1.5]
        Path("run").write_text("".join(f"{t} Q0 {doc} 1 {rng.choice(scores)} tag\n" for t, doc in found))
        depth = rng.choice([1, 5, 20, 100])
        printed = subprocess.run(
            ["perl", str(script), "qrels", "run", str(depth)], capture_output=True, text=True, check=True
        ).stdout
        assert "".join(call(f"-k {depth} qrels run")[1].splitlines(keepends=True)[:-1]) == printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("qrels", "1 file, must be 2: qrels run"),
        ("-x qrels run", "no option -x"),
        ("-k 0 qrels run", "-k 0: must be 1 or more"),
        ("-riskAlpha x qrels run", "-riskAlpha x: must be a number, 0 or more"),
    ],
)
def test_a_wrong_call_is_explained_and_exits_with_2(arguments: str, message: str) -> None:
    code, out, err = call(arguments)
    assert (code, out) == (2, "")
    assert err.startswith("gdeval: ")
    assert message in err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("qrels", "51 0 a\n", "qrels:1: 3 columns, expected 4: topic 0 doc grade"),
        ("qrels", "51 0 a 1\n51 0 b 5\n", "qrels:2: the grade is 5, must be a whole number up to 4"),
        ("qrels", "51 0 a 1\n51 0 b 0.5\n", "qrels:2: the grade is 0.5, must be a whole number up to 4"),
        (
            "qrels",
            "51 0 a 1\n51 2 a 1\n",
            "qrels:2: the second column is '2', must be 0: gdeval needs judgments without",
        ),
        ("qrels", "q1 0 a 1\n", "qrels: topic 'q1' is not a number"),
        ("qrels", "51 0 a 1\n51 0 a 1\n", "document 'a' appears twice for topic '51'"),
        ("run", "51 Q0 a 1 x tag\n", "run:1: the score is 'x'"),
        ("run", "51 Q0 a 1 1\n", "run:1: 5 columns, expected 6"),
        ("run", "q9 Q0 a 1 1 tag\n", "run: topic 'q9' is not a number"),
    ],
)
def test_wrong_data_is_named_by_file_and_line_and_exits_with_1(files: Path, name: str, text: str, message: str) -> None:
    (files / name).write_text(text)
    code, out, err = call("qrels run")
    assert (code, out) == (1, "")
    assert message in err
