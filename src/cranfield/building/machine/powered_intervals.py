"""Intervals of mean scores from few topics with human judgments and many topics with machine judgments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.machine.powered_means import PoweredMeans, powered_means
from cranfield.building.machine.scores_by_row import ScoresByRow
from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.errors import UsageError
from cranfield.record import Record
from cranfield.scores import summary
from cranfield.scores.bounded_mean import few_carry
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted, listed
from cranfield.types import Array

ASSUMPTION = (
    "assumption: the topics with human judgments are a random sample of all topics, and the machine judged all topics "
    "in the same way"
)
FEW = 20
"""With fewer topics than this, the variances are rough and a note says so."""


@dataclass(frozen=True, eq=False, repr=False)
class PoweredIntervals(Record):
    """The mean of each run, or the mean difference of each pair, with a prediction-powered and a classical interval."""

    figure = "describe_powered"
    facts = ("topics", "others", "level", "interval", "correction", "baseline")

    measure: NDArray[Any]
    run: NDArray[Any]
    other: NDArray[Any] | None
    """The second run of each pair; None for the means of runs."""
    means: PoweredMeans
    machine_only: Array
    """The mean with machine judgments alone, over all topics; it may be biased."""
    adjusted: Array | None
    """Adjusted p-values of differences."""
    topics: tuple[str, ...]
    """The topics with both judgments."""
    others: tuple[str, ...]
    """The topics with machine judgments only."""
    level: float
    interval: str
    correction: str
    baseline: str | None
    notes: tuple[str, ...]

    @property
    def differs(self) -> NDArray[np.bool_]:
        """Is the adjusted p-value of a difference at most 1 − level?"""
        if self.adjusted is None:
            raise UsageError("only differences of two runs can be significant; name a baseline, or take all pairs")
        return np.asarray(self.adjusted <= 1 - self.level)

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, run (and other), estimate, its interval, the classical mean and interval, λ, topics, effective."""
        means = self.means
        names = {"run": self.run} if self.other is None else {"run": self.run, "other": self.other}
        tests = {}
        if self.adjusted is not None:
            tests = {"p": means.p, "p adjusted": self.adjusted, "differs": self.differs}
        return {
            "measure": self.measure,
            **names,
            "estimate": means.estimate,
            "low": means.low,
            "high": means.high,
            "classical": means.classical,
            "classical low": means.classical_low,
            "classical high": means.classical_high,
            "machine only": self.machine_only,
            "lambda": means.tuning,
            "human topics": means.topics.astype(np.int64),
            "other topics": means.others.astype(np.int64),
            "effective topics": means.effective,
            **tests,
        }

    def table(self) -> Table:
        """A row per run or pair: both intervals, the mean by the machine alone, λ and the effective topics."""
        columns, several = self.columns(), len(set(self.measure.tolist())) > 1
        heads = [Column("measure")] if several else []
        heads += [Column("run")] if self.other is None else [Column("run"), Column("other")]
        heads += [Column(name, "number") for name in ("estimate", "classical", "machine only", "λ")]
        heads += [Column("effective topics", "count")]
        if self.adjusted is not None:
            heads += [Column("p adjusted", "probability"), Column("differs")]
        rows: list[tuple[Cell, ...]] = []
        for i in range(len(self.run)):
            row: list[Cell] = [self.measure[i]] if several else []
            row += [self.run[i]] if self.other is None else [self.run[i], self.other[i]]
            row += [self._cell(columns, i, "estimate", ""), self._cell(columns, i, "classical", "classical ")]
            row += [float(columns[name][i]) for name in ("machine only", "lambda", "effective topics")]
            if self.adjusted is not None:
                row += [float(self.adjusted[i]), "yes" if self.differs[i] else ""]
            rows.append(tuple(row))
        measures = listed(dict.fromkeys(self.measure.tolist()))
        what = "Mean" if self.other is None else "Mean difference in"
        caption = f"{what} {measures} with {100 * self.level:g}% intervals"
        return Table(tuple(heads), tuple(rows), caption, self.notes)

    def _cell(self, columns: dict[str, NDArray[Any]], i: int, value: str, prefix: str) -> Estimate:
        low, high = columns[f"{prefix}low"][i], columns[f"{prefix}high"][i]
        topics = int(columns["human topics"][i])
        return Estimate(self.measure[i], self.run[i], float(columns[value][i]), float(low), float(high), topics, 0, 0)


