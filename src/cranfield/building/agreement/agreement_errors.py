"""Standard errors of coefficients of agreement, from formulas: each item has a value, and their mean is linear."""

from __future__ import annotations

import numpy as np

from cranfield.building.agreement.agreement_settings import weights_of
from cranfield.building.agreement.chance_corrected import (
    ROUNDING,
    Coefficient,
    gwet,
    gwet_factor,
    observed,
    ordinal_distance,
)
from cranfield.building.agreement.item_statistics import ItemStatistics
from cranfield.types import Array, Index64


def standard_error(coefficient: Coefficient, statistics: ItemStatistics) -> float:
    r"""The standard error of a coefficient; NaN if there is no formula, or fewer than two units.

    .. math:: s^2 = \frac{u}{u - 1} \sum_{j=1}^u \Big( \frac{1}{n} \sum_{i \in j} (\gamma_i - \bar\gamma) \Big)^2

    γᵢ is the linearised value of item i, n the number of items and u the number of units (items or topics). With items
    as units, this is the variance of Gwet 2008 for AC1, AC2, Fleiss' κ and percent agreement. For α and the overlap it
    is the delta method, with the distances of labels fixed. Cohen's κ of two assessors has the standard error of
    Fleiss, Cohen & Everitt 1969, which needs items as units.
    """
    weights = weights_of(coefficient, statistics.labels)
    if coefficient.error == "cohen":
        return _of_one_pair(statistics, weights)
    if coefficient.error == "gwet":
        linear = _gwet(coefficient, statistics, weights)
    elif coefficient.error == "alpha":
        linear = _alpha(coefficient, statistics, weights)
    elif coefficient.error == "overlap":
        linear = _ratio(statistics, 0 if coefficient.name == "overlap" else 2)
    else:
        return np.nan
    return error_of_mean(linear, statistics.unit)


def error_of_mean(linear: Array, unit: Index64) -> float:
    """The standard error of the mean of linearised values; NaN stands for an item that does not count.

    >>> round(error_of_mean(np.array([0.0, 1.0, 1.0, 0.0]), np.arange(4)), 4)  # √(1/3 / 4)
    0.2887
    """
    counts = ~np.isnan(linear)
    n = int(counts.sum())
    centred = np.where(counts, linear - (linear[counts].mean() if n else 0.0), 0.0)
    units = int(np.count_nonzero(np.bincount(unit[counts])))
    if units < 2:
        return np.nan
    summed = np.bincount(unit, weights=centred) / n
    return float(np.sqrt(units / (units - 1) * (summed**2).sum()))


def _gwet(coefficient: Coefficient, statistics: ItemStatistics, weights: Array) -> Array:
    counts, sizes = statistics.counts, statistics.sizes
    some, several = sizes > 0, sizes > 1
    share = counts / np.maximum(sizes, 1)[:, None]
    pairs = np.maximum(sizes * (sizes - 1), 1)
    agreed = np.where(several, (counts * (counts @ weights - 1)).sum(axis=1) / pairs, 0.0)
    if coefficient.compute is observed:
        return np.where(several, agreed, np.nan)
    factor = some.sum() / max(several.sum(), 1)
    mean = share[some].mean(axis=0)
    partner = (1 - mean) * gwet_factor(weights) if coefficient.compute is gwet else weights @ mean
    chance_of_item, chance = share @ partner, float(mean @ partner)
    if 1 - chance <= ROUNDING:
        return np.full(len(sizes), np.nan)
    value = (agreed[several].mean() - chance) / (1 - chance) if several.any() else np.nan
    beyond = np.where(several, factor * (agreed - chance) / (1 - chance), 0.0)
    linear = beyond - 2 * (1 - value) * (chance_of_item - chance) / (1 - chance)
    return np.where(some, linear, np.nan)


def _alpha(coefficient: Coefficient, statistics: ItemStatistics, weights: Array) -> Array:
    counts = np.where(statistics.sizes[:, None] > 1, statistics.counts, 0.0)
    sizes = counts.sum(axis=1)
    marginals, number = counts.sum(axis=0), sizes.sum()
    distances = ordinal_distance(marginals) if coefficient.kind == "ordinal" else weights
    seen = (counts * (counts @ distances)).sum(axis=1) / np.maximum(sizes - 1, 1)
    by_chance = float(marginals @ distances @ marginals)
    if by_chance <= ROUNDING * float(distances.max(initial=0.0)) * number**2:
        return np.full(len(sizes), np.nan)
    items = int((sizes > 1).sum())
    # α = 1 - N A / B, with N labels, A = Σ A_i and B quadratic in the marginals; the factor (N - 1) / N is left out.
    total = seen.sum()
    moved = (sizes * total + number * seen) / by_chance
    moved -= 2 * number * total * (counts @ distances @ marginals) / by_chance**2
    return np.where(sizes > 1, -items * moved, np.nan)


