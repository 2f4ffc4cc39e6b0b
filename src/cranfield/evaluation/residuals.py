"""What unjudged documents may still change: the scores between which a run lies, whatever they turn out to be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.evaluation.evaluator import MeasureLike, as_measures, values_of
from cranfield.measures import Measure
from cranfield.measures.multidimensional import OverDimensions
from cranfield.types import Array
from cranfield.views.by_intent import GlobalGain
from cranfield.views.unjudged import Unjudged


class Residual(NamedTuple):
    """The lowest and the highest score of each list, and whether they are bounds or two scenarios."""

    low: Array
    high: Array
    bounds: bool
    """Do they enclose every judgment of the unjudged documents? If not, both are only what is likely to be extreme."""


def ends(measure: Measure) -> tuple[Measure, Measure]:
    """The measure with unjudged documents read as all worst, and as all best, before any other view of its own."""
    if isinstance(measure, OverDimensions):  # which documents are judged differs by dimension
        worst, best = ends(measure.inner)
        return measure.replace(inner=worst), measure.replace(inner=best)
    worst, best = (measure.replace(views=(Unjudged(reading), *measure.views)) for reading in ("worst", "best"))
    return worst, best


def residual(measure: MeasureLike, lists: Assessed) -> Residual:
    """The scores of lists when their unjudged documents are all of grade 0, and when all are of the highest grade.

    For a measure that is free of recall (P, RBP, DCG, ERR, RR, ...) these are the bounds of what it can become once all
    retrieved documents are judged. One that is normalised by the relevant documents may fall when a document turns out
    relevant, for the ideal list grows too: then these are two scenarios. Where topics have intents, a document counts
    for all of its topic, or for none; read by global gain (D-, DIN-) these are always scenarios.

    Reference: Moffat & Zobel, TOIS 27(1), 2008, doi:10.1145/1416950.1416952, for rank-biased precision

    >>> low, high, bounds = residual("P@4", Assessed.one([1, None, 0, None]))
    >>> low.tolist(), high.tolist(), bounds
    ([0.25], [0.75], True)
    >>> residual("AP", Assessed.one([1, None, 0, None])).bounds
    False
    """
    (one,) = as_measures([measure])
    worst, best = (values_of(end, lists) for end in ends(one))
    return Residual(np.fmin(worst, best), np.fmax(worst, best), _are_bounds(one))


BETWEEN = {
    "Ef-P": "a document that serves a navigational intent makes those redundant that serve it later",
    "RBU": "what is worth most to an intent is its highest grade, by which all others are divided",
}
"""Free of recall, and yet no bounds: judgments between the worst and the best may score beyond them."""


def _are_bounds(measure: Measure) -> bool:
    told = measure.properties
    if measure.name in BETWEEN:
        return False
    if any(isinstance(view, GlobalGain) for view in measure.views):
        return False  # gains are divided by the largest there is, and a lesser document may serve an intent before
    if measure.needs == "intents" and measure.__dict__.get("rel", 1) > 1:
        return False  # an intent counts once it has a document of that grade: there may be more of them
    return told.recall_free and told.better != "neither"
