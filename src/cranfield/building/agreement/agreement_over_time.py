"""Agreement of each assessor with the others in the order of his labels: does it fall with fatigue?"""

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
from cranfield.building.agreement.unit_bootstrap import bootstrap, percentile_interval
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.comparison.resampling import check_resampling
from cranfield.errors import UsageError
from cranfield.record import Record
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

ALL = "all"


@dataclass(frozen=True, eq=False, repr=False)
class AgreementOverTime(Record):
    """The agreement of each assessor with the others, in windows over the order of his labels."""

    facts = ("windows", "level", "resamples", "seed")

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
    resamples: int
    seed: int
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
    resamples: int = 1_000,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> AgreementOverTime:
    """Agreement of each assessor with the others, in windows over the order of his labels.

    The labels of an assessor are ordered by time, or as they are given if there are no times, and divided into
    `windows` with equally many labels. The agreement of a label is the share of the others who gave the item the same
    label. The change is the slope of a least-squares line from the first label to the last: below 0, agreement falls,
    such as with fatigue, or because harder items come later. Intervals are bootstrap percentiles over the labels.

    >>> given = [("t1", "anna", 1), ("t2", "anna", 1), ("t1", "ben", 1), ("t2", "ben", 0)]
    >>> agreement_over_time(given, windows=2, resamples=0).values[1].tolist()  # anna
    [1.0, 0.0]
    """
    check.whole("agreement_over_time", windows=windows)
    if resamples:
        check_resampling("agreement_over_time", resamples, seed, None)
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
    values, low, high, means = np.full((4, *shape), np.nan)
    change, change_low, change_high = np.full((3, len(parts)), np.nan)
    counts = np.zeros(shape, dtype=np.int64)
    for a, rows in enumerate(parts):
        terms = _terms(place[rows], window[rows], others.agreed[rows], windows)
        whole = _computed(terms.sum(axis=0, keepdims=True), windows)[0]
        change[a], values[a] = whole[0], whole[1:]
        counts[a] = np.bincount(window[rows], minlength=windows)
        spent = seconds[others.at[rows]]
        known = ~np.isnan(spent)
        total = np.bincount(window[rows][known], weights=spent[known], minlength=windows)
        means[a] = divided(total, np.bincount(window[rows][known], minlength=windows).astype(np.float64))
        if resamples and len(rows) > 1:
            state = bootstrap(terms, lambda sums: _computed(sums, windows), resamples, [seed, a])
            ends = percentile_interval(state.result, level)
            (change_low[a], low[a]), (change_high[a], high[a]) = ((end[0], end[1:]) for end in ends)
        if progress is not None:
            progress(a + 1, len(parts))
    notes += ("the order of labels: " + ("by time" if first.time is not None else "as given, as there are no times"),)
    notes += (
        f"agreement: the mean share of the others who gave the same label; {windows} windows of equally many labels",
    )
    notes += ("change: from the first to the last label, by least squares; below 0, agreement falls",)
    if resamples:
        notes += (f"intervals: percentile bootstrap over labels, level {100 * level:g}%, seed {seed}",)
    if untimed:
        notes += (f"{counted(untimed, 'label')} without a time, left out",)
    short = [name for name, rows in zip(first.workers, parts[1:], strict=True) if len(rows) < 2 * windows]
    if short:
        notes += (f"fewer than two labels per window that others gave too: {listed(short, noun='assessors')}",)
    return AgreementOverTime(
        (ALL, *first.workers), windows, counts, values, low, high, change, change_low, change_high, means, level,
        resamples, seed, notes,
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


def _terms(place: Array, window: Index64, agreed: Array, windows: int) -> Array:
    """labels × numbers: the terms of a least-squares line, and for each window its number and agreement."""
    member = np.eye(windows)[window]
    line = np.stack([np.ones(len(place)), place, agreed, place * place, place * agreed], axis=1)
    return np.concatenate([line, member, member * agreed[:, None]], axis=1)


def _computed(sums: Array, windows: int) -> Array:
    """resamples × (1 + windows): the slope, and the agreement in each window."""
    n, x, y, xx, xy = sums[:, :5].T
    slope = divided(n * xy - x * y, n * xx - x * x)
    means = divided(sums[:, 5 + windows :], sums[:, 5 : 5 + windows])
    return np.concatenate([slope[:, None], means], axis=1)
