"""Ranks, and the distributions of rank statistics: exact, also with ties, or by the normal approximation."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cranfield.scores.t_and_normal import normal_tail
from cranfield.types import Array


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
