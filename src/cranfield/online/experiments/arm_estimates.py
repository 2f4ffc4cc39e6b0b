"""The value and variance of a metric in each arm: adjusted by covariates (CUPED), or carried by few users."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.notes import caution_note
from cranfield.online.engines.engine import Engine
from cranfield.online.experiments.arm_effects import (
    BY_COUNTS,
    BY_ORDER,
    ArmEffect,
    Looks,
    Unadjusted,
    decision,
    untested,
)
from cranfield.online.experiments.ratio_mismatch import sample_ratio
from cranfield.online.experiments.unit_table import ARM
from cranfield.online.expressions import nw
from cranfield.online.few_users import Influence, Part, carried, largest_shares
from cranfield.online.moments import Moments
from cranfield.text import counted, listed
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.online.experiments.experiment_metrics import MomentMetric


@dataclass(frozen=True, eq=False)
class ArmEstimates:
    """A metric in each group: its value, the variance of that value, and the number of users."""

    value: Array
    variance: Array
    """The squared standard error of `value`."""
    n: NDArray[np.int64]
    df: Array | None = None
    """The degrees of freedom of each variance, if they are not n − 1."""
    reduction: float = 0.0
    """The share of the variance that covariates removed, over all groups."""
    raw: Array | None = None
    """With covariates: the values before they were adjusted, ..."""
    raw_variance: Array | None = None
    covariance: Array | None = None
    """... their squared standard errors, and their covariances with what is subtracted."""

    def unadjusted(self, control: int, treatment: int, of_ratio: bool) -> Unadjusted | None:
        """What `relative_effect` needs to know of the values before they were adjusted."""
        if self.raw is None or self.raw_variance is None or self.covariance is None:
            return None
        first, second = float(self.raw[control]), float(self.raw[treatment])
        return Unadjusted(first, second, float(self.raw_variance[control]), float(self.covariance[control]), of_ratio)


def arm_estimates(
    moments: Moments, metric: MomentMetric, covariates: Sequence[MomentMetric] = (), cuped: str = "within"
) -> ArmEstimates:
    r"""The metric in each group; with covariates from before the experiment, the adjusted one.

    .. math:: \hat\theta = \Sigma_{hh}^{-1} \Sigma_{hg}, \qquad g_a^{adj} = g_a - \hat\theta^T (h_a - h)

    g is the metric in arm a, a mean or a ratio of means; h are the covariates in arm a, and without an arm over all
    users. The covariances are those of the contributions of single users (the gradients of g and h times the columns),
    pooled within the arms, so ratios are adjusted just as means are. As covariates do not depend on the arm, the
    expected difference stays the same and its variance falls by the share R² that they explain. `cuped`: `adjustment`.

    Reference: Deng, Xu, Kohavi & Walker, Improving the Sensitivity of Online Controlled Experiments by Utilizing
    Pre-Experiment Data, WSDM 2013, doi:10.1145/2433396.2433413
    """
    value, gradient = metric.value_and_gradient(moments)
    if not covariates:
        return ArmEstimates(value, moments.linear(value, gradient).error ** 2, moments.n)
    theta, reduction = adjustment(moments, metric, covariates, cuped)
    parts = [each.value_and_gradient(moments) for each in covariates]
    overall = moments.pooled()
    raw, raw_gradient, subtracted = value, gradient, np.zeros_like(gradient)
    for weight, each, (covariate, covariate_gradient) in zip(theta, covariates, parts, strict=True):
        value = value - weight * (covariate - each.value_and_gradient(overall)[0])
        subtracted = subtracted + weight * covariate_gradient
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = np.einsum("gi,gij,gj->g", raw_gradient, moments.cov, subtracted) / moments.n
    return ArmEstimates(
        value, moments.linear(value, raw_gradient - subtracted).error ** 2, moments.n, None, reduction, raw,
        moments.linear(raw, raw_gradient).error ** 2, covariance,
    )  # fmt: skip


def adjustment(
    moments: Moments, metric: MomentMetric, covariates: Sequence[MomentMetric], cuped: str = "within"
) -> tuple[Array, float]:
    """θ of each covariate, and the share of the variance that they remove.

    within: the covariances within the groups, weighted by their users, so that an effect does not change θ.
    tea-tasting: the covariances over all users, whatever their group.
    growthbook: the same for a mean with means as covariates; for ratios, those within the groups, each counted alike.
    """
    plain = not any(each.is_ratio for each in (metric, *covariates))
    if cuped == "tea-tasting" or (cuped == "growthbook" and plain):
        moments = moments.pooled()
    value, gradient = metric.value_and_gradient(moments)
    parts = [each.value_and_gradient(moments) for each in covariates]
    h = np.stack([part[0] for part in parts], axis=1)  # groups × covariates
    gradients = np.stack([part[1] for part in parts], axis=1)  # groups × covariates × columns
    usable = (moments.n > 1) & np.isfinite(h).all(axis=1) & np.isfinite(value)
    weight = (np.ones(len(moments.n)) if cuped == "growthbook" else moments.n - 1.0)[usable]
    cov = moments.cov[usable]
    h_gradient, gradient = gradients[usable], gradient[usable]
    hh = np.einsum("g,gai,gij,gbj->ab", weight, h_gradient, cov, h_gradient, optimize=True)
    hg = np.einsum("g,gai,gij,gj->a", weight, h_gradient, cov, gradient, optimize=True)
    before = float(np.einsum("g,gi,gij,gj->", weight, gradient, cov, gradient, optimize=True))
    theta = np.linalg.pinv(hh, hermitian=True) @ hg
    return np.asarray(theta), float(theta @ hg) / before if before > 0 else 0.0


WIDER = 1.05
"""The jackknife decides if it makes the interval of an arm wider by this factor."""
UNEVEN = 1.2
"""If the largest arm has this many times the users of the smallest, skewness does not cancel out."""
SKEWED = 0.25
"""A difference with a larger skewness is doubtful: Welch's test is wrong on one side twice as often as it says."""
LARGE = 0.1
"""A user with this share of a sum is worth a note."""


