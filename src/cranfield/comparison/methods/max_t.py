"""All pairs of systems at once, each with its own standard error: the max-t test of Westfall and Young."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.comparison.data import (
    Matrix,
    check_common_topics,
    difference_blocks,
    noise_of_pairs,
    row_moments,
    without_noise,
    zeros_for_nan,
)
from cranfield.comparison.pair_tests import PairTests, TestSettings, pair_test
from cranfield.comparison.resampling import TIE, Resampling, moments_of, p_of, rank_of_critical, resample
from cranfield.text import counted
from cranfield.types import Array, Index64

_DRAWN = 128
"""The number of resamples in a block, which has its own random numbers."""
_PAIRS = 256
"""About the number of pairs in a block, small enough for the processor's cache; it does not change results."""
_PRODUCT = 2**18
"""Matrices are multiplied in parts of at most this many products. For larger ones, linear algebra libraries start
threads, which makes small tests ten times as slow on a busy machine."""


@pair_test(
    "max-t",
    aliases=("maxt", "westfall-young", "max-t-test"),
    statistic="t",
    simultaneous=True,
    resampling=True,
    skewed=True,
    source="Westfall & Young, Resampling-Based Multiple Testing, 1993; Hall, J. R. Statistical Society B 54(1), 1992",
)
def max_t_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    r"""The largest |h| of all pairs when topics change signs; h is Student's t of a pair, corrected for skewness.

    .. math:: h = \frac{(1 + at)^3 - 1}{3a} + \frac{a}{2}, \quad a = \frac{\hat\gamma}{3\sqrt n} \qquad
        p_{XY} = \frac{1 + |\{b : \max_{VW} |h_{VW}(s^b z)| \ge |h_{XY}(z)|\}|}{1 + B}

    z are the differences of a pair on its topics, each pair with its own standard error and skewness γ̂. The sign s of
    a topic is the same for all pairs, which keeps their dependence. The level is exact if differences are symmetric
    around 0 where systems do not differ, and Hall's transformation removes the first-order error of skewed ones. The
    intervals have the critical h of differences minus their means, if it is larger: all of them together contain the
    true differences with probability 1 − α, and one that does not contain 0 has p of at most α.
    """
    moments = moments_of(matrix, first, second)
    rows = Rows.of(matrix, first, second)
    state, exact = rows.largest_flipped(settings)
    notes = [*state.notes, *check_common_topics(moments.n, 2, "a max-t test")]
    reached = len(state.result) - np.searchsorted(state.result[::-1], np.abs(rows.observed()) - TIE, side="left")
    p = reached / len(state.result) if exact else p_of(reached, state.done, settings.asl)
    critical = _critical(state, exact, settings.alpha)
    if (p <= settings.alpha).any() and not state.interrupted:
        # Signs of large differences flip together, so that they would hide how many intervals there are.
        centred, exact_too = Rows.of(matrix, first, second, centred=True).largest_flipped(settings)
        critical = max(critical, _critical(centred, exact_too, settings.alpha))
    limit = _unbounded(critical, moments.n)
    error = np.where(moments.sd > 0, moments.error, np.nan)
    a = rows.skewness()
    if constant := int(((moments.sd == 0) & (moments.n > 1)).sum()):
        notes.append(f"the difference is the same on every topic in {counted(constant, 'pair')}: no interval")
    if np.isinf(limit).any():
        notes.append(f"too few topics for intervals at level {settings.level:g}: they are infinite")
    return PairTests(
        moments.t,
        np.where(moments.n > 1, p, np.nan),
        moments.mean - error * _t_of_corrected(limit, a),
        moments.mean - error * _t_of_corrected(-limit, a),
        moments.n.astype(np.int64),
        resamples=None if exact else state.done,
        exact=exact,
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class Rows:
    """The differences of each pair (a row), divided so that their squares sum to 1, and their cubes.

    A flip of signs changes the sums of rows and of cubes, but not those of squares.
    """

    unit: Array
    cubes: Array
    n: Array
    """The number of topics of each pair, as a column."""

    @staticmethod
    def of(matrix: Matrix, first: Index64, second: Index64, *, centred: bool = False) -> Rows:
        unit, n = np.empty((len(first), matrix.n)), np.empty((len(first), 1))
        close = noise_of_pairs(matrix, first, second)
        for block, difference in difference_blocks(matrix, first, second):
            if centred:
                difference = without_noise(difference - row_moments(difference)[1][:, None], close[block])
            values, n[block, 0] = zeros_for_nan(difference)
            length = np.sqrt((values**2).sum(axis=1, keepdims=True))
            unit[block] = np.divide(values, length, out=np.zeros_like(values), where=(length > 0) & (n[block] > 1))
        kept = np.asarray(unit.any(axis=0))
        kept[0] |= not kept.any()  # no two systems differ
        unit = np.ascontiguousarray(unit[:, kept])
        return Rows(unit, unit**3, n)

    def observed(self) -> Array:
        """The statistic of each pair."""
        return _bounded(self.unit.sum(axis=1, keepdims=True), self.cubes.sum(axis=1, keepdims=True), self.n)[:, 0]

    def skewness(self) -> Array:
        """a = γ̂ / 3√n of each pair."""
        mean = self.unit.sum(axis=1, keepdims=True) / self.n
        spread = 1 / self.n - mean**2
        third = self.cubes.sum(axis=1, keepdims=True) / self.n - 3 * mean / self.n + 2 * mean**3
        with np.errstate(divide="ignore", invalid="ignore"):
            a = np.where(spread > TIE / self.n, third / (spread**1.5 * 3 * np.sqrt(self.n)), 0.0)
        return np.asarray(a[:, 0])

    def largest_flipped(self, settings: TestSettings) -> tuple[Resampling, bool]:
        """The largest statistic of all pairs under each way to flip the signs of topics, in falling order.

        All ways are counted if they are no more than the resamples; the second value says so. A flip of all signs
        changes nothing, so one sign can stay.
        """
        topics = self.unit.shape[1]
        exact = 2 ** max(topics - 1, 0) <= settings.resamples
        total = 2 ** max(topics - 1, 0) if exact else settings.resamples
        at_once = max(1, _PRODUCT // max(1, topics * _DRAWN))
        block = max(1, _PAIRS // at_once) * at_once

        def more(largest: list[Array], begin: int, end: int) -> list[Array]:
            if exact:
                flipped = (np.arange(begin, end)[:, None] >> np.arange(topics)) & 1
            else:
                flipped = np.random.default_rng([settings.seed, begin // _DRAWN]).integers(0, 2, (_DRAWN, topics))
            signs = np.ascontiguousarray(1.0 - 2.0 * flipped[: end - begin].T)
            top = np.zeros(end - begin)
            for rows in range(0, len(self.unit), block):
                part = slice(rows, rows + block)
                sums, cubes = (_times(values[part], signs, at_once) for values in (self.unit, self.cubes))
                statistic = _bounded(sums, cubes, self.n[part])
                np.maximum(top, np.maximum(statistic.max(axis=0), -statistic.min(axis=0)), out=top)
            return [*largest, top]

        state = resample(total, _DRAWN, [], more, settings.progress, keep=not exact)
        return Resampling(state.total, np.sort(np.concatenate(state.result))[::-1], state.done), exact


def _critical(state: Resampling, exact: bool, alpha: float) -> float:
    """The largest statistic that does not show a difference; infinite if there are too few ways to flip signs."""
    rank = int(alpha * len(state.result) + 1e-9) if exact else rank_of_critical(state.done, alpha)
    return float(state.result[rank - 1]) if rank else np.inf


def _times(rows: Array, signs: Array, at_once: int) -> Array:
    """rows @ signs, in parts of `at_once` rows."""
    whole = len(rows) // at_once * at_once
    out = np.empty((len(rows), signs.shape[1]))
    np.matmul(
        rows[:whole].reshape(-1, at_once, rows.shape[1]), signs, out=out[:whole].reshape(-1, at_once, out.shape[1])
    )
    np.matmul(rows[whole:], signs, out=out[whole:])
    return out


def _bounded(sums: Array, cubes: Array, n: Array) -> Array:
    """h of each row and column, as √n h / √(n − 1 + h²).

    So pairs with few topics, whose t may be huge by chance, do not decide about the others: it is at most √n.
    """
    mean = sums / n
    spread = 1 / n - mean * mean
    flat = spread <= TIE / n  # differences of the same size and sign on all topics
    spread[flat] = 1.0
    a = (cubes / n + mean * (2 * mean * mean - 3 / n)) / (3 * np.sqrt(n) * spread * np.sqrt(spread))
    t = mean * np.sqrt((n - 1) / spread)
    h = t + a * t * (t + a * t * t / 3) + a / 2
    bounded = np.sqrt(n) * h / np.sqrt(np.maximum(n - 1, 1) + h * h)
    bounded[flat] = np.copysign(np.broadcast_to(np.sqrt(n), flat.shape)[flat], sums[flat])
    return np.asarray(bounded)


def _unbounded(limit: float, n: Array) -> Array:
    """The h that `_bounded` makes `limit`, for each number of topics; infinite if no pair with n topics reaches it."""
    room = n - limit**2
    inside = room > TIE * n
    return np.asarray(np.where(inside, limit * np.sqrt((n - 1) / np.where(inside, room, 1.0)), np.inf))


def _t_of_corrected(h: Array, a: Array) -> Array:
    """Student's t from h: the inverse of Hall's transformation."""
    small = np.abs(a) < 1e-9
    slope = np.where(small, 1.0, a)
    return np.asarray(np.where(small, h, (np.cbrt(1 + 3 * slope * (h - slope / 2)) - 1) / slope))
