"""What an analysis of variance leaves unexplained: are the errors normal, and do they vary alike?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.anova.anova import Anova, one_way
from cranfield.comparison.assumptions import DOUBT, normality
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.record import Columns, Record, column
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False, repr=False)
class Residuals(Record):
    """The residuals of an analysis of variance: how much they vary at each level of a factor; a row per level."""

    figure = "describe_residuals"
    facts = ("measure", "formula", "factor")

    level: Annotated[NDArray[Any], column()]
    scores: Annotated[Index64, column()]
    mean: Annotated[Array, column()]
    """The mean score of the level."""
    spread: Annotated[Array, column("standard deviation")]
    """The standard deviation of the residuals of the level."""
    largest: Annotated[Array, column("largest residual")]
    """The residual that is furthest from 0, with its sign."""
    factor: str
    measure: str
    formula: str
    of_scores: Columns
    """The levels of all factors, score, fitted, residual and normal quantile; a row per score."""
    notes: tuple[str, ...]

    def every(self) -> Columns:
        """A row per score: its levels, score, fitted, residual, normal quantile."""
        return self.of_scores

    @property
    def caption(self) -> str:
        """What was analysed."""
        return f"{self.measure}: residuals of {self.formula}, by {self.factor}"


def residuals(analysis: Anova, factor: str | None = None) -> Residuals:
    r"""Check the assumptions of an analysis of variance on its residuals (Ferro & Maistro 2024 §4.2.5).

    Normality by Shapiro and Wilk's test of all residuals, equal variance by Brown and Forsythe's test between the
    levels of `factor` (default: the last factor that is not nested, such as systems): the one-way analysis of the
    distances of residuals from the median of their level. The normal quantile of the i-th smallest of n residuals is
    :math:`\Phi^{-1}((i - 3/8) / (n + 1/4))` (Blom). F is robust if both fail a little; scores that depend on each other
    do more harm, and no residual shows them.

    >>> from cranfield.comparison.anova.anova import two_way
    >>> residuals(two_way([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8]])).spread.round(4).tolist()
    [0.0471, 0.0236, 0.0236]
    """
    layout = analysis.model.layout
    flat = [name for name, each in layout.factors.items() if not each.parents]
    chosen = layout.factor(factor or flat[-1])
    if chosen.parents:
        raise UsageError(
            f"residuals: {chosen.name} is nested in {', '.join(chosen.parents)}; name a factor that is not"
        )
    left = analysis.model.residuals()
    groups = [left[chosen.codes == number] for number in range(len(chosen.levels))]
    columns: Columns = {name: np.array(each.levels, dtype=object)[each.codes] for name, each in layout.factors.items()}
    columns |= {
        "score": layout.values,
        "fitted": layout.values - left,
        "residual": left,
        "normal quantile": quantiles(left),
    }
    return Residuals(
        np.array(chosen.levels, dtype=object),
        np.array([len(group) for group in groups], dtype=np.int64),
        np.array([layout.values[chosen.codes == number].mean() for number in range(len(chosen.levels))]),
        np.array([group.std(ddof=1) if len(group) > 1 else np.nan for group in groups]),
        np.array([group[np.abs(group).argmax()] for group in groups]),
        chosen.name, analysis.measure, analysis.formula, columns,
        (normality(left, "residuals").says, equal_spread(groups, chosen.name)),
    )  # fmt: skip


def quantiles(values: Array) -> Array:
    """The normal quantile at the rank of each value, by Blom's places; ties share the mean rank."""
    ordered, place, count = np.unique(values, return_inverse=True, return_counts=True)
    del ordered
    rank = (np.cumsum(count) - (count - 1) / 2)[place.reshape(-1)]
    return np.asarray(need("scipy.special", "normal quantiles").ndtri((rank - 0.375) / (len(values) + 0.25)))


def equal_spread(groups: list[Array], noun: str) -> str:
    """Brown and Forsythe's test of several groups, in words (JASA 69(346), 1974)."""
    distances = {str(number): np.abs(group - np.median(group)) for number, group in enumerate(groups)}
    if min(map(len, groups)) < 2 or not any(np.ptp(each) > 0 for each in distances.values()):
        return f"cannot decide whether residuals vary alike at all levels of {noun}"
    test = one_way(distances)["system"]
    verdict = "do not vary alike" if test.p < DOUBT else "may well vary alike"
    return f"residuals {verdict} at all levels of {noun} (Brown–Forsythe F = {test.f:.3f}, p = {test.p:.4f})"
