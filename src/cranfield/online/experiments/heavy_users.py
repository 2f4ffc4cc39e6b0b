"""Metrics that few users carry, or whose skewness misleads arms of unequal size: what is done, and what is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cranfield.online.experiments.arm_estimates import ArmEstimates, adjustment
from cranfield.online.experiments.experiment_metrics import Metric
from cranfield.online.few_users import Influence, Part, carried, largest_shares
from cranfield.online.moments import Moments
from cranfield.text import listed
from cranfield.types import Array

WIDER = 1.05
"""The jackknife decides if it makes the interval of an arm wider by this factor."""
UNEVEN = 1.2
"""If the largest arm has this many times the users of the smallest, skewness does not cancel out."""
SKEWED = 0.25
"""A difference with a larger skewness is doubtful: Welch's test is wrong on one side twice as often as it says."""
LARGE = 0.1
"""A user with this share of a sum is worth a note."""


def metric_parts(metric: Metric, covariates: Sequence[Metric], moments: Moments) -> list[Part]:
    """What an adjusted metric is made of."""
    parts = [Part(term.weight, term.column, term.below) for term in metric.terms] or [
        Part(1.0, metric.column, metric.below)
    ]
    if covariates:
        theta = adjustment(moments, metric, covariates)[0]
        parts += [Part(-float(w), one.column, one.below) for w, one in zip(theta, covariates, strict=True)]
    return parts


def suspects(
    metrics: Sequence[Metric],
    covariates: Mapping[Metric, tuple[Metric, ...]],
    moments: Mapping[str, Moments],
    estimates: Mapping[str, ArmEstimates],
) -> dict[str, list[Part]]:
    """Metrics in which single users might weigh much, as far as the largest values tell, with their parts."""
    found = {}
    for metric in metrics:
        own, each = moments[str(metric)], estimates[str(metric)]
        ratio = metric.kind in ("ratio", "sum")
        users = own.n[own.n > 0]
        if not ratio and not (len(users) > 1 and users.max() >= UNEVEN * users.min() and metric.kind == "mean"):
            continue
        parts = metric_parts(metric, covariates[metric], own)
        if carried(own, parts, np.sqrt(each.variance)).any():
            found[str(metric)] = parts
    return found


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


def skew_cautions(metric: Metric, sides: Mapping[str, str]) -> list[str]:
    """A caution for arms of unequal size and a skewed metric; `sides` are those of `skewed_side`, by comparison."""
    notes = []
    for side, cap in (("low", "cap high values (such as p99), or "), ("high", "")):
        if found := [name for name, one in sides.items() if one == side]:
            notes.append(
                f"caution: {metric} is skewed and the arms differ in size, so p of {listed(found, most=6)} is too "
                f"small on one side: the smaller arm looks too {side} too often; {cap}use arms of equal size"
            )
    return notes


def heavy_notes(metric: Metric, own: Moments, estimates: ArmEstimates, order: Sequence[str]) -> list[str]:
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
