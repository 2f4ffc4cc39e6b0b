"""Estimates of the value of a new policy from sums per cluster, with intervals and effective sample sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.online.moments import Moments
from cranfield.record import Record, columns_of, entries_of
from cranfield.table import Cell, Column, Table
from cranfield.types import Array

ESTIMATORS = {
    "IPS": "mean of weight · reward; unbiased if the propensities are right and above 0 for all that the policy does",
    "clipped": "like IPS, with weights cut; biased, and its interval allows for what was cut",
    "SNIPS": "sum of weight · reward / sum of weights; nearly unbiased, less noisy than IPS",
    "direct": "mean reward that a model predicts for the new policy; as right or wrong as the model",
    "DR": "doubly robust: direct, corrected by weight · (reward - prediction)",
}
"""{name: description}"""
MODEL_ERROR = (
    "the intervals of direct and DR contain the error of the predictions as far as it comes from chance; caution: with "
    "few queries for each topic and document they are too narrow, and direct is shrunk: rely on IPS there"
)
"""A note for predictions that were fitted to the same rows."""


NUMBERS = ("value", "low", "high", "change", "change low", "change high", "effective n")


@dataclass(frozen=True)
class Estimate:
    """The estimated value of a policy, and how it compares with the logged one."""

    policy: str
    estimator: str
    value: float
    low: float
    high: float
    change: float
    """The value minus that of the logged policy."""
    change_low: float
    change_high: float
    effective_n: float
    """The effective sample size of the policy's weights, uncut; NaN for estimates without weights."""
    refused: bool = False
    """Whether the effective sample size is too small; the numbers are then NaN."""


@dataclass(frozen=True)
class Logged:
    """The mean reward of the logged policy, on the rows that a new policy is estimated from."""

    policy: str
    """The new policy."""
    value: float
    low: float
    high: float
    rows: int


@dataclass(frozen=True, eq=False, repr=False)
class OffPolicy(Record):
    """What new policies would be worth, estimated from a log of another policy."""

    facts = ("rows", "clusters", "cluster", "logged", "logged_low", "logged_high", "level", "clip", "least_ess")

    estimates: tuple[Estimate, ...]
    logged_on: tuple[Logged, ...]
    """The logged policy on the rows of each new one: a run without a list for a query leaves the query out."""
    clusters: int
    cluster: str
    """What is independent: the column of users or contexts, or `row`."""
    level: float
    clip: float
    least_ess: float
    verdicts: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def logged(self) -> float:
        """The mean reward of the logged policy, on the rows of the first new one."""
        return self.logged_on[0].value

    @property
    def logged_low(self) -> float:
        return self.logged_on[0].low

    @property
    def logged_high(self) -> float:
        return self.logged_on[0].high

    @property
    def rows(self) -> int:
        """The rows that the first new policy is estimated from."""
        return self.logged_on[0].rows

    @property
    def refused(self) -> tuple[str, ...]:
        """The policies for which an estimate is refused because the effective sample size is too small."""
        return tuple(dict.fromkeys(estimate.policy for estimate in self.estimates if estimate.refused))

    def columns(self) -> dict[str, NDArray[Any]]:
        """policy, estimator, value, low, high, change, change low, change high, effective n, refused, logged."""
        logged = {policy.policy: policy.value for policy in self.logged_on}
        values = np.array([logged[estimate.policy] for estimate in self.estimates], dtype=np.float64)
        names = ("policy", "estimator", *NUMBERS, "refused")
        return {**columns_of(self.estimates, Estimate, *names), "logged": values}

    def table(self) -> Table:
        """A row for the logged policy, or one for each new policy if their rows differ; and one per estimate."""
        alike = len({(logged.value, logged.low, logged.high, logged.rows) for logged in self.logged_on}) == 1
        rows: list[tuple[Cell, ...]] = [
            ("logged" if alike else f"logged, rows of {logged.policy}", "mean", logged.value, logged.low, logged.high,
             None, None, None, float(logged.rows))
            for logged in (self.logged_on[:1] if alike else self.logged_on)
        ]  # fmt: skip
        heads = ("policy", "estimator", *NUMBERS)
        rows += entries_of(columns_of(self.estimates, Estimate, *heads))
        columns = tuple(
            Column(head, "number" if head in NUMBERS else "text", "higher" if head == "value" else "neither")
            for head in heads
        )
        return Table(columns, tuple(rows), "Value of policies", (*self.verdicts, *self.notes))


