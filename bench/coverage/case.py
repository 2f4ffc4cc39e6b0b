"""One claim put to the test: a procedure at its defaults, a generator of data with a known truth, a size, a level."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

TOLERANCE = 1.4
"""A procedure holds if it is wrong at most this many times as often as it says: 7 % for a level of 5 %."""
CAUTIOUS = 0.25
"""Below this share of the nominal rate of errors, an interval is called wide."""


class Outcome(NamedTuple):
    """What one simulated data set led to."""

    held: bool | None
    """The interval contains the truth, or the test does not reject what is true; None if there is no figure."""
    said: bool = False
    """A caution was printed that this figure may not hold, with what to use instead."""


@dataclass(frozen=True)
class Case:
    """A procedure on one kind of data. `trial` draws a data set, runs the procedure, and says if the claim held."""

    procedure: str
    data: str
    size: str
    trial: Callable[[np.random.Generator], Outcome | Iterable[Outcome]]
    wrong: float = 0.05
    """The nominal rate of errors."""
    trials: int = 1000
    small: int = 0
    """The number of trials in the tests; 0 leaves the case out there."""

    @property
    def name(self) -> str:
        return f"{self.procedure}, {self.data}, {self.size}"


@dataclass(frozen=True)
class Finding:
    """The measured rates of a case."""

    trials: int
    figures: int
    """Outcomes with a figure; the others are refusals."""
    missed: int
    silent: int
    """Missed without a caution."""
    outcomes: int
    wrong: float

    @property
    def rate(self) -> float:
        """The share of figures that were wrong."""
        return self.missed / self.figures if self.figures else 0.0

    @property
    def error(self) -> float:
        """The Monte Carlo error of the rate; outcomes of one trial may depend on each other, so trials count."""
        return math.sqrt(max(self.rate * (1 - self.rate), 1 / self.trials) / self.trials)

    @property
    def said(self) -> float:
        """The share of outcomes that were refused."""
        return 1 - self.figures / self.outcomes

    @property
    def verdict(self) -> str:
        limit = self.wrong * TOLERANCE
        if self.rate <= limit + 2 * self.error:
            if not self.figures:
                return "refuses"
            return "wide" if self.rate + 2 * self.error < self.wrong * CAUTIOUS else "holds"
        quiet = self.silent / self.outcomes
        return "says so" if quiet <= limit + 2 * math.sqrt(quiet * (1 - quiet) / self.trials) else "MISSES"


def measure(case: Case, trials: int | None = None) -> Finding:
    """Run the case, always with the same random numbers."""
    number = case.trials if trials is None else trials
    outcomes: list[Outcome] = []
    for seed in np.random.SeedSequence(zlib.crc32(case.name.encode())).spawn(number):
        result = case.trial(np.random.default_rng(seed))
        outcomes.extend([result] if isinstance(result, Outcome) else result)
    figures = [outcome for outcome in outcomes if outcome.held is not None]
    missed = [outcome for outcome in figures if not outcome.held]
    silent = sum(not outcome.said for outcome in missed)
    return Finding(number, len(figures), len(missed), silent, len(outcomes), case.wrong)


def covers(truth: float, low: float, high: float, said: bool = False) -> Outcome:
    """Say whether an interval contains the truth. A missing interval (nan) is a refusal."""
    if math.isnan(low) or math.isnan(high):
        return Outcome(None, said)
    slack = 1e-9 * max(1.0, abs(truth))
    return Outcome(low - slack <= truth <= high + slack, said)
