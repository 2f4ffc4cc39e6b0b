"""A small synthetic pooled collection, and a slow, obvious way to score it with other judgments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

import numpy as np

import cranfield as cf
from cranfield.errors import CranfieldWarning
from cranfield.types import Array

Lists = dict[str, dict[str, float]]
Grades = dict[str, dict[str, float]]

MEASURES = ["AP", "AP'", "nDCG@10", "nDCG'@10", "ERR@10", "bpref", "P@5", "RBP", "RR'", "AP[ties]", "Q"]
"""Raw and condensed, with and without a cutoff; ERR looks at the highest grade of all, [ties] at ties."""


def collection(seed: int = 1, *, runs: int = 6, topics: int = 8) -> tuple[Grades, dict[str, Lists]]:
    """The first 8 documents of all runs are judged with grades 0 to 3; lists have 20 documents and some ties.

    Run r0 is the best, r5 the worst: noise grows with the number.
    """
    rng = np.random.default_rng(seed)
    grades: Grades = {}
    lists: dict[str, Lists] = {f"r{r}": {} for r in range(runs)}
    for t in range(topics):
        worth = rng.choice([0, 1, 2, 3], 60, p=[0.7, 0.15, 0.1, 0.05])
        pool: set[int] = set()
        for r in range(runs):
            score = np.round(worth + rng.normal(0, 0.6 + 0.3 * r, 60), 1)
            order = sorted(range(60), key=lambda d: (-score[d], -d))[:20]
            lists[f"r{r}"][f"t{t}"] = {f"d{d:02}": float(score[d]) for d in order}
            pool |= set(order[:8])
        grades[f"t{t}"] = {f"d{d:02}": int(worth[d]) for d in sorted(pool)}
        grades[f"t{t}"]["d99"] = 3  # in no list, so that every topic keeps a relevant document
    return grades, lists


def ranking(documents: Mapping[str, float]) -> list[str]:
    """trec_eval's order: by score, ties by document id, descending."""
    return sorted(documents, key=lambda doc: (documents[doc], doc), reverse=True)


def kept(grades: Grades, keep: Callable[[str, str], bool]) -> Grades:
    return {topic: {doc: g for doc, g in row.items() if keep(topic, doc)} for topic, row in grades.items()}


def means(grades: Grades, lists: dict[str, Lists], measures: list[str]) -> Array:
    """Measures × runs, evaluated from scratch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        return cf.evaluate(grades, lists, measures).means()
