"""Sessions: 10,000 sessions of three queries with ten documents, all measures.

`python -m bench.sessions NAME` runs one contestant in its own process, and prints seconds and bytes as JSON. The time
goes from a file on the disk to scores; imports and the making of the file are not included.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench.peers import peak_bytes

Timed = Callable[[], Any]

SESSIONS, QUERIES, DOCUMENTS, TOPICS = 10_000, 3, 10, 50
JUDGED, CLICKED = "cranfield, judgments", "cranfield, clicks"


def make(folder: Path) -> tuple[Path, dict[str, dict[str, int]], dict[str, float]]:
    """A file of sessions, judgments and lengths. Lists have up to ten documents, some of them in several lists."""
    rng = np.random.default_rng(0)
    pool = [f"doc{number}" for number in range(200)]
    path = folder / "sessions.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for session in range(SESSIONS):
            for query in range(1, QUERIES + 1):
                size = DOCUMENTS if rng.random() < 0.8 else int(rng.integers(1, DOCUMENTS))
                shown = [pool[number] for number in rng.permutation(200)[:size].tolist()]
                clicks = [
                    {"rank": int(rank), "time": 100 * query + 10 * at}
                    for at, rank in enumerate(rng.integers(1, size + 1, int(rng.integers(0, 4))))
                ]
                record = {"session": f"s{session}", "topic": str(session % TOPICS), "query": query, "list": shown}
                file.write(json.dumps(record | {"time": 100 * query, "clicks": clicks}) + "\n")
    grades = {
        str(topic): dict(zip(pool, rng.choice([0, 0, 0, 1, 2], 200).tolist(), strict=True)) for topic in range(TOPICS)
    }
    return path, grades, {doc: float(rng.integers(500, 20_000)) for doc in pool}


def scored(folder: Path, gains: str) -> Timed:
    from cranfield.answers.sessions import SESSION_MEASURES, read_sessions, session_scores

    path, grades, lengths = make(folder)
    names = [*SESSION_MEASURES, 'nsDCG(norm="repeated")', 'sDCG(form="original")']
    return lambda: (
        session_scores({"x": read_sessions(path)}, grades, names, gains=gains, lengths=lengths).means().ravel().tolist()
    )


CONTESTANTS: dict[str, Callable[[Path], Timed]] = {
    JUDGED: lambda folder: scored(folder, "judgments"),
    CLICKED: lambda folder: scored(folder, "clicks"),
}


def main(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        timed = CONTESTANTS[name](Path(folder))
        before, ready = peak_bytes(), time.perf_counter()
        means = timed()
        done = time.perf_counter()
    times = {"seconds": done - ready, "with_imports": done - began, "spent": done - began}
    print(json.dumps({**times, "peak": peak_bytes(), "grown": peak_bytes() - before, "means": means}))


if __name__ == "__main__":
    main(*sys.argv[1:])
