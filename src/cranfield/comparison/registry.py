"""The tests that compare many systems pair by pair, under the names by which `compare` is asked for them.

A test of all pairs is one function from a matrix and the pairs wanted to arrays with an entry per pair. The module that
holds it registers it here; `compare`, the command line and the page of tests follow from the registry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.comparison.data import Matrix
from cranfield.types import Array, Index64, Progress


@dataclass(frozen=True, eq=False)
class PairTests:
    """One entry per pair (`first` − `second`, columns of the matrix)."""

    statistic: Array
    p: Array
    low: Array
    """The interval of the mean difference at the level asked for; NaN where the test has none."""
    high: Array
    n: NDArray[np.int64]
    """On how many topics each pair was compared."""
    critical: float = math.nan
    """Simultaneous tests with one: the difference from which on two systems differ at α = 1 − level."""
    resamples: int | None = None
    exact: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TestSettings:
    """How a test is to be done."""

    alternative: str = "two-sided"
    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0
    threads: int | None = None
    progress: Progress | None = field(default=None, compare=False)


Engine = Callable[[Matrix, Index64, Index64, TestSettings], PairTests]


@dataclass(frozen=True)
class PairTest:
    """A test that `compare` knows."""

    name: str
    aliases: tuple[str, ...]
    run: Engine
    function: Callable[..., Any] | None
    """The same test for two samples, where there is one."""
    statistic: str
    """What the statistic is called."""
    simultaneous: bool
    """Its p-values already hold for all pairs together; no correction is wanted."""
    resampling: bool
    complete: bool
    """It needs every system on every topic: topics are left out listwise."""
    interval_scale: bool
    """It takes means, so scores ought to be on an interval scale (Ferro & Maistro 2024 §7)."""
    source: str


TESTS: dict[str, PairTest] = {}


def pair_test(
    name: str,
    *,
    aliases: tuple[str, ...] = (),
    function: Callable[..., Any] | None = None,
    statistic: str,
    simultaneous: bool = False,
    resampling: bool = False,
    complete: bool = False,
    interval_scale: bool = True,
    source: str,
) -> Callable[[Engine], Engine]:
    """Register a test of all pairs. Its engine gets a matrix without NaN if `complete`; else it leaves topics out."""

    def register(run: Engine) -> Engine:
        TESTS[name] = PairTest(
            name, aliases, run, function, statistic, simultaneous, resampling, complete, interval_scale, source
        )
        return run

    return register


def known_tests() -> dict[str, PairTest]:
    """All tests of pairs by name."""
    from cranfield.comparison import methods

    for module in iter_modules(methods.__path__):
        import_module(f"cranfield.comparison.methods.{module.name}")
    return dict(sorted(TESTS.items()))


def find_test(name: str) -> PairTest:
    """A test by its name or another spelling of it; an error names the nearest."""
    known = known_tests()
    spelled = {plain_name(one): test for test in known.values() for one in (test.name, *test.aliases)}
    if plain_name(name) not in spelled:
        raise nearest(name, list(known), "test")
    return spelled[plain_name(name)]


def plain_name(name: str) -> str:
    """A test's name without case, blanks and the letters on which spellings differ.

    >>> plain_name("Randomised_Tukey") == plain_name("randomized-tukey")
    True
    """
    return str(name).casefold().replace("_", "-").replace(" ", "-").replace("ise", "ize").replace("isa", "iza")
