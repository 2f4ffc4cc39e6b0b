"""The power of tests that have no formula for it: experiments made up by the thousand, and how many find something."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import paired
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.record import Record
from cranfield.types import Array

_BLOCK = 2_000_000
"""How many differences are held at a time."""

PValues = Callable[[Array], Array]


@dataclass(frozen=True)
class SimulatedPower(Record):
    """The share of made-up experiments in which a test found the difference.

    >>> print(SimulatedPower("sign", 0.62, 50, 0.05, 0.05, 10_000, 0, "normal differences, variance 0.0225"))
    By simulation (10,000 experiments, seed 0), with 50 topics a difference of 0.05 is found with power 0.620 ± 0.010
    at α = 0.05 (sign test, normal differences, variance 0.0225)
    """

    test: str
    power: float
    topics: int
    difference: float
    alpha: float
    simulations: int
    seed: int
    drawn_from: str

    @property
    def standard_error(self) -> float:
        """Of the share, for so many simulations."""
        return math.sqrt(self.power * (1 - self.power) / self.simulations)

    def __str__(self) -> str:
        margin = 1.96 * self.standard_error
        return (
            f"By simulation ({self.simulations:,} experiments, seed {self.seed}), with {self.topics:,} topics a "
            f"difference of {self.difference:g} is found with power {self.power:.3f} ± {margin:.3f} "
            f"at α = {self.alpha:g} ({self.test} test, {self.drawn_from})"
        )

    __repr__ = __str__

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row."""
        return {
            name: np.array([value], dtype=object if isinstance(value, str) else None)
            for name, value in vars(self).items()
        }


def simulated_power(
    x: Any = None,
    y: Any = None,
    *,
    difference: float,
    topics: int,
    test: str = "wilcoxon",
    variance: float | None = None,
    alpha: float = 0.05,
    simulations: int = 10_000,
    seed: int = 0,
    systems: Sequence[str] | None = None,
    measure: Any = None,
) -> SimulatedPower:
    """The power of a paired, two-sided test: `sign`, `wilcoxon` (normal approximation), or `t` for comparison.

    The differences of each experiment are drawn from a normal distribution with the `variance` given, or (from `x` and
    `y`, two systems as for `paired_t`) from the differences there are, shifted to have this mean: their shape is kept.

    >>> simulated_power(difference=0.05, topics=73, variance=0.0225, test="t").power
    0.803
    """
    check.one_of("simulated_power", tuple(P_VALUES), test=test)
    check.finite("simulated_power", difference=difference)
    check.whole("simulated_power", topics=topics, simulations=simulations)
    check_alpha("simulated_power", alpha)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise UsageError(f"simulated_power: seed == {seed!r}, must be a whole number, 0 or more")
    if topics < 2:
        raise UsageError(f"simulated_power: topics == {topics}, must be 2 or more")
    if (x is None) == (variance is None):
        raise UsageError("simulated_power: give either scores of two systems, or variance=")
    rng = np.random.default_rng(seed)
    found, left = 0, simulations
    draw, drawn_from = _source(x, y, variance, systems, measure)
    while left:
        size = min(left, max(1, _BLOCK // topics))
        found += int((P_VALUES[test](draw(rng, (size, topics)) + difference) <= alpha).sum())
        left -= size
    return SimulatedPower(test, found / simulations, topics, float(difference), alpha, simulations, seed, drawn_from)


def _source(
    x: Any, y: Any, variance: float | None, systems: Sequence[str] | None, measure: Any
) -> tuple[Callable[[np.random.Generator, tuple[int, int]], Array], str]:
    """How differences of mean 0 are drawn, and what to say of it."""
    if variance is not None:
        check.finite("simulated_power", variance=variance)
        check.positive("simulated_power", variance=variance)
        deviation = math.sqrt(variance)
        return lambda rng, shape: rng.normal(0.0, deviation, shape), f"normal differences, variance {variance:.4g}"
    pair = paired(x, y, systems=systems, measure=measure)
    centred = pair.difference - pair.difference.mean()
    if not np.ptp(centred) > 0:
        raise UsageError("simulated_power: the two systems differ by the same on all topics, there is nothing to draw")
    return lambda rng, shape: rng.choice(centred, shape), f"differences as on {len(centred)} topics"


def _t(differences: Array) -> Array:
    from scipy import special

    n = differences.shape[1]
    mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(mean) / (spread / math.sqrt(n))
    # All differences alike: 0/0 is no evidence, anything else over 0 all of it.
    return np.asarray(np.where(np.isnan(t), 1.0, 2 * special.stdtr(n - 1, -np.nan_to_num(t, nan=0.0, posinf=np.inf))))


def _sign(differences: Array) -> Array:
    """Exact binomial; zeros dropped."""
    from scipy import special

    above, below = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
    fewer: NDArray[np.int64] = np.minimum(above, below)
    return np.asarray(np.minimum(1.0, 2 * special.bdtr(fewer.astype(np.float64), above + below, 0.5)))


def _wilcoxon(differences: Array) -> Array:
    """Signed ranks against their normal approximation (as `wilcoxon` has it), with ties; zeros dropped."""
    from scipy import special
    from scipy.stats import rankdata

    size = np.where(differences == 0, np.nan, np.abs(differences))
    ranks = np.nan_to_num(np.asarray(rankdata(size, axis=1, nan_policy="omit")))
    total = (ranks * np.sign(differences)).sum(axis=1)
    spread = np.sqrt((ranks**2).sum(axis=1))  # the variance of a sum of signed ranks, whatever the ties
    with np.errstate(invalid="ignore"):
        z = np.where(spread > 0, total / spread, 0.0)
    return np.asarray(2 * special.ndtr(-np.abs(z)))


P_VALUES: dict[str, PValues] = {"t": _t, "sign": _sign, "wilcoxon": _wilcoxon}
"""Two-sided p-values of many experiments, a row each."""
