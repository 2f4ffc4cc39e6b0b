"""Meta-evaluation of 20 measures on 129 systems and 50 topics.

`python -m bench.meta NAME` runs one method in its own process, and prints seconds and bytes as JSON. The time goes from
scores in memory to the result; imports and the making of the scores are not included.
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
    """Return `Scores` of several measures, each noisier than the one before."""
    from cranfield.scores.scores import Scores

    rng = np.random.default_rng(1)
    plain = scores().T
    values = [np.clip(plain + rng.normal(0, 0.01 * m, plain.shape), 0, 1) for m in range(MEASURES)]
    names = [f"measure {m}" for m in range(MEASURES)]
    return Scores(names, [f"run{s}" for s in range(SYSTEMS)], map(str, range(TOPICS)), values)


def power() -> Timed:
    from cranfield.comparison.registry import find_test
    from cranfield.meta.stability.discrimination import discriminative_power

    data = panel()
    find_test("bootstrap")  # imports all tests
    return lambda: discriminative_power(data, test="bootstrap", resamples=1_000)


def swap() -> Timed:
    from cranfield.meta.stability.swap import swap_rates

    data = panel()
    return lambda: swap_rates(data, resamples=1_000)


def concordance() -> Timed:
    from cranfield.meta.agreement.concordance import concord

    data = panel()
    return lambda: concord(data, data.measures[:2], data.measures)


def correlation() -> Timed:
    from cranfield.meta.agreement.correlation import correlate

    data = panel()
    return lambda: correlate(data, coefficients=["tau-b", "tau-ap-symmetric"], resamples=1_000)


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
"""Time limits in seconds."""


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