def suspects(
    metrics: Sequence[MomentMetric],
    covariates: Mapping[Any, tuple[MomentMetric, ...]],
    moments: Mapping[str, Moments],
    estimates: Mapping[str, ArmEstimates],
) -> dict[str, list[Part]]:
    """Metrics in which single users might weigh much, as far as the largest values tell, with their parts."""
    heavy = {}
    for metric in metrics:
        own, each = moments[str(metric)], estimates[str(metric)]
        if not metric.may_be_carried(own.n[own.n > 0]):
            continue
        parts = metric.parts
        if covariates[metric]:
            theta = adjustment(own, metric, covariates[metric])[0]
            adjusting = zip(theta, (covariate.parts[0] for covariate in covariates[metric]), strict=True)
            parts += [part._replace(weight=-float(weight)) for weight, part in adjusting]
        if carried(own, parts, np.sqrt(each.variance)).any():
            heavy[str(metric)] = parts
    return heavy


def jackknifed(estimates: ArmEstimates, influence: Influence) -> ArmEstimates:
    """The estimates with the jackknife's variances, if these make the interval of an arm clearly wider."""
    from scipy.special import stdtrit

    df = np.maximum(estimates.n - 1.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        wider = np.sqrt(influence.variance / estimates.variance) * stdtrit(influence.df, 0.975) / stdtrit(df, 0.975)
    if not (wider > WIDER).any():
        return estimates
    known = np.isfinite(influence.variance)
    variance = np.where(known, influence.variance, estimates.variance)
    return replace(estimates, variance=variance, df=np.where(known, influence.df, df))


def skewness(estimates: ArmEstimates, influence: Influence, control: int, treatment: int) -> float:
    r"""The skewness of the difference of two arms, if users of both are alike.

    .. math:: \gamma = \frac{m_3 (n_t^{-2} - n_c^{-2})}{(m_2 (n_t^{-1} + n_c^{-1}))^{3/2}}

    The moments m are those of the users of both arms: the smaller arm alone need not have met the few users who matter.
    """
    at = [control, treatment]
    n = estimates.n[at].astype(np.float64)
    variance, third = influence.variance[at], influence.third[at]
    with np.errstate(divide="ignore", invalid="ignore"):
        second, cubes = n @ (n * variance) / n.sum(), float(((n**3) * third).sum() / n.sum())
        gamma = cubes * (n[1] ** -2 - n[0] ** -2) / (second * (1 / n).sum()) ** 1.5
    return float(gamma) if np.isfinite(gamma) else 0.0


def skewed_side(estimates: ArmEstimates, influence: Influence, control: int, treatment: int) -> str:
    """Whether skewness makes the smaller arm look too `low` or too `high` too often; empty if neither."""
    skew = skewness(estimates, influence, control, treatment)
    if abs(skew) <= SKEWED:
        return ""
    return "low" if (skew > 0) == (estimates.n[treatment] < estimates.n[control]) else "high"


def skew_cautions(metric: MomentMetric, sides: Mapping[str, str]) -> list[str]:
    """A caution for arms of unequal size and a skewed metric; `sides` are those of `skewed_side`, by comparison."""
    notes = []
    for side, cap in (("low", "cap high values (such as p99), or "), ("high", "")):
        if named := [name for name, own in sides.items() if own == side]:
            notes.append(
                caution_note(
                    f"caution: {metric} is skewed and the arms differ in size, so p of {listed(named, most=6)} is too "
                    f"small on one side: the smaller arm looks too {side} too often; {cap}use arms of equal size"
                )
            )
    return notes


def heavy_notes(metric: MomentMetric, own: Moments, estimates: ArmEstimates, order: Sequence[str]) -> list[str]:
    """What the jackknife means, and the largest user's share."""
    shares: Array = largest_shares(own, metric.columns)
    large = [
        f"{name} {share:.0%}"
        for name, share, n in zip(order, shares, own.n, strict=True)
        if share >= LARGE and share > 5 / max(1, n)
    ]
    notes = []
    if estimates.df is not None:
        notes.append(f"{metric}: few users carry it: the variance is the jackknife's, with fewer degrees of freedom")
    if large:
        notes.append(
            caution_note(
                f"{metric}: the largest user's share of a sum: {listed(large, most=6)}; if it is a robot, leave it out"
            )
        )
    return notes


def missing_values(metric: object, order: Sequence[str], missing: Sequence[int], arms: Mapping[str, int]) -> list[str]:
    """How many users of each arm have no value of a metric."""
    if not sum(missing):
        return []
    by_arm = listed((f"{arm} {count:,}" for arm, count in zip(order, missing, strict=True)), most=6)
    note = f"{metric}: {counted(sum(missing), 'user')} without a finite value left out ({by_arm})"
    present = {arm: count for arm, count in zip(order, missing, strict=True) if arms[arm]}
    uneven = sample_ratio(present, {arm: arms[arm] for arm in present})
    return [note + "; caution: arms differ in how many are missing, which biases the metric" * uneven.mismatch]


def cautions(
    metric: MomentMetric, estimates: ArmEstimates, order: Sequence[str], effects: Sequence[ArmEffect]
) -> list[str]:
    """What makes a comparison of a metric doubtful or impossible."""
    by_counts = all(effect.method in BY_COUNTS for effect in effects)  # these tests need no variance
    return ([] if by_counts else _constant(metric, estimates, order)) + _not_testable(metric, estimates, order)


def _constant(metric: object, estimates: ArmEstimates, order: Sequence[str]) -> list[str]:
    value = {
        arm: float(value)
        for arm, value, v, n in zip(order, estimates.value, estimates.variance, estimates.n, strict=True)
        if n > 1 and v == 0
    }
    if not value:
        return []
    if len(value) < len(order):
        return [f"caution: {metric} is constant in {listed(value)}: it has no variance there"]
    if len(set(value.values())) == 1:
        return [f"caution: {metric} has the same value for all users, so it cannot be tested"]
    values = listed((f"{arm} {constant:.4g}" for arm, constant in value.items()), most=6)
    return [f"caution: {metric} is constant in each arm ({values}), so it cannot be tested"]


def _not_testable(metric: MomentMetric, estimates: ArmEstimates, order: Sequence[str]) -> list[str]:
    """Why a metric cannot be compared: too few users, or a ratio whose denominator is 0."""
    sizes = [int(n) for n in estimates.n]
    few = [f"{arm} {n}" for arm, n in zip(order, sizes, strict=True) if n < 2]
    undefined = [arm for arm, value, n in zip(order, estimates.value, sizes, strict=True) if n and np.isnan(value)]
    notes = []
    large = [arm for arm, v, n in zip(order, estimates.variance, sizes, strict=True) if n > 1 and not np.isfinite(v)]
    if large and not undefined:
        notes.append(f"caution: {metric}: the numbers of {listed(large)} are too large for a test")
    if few:
        notes.append(f"caution: {metric}: a test needs two users or more in each arm, there are {listed(few, most=6)}")
    return notes + (metric.undefined(undefined) if undefined else [])


REACH = 7.0
"""How many standard errors of its rank around the quantile the values are fetched; beyond, p is below 1e-11."""
FEW = 10_000
"""Up to this number of users, all values are fetched."""


@dataclass(frozen=True, eq=False)
class QuantileArm:
    """A quantile of an arm, with all values near it and what speaks against each of them being the true quantile."""

    n: int
    value: float
    values: Array
    """Distinct values in ascending order, between −∞ and ∞."""
    above: Array
    """z against each of `values` because too many users are below it; it grows along `values`."""
    below: Array
    """z against each of `values` because too few users are at or below it; it falls along `values`."""

    @classmethod
    def of(cls, values: Array, q: float) -> QuantileArm:
        """The arm of users with these values."""
        return _arm(np.stack(np.unique(values, return_counts=True), axis=1).astype(np.float64), len(values), q)

    def highest(self, z: Array) -> Array:
        """The largest value that z standard errors still allow."""
        return np.asarray(self.values[np.searchsorted(self.above, z, side="right") - 1])

    def lowest(self, z: Array) -> Array:
        """The smallest value that z standard errors still allow."""
        return np.asarray(self.values[np.searchsorted(-self.below, -z, side="left")])

    def against(self, values: Array) -> Array:
        """z against each of these values."""
        after = np.searchsorted(self.values, values, side="left")
        too_high = self.above[after]  # as many users are below a value as below the next one that occurs
        too_low = self.below[np.searchsorted(self.values, values, side="right") - 1]
        return np.asarray(np.maximum(np.maximum(too_high, too_low), 0.0))


def quantile_arms(engine: Engine, frame: Any, column: str, q: float, arms: Sequence[str]) -> list[QuantileArm]:
    """The quantile of a column in each arm, with the values around it; users are independent of each other."""
    from cranfield.online.moments import fetched

    value, arm = nw.col(column), nw.col(ARM)
    valid = frame.filter(~value.is_null() & ~arm.is_null()).select(ARM, value.cast(nw.Float64).alias("v"))
    counts = {row[ARM]: row["n"] for row in fetched(valid.group_by(ARM).agg(nw.len().alias("n"))).to_pylist()}
    low, high = dict.fromkeys(arms, -math.inf), dict.fromkeys(arms, math.inf)
    if any(n > FEW for n in counts.values()):
        half = {name: REACH * math.sqrt(q * (1 - q) / n) + 2 / n for name, n in counts.items()}
        ends = [end for name in counts for end in (q - half[name], q + half[name])]
        near_quantile = {
            row[ARM]: row for row in engine.quantiles(valid, "v", np.clip(ends, 0, 1).tolist(), [ARM]).to_pylist()
        }
        for i, name in enumerate(counts):
            if ends[2 * i] > 0:
                low[name] = near_quantile[name][f"q{2 * i}"]
            if ends[2 * i + 1] < 1:
                high[name] = near_quantile[name][f"q{2 * i + 1}"]
        least, most = nw.lit(None).cast(nw.Float64), nw.lit(None).cast(nw.Float64)
        for name in counts:
            least = nw.when(arm == name).then(nw.lit(low[name])).otherwise(least)
            most = nw.when(arm == name).then(nw.lit(high[name])).otherwise(most)
        # The values outside are counted as one, which is never among the candidates
        inside = nw.when(nw.col("v") < least).then(nw.lit(-math.inf)).otherwise(nw.col("v"))
        valid = valid.with_columns(inside.alias("v"), most.alias("most")).filter(nw.col("v") <= nw.col("most"))
    near: dict[str, list[tuple[float, int]]] = {name: [] for name in arms}
    for row in fetched(valid.group_by(ARM, "v").agg(nw.len().alias("n"))).to_pylist():
        if row[ARM] in near:
            near[row[ARM]].append((row["v"], row["n"]))
    return [
        _arm(np.array(sorted(near[name]), dtype=np.float64).reshape(-1, 2), counts.get(name, 0), q) for name in arms
    ]


def _arm(near: Array, n: int, q: float) -> QuantileArm:
    """An arm from its values and how many users have each; a first value of −∞ stands for all lower ones."""
    if not n:
        empty = np.array([-math.inf, math.inf])
        return QuantileArm(0, math.nan, empty, np.zeros(2), np.zeros(2))
    values, counts = near[:, 0], near[:, 1]
    lower = counts[0] if values[0] == -math.inf else 0.0
    values, counts = (values[1:], counts[1:]) if lower else (values, counts)
    at_or_below = lower + np.cumsum(counts)
    # numpy's interpolation: the value at rank (n − 1) q, counted from 0
    rank = (n - 1) * q
    first, second = (values[np.searchsorted(at_or_below, k, side="right")] for k in (math.floor(rank), math.ceil(rank)))
    whole = lower == 0, at_or_below[-1] == n
    fewer = np.concatenate([[0.0], at_or_below - counts, [at_or_below[-1]]])
    above, below = rank_z(fewer, n, q), -rank_z(np.concatenate([[lower], at_or_below, [n]]), n, q)
    above[0] = below[-1] = -math.inf
    below[0] = below[0] if whole[0] else math.inf
    above[-1] = above[-1] if whole[1] else math.inf
    value = float(first + (rank - math.floor(rank)) * (second - first))
    return QuantileArm(n, value, np.concatenate([[-math.inf], values, [math.inf]]), above, below)


def rank_z(count: Array, n: int, q: float) -> Array:
    """The normal quantile that belongs to the mid-p of `count` or more of n users below their true quantile.

    >>> [round(float(z), 4) for z in rank_z(np.array([5.0, 8.0, 10.0]), 10, 0.5)]
    [0.0, 1.8423, 3.2972]
    """
    from scipy.special import bdtr, bdtrc, ndtri

    at_most, fewer = bdtr(count, n, q), np.where(count > 0, bdtr(np.maximum(count - 1, 0), n, q), 0.0)
    more, at_least = bdtrc(count, n, q), np.where(count > 0, bdtrc(np.maximum(count - 1, 0), n, q), 1.0)
    tail, other = (more + at_least) / 2, (at_most + fewer) / 2
    return np.asarray(np.where(tail < other, -ndtri(tail), ndtri(other)))


def quantile_effect(
    control: QuantileArm, treatment: QuantileArm, *, alpha: float, looks: Looks | None = None
) -> ArmEffect:
    r"""Compare a quantile of two arms by order statistics, which hold for every distribution, with ties or without.

    .. math:: z_a(m) = \Phi^{-1}\text{ of the mid-p of the number of users below (and at) } m \text{ in arm } a,
        \qquad z^2(\delta) = \min_m z_c^2(m) + z_t^2(m + \delta)

    A value m is a possible quantile of an arm if not too many of its users are below it, and not too few at or below
    it, by the binomial distribution. The interval has all differences δ with :math:`|z(\delta)|` up to the critical
    value; without ties and with many users it is the usual one, :math:`\pm 1.96 \sqrt{V_c + V_t}`. p belongs to
    :math:`z(0)`. The interval of the relative difference has the ratios of the same pairs of quantiles. There is no
    interval if it would go beyond the largest or the smallest value: :math:`n q` or :math:`n (1 - q)` is too small.

    References: Thompson, On Confidence Ranges for the Median and Other Expectation Distributions, Annals of
    Mathematical Statistics 7(3), 1936 (one sample); Deng, Knoblich & Lu, KDD 2018, doi:10.1145/3219819.3219919, §4
    """
    n, m = control.n, treatment.n
    result = untested(control.value, treatment.value, n, m, BY_ORDER)
    if min(n, m) < 2:
        return result
    critical_at, p_of, tau = decision(looks or Looks(), alpha, 1.0, n + m)
    critical = critical_at(math.inf)
    low, high = difference_ends(control, treatment, critical)
    if not (math.isfinite(low) and math.isfinite(high)):
        return result
    candidates = np.concatenate([control.values, treatment.values])
    squares = control.against(candidates) ** 2 + treatment.against(candidates) ** 2
    statistic = math.copysign(math.sqrt(float(squares.min())), result.difference)
    p, error = p_of(statistic, math.inf), (high - low) / (2 * critical)
    share = ratio_ends(control, treatment, critical)
    return replace(
        result, low=low, high=high, relative_low=share[0], relative_high=share[1], p=p, statistic=statistic,
        error=error, tau=tau * error, relative_p=p if control.value else math.nan,
    )  # fmt: skip


def difference_ends(control: QuantileArm, treatment: QuantileArm, critical: float) -> tuple[float, float]:
    """The smallest and the largest difference of two quantiles that are possible together."""
    (control_high, left_high), (control_low, left_low) = _ends(control, critical)
    low = float((treatment.lowest(left_high) - control_high).min())
    return low, float((treatment.highest(left_low) - control_low).max())


def ratio_ends(control: QuantileArm, treatment: QuantileArm, critical: float) -> tuple[float, float]:
    """The interval of the relative difference; NaN if the control's quantile may be 0."""
    ends = _ends(control, critical)
    least, most = float(ends[1][0].min()), float(ends[0][0].max())
    if least <= 0 <= most:
        return math.nan, math.nan
    ratios = np.concatenate(
        [side(left) / value for value, left in ends for side in (treatment.lowest, treatment.highest)]
    )
    low, high = float(ratios.min()), float(ratios.max())
    return (low - 1, high - 1) if least > 0 else (1 - high, 1 - low)


def _ends(arm: QuantileArm, critical: float) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The possible highest and lowest quantiles of an arm, and the z that each leaves for the other arm."""
    result = []
    zero = np.zeros(1)
    sides = (arm.above, arm.values >= arm.highest(zero)), (arm.below, arm.values <= arm.lowest(zero))
    for z, outside in sides:
        there: NDArray[np.bool_] = (z <= critical) & outside
        used = np.maximum(z[there], 0.0)
        result.append((arm.values[there], np.sqrt(np.maximum(critical**2 - used**2, 0.0))))
    return result[0], result[1]


def users_for(q: float, alpha: float) -> int:
    """How many users of an arm the interval of a quantile needs; with fewer it would go beyond the largest value.

    >>> users_for(0.5, 0.05), users_for(0.99, 0.05)
    (5, 299)
    """
    return math.ceil(math.log(alpha) / math.log(max(q, 1 - q)))
