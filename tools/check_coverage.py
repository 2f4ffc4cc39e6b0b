"""Print how often prediction-powered intervals contain the true mean, in simulated experiments.

    python tools/check_coverage.py            # 20,000 experiments in each of 48 settings, about a minute
    python tools/check_coverage.py 2000       # fewer

A row is a distribution of scores, a number of topics with human judgments (of 300 in all), and a correlation between
human and machine scores. The columns are the share of 95% intervals that contain the true mean: with a tuned λ, with
λ = 1, as in the papers (normal), and the classical interval; and the mean width relative to the classical one. The exit
code is 1 if in some setting the tuned interval contains the true mean less often than the classical one, by `SLACK`.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from cranfield.building.machine.powered_means import PoweredMeans, powered_means
from cranfield.types import Array

TOPICS = 300
SLACK = 0.03
"""The difference of the two shares that is allowed."""


def truth(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Scores with mean 0 and variance 1: symmetric, skewed like AP, or mostly 0 like RR."""
    if kind == "normal":
        return rng.normal(size=shape)
    a, b = {"skewed": (0.6, 1.2), "extreme": (0.15, 0.6)}[kind]
    mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
    return (rng.beta(a, b, shape) - mean) / math.sqrt(variance)


def share(means: PoweredMeans) -> float:
    return float(((means.low <= 0) & (means.high >= 0)).mean())


def main(experiments: int) -> int:
    rng = np.random.default_rng(0)
    print("scores   topics  corr.   tuned  lambda=1  papers  classical  width")
    worst = 0.0
    for kind in ("normal", "skewed", "extreme"):
        for topics in (5, 10, 25, 50):
            for correlation in (0.2, 0.5, 0.8, 0.95):
                scores = truth(kind, rng, (experiments, TOPICS))
                noise = rng.normal(size=scores.shape) * math.sqrt(1 / correlation**2 - 1)
                machine = scores + noise + 0.5  # too lenient
                parts = scores[:, :topics], machine[:, :topics], machine[:, topics:]
                tuned, plain = powered_means(*parts), powered_means(*parts, tuning=1.0)
                papers = powered_means(*parts, interval="normal")
                classical = float(((tuned.classical_low <= 0) & (tuned.classical_high >= 0)).mean())
                width = (tuned.high - tuned.low).mean() / (tuned.classical_high - tuned.classical_low).mean()
                worst = max(worst, classical - share(tuned))
                shares = f"{share(tuned):.3f}     {share(plain):.3f}   {share(papers):.3f}      {classical:.3f}"
                print(f"{kind:8} {topics:6d}   {correlation:.2f}   {shares}  {width:.3f}")
    print(f"the tuned interval covers at most {100 * worst:.1f} percentage points less often than the classical one")
    return int(worst > SLACK)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000))