@dataclass(frozen=True)
class Part:
    """An estimator as a ratio of two columns of sums per cluster."""

    estimator: str
    numerator: str
    denominator: str
    weighted: bool = True
    """Whether it stands or falls with the weights of the policy, cut or not."""
    low: str = ""
    """The numerator if the estimator's bias is as large as it can be upwards; the interval begins below it."""
    high: str = ""
    """The numerator if the bias is as large as it can be downwards; the interval ends above it."""
    influence: str = ""
    """A column whose variance counts if it is larger than that of the numerator: predictions that were fitted to the
    same rows change with them. An estimator without weights has no interval if the table lacks it."""


PARTS = (
    Part("IPS", "weighted", "n"),
    Part("clipped", "clipped_weighted", "n", low="clipped_low", high="clipped_high"),
    Part("SNIPS", "weighted", "weight"),
    Part("direct", "direct", "n", weighted=False, influence="direct_influence"),
    Part("DR", "corrected", "n", influence="direct_influence"),
)


ROUNDING = 1e-12
"""A smaller relative change comes from the order in which numbers were added."""


def estimates_of(
    policy: str,
    sums: Moments,
    reward: str,
    level: float,
    least_ess: float,
    parts: Sequence[Part] = PARTS,
    *,
    weights_each: float = 1.0,
    off: Mapping[str, tuple[float, float]] | None = None,
) -> list[Estimate]:
    r"""The estimates of a policy from the means and covariances of its sums per cluster.

    An estimator is a ratio :math:`\theta = \bar A / \bar B` over G clusters. Its variance by the delta method is
    :math:`\mathrm{var}(A - \theta B) / (G \bar B^2)`; the interval uses the t distribution with G − 1 degrees of
    freedom. The effective sample size is that of Kish, :math:`(\sum w)^2 / \sum w^2`, divided by `weights_each`, the
    number of weights that each decision has. It is that of the policy: cut weights look more alike, but the policy does
    what was rarely logged all the same, so all estimators with weights are refused together.

    An estimator with a bias has two ends, the numerators for its bounds, each with its own variance; or `off` says how
    far the estimator may be too high and too low, which the interval contains in addition. An estimator whose
    numbers do not vary has no interval: nothing is known about how far off it is.
    """
    quantile = _quantile(sums, level)
    base = _gradient(sums, reward, "n")
    logged = _ratio(sums, reward, "n")
    effective = effective_size(sums) / weights_each
    estimates = []
    for part in parts:
        if part.numerator not in sums.names:
            continue
        if part.weighted and not effective >= least_ess:
            estimates.append(_refused(policy, part.estimator, effective))
            continue
        value = _ratio(sums, part.numerator, part.denominator)
        change = value - logged
        if abs(change) <= ROUNDING * max(abs(value), abs(logged)):
            change = 0.0
        ends = [np.nan] * 4
        if part.weighted or part.influence in sums.names:
            # by chance, cut weights may lack nothing: the numerator itself is a bound too
            lows = [_end(sums, part, column, -quantile, base) for column in (part.low, part.numerator)]
            highs = [_end(sums, part, column, quantile, base) for column in (part.high, part.numerator)]
            ends = [*np.min(lows, axis=0), *np.max(highs, axis=0)]
        below, above = (off or {}).get(part.estimator, (0.0, 0.0))
        low, low_of_change, high, high_of_change = np.array(ends) - [below, below, -above, -above]
        shift = change - (value - logged)
        estimates.append(
            Estimate(
                policy, part.estimator, value, low, high,
                change, low_of_change - logged + shift, high_of_change - logged + shift,
                effective if part.weighted else np.nan,
            )
        )  # fmt: skip
    return estimates


