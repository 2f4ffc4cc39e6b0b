"""A budget is shared over topics and holds, and the order of documents tells nothing about their ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import Pooling
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.judging_modes import Document, PoolEntry, Settings
from cranfield.building.serve.project.proposals import TOGETHER, Adaptive
from cranfield.building.serve.project.store import Store
from cranfield.collection.topics import Topics
from cranfield.errors import UsageError
from tests.building.serve.working import Clock, counts, say, wipe, work

# ---- a budget


def adaptive_runs(topics: int, docs: int) -> dict[str, dict[str, dict[str, float]]]:
    """Two runs; the second has the documents of the first in the reverse order."""
    names = {f"{number}": [f"d{at}" for at in range(docs)] for number in range(1, topics + 1)}
    return {
        "up": {topic: {doc: -at for at, doc in enumerate(own)} for topic, own in names.items()},
        "down": {topic: {doc: at for at, doc in enumerate(own)} for topic, own in names.items()},
    }


def adaptive_project(store: Store, topics: int = 6, docs: int = 30, method: str = "max-mean") -> Callable[[], Adaptive]:
    """A project of `store` whose documents a policy chooses."""
    runs = adaptive_runs(topics, docs)
    lists = PooledLists.of(runs)
    store.add_topics(Topics.from_dict({topic: f"topic {topic}" for topic in runs["up"]}))
    store.add_pool(PoolEntry(topic, doc, {}) for topic, own in runs["up"].items() for doc in own)
    return lambda: Adaptive(lambda: Pooling(lists, method))


def by_topic(store: Store) -> dict[str, int]:
    return dict(store.database.read("SELECT topic, COUNT(*) FROM current_qrels GROUP BY topic ORDER BY topic"))


@pytest.mark.parametrize("order", ["own", "pool"])
def test_an_adaptive_budget_is_shared_equally_over_topics(sqlite_store: Store, order: str) -> None:
    """50 judgments over 6 topics: 8 each, and one more for the first two."""
    make = adaptive_project(sqlite_store)
    sqlite_store.set_settings(sqlite_store.settings().changed(budget=50, order=order))
    work(Judging(sqlite_store, make), "anna")
    assert by_topic(sqlite_store) == {"1": 9, "2": 9, "3": 8, "4": 8, "5": 8, "6": 8}


def test_a_topic_with_few_documents_leaves_its_part_of_the_budget_to_others(sqlite_store: Store) -> None:
    """Topics 1 and 2 have ten documents each. 25 judgments: 4 of topic 3, 10 of 1, 10 of 2 are all that is there."""
    sqlite_store.add_topics(Topics.from_dict({"3": "few documents"}))
    sqlite_store.add_pool(PoolEntry("3", f"d{at}", {}) for at in range(4))
    sqlite_store.set_settings(sqlite_store.settings().changed(budget=18))
    work(Judging(sqlite_store), "anna")
    assert by_topic(sqlite_store) == {"1": 7, "2": 7, "3": 4}


def test_per_topic_limits_each_topic_and_both_limits_hold(sqlite_store: Store) -> None:
    make = adaptive_project(sqlite_store)
    sqlite_store.set_settings(sqlite_store.settings().changed(most_per_topic=4))
    judging = Judging(sqlite_store, make)
    work(judging, "anna")
    assert by_topic(sqlite_store) == dict.fromkeys("123456", 4)
    sqlite_store.set_settings(sqlite_store.settings().changed(budget=27, most_per_topic=5))
    judging.reload()
    work(judging, "ben")
    assert by_topic(sqlite_store) == {"1": 5, "2": 5, "3": 5, "4": 4, "5": 4, "6": 4}


def test_an_adaptive_share_goes_where_relevant_documents_are(sqlite_store: Store) -> None:
    """72 judgments of 6 topics: 6 each for sure, and the other 36 go to the topics with relevant documents."""
    make = adaptive_project(sqlite_store)
    sqlite_store.set_settings(sqlite_store.settings().changed(budget=72, share="adaptive", order="own"))
    judging = Judging(sqlite_store, make)
    given = judging.offers("anna").result(10)
    while given.offers:
        offer = given.offers[0]
        given = say(judging, "anna", offer, 1.0 if offer.topic in "35" else 0.0)
    done = by_topic(sqlite_store)
    assert sum(done.values()) == 72
    assert min(done.values()) == 6  # by arithmetic: 72 / 2 / 6
    assert done["3"] + done["5"] >= 40  # all steps but the first few, which come before a grade is known


def test_a_budget_finishes_documents_that_were_begun(sqlite_store: Store) -> None:
    """With an overlap of 2, a budget of 12 is six documents that both assessors judge, three of each topic."""
    for order in ("own", "pool"):
        sqlite_store.set_settings(sqlite_store.settings().changed(budget=12, overlap=2, order=order))
        judging = Judging(sqlite_store)
        for name in ("anna", "ben", "cleo"):
            work(judging, name)
        assert sorted(counts(sqlite_store).values()) == [2] * 6
        assert by_topic(sqlite_store) == {"1": 6, "2": 6}
        sqlite_store.database.write(wipe)


def test_a_budget_takes_the_first_documents_of_the_pool_in_any_order(sqlite_store: Store) -> None:
    sqlite_store.set_settings(sqlite_store.settings().changed(budget=8, order="own"))
    done = work(Judging(sqlite_store), "anna")
    assert set(done) == {(topic, f"d{at}") for topic in "12" for at in range(4)}


def test_a_document_that_cannot_be_judged_leaves_its_place_in_the_budget_to_another(sqlite_store: Store) -> None:
    sqlite_store.set_settings(sqlite_store.settings().changed(budget=6, order="own"))
    judging = Judging(sqlite_store)
    first = judging.offers("anna").result(10).offers[0]
    say(judging, "anna", first, None, "cannot")
    done = work(judging, "anna")
    assert by_topic(sqlite_store) == {"1": 3, "2": 3}
    assert (first.topic, first.doc) not in done


def test_a_late_judgment_does_not_exceed_the_budget(sqlite_store: Store, clock: Clock) -> None:
    sqlite_store.set_settings(sqlite_store.settings().changed(budget=4))
    judging = Judging(sqlite_store, clock=clock)
    slow = judging.offers("anna").result(10).offers
    clock.now += 901  # the lease is 900 s, but anna's documents come first in the pool
    for offer in judging.offers("ben", topic="2").result(10).offers:
        say(judging, "ben", offer)
    work(judging, "ben")
    assert sum(counts(sqlite_store).values()) == 4
    for offer in slow:
        assert say(judging, "anna", offer).row is not None  # it is kept
    assert sum(counts(sqlite_store).values()) == 4


def test_a_search_does_not_exceed_the_budget(sqlite_store: Store) -> None:
    sqlite_store.set_settings(sqlite_store.settings().changed(budget=4))
    sqlite_store.add_documents([Document("far", "", "flutter of tails"), Document("d9", "", "tails")])
    judging = Judging(sqlite_store)
    say(judging, "anna", judging.find("anna", "1", "far", "tails").result(10).offers[0])
    work(judging, "anna")
    assert by_topic(sqlite_store) == {"1": 2, "2": 2}
    with pytest.raises(UsageError, match="the budget of topic '1' is spent"):
        judging.find("anna", "1", "d9", "tails").result(10)
    assert judging.find("anna", "1", "far", "tails").result(10).offers  # it may be judged again


def test_a_spent_budget_answers_a_search_for_gold_as_for_any_document(sqlite_store: Store) -> None:
    """Otherwise a search would tell which documents are gold."""
    sqlite_store.set_settings(sqlite_store.settings().changed(budget=4))
    sqlite_store.add_documents([Document("g1", "", "tails"), Document("g2", "", "tails")])
    sqlite_store.add_gold([("1", "g1", 2), ("1", "g2", 2)])
    judging = Judging(sqlite_store)
    say(judging, "anna", judging.find("anna", "1", "g1", "tails").result(10).offers[0])
    work(judging, "anna")
    with pytest.raises(UsageError, match="the budget of topic '1' is spent"):
        judging.find("anna", "1", "g2", "tails").result(10)
    assert judging.find("anna", "1", "g1", "tails").result(10).offers  # as any document that was judged before


def test_a_second_judgment_of_what_a_policy_chose_is_asked_for_after_a_restart(sqlite_store: Store) -> None:
    make = adaptive_project(sqlite_store)
    sqlite_store.set_settings(sqlite_store.settings().changed(overlap=2, budget=24))
    work(Judging(sqlite_store, make), "anna")
    work(Judging(sqlite_store, make), "ben")
    assert sorted(counts(sqlite_store).values()) == [2] * 12


# ---- an order that tells nothing


def own_order(store: Store) -> None:
    store.set_settings(store.settings().changed(order="own"))


def test_every_assessor_has_an_order_of_their_own_which_survives_restarts(sqlite_store: Store) -> None:
    own_order(sqlite_store)
    sqlite_store.set_settings(sqlite_store.settings().changed(overlap=2))
    anna, ben = (work(Judging(sqlite_store), name) for name in ("anna", "ben"))
    pool = [(topic, f"d{i}") for topic in "12" for i in range(10)]
    assert sorted(anna) == sorted(ben) == pool
    assert len({tuple(anna), tuple(ben), tuple(pool)}) == 3
    sqlite_store.database.write(wipe)
    again = [work(Judging(sqlite_store), "anna", most=1)[0] for _ in pool]  # a server for each judgment
    assert again == anna


def test_the_default_is_an_order_that_does_not_tell_the_rank() -> None:
    assert Settings().order == "own"


def test_the_place_of_a_document_does_not_depend_on_its_rank(sqlite_store: Store) -> None:
    """Over 200 assessors, the documents at the first place have ranks 0 to 9 equally often: 20 each, give or take.

    By the binomial distribution, a count of Bin(200, 0.1) is outside of 5 to 40 with a probability below 1e-5.
    """
    own_order(sqlite_store)
    memory = Judging(sqlite_store)
    memory.load()
    offers = memory._offers
    assert offers is not None
    offers._know("1")
    offers._open_more("1", None)
    first = Counter(offers._in_order(f"assessor {number}", "1")[0][1] for number in range(200))
    assert len(first) == 10
    assert all(5 <= count <= 40 for count in first.values())


def test_a_policy_chooses_a_few_documents_together_and_their_order_tells_nothing(sqlite_store: Store) -> None:
    """With one run, a policy follows its ranking: the first five offers are its first five, in another order."""
    adaptive_project(sqlite_store, topics=1, docs=20)
    lists = PooledLists.of({"up": adaptive_runs(1, 20)["up"]})
    own_order(sqlite_store)
    seen = [doc for _, doc in work(Judging(sqlite_store, lambda: Adaptive(lambda: Pooling(lists, "max-mean"))), "anna")]
    batches = [seen[at : at + TOGETHER] for at in range(0, 20, TOGETHER)]
    assert [sorted(batch) for batch in batches] == [
        sorted(f"d{at}" for at in range(first, first + TOGETHER)) for first in range(0, 20, TOGETHER)
    ]
    assert seen != [f"d{at}" for at in range(20)]


def test_a_document_found_by_search_takes_its_place_in_the_order_of_others(sqlite_store: Store) -> None:
    own_order(sqlite_store)
    sqlite_store.set_settings(sqlite_store.settings().changed(overlap=2))
    sqlite_store.add_documents([Document("far", "", "x")])
    judging = Judging(sqlite_store)
    work(judging, "ben", most=4)
    say(judging, "anna", judging.find("anna", "1", "far", "x").result(10).offers[0])
    assert ("1", "far") in work(judging, "ben")
    assert ("1", "far") in work(judging, "cleo") + work(judging, "anna") or counts(sqlite_store)["1", "far"] == 2
