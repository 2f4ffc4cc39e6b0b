"""Time and peak memory of runs that are larger than the memory that is allowed: plain, compressed, piped, scattered.

`python -m bench.large_files FOLDER` makes a run file of some gigabytes, scores it, and prints JSON:
{form: {"seconds", "cpu", "peak", "size"}}. `python -m bench.large_files --one QRELS RUN MEMORY` scores one file.
"""

import gzip
import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

from bench import data

COPIES = 10  # of the run of part `large`, each with topics of its own
MEMORY = "1GB"
MEASURES = ["AP", "nDCG@10", "RR", "P@10", "R@1000"]
JUDGED_TOPICS, JUDGED_DEPTH = 20_000, 1000


def make(folder: Path) -> tuple[Path, dict[str, Path]]:
    """The judgments and the run in several forms; files that exist are kept."""
    qrels, run = data.passages(folder, *data.LARGE)
    many, forms = folder / "huge.qrels", {name: folder / f"huge.run{name}" for name in ("", ".gz", ".scattered")}
    if not all(path.exists() for path in (many, *forms.values())):
        lines, judgments = run.read_bytes(), qrels.read_bytes()
        with open(forms[""], "wb") as plain, gzip.open(forms[".gz"], "wb", 1) as packed, open(many, "wb") as out:
            for copy in range(COPIES):
                mark = b"%02d" % (copy + 10)
                block = mark + lines.replace(b"\n", b"\n" + mark)[: -len(mark)]
                plain.write(block)
                packed.write(block)
                out.write(mark + judgments.replace(b"\n", b"\n" + mark)[: -len(mark)])
        rows = lines.splitlines(keepends=True)
        forms[".scattered"].write_bytes(b"".join(b"10" + row for begin in range(1000) for row in rows[begin::1000]))
    return many, forms


def judgments(folder: Path) -> tuple[Path, Path]:
    """20 million judgments, plain and as gzip."""
    path, packed = folder / "huge-judgments.qrels", folder / "huge-judgments.qrels.gz"
    if not (path.exists() and packed.exists()):
        with open(path, "wb") as file, gzip.open(packed, "wb", 1) as packed_file:
            for topic in range(JUDGED_TOPICS):
                rows = range(topic, topic + JUDGED_DEPTH)
                block = b"".join(b"%d 0 %d %d\n" % (topic, 10_000_000 + 7919 * row, row % 3) for row in rows)
                file.write(block)
                packed_file.write(block)
    return path, packed


def one(qrels: str, run: str, memory: str) -> dict[str, float]:
    """Score a file in this process."""
    from cranfield import evaluate

    began = time.perf_counter()
    evaluate(qrels, run, MEASURES, memory=None if memory == "-" else memory)
    seconds, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": int(peak[1]) * 1024 if peak else 0}


def alone(*words: str, pipe: Path | None = None) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-m", "bench.large_files", "--one", *words]
    with open(pipe or "/dev/null", "rb") as file:
        source = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        done = subprocess.run(command, stdin=source.stdout, capture_output=True, text=True, check=True)
        source.kill()
        source.wait()
    return dict(json.loads(done.stdout))


def main() -> None:
    if sys.argv[1] == "--one":
        print(json.dumps(one(*sys.argv[2:])))
        return
    folder = Path(sys.argv[1])
    qrels, forms = make(folder)
    size = forms[""].stat().st_size
    rows = {
        "plain, without a limit": alone(str(qrels), str(forms[""]), "-") | {"size": size},
        "plain": alone(str(qrels), str(forms[""]), MEMORY) | {"size": size},
        "gzip": alone(str(qrels), str(forms[".gz"]), MEMORY) | {"size": size},
        "pipe": alone(str(qrels), "-", MEMORY, pipe=forms[""]) | {"size": size},
        "topics not together": alone(str(qrels), str(forms[".scattered"]), "500MB")
        | {"size": forms[".scattered"].stat().st_size},
    }
    small_qrels, small = data.passages(folder, *data.LARGE)
    rows["a tenth"] = alone(str(small_qrels), str(small), "-") | {"size": small.stat().st_size}
    large, packed = judgments(folder)
    tiny = folder / "tiny.run"
    tiny.write_text("1 Q0 10007919 1 1.0 tiny\n")
    size = large.stat().st_size
    rows["20 million judgments"] = alone(str(large), str(tiny), "-") | {"size": size}
    rows["20 million judgments, gzip"] = alone(str(packed), str(tiny), "-") | {"size": size}
    rows["20 million judgments, pipe"] = alone("-", str(tiny), "-", pipe=large) | {"size": size}
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
