"""What unjudged documents could change: the lowest and highest score of a run over their possible judgments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.evaluation.evaluator import MeasureLike, as_measures, values_of
from cranfield.measures import Measure
from cranfield.types import Array
from cranfield.views.unjudged import Unjudged


class Residual(NamedTuple):
    """The lowest and the highest score of each list, and whether they are bounds or two scenarios."""

    low: Array
    high: Array
    bounds: bool
    """Whether they enclose the scores under every judgment of the unjudged documents; if not, they are scenarios."""


def ends(measure: Measure) -> tuple[Measure, Measure]:
    """The measure with all unjudged documents worst, and with all of them best, before its own views."""
    return measure.first_through(Unjudged("worst")), measure.first_through(Unjudged("best"))


def residual(measure: MeasureLike, lists: Assessed) -> Residual:
    """The scores of lists if all unjudged documents have grade 0, and if all have the highest grade.

    For a measure that does not depend on recall (P, RBP, DCG, ERR, RR, ...) these are bounds for the score once all
    retrieved documents are judged. A measure that is normalised by the relevant documents may fall when a document
    turns out to be relevant, because the ideal list grows too; then these are two scenarios. If topics have intents,
    an unjudged document is relevant to all intents of its topic or to none; with global gains (D-, DIN-) these are
    always scenarios.

    Reference: Moffat & Zobel, TOIS 27(1), 2008, doi:10.1145/1416950.1416952, for rank-biased precision

    >>> low, high, bounds = residual("P@4", Assessed.one([1, None, 0, None]))
    >>> low.tolist(), high.tolist(), bounds
    ([0.25], [0.75], True)
    >>> residual("AP", Assessed.one([1, None, 0, None])).bounds
    False
    """
    (chosen,) = as_measures([measure])
    worst, best = (values_of(end, lists) for end in ends(chosen))
    return Residual(np.fmin(worst, best), np.fmax(worst, best), chosen.has_bounds())
