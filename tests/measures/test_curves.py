"""Curves as data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import IPrec, R, interpolated_precision, precision_recall, roc
from tests.oracles.joined import graded_lists, joined

Graded = tuple[list[float | None], list[float]]


def two_runs() -> Assessed:
    judgments = {"1": {"a": 1, "b": 0, "c": 1}, "2": {"a": 1, "b": 0}, "3": {"a": 0}}
    runs = {
        "good": {"1": {"a": 3.0, "c": 2.0, "b": 1.0}, "2": {"a": 2.0, "b": 1.0}, "3": {"a": 1.0}},
        "bad": {"1": {"b": 3.0, "a": 2.0}, "2": {"b": 2.0, "a": 1.0}},
    }
    return joined(judgments, runs)


def test_precision_and_recall_of_one_list() -> None:
    # relevant at rank 2 of 2, one of two relevant documents retrieved: recall 1/2 at precision 1/2
    curve = precision_recall(two_runs(), "bad", "1")
    assert curve.x.tolist() == [0.5]
    assert curve.y.tolist() == [0.5]
    assert len(precision_recall(two_runs(), "bad", "3").x) == 0
    assert repr(precision_recall(two_runs(), "good", "2")) == "Curve(precision against recall: (1, 1))"


def test_unknown_runs_and_topics_are_errors() -> None:
    with pytest.raises(UsageError, match="there is no run 'best'; the runs are good, bad"):
        precision_recall(two_runs(), "best", "1")
    with pytest.raises(UsageError, match="there is no topic '9'"):
        precision_recall(two_runs(), "good", "9")


def test_interpolated_precision_and_its_mean_over_topics() -> None:
    curves = interpolated_precision(two_runs(), [0, 0.5, 1])
    # good: 1 everywhere; bad: topic 1 has 1/2 1/2 0, topic 2 has 1/2 1/2 1/2; topic 3 has no relevant documents
    assert curves.y[:3].tolist() == [[1, 1, 1], [1, 1, 1], pytest.approx([np.nan] * 3, nan_ok=True)]
    assert curves.y[3:5].tolist() == [[0.5, 0.5, 0], [0.5, 0.5, 0.5]]
    mean = curves.mean()
    assert mean.y.tolist() == [[1, 1, 1], [0.5, 0.5, 0.25]]
    assert mean.mean() is mean
    assert mean.topic is None
    assert repr(curves) == "Curves(6 curves of precision against recall at 3 points)"
    with pytest.raises(UsageError, match=r"points == 1.5, must be between 0 and 1"):
        interpolated_precision(two_runs(), [1.5])


@settings(max_examples=40, deadline=None)
@given(graded=graded_lists())
def test_interpolated_precision_is_the_measure_at_every_point_and_never_rises(graded: Graded) -> None:
    curve = interpolated_precision(Assessed.one(*graded)).y[0]
    points = np.linspace(0, 1, 11).round(1)
    assert curve.tolist() == pytest.approx([(IPrec() @ point).of(*graded) for point in points], nan_ok=True)
    assert np.isnan(curve).all() or (np.diff(curve) <= 0).all()


def pairs_won(grades: list[float | None], missed: list[float]) -> float:
    """The share of pairs in which the relevant document comes first; missed documents come last and are tied."""
    judged = [(rank, grade) for rank, grade in enumerate(grades) if grade is not None]
    placed = judged + [(len(grades), grade) for grade in missed]
    good = [rank for rank, grade in placed if grade >= 1]
    bad = [rank for rank, grade in placed if grade < 1]
    wins = [(1.0 if g < b else 0.5 if g == b else 0.0) for g in good for b in bad]
    return sum(wins) / len(wins) if wins else np.nan


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_the_area_under_the_roc_curve_is_the_share_of_pairs_in_order(graded: Graded) -> None:
    area = roc(Assessed.one(*graded)).area
    assert area is not None
    assert area.tolist() == pytest.approx([pairs_won(*graded)], nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_roc_over_a_collection_counts_unjudged_documents_as_non_relevant(graded: Graded) -> None:
    grades, missed = graded
    filled: list[float | None] = [grade or 0 for grade in grades]
    others = [grade for grade in missed if grade >= 1]
    rest = [0.0] * (40 - len(filled) - len(others))
    area = roc(Assessed.one(grades, missed), N=40).area
    assert area is not None
    assert area.tolist() == pytest.approx([pairs_won(filled, others + rest)], nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(graded=graded_lists())
def test_roc_climbs_from_left_to_right_and_ends_at_1(graded: Graded) -> None:
    curve = roc(Assessed.one(*graded)).y[0]
    if not np.isnan(curve).any():
        assert (np.diff(curve) >= -1e-12).all()
        assert curve[-1] == pytest.approx(1)


@given(graded_lists())
@settings(max_examples=50)
def test_the_saw_tooth_is_precision_and_recall_at_every_rank(graded: tuple[list[int | None], list[int]]) -> None:
    from cranfield.measures.ranked_lists.curves import saw_tooth

    grades, missed = graded
    lists = Assessed.one(grades, missed)
    curve = saw_tooth(lists, "run", "topic")
    relevant = sum((grade or 0) >= 1 for grade in (*grades, *missed))
    for rank in range(1, len(grades) + 1):
        found = sum((grade or 0) >= 1 for grade in grades[:rank])
        assert curve.y[rank - 1] == pytest.approx(found / rank)
        if relevant:
            assert curve.x[rank - 1] == pytest.approx(found / relevant)


def test_roc_by_hand() -> None:
    # judged: relevant at 1 and 3, non-relevant at 2, one of each missed
    # true positive rate 1/3 at a false positive rate of 0, and 2/3 at 1/2; then a straight line
    curves = roc(Assessed.one([1, 0, 1], [1, 0]), [0, 0.5, 0.75, 1])
    assert curves.y[0].tolist() == pytest.approx([1 / 3, 2 / 3, 2 / 3 + 1 / 6, 1])
    # pairs in order: 2 for rank 1, 1 for rank 3, 1/2 for the two missed documents: (2 + 1 + 1/2) / 6
    assert curves.area is not None
    assert curves.area.tolist() == pytest.approx([3.5 / 6])
    # in "bad" the only non-relevant document comes first on both topics; topic 3 has no relevant one
    assert roc(two_runs()).mean().area == pytest.approx(np.array([1.0, 0.0]))


def test_roc_refuses_a_collection_that_is_too_small() -> None:
    with pytest.raises(UsageError, match="N == 2, but a topic has 3 documents"):
        roc(Assessed.one([1, 0, 0]), N=2)


def test_recall_is_where_the_curve_ends() -> None:
    assert precision_recall(Assessed.one([1, 0, 1], [1]), "run", "topic").x[-1] == R().of([1, 0, 1], [1])
