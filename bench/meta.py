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
    from cranfield.comparison.pair_tests import TESTS
    from cranfield.meta.stability.discrimination import discriminative_power

    data = panel()
    TESTS.find("bootstrap")  # imports all tests
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


def reml() -> Timed:
    from cranfield.comparison.anova.mixed import mixed
    from cranfield.scores.scores import Scores

    rng, plain = np.random.default_rng(2), scores().T
    runs, topics = [f"run{s}" for s in range(SYSTEMS)], [str(t) for t in range(TOPICS)]
    parts = {
        f"shard{k}": Scores(["AP"], runs, topics, np.clip(plain + rng.normal(0, 0.1, plain.shape), 0, 1)[None])
        for k in range(5)
    }
    return lambda: mixed(parts, "AP", across="shard", interactions=["topic:system"])


def tests() -> Timed:
    from cranfield.comparison.pair_tests import TESTS
    from cranfield.meta.stability.accuracy_of_tests import accuracy_of_tests

    data = panel().select(measures=["measure 1"])
    TESTS.find("bootstrap")
    return lambda: accuracy_of_tests(data, simulations=1_000)


def inform() -> Timed:
    from cranfield.assessed.lists import Assessed
    from cranfield.meta.stability.informativeness import informativeness

    rng, relevant, runs = np.random.default_rng(3), 60, 126
    judged = {str(t): [1.0] * relevant + [0.0] * 500 for t in range(TOPICS)}
    rows: list[tuple[str, str, int]] = []
    for r in range(runs):
        for topic in judged:
            # Relevant documents are dense at the top and rare below; each run finds some of them.
            found = np.unique(np.floor(1000 ** rng.uniform(0.1, 1, relevant * (r + 20) // (runs + 20))).astype(int))
            rows += [(f"run{r}", topic, int(rank)) for rank in found]
    run, topics, rank = zip(*rows, strict=True)
    retrieved = {(f"run{r}", topic): 1_000 for r in range(runs) for topic in judged}
    lists = Assessed.from_table(run, topics, rank, np.ones(len(rank)), judged=judged, retrieved=retrieved)
    return lambda: informativeness(lists, ["AP", "nDCG", "P@10", "RBP"])


POWER, SWAP = "discriminative power, bootstrap, B = 1,000", "swap method, B = 1,000"
CONCORD = "concordance, 190 pairs of measures, 2 gold standards"
CORRELATE = "tau and symmetric tau_ap with intervals, B = 1,000"
REML = "REML of systems x topics x 5 shards, topics random"
TESTS = "accuracy of significance tests, 1,000 simulated comparisons"
INFORM = "informativeness of 4 measures, 126 runs"

CONTESTANTS: dict[str, Callable[[], Timed]] = {
    POWER: power,
    SWAP: swap,
    CONCORD: concordance,
    CORRELATE: correlation,
    REML: reml,
    TESTS: tests,
    INFORM: inform,
}
LIMITS = {POWER: 20.0, SWAP: 20.0, CONCORD: 10.0, CORRELATE: 20.0, REML: 2.0, TESTS: 60.0, INFORM: 15.0}
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
