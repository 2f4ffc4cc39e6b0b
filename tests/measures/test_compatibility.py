"""Compatibility: compared with ir_measures and with a loop over depths."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import Compat, parse
from tests.oracles.joined import collections, graded_lists, joined

Collection = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]
Graded = tuple[list[float | None], list[float]]


@pytest.mark.peers
@settings(max_examples=100, deadline=None)
@given(collection=collections(ties=False), p=st.sampled_from([0.0, 0.5, 0.8, 0.95]), normalize=st.booleans())
def test_agrees_with_ir_measures(collection: Collection, p: float, normalize: bool) -> None:
    judgments, run = collection
    run = {
        topic: {doc: score + 1 for doc, score in scores.items()} for topic, scores in run.items()
    }  # 0: not retrieved
    theirs = ir_measures.iter_calc([ir_measures.Compat(p=p, normalize=normalize)], judgments, run)
    lists = joined(judgments, {"run": run})
    ours = dict(zip(lists.topics, Compat(p=p, normalize=normalize).evaluate(lists).tolist(), strict=True))
    for metric in theirs:
        mine = ours[metric.query_id]
        assert (0.0 if math.isnan(mine) else mine) == pytest.approx(metric.value, abs=1e-12)


def overlap(ranking: list[int], ideal: list[int], p: float, depth: int) -> float:
    return sum(p ** (d - 1) * len(set(ranking[:d]) & set(ideal[:d])) / d for d in range(1, depth + 1))


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists(), cutoff=st.integers(1, 20))
def test_compat_agrees_with_its_definition(graded: Graded, cutoff: int) -> None:
    grades, missed = graded
    every = [grade or 0 for grade in grades] + list(missed)
    ranking = list(range(len(grades)))
    ideal = [at for at in sorted(range(len(every)), key=lambda at: (-every[at], at)) if every[at] > 0]
    depth = min(cutoff, max(len(ranking), len(ideal)))
    best = overlap(ideal, ideal, 0.8, depth)
    expected = overlap(ranking, ideal, 0.8, depth) / best if best else math.nan
    assert (Compat(p=0.8) @ cutoff).of(*graded) == pytest.approx(expected, nan_ok=True)


def test_by_hand() -> None:
    # the ideal ranking is the second document alone: overlap 0, 1/2; ideal 1, 1/2
    assert Compat(p=0.5).of([0, 1]) == pytest.approx((0.5 * 1 / 2) / (1 + 0.5 * 1 / 2))
    assert Compat(p=0.5, normalize=False).of([0, 1]) == pytest.approx((0.5 * 1 / 2) / (1 + 0.5))
    assert Compat(normalize=False).of([0, None]) == 0
    assert Compat(normalize=False).of([]) == 0


def test_documents_of_one_grade_may_come_in_any_order() -> None:
    assert Compat().of([2, 1, 1, 0]) == pytest.approx(1)
    assert Compat().of([1, 2, 1]) < 1


def test_only_the_order_of_grades_matters() -> None:
    assert Compat().of([1, 0, 3]) == Compat().of([0.2, 0, 0.7]) == Compat().of([10, 0, 1000])


def test_a_cutoff_beyond_the_list_changes_nothing() -> None:
    assert (Compat() @ 10**15).of([1, 0, 1], [2]) == Compat().of([1, 0, 1], [2])


def test_the_spelling_of_ir_measures_is_accepted() -> None:
    written = ir_measures.Compat(p=0.8, normalize=False)
    assert parse(str(written)) == Compat(p=0.8, normalize=False)
    assert parse("Compat") == Compat()


@pytest.mark.parametrize("p", [1, 1.2, -0.1])
def test_p_out_of_range_is_refused(p: float) -> None:
    with pytest.raises(UsageError, match=f"p == {p}"):
        Compat(p=p)


def test_many_lists_at_once() -> None:
    lists = Assessed.from_table(
        ["a", "a", "b"], ["1", "2", "1"], [1, 2, 3], [1, 2, 1],
        judged={"1": [1, 0], "2": [2, 1]}, retrieved={("a", "1"): 1, ("a", "2"): 3, ("b", "1"): 3, ("b", "2"): 2},
    )  # fmt: skip
    alone = [Compat().of([1], [0]), Compat().of([None, 2, None], [1]), Compat().of([None, None, 1], [0]), 0]
    assert Compat().evaluate(lists).tolist() == pytest.approx(alone)
