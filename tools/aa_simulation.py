"""Simulate A/A and sequential experiments: how often is each analysis of `cranfield ab` wrong?

    python tools/aa_simulation.py [RUNS]

Users have skewed revenue, clicks of impressions, conversions and latencies, and there is no effect. Every row of the
output is the share of runs with p below 0.05, which should be 5% within the error shown, or at most 5% for
always-valid tests with many looks. The tests do the same with fewer runs.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from cranfield.online.engines import open_engine
from cranfield.online.experiments.ab_analysis import analyse

METRICS = ["revenue", "clicks/impressions", "share(bought)", "median(latency)", "p95(latency)"]
ALPHA = 0.05
USERS = 2_000
DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "CUPED": {"covariates": ["revenue=before", "clicks/impressions=before"]},
    "capped at p99": {"caps": {"revenue": "p99"}},
    "bootstrap": {"method": "bootstrap", "unit": "user", "resamples": 500},
}
LOOKS = 5


def users(rng: np.random.Generator) -> pd.DataFrame:
    activity = rng.gamma(2.0, 1.0, USERS)
    impressions = rng.poisson(5 * activity) + 1
    return pd.DataFrame(
        {
            "user": np.arange(USERS),
            "arm": rng.choice(["A", "B"], USERS),
            "revenue": activity * rng.exponential(2.0, USERS),
            "before": activity * rng.exponential(2.0, USERS),
            "impressions": impressions,
            "clicks": rng.binomial(impressions, rng.beta(2, 8, USERS)),
            "bought": (rng.random(USERS) < 0.1).astype(int),
            "latency": rng.lognormal(3, 0.6, USERS),
        }
    )


def looked_at(frame: pd.DataFrame, engine: Any, **options: Any) -> bool:
    """Is revenue significant at one of five looks?"""
    for look in range(1, LOOKS + 1):
        own = {"look": look, **options} if options["sequential"] not in ("once", "always-valid") else options
        part = frame.iloc[: USERS * look // LOOKS]
        if analyse(part, "revenue", engine=engine, alpha=ALPHA, **own).rows[0].effect.p < ALPHA:
            return True
    return False


def main(runs: int) -> None:
    rng = np.random.default_rng(0)
    error = 1.96 * np.sqrt(ALPHA * (1 - ALPHA) / runs)
    print(f"{runs:,} experiments of {USERS:,} users without an effect; 95% of the rates should be 5% ± {error:.2%}")
    hits = {name: np.zeros(len(METRICS), dtype=int) for name in DESIGNS}
    sequential = dict.fromkeys(("once", "always-valid", "obrien-fleming", "pocock", "lan-demets-of"), 0)
    with open_engine("duckdb") as engine:
        for _ in range(runs):
            frame = users(rng)
            for name, options in DESIGNS.items():
                result = analyse(frame, METRICS, engine=engine, **options)
                hits[name] += np.array([row.effect.p < ALPHA for row in result.rows])
            for design in sequential:
                sequential[design] += looked_at(frame, engine, sequential=design)
    for name, counts in hits.items():
        rates = ", ".join(f"{metric} {count / runs:.1%}" for metric, count in zip(METRICS, counts, strict=True))
        print(f"{name}: {rates}")
    for design, count in sequential.items():
        print(f"five looks, {design}: revenue {count / runs:.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
