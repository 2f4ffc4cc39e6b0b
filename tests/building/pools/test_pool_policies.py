"""Every policy chooses what its slow, literal version chooses, judgment by judgment."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from cranfield.building.pools.pool_simulation import judging_order
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import POLICIES, Method, Pooling
from cranfield.errors import UsageError
from tests.building.pools.small_pools import as_runs, random_lists, random_relevance
from tests.oracles import pool_policies as slow

ADAPTIVE = [name for name in POLICIES if POLICIES[name].adaptive]
ORDERED = [name for name in POLICIES if not POLICIES[name].samples]
SEED = 5


def literal(method: Method, lists: slow.Lists, judge: slow.Judge, topic: str) -> Iterator[str]:
    """The order of the slow version."""
    options = {name: one.default for name, one in method.policy.parameters.items()} | dict(method.values)
    if method.name == "depth":
        yield from slow.depth_order(lists)
    elif method.name == "rrf":
        yield from slow.by_weight(lists, lambda rank: 1 / (options["k"] + rank))
    elif method.name == "rbp":
        yield from slow.by_weight(lists, lambda rank: (1 - options["p"]) * options["p"] ** (rank - 1))
    elif method.name == "move-to-front":
        yield from slow.move_to_front(lists, judge, topic, SEED)
    elif method.name == "hedge":
        yield from slow.hedge(lists, judge, options["beta"])
    else:
        yield from slow.bandit(lists, judge, method.name, topic, SEED, **options)


@pytest.mark.parametrize("name", [*ORDERED, "mm-ns(rate=0.7)", "epsilon-greedy(c=0.2,d=0.5)", "hedge(beta=0.7)"])
@pytest.mark.parametrize("seed", range(4))
def test_a_policy_chooses_as_its_literal_version(name: str, seed: int) -> None:
    by_topic = random_lists(seed)
    relevant = random_relevance(by_topic, seed)
    method = Method.of(name)
    lists = PooledLists.of(as_runs(by_topic))
    truth = np.concatenate([[relevant[topic, doc] for doc in lists.docs(t)] for t, topic in enumerate(lists.topics)])
    place = judging_order(method.make(lists, seed=SEED), truth.astype(bool))
    for number, topic in enumerate(lists.topics):
        # All runs are arms, also one without a list for this topic, in the order of the runs.
        own = {run: by_topic[topic].get(run, []) for run in lists.runs}
        expected = list(literal(method, own, lambda doc, topic=topic: relevant[topic, doc], topic))  # type: ignore[misc]
        docs = lists.docs(number)
        order = place[lists.start[number] : lists.start[number + 1]]
        assert [docs[at] for at in np.argsort(order)] == expected
        assert sorted(order) == list(range(1, len(docs) + 1))


@pytest.mark.parametrize("name", POLICIES)
def test_one_judgment_at_a_time_gives_the_order_of_the_simulator(name: str) -> None:
    by_topic = random_lists(9)
    relevant = random_relevance(by_topic, 9)
    lists = PooledLists.of(as_runs(by_topic))
    truth = np.concatenate([[relevant[topic, doc] for doc in lists.docs(t)] for t, topic in enumerate(lists.topics)])
    pooling = Pooling(lists, name, seed=SEED, most_per_topic=6)
    place = judging_order(pooling.method.make(lists, seed=SEED, sizes=np.full(3, 6)), truth.astype(bool))
    told: dict[str, list[str]] = {topic: [] for topic in lists.topics}
    while (offer := pooling.next()) is not None:
        again = pooling.next()
        assert again is not None
        assert again[:2] == offer[:2]  # asking again changes nothing
        told[offer.topic].append(offer.doc)
        pooling.tell(offer.topic, offer.doc, relevant[offer.topic, offer.doc])
    for number, topic in enumerate(lists.topics):
        docs = lists.docs(number)
        order = place[lists.start[number] : lists.start[number + 1]]
        expected = [docs[at] for at in np.argsort(order) if 0 < order[at] <= 6]
        assert told[topic] == expected


@pytest.mark.parametrize("name", ADAPTIVE)
def test_the_state_is_rebuilt_from_the_log_with_documents_that_were_judged_elsewhere(name: str) -> None:
    by_topic = random_lists(3, documents=40)
    relevant = random_relevance(by_topic, 3)
    lists = PooledLists.of(as_runs(by_topic))
    first = Pooling(lists, name, seed=2)
    log = []
    rng = np.random.default_rng(1)
    for _ in range(25):
        offer = first.next()
        assert offer is not None
        topic, doc = offer.topic, offer.doc
        if rng.random() < 0.4:  # another document than the one that was offered
            left = [d for d in lists.docs(lists.topic_number[topic]) if (topic, d) not in {(t, e) for t, e, _ in log}]
            doc = left[int(rng.integers(len(left)))]
        log.append((topic, doc, float(relevant[topic, doc])))
        first.tell(*log[-1])
    again = Pooling(lists, name, seed=2)
    for row in log:
        again.tell(*row)
    at_once = Pooling(lists, name, seed=2).replay(log)
    expected = [first.next(topic) for topic in lists.topics]
    assert [again.next(topic) for topic in lists.topics] == expected
    assert [at_once.next(topic) for topic in lists.topics] == expected
    assert at_once.judged == 25


@pytest.mark.parametrize("name", ORDERED)
def test_topics_do_not_affect_each_other(name: str) -> None:
    by_topic = random_lists(4)
    every = PooledLists.of(as_runs(by_topic))
    relevant = random_relevance(by_topic, 4)

    def order(lists: PooledLists, topic: str) -> list[str]:
        pooling, docs = Pooling(lists, name, seed=1), []
        while (offer := pooling.next(topic)) is not None:
            docs.append(offer.doc)
            pooling.tell(topic, offer.doc, relevant[topic, offer.doc])
        return docs

    assert order(every, "t1") == order(every.of_topics(["t1"]), "t1")


# -- by hand


def test_move_to_front_by_hand() -> None:
    # Both runs have priority 0. The first run in turn (x or y, by the seed) gives its documents while they are
    # relevant; a (relevant), b (not): x falls to -1. Then y: c (not): -1. Both are at -1, x comes first again: d.
    runs = {"x": {"q": {"a": 9, "b": 8, "d": 7}}, "y": {"q": {"c": 9, "a": 8, "e": 7}}}
    lists = PooledLists.of(runs)
    seed = next(seed for seed in range(50) if list(slow.generator("q", seed).permutation(2)) == [0, 1])
    pooling = Pooling(lists, "move-to-front", seed=seed)
    seen = []
    for _ in range(5):
        offer = pooling.next()
        assert offer is not None
        seen.append((offer.doc, offer.run, offer.rank, offer.estimate))
        pooling.tell("q", offer.doc, offer.doc == "a")
    assert seen == [
        ("a", "x", 1, 0.0), ("b", "x", 2, 0.0), ("c", "y", 1, 0.0), ("d", "x", 3, -1.0), ("e", "y", 3, -1.0),
    ]  # fmt: skip
    assert pooling.next() is None
    assert pooling.why_stopped("q") == "empty"


def test_hedge_by_hand() -> None:
    # Z = 4; the loss of rank 1 is ln(4)/2 = .6931, of rank 2 ln(2)/2 = .3466, of rank 3 ln(4/3)/2 = .1438, of 4: 0.
    # Equal weights: a (1 and 2): .5199, b (2 of x): .1733, c (1 of y): .3466. So a comes first. It is not relevant:
    # x loses .6931, y .3466; weights .1^.6931 = .2027 and .1^.3466 = .4502, that is .3104 and .6896.
    # Then c weighs .6896 · .6931 = .4780.
    runs = {"x": {"q": {"a": 9, "b": 8, "d": 7, "f": 6}}, "y": {"q": {"c": 9, "a": 8, "e": 7, "g": 6}}}
    pooling = Pooling(PooledLists.of(runs), "hedge")
    offer = pooling.next()
    assert offer is not None
    assert (offer.doc, offer.run, offer.rank) == ("a", "x", 1)
    assert offer.estimate == pytest.approx(0.25 * math.log(4) + 0.25 * math.log(2))
    pooling.tell("q", "a", 0)
    offer = pooling.next()
    assert offer is not None
    assert offer.doc == "c"
    assert offer.estimate == pytest.approx(0.4780, abs=5e-5)


def test_max_mean_by_hand() -> None:
    # x has a relevant and a non-relevant document: (1 + 1) / (2 + 2); z only the non-relevant b: 1 / 3.
    runs = {"x": {"q": {"a": 9, "b": 8, "c": 7}}, "y": {"q": {"d": 9}}, "z": {"q": {"b": 9, "e": 8}}}
    pooling = Pooling(PooledLists.of(runs), "max-mean")
    pooling.replay([("q", "a", 1), ("q", "b", 0), ("q", "d", 1)])  # now y has 2/3, but no document left
    offer = pooling.next()
    assert offer is not None
    assert (offer.doc, offer.run, offer.rank, offer.estimate) == ("c", "x", 3, 0.5)


def test_weights_by_hand() -> None:
    # a is at ranks 1 and 3, b at 2 and 1, c at 3. RRF with k = 60: a 1/61 + 1/63, b 1/62 + 1/61.
    runs = {"x": {"q": {"a": 9, "b": 8, "c": 7}}, "y": {"q": {"b": 9, "c": 8, "a": 7}}}
    lists = PooledLists.of(runs)
    offer = Pooling(lists, "rrf").next()
    assert offer is not None
    assert (offer.doc, offer.run) == ("b", "y")
    assert offer.estimate == pytest.approx(1 / 62 + 1 / 61, abs=1e-9)
    offer = Pooling(lists, "rbp(p=0.5)").next()
    assert offer is not None
    assert (offer.doc, offer.estimate) == ("b", pytest.approx(0.25 + 0.5))


def test_epsilon_falls_with_the_number_of_judgments() -> None:
    # c = 0.01, d = 0.1: epsilon = K/n. With 4 runs, every choice is random up to n = 4.
    lists = PooledLists.of(as_runs(random_lists(1, topics=1, runs=4)))
    policy = Method.of("epsilon-greedy").make(lists, seed=0)
    assert policy.parameters["c"].default * 4 / policy.parameters["d"].default ** 2 == pytest.approx(4)


# -- with known truth


def test_bandits_find_more_than_chance_if_some_runs_are_better() -> None:
    """20 runs of 50 documents; the share of relevant documents of a run is between 5 and 60 %."""
    rng = np.random.default_rng(0)
    runs: dict[str, dict[str, dict[str, float]]] = {f"r{number}": {} for number in range(20)}
    relevant = {}
    for topic in range(12):
        for number in range(20):
            docs = [f"d{number}-{rank}" for rank in range(50)]
            runs[f"r{number}"][f"t{topic}"] = {doc: float(-rank) for rank, doc in enumerate(docs)}
            for doc in docs:
                relevant[f"t{topic}", doc] = rng.random() < 0.05 + 0.55 * number / 19
    lists = PooledLists.of(runs)
    truth = np.concatenate([[relevant[topic, doc] for doc in lists.docs(t)] for t, topic in enumerate(lists.topics)])
    found = {}
    for name in ("random", "ucb", "thompson", "max-mean", "epsilon-greedy", "move-to-front", "depth"):
        place = judging_order(Method.of(name).make(lists), truth.astype(bool), most=300)
        found[name] = int(truth[place > 0].sum()) / 12
    # By chance 300 documents hold about 300 · .325 = 97 relevant ones; the best six runs about 300 · .53 = 159.
    assert found["random"] == pytest.approx(97, abs=8)
    assert found["depth"] == pytest.approx(97, abs=8)
    assert min(found["thompson"], found["max-mean"], found["ucb"]) > 125
    assert found["epsilon-greedy"] > found["random"] + 10
    assert found["move-to-front"] > found["random"]
    assert max(found.values()) < 165


# -- names


def test_a_method_parses_and_prints() -> None:
    for name in POLICIES:
        assert str(Method.of(name)) == name
    assert str(Method.of("mm-ns(rate=0.25)")) == "mm-ns(rate=0.25)"
    assert Method.of("MM").name == "max-mean"
    with pytest.raises(UsageError, match="no method 'hegde'; did you mean 'hedge'"):
        Method.of("hegde")
    with pytest.raises(UsageError, match="rbp: no parameter 'q'; there are 'p'"):
        Method.of("rbp(q=1)")
    with pytest.raises(UsageError, match="rbp: p == 2"):
        Method.of("rbp(p=2)")
    with pytest.raises(UsageError, match="p == 'x', must be a number"):
        Method.of("rbp(p=x)")


def test_every_method_says_where_it_is_from_and_what_its_estimate_is() -> None:
    for policy in POLICIES.values():
        assert policy.source
        assert policy.estimates
        assert policy.__doc__
