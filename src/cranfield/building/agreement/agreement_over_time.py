"""Agreement of each assessor with the others in the order of their labels: does it fall with fatigue?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.building.agreement.agreement_settings import check_paired
from cranfield.building.agreement.chance_corrected import divided
from cranfield.building.agreement.other_labels import OtherLabels
from cranfield.building.agreement.repeated_labels import first_labels
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.errors import UsageError
from cranfield.record import Record
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

ALL = "all"


@dataclass(frozen=True, eq=False, repr=False)
class AgreementOverTime(Record):
    """The agreement of each assessor with the others, in windows over the order of their labels."""

    figure = "describe_assessor_agreement"
    facts = ("windows", "level")

    assessors: tuple[str, ...]
    """The first is `all`: the labels of all assessors, at their places in the order of their assessor."""
    windows: int
    counts: Index64
    """assessors × windows: the number of labels whose items others labelled too."""
    values: Array
    """assessors × windows: the mean share of the others who gave the same label; NaN for an empty window."""
    low: Array
    high: Array
    change: Array
    """assessors: how much agreement changes from the first to the last label, by least squares."""
    change_low: Array
    change_high: Array
    seconds: Array
    """assessors × windows: mean seconds per label; NaN if they are unknown."""
    level: float
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """assessor, window, labels, agreement, low, high, seconds, change, change low, change high."""
        a, w = (axis.ravel() for axis in np.indices(self.values.shape))
        return {
            "assessor": np.array(self.assessors, dtype=object)[a],
            "window": w + 1,
            "labels": self.counts.ravel(),
            "agreement": self.values.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
            "seconds": self.seconds.ravel(),
            "change": self.change[a],
            "change low": self.change_low[a],
            "change high": self.change_high[a],
        }

    def table(self) -> Table:
        """A row per assessor: agreement in each window, and the change from the first to the last label."""
        heads = [Column("assessor"), Column("labels", "count")]
        heads += [Column(f"window {w + 1}", "number") for w in range(self.windows)]
        heads += [Column("change", "number")]
        timed = not np.isnan(self.seconds).all()
        heads += [Column("seconds, first", "number"), Column("seconds, last", "number")] if timed else []
        rows: list[tuple[Cell, ...]] = []
        for a, name in enumerate(self.assessors):
            ends = (float(self.change[a]), float(self.change_low[a]), float(self.change_high[a]))
            cells = (*self.values[a].tolist(), Estimate("", "", *ends, 0, 0, 0))
            spent = (float(self.seconds[a, 0]), float(self.seconds[a, -1])) if timed else ()
            rows.append((name, int(self.counts[a].sum()), *cells, *spent))
        return Table(tuple(heads), tuple(rows), "Agreement with the others over time", self.notes)


def agreement_over_time(
    labels: LabelsLike,
    *,
    windows: int = 5,
    level: float = 0.95,
) -> AgreementOverTime:
    """Agreement of each assessor with the others, in windows over the order of their labels.

    The labels of an assessor are ordered by time, or as they are given if there are no times, and divided into
    `windows` with equally many labels. The agreement of a label is the share of the others who gave the item the same
    label. The change is the slope of a least-squares line from the first label to the last: below 0, agreement falls,
    such as with fatigue, or because harder items come later. Intervals are the value ± z times its standard error; that
    of the change allows for unequal variances (White, Econometrica 48(4), 1980, doi:10.2307/1912934).

    >>> given = [("t1", "anna", 1), ("t2", "anna", 1), ("t1", "ben", 1), ("t2", "ben", 0)]
    >>> agreement_over_time(given, windows=2).values[1].tolist()  # anna
    [1.0, 0.0]
    """
    check.whole("agreement_over_time", windows=windows)
    if not 0 < level < 1:
        raise check.wrong("agreement_over_time", "level", level, "between 0 and 1, both excluded")
    first, notes = first_labels(Labels.of(labels))
    check_paired(first)
    if first.time is not None and np.isnan(first.time).all():
        raise UsageError("agreement_over_time: no label has a time")
    place, window, untimed = _places(first, windows)
    others = OtherLabels.of(first)
    place, window = place[others.at], window[others.at]
    seconds = np.full(len(first), np.nan) if first.seconds is None else first.seconds
    timed = ~np.isnan(place)
    parts = [np.flatnonzero(timed), *(rows[timed[rows]] for rows in others.of_assessors())]
    shape = (len(parts), windows)
    counts, values, errors, means = np.zeros((4, *shape))
    change, change_error = np.full((2, len(parts)), np.nan)
    for a, rows in enumerate(parts):
        counts[a], values[a], errors[a] = _window_means(window[rows], others.agreed[rows], windows)
        change[a], change_error[a] = _slope(place[rows], others.agreed[rows])
        spent = seconds[others.at[rows]]
        means[a] = _window_means(window[rows][~np.isnan(spent)], spent[~np.isnan(spent)], windows)[1]
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    notes += ("the order of labels: " + ("by time" if first.time is not None else "as given, as there are no times"),)
    notes += (
        f"agreement: the mean share of the others who gave the same label; {windows} windows of equally many labels",
    )
    notes += ("change: from the first to the last label, by least squares; below 0, agreement falls",)
    notes += (f"intervals: value ± z × standard error (of the change: White 1980), level {100 * level:g}%",)
    if untimed:
        notes += (f"{counted(untimed, 'label')} without a time, left out",)
    short = [name for name, rows in zip(first.workers, parts[1:], strict=True) if len(rows) < 2 * windows]
    if short:
        notes += (f"fewer than two labels per window that others gave too: {listed(short, noun='assessors')}",)
    return AgreementOverTime(
        (ALL, *first.workers), windows, counts.astype(np.int64), values, np.maximum(values - z * errors, 0.0),
        np.minimum(values + z * errors, 1.0), change, change - z * change_error, change + z * change_error, means,
        level, notes,
    )  # fmt: skip


def _places(labels: Labels, windows: int) -> tuple[Array, Index64, int]:
    """The place of each label in the order of its assessor, from 0 to 1, its window, and how many have no time."""
    when = np.arange(len(labels), dtype=np.float64) if labels.time is None else labels.time
    known = ~np.isnan(when)
    order = np.lexsort((np.arange(len(labels)), when, labels.worker))
    order = order[known[order]]
    counts = np.bincount(labels.worker[known], minlength=len(labels.workers))
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    rank, size = np.arange(len(order)) - starts, np.repeat(counts, counts)
    place, window = np.full(len(labels), np.nan), np.zeros(len(labels), dtype=np.int64)
    place[order] = divided(rank.astype(np.float64), (size - 1).astype(np.float64))
    place[order[size == 1]] = 0.0
    window[order] = rank * windows // size
    return place, window, int((~known).sum())


def _window_means(window: Index64, values: Array, windows: int) -> tuple[Array, Array, Array]:
    """The number of values of each window, their mean, and its standard error; NaN with too few values."""
    count = np.bincount(window, minlength=windows).astype(np.float64)
    mean = divided(np.bincount(window, weights=values, minlength=windows), count)
    squares = np.bincount(window, weights=(values - mean[window]) ** 2, minlength=windows)
    return count, mean, np.sqrt(divided(squares, count * (count - 1)))


def _slope(x: Array, y: Array) -> tuple[float, float]:
    """The slope of the least-squares line, and its standard error for values of unequal variance (White 1980, HC1).

    >>> slope, error = _slope(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.0, 0.0]))
    >>> slope, round(error**2, 4)  # residuals 1/6, -1/3, 1/6: (2 × (1/2 × 1/6)²) / (1/2)² × 3
    (-1.0, 0.1667)
    """
    n = len(x)
    if n < 3 or np.ptp(x) == 0:
        return np.nan, np.nan
    centred = x - x.mean()
    spread = float((centred**2).sum())
    slope = float(centred @ y) / spread
    residual = y - y.mean() - slope * centred
    variance = float(((centred * residual) ** 2).sum()) / spread**2 * n / (n - 2)
    return slope, float(np.sqrt(variance))
