"""The expected score under ties is the mean over all orders of the tied documents."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assessed.changed_lists.tied_orders import ENUMERATED
from cranfield.assessed.lists import Assessed
from cranfield.measures import AP, Measure, P
from tests.laws.instances import ALL, ENDS_AT_THE_BEST, MOVES_ABOUT, STOPS_AFTER_CLICKS, STOPS_WHEN_SATISFIED
from tests.oracles.joined import side_by_side

Groups = list[list[float | None]]

groups = st.lists(st.lists(st.sampled_from([None, 0, 1, 3]), min_size=1, max_size=3), min_size=1, max_size=3)


def tied(ties: Groups, missed: list[float]) -> Assessed:
    """One list; the documents of each group are tied."""
    flat = [grade for group in ties for grade in group]
    lists = Assessed.one(flat, missed)
    bounds = []
    rank = 0
    for group in ties:
        bounds += [(rank + 1, rank + len(group)) for grade in group if grade is not None]
        rank += len(group)
    first, last = np.array(bounds, dtype=np.int64).reshape(-1, 2).T
    return lists.replace(tie_first=first, tie_last=last)


def orders(ties: Groups, missed: list[float]) -> Assessed:
    """Every order of the tied documents, one list each."""
    flat = [grade for group in ties for grade in group]
    every = [[g for group in choice for g in group] for choice in product(*(permutations(group) for group in ties))]
    return side_by_side(every, [grade for grade in flat if grade is not None] + missed)


@settings(max_examples=40, deadline=None)
@given(ties=groups, missed=st.lists(st.sampled_from([0, 1, 3]), max_size=3))
def test_expected_is_the_mean_over_all_orders_for_every_measure(ties: Groups, missed: list[float]) -> None:
    lists, every = tied(ties, missed), orders(ties, missed)
    for measure in ALL:
        mean = np.mean(measure.evaluate(every))
        score = measure.view("ties").evaluate(lists)[0]
        assert score == pytest.approx(mean, rel=1e-12, abs=1e-12, nan_ok=True), measure


@settings(max_examples=40, deadline=None)
@given(ties=groups, missed=st.lists(st.sampled_from([0, 1, 3]), max_size=3))
def test_views_under_ties_compose(ties: Groups, missed: list[float]) -> None:
    lists, every = tied(ties, missed), orders(ties, missed)
    for name in ("condensed", "best", "worst"):
        for measure in (P() @ 2, AP()):
            mean = np.mean(measure.view(name).evaluate(every))
            for views in ((name, "ties"), ("ties", name)):
                score = measure.view(*views).evaluate(lists)[0]
                assert score == pytest.approx(mean, abs=1e-12, nan_ok=True), (measure, views)


@settings(max_examples=30, deadline=None)
@given(ties=groups, missed=st.lists(st.sampled_from([0, 1, 3]), max_size=3))
def test_best_and_worst_orders_enclose_the_others(ties: Groups, missed: list[float]) -> None:
    lists, every = tied(ties, missed), orders(ties, missed)
    exceptions = ENDS_AT_THE_BEST | STOPS_WHEN_SATISFIED | STOPS_AFTER_CLICKS | MOVES_ABOUT
    for measure in (m for m in ALL if m.properties.better == "higher" and m.name not in exceptions):
        scores = measure.evaluate(every)
        best, worst = (measure.view(f"ties={reading}").evaluate(lists)[0] for reading in ("best", "worst"))
        assert best == pytest.approx(scores.max(), abs=1e-12, nan_ok=True), measure
        assert worst == pytest.approx(scores.min(), abs=1e-12, nan_ok=True), measure


def test_a_large_tie_is_sampled_near_its_expectation_and_reproducibly() -> None:
    # 30 tied documents, 10 relevant, compared with 4,000 shuffles by another generator, within four standard errors
    documents: list[float | None] = [*[1] * 10, *[0] * 20]
    lists = tied([documents], [])
    measure = AP().view("ties")
    score = measure.evaluate(lists)[0]
    rng = np.random.default_rng(20240229)
    shuffled = [rng.permutation(np.array(documents, dtype=np.float64)).tolist() for _ in range(4000)]
    mean = AP().evaluate(side_by_side(shuffled, [1] * 10 + [0] * 20))
    error = np.hypot(mean.std() / np.sqrt(4000), mean.std() / np.sqrt(ENUMERATED))
    assert abs(score - mean.mean()) < 4 * error
    assert measure.evaluate(tied([documents], []))[0] == score


def test_a_long_tie_of_an_additive_measure_is_exact() -> None:
    # 1,000 tied documents, 10 relevant: each is among the first 10 with probability 1/100
    lists = tied([[*[1] * 10, *[None] * 990]], [])
    assert (P() @ 10).view("ties").evaluate(lists).tolist() == pytest.approx([10 / 100 / 10])


def test_lists_without_tie_bounds_are_an_error() -> None:
    with pytest.raises(ValueError, match="do not say which documents are tied"):
        AP().view("ties").of([1, 0])


def test_many_lists_are_expanded_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cranfield.views.ties.MOST_HITS", 5)
    many = side_by_side([[1, 0, 1], [0, 1, 1], [], [1, 1, 0]], [1, 1, 0])
    many = many.replace(tie_first=np.ones(9, dtype=np.int64), tie_last=np.full(9, 3))
    measure: Measure = (P() @ 1).view("ties")
    assert measure.evaluate(many).tolist() == pytest.approx([2 / 3, 2 / 3, 0, 2 / 3])
