"""Simulated collections: graded judgments, and systems that are each a little worse than the one before."""

from __future__ import annotations

import numpy as np

import cranfield as cf

ONE_HIGHLY_RELEVANT = ["Q", "AP", "P+", "NWRR", "RR"]
"""From the most to the least discriminative (Sakai 2007 Tables 3 and 4), Q and AP taken together."""


def systems_of_known_order(seed: int, measures: list[str], *, systems: int = 12, topics: int = 40) -> cf.Scores:
    """Documents of grades 0 to 3 are ranked by grade and noise; a system's noise grows with its number."""
    rng = np.random.default_rng(seed)
    qrels: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, dict[str, float]]] = {f"s{s:02}": {} for s in range(systems)}
    for t in range(topics):
        worth = rng.choice([0, 1, 2, 3], 100, p=[0.8, 0.1, 0.07, 0.03])
        worth[0] = 3
        difficulty = np.exp(rng.normal(0, 0.3))
        qrels[f"t{t}"] = {f"d{d}": int(grade) for d, grade in enumerate(worth)}
        for s in range(systems):
            score = worth + rng.normal(0, difficulty * (1 + 0.06 * s), 100)
            runs[f"s{s:02}"][f"t{t}"] = {f"d{d}": float(x) for d, x in enumerate(score)}
    return cf.evaluate(qrels, runs, measures)
