"""Hits by intent: the core compared with slow Python versions, and the arguments that it refuses."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield import _core
from cranfield.assessed.intents import judged_by_intent
from cranfield.collection.qrels import Qrels
from cranfield.errors import CranfieldWarning
from tests.oracles.by_intent import Columns, columns


def whole(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def arguments(columns: Columns) -> tuple[Any, ...]:
    row, document = (whole(*(hit[i] for hit in columns.hits)) for i in (0, 1))
    nth = np.array([intent for document in columns.documents for intent in document], dtype=np.int32)
    return row, document, whole(*columns.intents), whole(*columns.start), nth


@settings(max_examples=100, deadline=None)
@given(case=columns())
def test_the_core_agrees_with_slow_python_versions(case: Columns) -> None:
    assert (
        list(zip(*(column.tolist() for column in _core.intents_before(*arguments(case))), strict=True)) == case.before()
    )
    assert (
        list(zip(*(column.tolist() for column in _core.hits_by_intent(*arguments(case))), strict=True))
        == case.by_intent()
    )
    rank = np.arange(len(case.hits), dtype=np.int32) + 7
    grade = np.arange(case.start[-1]) / 4
    start, *columns_of_lists = (column.tolist() for column in _core.lists_by_intent(*arguments(case), rank, grade))
    lists = [list(parts) for parts in zip(*columns_of_lists, strict=True)]
    expected: list[list[list[float]]] = [[] for _ in range(sum(case.intents))]
    for number, hit, entry in case.by_intent():
        expected[number].append([len(expected[number]) + 1, hit + 7, entry / 4])
    assert [lists[begin:end] for begin, end in pairwise(start)] == expected


ONE = arguments(Columns([[0, 1], [1]], [2, 2], [[0, 1], [1]]))


def lists_by_intent(*columns: Any) -> Any:
    return _core.lists_by_intent(*columns, np.array([1, 2, 1], dtype=np.int32), np.ones(len(columns[4])))


@pytest.mark.parametrize("ask", [_core.intents_before, _core.hits_by_intent, lists_by_intent])
@pytest.mark.parametrize(
    ("place", "column", "error"),
    [
        (0, whole(1, 0, 1), ValueError),  # lists not in order
        (0, whole(0, 0, 2), ValueError),  # there is no such list
        (0, whole(0, 0), ValueError),
        (1, whole(0, 2, 1), IndexError),  # there is no such document
        (1, whole(0, -1, 1), IndexError),
        (2, whole(2, 1), IndexError),  # the second topic has no second intent
        (2, whole(2, -1), IndexError),
        (3, whole(0, 2, 4), IndexError),  # more entries than there are
        (3, whole(0, 4, 3), IndexError),
        (3, whole(-1, 2, 3), IndexError),
        (3, whole(), IndexError),
        (4, np.array([0, 1, -1], dtype=np.int32), IndexError),
    ],
)
def test_numbers_out_of_bounds_are_refused(ask: Callable[..., Any], place: int, column: Any, error: type) -> None:
    assert ask(*ONE)
    with pytest.raises(error):
        ask(*ONE[:place], column, *ONE[place + 1 :])


def test_columns_must_have_the_same_length() -> None:
    rank, grade = np.ones(3, dtype=np.int32), np.ones(3)
    assert _core.lists_by_intent(*ONE, rank, grade)
    for arguments_of_call in ((rank[:2], grade), (rank, grade[:2])):
        with pytest.raises(ValueError, match="columns of different lengths"):
            _core.lists_by_intent(*ONE, *arguments_of_call)


@pytest.mark.parametrize(
    ("topic_start", "intents", "lasting", "error"),
    [
        (whole(0, 3), whole(2), 0.5, IndexError),
        (whole(-1, 2), whole(2), 0.5, IndexError),
        (whole(0, 2), whole(1), 0.5, IndexError),
        (whole(0, 2), whole(-1), 0.5, IndexError),
        (whole(0, 2), whole(2, 2), 0.5, ValueError),
        (whole(0, 2), whole(2), 1.5, ValueError),
        (whole(0, 2), whole(2), float("nan"), ValueError),
    ],
)
def test_greedy_ideal_checks_bounds(topic_start: Any, intents: Any, lasting: float, error: type) -> None:
    start, nth = ONE[3:]
    alike = np.zeros(0)
    assert _core.greedy_ideal(whole(0, 2), whole(2), start, nth, alike, alike, 0.5, 9)[1].tolist() == [2.0, 0.5]
    with pytest.raises(error):
        _core.greedy_ideal(topic_start, intents, start, nth, alike, alike, lasting, 9)


@pytest.mark.parametrize("worth", [[1.0, 1.0], [1.0] * 4, [1.0, -1.0, 1.0], [math.nan, 1.0, 1.0], [1.0, 1.0, math.inf]])
def test_greedy_ideal_needs_a_worth_for_every_entry(worth: list[float]) -> None:
    start, nth = ONE[3:]  # the first document has entries for both intents, the second only for the second intent
    worths, alike = np.array([0.25, 1.0, 3.0]), np.zeros(0)
    # 3 for the second document; then the first one's 0.25, and half of 1
    assert _core.greedy_ideal(whole(0, 2), whole(2), start, nth, worths, alike, 0.5, 9)[1].tolist() == [3.0, 0.75]
    with pytest.raises(ValueError, match=r"columns of different lengths|must be 0 or more"):
        _core.greedy_ideal(whole(0, 2), whole(2), start, nth, np.array(worth), alike, 0.5, 9)


@pytest.mark.parametrize(
    ("worth", "share", "message"),
    [
        ([], [1.0, 1.0], "between 0 and 1"),
        ([0.5, 0.5, 1.5], [1.0, 1.0], "between 0 and 1"),
        ([0.5, 0.5, 0.5], [1.0], "columns of different lengths"),
        ([0.5, 0.5, 0.5], [1.0, -1.0], "the share of an intent must be 0 or more"),
    ],
)
def test_a_greedy_cascade_needs_probabilities(worth: list[float], share: list[float], message: str) -> None:
    start, nth = ONE[3:]
    satisfied, shares = np.array([0.5, 0.25, 1.0]), np.array([0.5, 1.0])
    # 1 for the second document, which leaves nothing of its intent; then 0.5 · 0.5 for the first one
    gains = _core.greedy_ideal(whole(0, 2), whole(2), start, nth, satisfied, shares, None, 9)[1]
    assert gains.tolist() == [1.0, 0.25]
    with pytest.raises(ValueError, match=message):
        _core.greedy_ideal(whole(0, 2), whole(2), start, nth, np.array(worth), np.array(share), None, 9)


def test_one_place_is_needed_for_each_label() -> None:
    table = Qrels.of(b"1 a d1 1\n1 b d1 0\n").table
    with pytest.raises(ValueError, match="one place for each label"):
        _core.by_document(table, whole(0))
    with pytest.raises(ValueError, match="one place for each label"):
        _core.documents_by_intent(table, whole(0))


LINE = st.tuples(st.sampled_from("12"), st.sampled_from(["1", "2", "10", "x"]), st.sampled_from(["a", "b", "é", "ba"]))


@settings(max_examples=50, deadline=None)
@given(
    lines=st.dictionaries(LINE, st.integers(0, 3), min_size=1)
    .map(lambda found: list(found.items()))
    .flatmap(st.permutations)
)
def test_documents_and_intents_do_not_depend_on_the_order_of_lines(lines: list[Any]) -> None:
    text = "".join(f"{topic} {intent} {doc} {grade}\n" for (topic, intent, doc), grade in lines)
    qrels = Qrels.of(text.encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        judged_documents, intents = judged_by_intent(qrels)
    places = ["1", "2", "10", "x"]
    useful = {(topic, intent) for (topic, intent, _), grade in lines if grade >= 1}
    judged = [(qrels.table.topics.index(topic), doc.encode(), grade) for (topic, _, doc), grade in lines]
    expected = sorted(
        (qrels.table.topics.index(topic), doc.encode(), places.index(intent), grade)
        for (topic, intent, doc), grade in lines
        if (topic, intent) in useful
    )
    actual = [
        (topic, places.index(intents.names[intent]), grade)
        for topic, intent, grade in zip(
            intents.topic_of_document[intents.document].tolist(), intents.intent.tolist(), intents.grade.tolist(),
            strict=True,
        )
    ]  # fmt: skip
    assert actual == [(topic, intent, grade) for topic, _, intent, grade in expected]
    documents = sorted({(topic, doc) for topic, doc, _ in judged})
    assert intents.document.tolist() == [documents.index((topic, doc)) for topic, doc, _, _ in expected]
    assert judged_documents.grade.tolist() == [
        max(g for t, d, g in judged if (t, d) == document) for document in documents
    ]
