"""The value of a metric in each arm with its variance, from moments; with covariates, adjusted by CUPED."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.online.experiments.arm_effects import Unadjusted
from cranfield.online.experiments.experiment_metrics import Metric
from cranfield.online.moments import Moments
from cranfield.types import Array


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


CUPED = ("within", "tea-tasting", "growthbook")
"""Ways to the θ of covariates: within the arms, or as the programs of these names find it."""


def arm_estimates(
    moments: Moments, metric: Metric, covariates: Sequence[Metric] = (), cuped: str = "within"
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
    value, gradient = value_and_gradient(moments, metric)
    if not covariates:
        return ArmEstimates(value, moments.linear(value, gradient).error ** 2, moments.n)
    theta, reduction = adjustment(moments, metric, covariates, cuped)
    parts = [value_and_gradient(moments, one) for one in covariates]
    overall = moments.pooled()
    raw, raw_gradient, subtracted = value, gradient, np.zeros_like(gradient)
    for weight, one, (covariate, covariate_gradient) in zip(theta, covariates, parts, strict=True):
        value = value - weight * (covariate - value_and_gradient(overall, one)[0])
        subtracted = subtracted + weight * covariate_gradient
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = np.einsum("gi,gij,gj->g", raw_gradient, moments.cov, subtracted) / moments.n
    return ArmEstimates(
        value, moments.linear(value, raw_gradient - subtracted).error ** 2, moments.n, None, reduction, raw,
        moments.linear(raw, raw_gradient).error ** 2, covariance,
    )  # fmt: skip


def adjustment(
    moments: Moments, metric: Metric, covariates: Sequence[Metric], cuped: str = "within"
) -> tuple[Array, float]:
    """θ of each covariate, and the share of the variance that they remove.

    within: the covariances within the groups, weighted by their users, so that an effect does not change θ.
    tea-tasting: the covariances over all users, whatever their group.
    growthbook: the same for a mean with means as covariates; for ratios, those within the groups, each counted alike.
    """
    plain = not any(one.below for one in (metric, *covariates))
    if cuped == "tea-tasting" or (cuped == "growthbook" and plain):
        moments = moments.pooled()
    value, gradient = value_and_gradient(moments, metric)
    parts = [value_and_gradient(moments, one) for one in covariates]
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


def value_and_gradient(moments: Moments, metric: Metric) -> tuple[Array, Array]:
    """The metric in each group, and its gradient with respect to the means of the columns."""
    if metric.terms:
        return _weighted_sum(moments, metric)
    gradient = np.zeros((len(moments.groups), len(moments.names)))
    above = moments.mean[:, moments.column(metric.column)]
    if not metric.below:
        gradient[:, moments.column(metric.column)] = 1.0
        return above, gradient
    below = moments.mean[:, moments.column(metric.below)]
    below = np.where(below == 0, np.nan, below)
    value = above / below
    gradient[:, moments.column(metric.column)] += 1 / below
    gradient[:, moments.column(metric.below)] -= value / below
    return value, gradient


def _weighted_sum(moments: Moments, metric: Metric) -> tuple[Array, Array]:
    parts = [value_and_gradient(moments, Metric("ratio", term.column, term.below)) for term in metric.terms]
    value = sum(term.weight * (part[0] - term.zero) for term, part in zip(metric.terms, parts, strict=True))
    gradient = sum(term.weight * part[1] for term, part in zip(metric.terms, parts, strict=True))
    return np.asarray(value), np.asarray(gradient)


def needed_columns(metric: Metric, covariates: Sequence[Metric]) -> tuple[str, ...]:
    """The columns of a metric and of its covariates, each once."""
    return tuple(dict.fromkeys(name for one in (metric, *covariates) for name in one.columns))


def check_share(metric: Metric, moments: Moments, arms: Sequence[str] = ("",)) -> None:
    """Raise an error if the column of a share holds something other than 0 and 1: then variance and mean disagree."""
    if metric.kind != "share":
        return
    i = moments.column(metric.column)
    for arm, n, mean, variance in zip(arms, moments.n, moments.mean[:, i], moments.cov[:, i, i], strict=True):
        if n > 1 and not np.isclose(variance * (n - 1) / n, mean * (1 - mean), rtol=1e-6, atol=1e-9):
            where = f"column {metric.column!r}" + (f" of arm {arm!r}" if arm else "")
            raise UsageError(
                f"{metric}: {where} has mean {mean:.4g} and variance {variance:.4g}, so it holds other values than 0 "
                "and 1; use the column alone for its mean"
            )
