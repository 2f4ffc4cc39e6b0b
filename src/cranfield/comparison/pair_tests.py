"""The tests that compare systems pair by pair, under the names that `compare` accepts.

A test of pairs is one function: from a matrix of scores and the pairs to compare, to arrays with an entry per pair. A
module in `comparison/methods/` defines it and registers it with `@pair_test(...)`. `compare`, the command line and
docs/tests.md find it here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.assumptions import MEANS
from cranfield.comparison.data import Matrix, difference_blocks
from cranfield.comparison.effects import paired_effects, size_in_words
from cranfield.comparison.resampling import check_resampling
from cranfield.comparison.result_tables import letters
from cranfield.comparison.test_result import check_alternative
from cranfield.declared.operation import about
from cranfield.declared.registry import Registry, registers
from cranfield.errors import UsageError
from cranfield.record import Record, table_of
from cranfield.scores.mean_intervals import mean_interval_of
from cranfield.table import Table
from cranfield.types import Array, Index64, Progress


@dataclass(frozen=True, eq=False)
class PairTests:
    """The result of a test: an entry per pair (`first` − `second`, columns of the matrix)."""

    statistic: Array
    p: Array
    low: Array
    """The interval of the mean difference at level 1 − α, or 1 − `outside`; NaN if the test has none."""
    high: Array
    n: NDArray[np.int64]
    """The number of topics on which both systems of a pair have a score, including topics with equal scores."""
    critical: float = math.nan
    """The smallest difference that is significant at α, for simultaneous tests that have one for all pairs."""
    resamples: int | None = None
    exact: bool = False
    notes: tuple[str, ...] = ()
    direction: Array | None = None
    """Above 0 where the test finds the first system higher, below 0 where it finds it lower; for tests that compare
    ranks or wins, whose direction need not be that of the means. None: the sign of the mean difference."""

    def signs(self, difference: Array) -> NDArray[np.int64]:
        """1 where the test finds the first system higher, −1 where it finds it lower, else 0.

        `difference` are the mean differences of the pairs, which decide if the test has no direction of its own.
        """
        return np.nan_to_num(np.sign(difference if self.direction is None else self.direction)).astype(np.int64)


@dataclass(frozen=True)
class TestSettings:
    """The settings of a test."""

    __test__ = False  # pytest must not collect this class

    alternative: str = "two-sided"
    alpha: float = 0.05
    resamples: int = 10_000
    seed: int = 0
    threads: int | None = None
    progress: Progress | None = field(default=None, compare=False)
    interval_alpha: float | None = None
    """1 − the level of each interval, if it is corrected for the number of comparisons; otherwise it is `alpha`."""
    margin: float = 0.0
    """For the sign test: differences up to this size are ties."""
    zeros: str = "wilcox"
    """For Wilcoxon's test: the rule for differences of 0."""
    continuity: float = 1.0
    """For Wilcoxon's test: the continuity correction of the normal approximation."""
    method: str = "auto"
    """For Wilcoxon's test: exact p-values, or the normal approximation."""
    asl: str = "plus-one"
    """For tests that resample: how p follows from the resamples, see `resampling.ASL`."""

    @property
    def outside(self) -> float:
        """1 − the level of each interval of a difference, for tests with `any_level`."""
        return self.alpha if self.interval_alpha is None else self.interval_alpha

    @property
    def level(self) -> float:
        """The confidence level, 1 − α."""
        return 1 - self.alpha


Engine = Callable[[Matrix, Index64, Index64, TestSettings], PairTests]
E = TypeVar("E", bound=Engine)


