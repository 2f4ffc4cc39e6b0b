r"""Probability distributions that scipy does not have, or computes too slowly: of ranks, of t and of ranges.

Of rank statistics, probabilities are exact, also with ties, or those of the normal approximation. Of the noncentral t,
the inverse says which true effects are compatible with an observed t. The studentized range is the distance between the
largest and the smallest of k means:

.. math:: \Pr[Q > q] = \int f_\nu(s)\, S_k(q s)\, ds, \qquad
   S_k(w) = k \int \varphi(z) \left[\Phi(z)^{k-1} - (\Phi(z) - \Phi(z - w))^{k-1}\right] dz

S is the probability that the range of k standard normal values exceeds w, f the density of
:math:`\chi_\nu / \sqrt\nu`. Both integrals are trapezoidal sums, which converge geometrically here. Nothing is
subtracted from 1, so small probabilities keep their digits. All values of q are computed at once
(`scipy.stats.studentized_range` takes milliseconds for each; the tests compare with it).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.scores.t_and_normal import normal_tail
from cranfield.types import Array

# -- ranks


def mean_ranks(rows: Array, close: Array | float = 0.0) -> Array:
    """The rank of each entry in its row, from 1; entries at most `close` apart share the mean of their ranks.

    >>> mean_ranks(np.array([[0.5, 0.1, 0.5]])).tolist()
    [[2.5, 1.0, 2.5]]
    """
    if rows.shape[1] == 0:
        return np.zeros(rows.shape)
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    starts = np.ones(rows.shape, dtype=bool)
    with np.errstate(invalid="ignore"):  # ∞ − ∞, for entries left out, at the end
        starts[:, 1:] = ordered[:, 1:] - ordered[:, :-1] > np.asarray(close)[..., None]
    place = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
    begin = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    ends = np.ones(rows.shape, dtype=bool)
    ends[:, :-1] = starts[:, 1:]
    end = np.minimum.accumulate(np.where(ends, place, rows.shape[1])[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(rows.shape)
    np.put_along_axis(ranks, order, (begin + end) / 2 + 1, axis=1)
    return ranks


def signed_ranks(difference: Array, zeros: str = "wilcox", close: Array | float = 0.0) -> Array:
    """The ranks of the absolute differences in each row, with their signs; 0 for differences of 0 and for NaN.

    >>> signed_ranks(np.array([[0.3, -0.1, 0.0, 0.1]])).tolist()
    [[3.0, -1.5, 0.0, 1.5]]
    >>> signed_ranks(np.array([[0.3, -0.1, 0.0, 0.1]]), "pratt").tolist()  # zsplit: the same, see `zero_ranks`
    [[4.0, -2.5, 0.0, 2.5]]
    """
    size = np.abs(difference)
    counts = np.isfinite(size) & (size > 0)
    last = ~counts if zeros == "wilcox" else np.isnan(size)  # Pratt also ranks zeros, below all others
    ranks = mean_ranks(np.where(last, np.inf, size), close)
    return np.where(counts, np.copysign(ranks, difference), 0.0)


def zero_ranks(difference: Array, zeros: str) -> Array:
    """The ranks of the differences of 0 in each row, if they are split between both signs; 0 elsewhere.

    For other rules it is a single 0, which can be added to anything.

    >>> zero_ranks(np.array([[0.3, 0.0, 0.0, np.nan]]), "zsplit").tolist()
    [[0.0, 1.5, 1.5, 0.0]]
    """
    if zeros != "zsplit":
        return np.zeros((1, 1))
    zero = difference == 0
    return np.where(zero, (zero.sum(axis=1, keepdims=True) + 1) / 2, 0.0)


def tail(below: Array, above: Array, alternative: str) -> Array:
    """p-values from both tails; each tail includes the observed value."""
    both = np.minimum(2 * np.minimum(below, above), 1.0)
    return np.asarray({"greater": above, "less": below, "two-sided": both}[alternative])


def extremeness(distance: Array | float, alternative: str) -> Array:
    """The distance in the direction of the alternative; if it is two-sided, the size of the distance."""
    return np.abs(distance) if alternative == "two-sided" else np.multiply(distance, -1 if alternative == "less" else 1)


def normal_p(distance: Array, spread: Array, alternative: str, continuity: float) -> Array:
    """The p-value of a sum at this distance from its mean, by the normal approximation; 1 without variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = normal_tail((extremeness(distance, alternative) - continuity) / spread)
        p *= 2 if alternative == "two-sided" else 1
    return np.where(spread == 0, 1.0, np.minimum(p, 1.0))


