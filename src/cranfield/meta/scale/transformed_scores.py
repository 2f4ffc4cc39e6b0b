"""Scores on other scales: each list's rank among all possible lists, and ranks among the observed scores.

Both keep the order of the lists by the measure and change the distances between them. Higher is always better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.comparison.differences import noise
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures, score
from cranfield.measures import Measure
from cranfield.measures.property_tables import lower_is_better
from cranfield.meta.complete_scores import levels_of, mean_ranks
from cranfield.meta.meta_record import report
from cranfield.meta.scale.scale import distinct
from cranfield.meta.synthetic_lists import FAR, SyntheticLists, higher_better
from cranfield.scores.scores import Scores
from cranfield.types import Array, Index64, Progress

ON_INTERVALS, ON_RANKS = " (interval scale)", " (ranks)"
"""What is added to the name of a measure."""
SOURCE = "Ferrante, Ferro & Fuhr, IEEE Access 9, 2021"


def interval_scores(
    lists: Assessed, measures: Any, *, missing: str = "zero", progress: Progress | None = None
) -> Scores:
    r"""Scores on an interval scale: the rank of each list among all possible lists, in the order of the measure itself.

    All lists of k documents, where k is the cutoff of the measure, are ordered by their scores
    :math:`x_0 < x_1 < \dots < x_m`; a list that scores :math:`x_i` gets i / m. Neighbouring scores are then equally far
    apart, as means and tests of means require. The possible lists have the whole grades from 0 to the highest in the
    judgments. For a measure that depends on missed documents, such as AP and nDCG, they have no more documents of a
    grade than the topic does, so each topic has a scale of its own; for others, all topics share one. Shorter lists are
    filled up with non-relevant documents. Undefined scores stay undefined, and 0 is the worst.

    All lists are enumerated, so the measure needs a small cutoff: with binary judgments 20 or less.

    Reference: Ferrante, Ferro & Fuhr, Towards Meaningful Statements in IR Evaluation: Mapping Evaluation Measures to
    Interval Scales, IEEE Access 9, 2021, doi:10.1109/ACCESS.2021.3116857. Moffat, IEEE Access 10, 2022, argues against
    it.

    >>> from cranfield.assessed.join import join
    >>> runs = {"a": {"q": {"d1": 3.0, "x": 2.0}}, "b": {"q": {"x": 3.0, "d1": 2.0}}}
    >>> scores = interval_scores(join({"q": {"d1": 1, "d2": 1}}, runs), "RR@2")
    >>> scores.to_dict()  # RR@2 is 0, 1/2 or 1
    {'a': {'q': {'RR@2 (interval scale)': 1.0}}, 'b': {'q': {'RR@2 (interval scale)': 0.5}}}
    """
    chosen = as_measures(measures)
    for measure in chosen:
        if measure.k is None or measure.cutoff_kind != "rank":
            raise UsageError(
                f"{measure}: an interval scale is made of all lists of some length; give a measure with a cutoff, "
                f"such as P@10 or AP@10"
            )
    grade = lists.judged.grade
    fractions = grade[(grade > 0) & (grade % 1 != 0)]
    if len(fractions):
        raise UsageError(f"interval scale: grade {fractions[0]:g} is in the judgments, must be a whole number")
    scores = score(lists, chosen, missing=missing)
    values = np.full(scores.values.shape, np.nan)
    bases = _recall_bases(lists)
    for number, measure in enumerate(chosen):
        values[number] = _on_intervals(measure, scores.values[number], bases)
        report(progress, number + 1, len(chosen))
    note = f"interval scale: rank of the list among all lists up to the cutoff, in the order of the measure ({SOURCE})"
    names = tuple(name + ON_INTERVALS for name in scores.measures)
    return replace(scores, measures=names, values=values, notes=(*scores.notes, note))


def rank_scores(scores: Scores) -> Scores:
    """Scores replaced by their ranks among all scores of the measure, over runs and topics; ties share the mean rank.

    This is one of the transformations that an ordinal scale permits. The worst score has rank 1.
    Reference: Conover & Iman, The American Statistician 35(3), 1981

    >>> rank_scores(Scores.from_matrix([[0.2, 0.4], [0.4, 0.9]], measure="AP")).values.tolist()
    [[[1.0, 2.5], [2.5, 4.0]]]
    """
    values = np.full(scores.values.shape, np.nan)
    for number, name in enumerate(scores.measures):
        defined = ~np.isnan(scores.values[number])
        observed = scores.values[number][defined] * (-1 if lower_is_better(name) else 1)
        if len(observed):
            values[number][defined] = mean_ranks(levels_of(observed, noise(observed)))
    note = "ranks: among all scores of a measure, 1 for the worst, ties at the mean rank"
    names = tuple(name + ON_RANKS for name in scores.measures)
    return replace(scores, measures=names, values=values, notes=(*scores.notes, note))


def _recall_bases(lists: Assessed) -> Index64:
    """topics × grades above 0: the number of documents of each grade."""
    highest = max(1, int(lists.judged.grade.max(initial=0)))
    counts = [lists.judged.count(lists.judged.grade == grade) for grade in range(1, highest + 1)]
    return np.stack(counts, axis=1).astype(np.int64)


def _on_intervals(measure: Measure, scores: Array, bases: Index64) -> Array:
    """runs × topics: the scores of one measure on the interval scale of each topic."""
    out = np.full(scores.shape, np.nan)
    length, grades = int(measure.k or 0), bases.shape[1] + 1
    if measure.properties.recall_free:
        bases = np.full(bases.shape, length)
    distinct_bases, which = np.unique(bases, axis=0, return_inverse=True)
    for number, base in enumerate(distinct_bases.tolist()):
        topics = np.flatnonzero(which.reshape(-1) == number)
        observed = higher_better(measure, scores[:, topics])
        if sum(base) == 0:  # no list is better than another
            out[:, topics] = np.where(np.isnan(observed), np.nan, 0.0)
            continue
        possible = SyntheticLists.of(length, grades, base).score(measure)
        steps = distinct(np.sort(possible[np.isfinite(possible)]))[0]
        nearest = np.searchsorted((steps[1:] + steps[:-1]) / 2, observed)
        far = np.abs(steps[nearest] - observed) > FAR * max(1.0, float(np.abs(steps).max()))
        if far.any():  # False for NaN
            value = float(higher_better(measure, observed[far][:1])[0])
            raise UsageError(
                f"{measure}: no list of {length} judged documents scores {value:.6g}, so the score depends on more "
                "than their grades; it has no interval scale here"
            )
        out[:, topics] = np.where(np.isnan(observed), np.nan, nearest / max(len(steps) - 1, 1))
    return out
