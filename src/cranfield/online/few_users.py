"""Estimates that few users carry: what single users change, and from it standard errors, degrees of freedom, skewness.

The delta method takes the sums of many users as normal, and its variance as known. With few users, or with one who has
a third of the clicks, neither is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.online.engines.engine import Engine
from cranfield.online.expressions import nw
from cranfield.online.moments import Estimates, Group, Moments, fetched
from cranfield.types import Array

ROUNDING = 1e-10
"""A standard error below this share of the estimate is rounding."""
SHARE = 0.01
"""If no user has more than this share of a variance or of a sum below the line, the delta method is right."""


class Part(NamedTuple):
    """A part of a weighted sum of ratios: weight · Σ above / Σ below, or the mean of `above` without `below`."""

    weight: float
    above: str
    below: str = ""


LEVELS: dict[str, Any] = {"least": 0.5, "most": 0.9999}
"""The levels that intervals over users may have."""


@dataclass(frozen=True, eq=False)
class Influence:
    r"""What leaving out single users changes in an estimate, in each group.

    .. math:: \psi_u = \sum_k w_k \frac{a_{uk} - R_k b_{uk}}{B_k - b_{uk}}, \qquad
        V = \frac{n - 1}{n} \sum_u \psi_u^2, \qquad \nu = \frac{2 n}{\kappa - (n - 3) / (n - 1)}, \quad
        \kappa = \frac{n \sum \psi^4}{(\sum \psi^2)^2}

    ψ is exactly the change of a ratio without user u, so V is the jackknife's variance. ν are the degrees of freedom of
    a variance that is estimated from users with kurtosis κ (Satterthwaite): n − 1 for normal users, 2 if all depends on
    one of them.

    References: Efron & Stein, The Jackknife Estimate of Variance, Annals of Statistics 9(3), 1981; Satterthwaite, An
    Approximate Distribution of Estimates of Variance Components, Biometrics 2(6), 1946
    """

    variance: Array
    df: Array
    third: Array
    """Σ ψ³, the third cumulant of the estimate."""

    def at(self, places: Sequence[int]) -> Influence:
        """The groups at these places; −1 is a group without users."""
        there = np.array(places) >= 0
        return Influence(*(np.where(there, column[places], np.nan) for column in (self.variance, self.df, self.third)))


def carried(moments: Moments, parts: Sequence[Part], error: Array) -> NDArray[np.bool_]:
    """Might a single user have more than a hundredth of the variance, or of a sum below the line? For each group.

    `error` is the standard error by the delta method. The largest values of the columns bound what a user can change.
    """
    assert moments.largest is not None
    change, share = np.zeros(len(moments.n)), np.zeros(len(moments.n))
    with np.errstate(divide="ignore", invalid="ignore"):
        for part in parts:
            above, value = moments.column(part.above), _values(moments, part)
            below = moments.largest[:, moments.column(part.below)] if part.below else np.ones(len(moments.n))
            total = _below(moments, part)
            change += abs(part.weight) * (moments.largest[:, above] + np.abs(value) * below) / np.abs(total - below)
            share = np.maximum(share, below / np.abs(total))
        return np.asarray(~((change**2 <= SHARE * error**2) & (share <= SHARE)) & (moments.n > 1))


def influences(
    engine: Engine,
    frame: Any,
    parts: Mapping[str, Sequence[Part]],
    moments: Mapping[str, Moments],
    by: Sequence[str] = (),
) -> dict[str, Influence]:
    """The influence of users on estimates, by name, in each group of their moments; one scan of the frame."""
    import pyarrow

    if not parts:
        return {}
    groups = next(iter(moments.values())).groups
    sizes = np.maximum(next(iter(moments.values())).n, 1)
    constants: dict[str, Array] = {}
    terms: dict[str, Any] = {}
    for i, (name, own) in enumerate(parts.items()):
        term: Any = None
        for k, part in enumerate(own):
            constants[f"_value{i}_{k}"] = _values(moments[name], part)
            constants[f"_total{i}_{k}"] = _below(moments[name], part)
            value, total = (_constant(key, constants, by) for key in (f"_value{i}_{k}", f"_total{i}_{k}"))
            below = nw.col(part.below).cast(nw.Float64) if part.below else nw.lit(1.0)
            left = total - below
            ratio = (nw.col(part.above).cast(nw.Float64) - value * below) / nw.when(left != 0).then(left)
            term = part.weight * ratio if term is None else term + part.weight * ratio
        constants[f"_scale{i}"] = near_one(sum(part.weight * _values(moments[name], part) for part in own) / sizes)
        terms[f"_change{i}"] = term * _constant(f"_scale{i}", constants, by)
    if by:
        known = [g for g, group in enumerate(groups) if None not in group]
        keys = {name: [groups[g][j] for g in known] for j, name in enumerate(by)}
        table = pyarrow.table({**keys, **{name: column[known] for name, column in constants.items()}})
        frame = frame.join(engine.read(table), on=list(by), how="inner")
    changes = frame.select(*by, *(term.alias(name) for name, term in terms.items()))
    powers = [
        _power(nw.col(name), power).sum().alias(f"{name}_{power}") for name in terms for power in (2, 3, 4)
    ]  # fmt: skip
    rows = fetched(changes.group_by(*by).agg(*powers) if by else changes.select(*powers)).to_pylist()
    by_group = {tuple(row[name] for name in by): row for row in rows}
    result = {}
    for i, name in enumerate(parts):
        sums = np.array(
            [[_number(by_group.get(group, {}).get(f"_change{i}_{power}")) for power in (2, 3, 4)] for group in groups]
        ).reshape(-1, 3)
        sums /= constants[f"_scale{i}"][:, None] ** np.array([2, 3, 4])
        result[name] = influence_of(sums, moments[name].n)
    return result


def near_one(size: Array) -> Array:
    """The power of two that brings numbers of this size near to 1, where sums are the same for all orders of rows.

    >>> near_one(np.array([0.001, 0.0, 5.0])).tolist()
    [1024.0, 1.0, 0.25]
    """
    size = np.where(np.isfinite(size) & (size != 0), np.abs(size), 1.0)
    return np.asarray(np.exp2(np.clip(-np.round(np.log2(size)), -200, 200)))


def influence_of(sums: Array, n: NDArray[np.int64]) -> Influence:
    """From the sums of squares, cubes and fourth powers of changes."""
    second, third, fourth = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        kurtosis = n * fourth / second**2
        df = np.clip(2 * n / (kurtosis - (n - 3) / (n - 1)), 2.0, np.maximum(n - 1, 1))
        return Influence((n - 1) / n * second, np.where(np.isfinite(df), df, np.maximum(n - 1, 1)), third)


def _power(term: Any, exponent: int) -> Any:
    return term * term if exponent == 2 else _power(term, exponent - 1) * term


def _constant(name: str, constants: Mapping[str, Array], by: Sequence[str]) -> Any:
    return nw.col(name) if by else nw.lit(float(constants[name][0]))


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def _values(moments: Moments, part: Part) -> Array:
    above = moments.mean[:, moments.column(part.above)]
    if not part.below:
        return above
    below = moments.mean[:, moments.column(part.below)]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / np.where(below == 0, np.nan, below))


def _below(moments: Moments, part: Part) -> Array:
    """The sum below the line: the number of users for a mean."""
    if not part.below:
        return moments.n.astype(np.float64)
    return np.asarray(moments.n * moments.mean[:, moments.column(part.below)])


def largest_shares(moments: Moments, columns: Sequence[str]) -> Array:
    """The largest user's share of the sum of a column, in each group: the highest of these columns."""
    assert moments.largest is not None
    at = [moments.column(name) for name in columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = moments.largest[:, at] / np.abs(moments.n[:, None] * moments.mean[:, at])
    return np.asarray(np.nan_to_num(np.where(np.isfinite(shares), shares, 0.0)).max(axis=1))


def share_ends(value: Array, variance: Array, df: Array, rows: Array, critical: Any) -> tuple[Array, Array]:
    r"""The interval of a share by Wilson's method with the effective number of rows.

    .. math:: (R - \pi)^2 \le q^2 \frac{\pi (1 - \pi)}{n^*}, \qquad n^* = \frac{R (1 - R)}{V}

    V is the variance over users, so :math:`n^*` is the number of independent rows that would have it, and q Student's
    quantile. If all rows are alike, :math:`n^*` is the number of rows, and q has 2 degrees of freedom: nothing is known
    about how alike the rows of one user are.

    References: Wilson, J. American Statistical Association 22(158), 1927; Korn & Graubard, Survey Methodology 24(2),
    1998 (the effective number)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = variance > (ROUNDING * value) ** 2
        effective = np.where(spread, value * (1 - value) / variance, rows)
        q = critical(np.where(spread, df, 2.0))
        below = 1 + q**2 / effective
        centre = (value + q**2 / (2 * effective)) / below
        half = q / below * np.sqrt(value * (1 - value) / effective + q**2 / (4 * effective**2))
    low, high = np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    return np.asarray(np.minimum(low, value)), np.asarray(np.maximum(high, value))  # but for rounding


def positive_ends(value: Array, variance: Array, df: Array, third: Array, critical: Any) -> tuple[Array, Array]:
    r"""The interval of a positive number on a logarithmic scale, for what is left of the skewness there.

    .. math:: R \exp\left(c \left(d \pm \sqrt{q^2 + d^2}\right)\right), \qquad c = \frac{\sqrt V}{R}, \quad
        d = \max(0, \gamma - 3 c)\, \frac{1 + 2 q^2}{6}

    γ is the skewness of the estimate; that of its logarithm is γ − 3c. d moves the interval by as much as Johnson's
    modified t. NaN if all users are alike, or nothing was counted.

    Reference: Johnson, Modified t Tests and Confidence Intervals for Asymmetrical Populations, J. American Statistical
    Association 73(363), 1978
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        c = np.where((variance > (ROUNDING * value) ** 2) & (value > 0), np.sqrt(variance) / value, np.nan)
        q = critical(df)
        d = np.maximum(0.0, np.nan_to_num(third / variance**1.5) - 3 * c) * (1 + 2 * q**2) / 6
        reach = np.sqrt(q**2 + d**2)
        return np.asarray(value * np.exp(c * (d - reach))), np.asarray(value * np.exp(c * (d + reach)))


FEW_USERS = 20
"""With fewer users, or with fewer degrees of freedom for something that is not a share, intervals may be too narrow."""
FEW_DEGREES = 4.0


@dataclass(frozen=True, eq=False)
class Measured:
    """A measure in each group, with its interval."""

    groups: tuple[Group, ...]
    value: Array
    error: Array
    n: NDArray[np.int64]
    low: Array
    high: Array
    largest: Array
    """The largest user's share of a sum."""
    doubtful: NDArray[np.bool_]
    """Is the interval from so few users that it may be too narrow?"""


def user_intervals(
    engine: Engine,
    frame: Any,
    moments: Mapping[str, Moments],
    estimates: Mapping[str, Estimates],
    parts: Mapping[str, Sequence[Part]],
    kinds: Mapping[str, str],
    by: Sequence[str],
    level: float,
) -> dict[str, Measured]:
    """The intervals of estimates, by name; a frame with a row per user is scanned if a user might weigh much.

    parts: what the estimates are made of; estimates without parts have no influences.
    kinds: {name: `share` or `positive`}; others may have any sign.
    """
    heavy = {name: carried(moments[name], own, estimates[name].error) for name, own in parts.items()}
    scanned = {name: parts[name] for name, where in heavy.items() if where.any()}
    influence = influences(engine, frame, scanned, moments, by)
    return {
        name: _measured(each, moments[name], kinds.get(name, "sum"), influence.get(name), heavy.get(name), level)
        for name, each in estimates.items()
    }


def _measured(
    each: Estimates, moments: Moments, kind: str, influence: Influence | None, heavy: Any, level: float
) -> Measured:
    """A measure with its interval; where users are heavy, with their influence."""
    variance, df, third = each.error**2, np.maximum(each.n - 1.0, 1.0), np.zeros(len(each.n))
    if influence is not None:
        variance, df = np.where(heavy, influence.variance, variance), np.where(heavy, influence.df, df)
        third = np.where(heavy, influence.third, third)
    low, high = interval_ends(each.value, variance, df, third, moments, kind, level)
    shares = largest_shares(moments, moments.names)
    doubtful = (each.n < FEW_USERS) | ((df < FEW_DEGREES) & (kind != "share"))
    return Measured(each.groups, each.value, each.error, each.n, low, high, shares, doubtful)


def interval_ends(
    value: Array, variance: Array, df: Array, third: Array, moments: Moments, kind: str, level: float
) -> tuple[Array, Array]:
    """The interval of a ratio of two columns in each group, by its kind: `share`, `positive` or `sum` (of any sign)."""
    from scipy.special import ndtri, stdtrit

    def critical(df: Array) -> Array:
        return np.asarray(stdtrit(df, (1 + level) / 2))

    with np.errstate(invalid="ignore"):
        reach = critical(df) * np.sqrt(np.where(variance > 0, variance, np.nan))
        low, high = value - reach, value + reach
        if kind == "sum":
            return low, high
        ends = np.stack(positive_ends(value, variance, df, third, critical))
        low, high = np.where(value >= 0, ends, [low, high])
        if kind == "share":
            rows = moments.n * moments.mean[:, 1]
            ends = np.stack(share_ends(value, variance, df, rows, critical))
            alone = _one_row_each(moments)  # then shares are binomial, and nothing has to be estimated for q
            counted = share_ends(value, np.zeros(len(value)), df, rows, lambda _: ndtri((1 + level) / 2))
            ends = np.where(alone, counted, ends)
            low, high = np.where((value >= 0) & (value <= 1) & (moments.n > 1), ends, [low, high])
    return low, high


def _one_row_each(moments: Moments) -> NDArray[np.bool_]:
    """Does every user count 0 or 1 above the line, and 1 below it?"""
    with np.errstate(invalid="ignore"):
        share, variance = moments.mean[:, 0], moments.cov[:, 0, 0] * (moments.n - 1) / moments.n
        same = (moments.mean[:, 1] == 1) & (moments.cov[:, 1, 1] == 0)
        return np.asarray(same & np.isclose(variance, share * (1 - share), rtol=1e-6, atol=1e-12))
