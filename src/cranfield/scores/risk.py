"""The risk of a run: gains and losses against a baseline on each topic, with more weight on losses.

Arrays are runs × topics; topics without a value (NaN) for one of the runs compared are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.record import Shown
from cranfield.scores.summary import mean, statistic
from cranfield.scores.t_and_normal import normal_tail
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class Risk(Shown):
    """A risk measure of every run under every measure."""

    kind: str
    alpha: float
    baseline: str | None
    measures: tuple[str, ...]
    runs: tuple[str, ...]
    values: Array
    """Measures × runs; NaN if the risk is undefined, as TRisk of the baseline itself."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, run and value, one entry per number."""
        return {
            "measure": np.repeat(np.array(self.measures, dtype=object), len(self.runs)),
            "run": np.tile(np.array(self.runs, dtype=object), len(self.measures)),
            "value": self.values.ravel(),
        }

    def to_dict(self) -> dict[str, dict[str, float]]:
        """{run: {measure: value}}."""
        return {
            run: dict(zip(self.measures, column, strict=True))
            for run, column in zip(self.runs, self.values.T.tolist(), strict=True)
        }


def weighed(scores: Array, baseline: Array, alpha: float) -> Array:
    """Differences from the baseline, with losses counted 1 + α times; NaN if either has no value."""
    difference = scores - baseline
    return np.where(difference < 0, (1 + alpha) * difference, difference)


def urisk(scores: Array, baseline: Array, alpha: float = 1.0) -> Array:
    r"""The mean gain over the baseline, with losses counted 1 + α times.

    .. math:: \frac{1}{n}\Big(\sum_{d_t > 0} d_t + (1 + \alpha) \sum_{d_t < 0} d_t\Big)

    Reference: Wang, Bennett & Collins-Thompson, Robust Ranking Models via Risk-Sensitive Optimization, SIGIR 2012

    >>> urisk(np.array([[0.5, 0.2]]), np.array([0.4, 0.4])).round(4).tolist()
    [-0.15]
    """
    check.not_negative("URisk", alpha=alpha)
    return mean(weighed(scores, baseline, alpha))


def trisk(scores: Array, baseline: Array, alpha: float = 1.0) -> Array:
    r"""URisk in units of its standard error: below −2 significantly riskier than the baseline, above 2 safer.

    .. math:: \frac{\text{URisk}}{s / \sqrt{n}}

    Undefined with fewer than two topics, or if all weighted differences are the same.
    Reference: Dinçer, Macdonald & Ounis, Hypothesis Testing for Risk-Sensitive Evaluation, SIGIR 2014

    >>> trisk(np.array([[0.5, 0.2, 0.9]]), np.array([0.4, 0.4, 0.1])).round(4).tolist()
    [0.4789]
    """
    check.not_negative("TRisk", alpha=alpha)
    values = weighed(scores, baseline, alpha)
    count, spread = (~np.isnan(values)).sum(axis=-1), statistic(values, "std")
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, mean(values) / (spread / np.sqrt(count)), np.nan)


def georisk(scores: Array, alpha: float = 1.0) -> Array:
    r"""Effectiveness and risk in one number, compared with the scores that run and topic means lead to expect.

    .. math:: \sqrt{\bar{x}_i\, \Phi(Z_i / n)}, \quad
        Z_i = \sum_{z_{it} > 0} z_{it} + (1 + \alpha) \sum_{z_{it} < 0} z_{it}, \quad
        z_{it} = \frac{x_{it} - e_{it}}{\sqrt{e_{it}}}, \quad e_{it} = \frac{\sum_t x_{it} \sum_i x_{it}}{\sum x}

    Topics on which every run scores 0 add nothing to Z.
    Reference: Dinçer, Macdonald & Ounis, Risk-Sensitive Evaluation Using Multiple Baselines, SIGIR 2016

    >>> georisk(np.array([[0.5, 0.5], [0.5, 0.5]])).tolist()
    [0.5, 0.5]
    """
    check.not_negative("GeoRisk", alpha=alpha)
    values = scores[:, ~np.isnan(scores).any(axis=0)]
    if (values < 0).any():
        raise UsageError("GeoRisk: a score is below 0, all must be 0 or more")
    topics = values.shape[1]
    if topics == 0 or not values.any():
        return np.full(len(scores), np.nan)
    expected = np.outer(values.sum(axis=1), values.sum(axis=0)) / values.sum()
    z = np.divide(values - expected, np.sqrt(expected), out=np.zeros_like(values), where=expected > 0)
    total = np.where(z < 0, (1 + alpha) * z, z).sum(axis=1)
    return np.asarray(np.sqrt(values.mean(axis=1) * normal_tail(-total / topics)))
