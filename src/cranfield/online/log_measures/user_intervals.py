"""Intervals of ratios of sums over users, also of few users and of users who weigh much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.online.few_users import (
    Influence,
    Part,
    carried,
    influences,
    largest_shares,
    positive_ends,
    share_ends,
)
from cranfield.online.moments import Estimates, Group, Moments
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.online.engines.engine import Engine

FEW_USERS = 20
"""With fewer users, or with fewer degrees of freedom for something that is no share, intervals may be too narrow."""
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
    confidence: float,
) -> dict[str, Measured]:
    """The intervals of estimates, by name; a frame with a row per user is scanned if a user might weigh much.

    parts: what the estimates are made of; estimates without parts have no influences.
    kinds: {name: `share` or `positive`}; others may have any sign.
    """
    heavy = {name: carried(moments[name], own, estimates[name].error) for name, own in parts.items()}
    scanned = {name: parts[name] for name, where in heavy.items() if where.any()}
    found = influences(engine, frame, scanned, moments, by)
    return {
        name: _measured(each, moments[name], kinds.get(name, "sum"), found.get(name), heavy.get(name), confidence)
        for name, each in estimates.items()
    }


def _measured(
    each: Estimates, moments: Moments, kind: str, influence: Influence | None, heavy: Any, confidence: float
) -> Measured:
    """A measure with its interval; where users are heavy, with their influence."""
    variance, df, third = each.error**2, np.maximum(each.n - 1.0, 1.0), np.zeros(len(each.n))
    if influence is not None:
        variance, df = np.where(heavy, influence.variance, variance), np.where(heavy, influence.df, df)
        third = np.where(heavy, influence.third, third)
    low, high = interval_ends(each.value, variance, df, third, moments, kind, confidence)
    shares = largest_shares(moments, moments.names)
    doubtful = (each.n < FEW_USERS) | ((df < FEW_DEGREES) & (kind != "share"))
    return Measured(each.groups, each.value, each.error, each.n, low, high, shares, doubtful)


def interval_ends(
    value: Array, variance: Array, df: Array, third: Array, moments: Moments, kind: str, confidence: float
) -> tuple[Array, Array]:
    """The interval of a ratio of two columns in each group, by its kind: `share`, `positive` or `sum` (of any sign)."""
    from scipy.special import ndtri, stdtrit

    def critical(df: Array) -> Array:
        return np.asarray(stdtrit(df, (1 + confidence) / 2))

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
            counted = share_ends(value, np.zeros(len(value)), df, rows, lambda _: ndtri((1 + confidence) / 2))
            ends = np.where(alone, counted, ends)
            low, high = np.where((value >= 0) & (value <= 1) & (moments.n > 1), ends, [low, high])
    return low, high


def _one_row_each(moments: Moments) -> NDArray[np.bool_]:
    """Does every user count 0 or 1 above the line, and 1 below it?"""
    with np.errstate(invalid="ignore"):
        share, variance = moments.mean[:, 0], moments.cov[:, 0, 0] * (moments.n - 1) / moments.n
        same = (moments.mean[:, 1] == 1) & (moments.cov[:, 1, 1] == 0)
        return np.asarray(same & np.isclose(variance, share * (1 - share), rtol=1e-6, atol=1e-12))
