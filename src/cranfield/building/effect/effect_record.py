"""The result of comparing methods of merging: means, ranks, rank correlations and significant pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from cranfield.record import Columns, Record, column, table_of
from cranfield.table import Cell, Column, Table
from cranfield.types import Array, Index64


class Interval(NamedTuple):
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

    measures: Annotated[tuple[str, ...], column("measure", axis=True)]
    methods: Annotated[tuple[str, ...], column("method", axis=True)]
    """The methods, and the scale of labels if there are several."""
    runs: Annotated[tuple[str, ...], column("run", axis=True)]
    topics: tuple[str, ...]
    reference: str
    """The method, or the judgments, that others are compared with."""
    means: Annotated[Interval, column("mean", "low", "high", over="methods measures runs")]
    """methods × measures × runs: mean scores."""
    reference_means: Array
    """measures × runs."""
    rank: Annotated[Index64, column(over="methods measures runs")]
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

    def columns(self) -> Columns:
        """Also the change of the rank from that of the reference: above 0 is worse."""
        return super().columns() | {"change": np.swapaxes(self.rank - self.reference_rank, 0, 1).ravel()}

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