def powered_intervals(
    human: Scores,
    machine: Scores,
    *,
    baseline: str | None = None,
    pairs: bool = False,
    tuning: float | None = None,
    level: float = 0.95,
    interval: str = "t",
    correction: str = "holm",
) -> PoweredIntervals:
    """Means of runs over all topics, from human judgments on few of them and machine judgments on all.

    human: scores with human judgments; machine: scores of the same runs with machine judgments, also on further topics.
    baseline: compare every other run with this one (run − baseline); pairs: compare all pairs of runs.
    tuning, interval: see `powered_means`, which has the formulas and the papers.
    correction: of the p-values of differences, over all rows.

    The topic is the unit: its scores with both judgments correct the machine scores of the other topics. The intervals
    hold for good and bad machine judgments if the topics with human judgments are a random sample of all topics; the
    better the machine, the narrower the interval. Where few of the human topics carry the spread, such as for runs
    that differ on few topics, the interval comes from the human scores and the range of the measure. A topic on which a
    measure is undefined is left out of that row.

    >>> human = Scores.from_matrix([[0.2], [0.4], [0.9]], ["a"], ["1", "2", "3"], measure="AP")
    >>> machine = Scores.from_matrix([[0.3], [0.4], [0.8], [0.5], [0.3], [0.6], [0.8]], ["a"], "1234567", measure="AP")
    >>> result = powered_intervals(human, machine, tuning=1.0)
    >>> result.means.estimate.round(4).tolist(), result.means.classical.tolist()
    ([0.55], [0.5])
    """
    CORRECTIONS.find(correction)
    rows = ScoresByRow.of(human, machine, baseline, pairs)
    means = powered_means(
        rows.human, rows.machine, rows.others, tuning=tuning, level=level, interval=interval, limits=rows.limits
    )
    machine_only = summary.mean(np.concatenate([rows.machine, rows.others], axis=1))
    adjusted = None if rows.other is None else adjust(means.p, correction)
    notes = _notes(means, rows, level, interval, tuning, None if rows.other is None else correction)
    return PoweredIntervals(
        rows.measure, rows.run, rows.other, means, machine_only, adjusted, rows.topics, rows.other_topics, level,
        interval, correction, baseline, tuple(dict.fromkeys([*rows.notes, *notes])),
    )  # fmt: skip


def _notes(
    means: PoweredMeans, rows: ScoresByRow, level: float, interval: str, tuning: float | None, correction: str | None
) -> list[str]:
    notes = [ASSUMPTION]
    weight = "tuned for each row" if tuning is None else f"{tuning:g} as requested"
    how = "Student's t, corrected for skewness" if interval == "t" else "the normal distribution"
    notes.append(f"λ, the weight of the machine, is {weight}; intervals by {how}, each alone at level {level:g}")
    if correction is not None:
        count = counted(len(means.estimate), "difference")
        notes.append(f"p adjusted: {correction}, over {count}; differs: p adjusted is at most {1 - level:g}")
    if interval == "normal" and (means.topics.min() < FEW or few_carry(rows.human).any()):
        notes.append("few topics with both judgments, or few that carry the spread: normal intervals are too narrow")
    if means.bounded.any():
        notes.append(
            f"{counted(int(means.bounded.sum()), 'row')} in which few topics carry the spread: the interval is that "
            "of the human scores within the range of the measure, wide but right; more human topics make it narrower"
        )
    if (missing := means.bounded & means.unlimited).any():
        notes.append(
            f"{counted(int(missing.sum()), 'of these rows has', 'of these rows have')} a measure without known range: "
            "the smallest and largest score take its place, so the interval may be too narrow"
        )
    undefined = np.isnan(rows.human) | np.isnan(rows.machine)
    left_out = int(undefined.any(axis=0).sum()), int(np.isnan(rows.others).any(axis=0).sum())
    if any(left_out):
        notes.append(
            f"a score is undefined on {counted(left_out[0], 'topic')} with both judgments and on {left_out[1]} with "
            "machine judgments only: these are left out of the rows concerned"
        )
    return notes