def sign_p(wins: Array, losses: Array, alternative: str) -> Array:
    """The binomial p-value of wins and losses; 1 if there are neither."""
    from scipy.special import betainc  # the tails of the binomial

    above = np.where(wins > 0, betainc(np.maximum(wins, 1), losses + 1, 0.5), 1.0)
    below = np.where(losses > 0, betainc(np.maximum(losses, 1), wins + 1, 0.5), 1.0)
    n = wins + losses
    return np.where(n == 0, 1.0, tail(below, above, alternative))


def signed_rank_tails(ranks: Array, positive: Array | float) -> tuple[Array, Array]:
    r"""Pr(T ≤ positive) and Pr(T ≥ positive): T sums the ranks with a positive sign, each with probability 1/2.

    Ranks may be tied (halves). There is one step per rank: :math:`f_{i}(s) = (f_{i-1}(s) + f_{i-1}(s - r_i)) / 2`.

    >>> [probability.item() for probability in signed_rank_tails(np.array([1.0, 2.0, 3.0]), 6.0)]
    [1.0, 0.125]
    """
    doubled = np.rint(2 * np.asarray(ranks)).astype(np.int64)
    step = int(np.gcd.reduce(doubled)) if len(doubled) else 1
    shares = _signed_ranks(tuple(sorted((doubled // step).tolist())))
    at = np.rint(2 * np.asarray(positive)).astype(np.int64)
    below, _ = _tails(shares, at // step)
    _, above = _tails(shares, -(-at // step))  # a sum with half the ranks of zeros may lie between two steps
    return below, above


def rank_sum_tails(ranks: Array, size: int, total: float) -> tuple[Array, Array]:
    """Pr(R ≤ total) and Pr(R ≥ total): R is the sum of `size` ranks chosen at random.

    >>> [round(probability.item(), 4) for probability in rank_sum_tails(np.array([1.0, 2.0, 3.0, 4.0]), 2, 7.0)]
    [1.0, 0.1667]
    """
    doubled = np.rint(2 * np.asarray(ranks)).astype(np.int64)
    least = int(doubled.min())
    step = max(int(np.gcd.reduce(doubled - least)), 1)
    shares = _chosen_ranks(tuple(sorted(((doubled - least) // step).tolist())), size)
    return _tails(shares, np.asarray((round(2 * total) - size * least) // step))


@lru_cache(maxsize=128)
def _signed_ranks(ranks: tuple[int, ...]) -> Array:
    """The probability of every sum."""
    shares = np.zeros(sum(ranks) + 1)
    shares[0] = 1.0
    top = 0
    for rank in ranks:
        moved = shares[: top + 1].copy()
        shares[rank : top + rank + 1] += moved
        shares[: top + rank + 1] *= 0.5
        top += rank
    return shares


@lru_cache(maxsize=16)
def _chosen_ranks(ranks: tuple[int, ...], size: int) -> Array:
    """The probability of every sum of `size` ranks drawn without replacement.

    Each rank is drawn with its probability given how many were drawn before. Probabilities do not overflow as counts
    would.
    """
    most = sum(ranks[-size:]) if size else 0
    shares = np.zeros((size + 1, most + 1))
    shares[0, 0] = 1.0
    for seen, rank in enumerate(ranks):
        left = len(ranks) - seen
        drawn = np.arange(size + 1)
        take = np.clip((size - drawn) / left, 0.0, 1.0)[:, None]
        taken = shares * take
        shares = shares * (1 - take)
        shares[1:, rank:] += taken[:-1, : most + 1 - rank]
    return np.asarray(shares[size])


def _tails(shares: Array, at: NDArray[np.int64]) -> tuple[Array, Array]:
    below, above = np.cumsum(shares), np.cumsum(shares[::-1])[::-1]
    return np.minimum(below[at], 1.0), np.minimum(above[at], 1.0)


# -- the noncentral t

_STEPS = 100
_CLOSE = 1e-9


def noncentrality(t: Array | float, df: Array | float, probability: float) -> Array:
    r"""The λ for which :math:`\Pr(T_{df}(\lambda) \le t)` is `probability`, for many t at once.

    The probit of the distribution function is nearly linear in λ, so the secant method converges in a few steps;
    bounds found on the way keep it from diverging.

    >>> noncentrality(2.0, 19, 0.025).round(4).item()
    4.0355
    """
    from scipy.special import ndtri

    t, df = (np.array(values, dtype=np.float64) for values in np.broadcast_arrays(t, df))
    out = t.ravel().copy()  # λ is infinite or undefined where t is
    todo = np.flatnonzero(np.isfinite(out))
    target = float(ndtri(probability))
    flat_t, flat_df = t.ravel()[todo], df.ravel()[todo]
    slope = 1 / np.sqrt(1 + flat_t**2 / (2 * flat_df))
    now = flat_t * (1 - 1 / (4 * flat_df)) - target / slope  # the normal approximation to the noncentral t
    low, high = np.full_like(now, -np.inf), np.full_like(now, np.inf)
    missed = _probit(flat_t, flat_df, now) - target
    for _ in range(_STEPS):
        out[todo] = now
        going = np.abs(missed) > _CLOSE
        if not going.any():
            break
        todo, now, missed, slope = todo[going], now[going], missed[going], slope[going]
        flat_t, flat_df = flat_t[going], flat_df[going]
        low, high = np.where(missed > 0, now, low[going]), np.where(missed < 0, now, high[going])
        ahead = now + missed / slope
        astray = (ahead <= low) | (ahead >= high)  # with few degrees of freedom it is not linear: bisect
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, ahead)
        ahead = np.where(astray, middle, ahead)
        missed_ahead = _probit(flat_t, flat_df, ahead) - target
        fall = (missed - missed_ahead) / np.where(ahead == now, 1.0, ahead - now)
        slope = np.where(fall > 0, fall, slope)
        now, missed = ahead, missed_ahead
    return out.reshape(t.shape)


def _probit(t: Array, df: Array, centre: Array) -> Array:
    """The probit of the distribution function of the noncentral t, finite even where scipy returns NaN."""
    from scipy.special import nctdtr, ndtri

    t = np.where(np.abs(t) < 1e-20, 0.0, t)  # scipy returns NaN for some of these, too
    below = nctdtr(df, centre, t)
    below = np.where(np.isnan(below), np.where(centre > t, 0.0, 1.0), below)
    return np.asarray(ndtri(np.clip(below, 1e-300, 1 - 1e-16)))


# -- the studentized range

_WIDEST = 36.0
"""The probability of a larger range is below 1e-130 and counts as 0."""
_STEP = 0.05
"""The step of the table of S; interpolation between six points is accurate to nine digits."""
_BLOCK = 2_000_000
"""The number of values of S that are looked up at once."""
_TABLED = 4096
"""For more values of q than this, log Pr is interpolated from a table, too."""


def range_sf(q: Array, k: int, df: float) -> Array:
    """The probability that the studentized range of k means exceeds q; `df` may be infinite.

    >>> round(float(range_sf(np.array([3.506]), 3, 20)[0]), 2)
    0.06
    """
    _check(k, df)
    q = np.abs(np.asarray(q, dtype=np.float64))
    flat = q.ravel()
    if len(flat) <= _TABLED:
        return np.asarray(_sf(flat, k, df).reshape(q.shape))
    finite = flat[np.isfinite(flat)]
    top = min(float(finite.max(initial=1.0)), 400.0)
    grid = np.linspace(0.0, top + 6 * top / 1024, 1031)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(_sf(grid, k, df)), -700.0)
    out = np.exp(_between(np.minimum(flat, top), logs, float(grid[1])))
    beyond = flat > top
    out[beyond] = _sf(flat[beyond], k, df)
    return np.asarray(np.clip(out, 0.0, 1.0).reshape(q.shape))


@lru_cache(maxsize=4096)
def range_quantile(alpha: float, k: int, df: float) -> float:
    """The value that the studentized range exceeds with probability alpha.

    >>> round(range_quantile(0.05, 3, 20), 3)
    3.578
    """
    _check(k, df)

    def beyond(q: float) -> float:
        return float(_sf(np.array([q]), k, df)[0])

    low, high = 0.0, 4.0
    while (above := beyond(high)) > alpha:
        low, high = high, 2 * high
        if high > 1e12:
            return math.inf
    below = beyond(low)
    for turn in range(200):
        if high - low <= 1e-12 * high:
            break
        # Interpolate log Pr linearly between the two ends; bisect every third time.
        share = (math.log(below) - math.log(alpha)) / (math.log(below) - math.log(above)) if turn % 3 and above else 0.5
        middle = low + min(max(share, 1e-6), 1 - 1e-6) * (high - low)
        there = beyond(middle)
        if abs(there - alpha) <= 1e-14 * alpha:
            return middle
        low, below, high, above = (middle, there, high, above) if there > alpha else (low, below, middle, there)
    return (low + high) / 2


def _check(k: int, df: float) -> None:
    if k < 2:
        raise UsageError(f"studentized range: k == {k}, must be 2 or more means")
    if not df > 0:
        raise UsageError(f"studentized range: df == {df:g}, must be above 0")


def _sf(q: Array, k: int, df: float) -> Array:
    if math.isinf(df):
        return _normal_sf(q, k)
    x, weight = _spread(df)
    out = np.empty(len(q))
    step = max(1, _BLOCK // len(x))
    for begin in range(0, len(q), step):
        part = slice(begin, begin + step)
        out[part] = _normal_sf((q[part, None] * x).ravel(), k).reshape(-1, len(x)) @ weight
    return np.minimum(out, 1.0)


@lru_cache(maxsize=64)
def _spread(df: float) -> tuple[Array, Array]:
    """Ratios s of the estimated to the true standard deviation, and the weight of each.

    On u = log s the density is proportional to exp(ν (u − e^{2u} / 2)).
    """
    deep = 46.0  # e^-46 = 1e-20 of the density's peak
    left = -math.sqrt(deep / df) - deep / df
    right = math.log1p(math.sqrt(2 * deep / df)) + 0.02
    step = min(0.05, 0.3 / math.sqrt(df))
    u = np.arange(left, right + step, step)
    weight = np.exp(df * (u - np.expm1(2 * u) / 2))
    return np.exp(u), weight / weight.sum()


def _normal_sf(w: Array, k: int) -> Array:
    """S_k(w), from the table of its logarithms."""
    inside = w < _WIDEST
    out = np.exp(_between(np.where(inside, w, 0.0), _table(k), _STEP))
    return np.where(inside, np.minimum(out, 1.0), 0.0)


@lru_cache(maxsize=64)
def _table(k: int) -> Array:
    """log S_k at 0, _STEP, 2 _STEP, ...

    All terms of the sum are positive, so it is accurate both where S is tiny and where it is close to 1.
    """
    special = need("scipy.special", "the studentized range")
    h = 0.2
    z = np.arange(-9.0, 9.0 + _WIDEST / 2 + 9.0, h)
    below = special.ndtr(z)
    log_density = -(z**2) / 2 - math.log(math.sqrt(2 * math.pi)) + (k - 1) * special.log_ndtr(z)
    density = k * h * np.exp(log_density)
    w = np.arange(0.0, _WIDEST + 6 * _STEP, _STEP)
    out = np.empty(len(w))
    for part in np.array_split(np.arange(len(w)), 8):
        ratio = np.minimum(special.ndtr(z - w[part, None]) / below, 1.0)
        with np.errstate(divide="ignore"):  # log 0 at w = 0, where S = 1
            out[part] = -np.expm1((k - 1) * np.log1p(-ratio)) @ density
    logs: Array = np.log(np.minimum(out, 1.0))
    logs.setflags(write=False)
    return logs


def _between(x: Array, table: Array, step: float) -> Array:
    """Six-point Lagrange interpolation in a table at 0, step, 2 step, ..."""
    position = x / step
    base = np.clip(np.floor(position).astype(np.int64) - 2, 0, len(table) - 6)
    t = position - base
    out = np.zeros(len(x))
    for i in range(6):
        factor = np.ones(len(x))
        for j in range(6):
            if j != i:
                factor *= (t - j) / (i - j)
        out += factor * table[base + i]
    return out
