"""Agreement by pair, assessor, time and group, with numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.building.agreement import (
    agreement,
    agreement_over_time,
    agreement_with_others,
    confusion,
    group_agreement,
    pair_agreement,
    topic_agreement,
)
from cranfield.building.assessor_labels import Labels
from cranfield.errors import UsageError
from tests.building.agreement import literal
from tests.building.agreement.test_coefficients import given, random_labels

THREE = [
    ("i1", "x", 2), ("i1", "y", 2), ("i1", "z", 0),
    ("i2", "x", 1), ("i2", "y", 0),
    ("i3", "x", 0), ("i3", "z", 0),
    ("i4", "x", 1),
]  # fmt: skip


def test_each_assessor_by_hand() -> None:
    result = agreement_with_others(THREE, resamples=0)
    assert result.assessors == ("x", "y", "z")
    assert result.labels.tolist() == [4, 2, 2]
    assert result.items.tolist() == [3, 2, 2]  # i4 has one label
    # x: on i1 one of two others agrees, on i2 none, on i3 all. y: i1 one of two, i2 none. z: i1 none, i3 all.
    assert result.percent.tolist() == pytest.approx([(0.5 + 0 + 1) / 3, 0.25, 0.5])
    # x: 2 - (2 + 0)/2, 1 - 0, 0 - 0; y: 2 - (2 + 0)/2, 0 - 1; z: 0 - (2 + 2)/2, 0 - 0.
    assert result.leniency.tolist() == pytest.approx([(1 + 1 + 0) / 3, (1 - 1) / 2, (-2 + 0) / 2])
    # The others of x and y are tied on i1, which is left out: x agrees with y on i2 (no) and z on i3 (yes).
    assert result.majority.tolist() == pytest.approx([1 / 2, 0 / 1, 1 / 2])
    assert "majority: 2 labels of items on which the others have no majority, left out" in result.notes


def test_kappa_of_an_assessor_by_hand() -> None:
    """x against the others, each item once: rows 2, 1, 0 of x; the others give 2 and 0 by half on i1, 0 on i2, i3.

    Agreement (1/2 + 0 + 1) / 3 = 1/2. x has shares 1/3 each, the others 0: 5/6, 2: 1/6. Chance 1/3 (5/6 + 0 + 1/6).
    """
    result = agreement_with_others(THREE, resamples=0)
    assert result.kappa[0] == pytest.approx((1 / 2 - 1 / 3) / (1 - 1 / 3))


def test_with_one_other_assessor_kappa_is_cohens() -> None:
    labels = random_labels(6, assessors=2)
    pair = pair_agreement(labels)
    for weights, expected in {"identity": pair.kappa, "linear": pair.linear, "quadratic": pair.quadratic}.items():
        result = agreement_with_others(labels, weights=weights, resamples=100)
        assert result.kappa == pytest.approx([expected[0]] * 2)
        assert (result.low < result.kappa).all()
        assert (result.high > result.kappa).all()


def test_pairs_by_the_definitions() -> None:
    labels = random_labels(8, share=0.6)
    data, scale = given(labels), [0.0, 1.0, 2.0, 3.0]
    result = pair_agreement(labels)
    assert len(result.first) == 6
    for i, pair in enumerate(zip(result.first, result.second, strict=True)):
        first, second = (literal.of_assessor(data, name) for name in pair)
        assert result.items[i] == len(first.keys() & second.keys())
        assert result.kappa[i] == pytest.approx(literal.cohen(first, second, scale))
        assert result.linear[i] == pytest.approx(literal.cohen(first, second, scale, literal.weighted(scale, 1)))
        both = {(item, name): label for (item, name), label in data.items() if name in pair}
        assert result.overlap[i] == pytest.approx(literal.overlap(both, 2))
    names, matrix = result.matrix()
    assert matrix[names.index("w0"), names.index("w2")] == matrix[names.index("w2"), names.index("w0")]


def test_confusions_by_hand() -> None:
    every = confusion(THREE)
    # Pairs: i1 2-2, 2-0, 2-0; i2 1-0; i3 0-0; each in both orders.
    assert every.counts.tolist() == [[[2, 1, 2], [1, 0, 0], [2, 0, 2]]]
    each = confusion(THREE, by_pair=True)
    assert list(zip(each.first, each.second, strict=True)) == [("x", "y"), ("x", "z"), ("y", "z")]
    assert each.counts[0].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 1]]  # rows: x gives 2 (y 2) and 1 (y 0)
    turned = confusion(THREE, pair=("y", "x"))
    assert turned.counts[0].tolist() == np.transpose(each.counts[0]).tolist()
    assert every.counts.sum() == 2 * each.counts.sum()
    with pytest.raises(UsageError, match="no assessor 'anna'"):
        confusion(THREE, pair=("anna", "x"))


def test_agreement_over_time_by_hand() -> None:
    """x labels i1 to i4 in this order and agrees with y on the first three."""
    rows = [("i1", "x", 1, 10), ("i2", "x", 0, 20), ("i3", "x", 1, 30), ("i4", "x", 1, 40)]
    rows += [("i4", "y", 0, 1), ("i3", "y", 1, 2), ("i2", "y", 0, 3), ("i1", "y", 1, 4)]
    labels = Labels.of([dict(zip(("task", "worker", "label", "time"), row, strict=True)) for row in reversed(rows)])
    result = agreement_over_time(labels, windows=2)
    by_name = dict(zip(result.assessors, result.values.tolist(), strict=True))
    assert by_name == {"all": [0.75, 0.75], "x": [1.0, 0.5], "y": [0.5, 1.0]}
    # Places 0, 1/3, 2/3, 1 and agreement 1, 1, 1, 0: slope Σ(p - 1/2)(a - 3/4) / Σ(p - 1/2)² = -(3/8 + 1/8) / (5/9).
    slope = (-0.5 * 0.25 - 0.25 / 6 + 0.25 / 6 - 0.5 * 0.75) / (2 * 0.25 + 2 / 36)
    change = dict(zip(result.assessors, result.change.tolist(), strict=True))
    assert change == pytest.approx({"all": 0, "x": slope, "y": -slope})
    assert "the order of labels: by time" in result.notes


def test_fatigue_is_found_and_its_absence_too() -> None:
    """An assessor whose accuracy falls from 1 to 0.5, beside two perfect ones."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    rows = [(f"i{i}", name, int(truth[i])) for i in range(600) for name in ("a", "b")]
    rows += [(f"i{i}", "tired", int(truth[i] ^ (rng.random() < i / 1200))) for i in range(600)]
    result = agreement_over_time(rows)
    tired = result.assessors.index("tired")
    assert result.change[tired] == pytest.approx(-0.5, abs=0.1)
    assert result.change_high[tired] < 0
    assert result.change_low[tired] < -0.5 < result.change_high[tired]
    assert result.counts[tired].tolist() == [120] * 5


