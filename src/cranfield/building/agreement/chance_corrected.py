"""Coefficients of agreement between assessors, computed from sums over items, and their standard errors by formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.agreement.item_statistics import ItemStatistics, Totals
from cranfield.building.assessor_labels import Labels
from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.types import Array, Index64

ROUNDING = 1e-12
"""Chance agreement that is this close to 1 is 1: the coefficient is 0/0."""


def closeness(kind: str, values: Array) -> Array:
    """scale × scale: how much two labels agree, from 0 to 1.

    kind: `identity` (equal labels agree), `linear` or `quadratic` (in the difference of the values).

    >>> closeness("linear", np.array([0.0, 1.0, 3.0])).round(2).tolist()
    [[1.0, 0.67, 0.0], [0.67, 1.0, 0.33], [0.0, 0.33, 1.0]]
    """
    if kind == "identity" or len(values) < 2:
        return np.eye(len(values))
    distance = np.abs(values[:, None] - values) / (values.max() - values.min())
    return np.asarray(1 - distance ** (2 if kind == "quadratic" else 1))


def distance(metric: str, values: Array) -> Array:
    """scale × scale: Krippendorff's squared difference of two labels, if it does not depend on the data.

    metric: `nominal`, `interval` or `ratio`.
    """
    if metric == "nominal":
        return 1 - np.eye(len(values))
    difference = values[:, None] - values
    if metric == "ratio":
        total = values[:, None] + values
        difference = np.divide(difference, total, out=np.zeros_like(difference), where=total != 0)
    return np.asarray(difference**2)


def ordinal_distance(marginals: Array) -> Array:
    """... × scale × scale: Krippendorff's squared difference of two ranks, from the number of labels on the scale."""
    rank = np.cumsum(marginals, axis=-1) - marginals / 2
    return np.asarray((rank[..., :, None] - rank[..., None, :]) ** 2)


def divided(numerator: NDArray[Any], denominator: NDArray[Any]) -> Array:
    """The quotient; 0/0 is NaN."""
    small = np.abs(denominator) <= ROUNDING
    return np.where(small, np.nan, numerator / np.where(small, 1.0, denominator))


def corrected(observed: Array, chance: Array) -> Array:
    """(observed - chance) / (1 - chance): agreement beyond chance; NaN if agreement by chance is certain."""
    return divided(observed - chance, 1 - chance)


# -- coefficients: totals and weights of a scale × scale matrix, to a number per weighting


def observed(totals: Totals, weights: Array) -> Array:
    """The mean agreement of two labels of an item, over items with two labels or more."""
    return divided((totals.pairs * weights).sum(axis=(1, 2)), totals.paired)


def label_shares(totals: Totals) -> Array:
    """weightings × scale: the mean share of each label, over all items."""
    return divided(totals.shares, totals.items[:, None])


def fleiss(totals: Totals, weights: Array) -> Array:
    shares = label_shares(totals)
    return corrected(observed(totals, weights), _product(shares, weights, shares))


def gwet(totals: Totals, weights: Array) -> Array:
    shares = label_shares(totals)
    return corrected(observed(totals, weights), (shares * (1 - shares)).sum(axis=1) * gwet_factor(weights))


def gwet_factor(weights: Array) -> float:
    """The factor of chance agreement in AC1 and AC2; 0 if the scale has one label, so that AC is 1."""
    q = len(weights)
    return float(weights.sum()) / (q * (q - 1)) if q > 1 else 0.0


def conger(totals: Totals, weights: Array) -> Array:
    assert totals.given is not None
    totals_of = totals.given.sum(axis=2, keepdims=True)
    shares = np.divide(totals.given, totals_of, out=np.zeros_like(totals.given), where=totals_of > 0)
    active = (totals_of[..., 0] > 0).sum(axis=1)
    summed = shares.sum(axis=1)
    own = np.einsum("bgk,kl,bgl->b", shares, weights, shares, optimize=True)
    others = _product(summed, weights, summed) - own
    chance = divided(others, (active * (active - 1)).astype(np.float64))
    return corrected(observed(totals, weights), chance)


