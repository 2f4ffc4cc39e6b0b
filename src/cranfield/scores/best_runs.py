"""The best runs by a measure."""

from __future__ import annotations

import numpy as np

from cranfield.errors import UsageError
from cranfield.measures.property_tables import lower_is_better
from cranfield.scores.scores import Scores


def best_runs(scores: Scores, count: int, measure: str | None = None) -> list[str]:
    """The `count` runs with the best mean by a measure, by default the first; all if there are no more.

    They keep their order. Among runs with the same mean, earlier ones are chosen.

    >>> best_runs(Scores.from_matrix([[0.1, 0.5, 0.3]], runs=["a", "b", "c"], measure="AP"), 2)
    ['b', 'c']
    """
    if count < 1:
        raise UsageError(f"best_runs: count == {count}, must be 1 or more")
    part = scores.select(measures=[scores.measures[0] if measure is None else measure])
    means = np.nan_to_num(part.means()[0], nan=-np.inf)
    sign = -1 if lower_is_better(part.measures[0]) else 1
    chosen = set(np.argsort(-sign * means, kind="stable")[:count].tolist())
    return [run for at, run in enumerate(scores.runs) if at in chosen]
