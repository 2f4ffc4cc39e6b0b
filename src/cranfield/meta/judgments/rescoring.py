"""Scores before and after a change of judgments or topics: the same means, ranks and rank correlation everywhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.judged_documents import JudgedDocuments
from cranfield.assessed.lists import Assessed
from cranfield.comparison.differences import noise
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, as_measures, score, values_of, with_scores
from cranfield.measures import Measure
from cranfield.meta.agreement.coefficients import tau_b
from cranfield.meta.rankings import LEAST_SYSTEMS, Levels, levels_of
from cranfield.scores import summary as summaries
from cranfield.scores.scores import Scores
from cranfield.text import counted
from cranfield.types import Array, Progress
from cranfield.views.condensed import Condensed
from cranfield.views.ties import Ties

PAIRED = "means before and after are over the topics on which both have a value"
PAIRS = 1_000_000
"""So many pairs of runs are looked at at a time; bounds memory."""
BY_TAU = "τ is Kendall's τ_b of the two rankings of all runs"


def chosen_measures(measures: MeasureLike | Sequence[MeasureLike] | None, condensed: bool) -> list[Measure]:
    """The measures; with `condensed`, each also on lists without their unjudged documents.

    >>> chosen_measures(["AP", "P'@5"], condensed=True)
    [AP, AP', P'@5]
    """
    every: list[Measure] = []
    for one in as_measures(measures):
        every.append(one)
        if condensed and not any(isinstance(view, Condensed) for view in one.views):
            every.append(one.view(Condensed()))
    return list(dict.fromkeys(every))


class Rescorer:
    """Runs joined once, to be scored by many judgments."""

    def __init__(
        self,
        who: str,
        qrels: object,
        runs: object,
        measures: list[Measure],
        options: JoinOptions | None,
        missing: str,
        progress: Progress | None = None,
    ) -> None:
        documents = JudgedDocuments.of(qrels, runs, with_scores(options or JoinOptions(), measures), progress)
        if len(documents.lists.runs) < LEAST_SYSTEMS:
            many = counted(len(documents.lists.runs), "run")
            raise UsageError(
                f"{who}: {many}, must be {LEAST_SYSTEMS} or more: of fewer there is no ranking to speak of"
            )
        tied = any(isinstance(view, Ties) for one in measures for view in one.views)
        self.documents = documents if tied else documents.without_ties()
        self.measures = measures
        self.full: Scores = score(self.documents.lists, measures, missing=missing)

    def values(self, lists: Assessed) -> Array:
        """measures × runs × topics, by other judgments."""
        shape = self.full.values.shape[1:]
        found = np.stack([values_of(one, lists).reshape(shape) for one in self.measures])
        if self.full.missing_rule == "skip":
            found[:, self.full.missing] = np.nan
        return found


def paired_means(before: Array, after: Array) -> tuple[Array, Array]:
    """Means over the topics (the last axis) on which both have a value."""
    both = ~(np.isnan(before) | np.isnan(after))
    return summaries.mean(np.where(both, before, np.nan)), summaries.mean(np.where(both, after, np.nan))


def tau(before: Array, after: Array) -> Array:
    """Kendall's τ_b of two rankings by scores, … × runs; NaN where all runs tie or one has no score.

    >>> tau(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.1, 0.3])).round(4).item()
    0.3333
    """
    pair = np.stack(np.broadcast_arrays(before, after), axis=-2)
    flat = pair.reshape(-1, *pair.shape[-2:])
    many = max(1, PAIRS // pair.shape[-1] ** 2)
    found = [tau_b(_levels(flat[at : at + many]))[:, 0, 1] for at in range(0, len(flat), many)]
    gaps = ~np.isfinite(pair).all(axis=(-1, -2))
    whole = np.clip(np.concatenate(found), -1, 1)  # a root of squares may miss 1 by rounding
    return np.asarray(np.where(gaps, np.nan, whole.reshape(gaps.shape)))


def undefined(correlations: Array) -> tuple[str, ...]:
    """The note that some correlations have no value, if so."""
    lost = int(np.isnan(correlations).sum())
    if not lost:
        return ()
    return (
        f"{lost} of {correlations.size} τ have no value: all runs tie in one of the two rankings, or one has no score",
    )


def ranks(scores: Array, lower: Sequence[bool]) -> NDArray[np.int64]:
    """Measures × runs: 1 for the best, tied runs have the best rank of their tie; a run without a score is last.

    `lower` says of each measure whether lower scores are better.

    >>> ranks(np.array([[0.2, 0.3, 0.2]]), [False]).tolist()
    [[2, 1, 2]]
    """
    levels = _levels(scores * np.where(lower, -1.0, 1.0)[:, None])
    return np.asarray(1 + (levels[..., None, :] > levels[..., :, None]).sum(axis=-1))


def _levels(scores: Array) -> Levels:
    """… × runs; those without a score are below all others."""
    there = np.isfinite(scores)
    known = np.where(there, scores, 0.0)
    close = np.reshape([noise(row) for row in known.reshape(-1, known.shape[-1])], known.shape[:-1])
    lowest = known.min(axis=-1, keepdims=True, initial=0.0) - 1.0
    return levels_of(np.where(there, scores, lowest), close)


def mean_of(values: Array, axis: int | tuple[int, ...] = -1) -> Array:
    """The mean of the values that are there; NaN where there are none."""
    axes = (axis,) if isinstance(axis, int) else axis
    moved = np.moveaxis(values, axes, range(-len(axes), 0))
    return summaries.mean(moved.reshape(*moved.shape[: moved.ndim - len(axes)], -1))
