"""Calibration (`calibrate`): readers of RBP who click on a part of what they see.

The lists are counted beforehand, as `calibrate` counts them on an engine: last click, clicks and length.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers
from scipy.special import expit
from scipy.stats import norm

from cranfield.online.calibration.stopping import most_likely


def cases() -> list[Case]:
    return [
        Case(
            "persistence of RBP", f"p = {p:g}, {clicks:.0%} of seen documents clicked", f"{lists:,} lists of {length}",
            partial(persistence, p, clicks, lists, length), trials=400,
            small=100 if (p, clicks, lists) == (0.8, 0.4, 3000) else 0,
        )
        for p, clicks, length in ((0.8, 0.4, 10), (0.8, 0.9, 10), (0.6, 0.3, 5), (0.9, 0.5, 10))
        for lists in (200, 3000)
    ]  # fmt: skip


def persistence(p: float, clicks: float, lists: int, length: int, rng: np.random.Generator) -> Outcome:
    seen = np.arange(1, length + 1) <= rng.geometric(1 - p, lists)[:, None]
    clicked = seen & (rng.random((lists, length)) < clicks)
    number = clicked.sum(axis=1)
    last = length - np.argmax(clicked[:, ::-1], axis=1)
    counted = np.stack([last, number, np.full(lists, length)])[:, number > 0]
    kinds, times = np.unique(counted, axis=1, return_counts=True)
    place, information = most_likely(np.vstack([kinds, times]).astype(np.float64))
    reach = norm.ppf(0.975) * np.sqrt(np.linalg.inv(information)[0, 0])  # each list is a user
    return covers(p, float(expit(place[0] - reach)), float(expit(place[0] + reach)))
