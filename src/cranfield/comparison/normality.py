"""Shapiro and Wilk's test of normality, for many samples at once."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from cranfield.scores.t_and_normal import normal_quantile, normal_tail
from cranfield.types import Array

FEWEST, MOST = 3, 5000
"""The sample sizes for which Royston's approximation holds."""


def shapiro_wilk(rows: Array) -> tuple[Array, Array]:
    r"""W and its p-value for each row of samples × entries.

    .. math:: W = \frac{(\sum a_i x_{(i)})^2}{\sum (x_i - \bar x)^2}

    with Royston's weights and normalising transformations. NaN entries are left out. The result is NaN for a row with
    fewer than 3 or more than 5,000 entries, or with equal entries only.
    Reference: Royston, Remark AS R94, J. Royal Statistical Society C 44(4), 1995

    >>> w, p = shapiro_wilk(np.array([[0.1, 0.2, 0.25, 0.3, 0.9]]))
    >>> w.round(4).item(), p.round(4).item()
    (0.7724, 0.0474)
    """
    ordered = np.sort(rows, axis=1)  # NaN last
    n = (~np.isnan(rows)).sum(axis=1)
    w, p = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    for size in np.unique(n[(n >= FEWEST) & (n <= MOST)]).tolist():
        rows_of_size = np.flatnonzero(n == size)
        x = ordered[rows_of_size, :size]
        equal = x[:, -1] - x[:, 0] <= 1e-12 * np.abs(x[:, [0, -1]]).max(axis=1)
        rows_of_size, x = rows_of_size[~equal], x[~equal]
        deviation = x - x.mean(axis=1, keepdims=True)
        w[rows_of_size] = np.minimum((deviation @ _weights(size)) ** 2 / (deviation**2).sum(axis=1), 1.0)
        p[rows_of_size] = _p(w[rows_of_size], size)
    return w, p


@lru_cache(maxsize=64)  # they cost more than the rest of a test
def _weights(n: int) -> Array:
    """The weight of each order statistic; antisymmetric, with norm 1."""
    if n == 3:
        return np.array([-math.sqrt(0.5), 0.0, math.sqrt(0.5)])
    m = -normal_quantile((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    square = float(m @ m)
    u = 1 / math.sqrt(n)
    last = np.polyval([-2.706056, 4.434685, -2.071190, -0.147981, 0.221157, m[-1] / math.sqrt(square)], u)
    a = np.empty(n)
    if n <= 5:
        a[1:-1] = m[1:-1] / math.sqrt((square - 2 * m[-1] ** 2) / (1 - 2 * last**2))
    else:
        next_last = np.polyval([-3.582633, 5.682633, -1.752461, -0.293762, 0.042981, m[-2] / math.sqrt(square)], u)
        left = (square - 2 * m[-1] ** 2 - 2 * m[-2] ** 2) / (1 - 2 * last**2 - 2 * next_last**2)
        a[2:-2] = m[2:-2] / math.sqrt(left)
        a[-2], a[1] = next_last, -next_last
    a[-1], a[0] = last, -last
    a.flags.writeable = False  # it is kept
    return a


def _p(w: Array, n: int) -> Array:
    if n == 3:
        exact = 6 / math.pi * (np.arcsin(np.sqrt(w)) - math.asin(math.sqrt(0.75)))
        return np.clip(exact, 0.0, 1.0)
    with np.errstate(divide="ignore"):  # W = 1: p = 1
        y = np.log1p(-w)
    if n <= 11:
        gamma = -2.273 + 0.459 * n
        beyond = y >= gamma
        y = -np.log(gamma - np.where(beyond, gamma - 1, y))
        mean = np.polyval([-0.0006714, 0.025054, -0.39978, 0.5440], n)
        spread = math.exp(np.polyval([-0.0020322, 0.062767, -0.77857, 1.3822], n))
        return np.where(beyond, 1e-19, normal_tail((y - mean) / spread))
    log_n = math.log(n)
    mean = np.polyval([0.0038915, -0.083751, -0.31082, -1.5861], log_n)
    spread = math.exp(np.polyval([0.0030302, -0.082676, -0.4803], log_n))
    return np.asarray(normal_tail((y - mean) / spread))
