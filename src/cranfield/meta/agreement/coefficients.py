r"""Rank correlation coefficients: of all pairs of rankings at once, and of two rankings of any length.

Rankings are levels (`complete_scores.levels_of`), … × rankings × systems; results are … × rankings × rankings. With a
ranking written as the signs :math:`S_{ij} = \operatorname{sgn}(x_i - x_j)` over all ordered pairs of systems, the pairs
on which two rankings agree minus those on which they disagree are a scalar product; AP correlation weights the pairs.

`TwoRankings` has the same coefficients in n log n. Everything follows from how many items are above an item in both
rankings, which `earlier_larger` counts, and from the sizes of ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.meta.complete_scores import Levels, divided
from cranfield.types import Array

_ONE_THREAD = 2**18
"""Matrix products up to this size (all three dimensions multiplied) run in one thread: for many small products, sharing
the work costs more than it saves."""

Precision = type[np.floating[Any]]
"""Resamples use single precision, which is twice as fast; the reported values use double precision."""


def signs(levels: Levels, precision: Precision = np.float64) -> Array:
    """… × rankings × systems × systems: 1 where the first of two systems is better, −1 where it is worse."""
    place = levels.astype(precision)
    sign = place[..., :, None] - place[..., None, :]
    return np.asarray(np.clip(sign, -1, 1, out=sign))


def tau_a(levels: Levels, precision: Precision = np.float64) -> Array:
    r"""Kendall's :math:`\tau_a = 2(pos - neg) / (m(m - 1))`: a tied pair counts for neither.

    Sakai 2007 (8), Sakai 2014 (51).
    """
    m = levels.shape[-1]
    sign = signs(levels, precision)
    return np.asarray(_product(sign, sign) / (m * (m - 1)))


def tau_b(levels: Levels, precision: Precision = np.float64) -> Array:
    r"""Kendall's :math:`\tau_b`: divided by the number of untied pairs, so that ties do not keep it below 1.

    NaN where all systems tie.
    """
    sign = signs(levels, precision)
    agreement = _product(sign, sign)
    untied = np.diagonal(agreement, axis1=-2, axis2=-1)
    return divided(agreement, np.sqrt(untied[..., :, None] * untied[..., None, :]))


def tau_ap(levels: Levels, precision: Precision = np.float64) -> Array:
    r"""AP correlation, Sakai 2014 (52); the row is the gold standard, the column the evaluated ranking.

    .. math:: \tau_{ap} = \frac{2}{m-1} \sum_{r=2}^m \frac{correct(r)}{r-1} - 1
        = \frac{1}{m-1} \sum_{j} \sum_{i\text{ above }j} \frac{S_{ij}}{r_j - 1}

    S is the gold standard's. With ties, the result is the mean over all orders of the tied systems (τ_ap,a of Urbano &
    Marrero, ICTIR 2017): the weight of a pair is the mean of 1/(r − 1) over the ranks that j shares with its ties, and
    a pair that is tied in either ranking adds nothing.
    """
    sign = signs(levels, precision)
    m = levels.shape[-1]
    harmonic = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, m + 1))))
    better = np.maximum(sign, 0)
    above = better.sum(axis=-2).astype(np.int64)
    tied = m - 2 * above + sign.sum(axis=-2).astype(np.int64)  # the sum is the number above minus the number below
    mean = np.where(above > 0, (harmonic[above + tied - 1] - harmonic[np.maximum(above - 1, 0)]) / tied, 0.0)
    return np.asarray(_product(sign, better * mean.astype(precision)[..., None, :]) / (m - 1))


def tau_ap_symmetric(levels: Levels, precision: Precision = np.float64) -> Array:
    """The mean of both AP correlations, with each ranking as the gold standard (Yilmaz et al.; Sakai 2014 §5.2)."""
    return _both_ways(tau_ap(levels, precision))


def tau_ap_b(levels: Levels, precision: Precision = np.float64) -> Array:
    r"""Symmetric AP correlation of two rankings with ties (τ_ap,b of Urbano & Marrero, ICTIR 2017).

    .. math:: \frac{2}{m - t_1} \sum_{j\text{ not in the top ties}} \frac{correct_j}{p_j} - 1,

    where p_j is the number of systems strictly above j, correct_j the number of these that the other ranking also has
    strictly above j, and t_1 the number tied at the top; averaged over both directions. NaN where all systems tie.
    """
    sign = signs(levels, precision)
    better = np.maximum(sign, 0)
    above = better.sum(axis=-2)
    share = divided(better, above[..., None, :], precision(0))
    below_top = np.count_nonzero(above, axis=-1)[..., None, :]
    return _both_ways(divided(2 * _product(better, share), below_top) - 1)


def weighted_tau(levels: Levels, precision: Precision = np.float64) -> Array:
    r"""Vigna's weighted :math:`\tau`: a pair of systems counts by their ranks, so that the top counts most.

    .. math:: \frac{\langle x, y \rangle}{\sqrt{\langle x, x \rangle \langle y, y \rangle}}, \quad
        \langle x, y \rangle = \sum_{i < j} \Big(\frac{1}{r_i} + \frac{1}{r_j}\Big)
        \operatorname{sgn}(x_i - x_j) \operatorname{sgn}(y_i - y_j)

    Averaged over ranks r by x, whose ties are ordered by y, and ranks by y, whose ties are ordered by x, as in
    `scipy.stats.weightedtau`. NaN where all systems tie.
    Reference: Vigna, A Weighted Correlation Index for Rankings with Ties, WWW 2015, doi:10.1145/2736277.2741088
    """
    sign = signs(levels, precision)
    rankings, m = levels.shape[-2:]
    harmonic = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, m + 1))))
    values = np.empty((*levels.shape[:-1], rankings))
    for a in range(rankings):
        for b in range(rankings):
            x, y = sign[..., a, :, :], sign[..., b, :, :]
            above = ((x > 0) | ((x == 0) & (y > 0))).sum(axis=-2)
            same = ((x == 0) & (y == 0)).sum(axis=-2)
            weight = (harmonic[above + same] - harmonic[above]) / same
            products = [(weight * (left * right).sum(axis=-2)).sum(axis=-1) for left, right in ((x, y), (x, x), (y, y))]
            values[..., a, b] = divided(products[0], np.sqrt(products[1] * products[2]))
    return _both_ways(values)


def overlap(levels: Levels, precision: Precision = np.float64, *, p: float = 0.9, ties: str = "w") -> Array:
    r"""Extrapolated rank-biased overlap of rankings of the same systems: see `overlap.rbo`.

    .. math:: (1 - p) \sum_{d=1}^{m} p^{d-1} A_d + p^m
    """
    m = levels.shape[-1]
    at_or_below = (levels[..., None, :] <= levels[..., :, None]).sum(axis=-1)
    below = (levels[..., None, :] < levels[..., :, None]).sum(axis=-1)
    above, tied = m - at_or_below, at_or_below - below
    depth = np.arange(1, m + 1)
    places = depth[:, None] - above[..., None, :]  # … × rankings × depth × systems: places of its tie within the depth
    if ties == "w":
        inside = (places > 0).astype(precision)
    else:
        inside = np.clip(places / tied[..., None, :], 0, 1).astype(precision)
    inside = np.moveaxis(inside, -3, -2)  # … × depth × rankings × systems
    common = inside @ np.swapaxes(inside, -1, -2)
    if ties == "w":
        size = inside.sum(axis=-1)
        agreement = 2 * common / (size[..., :, None] + size[..., None, :])
    elif ties == "a":
        agreement = common / depth[:, None, None]
    else:
        length = np.sqrt(np.diagonal(common, axis1=-2, axis2=-1))
        agreement = common / (length[..., :, None] * length[..., None, :])
    weight = (1 - p) * p ** (depth - 1.0)
    return np.asarray((agreement * weight[:, None, None]).sum(axis=-3) + p**m, dtype=np.float64)


COEFFICIENTS: dict[str, tuple[str, Callable[..., Array]]] = {
    "tau-a": ("Kendall's τ_a, tied pairs count as zero", tau_a),
    "tau-b": ("Kendall's τ_b, corrected for ties", tau_b),
    "tau-ap": ("AP correlation, the row is the gold standard, mean over ties", tau_ap),
    "tau-ap-symmetric": ("AP correlation, mean of both directions", tau_ap_symmetric),
    "tau-ap-b": ("AP correlation, mean of both directions, corrected for ties", tau_ap_b),
    "weighted-tau": ("Vigna's weighted τ, the top counts most, mean of both directions", weighted_tau),
    "rbo": ("rank-biased overlap, extrapolated", overlap),
}
"""{name: (description, function)}."""
DIRECTED = ("tau-ap",)
"""Coefficients that change when the two rankings change places."""
KENDALL = ("tau-a", "tau-b")


def _product(a: Array, b: Array) -> Array:
    """… × rankings of a × rankings of b, summed over all pairs of systems."""
    return products(a.reshape(*a.shape[:-2], -1), b.reshape(*b.shape[:-2], -1))


def products(left: NDArray[Any], right: NDArray[Any]) -> Array:
    """left @ rightᵀ over a long last axis, block by block; the blocks are summed in double precision."""
    step = max(64, _ONE_THREAD // (left.shape[-2] * right.shape[-2]))
    total = np.zeros((*left.shape[:-1], right.shape[-2]))
    for begin in range(0, left.shape[-1], step):
        block = np.s_[..., begin : begin + step]
        total += left[block] @ np.swapaxes(right[block], -1, -2)
    return total


def _both_ways(values: Array) -> Array:
    return (values + np.swapaxes(values, -1, -2)) / 2


Counts = NDArray[np.int64]

_SMALL = 500
"""Up to this length, comparing all pairs is faster."""


def earlier_larger(values: NDArray[Any]) -> Counts:
    """For each of some whole numbers from 0, how many larger ones come before it.

    Numbers are divided by their highest bit, each half by the next bit, and so on; two numbers part at the first bit
    in which they differ, and there the larger one has a 1.

    >>> earlier_larger(np.array([2, 0, 3, 1, 1])).tolist()
    [0, 1, 0, 2, 2]
    """
    n = len(values)
    counts = np.zeros(n, dtype=np.int64)
    order = np.arange(n)  # by the bits so far; equal ones in the order of the values
    ordered = np.asarray(values, dtype=np.int64)
    starts, sizes = np.array([0]), np.array([n])  # of the runs with the same bits so far
    for bit in reversed(range(int(ordered.max()).bit_length())):
        bits = ordered >> bit & 1
        ones = np.cumsum(bits)  # up to and with each place
        before = np.repeat(ones[starts] - bits[starts], sizes)
        ones_before = ones - bits - before
        zero = bits == 0
        counts[order[zero]] += ones_before[zero]
        zeros = sizes - np.add.reduceat(bits, starts)
        begin = np.repeat(starts, sizes)
        place = np.where(zero, np.arange(n) - ones_before, begin + np.repeat(zeros, sizes) + ones_before)
        moved = np.empty_like(order)
        moved[place] = order
        order, ordered = moved, np.asarray(values[moved], dtype=np.int64)
        parts = np.stack([zeros, sizes - zeros], axis=1).ravel()
        sizes = parts[parts > 0]
        starts = np.cumsum(sizes) - sizes
    return counts


class TwoRankings:
    """Two rankings of the same items, as levels (`complete_scores.levels_of`): a higher level is better."""

    def __init__(self, x: Levels, y: Levels) -> None:
        self.n = len(x)
        self.x, self.y = x, y
        self.sizes_x, self.sizes_y = np.bincount(x), np.bincount(y)
        """The sizes of ties, from the lowest level."""

    @cached_property
    def above_x(self) -> Counts:
        """For each item, the number of better items by x."""
        return np.asarray((self.n - np.cumsum(self.sizes_x))[self.x])

    @cached_property
    def above_y(self) -> Counts:
        return np.asarray((self.n - np.cumsum(self.sizes_y))[self.y])

    @cached_property
    def above_both(self) -> Counts:
        """For each item, the number of items that are better by x and by y."""
        if self.n <= _SMALL:
            x, y = self.x.astype(np.int16), self.y.astype(np.int16)
            return np.asarray(np.count_nonzero((x[:, None] > x) & (y[:, None] > y), axis=0))
        order = np.lexsort((self.x, -self.y))  # of items with the same y, the best by x is last
        counts = np.empty(self.n, dtype=np.int64)
        counts[order] = earlier_larger(self.x[order])
        return counts

    @cached_property
    def tied_x_above_y(self) -> Counts:
        """For each item, the number of items with the same x and a better y."""
        return _tied_and_better(self.x, self.y, self.sizes_x)

    @cached_property
    def tied_y_above_x(self) -> Counts:
        return _tied_and_better(self.y, self.x, self.sizes_y)

    @cached_property
    def better_x_worse_y(self) -> Counts:
        """For each item, the number of items that are better by x and worse by y."""
        return self.above_x - self.above_both - self.tied_y_above_x

    @cached_property
    def better_y_worse_x(self) -> Counts:
        return self.above_y - self.above_both - self.tied_x_above_y

    @cached_property
    def agreement(self) -> int:
        """The number of pairs on which both rankings agree, minus those on which they disagree."""
        return int((self.above_both - self.better_y_worse_x).sum())

    def turned(self) -> TwoRankings:
        """The same with x and y in each other's place."""
        other = TwoRankings(self.y, self.x)
        other.__dict__["above_both"] = self.above_both
        return other

    # -- the coefficients; see those of the same name in `coefficients`

    def tau_a(self) -> float:
        return 2 * self.agreement / (self.n * (self.n - 1))

    def tau_b(self) -> float:
        untied = [self.n * (self.n - 1) - int((sizes * (sizes - 1)).sum()) for sizes in (self.sizes_x, self.sizes_y)]
        return 2 * self.agreement / math.sqrt(untied[0] * untied[1]) if min(untied) else math.nan

    def tau_ap(self) -> float:
        above, tied = self.above_y, self.sizes_y[self.y]
        harmonic = _harmonic(self.n)
        mean = np.where(above > 0, (harmonic[above + tied - 1] - harmonic[np.maximum(above - 1, 0)]) / tied, 0.0)
        return float(mean @ (self.above_both - self.better_y_worse_x) / (self.n - 1))

    def tau_ap_symmetric(self) -> float:
        return (self.tau_ap() + self.turned().tau_ap()) / 2

    def tau_ap_b(self) -> float:
        values = []
        for above in (self.above_x, self.above_y):
            below_top = above > 0
            if not below_top.any():
                return math.nan
            values.append(2 * float((self.above_both[below_top] / above[below_top]).mean()) - 1)
        return sum(values) / 2

    def weighted_tau(self) -> float:
        return (self._weighted_by_x() + self.turned()._weighted_by_x()) / 2

    def _weighted_by_x(self) -> float:
        """Weighted τ with the weights of the ranks by x; ties of x are ordered by y."""
        above, same = self.above_x + self.tied_x_above_y, self._same_in_both()
        harmonic = _harmonic(self.n)
        weight = (
            harmonic[above + same] - harmonic[above]
        ) / same  # the mean of 1 / rank over the ranks that items share
        tied_x, tied_y = self.sizes_x[self.x], self.sizes_y[self.y]
        above_or_tied = self.above_both + self.tied_y_above_x + self.tied_x_above_y + same
        below_both = self.n - (self.above_x + tied_x) - (self.above_y + tied_y) + above_or_tied
        agreement = self.above_both + below_both - self.better_x_worse_y - self.better_y_worse_x
        norms = [float(weight @ (self.n - tied)) for tied in (tied_x, tied_y)]
        return float(weight @ agreement) / math.sqrt(norms[0] * norms[1]) if min(norms) > 0 else math.nan

    def _same_in_both(self) -> Counts:
        _, cell, size = np.unique(_cells(self.x, self.y), return_inverse=True, return_counts=True)
        return np.asarray(size[cell.reshape(-1)])

    def overlap(self, p: float, ties: str) -> float:
        """Both rankings end with all items, so the agreement is 1 from there on."""
        n, depth = self.n, np.arange(1.0, self.n + 1)
        begin_x, begin_y = self.above_x, self.above_y
        if ties == "w":
            common = _within(n, np.maximum(begin_x, begin_y) + 1)
            agreement = 2 * common / (_within(n, begin_x + 1) + _within(n, begin_y + 1))
        else:
            end_x, end_y = begin_x + self.sizes_x[self.x], begin_y + self.sizes_y[self.y]
            part_x, squares_x = _tie_at_depth(n, self.sizes_x)
            part_y, squares_y = _tie_at_depth(n, self.sizes_y)
            # Items whose tie ends within the depth are wholly inside it; of one tie at most, only a part is.
            common = _within(n, np.maximum(end_x, end_y))
            common += part_x * _within(n, np.maximum(begin_x + 1, end_y), end_x)
            common += part_y * _within(n, np.maximum(begin_y + 1, end_x), end_y)
            common += part_x * part_y * _within(n, np.maximum(begin_x, begin_y) + 1, np.minimum(end_x, end_y))
            agreement = common / (depth if ties == "a" else np.sqrt(squares_x * squares_y))
        return float((1 - p) * (agreement @ p ** (depth - 1)) + p**n)


