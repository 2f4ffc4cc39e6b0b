"""Weak scaling on Spark: twice the runs on twice the workers should take the same time.

    python -m bench.cluster 1 2              # with 1 and with 2 workers
    python -m bench.cluster 1 2 --rows 2000000

Makes a Parquet table for each number of workers, with the same number of rows per worker, and scores it with each
way to join. The first evaluation of a session is not timed: Java compiles, and the workers import cranfield. Prints a
line per number of workers and way: rows, seconds (the best of three), rows per second and worker.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TOPICS, DEPTH, JUDGED = 100, 1000, 100
REPEATS = 3


def qrels() -> dict[str, dict[str, int]]:
    rng = np.random.default_rng(0)
    return {
        f"q{topic}": {f"doc{doc}": int(rng.integers(0, 4)) for doc in rng.choice(100_000, JUDGED, replace=False)}
        for topic in range(TOPICS)
    }


def write_runs(folder: Path, rows: int) -> None:
    """A file for each run of 100 topics × 1,000 documents."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(1)
    for run in range(rows // (TOPICS * DEPTH)):
        docs = np.concatenate([rng.choice(100_000, DEPTH, replace=False) for _ in range(TOPICS)])
        columns = {
            "run": np.full(len(docs), f"run{run}"),
            "topic": np.repeat([f"q{topic}" for topic in range(TOPICS)], DEPTH),
            "doc": np.char.add("doc", docs.astype(str)),
            "score": rng.uniform(0, 30, len(docs)),
        }
        parquet.write_table(pyarrow.table(columns), folder / f"{run}.parquet")


def measure(workers: int, folder: Path, how: str) -> float:
    from cranfield.cluster import evaluate_tables
    from cranfield.online.engines import open_engine

    judgments = qrels()
    with open_engine(f"local[{workers}]", memory="2GB") as engine:
        engine.session.conf.set("spark.sql.shuffle.partitions", str(4 * workers))  # type: ignore[attr-defined]
        best = float("inf")
        for attempt in range(REPEATS + 1):
            began = time.perf_counter()
            evaluate_tables(judgments, str(folder), ["nDCG@10", "AP"], engine=engine, how=how)
            if attempt:
                best = min(best, time.perf_counter() - began)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workers", nargs="*", type=int, default=[1, 2], help="numbers of workers (default: 1 2)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows per worker (default: 1,000,000)")
    parser.add_argument("--one", nargs=3, metavar=("WORKERS", "FOLDER", "WAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        workers, folder, how = options.one
        print(measure(int(workers), Path(folder), how))
        return
    for workers in options.workers:
        with tempfile.TemporaryDirectory() as folder:
            rows = options.rows * workers
            write_runs(Path(folder), rows)
            for how in ("core", "sql"):  # a session in each process: Spark keeps one Java for all sessions
                one = [sys.executable, "-m", "bench.cluster", "--one", str(workers), folder, how]
                seconds = float(subprocess.run(one, capture_output=True, text=True, check=True).stdout.split()[-1])
                speed = rows / seconds / workers
                print(
                    f"{workers} workers, {how}: {rows:,} rows, {seconds:.1f} s, {speed:,.0f} rows/s and worker",
                    flush=True,
                )


if __name__ == "__main__":
    main()