def _end(sums: Moments, part: Part, column: str, quantile: float, base: Array) -> tuple[float, float]:
    """An end of the interval, and the same end with the error of the difference from the logged policy."""
    column = column if column in sums.names else part.numerator
    centre, reaches = _ratio(sums, column, part.denominator), []
    for name in {column, part.influence} & set(sums.names):
        gradient = _gradient(sums, name, part.denominator)
        reaches.append((_error(sums, gradient), _error(sums, gradient - base)))
    error, error_of_change = np.max(reaches, axis=0)
    if not error > ROUNDING * abs(centre):
        return np.nan, np.nan
    return centre + quantile * error, centre + quantile * error_of_change


def _refused(policy: str, estimator: str, ess: float) -> Estimate:
    nan = float(np.nan)
    return Estimate(policy, estimator, nan, nan, nan, nan, nan, nan, ess, refused=True)


def logged_value(sums: Moments, reward: str, level: float) -> tuple[float, float, float]:
    """The mean reward of the logged policy, with its interval."""
    value, error = _ratio(sums, reward, "n"), _error(sums, _gradient(sums, reward, "n"))
    quantile = _quantile(sums, level) if error > ROUNDING * abs(value) else np.nan
    return value, value - quantile * error, value + quantile * error


def effective_size(sums: Moments) -> float:
    """Kish's effective sample size: how many rows of equal weight would be as informative."""
    total, squares = (float(sums.n[0] * sums.mean[0, sums.column(name)]) for name in ("weight", "square"))
    return total**2 / squares if squares > 0 else 0.0


def _ratio(sums: Moments, numerator: str, denominator: str) -> float:
    below = float(sums.mean[0, sums.column(denominator)])
    return float(sums.mean[0, sums.column(numerator)]) / below if below else np.nan


def _gradient(sums: Moments, numerator: str, denominator: str) -> Array:
    """The derivative of a ratio of means with respect to all means."""
    below = float(sums.mean[0, sums.column(denominator)])
    gradient = np.zeros(len(sums.names))
    if below:
        gradient[sums.column(numerator)] += 1.0 / below
        gradient[sums.column(denominator)] -= _ratio(sums, numerator, denominator) / below
    return gradient


def _error(sums: Moments, gradient: Array) -> float:
    return float(np.sqrt(max(float(gradient @ sums.cov[0] @ gradient), 0.0) / sums.n[0]))


def _quantile(sums: Moments, level: float) -> float:
    if sums.n[0] < 2:
        raise UsageError("off_policy: fewer than two clusters, so that no interval can be computed; give more data")
    from scipy.special import stdtrit

    return float(stdtrit(int(sums.n[0]) - 1, (1 + level) / 2))


def verdict(policy: str, estimates: Sequence[Estimate], least_ess: float, level: float) -> str:
    """One sentence about a policy: its value by the best estimator, or why it is refused."""
    refused = [estimate for estimate in estimates if estimate.refused]
    if refused:
        ess = min(estimate.effective_n for estimate in refused)
        return (
            f"{policy}: refused, the effective sample size is {ess:,.1f} and must be {least_ess:g} or more; the new "
            "policy does what the logged one rarely did, so that a few rows would decide. Collect data with more "
            "exploration, evaluate a policy closer to the logged one, or lower the limit"
        )
    order = {"DR": 0, "SNIPS": 1, "IPS": 2, "clipped": 3, "direct": 4}
    best = min(estimates, key=lambda estimate: (np.isnan(estimate.change_low), order[estimate.estimator]))
    if np.isnan(best.change_low):
        return (
            f"{policy}: {best.value:.4g} by {best.estimator}, a change of {best.change:+.4g}, without an interval: the "
            "rewards do not vary, so that nothing is known about how far off this is. Collect more data"
        )
    side = "better" if best.change_low > 0 else "worse" if best.change_high < 0 else "not clearly different"
    than = "than" if side != "not clearly different" else "from"
    return (
        f"{policy} is {side} {than} the logged policy by {best.estimator}: {best.value:.4g}, a change of "
        f"{best.change:+.4g} ({level:.0%} interval {best.change_low:+.4g} to {best.change_high:+.4g})"
    )
