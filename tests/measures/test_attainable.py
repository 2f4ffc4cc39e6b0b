"""nDIN-nDCG and nP+Q against brute force: the best score of all permutations of all subsets of the judged documents."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assessed.hits_by_intent import intents_of, with_intents
from cranfield.assessed.lists import Assessed
from cranfield.measures import Measure, parse
from cranfield.measures.several_needs import best_lists
from cranfield.measures.several_needs.attainable import Attainable

close = pytest.approx
Document = Mapping[str, float]
INTENTS = "abc"
documents = st.lists(
    st.dictionaries(st.sampled_from(INTENTS), st.integers(1, 3), min_size=1, max_size=3), min_size=1, max_size=4
)
topics = st.tuples(documents, st.sets(st.sampled_from(INTENTS)), st.sampled_from([None, 1, 2, 3]))
NORMALISED = [
    ("nDIN-nDCG", "DIN-nDCG"),
    ("nDIN-nDCG(recall=0.5)", "DIN#-nDCG"),
    ("nDIN-nDCG(recall=0.2,gain={1:1,2:3,3:7})", "DIN#-nDCG(gamma=0.2,gain={1:1,2:3,3:7})"),
    ("nP+Q", "P+Q"),
    ("nP+Q(recall=0.5)", "P+Q#"),
    ("nP+Q(rel=2,beta=0.5)", "P+Q(rel=2,beta=0.5)"),
    ("nP+Q(norm='R')", "P+Q(norm='R')"),
]
CHANCES = {"a": 0.5, "b": 0.3, "c": 0.2}


def every_list(judged: list[Document], navigational: set[str]) -> Iterator[Assessed]:
    """All orders of all subsets of the documents, each with the others missed."""
    for size in range(len(judged) + 1):
        for order in itertools.permutations(range(len(judged)), size):
            missed = [judged[i] for i in range(len(judged)) if i not in order]
            chances = {label: CHANCES[label] for each in judged for label in each}
            yield with_intents([judged[i] for i in order], missed, chances, navigational)


def at(name: str, cutoff: int | None) -> Measure:
    measure = parse(name)
    return measure if cutoff is None else measure @ cutoff


@pytest.mark.parametrize(("name", "plain"), NORMALISED)
@settings(max_examples=15, deadline=None)
@given(topic=topics)
def test_the_divisor_is_the_best_of_all_permutations(name: str, plain: str, topic: tuple) -> None:  # type: ignore[type-arg]
    judged, navigational, cutoff = topic
    scores = [at(plain, cutoff).evaluate(lists).item() for lists in every_list(judged, navigational)]
    normalised = [at(name, cutoff).evaluate(lists).item() for lists in every_list(judged, navigational)]
    most = np.nanmax(np.nan_to_num(scores))
    if most == 0:
        assert np.isnan(normalised).all()
        return
    assert normalised == close([score / most for score in np.nan_to_num(scores)], abs=1e-9)
    assert max(normalised) == close(1)
    (best,) = measure_of(name, cutoff).best(next(every_list(judged, navigational))).values()
    assert best.exact


def measure_of(name: str, cutoff: int | None) -> Attainable:
    measure = at(name, cutoff)
    assert isinstance(measure, Attainable)
    return measure


def test_by_hand() -> None:
    # One navigational intent n of probability 1/2 and an informational one i: documents {i, n}, {n} and {i}, grades 1.
    # DIN takes n once: the best list has gains 1, 1/2 and 0 with discounts 1, log2 3 and 2: the sum is 1 + 0.5/log2 3.
    judged: list[Document] = [{"i": 1, "n": 1}, {"n": 1}, {"i": 1}]
    best = with_intents([judged[0], judged[2]], [judged[1]], navigational=["n"])
    worse = with_intents([judged[0], judged[1]], [judged[2]], navigational=["n"])
    assert parse("nDIN-nDCG").evaluate(best).item() == close(1)
    assert parse("nDIN-nDCG").evaluate(worse).item() == close(1 / (1 + 0.5 / np.log2(3)))
    # Without the correction the ideal list counts n twice: 1 + 0.5/log2 3 + 0.5/2.
    assert parse("DIN-nDCG").evaluate(best).item() == close((1 + 0.5 / np.log2(3)) / (1 + 0.5 / np.log2(3) + 0.25))


def test_with_informational_intents_only_it_is_d_ndcg() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        judged = [{label: int(rng.integers(1, 4)) for label in INTENTS if rng.random() < 0.5} for _ in range(30)]
        lists = with_intents(judged[:10], judged[10:], CHANCES)
        assert parse("nDIN-nDCG@5").evaluate(lists).item() == close(parse("D-nDCG@5").evaluate(lists).item())


def test_a_best_list_that_is_not_found_is_bounded_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    judged = [{label: int(rng.integers(1, 4)) for label in INTENTS if rng.random() < 0.6} for _ in range(7)]
    lists = with_intents(judged, (), CHANCES, ["a"])
    measure = measure_of("nP+Q@4", None)
    exact = measure.best(lists)[0]
    assert exact.exact
    assert measure.note(lists) is None
    monkeypatch.setattr(best_lists, "MOST_LISTS", 5)
    again = lists.replace(intents=with_intents(judged, (), CHANCES, ["a"]).intents)
    bounded = measure.best(again)[0]
    assert not bounded.exact
    assert bounded.seen <= exact.seen <= bounded.bound
    assert "the best list is known for 0 of 1 topic" in (measure.note(again) or "")
    assert measure.evaluate(again).item() <= measure.evaluate(lists).item()


def test_bounds_hold_on_topics_of_the_size_of_real_ones() -> None:
    """Random lists never score above the divisor, and most best lists are found."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(6):
        labels = [str(i) for i in range(4)]
        judged = [{x: int(rng.choice([1, 2, 3])) for x in labels if rng.random() < 0.3} for _ in range(80)]
        judged = [each for each in judged if each]
        for name in ("nDIN-nDCG@10", "nP+Q@10"):
            measure = measure_of(name, None)
            lists = with_intents(judged, (), None, ["0", "1"])
            (best,) = measure.best(lists).values()
            found += best.exact
            for _ in range(20):
                order = rng.permutation(len(judged)).tolist()
                again = with_intents([judged[i] for i in order], (), None, ["0", "1"])
                assert measure.evaluate(again).item() <= 1 + 1e-12
            assert 0 < best.seen <= best.bound
    assert found >= 6
    assert intents_of(lists) is lists.intents
