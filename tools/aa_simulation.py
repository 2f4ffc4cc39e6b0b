"""Simulate A/A and sequential experiments: how often is each analysis of `cranfield ab` wrong?

    python tools/aa_simulation.py [RUNS]

Users have skewed revenue, clicks of impressions, conversions and latencies, and there is no effect. Every rate is the
share of experiments with p below 0.05. It should be 5% within the error shown, or at most 5% for always-valid
intervals. The experiments are segments of one table, so that one scan analyses all of them; what has no segments
(caps, the bootstrap) is analysed RUNS / 10 times. The tests do the same with fewer experiments.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from cranfield.online.engines import Engine, open_engine
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.effects_in_parts import MOST_VALUES
from cranfield.online.experiments.repeated_looks import DESIGNS, boundaries
from cranfield.types import Array

METRICS = ["revenue", "clicks/impressions", "share(bought)"]
ALPHA = 0.05
USERS = 500
LOOKS = 5
CUPED = ["revenue=before", "clicks/impressions=before"]
ALONE: dict[str, dict[str, Any]] = {
    "plain": {},
    "capped at p99": {"caps": {"revenue": "p99"}},
    "bootstrap": {"method": "bootstrap", "unit": "user", "resamples": 500},
}


def users(rng: np.random.Generator, experiments: int) -> pd.DataFrame:
    """Users of experiments without an effect; the experiments take turns, so that users of all of them arrive."""
    n = experiments * USERS
    activity = rng.gamma(2.0, 1.0, n)
    impressions = rng.poisson(5 * activity) + 1
    return pd.DataFrame(
        {
            "user": np.arange(n),
            "number": np.tile(np.arange(experiments), USERS),
            "experiment": np.tile([f"e{i}" for i in range(experiments)], USERS),
            "arm": rng.choice(["A", "B"], n),
            "revenue": activity * rng.exponential(2.0, n),
            "before": activity * rng.exponential(2.0, n),
            "impressions": impressions,
            "clicks": rng.binomial(impressions, rng.beta(2, 8, n)),
            "bought": (rng.random(n) < 0.1).astype(int),
            "latency": rng.lognormal(3, 0.6, n),
        }
    )


def by_experiment(frame: pd.DataFrame, engine: Engine, metric: str | list[str], **options: Any) -> dict[str, Any]:
    """The effects of every experiment, by metric and in the order of the experiments' numbers."""
    tables = []
    for _, part in frame.groupby(frame["number"] // MOST_VALUES):
        effects = analyse(part, metric, segments=["experiment"], engine=engine, alpha=ALPHA, **options).by_segment
        assert effects is not None
        tables.append(pd.DataFrame(effects.columns()))
    table = pd.concat(tables)
    table["number"] = table["value"].str.slice(1).astype(int)
    ordered = table.sort_values("number", kind="stable")
    return {str(name): part.reset_index(drop=True) for name, part in ordered.groupby("metric")}


def report(name: str, rates: dict[str, float]) -> None:
    print(f"{name}: " + ", ".join(f"{metric} {rate:.1%}" for metric, rate in rates.items()), flush=True)


def fixed(frame: pd.DataFrame, engine: Engine) -> None:
    """One look, all experiments at once."""
    for name, options in {"plain": {}, "CUPED": {"covariates": CUPED}}.items():
        found = by_experiment(frame, engine, METRICS, **options)
        report(name, {metric: float((found[metric]["p"] < ALPHA).mean()) for metric in METRICS})


def sequential(frame: pd.DataFrame, engine: Engine, experiments: int) -> None:
    """Five looks at the revenue, as users arrive."""
    hits = {name: np.zeros(experiments, dtype=bool) for name in ("once", "always-valid", *DESIGNS)}
    for look in range(1, LOOKS + 1):
        part = frame.iloc[: len(frame) * look // LOOKS]
        once = by_experiment(part, engine, "revenue")["revenue"]
        z: Array = norm.isf(once["p"].to_numpy() / 2)
        hits["once"] |= (once["p"] < ALPHA).to_numpy()
        valid = by_experiment(part, engine, "revenue", sequential="always-valid", tuned_for=USERS / 2)["revenue"]
        hits["always-valid"] |= ((valid["low"] > 0) | (valid["high"] < 0)).to_numpy()
        for design in DESIGNS:
            hits[design] |= z >= boundaries(LOOKS, design, alpha=ALPHA).z[look - 1]
    report("revenue at one of five looks", {design: float(hit.mean()) for design, hit in hits.items()})


def alone(frame: pd.DataFrame, engine: Engine, runs: int) -> None:
    """One experiment at a time."""
    hits = {name: np.zeros(len(METRICS)) for name in ALONE}
    for run in range(runs):
        own = frame[frame["experiment"] == f"e{run}"]
        for name, options in ALONE.items():
            result = analyse(own, METRICS, engine=engine, **options)
            hits[name] += [row.effect.p < ALPHA for row in result.rows]
    for name, counts in hits.items():
        report(f"{name}, {runs:,} experiments", dict(zip(METRICS, counts / runs, strict=True)))


def main(experiments: int) -> None:
    error = 1.96 * np.sqrt(ALPHA * (1 - ALPHA) / experiments)
    size = f"{experiments:,} experiments of {USERS:,} users without an effect"
    print(f"{size}; 95% of the rates should be 5% ± {error:.2%}", flush=True)
    frame = users(np.random.default_rng(0), experiments)
    with open_engine("duckdb") as engine:
        fixed(frame, engine)
        sequential(frame, engine, experiments)
        alone(frame, engine, experiments // 10)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
