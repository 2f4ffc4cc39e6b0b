"""Ideal lists with sets of documents that are relevant only together, against all orders."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assessed import ideal_of_sets
from cranfield.assessed.ideal_of_sets import best_order, most_gain
from tests.laws.instances import ALL

UNITS = st.lists(st.tuples(st.sampled_from([0.5, 1.0, 2.0, 3.0, 7.0]), st.integers(1, 3)), min_size=1, max_size=5)
Units = list[tuple[float, int]]


def by_rank(order: Any) -> list[float]:
    """The gain at each rank of a list of units."""
    return [gain if place == size else 0.0 for gain, size in order for place in range(1, size + 1)]


def arrays(units: Units) -> tuple[Any, Any]:
    return np.array([gain for gain, _ in units]), np.array([size for _, size in units])


def dcg(gains: list[float], cutoff: int | None) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:cutoff], 1))


@given(UNITS)
def test_most_gain_is_the_largest_of_all_orders_at_each_rank(units: Units) -> None:
    lists = [np.cumsum(by_rank(order)) for order in itertools.permutations(units)]
    assert most_gain(*arrays(units)) == pytest.approx(np.max(lists, axis=0))


@given(UNITS, st.sampled_from([None, 1, 2, 5]))
def test_the_best_order_is_the_best_of_all_orders(units: Units, cutoff: int | None) -> None:
    best = max(dcg(by_rank(order), cutoff) for order in itertools.permutations(units))
    found = best_order(*arrays(units), lambda before, after, rank: (after - before) / np.log2(rank + 1), cutoff)
    assert found == pytest.approx(best)


def test_many_sets_are_not_searched() -> None:
    """17 pairs of different gains have 2^17 subsets."""
    gains, sizes = np.arange(1.0, 18.0), np.full(17, 2)
    assert best_order(gains, sizes, lambda before, after, rank: after - before) is None
    assert best_order(np.ones(17), sizes, lambda before, after, rank: after - before) == 17  # all of one kind


def test_the_best_list_of_a_pair_and_a_document_has_ndcg_1() -> None:
    """A pair of grade 3 and a document of grade 1: 1 + 3/2 beats 3/log2(3) + 1/2, though the pair gains more."""
    qrels = {"q": {"p1": 3, "p2": 3, "s": 1}}
    scores = {
        order: cf.evaluate(
            qrels, {"mine": {"q": {doc: -float(at) for at, doc in enumerate(order.split())}}}, ["nDCG"],
            together={"q": {"pair": ["p1", "p2"]}},
        ).mean()["mine"]["nDCG"]
        for order in ("s p1 p2", "p1 p2 s")
    }  # fmt: skip
    assert scores == pytest.approx({"s p1 p2": 1.0, "p1 p2 s": (3 / math.log2(3) + 1 / 2) / (1 + 3 / 2)})


@st.composite
def collections(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Judgments of one topic, a run, and sets of some of the documents."""
    units = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    sets = [[f"d{n}{letter}" for letter in "abc"[:size]] for n, size in enumerate(units)]
    documents = [doc for members in sets for doc in members]
    grades = {doc: draw(st.integers(0, 3)) for doc in documents} | {documents[0]: draw(st.integers(1, 3))}
    order = draw(st.permutations([*documents, "x"]))
    run = {doc: -float(rank) for rank, doc in enumerate(order)}
    return {"q": grades}, {"q": run}, {"q": {str(n): members for n, members in enumerate(sets)}}


@pytest.mark.parametrize("search", [True, False], ids=["exact", "bound"])
@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
@given(collection=collections())
@settings(deadline=None, max_examples=60)
def test_measures_stay_in_their_range(collection: Any, search: bool) -> None:
    """All measures of the registry, such as nDCG, nERR, gAP and Q, which are at most 1."""
    qrels, run, sets = collection
    with pytest.MonkeyPatch.context() as patch:
        if not search:
            patch.setattr(ideal_of_sets, "STATES", 0)
        scores = cf.evaluate(qrels, {"mine": run}, ALL, together=sets).to_dict()["mine"]["q"]
    for measure in ALL:
        value, allowed = scores[str(measure)], measure.properties
        assert math.isnan(value) or allowed.low - 1e-12 <= value <= allowed.high + 1e-12, (str(measure), value)