def test_seconds_are_averaged_in_each_window() -> None:
    columns = ("task", "worker", "label", "seconds")
    rows = [("i1", "x", 1, 10), ("i2", "x", 0, 4), ("i1", "y", 1, ""), ("i2", "y", 0, 6)]
    result = agreement_over_time([dict(zip(columns, row, strict=True)) for row in rows], windows=2)
    assert result.seconds[1].tolist() == [10, 4]
    assert np.isnan(result.seconds[2, 0])
    assert result.seconds[2, 1] == 6


def test_labels_without_a_time_are_counted() -> None:
    columns = ("task", "worker", "label", "time")
    rows = [("i1", "x", 1, 1), ("i2", "x", 0, ""), ("i1", "y", 1, 1), ("i2", "y", 0, 2)]
    result = agreement_over_time([dict(zip(columns, row, strict=True)) for row in rows], windows=1)
    assert "1 label without a time, left out" in result.notes
    assert result.counts.ravel().tolist() == [3, 1, 2]


def test_groups_by_hand() -> None:
    """Experts x and y, crowd z and w. i1: 1 1 | 0 1; i2: 0 | 0; i3: 1 | 1 0."""
    rows = [("i1", "x", 1), ("i1", "y", 1), ("i1", "z", 0), ("i1", "w", 1), ("i2", "x", 0), ("i2", "z", 0)]
    rows += [("i3", "y", 1), ("i3", "z", 1), ("i3", "w", 0)]
    people = {"x": ("experts", 2.0), "y": ("experts", 2.0), "z": ("crowd", 0.5), "w": ("crowd", 0.25)}
    result = group_agreement(Labels.of(rows).with_assessors(people), resamples=0)
    assert list(zip(result.first, result.second, strict=True)) == [
        ("experts", "experts"), ("crowd", "crowd"), ("experts", "crowd"),
    ]  # fmt: skip
    assert result.items.tolist() == [1, 2, 3]
    # Within experts: i1 agrees. Within crowd: i1 and i3 disagree. Between: i1 1/2, i2 1, i3 1/2.
    assert result.percent.tolist() == pytest.approx([1, 0, 2 / 3])
    # Experts give 1 with share (1 + 0 + 1) / 3, the crowd with (1/2 + 0 + 1/2) / 3.
    chance = 2 / 3 * 1 / 3 + 1 / 3 * 2 / 3
    assert result.kappa[2] == pytest.approx((2 / 3 - chance) / (1 - chance))
    assert result.difference[2] == pytest.approx(2 / 3 - 1 / 3)
    assert result.cost.tolist() == [8.0, 3 * 0.5 + 2 * 0.25]
    assert (result.assessors.tolist(), result.labels.tolist()) == ([2, 2], [4, 5])
    assert "Labels and cost" in result.costs().text()


