"""Interleaving at serving speed: lists of ten documents from two lists of ten, one after the other on one core.

`python -m bench.interleaving NAME` runs one contestant in its own process, and prints seconds and bytes as JSON. The
time is that of 10,000 calls, so 0.1 s are 10 µs for each list, with its attribution record as an object. A further
contestant makes the same lists from arrays, and two count the wins of a log of 20,000 lists with their clicks.
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

LISTS, LENGTH, LOGGED = 10_000, 10, 20_000
METHODS = {
    "balanced": "balanced",
    "team draft": "team-draft",
    "probabilistic": "probabilistic",
    "probabilistic without replacement": "probabilistic(replacement=false)",
    "pairwise preference": "pairwise",
    "sample-only-scored": "sosm",
    "optimised, its linear programme solved before": "optimised",
}
FIRST = [f"document-{n:04d}" for n in range(LENGTH)]
SECOND = [f"document-{(7 * n + 3) % 15:04d}" for n in range(LENGTH)]


def one_at_a_time(method: str) -> Callable[[], Timed]:
    def prepare() -> Timed:
        from cranfield.online.interleaving.interleaved import Interleaver

        serve, rankings = Interleaver(method, length=LENGTH), {"first": FIRST, "second": SECOND}
        serve(rankings, 0)

        def work() -> None:
            for seed in range(LISTS):
                serve(rankings, seed)

        return work

    return prepare


def arrays() -> Timed:
    from cranfield.online.interleaving.interleaved import Interleaver
    from cranfield.online.interleaving.interleaved_batch import QueryLists, interleave_many, list_seeds

    lists = QueryLists.of({"q": {"first": FIRST, "second": SECOND}})
    query, seeds = np.zeros(LISTS, dtype=np.int64), list_seeds(0, LISTS)
    return lambda: interleave_many(lists, Interleaver("team-draft", length=LENGTH), query, seeds, threads=1)


def counting(on_engine: bool) -> Callable[[], Timed]:
    def prepare() -> Timed:
        from cranfield.online.engines import open_engine
        from cranfield.online.interleaving.attribution_log import LoggedList, count_logged, write_records
        from cranfield.online.interleaving.engine_counts import count_on_engine
        from cranfield.online.interleaving.interleaved import Interleaver

        serve, rankings = Interleaver("team-draft", length=LENGTH), {"first": FIRST, "second": SECOND}
        clicks = np.random.default_rng(0).integers(1, LENGTH + 1, size=(LOGGED, 2)).tolist()
        log = Path(tempfile.mkdtemp()) / "log.jsonl"
        write_records(
            log,
            (
                LoggedList(serve(rankings, n), f"i{n}", f"u{n % 5_000}", f"q{n % 300}", tuple(clicks[n]))
                for n in range(LOGGED)
            ),
        )
        if not on_engine:
            return lambda: count_logged(log)
        engine = open_engine("duckdb", threads=1)
        return lambda: count_on_engine(engine, str(log))

    return prepare


ARRAYS = "team draft, from arrays"
CONTESTANTS: dict[str, Callable[[], Timed]] = {
    **{label: one_at_a_time(method) for label, method in METHODS.items()},
    ARRAYS: arrays,
    f"wins of a log of {LOGGED:,} lists, in Python": counting(False),
    f"wins of a log of {LOGGED:,} lists, on DuckDB with one thread": counting(True),
}
MICROSECONDS = {"balanced": 20, "team draft": 20, "probabilistic": 20}
"""The most that a list may take."""


def main(name: str) -> None:
    began = time.perf_counter()
    timed = CONTESTANTS[name]()
    ready = time.perf_counter()
    timed()
    done = time.perf_counter()
    print(
        json.dumps({"seconds": done - ready, "with_imports": done - began, "spent": done - began, "peak": peak_bytes()})
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
