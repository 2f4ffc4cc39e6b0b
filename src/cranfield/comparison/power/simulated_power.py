"""The power of tests without a formula for it, from thousands of simulated experiments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import paired
from cranfield.comparison.differences import row_moments
from cranfield.comparison.distributions import normal_p, sign_p, signed_ranks
from cranfield.comparison.methods.t import t_of
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.record import Record, one_row
from cranfield.types import Array

_BLOCK = 2_000_000
"""The number of differences in memory at once."""

PValues = Callable[[Array], Array]


@dataclass(frozen=True, repr=False)
class SimulatedPower(Record):
    """The share of simulated experiments in which a test found the difference.

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
        """The standard error of the power."""
        return math.sqrt(self.power * (1 - self.power) / self.simulations)

    def __str__(self) -> str:
        margin = 1.96 * self.standard_error
        return (
            f"By simulation ({self.simulations:,} experiments, seed {self.seed}), with {self.topics:,} topics a "
            f"difference of {self.difference:g} is found with power {self.power:.3f} ± {margin:.3f} "
            f"at α = {self.alpha:g} ({self.test} test, {self.drawn_from})"
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row."""
        return one_row(vars(self))


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

    The differences of each experiment are drawn from a normal distribution with the given `variance`; or from the
    observed differences of two systems (`x` and `y`, as for `paired_t`), shifted to have the mean `difference`.

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
    significant, left = 0, simulations
    draw, drawn_from = _source(x, y, variance, systems, measure)
    while left:
        size = min(left, max(1, _BLOCK // topics))
        significant += int((P_VALUES[test](draw(rng, (size, topics)) + difference) <= alpha).sum())
        left -= size
    return SimulatedPower(
        test, significant / simulations, topics, float(difference), alpha, simulations, seed, drawn_from
    )


def _source(
    x: Any, y: Any, variance: float | None, systems: Sequence[str] | None, measure: Any
) -> tuple[Callable[[np.random.Generator, tuple[int, int]], Array], str]:
    """A function that draws differences of mean 0, and a description of their source."""
    if variance is not None:
        check.finite("simulated_power", variance=variance)
        check.positive("simulated_power", variance=variance)
        deviation = math.sqrt(variance)
        return lambda rng, shape: rng.normal(0.0, deviation, shape), f"normal differences, variance {variance:.4g}"
    pair = paired(x, y, systems=systems, measure=measure)
    centred = pair.difference - pair.difference.mean()
    if not np.ptp(centred) > 0:
        raise UsageError("simulated_power: the difference is the same on all topics: no variance to draw from")
    return lambda rng, shape: rng.choice(centred, shape), f"differences as on {len(centred)} topics"


def _t(differences: Array) -> Array:
    n, mean, spread = row_moments(differences)
    return t_of(mean, spread / np.sqrt(n), n - 1, "two-sided", 0.05)[1]


def _sign(differences: Array) -> Array:
    return sign_p((differences > 0).sum(axis=1), (differences < 0).sum(axis=1), "two-sided")


def _wilcoxon(differences: Array) -> Array:
    ranks = signed_ranks(differences)
    return normal_p(ranks.sum(axis=1), np.sqrt((ranks**2).sum(axis=1)), "two-sided", continuity=0.0)


P_VALUES: dict[str, PValues] = {"t": _t, "sign": _sign, "wilcoxon": _wilcoxon}
"""Two-sided p-values of many experiments, one per row."""
