"""Answers about power and size: a sentence, a record, and a curve."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.power.designs import Experiment
from cranfield.comparison.power.variance import Variance
from cranfield.errors import UsageError
from cranfield.record import Record, plain
from cranfield.table import Cell, Column, Table
from cranfield.types import Array

BAR = 30
"""How long a bar of 1 is, in characters."""


@dataclass(frozen=True)
class PowerAnswer(Record):
    """What was asked (`topics`, `difference`, `power` or `width`), with all that it depends on."""

    asked: str
    experiment: Experiment
    ground: Variance
    """The variance that was planned with, and where it is from."""
    topics: int
    difference: float = math.nan
    """The true difference to be found; for analyses of variance, that of the best and the worst system."""
    power: float = math.nan
    """Where topics were asked for, the power wanted; with whole topics a little more is had, see `power_had`."""
    width: float = math.nan
    measure: str = ""

    @property
    def power_had(self) -> float:
        """The power with just these topics; NaN for an interval."""
        if not self.experiment.design.tests:
            return math.nan
        return float(self.experiment.power(self.topics, self.difference))

    @property
    def notes(self) -> tuple[str, ...]:
        return self.ground.notes

    def __str__(self) -> str:
        claim = self._claim()
        return f"{claim[0].upper()}{claim[1:]} ({self._basis()})"

    __repr__ = __str__

    def _claim(self) -> str:
        made = self.experiment
        within = f" in {self.measure}" if self.measure else ""
        each = " in each sample" if made.design.per_sample else ""
        n = f"{self.topics:,} topics{each}"
        if not made.design.tests:
            level = f"{100 * (1 - made.alpha):g}%"
            if self.asked == "topics":
                return (
                    f"{n} are needed for a {level} interval of the mean difference{within} at most {self.width:g} wide"
                )
            return f"with {n} the {level} interval of the mean difference{within} is {small(self.width)} wide"
        odds = f"with power {self._wanted()} at α = {made.alpha:g}"
        what = f"a difference of {self.difference:g}{within}"
        if made.design.all_systems:
            pair = "a given pair" if made.design.name == "tukey" else "the best and the worst"
            what += f" between {pair} of {made.systems:,} systems"
        if self.asked == "topics":
            return f"{n} are needed to find {what} {odds}"
        if self.asked == "power":
            return f"with {n}, {what} is found {odds}"
        smallest = what.replace(f"a difference of {self.difference:g}", "the smallest difference", 1)
        return f"with {n}, {smallest} found {odds} is {small(self.difference)}"

    def _wanted(self) -> str:
        """The power as it was asked for, or as it was found."""
        exactly = self.asked != "power" and round(self.power, 2) != self.power
        return f"{self.power:.12g}" if exactly else share(self.power)

    def _basis(self) -> str:
        made = self.experiment
        sided = "" if made.alternative == "two-sided" else ", one-sided"
        return f"{made.design.says}{sided}, {self.ground}"

    # -- the curve

    def curve(self, topics: Iterable[int] | None = None) -> PowerCurve:
        """For a range of topic counts: the power to find the difference, and the difference found with the power.

        For an interval: its width. `topics` are by default some around the answer.
        """
        asked = sorted(set(self._around() if topics is None else topics))
        for one in asked:
            check.whole("curve", topics=one)
        if not asked or asked[0] < 2:
            raise UsageError(f"curve: topics == {asked!r}, must be numbers of topics, 2 or more")
        n = np.array(asked, dtype=np.int64)
        none = np.full(len(n), np.nan)
        made = self.experiment
        if not made.design.tests:
            return PowerCurve(self.measure, n, none, none, made.width(n), self.topics)
        # Where the power itself was the question there is none that a difference should be found with.
        smallest = none if self.asked == "power" else made.smallest_difference(n, self.power)
        return PowerCurve(self.measure, n, made.power(n, self.difference), smallest, none, self.topics)

    def _around(self) -> list[int]:
        """Some numbers from a sixth of the answer to three times as much, of two digits that count, and the answer."""
        spread = np.geomspace(max(2.0, self.topics / 6), max(12.0, 3 * self.topics), 12)
        return [*(int(f"{float(f'{one:.2g}'):.0f}") for one in spread), self.topics]

    # -- out

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON, the curve included; undefined is None."""
        made = self.experiment
        facts = {
            **self._row(),
            "asked": self.asked,
            "power_had": self.power_had,
            "alternative": made.alternative,
            "systems": made.systems if made.design.all_systems else None,
            "variance_of": self.ground.of,
            "variance_model": self.ground.model,
            "says": str(self),
            "notes": self.notes,
            "curve": {name: column.tolist() for name, column in self.curve().columns().items() if name != "measure"},
        }
        return {name: plain(value) for name, value in facts.items()}

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row: measure, test, topics, difference, power, width, alpha, variance."""
        return {
            name: np.array([value], dtype=object if isinstance(value, str) else None)
            for name, value in self._row().items()
        }

    def _row(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "test": self.experiment.design.name,
            "topics": self.topics,
            "difference": float(self.difference),
            "power": float(self.power),
            "width": float(self.width),
            "alpha": float(self.experiment.alpha),
            "variance": float(self.ground.value),
        }

    def table(self, *, bars: bool = False) -> Table:
        """The curve as a table below the answer; `bars` draws it."""
        legend = []
        if self.experiment.design.tests:
            legend.append(f"power: to find a difference of {self.difference:.4g}")
            if self.asked != "power":
                legend[0] += f"; difference: found with power {self._wanted()}"
        return self.curve().table(caption=str(self), notes=(*legend, *self.notes), bars=bars)


@dataclass(frozen=True, eq=False)
class PowerCurve(Record):
    """One entry per number of topics."""

    measure: str
    topics: NDArray[np.int64]
    power: Array
    """The power to find the difference asked about."""
    difference: Array
    """The difference that is found with the power asked about."""
    width: Array
    """Intervals: the expected width."""
    answer: int
    """The number of topics the answer is about."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, topics, and power and difference, or width."""
        told = {"power": self.power, "difference": self.difference, "width": self.width}
        kept = {name: values for name, values in told.items() if not np.isnan(values).all()}
        return {"measure": np.full(len(self.topics), self.measure, dtype=object), "topics": self.topics, **kept}

    def table(self, *, caption: str = "", notes: tuple[str, ...] = (), bars: bool = False) -> Table:
        """A row per number of topics; with bars, a drawing of the first column that is no number of topics."""
        columns = {name: values for name, values in self.columns().items() if name != "measure"}
        kinds = [Column(name, "count" if name == "topics" else "number") for name in columns]
        rows: list[tuple[Cell, ...]] = list(zip(*(values.tolist() for values in columns.values()), strict=True))
        if bars:
            drawn = next(values for name, values in columns.items() if name != "topics")
            tallest = 1.0 if "power" in columns else float(drawn.max())
            marks = [" <" if n == self.answer else "" for n in self.topics.tolist()]
            lines = [bar(one / tallest) + mark for one, mark in zip(drawn.tolist(), marks, strict=True)]
            kinds.append(Column(""))
            rows = [(*row, line) for row, line in zip(rows, lines, strict=True)]
        return Table(tuple(kinds), tuple(rows), caption, notes)


def bar(share: float, length: int = BAR) -> str:
    """A line of blocks, to an eighth of a character.

    >>> bar(0.5, 5)
    '██▌'
    """
    eighths = round(8 * length * min(max(share, 0.0), 1.0))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def share(x: float) -> str:
    """A power in a sentence.

    >>> share(0.8), share(0.6367), share(0.99996)
    ('0.80', '0.637', 'above 0.999')
    """
    if x > 0.999:
        return "above 0.999"
    return f"{x:.2f}" if round(x, 2) == x else f"{x:.3f}"


def small(x: float) -> str:
    """A difference in a sentence.

    >>> small(0.06061), small(0.0000123)
    ('0.0606', '1.23e-05')
    """
    return f"{x:.4f}" if x >= 0.001 else f"{x:.3g}"
