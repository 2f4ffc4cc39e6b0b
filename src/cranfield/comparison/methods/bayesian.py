"""How probable is it that one system is better, or that both are practically equal?

The answer is how much of the posterior of the difference lies below, within and above a region of practical
equivalence (the rope): three probabilities that add up to 1, not p-values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import Pair, check_topics, differences, paired
from cranfield.comparison.test_result import Interval, check_alpha
from cranfield.notes import caution_note, shown_notes
from cranfield.record import OneRow, one_row
from cranfield.scores.t_and_normal import t_quantile, t_tail
from cranfield.types import Array

_BLOCK = 4_000_000
"""The number of weights in memory at once; it does not change results."""


@dataclass(frozen=True, repr=False)
class Posterior(OneRow):
    """The probabilities that x is worse than y, practically equal, or better."""

    method: str
    less: float
    equal: float
    greater: float
    rope: float
    estimate_name: str
    estimate: float
    interval: Interval
    n: int
    resamples: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()
    measure: str = ""
    systems: tuple[str, ...] = ()

    def __str__(self) -> str:
        x, y = self.systems
        drawn = f", B = {self.resamples:,}, seed {self.seed}" if self.resamples else ""
        lines = [
            f"{self.measure}, {self.method}, n = {self.n}{drawn}",
            f"{x} better {self.greater:.4f}, within ±{self.rope:g} {self.equal:.4f}, {y} better {self.less:.4f}",
            f"{self.estimate_name} = {self.estimate:.4f} {self.interval}",
        ]
        return "\n".join([*lines, *shown_notes(self.notes)])

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row: measure, systems, method, less, equal, greater, rope, estimate, low, high, n."""
        numbers = {name: getattr(self, name) for name in ("less", "equal", "greater", "rope", "estimate")}
        texts = {"measure": self.measure, "systems": ", ".join(self.systems), "method": self.method}
        return one_row({**texts, **numbers, "low": self.interval.low, "high": self.interval.high, "n": self.n})


def bayesian_t(
    x: Any,
    y: Any = None,
    *,
    rope: float = 0.01,
    correlation: float = 0.0,
    systems: Sequence[str] | None = None,
    measure: Any = None,
    level: float = 0.95,
) -> Posterior:
    r"""The posterior of the mean difference under a normal model with a noninformative prior, a Student distribution.

    .. math:: \mu \sim \bar d + s_d \sqrt{\tfrac1n + \tfrac{\rho}{1 - \rho}}\; T_{n-1}

    `correlation` is ρ: 0 for independent topics; for cross-validation, the share of the data in a test fold. `rope` is
    half the width of the region of practical equivalence, in the units of the measure. If all differences are equal,
    the posterior is a point, with a note.
    Reference: Corani & Benavoli, Machine Learning 100, 2015

    >>> print(bayesian_t([0.5, 0.7, 0.3, 0.6], [0.4, 0.5, 0.3, 0.3], rope=0.01, measure="AP"))
    AP, Bayesian t, n = 4
    x better 0.9407, within ±0.01 0.0146, y better 0.0447
    mean difference = 0.1500 [-0.0554, 0.3554] (95% credible)
    """
    pair, d = _pair_and_differences("bayesian_t", x, y, rope, systems, measure, level)
    check.finite("bayesian_t", correlation=correlation)
    check.between("bayesian_t", low=0, high=0.999, correlation=correlation)
    check_topics(len(d), 2, "a Bayesian t comparison")
    n, mean = len(d), float(d.mean())
    scale = float(d.std(ddof=1)) * math.sqrt(1 / n + correlation / (1 - correlation))
    if d.max() == d.min():
        mean = float(d[0])
        less, greater = float(mean < -rope), float(mean > rope)
        half, notes = 0.0, [caution_note("the difference is the same on every topic: the posterior is a point")]
    else:
        less, greater = (float(t_tail((rope + centre) / scale, n - 1)) for centre in (mean, -mean))
        half, notes = float(t_quantile((1 - level) / 2, n - 1)) * scale, []
    return Posterior(
        method="correlated Bayesian t" if correlation else "Bayesian t",
        less=less,
        equal=max(1 - less - greater, 0.0),
        greater=greater,
        rope=rope,
        estimate_name="mean difference",
        estimate=mean,
        interval=Interval(mean - half, mean + half, level, "credible"),
        n=n,
        **pair.facts(*notes),
    )


