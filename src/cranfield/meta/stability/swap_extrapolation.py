"""Swap rates for more topics than two disjoint sets can have, by curves fitted to those of smaller sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.meta.stability.swap import LEAST, SwapRates, falling_rates
from cranfield.notes import Notes
from cranfield.record import Columns, Record, crossed, table_of
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Array

SIZES = 3
"""A curve is fitted to this many sizes or more: two always lie on one."""


@dataclass(frozen=True, eq=False, repr=False)
class SwapExtrapolation(Record):
    """For each measure and bin of the difference, the fitted curve and its swap rate for more topics."""

    figure = "swap_extrapolation_figure"
    facts = ("topics", "rate")

    swaps: SwapRates
    topics: int
    """The number of topics that rates are extrapolated to."""
    factor: Array
    """measures × bins: a of the curve a·exp(−b n); NaN without a fit."""
    decay: Array
    """measures × bins: b."""
    fit: Array
    """measures × bins: the weighted R² of the logarithms."""

    @property
    def rate(self) -> float:
        return self.swaps.rate

    @property
    def rates(self) -> Array:
        """measures × bins: the swap rate for `topics` topics; 0 if the largest sets have comparisons and no swaps."""
        rates = np.minimum(self.factor * np.exp(-self.decay * self.topics), 1.0)
        never = (self.swaps.swaps[:, -1] == 0) & (self.swaps.counts[:, -1] >= LEAST)
        return np.asarray(np.where(np.isnan(rates) & never, 0.0, rates))

    @property
    def required(self) -> Array:
        """For each measure, the least difference whose smoothed rate is at most `rate`; NaN if there is none."""
        rates, counts = self.rates, np.where(np.isnan(self.rates), 0, self.swaps.counts[:, -1])
        low = (falling_rates(counts, np.nan_to_num(rates) * counts) <= self.rate * (1 + 1e-12)) & (counts > 0)
        edges = self.swaps.edges
        return np.array([edges[np.argmax(row)] if row.any() else np.nan for row in low])

    def columns(self) -> Columns:
        """measure, difference, a, b, R², rate: a row per measure and bin."""
        axes = {"measure": self.swaps.measures, "difference": self.swaps.edges}
        return crossed(axes, {"a": self.factor, "b": self.decay, "R²": self.fit, "rate": self.rates})

    def summary(self) -> Columns:
        """measure, the required difference by size, the extrapolated one, bins with a fit, and their median R²."""
        swaps, fitted = self.swaps, ~np.isnan(self.factor)
        columns: Columns = {"measure": np.array(swaps.measures, dtype=object)}
        columns |= {f"{size} topics": swaps.required[:, i] for i, size in enumerate(swaps.sizes)}
        columns[f"{self.topics} topics"] = self.required
        columns["fitted bins"] = fitted.sum(axis=1)
        columns["median R²"] = np.array(
            [np.median(row[kept]) if kept.any() else np.nan for row, kept in zip(self.fit, fitted, strict=True)]
        )
        return columns

    def table(self) -> Table:
        """A row per measure: the difference that the swap rate needs, by the number of topics."""
        return table_of(self.summary(), caption=f"Swap rate ≤ {100 * self.rate:g}%", notes=self.notes)

    def curves(self) -> Table:
        """A row per measure and bin."""
        return table_of(self.columns(), notes=self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """How the curves were fitted, and what they cannot say."""
        notes = Notes()
        sizes = ", ".join(map(str, self.swaps.sizes))
        notes.caution(f"{self.topics} topics: extrapolated from sets of {sizes} topics, as if rates fell exponentially")
        notes.method(
            "rate = a·exp(−b n) for n topics, fitted for each bin by least squares of the logarithm, weighted by the "
            f"number of swaps, to {SIZES} sizes or more that have swaps and {LEAST} comparisons"
        )
        return (*notes, *self.swaps.notes)


def extrapolate_swaps(swaps: SwapRates, topics: int) -> SwapExtrapolation:
    r"""Fit the swap rate of each bin by the number of topics per set, and extrapolate it to `topics`.

    .. math:: \ln \text{rate}_n \approx \ln a - b\,n

    Disjoint sets have at most half of the topics, so the rate of all topics has to be extrapolated. Each size has the
    weight of its number of swaps: the variance of the logarithm of a rate is about one over that number. A bin has a
    curve if its rate falls and three sizes or more have swaps. Drawing with replacement needs no extrapolation
    (Sakai 2007 §2), and shows how good it is.
    Reference: Voorhees & Buckley, SIGIR 2002, doi:10.1145/564376.564432, who extrapolate from disjoint sets; the form
    of the curve is known to us from descriptions of their paper

    >>> from cranfield.meta.stability.swap import swap_rates
    >>> from cranfield.scores.scores import Scores
    >>> rng = np.random.default_rng(0)
    >>> values = np.linspace(0.2, 0.4, 6)[:, None] + rng.normal(0, 0.2, (6, 60))
    >>> scores = Scores(["AP"], list("abcdef"), map(str, range(60)), [values])
    >>> result = extrapolate_swaps(swap_rates(scores, replacement=False, sizes=[10, 15, 20, 25, 30]), 60)
    >>> bool(result.required[0] < result.swaps.required[0, -1])
    True
    """
    check.whole("extrapolate_swaps", topics=topics)
    sizes = np.array(swaps.sizes, dtype=np.float64)
    if len(sizes) < SIZES:
        few = counted(len(sizes), "size")
        raise UsageError(f"extrapolate_swaps: {few}, a curve needs {SIZES}; give sizes such as 5, 10, 15, 20")
    if topics <= sizes[-1]:
        raise UsageError(f"extrapolate_swaps: topics == {topics}, must be above {sizes[-1]:.0f}, the largest size")
    shape = (len(swaps.measures), swaps.counts.shape[2])
    factor, decay, fit = np.full((3, *shape), np.nan)
    for m, i in np.ndindex(shape):
        count, swapped = swaps.counts[m, :, i], swaps.swaps[m, :, i]
        used = (swapped > 0) & (count >= LEAST)
        if used.sum() >= SIZES:
            a, b, r2 = _exponential(sizes[used], swapped[used] / count[used], swapped[used])
            if b > 0:
                factor[m, i], decay[m, i], fit[m, i] = a, b, r2
    return SwapExtrapolation(swaps, topics, factor, decay, fit)


def _exponential(n: Array, rate: Array, weight: NDArray[Any]) -> tuple[float, float, float]:
    """a, b and R² of rate = a·exp(−b n), by weighted least squares of the logarithm."""
    y = np.log(rate)
    mean_n, mean_y = np.average(n, weights=weight), np.average(y, weights=weight)
    slope = float((weight * (n - mean_n) * (y - mean_y)).sum() / (weight * (n - mean_n) ** 2).sum())
    total = float((weight * (y - mean_y) ** 2).sum())
    rest = float((weight * (y - mean_y - slope * (n - mean_n)) ** 2).sum())
    return math.exp(mean_y - slope * mean_n), -slope, 1 - rest / total if total > 0 else 1.0
