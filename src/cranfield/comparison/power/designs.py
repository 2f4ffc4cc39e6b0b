r"""The power of tests: the probability of finding a true difference, for any number of topics.

All tests here reject if an F statistic (for a pair, the square of t) exceeds a critical value. If the true difference
is D, the statistic has a noncentral F distribution, with

.. math:: \lambda = n D^2 / \sigma_t^2 \qquad \sigma_t^2 = 2 \sigma^2

for n topics and a variance :math:`\sigma_t^2` of differences or :math:`\sigma^2` of scores. So a test is defined by
its degrees of freedom and its critical value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.comparison.distributions.studentized_range import range_quantile
from cranfield.comparison.test_result import check_alpha, check_alternative
from cranfield.declared.registry import Registry
from cranfield.errors import UsageError
from cranfield.types import Array

MOST_TOPICS = 10**9
"""The largest number of topics to consider."""
ENDLESS = 1e100
"""The largest difference in standard deviations; its square is still finite."""

Degrees = Callable[[Array, int], Any]


@dataclass(frozen=True)
class Design:
    """A test or an interval, as needed to plan the size of an experiment."""

    name: str
    aliases: tuple[str, ...]
    says: str
    """Its name in a sentence."""
    variance_of: str
    """Whether the variance is of `differences` or of `scores`."""
    model: str
    """The model by which the variance is estimated from scores."""
    df: Degrees
    """Degrees of freedom of the variance, from the number of topics and of systems."""
    all_systems: bool = False
    """It compares all systems at once, so their number matters."""
    one_sided: bool = False
    """It can test for a difference in one direction."""
    tests: bool = True
    """It is a test, not an interval."""
    per_sample: bool = False
    """The number of topics is that of each of the two samples."""

    def between(self, systems: int) -> int:
        """The degrees of freedom of the numerator: 1 for a pair, m − 1 for all systems."""
        return systems - 1 if self.name in ("anova", "two-way") else 1


DESIGNS: Registry[Design] = Registry(
    "design",
    (
        Design("t", ("paired-t", "paired", "t-test"), "paired t test", "differences", "two-way", lambda n, m: n - 1,
               one_sided=True),
        Design("unpaired", ("unpaired-t", "two-sample", "two-sample-t"), "two-sample t test", "scores", "one-way",
               lambda n, m: 2 * n - 2, one_sided=True, per_sample=True),
        Design("anova", ("one-way", "one-way-anova"), "one-way ANOVA", "scores", "one-way", lambda n, m: m * (n - 1),
               all_systems=True),
        Design("two-way", ("two-way-anova",), "two-way ANOVA", "scores", "two-way",
               lambda n, m: (m - 1) * (n - 1), all_systems=True),
        Design("tukey", ("tukey-hsd", "hsd"), "Tukey's HSD test", "scores", "two-way",
               lambda n, m: (m - 1) * (n - 1), all_systems=True),
        Design("interval", ("ci", "confidence-interval"), "paired", "differences", "two-way",
               lambda n, m: n - 1, tests=False),
        Design("unpaired-interval", ("two-sample-interval",), "two samples", "scores", "one-way",
               lambda n, m: 2 * n - 2, tests=False, per_sample=True),
    ),
)  # fmt: skip
"""t, unpaired, anova and the intervals are Sakai's designs; two-way and tukey match those analyses."""


