"""The result of comparing methods of merging: means, ranks, rank correlations and significant pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.record import Record, table_of
from cranfield.table import Cell, Column, Table
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False)
class Interval:
    """A number for each method and measure, with the ends of its interval; NaN if there are none."""

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False, repr=False)
class MergeEffect(Record):
    """Scores of runs under each method of merging, compared with those under a reference.

    A row per measure, method and run; `table` has a row per measure and method.
    """

    figure = "merge_effect_figure"
    facts = ("reference", "test", "correction", "alpha", "level", "resamples", "seed")

    methods: tuple[str, ...]
    """The methods, and the scale of labels if there are several."""
    measures: tuple[str, ...]
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    reference: str
    """The method, or the judgments, that others are compared with."""
    means: Interval
    """methods × measures × runs: mean scores."""
    reference_means: Array
    """measures × runs."""
    rank: Index64
    """methods × measures × runs: 1 for the best run; tied runs share the best rank of the tie."""
    reference_rank: Index64
    tau: Interval
    """methods × measures: Kendall's τ_b of the ranking and that of the reference."""
    tau_ap: Interval
    """methods × measures: AP correlation, where the reference is the gold standard."""
    significant: Index64
    """methods × measures: pairs of runs that differ significantly."""
    reference_significant: Index64
    kept: Interval
    """methods × measures: pairs that differ significantly in the same direction under the method and the reference."""
    lost: Index64
    """Pairs that differ significantly under the reference only."""
    new: Index64
    """Pairs that differ significantly under the method only."""
    reversed: Index64
    """Pairs that differ significantly under both, in opposite directions."""
    stability: Array
    """methods × measures: the mean τ_b of rankings with resampled assessors and that with all; NaN without them."""
    test: str
    correction: str
    alpha: float
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, method, run, mean, low, high, rank, change (of rank from the reference: above 0 is worse)."""
        m, k, r = (axis.ravel() for axis in np.indices(np.swapaxes(self.rank, 0, 1).shape))
        return {
            "measure": np.array(self.measures, dtype=object)[m],
            "method": np.array(self.methods, dtype=object)[k],
            "run": np.array(self.runs, dtype=object)[r],
            "mean": self.means.value[k, m, r],
            "low": self.means.low[k, m, r],
            "high": self.means.high[k, m, r],
            "rank": self.rank[k, m, r],
            "change": (self.rank - self.reference_rank)[k, m, r],
        }

    def table(self) -> Table:
        """A row per measure and method: rank correlation with the reference, and significant pairs."""
        intervals = self.resamples > 0
        spans = [Column("low", "number"), Column("high", "number")] if intervals else []
        counts = [Column("least", "count"), Column("most", "count")] if intervals else []
        columns = (
            Column("measure"), Column("method"), Column("τ", "number"), *spans, Column("τ_ap", "number"), *spans,
            Column("significant", "count"), Column("kept", "count"), *counts, Column("lost", "count"),
            Column("new", "count"), Column("reversed", "count"),
            *([Column("stability", "number")] if intervals else []),
        )  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        for m, measure in enumerate(self.measures):
            for k, method in enumerate(self.methods):
                cells: list[Cell] = [measure, method]
                for part in (self.tau, self.tau_ap):
                    cells += _cells(part, (k, m), intervals)
                cells += [int(self.significant[k, m]), int(self.kept.value[k, m])]
                if intervals:
                    cells += [math.floor(self.kept.low[k, m]), math.ceil(self.kept.high[k, m])]
                cells += [int(counted[k, m]) for counted in (self.lost, self.new, self.reversed)]
                rows.append((*cells, *([float(self.stability[k, m])] if intervals else [])))
        return Table(columns, tuple(rows), f"Effect of merging, compared with {self.reference}", self.notes)

    def runs_table(self) -> Table:
        """A row per measure, method and run: mean, interval, rank, and its change from the reference."""
        columns = self.columns()
        if not self.resamples:
            columns = {name: column for name, column in columns.items() if name not in ("low", "high")}
        return table_of(columns, caption=f"Runs under each method, compared with {self.reference}", notes=self.notes)


def _cells(part: Interval, at: tuple[int, int], interval: bool) -> list[Cell]:
    ends = [float(part.low[at]), float(part.high[at])] if interval else []
    return [float(part.value[at]), *ends]
