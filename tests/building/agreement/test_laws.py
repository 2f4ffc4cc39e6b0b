"""Laws of agreement, on random labels."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cranfield.building.agreement import agreement
from cranfield.building.agreement.chance_corrected import COEFFICIENTS
from cranfield.building.assessor_labels import Labels

Rows = list[tuple[str, str, int]]


@st.composite
def sparse_labels(draw: st.DrawFn, least: int = 0) -> Rows:
    """Labels 0 to 3 of some items by some assessors; the first item has labels of two assessors."""
    items, assessors = draw(st.integers(2, 8)), draw(st.integers(2, 4))
    cells = [(i, g) for i in range(items) for g in range(assessors)]
    chosen = draw(st.sets(st.sampled_from(cells))) | {(0, 0), (0, 1)}
    return [(f"i{i}", f"w{g}", draw(st.integers(least, 3))) for i, g in sorted(chosen)]


def values(rows: Rows, names: list[str] | None = None) -> dict[str, float]:
    labels = Labels.of(rows, scale=[0, 1, 2, 3])
    result = agreement(labels, list(COEFFICIENTS) if names is None else names, resamples=0)
    return dict(zip(result.names, result.values.tolist(), strict=True))


@settings(max_examples=60, deadline=None)
@given(sparse_labels(), st.randoms(use_true_random=False))
def test_names_and_order_of_items_and_assessors_do_not_matter(rows: Rows, random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    item = {name: f"x{9 - int(name[1:])}" for name, _, _ in rows}
    worker = {name: f"y{9 - int(name[1:])}" for _, name, _ in rows}
    renamed = [(item[i], worker[w], label) for i, w, label in shuffled]
    assert values(renamed) == pytest.approx(values(rows), nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(sparse_labels(), st.permutations([0, 1, 2, 3]))
def test_names_of_labels_do_not_matter_without_an_order(rows: Rows, to: list[int]) -> None:
    names = ["percent", "cohen", "conger", "fleiss", "ac1", "alpha"]
    renamed = [(item, worker, to[label]) for item, worker, label in rows]
    assert values(renamed, names) == pytest.approx(values(rows, names), nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(sparse_labels())
def test_reversing_the_scale_does_not_change_weighted_coefficients(rows: Rows) -> None:
    names = [
        name for name, one in COEFFICIENTS.items() if one.ordered and one.kind in ("linear", "quadratic", "ordinal")
    ]
    turned = [(item, worker, 3 - label) for item, worker, label in rows]
    assert values(turned, [*names, "alpha-interval"]) == pytest.approx(
        values(rows, [*names, "alpha-interval"]), nan_ok=True
    )


@settings(max_examples=60, deadline=None)
@given(sparse_labels())
def test_no_coefficient_is_above_1(rows: Rows) -> None:
    assert all(value <= 1 + 1e-12 for value in values(rows).values() if value == value)


@settings(max_examples=60, deadline=None)
@given(sparse_labels(least=0), st.data())
def test_perfect_agreement_is_1(rows: Rows, data: st.DataObject) -> None:
    """Undefined only if nothing can disagree: all labels of items with two labels are equal, or none is relevant."""
    truth = {item: data.draw(st.integers(0, 3)) for item, _, _ in rows}
    for name, value in values([(item, worker, truth[item]) for item, worker, _ in rows]).items():
        assert math.isnan(value) or value == pytest.approx(1), name
    assert values([(item, worker, truth[item]) for item, worker, _ in rows], ["percent", "ac1"]) == {
        "percent": 1.0,
        "ac1": pytest.approx(1.0),
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12))
def test_alpha_of_two_assessors_is_scotts_pi_for_small_samples(pairs: list[tuple[int, int]]) -> None:
    """1 - α = (1 - π)(1 - 1/N) with N = 2n labels; π is Fleiss' κ of two assessors (Krippendorff 2004)."""
    rows = [(f"i{i}", f"w{g}", pair[g]) for i, pair in enumerate(pairs) for g in range(2)]
    assume(len({label for _, _, label in rows}) > 1)
    found = values(rows, ["fleiss", "alpha"])
    assert 1 - found["alpha"] == pytest.approx((1 - found["fleiss"]) * (1 - 1 / (2 * len(pairs))))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12))
def test_conger_of_two_assessors_is_cohen(pairs: list[tuple[int, int]]) -> None:
    rows = [(f"i{i}", f"w{g}", pair[g]) for i, pair in enumerate(pairs) for g in range(2)]
    found = values(rows, ["cohen", "conger"])
    assert found["conger"] == pytest.approx(found["cohen"], nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(sparse_labels())
def test_on_two_labels_weights_change_nothing(rows: Rows) -> None:
    labels = Labels.of([(item, worker, int(label > 1)) for item, worker, label in rows], scale=[0, 1])
    pairs = {
        "cohen": ("cohen-linear", "cohen-quadratic"),
        "ac1": ("ac2-linear", "ac2-quadratic"),
        "alpha": ("alpha-ordinal", "alpha-interval"),
    }
    for plain, weighted in pairs.items():
        result = agreement(labels, [plain, *weighted], resamples=0)
        assert result.values == pytest.approx([result[plain]] * 3, nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(sparse_labels())
def test_labels_twice_over_keep_means_and_shrink_errors(rows: Rows) -> None:
    """A copy of all items changes no coefficient, except α by its correction for small samples."""
    names = [name for name, one in COEFFICIENTS.items() if one.error not in ("alpha", "cohen")]
    copied = [*rows, *((f"copy of {item}", worker, label) for item, worker, label in rows)]
    assert values(copied, names) == pytest.approx(values(rows, names), nan_ok=True)


def test_labels_left_out_of_a_selection_leave_no_trace() -> None:
    """Items without labels, as `select` leaves them, do not count."""
    rows = [("a", "x", 1), ("a", "y", 0), ("b", "x", 1), ("b", "y", 1), ("c", "x", 0), ("c", "y", 0), ("d", "x", 1)]
    every = Labels.of(rows)
    part = every.select(every.item != 0)
    assert len(part.items) == 4
    fresh = Labels.of(rows[2:])
    one, other = agreement(part, resamples=50), agreement(replace(fresh, notes=()), resamples=50)
    assert one.values == pytest.approx(other.values, nan_ok=True)
    assert one.errors == pytest.approx(other.errors, nan_ok=True)
    assert np.array_equal(one.low, other.low, equal_nan=True)