def _ratio(statistics: ItemStatistics, at: int) -> Array:
    terms = statistics.blocks[4].toarray()
    both, any_of_them = terms[:, at], terms[:, at + 1]
    if any_of_them.sum() == 0:
        return np.full(len(both), np.nan)
    linear = (both - both.sum() / any_of_them.sum() * any_of_them) / any_of_them.mean()
    return np.where(statistics.sizes > 0, linear, np.nan)


def _of_one_pair(statistics: ItemStatistics, weights: Array) -> float:
    if not statistics.by_pair or len(statistics.pair_labels.first) != 1:
        return np.nan
    if statistics.num_units != len(statistics.unit):
        return np.nan
    confusion = statistics.pair_labels.confusions(len(weights)).astype(np.float64)
    return float(cohen_error(confusion, weights)[0])


def cohen_error(confusions: Array, weights: Array) -> Array:
    r"""The standard error of Cohen's κ for each confusion matrix (pairs × scale × scale); NaN if κ is undefined.

    .. math:: s^2 = \frac{\sum_{ab} p_{ab} [w_{ab} (1 - p_e) - (\bar w_a + \bar w_b)(1 - p_o)]^2
        - (p_o p_e - 2 p_e + p_o)^2}{n (1 - p_e)^4}

    Reference: Fleiss, Cohen & Everitt, Psychological Bulletin 72(5), 1969, doi:10.1037/h0028106
    """
    return _pair_errors(confusions, weights)[0]


def cohen_null_error(confusions: Array, weights: Array) -> Array:
    """The standard error of Cohen's κ if the assessors agree by chance only (Fleiss, Cohen & Everitt 1969)."""
    return _pair_errors(confusions, weights)[1]


def _pair_errors(confusions: Array, weights: Array) -> tuple[Array, Array]:
    n = confusions.sum(axis=(1, 2))
    shares = confusions / np.maximum(n, 1)[:, None, None]
    rows, columns = shares.sum(axis=2), shares.sum(axis=1)
    seen = (shares * weights).sum(axis=(1, 2))
    chance = ((rows @ weights) * columns).sum(axis=1)
    means = (columns @ weights)[:, :, None] + (rows @ weights)[:, None, :]
    left, defined = (1 - chance)[:, None, None], 1 - chance > ROUNDING
    inside = (shares * (weights * left - means * (1 - seen)[:, None, None]) ** 2).sum(axis=(1, 2))
    variance = inside - (seen * chance - 2 * chance + seen) ** 2
    at_chance = (rows[:, :, None] * columns[:, None, :] * (weights - means) ** 2).sum(axis=(1, 2)) - chance**2
    safe = np.where(defined, 1 - chance, 1.0)
    error = np.sqrt(np.maximum(variance, 0.0) / np.maximum(n, 1)) / safe**2
    null = np.sqrt(np.maximum(at_chance, 0.0) / np.maximum(n, 1)) / safe
    return np.where(defined, error, np.nan), np.where(defined, null, np.nan)


def fleiss_null_error(counts: Array) -> float:
    r"""The standard error of Fleiss' κ if assessors agree by chance only; NaN if numbers of labels of items differ.

    .. math:: s^2 = \frac{2}{n m (m - 1)} \cdot
        \frac{(\sum p_j q_j)^2 - \sum p_j q_j (q_j - p_j)}{(\sum p_j q_j)^2}

    n items have m labels each, and q = 1 − p.
    Reference: Fleiss, Nee & Landis, Psychological Bulletin 86(5), 1979, doi:10.1037/0033-2909.86.5.974
    """
    sizes = counts.sum(axis=1)
    sizes = sizes[sizes > 0]
    if not len(sizes) or sizes.min() != sizes.max() or sizes[0] < 2:
        return np.nan
    n, m = len(sizes), sizes[0]
    p = counts.sum(axis=0) / (n * m)
    q = 1 - p
    inner = float((p * q).sum())
    if inner <= ROUNDING:
        return np.nan
    return float(np.sqrt(2 / (n * m * (m - 1)) * (inner**2 - (p * q * (q - p)).sum())) / inner)
