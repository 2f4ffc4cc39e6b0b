"""The result of a significance test: statistic, p, interval, effect size and assumptions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from numpy.typing import NDArray

from cranfield import check
from cranfield.declared.operation import about
from cranfield.notes import shown_notes
from cranfield.record import OneRow, one_row, table_of
from cranfield.table import Table

ALTERNATIVES = ("two-sided", "greater", "less")
Alternative = Annotated[
    str,
    about(
        "The alternative hypothesis: {names} (than the baseline, or than the second run).",
        choices=ALTERNATIVES, spelled="--alternative SIDE", rare=True,
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float
    level: float = 0.95
    method: str = "t"

    def __str__(self) -> str:
        return f"[{self.low:.4f}, {self.high:.4f}] ({100 * self.level:g}% {self.method})"


@dataclass(frozen=True)
class Effect:
    """The size of a difference, in units that do not depend on the measure."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    level: float = 0.95
    words: str = ""
    """The size in words, by a rule of thumb; empty if there is no rule."""

    def __str__(self) -> str:
        span = "" if math.isnan(self.low) else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.name} = {self.value:.3f}{span}" + (f", {self.words}" if self.words else "")


@dataclass(frozen=True)
class Assumption:
    """An assumption of a test, and whether the data agree with it."""

    name: str
    """`normality`, `equal variance`, `topics`, `zeros`, `scale`, ..."""
    holds: bool | None
    """None if the data do not allow a decision."""
    says: str
    """A sentence for the reader, with the numbers behind it."""
    source: str = ""
    """Why it matters and who showed it, for those who ask for more."""


@dataclass(frozen=True, repr=False)
class TestResult(OneRow):
    """The result of one test.

    >>> print(TestResult("paired t", "t", 2.5, 0.02, "two-sided", n=(20,), df=(19.0,)))
    paired t test, two-sided: t(19) = 2.500, p = 0.0200, n = 20
    """

    __test__ = False  # pytest must not collect this class

    test: str
    statistic_name: str
    statistic: float
    p: float
    alternative: str
    n: tuple[int, ...]
    """The number of topics, or of scores in each sample."""
    df: tuple[float, ...] = ()
    estimate_name: str = ""
    estimate: float = math.nan
    interval: Interval | None = None
    effect: Effect | None = None
    resamples: int | None = None
    """The number of resamples; None if p is exact or from a distribution."""
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
        return "\n".join([*lines, *(f"caution: {text}" for text in self._cautions()), *shown_notes(self.notes)])

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row: measure, systems, test, alternative, n, statistic, p, estimate, low, high, effect."""
        return one_row(
            {
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
        )

    def table(self) -> Table:
        """One row."""
        shown = {name: column for name, column in self.columns().items() if column[0] != ""}
        return table_of(shown, notes=(*self._cautions(), *self.notes))

    def _cautions(self) -> list[str]:
        return [assumption.says for assumption in self.assumptions if assumption.holds is False]


def check_alternative(caller: str, alternative: str) -> None:
    check.one_of(caller, ALTERNATIVES, alternative=alternative)


def check_alpha(caller: str, alpha: float, name: str = "alpha") -> None:
    """Raise an error unless the value is strictly between 0 and 1.

    >>> check_alpha("compare", 0)
    Traceback (most recent call last):
    cranfield.errors.UsageError: compare: alpha == 0, must be above 0 and below 1
    """
    check.finite(caller, **{name: alpha})
    if not 0 < alpha < 1:
        raise check.wrong(caller, name, alpha, "above 0 and below 1")


def check_settings(caller: str, alternative: str, level: float) -> None:
    """Check the two settings that all tests of two samples have."""
    check_alternative(caller, alternative)
    check_alpha(caller, level, "level")


def shown_p(p: float) -> str:
    """A p-value as papers print it.

    >>> shown_p(0.00004), shown_p(0.25)
    ('p < 0.0001', 'p = 0.2500')
    """
    return "p undefined" if math.isnan(p) else f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001"


def pairs_differ(different: int, compared: int, factor: str = "") -> str:
    """How many of the pairs differ.

    >>> pairs_differ(3, 6), pairs_differ(1, 1, "stemmer")
    ('3 of 6 pairs differ', '1 of 1 pair of levels of stemmer differs')
    """
    noun, verb = ("pair", "differs") if compared == 1 else ("pairs", "differ")
    kind = "" if not factor else " of systems" if factor == "system" else f" of levels of {factor}"
    return f"{different:,} of {compared:,} {noun}{kind} {verb}"
