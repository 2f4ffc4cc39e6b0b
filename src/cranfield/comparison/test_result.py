"""What a test says: a record with the statistic, p, interval, effect size, and what was assumed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.record import Record, plain
from cranfield.table import Cell, Column, Table, number_kind

ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(frozen=True)
class Interval:
    """A confidence interval for what was estimated."""

    low: float
    high: float
    level: float = 0.95
    method: str = "t"

    def __str__(self) -> str:
        return f"[{self.low:.4f}, {self.high:.4f}] ({100 * self.level:g}% {self.method})"


@dataclass(frozen=True)
class Effect:
    """How large a difference is, in units that do not depend on the measure."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    level: float = 0.95
    words: str = ""
    """The size in words, by the rule of thumb the effect's function names; empty where there is none."""

    def __str__(self) -> str:
        span = "" if math.isnan(self.low) else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.name} = {self.value:.3f}{span}" + (f", {self.words}" if self.words else "")


@dataclass(frozen=True)
class Assumption:
    """Something the test takes for granted, and what the data say about it."""

    name: str
    """`normality`, `equal variance`, `topics`, `zeros`, `scale`, ..."""
    holds: bool | None
    """None: the data cannot tell."""
    says: str
    """A sentence for a reader, with the number behind it."""


@dataclass(frozen=True)
class TestResult(Record):
    """One test of one hypothesis.

    >>> print(TestResult("paired t", "t", 2.5, 0.02, "two-sided", n=(20,), df=(19.0,)))
    paired t test, two-sided: t(19) = 2.500, p = 0.0200, n = 20
    """

    __test__ = False  # not a class of tests, whatever pytest thinks of its name

    test: str
    statistic_name: str
    statistic: float
    p: float
    alternative: str
    n: tuple[int, ...]
    """How many topics (or entries of each sample)."""
    df: tuple[float, ...] = ()
    estimate_name: str = ""
    estimate: float = math.nan
    interval: Interval | None = None
    effect: Effect | None = None
    resamples: int | None = None
    """How many were drawn; None: none, the p-value is exact or from a distribution."""
    seed: int | None = None
    exact: bool = False
    """All arrangements were counted."""
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    measure: str = ""
    systems: tuple[str, ...] = ()

    def __str__(self) -> str:
        degrees = f"({', '.join(f'{x:.4g}' for x in self.df)})" if self.df else ""
        how = ", exact" if self.exact else f", B = {self.resamples:,}, seed {self.seed}" if self.resamples else ""
        n = " and ".join(map(str, self.n))
        first = (
            f"{self.test} test, {self.alternative}: {self.statistic_name}{degrees} = {self.statistic:.3f}, "
            f"{shown_p(self.p)}, n = {n}{how}"
        )
        lines = [f"{self.measure}, {' − '.join(self.systems)}: {first}" if self.systems else first]
        if self.estimate_name:
            span = f" {self.interval}" if self.interval else ""
            lines.append(f"{self.estimate_name} = {self.estimate:.4f}{span}")
        if self.effect:
            lines.append(str(self.effect))
        lines += [f"caution: {one.says}" for one in self.assumptions if one.holds is False]
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON; undefined is None."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        facts["interval"] = vars(self.interval) if self.interval else None
        facts["effect"] = vars(self.effect) if self.effect else None
        facts["assumptions"] = [dict(vars(one)) for one in self.assumptions]
        return {name: plain(value) for name, value in facts.items()}

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row: test, statistic, p, estimate, low, high, effect, n, ..."""
        row = self._row()
        return {
            name: np.array([value], dtype=object if isinstance(value, str) else None) for name, value in row.items()
        }

    def _row(self) -> dict[str, str | float | int]:
        return {
            "measure": self.measure,
            "systems": ", ".join(self.systems),
            "test": self.test,
            "alternative": self.alternative,
            "n": self.n[0] if self.n else 0,
            self.statistic_name: self.statistic,
            "p": self.p,
            "estimate": self.estimate,
            "low": self.interval.low if self.interval else math.nan,
            "high": self.interval.high if self.interval else math.nan,
            "effect": self.effect.value if self.effect else math.nan,
        }

    def table(self) -> Table:
        """As a table of one row, for LaTeX, HTML and the rest."""
        row = {name: value for name, value in self._row().items() if value != ""}
        kinds = {str: "text", int: "count", float: "number"}
        columns = tuple(
            Column(name, number_kind(name) if isinstance(value, float) else kinds[type(value)])
            for name, value in row.items()
        )
        cautions = [one.says for one in self.assumptions if one.holds is False]
        cells: tuple[Cell, ...] = tuple(row.values())
        return Table(columns, (cells,), notes=(*cautions, *self.notes))


def pair_table(columns: Mapping[str, NDArray[Any]], order: NDArray[Any] | None = None, **more: Any) -> Table:
    """A row per pair, in `order` if that is given; yes where a column says so. `more` goes to the table.

    >>> columns = {"first": np.array(["a"], dtype=object), "p": np.array([0.2]), "differ": np.array([False])}
    >>> print(pair_table(columns).text())
    first       p  differ
    a      0.2000
    """
    kinds = {"O": "text", "b": "text", "i": "count"}
    heads = tuple(Column(name, kinds.get(column.dtype.kind) or number_kind(name)) for name, column in columns.items())
    shown = [np.where(column, "yes", "") if column.dtype.kind == "b" else column for column in columns.values()]
    rows = zip(*((column if order is None else column[order]).tolist() for column in shown), strict=True)
    return Table(heads, tuple(rows), **more)


def check_alternative(who: str, alternative: str) -> None:
    check.one_of(who, ALTERNATIVES, alternative=alternative)


def check_alpha(who: str, alpha: float, name: str = "alpha") -> None:
    """Strictly between 0 and 1.

    >>> check_alpha("compare", 0)
    Traceback (most recent call last):
    cranfield.errors.UsageError: compare: alpha == 0, must be above 0 and below 1
    """
    from cranfield.errors import UsageError

    check.finite(who, **{name: alpha})
    if not 0 < alpha < 1:
        raise UsageError(f"{who}: {name} == {alpha!r}, must be above 0 and below 1")


def check_asked(who: str, alternative: str, level: float) -> None:
    """What every test of one hypothesis is asked for."""
    check_alternative(who, alternative)
    check_alpha(who, level, "level")


def shown_p(p: float) -> str:
    """A p-value as papers print it.

    >>> shown_p(0.00004), shown_p(0.25)
    ('p < 0.0001', 'p = 0.2500')
    """
    return "p undefined" if math.isnan(p) else f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001"


def pairs_differ(found: int, compared: int, factor: str = "") -> str:
    """How many pairs differ, of how many.

    >>> pairs_differ(3, 6), pairs_differ(1, 1, "stemmer")
    ('3 of 6 pairs differ', '1 of 1 pair of stemmer differs')
    """
    noun, verb = ("pair", "differs") if compared == 1 else ("pairs", "differ")
    return " ".join([f"{found:,} of {compared:,} {noun}", *([f"of {factor}"] if factor else []), verb])
