r"""Rank correlation, for all pairs of rankings at once: each coefficient is one matrix product.

Rankings are levels (`rankings.levels_of`), … × rankings × systems; answers are … × rankings × rankings. A ranking as a
vector of signs, :math:`S_{ij} = \operatorname{sgn}(x_i - x_j)` over all ordered pairs, makes the number of pairs on
which two rankings agree less those on which they disagree a scalar product; AP correlation gives every pair a weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.meta.rankings import Levels
from cranfield.types import Array

_ONE_THREAD = 2**18
"""Products of matrices up to this size (all three sides multiplied) are not shared out among threads, which for very
many small ones costs more than it saves."""

Kind = type[np.floating[Any]]
"""Resamples are counted in single precision, twice as fast; what is reported of the data itself in double."""


def signs(levels: Levels, kind: Kind = np.float64) -> Array:
    """… × rankings × systems × systems: 1 where the first of two systems is better, −1 where it is worse."""
    place = levels.astype(kind)
    sign = place[..., :, None] - place[..., None, :]
    return np.asarray(np.clip(sign, -1, 1, out=sign))


def tau_a(levels: Levels, kind: Kind = np.float64) -> Array:
    r"""Kendall's :math:`\tau_a = 2(pos - neg) / (m(m - 1))`: a tied pair counts for neither.

    Sakai 2007 (8), Sakai 2014 (51).
    """
    m = levels.shape[-1]
    return np.asarray(_agreement(signs(levels, kind)) / (m * (m - 1)))


def tau_b(levels: Levels, kind: Kind = np.float64) -> Array:
    r"""Kendall's :math:`\tau_b`: divided by the pairs that are tied in neither, so that ties do not keep it below 1.

    NaN where all systems tie.
    """
    agreement = _agreement(signs(levels, kind))
    untied = np.diagonal(agreement, axis1=-2, axis2=-1)
    return _divided(agreement, np.sqrt(untied[..., :, None] * untied[..., None, :]))


def tau_ap(levels: Levels, kind: Kind = np.float64) -> Array:
    r"""AP correlation, Sakai 2014 (52); the row is the gold standard, the column the ranking that is judged.

    .. math:: \tau_{ap} = \frac{2}{m-1} \sum_{r=2}^m \frac{correct(r)}{r-1} - 1
        = \frac{1}{m-1} \sum_{j} \sum_{i\text{ above }j} \frac{S_{ij}}{r_j - 1}

    S is the gold standard's. Of tied systems the mean over all orders is taken (τ_ap,a of Urbano & Marrero, ICTIR
    2017), for which the weight of a pair is the mean of 1/(r − 1) over the ranks of the ties that j is in, and a pair
    that is tied in either ranking adds nothing.
    """
    sign = signs(levels, kind)
    m = levels.shape[-1]
    harmonic = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, m + 1))))
    better = np.maximum(sign, 0)
    above = better.sum(axis=-2).astype(np.int64)
    tied = m - 2 * above + sign.sum(axis=-2).astype(np.int64)  # the sum is those above less those below
    mean = np.where(above > 0, (harmonic[above + tied - 1] - harmonic[np.maximum(above - 1, 0)]) / tied, 0.0)
    return np.asarray(_product(sign, better * mean.astype(kind)[..., None, :]) / (m - 1))


def tau_ap_symmetric(levels: Levels, kind: Kind = np.float64) -> Array:
    """The mean of both AP correlations, each ranking being the gold standard once (Yilmaz et al.; Sakai 2014 §5.2)."""
    return _both_ways(tau_ap(levels, kind))


def tau_ap_b(levels: Levels, kind: Kind = np.float64) -> Array:
    r"""Symmetric AP correlation for rankings that both have ties (τ_ap,b of Urbano & Marrero, ICTIR 2017).

    .. math:: \frac{2}{m - t_1} \sum_{j\text{ not in the top ties}} \frac{correct_j}{p_j} - 1,

    p_j is how many systems are strictly above j, correct_j how many of them the other ranking has strictly above j too,
    t_1 how many tie at the top; then the mean of both ways. NaN where all systems tie.
    """
    sign = signs(levels, kind)
    better = np.maximum(sign, 0)
    above = better.sum(axis=-2)
    share = _divided(better, above[..., None, :], kind(0))
    below_top = np.count_nonzero(above, axis=-1)[..., None, :]
    return _both_ways(_divided(2 * _product(better, share), below_top) - 1)


def overlap(levels: Levels, kind: Kind = np.float64, *, p: float = 0.9, ties: str = "w") -> Array:
    r"""Rank-biased overlap of rankings of the same systems, extrapolated: see `overlap.rbo`.

    .. math:: (1 - p) \sum_{d=1}^{m} p^{d-1} A_d + p^m
    """
    m = levels.shape[-1]
    top = m - _at_or_below(levels)  # systems strictly above
    size = _at_or_below(levels) - _below(levels)
    depth = np.arange(1, m + 1)
    held = depth[:, None] - top[..., None, :]  # … × rankings × depth × systems: places of its ties within the depth
    if ties == "w":
        inside = (held > 0).astype(kind)
    else:
        inside = np.clip(held / size[..., None, :], 0, 1).astype(kind)
    inside = np.moveaxis(inside, -3, -2)  # … × depth × rankings × systems
    common = inside @ np.swapaxes(inside, -1, -2)
    if ties == "w":
        many = inside.sum(axis=-1)
        agreement = 2 * common / (many[..., :, None] + many[..., None, :])
    elif ties == "a":
        agreement = common / depth[:, None, None]
    else:
        length = np.sqrt(np.diagonal(common, axis1=-2, axis2=-1))
        agreement = common / (length[..., :, None] * length[..., None, :])
    weight = (1 - p) * p ** (depth - 1.0)
    return np.asarray((agreement * weight[:, None, None]).sum(axis=-3) + p**m, dtype=np.float64)


COEFFICIENTS: dict[str, tuple[str, Callable[..., Array]]] = {
    "tau-a": ("Kendall's τ_a, tied pairs count for nothing", tau_a),
    "tau-b": ("Kendall's τ_b, corrected for ties", tau_b),
    "tau-ap": ("AP correlation, the row is the gold standard, mean over ties", tau_ap),
    "tau-ap-symmetric": ("AP correlation, mean of both ways", tau_ap_symmetric),
    "tau-ap-b": ("AP correlation, both ways, corrected for ties", tau_ap_b),
    "rbo": ("rank-biased overlap, extrapolated", overlap),
}
"""What each is, and the function."""
DIRECTED = ("tau-ap",)
"""Not the same when the two rankings change places."""
KENDALL = ("tau-a", "tau-b")


def _agreement(sign: Array) -> Array:
    return _product(sign, sign)


def _product(a: Array, b: Array) -> Array:
    """… × rankings of a × rankings of b, summed over all pairs of systems."""
    left, right = (one.reshape(*one.shape[:-2], -1) for one in (a, b))
    return products(left, right)


def products(left: NDArray[Any], right: NDArray[Any]) -> Array:
    """left @ rightᵀ over a long last axis, a piece at a time and in double precision from piece to piece."""
    step = max(64, _ONE_THREAD // (left.shape[-2] * right.shape[-2]))
    total = np.zeros((*left.shape[:-1], right.shape[-2]))
    for begin in range(0, left.shape[-1], step):
        part = np.s_[..., begin : begin + step]
        total += left[part] @ np.swapaxes(right[part], -1, -2)
    return total


def _both_ways(values: Array) -> Array:
    return (values + np.swapaxes(values, -1, -2)) / 2


def _divided(a: Array, b: Array, otherwise: Any = np.nan) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(b > 0, a / b, otherwise))


def _below(levels: Levels) -> Any:
    return (levels[..., None, :] < levels[..., :, None]).sum(axis=-1)


def _at_or_below(levels: Levels) -> Any:
    return (levels[..., None, :] <= levels[..., :, None]).sum(axis=-1)
