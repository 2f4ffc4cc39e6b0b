"""Judging one document at a time: budgets, rules to stop, leases, documents from elsewhere; and whole pools."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.building.pools.pool_building import make_pool
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import POLICIES, Pooling
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from tests.building.pools.small_pools import as_runs, random_lists, random_relevance

ADAPTIVE = [name for name in POLICIES if POLICIES[name].adaptive]
ORDERED = [name for name in POLICIES if not POLICIES[name].samples]


def lists_of(seed: int = 1, **options: int) -> PooledLists:
    return PooledLists.of(as_runs(random_lists(seed, **options)))


def judge_all(pooling: Pooling, relevant: dict[tuple[str, str], bool]) -> list[tuple[str, str]]:
    seen = []
    while (offer := pooling.next()) is not None:
        seen.append((offer.topic, offer.doc))
        pooling.tell(offer.topic, offer.doc, relevant[seen[-1]])
    return seen


@pytest.mark.parametrize("name", ORDERED)
def test_a_budget_is_divided_evenly_and_never_exceeded(name: str) -> None:
    lists, relevant = lists_of(), random_relevance(random_lists(1), 1)
    seen = judge_all(Pooling(lists, name, budget=10), relevant)
    assert len(seen) == len(set(seen)) == 10
    counts = sorted(sum(topic == own for own, _ in seen) for topic in lists.topics)
    assert counts == [3, 3, 4]
    seen = judge_all(Pooling(lists, name, most_per_topic=2), relevant)
    assert [sum(topic == own for own, _ in seen) for topic in lists.topics] == [2, 2, 2]
    assert len(judge_all(Pooling(lists, name), relevant)) == lists.size


def test_a_topic_ends_after_a_run_of_non_relevant_documents() -> None:
    runs = {"x": {"q": {f"d{n}": float(-n) for n in range(9)}}}
    pooling = Pooling(PooledLists.of(runs), "depth", patience=3)
    grades = {"d0": 0, "d1": 0, "d2": 1, "d3": 0, "d4": 0, "d5": 0}
    seen = judge_all(pooling, {("q", doc): bool(grade) for doc, grade in grades.items()})
    assert [doc for _, doc in seen] == ["d0", "d1", "d2", "d3", "d4", "d5"]
    assert pooling.why_stopped("q") == "patience"


def test_a_topic_ends_if_the_estimate_is_low() -> None:
    runs = {"x": {"q": {f"d{n}": float(-n) for n in range(9)}}}
    pooling = Pooling(PooledLists.of(runs), "max-mean", least=0.3)
    # Nothing is relevant: the estimates are 1/2, 1/3, 1/4.
    assert len(judge_all(pooling, {("q", f"d{n}"): False for n in range(9)})) == 2
    assert pooling.why_stopped("q") == "least"
    with pytest.raises(UsageError, match="the estimate of hedge is not a probability"):
        Pooling(PooledLists.of(runs), "hedge", least=0.3)


@pytest.mark.parametrize("name", POLICIES)
def test_documents_with_other_assessors_are_not_offered_again(name: str) -> None:
    lists = lists_of(2)
    pooling = Pooling(lists, name, most_per_topic=5)
    out: list[tuple[str, str]] = []
    while (offer := pooling.next("t1", without=out)) is not None:
        out.append((offer.topic, offer.doc))
    assert len(out) == len(set(out))
    assert len(out) <= 5 if POLICIES[name].samples else len(out) == 5
    first = pooling.next("t1")
    assert first is not None
    assert first.doc == out[0][1]  # nothing was judged, so nothing has changed
    other = pooling.next(without=out)
    assert other is not None
    assert other.topic != "t1"


def test_documents_of_no_run_are_kept_apart() -> None:
    pooling = Pooling(lists_of(), "max-mean").replay([("t0", "nowhere", 1), ("t9", "d01", 1)])
    assert (pooling.judged, pooling.outside) == (0, [("t0", "nowhere"), ("t9", "d01")])


def test_judging_twice_is_an_error() -> None:
    pooling = Pooling(lists_of(), "max-mean")
    offer = pooling.next()
    assert offer is not None
    pooling.tell(offer.topic, offer.doc, 1)
    with pytest.raises(UsageError, match="is judged already"):
        pooling.tell(offer.topic, offer.doc, 0)
    with pytest.raises(UsageError, match="is judged twice"):
        Pooling(lists_of(), "max-mean").replay([(offer.topic, offer.doc, 1), (offer.topic, offer.doc, 0)])
    with pytest.raises(UsageError, match="no topic 't9'"):
        pooling.next("t9")


def test_the_lowest_relevant_grade_counts() -> None:
    runs = {"x": {"q": {"a": 9, "b": 8}}}
    for rel, estimate in ((1, 2 / 3), (2, 1 / 3)):
        offer = Pooling(PooledLists.of(runs), "max-mean", rel=rel).replay([("q", "a", 1)]).next()
        assert offer is not None
        assert offer.estimate == pytest.approx(estimate)


# -- whole pools


@pytest.mark.parametrize("name", ["depth", "rrf", "rbp"])
def test_a_pool_of_a_fixed_order_is_what_judging_one_by_one_gives(name: str) -> None:
    by_topic = random_lists(5)
    lists, relevant = PooledLists.of(as_runs(by_topic)), random_relevance(by_topic, 5)
    for options in ({}, {"budget": 11}, {"most_per_topic": 4}, {"budget": 9, "most_per_topic": 4}):
        pool = make_pool(lists, name, **options)
        seen = judge_all(Pooling(lists, name, **options), relevant)
        for topic in lists.topics:
            assert pool.docs(topic) == [doc for own, doc in seen if own == topic]


@pytest.mark.parametrize("name", ["rrf", *ADAPTIVE])
def test_judged_documents_use_the_budget_and_are_not_offered(name: str) -> None:
    by_topic = random_lists(5)
    lists, relevant = PooledLists.of(as_runs(by_topic)), random_relevance(by_topic, 5)
    log = [("t0", doc, int(relevant["t0", doc])) for doc in lists.docs(0)[:4]]
    pool = make_pool(lists, name, budget=9, judged=Qrels.of(iter(log)))
    assert not set(pool.docs("t0"))  # t0 has 4 judgments; 5 are left for t1 and t2
    assert sorted([len(pool.docs("t1")), len(pool.docs("t2"))]) == [2, 3]
    spent = make_pool(lists, name, budget=3, judged=Qrels.of(iter(log)))
    assert len(spent) == 0


def test_the_first_batch_of_an_adaptive_method_takes_runs_in_turn_and_says_so() -> None:
    runs = {f"r{r}": {"q": {f"d{r}-{n}": float(-n) for n in range(9)}} for r in range(4)}
    pool = make_pool(PooledLists.of(runs), "max-mean", batch=8)
    assert sorted(pool.rank.tolist()) == [1, 1, 1, 1, 2, 2, 2, 2]
    assert any("8 documents are chosen with 0 judgments" in note for note in pool.notes)
    assert pool.order.tolist() == list(range(1, 9))


def test_the_next_batch_continues_the_order() -> None:
    runs = {"x": {"q": {f"d{n}": float(-n) for n in range(9)}}}
    pool = make_pool(PooledLists.of(runs), "max-mean", judged=Qrels.of({"q": {"d0": 1, "d1": 0}}), batch=2)
    assert list(zip(pool.doc.tolist(), pool.order.tolist(), pool.estimate.tolist(), strict=True)) == [
        ("d2", 3, 0.5), ("d3", 4, 0.5),
    ]  # fmt: skip


def test_notes_count_what_is_odd() -> None:
    lists = lists_of()
    qrels = Qrels.of({"t0": {"nowhere": 1}, "t8": {"d01": 1}})
    notes = make_pool(lists, "depth", budget=1000, most_per_topic=500, judged=qrels).notes
    for text in (
        "1 judged topic is in no run: t8",
        "1 judged document is in no list to this depth, and not counted: t0/nowhere",
        f"the budget is 1,000, but the lists have {lists.size} documents",
        "3 topics have fewer documents than the 500 per topic: t0, t1, t2",
    ):
        assert any(text in note for note in notes), text


@pytest.mark.parametrize("method", ["depth", "max-mean", "sample"])
def test_judged_topics_that_were_not_chosen_are_not_called_absent(method: str) -> None:
    runs = {"x": {topic: {"a": 2.0, "b": 1.0} for topic in "123"}}
    judged = Qrels.of({topic: {"a": 1} for topic in "1234"})
    pool = make_pool(PooledLists.of(runs, topics=["1"]), method, judged=judged, budget=2)
    assert set(pool.topic) == {"1"}
    assert not any("in no run" in note for note in pool.notes)
    every = make_pool(PooledLists.of(runs), method, judged=judged, budget=6)
    assert "1 judged topic is in no run: 4" in every.notes


def test_rules_of_other_methods_are_refused() -> None:
    for options in ({"batch": 3}, {"patience": 3}, {"least": 0.5}, {"rel": 2}):
        with pytest.raises(UsageError, match="applies only to adaptive methods; rrf is not adaptive"):
            make_pool(lists_of(), "rrf", **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="strata apply only to the method stratified"):
        make_pool(lists_of(), "rrf", strata=((10, None),))  # type: ignore[arg-type]
    for options in ({"budget": 0}, {"most_per_topic": 0}, {"budget": 1.5}):
        with pytest.raises(UsageError, match="must be a whole number, 1 or more"):
            make_pool(lists_of(), "rrf", **options)  # type: ignore[arg-type]


def test_a_sampled_pool_lists_every_document() -> None:
    lists = lists_of()
    pool = make_pool(lists, "stratified", most_per_topic=4, seed=3)
    assert pool.is_sample
    assert len(pool) == 12
    assert len(pool.doc) == lists.size
    assert pool.probability is not None
    assert pool.stratum is not None
    for topic in pool.topics:
        own = (pool.topic == topic) & pool.offered
        assert sorted(pool.order[own].tolist()) == [1, 2, 3, 4]
    every = np.bincount(np.unique(pool.topic.astype(str), return_inverse=True)[1], pool.probability)
    assert every == pytest.approx([4, 4, 4])  # probabilities add up to the size of the sample
