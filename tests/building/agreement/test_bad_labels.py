"""Labels on which agreement is undefined or meaningless: a clear error or a note each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
from cranfield.errors import CranfieldError

ALONE = [("i1", "x", 1), ("i2", "x", 0)]
APART = [("i1", "x", 1), ("i2", "y", 0)]
EQUAL = [("i1", "x", 1), ("i1", "y", 1), ("i2", "x", 1), ("i2", "y", 1)]
PAIR = [("i1", "x", 1), ("i1", "y", 0), ("i2", "x", 0), ("i2", "y", 0), ("i3", "x", 1), ("i3", "y", 1)]
WORDS = [(item, worker, ["no", "yes"][label]) for item, worker, label in PAIR]


@pytest.mark.parametrize("function", [agreement, pair_agreement, confusion, agreement_with_others, agreement_over_time])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ALONE, "all labels are by one assessor, x; agreement needs two or more"),
        (APART, r"no item has labels of two assessors \(2 items, 2 assessors\); for example, only x labels i1"),
        ([], r"labels: is empty, expected \(task, assessor, label\)"),
    ],
)
def test_labels_that_cannot_agree(function: Callable[[Any], Any], rows: list[Any], message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        function(rows)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: agreement(WORDS, ["cohen-linear"]), "words without an order; pass them as a scale, lowest first"),
        (lambda: agreement(WORDS, ["alpha-ordinal"]), "words without an order"),
        (lambda: agreement(WORDS, ["overlap"]), "words without an order"),
        (lambda: agreement_with_others(WORDS, weights="linear"), "words without an order"),
        (lambda: agreement(PAIR, ["kohen"]), "no coefficient 'kohen'; did you mean 'cohen'"),
        (lambda: agreement(PAIR, []), "no coefficient is named"),
        (lambda: agreement([("i1", "x", -1), ("i1", "y", 2)], ["alpha-ratio"]), "label -1 is below 0"),
        (lambda: agreement(PAIR, level=1.0), "level == 1.0, must be above 0 and below 1"),
        (lambda: agreement(PAIR, unit="document"), "unit == 'document', must be one of"),
        (lambda: agreement(PAIR, unit="topic"), "the topics of items are unknown"),
        (lambda: agreement(PAIR, interval="exact"), "interval == 'exact', must be one of"),
        (lambda: agreement(PAIR, resamples=-5), "resamples == -5, must be"),
        (lambda: topic_agreement(PAIR), "the topics of items are unknown"),
        (lambda: group_agreement(PAIR), "the groups of assessors are unknown"),
        (lambda: agreement_over_time(PAIR, windows=0), "windows == 0, must be"),
        (lambda: Labels.of(PAIR, scale=[0, 2]), "label '1' is not on the scale 0, 2; in all, 3 labels outside it"),
        (lambda: Labels.of([*PAIR, ("i1", "x", 0)]), "x gives i1 two labels, 1 and 0"),
        (lambda: Labels.of(PAIR).with_assessors({"z": "experts"}), "none of z gave a label; the labels are by x, y"),
        (
            lambda: Labels.of(PAIR).with_assessors({"x": ("experts", -1.0)}),
            "the cost of a label is -1.0, expected a number",
        ),
    ],
)
def test_a_wrong_request_says_what_is_wrong(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        call()


def test_if_all_labels_are_equal_kappa_is_undefined_and_ac1_is_1() -> None:
    for scale in (None, [0, 1]):
        result = agreement(Labels.of(EQUAL, scale=scale))
        undefined = {name for name, value in zip(result.names, result.values, strict=True) if np.isnan(value)}
        assert undefined == {"cohen", "conger", "fleiss", "alpha"}
        assert result["ac1"] == result["percent"] == result["overlap"] == 1.0
        assert np.isnan(result.errors[list(result.names).index("fleiss")])
        assert (
            "undefined (0/0), as all items with two labels or more have only the label 1: cohen, conger, fleiss, alpha"
            in result.notes
        )
    assert "for 1 pair" in " ".join(pair_agreement(EQUAL).notes)
    assert "kappa is undefined (0/0) for 2 assessors" in " ".join(agreement_with_others(EQUAL).notes)


def test_words_without_an_order_have_the_nominal_coefficients_and_a_note() -> None:
    result = agreement(WORDS)
    assert result.names == ("percent", "cohen", "conger", "fleiss", "ac1", "alpha")
    assert any(
        "words without an order: no weighted or ordinal coefficients, no overlap" in note for note in result.notes
    )
    assert np.isnan(agreement_with_others(WORDS).leniency).all()
    assert np.isnan(pair_agreement(WORDS).overlap).all()


def test_no_relevant_label_leaves_the_overlap_undefined() -> None:
    result = agreement(PAIR, ["overlap"], relevant=5)
    assert np.isnan(result["overlap"])
    assert "undefined (0/0): overlap" in result.notes


def test_an_assessor_with_one_label_is_named() -> None:
    rows = [*PAIR, ("i1", "z", 1), ("i9", "w", 1)]
    result = agreement_with_others(rows)
    assert "1 assessor without an item that others labelled: w" in result.notes
    assert any(
        note.startswith("3 assessors with fewer than 10 items that others labelled: x, y, z") for note in result.notes
    )
    assert np.isnan(result.low[result.assessors.index("z")])  # one item cannot be resampled
    assert np.isfinite(agreement(rows)["alpha"])


def test_repeated_labels_are_counted() -> None:
    same = agreement([*PAIR, ("i1", "x", 1)])
    assert "1 repeated label of an item by the same assessor, left out" in same.notes
    kept = agreement(Labels.of([*PAIR, ("i1", "x", 0)], on_duplicate="keep"))
    assert "1 repeated label of an item by the same assessor, used only for self-agreement" in kept.notes


def test_one_topic_cannot_be_resampled() -> None:
    rows = [("t", item, worker, label) for item, worker, label in PAIR]
    result = agreement(rows, unit="topic")
    assert np.isnan(result.low).all()
    assert "no intervals: 1 topic cannot be resampled" in result.notes


def test_assessors_without_a_group_are_named() -> None:
    labels = Labels.of(PAIR).with_assessors({"x": "experts"})
    assert labels.group == ("experts", "other")
    assert "1 assessor without a group, in group other: y" in labels.notes


def test_a_group_of_one_assessor_is_noted() -> None:
    result = group_agreement(Labels.of(PAIR).with_assessors({"x": "experts", "y": "crowd"}))
    assert "no item has labels of two assessors of: experts, crowd" in result.notes
    assert np.isnan(result.kappa[:2]).all()


def test_too_many_pairs_leave_cohen_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cranfield.building.agreement.agreement_settings.MOST_PAIRS", 2)
    assert "cohen" not in agreement(PAIR).names
    with pytest.raises(CranfieldError, match="3 pairs of labels are too many for Cohen's κ"):
        agreement(PAIR, ["cohen"])


def test_too_many_pairs_to_resample_leave_cohen_without_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cranfield.building.agreement.agreement_intervals.MOST_RESAMPLED", 2)
    result = agreement(PAIR, ["cohen", "ac1"])
    assert np.isnan(result.low[0])
    assert np.isfinite(result.low[1])
    assert "Cohen's κ has no interval: 1 pair of assessors are too many to resample" in result.notes
