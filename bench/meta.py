"""Meta-evaluation of 20 measures on 129 systems and 50 topics.

`python -m bench.meta NAME` runs one method, alone in its process, and prints seconds and bytes as JSON. Time goes from
scores in memory to the record; everything is imported and the scores made before.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bench.comparisons import SYSTEMS, TOPICS, scores
from bench.peers import peak_bytes

MEASURES = 20

Timed = Callable[[], Any]


def panel() -> Any:
    """`Scores` by measures of which each is noisier than the one before."""
    from cranfield.scores.scores import Scores

    rng = np.random.default_rng(1)
    plain = scores().T
    values = [np.clip(plain + rng.normal(0, 0.01 * m, plain.shape), 0, 1) for m in range(MEASURES)]
    names = [f"measure {m}" for m in range(MEASURES)]
    return Scores(names, [f"run{s}" for s in range(SYSTEMS)], map(str, range(TOPICS)), values)


def power() -> Timed:
    from cranfield.comparison.registry import find_test
    from cranfield.meta.stability.discrimination import discriminative_power

    made = panel()
    find_test("bootstrap")  # imports all tests
    return lambda: discriminative_power(made, test="bootstrap", resamples=1_000)


def swap() -> Timed:
    from cranfield.meta.stability.swap import swap_rates

    made = panel()
    return lambda: swap_rates(made, resamples=1_000)


def concordance() -> Timed:
    from cranfield.meta.agreement.concordance import concord

    made = panel()
    return lambda: concord(made, made.measures[:2], made.measures)


def correlation() -> Timed:
    from cranfield.meta.agreement.correlation import correlate

    made = panel()
    return lambda: correlate(made, coefficients=["tau-b", "tau-ap-symmetric"], resamples=1_000)


POWER, SWAP = "discriminative power, bootstrap, B = 1,000", "swap method, B = 1,000"
CONCORD = "concordance, 190 pairs of measures, 2 gold standards"
CORRELATE = "tau and symmetric tau_ap with intervals, B = 1,000"

CONTESTANTS: dict[str, Callable[[], Timed]] = {
    POWER: power,
    SWAP: swap,
    CONCORD: concordance,
    CORRELATE: correlation,
}
LIMITS = {POWER: 20.0, SWAP: 20.0, CONCORD: 10.0, CORRELATE: 20.0}
"""Seconds that each may take."""


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
    main(sys.argv[1])
