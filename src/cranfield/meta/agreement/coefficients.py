r"""Rank correlation coefficients of all pairs of rankings at once, each as one matrix product.

Rankings are levels (`complete_scores.levels_of`), … × rankings × systems; results are … × rankings × rankings. With a
ranking written as the signs :math:`S_{ij} = \operatorname{sgn}(x_i - x_j)` over all ordered pairs of systems, the pairs
on which two rankings agree minus those on which they disagree are a scalar product; AP correlation weights the pairs.
"""

from __future__ import annotations

from collections.abc import Callable
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