@dataclass(frozen=True)
class Experiment:
    """An experiment without its size: the test, its level, and the variance of scores.

    >>> paired = Experiment(DESIGNS.find("t"), variance=4.0, alpha=0.05)
    >>> paired.power(34, difference=1.0).round(4).item()
    0.8078
    """

    design: Design
    variance: float
    alpha: float
    systems: int = 2
    alternative: str = "two-sided"

    def __post_init__(self) -> None:
        check_alpha("power", self.alpha)
        check_alternative("power", self.alternative)
        check.finite("power", variance=self.variance)
        check.positive("power", variance=self.variance)
        check.whole("power", systems=self.systems)
        if self.systems < 2:
            raise UsageError(f"power: systems == {self.systems!r}, must be 2 or more")
        if self.alternative != "two-sided" and not self.design.one_sided:
            raise UsageError(f"power: {self.design.name} is not directional; alternative must be 'two-sided'")

    def power(self, topics: Any, difference: Any) -> Array:
        """The probability of finding a true difference with this number of topics."""
        n = np.asarray(topics, dtype=np.float64)
        effect = np.abs(np.asarray(difference, dtype=np.float64)) / math.sqrt(self._unit)
        return self._power(n, n * np.minimum(effect, ENDLESS) ** 2)

    def smallest_difference(self, topics: Any, power: float) -> Array:
        """The difference that is found with this probability, by bisection, for all sizes at once."""
        n = np.atleast_1d(np.asarray(topics, dtype=np.float64))
        low, high = np.zeros_like(n), np.ones_like(n)
        while (short := self._power(n, high**2) < power).any():
            low, high = np.where(short, high, low), np.where(short, 2 * high, high)
        for _ in range(60):
            middle = (low + high) / 2
            short = self._power(n, middle**2) < power
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.asarray((high * np.sqrt(self._unit / n)).reshape(np.shape(topics)))

    def width(self, topics: Any) -> Array:
        r"""The expected width of the interval of the mean difference at level 1 − α.

        .. math:: 2\, t_{1 - \alpha/2}(\phi)\, \sqrt{\sigma_t^2 / n}\;
                  \frac{\Gamma((\phi + 1)/2)}{\sqrt{\phi/2}\;\Gamma(\phi/2)}

        The last factor is the expected standard deviation of a sample, in units of the true one.
        """
        from scipy import special

        n = np.asarray(topics, dtype=np.float64)
        df = self.design.df(n, self.systems)
        # For large df the difference of log-gammas loses its digits, and the factor is close to 1.
        exact = np.exp(special.gammaln((df + 1) / 2) - special.gammaln(df / 2)) / np.sqrt(df / 2)
        shrinks = np.where(df > 1e5, 1 - 0.25 / df, exact)
        return np.asarray(2 * special.stdtrit(df, 1 - self.alpha / 2) * np.sqrt(self._unit / n) * shrinks)

    def fewest_topics(self, enough: Callable[[int], bool]) -> int:
        """The smallest number of topics that is enough, at least 2; `enough` must be monotonic."""
        low, high = 1, 2
        while not enough(high):
            if high == MOST_TOPICS:
                raise UsageError(f"more than {MOST_TOPICS:,} topics would be needed; try a larger difference or width")
            low, high = high, min(2 * high, MOST_TOPICS)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    @property
    def _unit(self) -> float:
        """The variance of a difference of two scores."""
        return self.variance if self.design.variance_of == "differences" else 2 * self.variance

    def _power(self, n: Array, noncentrality: Array) -> Array:
        from scipy import special

        df = self.design.df(n, self.systems)
        if self.alternative != "two-sided":
            below = special.nctdtr(df, np.sqrt(noncentrality), special.stdtrit(df, 1 - self.alpha))
        else:
            between = self.design.between(self.systems)
            below = special.ncfdtr(between, df, noncentrality, self._critical(df))
        # scipy returns NaN only for probabilities too small for a floating point number.
        return np.asarray(1 - np.nan_to_num(below, nan=0.0))

    def _critical(self, df: Array) -> Array:
        """The critical value of F; Tukey's test of a pair uses the largest difference among all systems."""
        from scipy import special

        if self.design.name == "tukey":
            flat = [range_quantile(self.alpha, self.systems, float(value)) ** 2 / 2 for value in np.ravel(df)]
            return np.array(flat).reshape(np.shape(df))
        return np.asarray(special.fdtri(self.design.between(self.systems), df, 1 - self.alpha))
