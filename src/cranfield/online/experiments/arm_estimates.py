"""The value and variance of a metric in each arm: adjusted by covariates (CUPED), or carried by few users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.online.experiments.arm_effects import Unadjusted
from cranfield.online.few_users import Influence, Part, carried, largest_shares
from cranfield.online.moments import Moments
from cranfield.text import listed
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
                f"caution: {metric} is skewed and the arms differ in size, so p of {listed(named, most=6)} is too "
                f"small on one side: the smaller arm looks too {side} too often; {cap}use arms of equal size"
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
            f"{metric}: the largest user's share of a sum: {listed(large, most=6)}; if it is a robot, leave it out"
        )
    return notes
