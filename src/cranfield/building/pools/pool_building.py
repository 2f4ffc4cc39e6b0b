"""Make a pool from runs: the whole pool of a fixed order or a sample, or the next batch of an adaptive method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np

from cranfield.assessed.segments import position_in_segment, segment_starts
from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.pool_policies import FixedOrder
from cranfield.building.pools.pool_samples import Sampled, Stratum, shared, sizes_within
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import Method, Offer, Pooling
from cranfield.collection.accepted_inputs import RunsLike
from cranfield.collection.qrels import Qrels
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import UsageError
from cranfield.meta.complete_scores import Rel
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

BATCH = 10
"""Documents of a topic that an adaptive method offers at a time, if no other number is given."""


@operation
def make_pool(
    lists: PooledLists | RunsLike,
    method: str | Method = "depth",
    *,
    budget: Annotated[
        int | None, about("The largest number of documents, divided evenly over topics.", least=1)
    ] = None,
    most_per_topic: Annotated[int | None, about("The largest number of documents of each topic.", least=1)] = None,
    judged: Qrels | None = None,
    batch: Annotated[
        int | None, about("Adaptive methods: documents of each topic to offer now; default: 10.", least=1)
    ] = None,
    seed: Seed = 0,
    patience: Annotated[
        int | None, about("Adaptive methods: a topic ends after N non-relevant documents in a row.", least=1)
    ] = None,
    least: Annotated[
        float | None,
        about(
            "Bandits: a topic ends if its next document is expected to be relevant with a probability below P.",
            least=0,
            most=1,
            spelled="--least-probability P",
        ),
    ] = None,
    rel: Rel = 1,
    strata: Sequence[Stratum] = (),
) -> Pool:
    """The documents to judge.

    budget, most_per_topic: the largest number of documents, of all topics (divided evenly) and of each.
    judged: judgments so far. Documents that are judged are not offered again, and use the budget; adaptive methods
        learn from them, in the order of the file.
    batch: how many documents of a topic an adaptive method offers at a time (default 10).
    patience, least: when an adaptive method stops; see `Pooling`.
    strata: the strata of the method `stratified`.

    >>> lists = PooledLists.of({"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}})
    >>> make_pool(lists, "depth", most_per_topic=2).docs("q")
    ['a', 'c']
    """
    lists = lists if isinstance(lists, PooledLists) else PooledLists.of(lists)
    chosen = Method.of(method)
    if strata and chosen.name != "stratified":
        raise UsageError(f"strata apply only to the method stratified, not to {chosen.name}")
    if not chosen.policy.adaptive:
        for name, value in {"batch": batch, "patience": patience, "least": least}.items():
            if value is not None:
                raise UsageError(f"{name} == {value:g} applies only to adaptive methods; {chosen.name} is not adaptive")
        if rel != 1:
            raise UsageError(f"rel == {rel:g} applies only to adaptive methods; {chosen.name} is not adaptive")
    rows = [] if judged is None else _one_grade(judged)
    notes = [*lists.notes, *_about_judged(lists, rows), *_about_budget(lists, budget, most_per_topic)]
    if chosen.policy.samples:
        return _sample(lists, chosen, budget, most_per_topic, seed, strata, notes, bool(rows))
    if not chosen.policy.adaptive:
        return _fixed(lists, chosen, budget, most_per_topic, rows, seed, notes)
    pooling = Pooling(
        lists, chosen, seed=seed, budget=budget, most_per_topic=most_per_topic, patience=patience, least=least, rel=rel
    ).replay(rows)
    return _batch(pooling, batch or BATCH, seed, notes)


def _fixed(
    lists: PooledLists,
    method: Method,
    budget: int | None,
    most_per_topic: int | None,
    rows: list[tuple[str, str, float]],
    seed: int,
    notes: list[str],
) -> Pool:
    policy = method.make(lists, seed=seed)
    assert isinstance(policy, FixedOrder)
    known = np.zeros(lists.size, dtype=bool)
    known[[place for place in (lists.place(topic, doc) for topic, doc, _ in rows) if place is not None]] = True
    sizes, spent = np.diff(lists.start), np.bincount(lists.topic[known], minlength=len(lists.topics))
    allowed = sizes if most_per_topic is None else np.minimum(sizes, most_per_topic)
    allowed = np.maximum(allowed - spent, 0)
    if budget is not None:
        allowed = shared(budget - int(spent.sum()), allowed, load=spent)
    free = policy.order[~known[policy.order]]
    order = places_in_topics(lists, free)
    kept = order <= allowed[lists.topic[free]]
    free, order = free[kept], order[kept]
    facts = {"method": str(method), "seed": seed, "notes": tuple(notes)}
    return pool_of(lists, free, order, lists.first[free], policy.estimate()[free], **facts)


def _sample(
    lists: PooledLists,
    method: Method,
    budget: int | None,
    most_per_topic: int | None,
    seed: int,
    strata: Sequence[Stratum],
    notes: list[str],
    judged: bool,
) -> Pool:
    if any(stratum.share is not None for stratum in strata) and (budget is not None or most_per_topic is not None):
        raise UsageError(
            "the shares of strata say how many documents are drawn, so that a budget has no effect; leave out either"
        )
    policy = method.make(lists, seed=seed, sizes=sizes_within(lists, budget, most_per_topic), strata=strata)
    assert isinstance(policy, Sampled)
    if strata:
        deeper = int((lists.rank[lists.first] > strata[-1].rank).sum())
        if deeper:
            what = counted(deeper, "document that is", "documents that are")
            notes.append(f"the last stratum, to rank {strata[-1].rank}, also has {what} only at deeper ranks")
    if judged:
        notes.append("documents that are judged stay in the sample, because it is drawn without looking at judgments")
    order = np.zeros(lists.size, dtype=np.int64)
    drawn = policy.order[policy.drawn[policy.order]]
    order[drawn] = places_in_topics(lists, drawn)
    every = np.lexsort((np.arange(lists.size), policy.stratum, lists.topic))
    none = np.full(lists.size, np.nan)
    names = np.array([str(number + 1) for number in range(int(policy.stratum.max(initial=0)) + 1)], dtype=object)
    return pool_of(
        lists, every, order[every], lists.first[every], none, stratum=names[policy.stratum[every]],
        probability=policy.probability[every], method=str(method), seed=seed, notes=tuple(notes),
    )  # fmt: skip


def _batch(pooling: Pooling, batch: int, seed: int, notes: list[str]) -> Pool:
    """The next documents of every topic."""
    lists = pooling.lists
    offers: list[Offer] = []
    for topic in lists.topics:
        own: list[Offer] = []
        while (
            len(own) < batch and (offer := pooling.next(topic, [(topic, earlier.doc) for earlier in own])) is not None
        ):
            own.append(offer)
        offers += own
    offers = _within_budget(pooling, offers)
    stopped = [(topic, why) for topic in lists.topics if (why := pooling.why_stopped(topic)) is not None]
    for why, what in {
        "budget": "with their budget spent",
        "patience": f"with {pooling.patience} non-relevant documents in a row, which ends them",
        "least": f"with a next estimate below {pooling.least}, which ends them",
        "empty": "without an unjudged document",
    }.items():
        if topics := [topic for topic, reason in stopped if reason == why]:
            notes.append(f"{counted(len(topics), 'topic')} {what}: {listed(topics)}")
    if offers:
        notes.append(
            f"{pooling.method} chooses each document by the judgments before it: "
            f"{counted(len(offers), 'document is', 'documents are')} chosen with "
            f"{counted(pooling.judged, 'judgment')}; judge them, then make the next batch from all judgments"
        )
        left = min(pooling.budget or 0, lists.size) - pooling.judged - len(offers)
        if left > 0:
            notes.append(
                f"a batch has up to {batch} documents of each topic; the budget leaves {left:,} for later batches"
            )
    places = np.array([lists.place(offer.topic, offer.doc) for offer in offers], dtype=np.int64)
    entry = np.array([lists.entry(offer.topic, offer.run, offer.rank) for offer in offers], dtype=np.int64)
    order = places_in_topics(lists, places) + pooling.policy.learned[lists.topic[places]]
    estimate = np.array([offer.estimate for offer in offers], dtype=np.float64)
    facts = {"method": str(pooling.method), "seed": seed, "notes": tuple(notes)}
    return pool_of(lists, places, order, entry, estimate, **facts)


def places_in_topics(lists: PooledLists, documents: Index64) -> Index64:
    """1 for the first of the documents in its topic, 2 for the next; they are sorted by topic."""
    return position_in_segment(segment_starts(lists.topic[documents], len(lists.topics)))


def _within_budget(pooling: Pooling, offers: list[Offer]) -> list[Offer]:
    """As many offers as the total budget has left, evenly over topics."""
    if pooling.budget is None or pooling.judged + len(offers) <= pooling.budget:
        return offers
    learned = pooling.policy.learned
    counts = dict.fromkeys(pooling.lists.topics, 0)
    ranked = []
    for number, offer in enumerate(offers):
        counts[offer.topic] += 1
        topic = pooling.lists.topic_number[offer.topic]
        ranked.append((int(learned[topic]) + counts[offer.topic], topic, number))
    kept = {number for *_, number in sorted(ranked)[: max(pooling.budget - pooling.judged, 0)]}
    return [offer for number, offer in enumerate(offers) if number in kept]


def pool_of(
    lists: PooledLists, documents: Index64, order: Index64, entry: Index64, estimate: Array, **facts: Any
) -> Pool:
    """The pool of these documents, which are sorted by topic; `facts` are the other fields of `Pool`."""
    topics, runs = np.array(lists.topics, dtype=object), np.array(lists.runs, dtype=object)
    names = np.empty(lists.size, dtype=object)
    for topic in np.unique(lists.topic[documents]).tolist():
        names[int(lists.start[topic]) : int(lists.start[topic + 1])] = lists.docs(topic)
    of_documents, of_entries = topics[lists.topic[documents]], runs[lists.run[entry]]
    return Pool(of_documents, names[documents], order, of_entries, lists.rank[entry], estimate, **facts)


def _one_grade(qrels: Qrels) -> list[tuple[str, str, float]]:
    """The judgments in the order of the file; a document that is judged by intent has its highest grade."""
    grades: dict[tuple[str, str], float] = {}
    for topic, doc, grade, _ in qrels:
        grades[topic, doc] = max(grade, grades.get((topic, doc), grade))
    return [(topic, doc, grade) for (topic, doc), grade in grades.items()]


def _about_judged(lists: PooledLists, rows: list[tuple[str, str, float]]) -> Iterator[str]:
    topics = list(dict.fromkeys(topic for topic, *_ in rows if topic not in lists.topic_number))
    if topics and not lists.topics_chosen:
        yield f"{counted(len(topics), 'judged topic is', 'judged topics are')} in no run: {listed(topics)}"
    outside = [f"{t}/{d}" for t, d, _ in rows if t in lists.topic_number and lists.place(t, d) is None]
    if outside:
        what = counted(len(outside), "judged document is", "judged documents are")
        yield f"{what} in no list to this depth, and not counted: {listed(outside)}"


def _about_budget(lists: PooledLists, budget: int | None, most_per_topic: int | None) -> Iterator[str]:
    if budget is not None and budget > lists.size:
        yield f"the budget is {budget:,}, but the lists have {counted(lists.size, 'document')}: all are in the pool"
    elif budget is not None and budget < (topics := int((np.diff(lists.start) > 0).sum())):
        yield f"the budget is {budget:,}, fewer than the {topics:,} topics: some topics have no document in the pool"
    if most_per_topic is not None:
        small = [topic for topic, size in zip(lists.topics, np.diff(lists.start), strict=True) if size < most_per_topic]
        if small:
            yield (
                f"{counted(len(small), 'topic has', 'topics have')} fewer documents than the {most_per_topic:,} per "
                f"topic: {listed(small)}"
            )
