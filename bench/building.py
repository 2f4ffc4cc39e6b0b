"""Building a collection: pools of 129 runs on 50 topics.

`python -m bench.building NAME FOLDER` runs one contestant in its own process, and prints seconds and bytes as JSON. The
files are those of the part `many`, in FOLDER. The time goes from opening the files to the result, unless a contestant
says otherwise; imports are not included.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench import data
from bench.peers import peak_bytes

Timed = Callable[[], Any]

TEN_METHODS = [
    *("depth", "rrf", "rbp", "move-to-front", "hedge", "random", "epsilon-greedy", "ucb", "thompson", "max-mean"),
]
LARGE_POOL = 100_000
JUDGMENTS = 200


# -- pools


def evaluation(folder: Path) -> Timed:
    from cranfield import evaluate

    qrels, runs = data.ad_hoc(folder)
    return lambda: evaluate(str(qrels), [str(run) for run in runs], "AP").mean()


def depth_pool(folder: Path) -> Timed:
    from cranfield.building.pools.pool_building import make_pool
    from cranfield.building.pools.pooled_lists import PooledLists

    _, runs = data.ad_hoc(folder)
    return lambda: make_pool(PooledLists.of([str(run) for run in runs], depth=100), "depth").to_tsv()


def simulation(folder: Path) -> Timed:
    """Every judged document of the depth-100 pool is judged by ten methods, and the rankings are compared."""
    from cranfield.building.pools.pool_simulation import simulate_pools

    qrels, runs = data.ad_hoc(folder)
    return lambda: simulate_pools(str(qrels), [str(run) for run in runs], TEN_METHODS, [100, 500], "AP")


def next_document(method: str) -> Callable[[Path], Timed]:
    """`next` and `tell`, with 100,000 documents in the pool of a topic; the pool is made before the clock starts."""

    def prepare(folder: Path) -> Timed:
        from cranfield.building.pools.pooled_lists import PooledLists
        from cranfield.building.pools.pooling import Pooling

        runs = {
            f"r{run}": {"q": {f"d{run}-{rank}": float(-rank) for rank in range(1000)}}
            for run in range(LARGE_POOL // 1000)
        }
        lists = PooledLists.of(runs, depth=None)
        pooling = Pooling(lists, method)
        relevant = np.random.default_rng(0).random(JUDGMENTS) < 0.3
        pooling.next()

        def judge() -> None:
            for grade in relevant:
                offer = pooling.next()
                assert offer is not None
                pooling.tell("q", offer.doc, float(grade))

        return judge

    return prepare


EVAL, POOL = "cranfield eval, AP", "pool of depth 100"
SIMULATE = "simulation of ten methods"
NEXT = {method: f"{JUDGMENTS} judgments, 100,000 documents, {method}" for method in ("hedge", "thompson", "max-mean")}

POOLS: dict[str, Callable[[Path], Timed]] = {
    EVAL: evaluation,
    POOL: depth_pool,
    SIMULATE: simulation,
    **{label: next_document(method) for method, label in NEXT.items()},
}
POOL_RATIOS = {POOL: (EVAL, 2.0)}
POOL_LIMITS = {SIMULATE: 60.0, **dict.fromkeys(NEXT.values(), 0.02 * JUDGMENTS)}

# -- all

CONTESTANTS: dict[str, Callable[[Path], Timed]] = {**POOLS}
RATIOS: dict[str, tuple[str, float]] = {**POOL_RATIOS}
"""The other contestant, and the largest ratio of the times."""
LIMITS: dict[str, float] = {**POOL_LIMITS}
"""Time limits in seconds."""


def main(name: str, folder: str) -> None:
    began = time.perf_counter()
    timed = CONTESTANTS[name](Path(folder))
    ready = time.perf_counter()
    timed()
    done = time.perf_counter()
    print(
        json.dumps({"seconds": done - ready, "with_imports": done - began, "spent": done - began, "peak": peak_bytes()})
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
