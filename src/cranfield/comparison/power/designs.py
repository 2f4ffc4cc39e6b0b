r"""The power of tests: the probability of finding a true difference, for any number of topics.

All tests here reject if an F statistic (for a pair, the square of t) exceeds a critical value. If the true difference
is D, the statistic has a noncentral F distribution, with

.. math:: \lambda = n D^2 / \sigma_t^2 \qquad \sigma_t^2 = 2 \sigma^2

for n topics and a variance :math:`\sigma_t^2` of differences or :math:`\sigma^2` of scores. So a test is defined by
its degrees of freedom and its critical value. The variance, which systems (and topics) do not explain, is given or
estimated from scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import Matrix, all_pairs, check_topics, paired, row_moments
from cranfield.comparison.distributions import normal_p, range_quantile, sign_p, signed_ranks
from cranfield.comparison.methods.t import t_of
from cranfield.comparison.test_result import check_alpha, check_alternative
from cranfield.declared.registry import Registry
from cranfield.errors import UsageError
from cranfield.record import Record, one_row
from cranfield.text import counted
from cranfield.types import Array

MODELS = ("two-way", "one-way")
OF = ("scores", "differences")
TENTH = 0.1
FEW_TOPICS = 25
"""The minimum for a comparison or a plan (Voorhees & Buckley, SIGIR 2002; Ferro & Maistro 2024 §2.3)."""


@dataclass(frozen=True)
class Variance:
    """A variance and its source.

    >>> print(Variance(0.045, "differences"))
    variance of differences 0.045
    """

    value: float
    of: str
    """`scores`: of one score; `differences`: of the difference between two systems on one topic."""
    model: str = ""
    """The factors of the model: `one-way` systems, `two-way` systems and topics; empty if the user gave the value."""
    systems: tuple[int, ...] = ()
    """The number of systems in each collection."""
    topics: tuple[int, ...] = ()
    measure: str = ""
    notes: tuple[str, ...] = ()
    range: tuple[float, float] = (math.nan, math.nan)
    """A tenth of the pairs of systems have a variance below the first, a tenth above the second; NaN if unknown."""

    def __post_init__(self) -> None:
        check.one_of("variance", OF, of=self.of)
        check.finite("variance", value=self.value)
        if self.value <= 0:
            hint = "; all systems vary in the same way over topics, so these scores cannot be used to plan"
            raise UsageError(f"variance == {self.value!r}, must be above 0{hint if self.model else ''}")

    def differences(self) -> Variance:
        r"""The variance of differences between two systems, :math:`2 \hat\sigma^2`.

        This is exact for the two-way model: the variance of differences, averaged over all pairs of systems, is twice
        the residual variance. For the one-way model it is an upper bound, because scores of two systems are correlated.
        """
        if self.of == "differences":
            return self
        low, high = self.range
        return replace(self, value=2 * self.value, of="differences", range=(2 * low, 2 * high))

    def __str__(self) -> str:
        text = f"variance of {self.of} {self.value:.4g}"
        if not self.model:
            return text
        parts = [f"{counted(m, 'system')} on {n} topics" for m, n in zip(self.systems, self.topics, strict=True)]
        where = parts[0] if len(parts) == 1 else f"{len(parts)} collections ({'; '.join(parts)})"
        bound = "at most, " if self.of == "differences" and self.model == "one-way" else ""
        return f"{text}, {bound}estimated from {where}"


def estimated_variance(data: Any, measure: Any = None, *, model: str = "two-way") -> Variance:
    r"""The variance of scores on an existing collection, to plan the size of the next one.

    With n topics, m systems, :math:`\bar x_{i\cdot}` the mean of system i and :math:`\bar x_{\cdot j}` that of topic j:

    .. math:: V_{E1} = \frac{\sum_{ij} (x_{ij} - \bar x_{i\cdot})^2}{m (n - 1)} \qquad
              V_{E2} = \frac{\sum_{ij} (x_{ij} - \bar x_{i\cdot} - \bar x_{\cdot j} + \bar x)^2}{(m - 1)(n - 1)}

    `one-way` is :math:`V_{E1}`, the variance within systems; `two-way` is :math:`V_{E2}`, which excludes the difficulty
    of topics, as paired tests do. `data` is anything that holds scores; topics on which some system has no score are
    left out.

    Reference: Sakai, Topic set size design, Information Retrieval Journal 19(3), 2016, doi:10.1007/s10791-015-9273-z

    >>> print(estimated_variance([[0.2, 0.3], [0.4, 0.7]], model="one-way"))
    variance of scores 0.05, estimated from 2 systems on 2 topics
    """
    check.one_of("variance", MODELS, model=model)
    matrix = Matrix.of(data, measure).complete()
    n, m = matrix.values.shape
    check_topics(n, 2, "a variance")
    if model == "two-way" and m < 2:
        raise UsageError(f"{m} system, the two-way model needs 2 or more; model='one-way' needs one")
    values, df = matrix.values, m * (n - 1)
    residuals = values - values.mean(axis=0)
    if model == "two-way":
        residuals, df = residuals - values.mean(axis=1, keepdims=True) + values.mean(), (m - 1) * (n - 1)
    rounding = 1e-12 * max(1.0, float(np.abs(values).max()))
    value = 0.0 if float(np.abs(residuals).max()) <= rounding else float((residuals**2).sum() / df)
    few = (f"{n} topics are few to estimate a variance, so it is itself uncertain",) if n < FEW_TOPICS else ()
    notes = (*matrix.notes, *few)
    return Variance(value, "scores", model, (m,), (n,), matrix.measure, notes, variance_range(values, model, value))


def variance_range(values: Array, model: str, value: float) -> tuple[float, float]:
    """Below and above which variance a tenth of pairs (or systems, in the one-way model) lie, on the scale of scores.

    Pairs have variances of their own, around the `value` that they have on average. With few systems this spread
    cannot be seen, so it is at least that of the estimated variance of normal differences: it has n − 1 degrees of
    freedom for a pair, whatever the number of systems.
    """
    from scipy.special import chdtri

    n, m = values.shape
    cross = np.atleast_2d(np.cov(values, rowvar=False))
    own = np.diag(cross)
    if model == "two-way":
        first, second = all_pairs(m)
        own = (own[first] + own[second] - 2 * cross[first, second]) / 2
    low, high = np.quantile(own, [TENTH, 1 - TENTH])
    chance = [value * (n - 1) / float(chdtri(n - 1, tail)) for tail in (TENTH, 1 - TENTH)]
    return min(float(low), chance[0]), max(float(high), chance[1])


def pooled_variance(
    collections: Mapping[str, Any] | Iterable[Any], measure: Any = None, *, model: str = "two-way"
) -> Variance:
    r"""One variance from several collections, weighted by their topics.

    .. math:: \hat\sigma^2 = \frac{\sum_C (n_C - 1)\, \hat\sigma^2_C}{\sum_C (n_C - 1)}

    Reference: Sakai 2016, see `estimated_variance`.

    >>> old, new = [[0.2, 0.3], [0.4, 0.7]], [[0.1, 0.5], [0.3, 0.5], [0.2, 0.8]]
    >>> print(pooled_variance([old, new], model="one-way"))
    variance of scores 0.03, estimated from 2 collections (2 systems on 2 topics; 2 systems on 3 topics)
    """
    parts = collections.values() if isinstance(collections, Mapping) else collections
    variances = [estimated_variance(scores, measure, model=model) for scores in parts]
    if not variances:
        raise UsageError("there are no collections to estimate a variance from")
    systems = tuple(variance.systems[0] for variance in variances)
    topics = tuple(variance.topics[0] for variance in variances)
    value = float(np.average([variance.value for variance in variances], weights=np.array(topics) - 1))
    notes = tuple(note for variance in variances for note in variance.notes)
    low, high = zip(*(variance.range for variance in variances), strict=True)
    return Variance(value, "scores", model, systems, topics, variances[0].measure, notes, (min(low), max(high)))


# -- tests and intervals

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
