"""Coefficients of agreement against other libraries, published numbers, definitions in loops, and arithmetic."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

from cranfield.building.agreement import agreement, pair_agreement
from cranfield.building.assessor_labels import Labels
from tests.building.agreement import literal

NAN = math.nan
GWET = [
    [1, 1, NAN, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4], [4, 4, 4, 4], [1, 1, 2, 1],
    [2, 2, 2, 2], [NAN, 5, 5, 5], [NAN, NAN, 1, 1], [NAN, NAN, 3, NAN],
]  # fmt: skip
"""Twelve units, four raters, with missing labels: the data set raw_4raters of Gwet's packages irrCAC."""
COMPLETE = [[0, 0, 0], [1, 1, 2], [2, 2, 2], [0, 1, 0], [1, 1, 1], [2, 0, 2], [0, 0, 1], [2, 2, 1]]


def labels_of(matrix: list[list[float]]) -> Labels:
    return Labels.of(
        [(f"i{i}", f"w{g}", label) for i, row in enumerate(matrix) for g, label in enumerate(row) if label == label]
    )


def random_labels(seed: int, items: int = 40, assessors: int = 4, share: float = 0.7, size: int = 4) -> Labels:
    """Labels that agree in about half of the cases; some are missing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, size, items)
    rows = []
    for i in range(items):
        for g in range(assessors):
            if rng.random() < share:
                rows.append((f"i{i}", f"w{g}", int(truth[i] if rng.random() < 0.5 else rng.integers(0, size))))
    return Labels.of(rows)


def given(labels: Labels) -> dict[tuple[str, str], float]:
    columns = labels.columns()
    return {
        (item, worker): float(label)
        for item, worker, label in zip(columns["task"], columns["assessor"], columns["label"], strict=True)
    }


# irrCAC 0.4.4: CAC(raw_4raters(), weights=..., digits=5).gwet(), fleiss(), krippendorff(), conger().
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("percent", 0.81818, None),
        ("ac1", 0.77544, 0.14295),
        ("ac2-linear", 0.85874, 0.11733),
        ("ac2-quadratic", 0.91400, 0.10396),
        ("fleiss", 0.76117, 0.15302),
        ("conger", 0.76282, None),
        ("alpha", 0.74342, None),
        ("alpha-interval", 0.84911, None),  # α with quadratic weights
    ],
)
def test_gwets_data_with_missing_labels(name: str, value: float, error: float | None) -> None:
    result = agreement(labels_of(GWET), [name], resamples=0)
    assert result[name] == pytest.approx(value, abs=6e-6)
    if error is not None:
        assert result.errors[0] == pytest.approx(error, abs=6e-6)


# irrCAC 0.4.4, CAC(COMPLETE, weights=..., digits=9). Its error of α is that of our delta method if no label is missing.
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("ac1", 0.375, 0.182981264),
        ("ac2-linear", 0.4375, 0.1875),
        ("ac2-quadratic", 0.5, 0.231455025),
        ("fleiss", 0.375, 0.182981264),
        ("conger", 0.379844961, None),
        ("alpha", 0.401041667, 0.182981264),
        ("alpha-interval", 0.520833333, 0.221601315),
    ],
)
def test_complete_labels_as_irrcac(name: str, value: float, error: float | None) -> None:
    result = agreement(labels_of(COMPLETE), [name], resamples=0)
    assert result[name] == pytest.approx(value, abs=1e-9)
    if error is not None:
        assert result.errors[0] == pytest.approx(error, abs=1e-9)


@pytest.mark.peers
@pytest.mark.parametrize("kind", ["", "linear", "quadratic"])
def test_cohen_of_two_assessors_as_statsmodels(kind: str) -> None:
    """The value, the standard error of Fleiss, Cohen & Everitt, and the one under chance."""
    labels = random_labels(3, items=120, assessors=2, share=0.95)
    matrix = labels.matrix()
    both = matrix[(matrix >= 0).all(axis=1)]
    table = np.zeros((4, 4))
    np.add.at(table, (both[:, 0], both[:, 1]), 1)
    expected = cohens_kappa(table, wt=kind or None)
    name = f"cohen-{kind}" if kind else "cohen"
    result = agreement(labels, [name], unit="item", resamples=0)
    assert result[name] == pytest.approx(expected.kappa, rel=1e-12)
    assert result.errors[0] == pytest.approx(math.sqrt(expected.var_kappa), rel=1e-9)
    assert result.null_errors[0] == pytest.approx(math.sqrt(expected.var_kappa0), rel=1e-9)
    pairs = pair_agreement(labels)
    values = {"": pairs.kappa, "linear": pairs.linear, "quadratic": pairs.quadratic}[kind]
    assert values[0] == pytest.approx(expected.kappa, rel=1e-12)
    if not kind:
        assert (pairs.low[0], pairs.high[0]) == pytest.approx((expected.kappa_low, expected.kappa_upp), rel=1e-9)


@pytest.mark.peers
def test_fleiss_of_complete_labels_as_statsmodels() -> None:
    labels = random_labels(5, share=1.0)
    assert agreement(labels, ["fleiss"], resamples=0)["fleiss"] == pytest.approx(fleiss_kappa(labels.counts()))


def test_fleiss_error_under_chance_by_hand() -> None:
    """Two labels, three assessors, four items: 3+0, 2+1, 1+2, 0+3. p = q = 1/2, so Σpq = 1/2 and Σpq(q − p) = 0."""
    rows = [[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]]
    result = agreement(labels_of(rows), ["fleiss"], resamples=0)
    # Items agree in 1, 1/3, 1/3, 1 of their pairs: 2/3; by chance 1/2; (2/3 - 1/2) / (1/2).
    assert result["fleiss"] == pytest.approx(1 / 3)
    # 2 / (4 · 3 · 2) · (1/2)² / (1/2)² = 1/12
    assert result.null_errors[0] == pytest.approx(math.sqrt(1 / 12))


@pytest.mark.peers
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_of_sparse_labels_as_the_package_krippendorff(seed: int, metric: str) -> None:
    labels = random_labels(seed)
    data = np.where(labels.matrix() < 0, np.nan, labels.matrix()).T
    expected = krippendorff.alpha(reliability_data=data, level_of_measurement=metric)
    name = "alpha" if metric == "nominal" else f"alpha-{metric}"
    assert agreement(labels, [name], resamples=0)[name] == pytest.approx(expected, rel=1e-9)


def test_krippendorffs_own_example() -> None:
    """Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011: nominal .743, ordinal .815, interval .849,
    ratio .797."""
    names = ["alpha", "alpha-ordinal", "alpha-interval", "alpha-ratio"]
    result = agreement(labels_of(GWET), names, resamples=0)
    assert result.values == pytest.approx([0.743, 0.815, 0.849, 0.797], abs=6e-4)


@pytest.mark.parametrize("seed", range(5))
def test_sparse_labels_by_the_definitions(seed: int) -> None:
    labels = random_labels(seed, share=0.5)
    data, scale = given(labels), [0.0, 1.0, 2.0, 3.0]
    linear, quadratic = literal.weighted(scale, 1), literal.weighted(scale, 2)
    expected = {
        "percent": literal.observed(data),
        "cohen": literal.cohen_over_pairs(data, scale),
        "cohen-linear": literal.cohen_over_pairs(data, scale, linear),
        "cohen-quadratic": literal.cohen_over_pairs(data, scale, quadratic),
        "conger": literal.conger(data, scale),
        "fleiss": literal.fleiss(data, scale),
        "ac1": literal.gwet(data, scale),
        "ac2-linear": literal.gwet(data, scale, linear),
        "ac2-quadratic": literal.gwet(data, scale, quadratic),
        "alpha": literal.alpha(data, scale, lambda a, b: float(a != b)),
        "alpha-interval": literal.alpha(data, scale, lambda a, b: (a - b) ** 2),
        "overlap": literal.overlap(data, 2),
        "overlap-3": literal.overlap(data, 3),
    }
    result = agreement(labels, expected, resamples=0)
    assert dict(zip(result.names, result.values.tolist(), strict=True)) == pytest.approx(expected)


def test_pairs_with_few_common_items_are_left_out_of_cohen() -> None:
    """w0 and w1 share 30 items, w2 shares one with each of them."""
    rng = np.random.default_rng(0)
    rows = [(f"i{i}", f"w{g}", int(rng.integers(0, 2))) for i in range(30) for g in range(2)]
    whole = Labels.of([*rows, ("i0", "w2", 1)])
    result = agreement(whole, ["cohen"], resamples=0)
    assert result["cohen"] == agreement(rows, ["cohen"], resamples=0)["cohen"]
    assert any("leaves out 2 of 3 pairs" in note for note in result.notes)


def test_values_of_labels_weigh_their_differences() -> None:
    """On the scale 0, 1, 3 the labels 1 and 3 agree by 1 - 2/3; two of three items agree fully."""
    rows = [("a", "x", 0), ("a", "y", 0), ("b", "x", 1), ("b", "y", 3), ("c", "x", 3), ("c", "y", 3)]
    observed = (1 + 1 / 3 + 1) / 3
    # x gives 0, 1, 3 once each; y gives 0 once, 3 twice. Weights: 0-1 2/3, 0-3 0, 1-3 1/3.
    chance = (1 + 2 * 0 + 2 / 3 + 2 * (1 / 3) + 0 + 2 * 1) / 9
    result = agreement(rows, ["cohen-linear"], resamples=0)
    assert result["cohen-linear"] == pytest.approx((observed - chance) / (1 - chance))


def test_words_in_an_order_have_their_positions_as_values() -> None:
    rows = [("a", "x", "no"), ("a", "y", "yes"), ("b", "x", "maybe"), ("b", "y", "maybe"), ("c", "x", "yes")]
    words = Labels.of([*rows, ("c", "y", "maybe")], scale=["no", "maybe", "yes"])
    number = {"no": 0, "maybe": 1, "yes": 2}
    numbers = [(item, worker, number[word]) for item, worker, word in [*rows, ("c", "y", "maybe")]]
    names = ["cohen-quadratic", "alpha-ordinal", "overlap"]
    assert agreement(words, names, resamples=0).values == pytest.approx(agreement(numbers, names, resamples=0).values)


def test_overlap_of_three_assessors_by_hand() -> None:
    """Voorhees 2000: relevant documents of the intersection, divided by those of the union.

    A = {1, 2, 3}, B = {2, 3}, C = {3, 4}: A∩B 2 of 3, A∩C 1 of 4, B∩C 1 of 3; all three 1 of 4.
    """
    relevant = {"A": {1, 2, 3}, "B": {2, 3}, "C": {3, 4}}
    rows = [(str(doc), name, int(doc in chosen)) for name, chosen in relevant.items() for doc in range(1, 6)]
    assert pair_agreement(rows).overlap.tolist() == pytest.approx([2 / 3, 1 / 4, 1 / 3])
    result = agreement(rows, ["overlap", "overlap-3"], resamples=0)
    assert result.values.tolist() == pytest.approx([4 / 10, 1 / 4])


def test_relevant_is_the_lowest_relevant_label() -> None:
    rows = [("a", "x", 1), ("a", "y", 2), ("b", "x", 2), ("b", "y", 2)]
    assert agreement(rows, ["overlap"], resamples=0)["overlap"] == 1.0
    assert agreement(rows, ["overlap"], relevant=2, resamples=0)["overlap"] == 0.5