def test_self_agreement_by_hand() -> None:
    """x labels i1 and i2 twice and agrees with himself once; only his first label counts for others."""
    rows = [("i1", "x", 1), ("i2", "x", 0), ("i1", "x", 1), ("i2", "x", 1), ("i1", "y", 1), ("i2", "y", 0)]
    labels = Labels.of(rows, on_duplicate="keep")
    result = agreement(labels, ["percent"], resamples=0)
    assert result["percent"] == 1.0
    assert result["self percent"] == 0.5
    # The matrix has 1-1 once, and 0-1, 1-0 by half: both sides have shares 1/4 and 3/4, chance 10/16.
    assert result["self kappa"] == pytest.approx((0.5 - 10 / 16) / (6 / 16))
    each = agreement_with_others(labels, resamples=0)
    assert each.again.tolist() == [2, 0]
    assert each.self_percent[0] == 0.5
    assert np.isnan(each.self_percent[1])


def test_one_assessor_who_repeats_items_agrees_with_himself() -> None:
    rows = [("i1", "x", 1), ("i1", "x", 0), ("i2", "x", 1), ("i2", "x", 1)]
    result = agreement(Labels.of(rows, on_duplicate="keep"))
    assert result.names == ("self percent", "self kappa")
    assert result["self percent"] == 0.5


def test_json_latex_and_frames_of_all_results() -> None:
    rows = [(f"t{i % 3}", f"d{i}", f"w{g}", (i * g + i) % 3) for i in range(12) for g in range(3)]
    labels = Labels.of(rows).with_assessors({"w0": "experts", "w1": "crowd", "w2": "crowd"})
    for result in (
        agreement(labels, resamples=20),
        topic_agreement(labels, resamples=20),
        agreement_with_others(labels, resamples=20),
        agreement_over_time(labels),
        group_agreement(labels, resamples=20),
        pair_agreement(labels),
        confusion(labels),
        confusion(labels, by_pair=True),
    ):
        assert len(result.to_dict()["rows"]) == len(result.to_pandas())
        assert r"\begin{tabular}" in result.to_latex()


@pytest.mark.peers
def test_the_change_over_time_and_its_error_are_those_of_statsmodels() -> None:
    import statsmodels.api as sm

    from cranfield.building.agreement.against_the_others import _slope

    rng = np.random.default_rng(1)
    place = np.linspace(0, 1, 60)
    agreed = (rng.random(60) < 0.9 - 0.5 * place).astype(np.float64)
    fitted = sm.OLS(agreed, sm.add_constant(place)).fit(cov_type="HC1")
    assert _slope(place, agreed) == pytest.approx((fitted.params[1], fitted.bse[1]))


def test_the_interval_of_a_window_is_that_of_a_mean() -> None:
    """x agrees with y on 1, 0, 1, 1: mean 3/4, variance 1/4, standard error √(1/4 / 4) = 1/4."""
    rows = [(f"i{i}", "y", 1) for i in range(4)] + [(f"i{i}", "x", label) for i, label in enumerate([1, 0, 1, 1])]
    result = agreement_over_time(rows, windows=1)
    x = result.assessors.index("x")
    assert (result.low[x, 0], result.high[x, 0]) == pytest.approx((0.75 - 1.959964 / 4, 1.0))
