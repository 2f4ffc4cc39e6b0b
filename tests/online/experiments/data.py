"""Simulated users of an experiment."""

from __future__ import annotations

import numpy as np
import pandas as pd


def users(n: int = 3_000, *, seed: int = 0, effect: float = 0.0, arms: str = "AB") -> pd.DataFrame:
    """A row per user: revenue with its value from before, clicks of impressions, conversion, latency, country."""
    rng = np.random.default_rng(seed)
    arm = rng.choice(list(arms), n)
    treated = effect * (arm == arms[-1])
    activity = rng.gamma(2.0, 1.0, n)
    impressions = rng.poisson(5 * activity) + 1
    before = rng.poisson(5 * activity) + 1
    rate = np.clip(rng.beta(2, 8, n), 0, 0.9)
    return pd.DataFrame(
        {
            "user": [f"u{i}" for i in range(n)],
            "arm": arm,
            "country": rng.choice(["de", "fr", "it"], n),
            "revenue": activity * rng.exponential(2.0, n) * (1 + treated),
            "revenue_before": activity * rng.exponential(2.0, n),
            "clicks": rng.binomial(impressions, np.clip(rate * (1 + treated), 0, 1)),
            "impressions": impressions,
            "clicks_before": rng.binomial(before, rate),
            "impressions_before": before,
            "bought": (rng.random(n) < 0.2 * (1 + treated)).astype(int),
            "latency": rng.lognormal(3, 0.6, n),
        }
    )
