"""Tests of all 8,256 pairs of 129 systems on 50 topics: ours, and the bootstrap as a loop over scipy.

`python -m bench.comparisons NAME` runs one test in its own process, and prints seconds and bytes as JSON. The time goes
from scores in an array to p-values and intervals of all pairs; imports and the making of the array are not included.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bench.peers import peak_bytes

TOPICS, SYSTEMS = 50, 129
PAIRS = SYSTEMS * (SYSTEMS - 1) // 2
SCIPY_PAIRS = 24
"""scipy is timed on this many pairs, evenly spread; the time for all pairs is scaled up."""

Timed = Callable[[], Any]


def scores() -> np.ndarray:
    """Return scores like those of average precision: skewed, with hard and easy topics and similar systems."""
    rng = np.random.default_rng(0)
    topic, system = rng.normal(0, 1, (TOPICS, 1)), rng.normal(0, 0.3, (1, SYSTEMS))
    return 1 / (1 + np.exp(1 - topic - system - rng.normal(0, 0.7, (TOPICS, SYSTEMS))))


def engine(name: str, resamples: int) -> Timed:
    from cranfield.comparison.pair_tests import TESTS, Matrix, TestSettings

    matrix = Matrix.of(scores())
    first, second = (side.astype(np.int64) for side in np.triu_indices(SYSTEMS, 1))
    test = TESTS.find(name)
    return lambda: test.run(matrix, first, second, TestSettings(resamples=resamples)).p


def anova_with_tukey() -> Timed:
    from cranfield.comparison.anova.anova import two_way
    from cranfield.comparison.pair_tests import Matrix

    tukey = engine("tukey", 1)
    matrix = Matrix.of(scores())
    import scipy.stats  # noqa: F401

    return lambda: (two_way(matrix), tukey())


def scipy_bootstrap() -> Timed:
    """The same test by scipy: t of the shifted differences in 10,000 resamples, p by counting, percentile interval."""
    from scipy import stats

    values = scores()
    first, second = np.triu_indices(SYSTEMS, 1)
    chosen = np.linspace(0, PAIRS - 1, SCIPY_PAIRS).astype(int)

    def student(z: np.ndarray, axis: int = -1) -> np.ndarray:
        t: np.ndarray = z.mean(axis=axis) / (z.std(axis=axis, ddof=1) / np.sqrt(z.shape[axis]))
        return t

    def timed() -> list[float]:
        found = []
        for pair in chosen.tolist():
            z = values[:, first[pair]] - values[:, second[pair]]
            null = stats.bootstrap((z - z.mean(),), student, n_resamples=10_000, method="percentile", vectorized=True)
            found.append(float((np.abs(null.bootstrap_distribution) >= abs(student(z))).mean()))
        return found

    return timed


BOOTSTRAP, SCIPY = "paired bootstrap, B = 10,000", "scipy.stats.bootstrap in a loop, B = 10,000"
RANDOMISED_TUKEY, RANDOMISATION = "randomised Tukey, B = 10,000", "randomisation, B = 100,000"
ANOVA, MAX_T = "two-way ANOVA with Tukey", "max-t, B = 10,000"

CONTESTANTS: dict[str, Callable[[], Timed]] = {
    BOOTSTRAP: lambda: engine("bootstrap", 10_000),
    SCIPY: scipy_bootstrap,
    RANDOMISED_TUKEY: lambda: engine("randomised-tukey", 10_000),
    MAX_T: lambda: engine("max-t", 10_000),
    RANDOMISATION: lambda: engine("randomisation", 100_000),
    ANOVA: anova_with_tukey,
}


def main(name: str) -> None:
    began = time.perf_counter()
    timed = CONTESTANTS[name]()
    ready = time.perf_counter()
    timed()
    done = time.perf_counter()
    scaled = PAIRS / SCIPY_PAIRS if name == SCIPY else 1
    seconds = {"seconds": (done - ready) * scaled, "with_imports": (done - ready) * scaled + ready - began}
    print(json.dumps({**seconds, "spent": done - began, "peak": peak_bytes()}))


if __name__ == "__main__":
    main(sys.argv[1])