def bayesian_signed_rank(
    x: Any,
    y: Any = None,
    *,
    rope: float = 0.01,
    prior: float = 0.5,
    resamples: int = 50_000,
    seed: int = 0,
    systems: Sequence[str] | None = None,
    measure: Any = None,
    level: float = 0.95,
) -> Posterior:
    r"""The Bayesian counterpart of Wilcoxon's signed-rank test: topics are weighted at random, many times.

    .. math:: \theta_g = \sum_{i,j} w_i w_j\, \big[d_i + d_j > 2r\big], \qquad w \sim \mathrm{Dir}(s, 1, \dots, 1)

    and likewise :math:`\theta_l` (below −2r) and :math:`\theta_e`. The probabilities are the shares of draws in which
    each θ is the largest; ties count as practically equal. `prior` is s, the weight of an additional topic with a
    difference of 0. The estimate is the mean over draws of the weighted mean difference.
    Reference: Benavoli, Corani, Demšar & Zaffalon, JMLR 18(77), 2017

    >>> posterior = bayesian_signed_rank([0.5, 0.7, 0.3, 0.6, 0.8], [0.4, 0.5, 0.3, 0.3, 0.6], rope=0.05, seed=1)
    >>> posterior.greater > 0.9
    True
    """
    pair, d = _pair_and_differences("bayesian_signed_rank", x, y, rope, systems, measure, level)
    check.finite("bayesian_signed_rank", prior=prior)
    check.positive("bayesian_signed_rank", prior=prior)
    check.whole("bayesian_signed_rank", resamples=resamples)
    points = np.concatenate([[0.0], d])
    shape = np.concatenate([[prior], np.ones(len(d))])
    sums = points[:, None] + points
    close = 1e-12 * max(float(np.abs(points).max()), rope)  # the edge belongs to the rope
    above, below = (sums > 2 * rope + close).astype(np.float64), (sums < -2 * rope - close).astype(np.float64)
    rng = np.random.default_rng(seed)
    shares, means = np.empty((3, resamples)), np.empty(resamples)
    step = max(1, _BLOCK // len(points))
    for begin in range(0, resamples, step):
        block = slice(begin, min(begin + step, resamples))
        weights: Array = rng.dirichlet(shape, block.stop - begin)
        shares[0, block] = ((weights @ below) * weights).sum(axis=1)
        shares[2, block] = ((weights @ above) * weights).sum(axis=1)
        means[block] = weights @ points
    shares[1] = 1 - shares[0] - shares[2]
    order = shares[[1, 2, 0]] * np.array([[1 + 1e-12], [1.0], [1.0]])
    winner = np.bincount(order.argmax(axis=0), minlength=3) / resamples
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Posterior(
        method="Bayesian signed-rank",
        less=float(winner[2]),
        equal=float(winner[0]),
        greater=float(winner[1]),
        rope=rope,
        estimate_name="mean difference",
        estimate=float(means.mean()),
        interval=Interval(float(low), float(high), level, "credible"),
        n=len(d),
        resamples=resamples,
        seed=seed,
        **pair.facts(),
    )


def _pair_and_differences(
    who: str, x: Any, y: Any, rope: float, systems: Sequence[str] | None, measure: Any, level: float
) -> tuple[Pair, Array]:
    check.finite(who, rope=rope)
    check.not_negative(who, rope=rope)
    check_alpha(who, level, "level")
    pair = paired(x, y, systems=systems, measure=measure)
    return pair, differences(pair.x, pair.y)
