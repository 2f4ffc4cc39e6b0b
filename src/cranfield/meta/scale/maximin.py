"""Steps for a scale of which only the order is known: Abelson and Tukey's, the safest choice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cranfield.errors import UsageError
from cranfield.meta.scale.scale import Scale
from cranfield.notes import method_note
from cranfield.record import Record, column
from cranfield.types import Array, Index64

SOURCE = "Abelson & Tukey, Annals of Mathematical Statistics 34(4), 1963; Ferro & Maistro 2024 §7.5"


def maximin_steps(count: int) -> Array:
    r"""Numbers from 0 to 1 for `count` values in order, whose correlation with the true ones is the least uncertain.

    .. math:: c_j = \sqrt{(j - 1)(1 - (j - 1)/n)} - \sqrt{j(1 - j/n)}, \qquad j = 1, \dots, n

    Whatever the true distances are, as long as they keep the order, the squared correlation of these numbers with the
    true ones is at least `least_agreement`, and no other numbers guarantee as much. The steps are wide at both ends.

    Reference: Abelson & Tukey, Annals of Mathematical Statistics 34(4), 1963; the formula was checked here, not read
    in the paper: all steps of one place have the same correlation, as the best numbers must

    >>> maximin_steps(4).round(4).tolist()
    [0.0, 0.4226, 0.5774, 1.0]
    """
    if count < 2:
        raise UsageError(f"maximin_steps: count == {count}, must be 2 or more values in order")
    j = np.arange(count + 1)
    root = np.sqrt(j * (count - j) / count)
    steps = root[:-1] - root[1:]
    return np.asarray((steps - steps[0]) / (steps[-1] - steps[0]))


def least_agreement(values: Array) -> float:
    """The lowest squared correlation of ascending numbers with any others in the same order.

    The lowest is reached where the true values are all the same up to one place, and all the same after it.

    >>> round(least_agreement(np.array([0.0, 0.5, 1.0])), 4), round(least_agreement(np.array([0.0, 0.1, 1.0])), 4)
    (0.75, 0.3324)
    """
    n, left = len(values), values - values.mean()
    k = np.arange(1, n)
    above = left[::-1].cumsum()[::-1][1:]  # the sum of the values from each place on
    r = above / np.sqrt((left**2).sum() * k * (n - k) / n)
    return float(r.min() ** 2)


@dataclass(frozen=True, eq=False, repr=False)
class Steps(Record):
    """How much the scores of a measure, and other numbers in their order, are sure to say about the true distances."""

    caption = "Lowest squared correlation with any distances that keep the order"
    measures: Annotated[tuple[str, ...], column("measure")]
    count: Annotated[Index64, column("values")]
    """The distinct scores."""
    own: Annotated[Array, column("its scores", better="higher")]
    equal: Annotated[Array, column("equal steps", better="higher")]
    """As on an interval scale that `interval_scores` makes."""
    maximin: Annotated[Array, column(better="higher")]
    """Those of `maximin_steps`: no numbers guarantee more."""
    notes: tuple[str, ...] = (
        "if nothing but the order of lists is known; maximin: the numbers that guarantee most",
        method_note(SOURCE),
    )


def guaranteed(scales: Iterable[Scale]) -> Steps:
    """The guarantee of the scores of each measure, of equal steps and of the maximin ones.

    >>> from cranfield.meta.scale.scale import scales
    >>> guaranteed(scales(["RR"], 3)).columns()["values"].tolist()  # RR of three documents is 0, 1/3, 1/2 or 1
    [4]
    """
    several = [scale for scale in scales if len(scale.values) > 1]
    counts = [len(scale.values) for scale in several]
    return Steps(
        tuple(scale.measure for scale in several),
        np.array(counts, dtype=np.int64),
        np.array([least_agreement(scale.values) for scale in several]),
        np.array([least_agreement(np.arange(count) / 1.0) for count in counts]),
        np.array([least_agreement(maximin_steps(count)) for count in counts]),
    )
