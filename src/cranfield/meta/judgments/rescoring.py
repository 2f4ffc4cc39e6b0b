"""Scores before and after a change of judgments or topics: their means, ranks and rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.changed_lists.judged_documents import JudgedDocuments
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.collection.accepted_inputs import QrelsLike, RunsLike
from cranfield.comparison.data import noise
from cranfield.declared.operation import about
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.evaluation.evaluator import MeasuresLike, as_measures, score, values_of, with_scores
from cranfield.measures import Measure
from cranfield.meta.complete_scores import Levels, check_count, levels_of, tau_b_of_two
from cranfield.notes import caution_note
from cranfield.scores import summary as summaries
from cranfield.scores.scores import Scores
from cranfield.text import counted
from cranfield.types import Array
from cranfield.views.ties import Ties
from cranfield.views.unjudged import Condensed

PAIRED = "means before and after are over the topics on which both have a value"
BY_TAU = "τ is Kendall's τ_b of the two rankings of all runs"
WithCondensed = Annotated[
    bool, about("Also score each measure without unjudged documents, as AP' for AP.", spelled="--condensed")
]
_BLOCK = 1_000_000
"""Number of scores whose rankings are compared at a time, to bound memory."""


def joined(caller: str, qrels: QrelsLike | Assessed, runs: RunsLike | None, options: JoinOptions | None) -> Assessed:
    """Judgments joined with runs; or `qrels` itself, if these are assessed lists already."""
    if isinstance(qrels, Assessed):
        return qrels
    if runs is None:
        raise UsageError(f"{caller}: no runs; give judgments and runs, or assessed lists")
    return join(qrels, runs, options)


def with_condensed(measures: MeasuresLike | None, condensed: bool) -> list[Measure]:
    """The measures; with `condensed`, each also on lists without unjudged documents.

    >>> with_condensed(["AP", "P'@5"], condensed=True)
    [AP, AP', P'@5]
    """
    chosen: list[Measure] = []
    for measure in as_measures(measures):
        chosen.append(measure)
        if condensed and not any(isinstance(view, Condensed) for view in measure.views):
            chosen.append(measure.view(Condensed()))
    return list(dict.fromkeys(chosen))


class Rescorer:
    """Runs that are joined once and scored with many sets of judgments."""

    def __init__(
        self,
        caller: str,
        qrels: QrelsLike | Assessed,
        runs: RunsLike | None,
        measures: list[Measure],
        options: JoinOptions | None,
        missing: str,
    ) -> None:
        documents = JudgedDocuments.of(qrels, runs, with_scores(options or JoinOptions(), measures), None)
        check_count(caller, len(documents.lists.runs), "run")
        uses_ties = any(isinstance(view, Ties) for measure in measures for view in measure.views)
        self.documents = documents if uses_ties else documents.without_ties()
        self.measures = measures
        self.full: Scores = score(self.documents.lists, measures, missing=missing)

    def values(self, lists: Assessed) -> Array:
        """measures × runs × topics: scores with other judgments."""
        shape = self.full.values.shape[1:]
        values = np.stack([values_of(measure, lists).reshape(shape) for measure in self.measures])
        if self.full.missing_rule == "skip":
            values[:, self.full.missing] = np.nan
        return values


def paired_means(before: Array, after: Array) -> tuple[Array, Array]:
    """Means over the topics (the last axis) on which both have a value."""
    both = ~(np.isnan(before) | np.isnan(after))
    return summaries.mean(np.where(both, before, np.nan)), summaries.mean(np.where(both, after, np.nan))


def tau(before: Array, after: Array) -> Array:
    """Kendall's τ_b of two rankings by scores, … × runs; NaN if all runs tie or a run has no score.

    >>> tau(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.1, 0.3])).round(4).item()
    0.3333
    """
    first, second = np.broadcast_arrays(before, after)
    undefined = ~(np.isfinite(first) & np.isfinite(second)).all(axis=-1)
    runs = first.shape[-1]
    first, second = first.reshape(-1, runs), second.reshape(-1, runs)
    size = max(1, _BLOCK // runs)
    blocks = [
        tau_b_of_two(_levels(first[at : at + size]), _levels(second[at : at + size]))
        for at in range(0, len(first), size)
    ]
    values = np.clip(np.concatenate(blocks), -1, 1)  # the root of a square may miss 1 by a rounding error
    return np.asarray(np.where(undefined, np.nan, values.reshape(undefined.shape)))


def warn_too_deep(name: str, depth: int, longest: int) -> None:
    message = f"{name} == {depth}, but the longest list has {counted(longest, 'document')}: whole lists are used"
    warn_caller(message, CranfieldWarning)


def undefined_note(correlations: Array) -> tuple[str, ...]:
    """A note with the number of undefined correlations, if there are any."""
    count = int(np.isnan(correlations).sum())
    why = "all runs tie in one of the two rankings, or a run has no score"
    return (caution_note(f"{count} of {correlations.size} τ are undefined: {why}"),) if count else ()


def ranks(scores: Array, lower: Sequence[bool]) -> NDArray[np.int64]:
    """Measures × runs: 1 for the best run; tied runs share the best rank of the tie; a run without a score is last.

    `lower` says for each measure whether lower scores are better.

    >>> ranks(np.array([[0.2, 0.3, 0.2]]), [False]).tolist()
    [[2, 1, 2]]
    """
    levels = _levels(scores * np.where(lower, -1.0, 1.0)[:, None])
    above = np.stack([levels.shape[-1] - np.cumsum(np.bincount(row, minlength=levels.shape[-1])) for row in levels])
    return np.asarray(1 + np.take_along_axis(above, levels, axis=-1))


def _levels(scores: Array) -> Levels:
    """… × runs; runs without a score are below all others."""
    defined = np.isfinite(scores)
    known = np.where(defined, scores, 0.0)
    close = np.reshape([noise(row) for row in known.reshape(-1, known.shape[-1])], known.shape[:-1])
    lowest = known.min(axis=-1, keepdims=True, initial=0.0) - 1.0
    return levels_of(np.where(defined, scores, lowest), close)