def _harmonic(n: int) -> Array:
    """The sums of 1/1, 1/2, …, from that of no term."""
    return np.concatenate(([0.0], np.cumsum(1 / np.arange(1, n + 1))))


def _cells(x: Levels, y: Levels) -> Counts:
    return x.astype(np.int64) * (int(y.max()) + 1) + y


def _tied_and_better(tied: Levels, by: Levels, sizes: Counts) -> Counts:
    """For each item, the number of items at the same level of one ranking and at a higher level of the other."""
    if len(sizes) == len(tied):
        return np.zeros(len(tied), dtype=np.int64)
    _, cell, count = np.unique(_cells(tied, by), return_inverse=True, return_counts=True)
    return np.asarray(np.cumsum(sizes)[tied] - np.cumsum(count)[cell.reshape(-1)])


def _within(n: int, begin: Counts, end: Counts | None = None) -> Array:
    """For each depth from 1 to n, the number of items with begin ≤ depth, and depth < end."""
    change = np.bincount(begin, minlength=n + 2)
    if end is not None:
        real = end > begin
        change = np.bincount(begin[real], minlength=n + 2) - np.bincount(end[real], minlength=n + 2)
    return np.cumsum(change[1 : n + 1]).astype(np.float64)


def _tie_at_depth(n: int, sizes: Counts) -> tuple[Array, Array]:
    """For each depth: which part of the tie there is inside (0 at its end), and the sum of the squared parts."""
    size = sizes[::-1]  # from the best
    begin = np.repeat(np.cumsum(size) - size, size)
    tied = np.repeat(size, size)
    inside = np.arange(1, n + 1) - begin
    part = np.where(inside < tied, inside / tied, 0.0)
    return part, begin + np.where(inside < tied, part**2 * tied, tied)