def cohen(totals: Totals, weights: Array) -> Array:
    assert totals.confusions is not None
    items, kappa = cohen_of(totals.confusions, weights)
    defined = ~np.isnan(kappa)
    return divided((items * np.where(defined, kappa, 0.0)).sum(axis=1), (items * defined).sum(axis=1))


def cohen_of(confusions: Array, weights: Array) -> tuple[Array, Array]:
    """The number of items and Cohen's κ of confusion matrices (... × scale × scale)."""
    items = confusions.sum(axis=(-2, -1))
    agreed = (confusions * weights).sum(axis=(-2, -1))
    rows, columns = confusions.sum(axis=-1), confusions.sum(axis=-2)
    chance = ((rows @ weights) * columns).sum(axis=-1)
    return items, corrected(divided(agreed, items), divided(chance, items**2))


def alpha(totals: Totals, weights: Array) -> Array:
    """`weights` are squared differences."""
    return _alpha_of(totals.coincidences, weights)


def alpha_ordinal(totals: Totals, weights: Array) -> Array:
    """`weights` are not used: the differences depend on the data."""
    return _alpha_of(totals.coincidences, ordinal_distance(totals.coincidences.sum(axis=2)))


def _alpha_of(coincidences: Array, distances: Array) -> Array:
    marginals = coincidences.sum(axis=2)
    number = marginals.sum(axis=1)
    seen = (coincidences * distances).sum(axis=(1, 2))
    by_chance = (marginals[:, :, None] * marginals[:, None, :] * distances).sum(axis=(1, 2))
    # Relative to the largest possible one: distances of ranks are in the millions.
    scale = np.max(distances, axis=(-2, -1)) * number**2
    none = by_chance <= ROUNDING * scale
    return np.where(none, np.nan, 1 - (number - 1) * seen / np.where(none, 1.0, by_chance))


def overlap(totals: Totals, weights: Array) -> Array:
    return divided(totals.overlaps[:, 0], totals.overlaps[:, 1])


def overlap_of_three(totals: Totals, weights: Array) -> Array:
    return divided(totals.overlaps[:, 2], totals.overlaps[:, 3])