@dataclass(frozen=True)
class PairTest:
    """A test that `compare` knows."""

    name: str
    engine: Engine
    statistic: str
    """The name of the statistic."""
    source: str
    aliases: tuple[str, ...] = ()
    function: Callable[..., Any] | None = None
    """The same test for two samples, if there is such a function."""
    simultaneous: bool = False
    """The p-values are for all pairs together, so they need no correction; what the test assumes has to hold."""
    correction: str = "holm"
    """The correction of p-values that is used by default, unless the test is simultaneous."""
    resampling: bool = False
    any_level: bool = False
    """The intervals have level 1 − `TestSettings.outside`, so they can be corrected for the number of comparisons."""
    complete: bool = False
    """The test needs a score of every system on every topic, so its matrix has no NaN; other topics are left out."""
    normal: bool = False
    """The test assumes normal differences."""
    pooled: bool = False
    """The test gives all pairs the same error, so that its level needs differences of the same variance."""
    skewed: bool = False
    """The level of the test is in doubt with few topics if many pairs are skewed."""
    settings: tuple[str, ...] = ()
    """The fields of `TestSettings` that only this test, or a few tests, use."""
    needs: str | None = MEANS
    """What in the test needs scores on an interval scale, for the notes of a result (Ferro & Maistro 2024 §7): the
    means that it compares, if nothing else is said. Tests that need only an order say None, such as the sign test."""

    @property
    def interval_scale(self) -> bool:
        return self.needs is not None

    def run(self, matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
        """Check the settings and test every pair."""
        check_alternative(self.name, settings.alternative)
        if self.simultaneous and settings.alternative != "two-sided":
            raise UsageError(f"{self.name} is two-sided; for alternative == {settings.alternative!r} use another test")
        if self.resampling:
            check_resampling(self.name, settings.resamples, settings.seed, settings.threads, settings.asl)
        return self.engine(matrix, first, second, settings)


TESTS: Registry[PairTest] = Registry(
    "test", modules="cranfield.comparison.methods", usual="t", order=lambda test: test.name
)
TEST: dict[str, Any] = {"names": "comparison.pair_tests:TESTS", "spelled": "--test, -t TEST"}
"""For a sentence that says what the test is for."""
PairTestName = Annotated[str, about("The significance test: {names}.", **TEST)]


def pair_test(name: str, **fields: Any) -> Callable[[E], E]:
    """Register a test of pairs; `fields` are the other fields of `PairTest`."""
    return registers(TESTS, PairTest, name, **fields)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PairRecord(Record, ABC):
    """All pairs of systems: `first` − `second`."""

    measure: str
    first: Index64
    second: Index64
    difference: Array
    p: Array
    alpha: float
    notes: tuple[str, ...] = ()

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Which pairs differ at α."""
        return np.asarray(self.p <= self.alpha)

    @abstractmethod
    def sentence(self) -> str:
        """How many pairs differ, and how they were tested."""

    def table(self) -> Table:
        """A row per pair."""
        return table_of(self.columns(), caption=self.sentence(), notes=self.notes)


def pair_columns(names: Sequence[str], first: Index64, second: Index64, **columns: Any) -> dict[str, NDArray[Any]]:
    """The names of both members of each pair, and then the other columns."""
    array = np.array(names, dtype=object)
    return {"first": array[first], "second": array[second], **columns}


MOST_LETTERS = 200
"""With more systems than this, groups are not shown, because they would be unreadable."""


ROUNDING = 1e-12
"""A share of resamples that equals α up to rounding is not below it."""


@dataclass(frozen=True, eq=False)
class Family:
    """The pairs of one measure on one collection; arrays have an entry per pair: `first` − `second`."""

    collection: str
    matrix: Matrix
    first: Index64
    second: Index64
    difference: Array
    tests: PairTests
    adjusted: Array
    """p-values after the correction for all comparisons of the call."""
    effect_kind: str
    effect_level: float
    """The level of the intervals of effects."""
    win: NDArray[np.int64]
    tie: NDArray[np.int64]
    loss: NDArray[np.int64]
    below: bool = False
    """Whether p has to be below α, because it is the share of resamples, not (1 + hits) / (1 + B)."""

    def differ(self, alpha: float) -> NDArray[np.bool_]:
        """The significant pairs."""
        return np.asarray(self.adjusted < alpha - ROUNDING if self.below else self.adjusted <= alpha)

    @cached_property
    def means(self) -> Array:
        return np.asarray(np.nanmean(self.matrix.values, axis=0))

    @cached_property
    def effects(self) -> tuple[Array, Array, Array]:
        """The effect sizes and both ends of their intervals; on first use, because intervals take time."""
        return paired_effects(self.matrix, self.first, self.second, self.effect_kind, self.effect_level)

    @cached_property
    def sizes(self) -> NDArray[Any]:
        """The size of each difference in words; empty texts if scores are not between 0 and 1."""
        defined = self.matrix.values[~np.isnan(self.matrix.values)]
        if len(defined) and (defined.min() < 0 or defined.max() > 1):
            return np.full(len(self.first), "", dtype=object)
        return size_in_words(self.difference)

    @cached_property
    def direction(self) -> NDArray[np.int64]:
        """1 where the test finds the first system higher, −1 where it finds it lower; a mark follows this."""
        return self.tests.signs(self.difference)

    def against(self, alpha: float) -> NDArray[np.bool_]:
        """The significant pairs whose test points in the opposite direction of their means."""
        return np.asarray(self.differ(alpha) & (self.direction * self.difference < 0))

    def beaten(self, alpha: float) -> tuple[Index64, Index64]:
        """The better and the worse system of each significant pair, as the test finds."""
        better = (self.direction < 0) if self.lower_is_better else (self.direction > 0)
        pairs = np.where(better, (self.first, self.second), (self.second, self.first))
        winner, loser = pairs[:, self.differ(alpha)]
        return winner, loser

    @cached_property
    def lower_is_better(self) -> bool:
        """Whether lower scores are better; False if the name is not that of a measure."""
        from cranfield.measures.property_tables import lower_is_better

        return lower_is_better(self.matrix.measure)

    @cached_property
    def ranking(self) -> NDArray[np.int64]:
        """Columns of the matrix, best first."""
        return np.argsort(self.means if self.lower_is_better else -self.means, kind="stable")

    def intervals(self, level: float) -> tuple[Array, Array]:
        """The mean ± half the critical difference if the test has one (Ferro & Maistro 2024 (11)), else its own."""
        if not math.isnan(self.tests.critical):
            return self.means - self.tests.critical / 2, self.means + self.tests.critical / 2
        return mean_interval_of(self.matrix.measure, self.matrix.values.T, level)

    def differences_of(self, pairs: NDArray[np.intp]) -> Iterator[Array]:
        """The differences of some pairs, topic by topic, without undefined ones."""
        for _, block in difference_blocks(self.matrix, self.first[pairs], self.second[pairs]):
            yield from (row[~np.isnan(row)] for row in block)

    def letters(self, alpha: float) -> list[str] | None:
        """The groups of each system in the order of `ranking`; None if they would not fit in a table."""
        m = len(self.matrix.systems)
        if m > MOST_LETTERS:
            return None
        place = np.empty(m, dtype=np.int64)
        place[self.ranking] = np.arange(m)
        differ = np.zeros((m, m), dtype=bool)
        significant = self.differ(alpha)
        a, b = place[self.first[significant]], place[self.second[significant]]
        differ[a, b] = differ[b, a] = True
        return letters(differ)

    def counts(self, alpha: float) -> tuple[Index64, Index64]:
        """For each system: how many others are significantly worse, and how many significantly better."""
        size = len(self.matrix.systems)
        winner, loser = self.beaten(alpha)
        return np.bincount(winner, minlength=size), np.bincount(loser, minlength=size)