def _product(first: Array, weights: Array, second: Array) -> Array:
    return np.asarray(((first @ weights) * second).sum(axis=1))


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of agreement."""

    name: str
    title: str
    """The name in tables."""
    compute: Callable[[Totals, Array], Array]
    kind: str = "identity"
    """The weights of pairs of labels: see `closeness` and `distance`."""
    source: str = ""
    error: str = ""
    """Which standard error there is: `gwet`, `alpha`, `overlap`, `cohen` or none."""
    ordered: bool = False
    """Does it need labels with an order?"""
    rule: str = ""
    """How items with different numbers of labels count."""

    def weights(self, labels: Labels) -> Array:
        """The matrix that `compute` takes, on the scale of the labels."""
        plain = self.kind in ("identity", "nominal")
        values = np.arange(len(labels.scale), dtype=np.float64) if plain else labels.values
        metrics = ("nominal", "interval", "ratio")
        return distance(self.kind, values) if self.kind in metrics else closeness(self.kind, values)


_PERCENT = "mean over items with two labels or more"
_PAIRS = "mean over pairs of assessors, weighted by their common items; Light's κ (1971) if no label is missing"
_GWET = "each item with two labels or more counts once in agreement, each item once in the shares of labels"
_ALPHA = "items with two labels or more; each label counts once"
_OVERLAP = "relevant for all, divided by relevant for any, summed over the {} of assessors of each item"

COEFFICIENTS = {
    coefficient.name: coefficient
    for coefficient in (
        Coefficient("percent", "percent agreement", observed, error="gwet", rule=_PERCENT),
        Coefficient("cohen", "Cohen's κ", cohen, source="Cohen 1960", error="cohen", rule=_PAIRS),
        Coefficient("cohen-linear", "Cohen's κ, linear", cohen, "linear", "Cohen 1968", "cohen", True, _PAIRS),
        Coefficient("cohen-quadratic", "Cohen's κ, quadratic", cohen, "quadratic", "Cohen 1968", "cohen", True, _PAIRS),
        Coefficient(
            "conger", "Conger's κ", conger, source="Hubert 1977, Conger 1980",
            rule="agreement as in Fleiss' κ; chance is the mean over pairs of assessors, each with own shares",
        ),
        Coefficient("fleiss", "Fleiss' κ", fleiss, source="Fleiss 1971, Gwet 2014", error="gwet", rule=_GWET),
        Coefficient("ac1", "Gwet's AC1", gwet, source="Gwet 2008", error="gwet", rule=_GWET),
        Coefficient("ac2-linear", "Gwet's AC2, linear", gwet, "linear", "Gwet 2014", "gwet", True, _GWET),
        Coefficient("ac2-quadratic", "Gwet's AC2, quadratic", gwet, "quadratic", "Gwet 2014", "gwet", True, _GWET),
        Coefficient("alpha", "Krippendorff's α", alpha, "nominal", "Krippendorff 2004", "alpha", rule=_ALPHA),
        Coefficient(
            "alpha-ordinal", "Krippendorff's α, ordinal", alpha_ordinal, "ordinal", "Krippendorff 2004", "alpha", True,
            _ALPHA,
        ),
        Coefficient(
            "alpha-interval", "Krippendorff's α, interval", alpha, "interval", "Krippendorff 2004", "alpha", True,
            _ALPHA,
        ),
        Coefficient(
            "alpha-ratio", "Krippendorff's α, ratio", alpha, "ratio", "Krippendorff 2004", "alpha", True, _ALPHA
        ),
        Coefficient(
            "overlap", "overlap", overlap, source="Voorhees 2000", error="overlap", ordered=True,
            rule=_OVERLAP.format("pairs"),
        ),
        Coefficient(
            "overlap-3", "overlap of three", overlap_of_three, source="Voorhees 2000", error="overlap", ordered=True,
            rule=_OVERLAP.format("triples"),
        ),
    )
}  # fmt: skip
"""{name: coefficient}, in the order of tables."""
WEIGHTED = ("cohen-linear", "cohen-quadratic", "ac2-linear", "ac2-quadratic", "alpha-ordinal", "alpha-interval")
"""Coefficients that equal their plain form if the scale has two labels."""


def coefficient_of(name: str) -> Coefficient:
    """The coefficient with this name; `nominal` may be spelled out, and case does not matter."""
    key = name.strip().lower().replace("_", "-").replace("alpha-nominal", "alpha")
    if key not in COEFFICIENTS:
        raise nearest(name, list(COEFFICIENTS), "coefficient")
    return COEFFICIENTS[key]


def check_values(coefficient: Coefficient, values: Array) -> None:
    """Raise an error for labels whose values the coefficient cannot use."""
    if coefficient.kind == "ratio" and (values < 0).any():
        raise UsageError(f"{coefficient.name}: label {values.min():g} is below 0, which a ratio scale does not have")


def standard_error(coefficient: Coefficient, statistics: ItemStatistics) -> float:
    r"""The standard error of a coefficient; NaN if there is no formula, or fewer than two units.

    .. math:: s^2 = \frac{u}{u - 1} \sum_{j=1}^u \Big( \frac{1}{n} \sum_{i \in j} (\gamma_i - \bar\gamma) \Big)^2

    γᵢ is the linearised value of item i, n the number of items and u the number of units (items or topics). With items
    as units, this is the variance of Gwet 2008 for AC1, AC2, Fleiss' κ and percent agreement. For α and the overlap it
    is the delta method, with the distances of labels fixed. Cohen's κ of two assessors has the standard error of
    Fleiss, Cohen & Everitt 1969, which needs items as units.
    """
    weights = coefficient.weights(statistics.labels)
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
