"""The pool of a campaign: made from the runs that count."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from cranfield.building.campaign.campaign_store import Campaign, Submission, add_event
from cranfield.building.pools.pool_building import make_pool
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import Pooling
from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.project.judging_project import all_documents, pairs_of_lists, pool_entries
from cranfield.building.serve.project.project_parts import PoolEntry
from cranfield.building.serve.project.proposals import Adaptive, Proposals
from cranfield.building.serve.project.store import Store, put_pool
from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.text import counted

FACT = "campaign pool"
SAMPLE = "campaign sample"
"""Where the database has the sample that was drawn, with the documents that were not."""


def counting_runs(campaign: Campaign, submissions: Sequence[Submission] | None = None) -> list[Run]:
    """The runs that count, or those given, in the order of submission, each named by its tag."""
    chosen = campaign.submissions(counting=True) if submissions is None else submissions
    return [Run.read(campaign.path_of(submission.digest), submission.tag) for submission in chosen]


def _need_same(connection: Connection, submissions: Sequence[Submission]) -> None:
    """Raise an error, within a transaction, if other runs count now: a team was switched off, or submitted again."""
    rows = connection.run(
        """SELECT digest FROM submission JOIN assessor ON assessor.name = submission.team
        WHERE counts = 1 AND active = 1"""
    )
    if {digest for (digest,) in rows} != {submission.digest for submission in submissions}:
        raise UsageError("other runs count since the pool was begun, so that it was not kept; make it again")


def build_pool(campaign: Campaign, who: str) -> list[str]:
    """Make the pool from the runs that count; returns notes, a sentence each.

    As long as nothing is judged or offered, a new pool replaces the one before; after that, documents are only added.
    """
    campaign.need("pooling")
    submissions = campaign.submissions(counting=True)
    runs = counting_runs(campaign, submissions)
    if not runs:
        raise UsageError("no run counts, so that there is nothing to make a pool from")
    plan = campaign.config.pool
    topics = campaign.store.topic_ids()
    sample: str | None = None
    notes: tuple[str, ...] = ()
    lists = PooledLists.of(runs, depth=plan.depth, topics=topics)
    if campaign.config.mode == "preferences":
        entries = _pairs(campaign, runs)
    elif plan.adaptive:
        entries = all_documents(lists, plan.method, set(topics))
        notes = (f"{plan.method} chooses the next document while people judge",)
    else:
        pool = make_pool(lists, plan.method, budget=plan.budget, per_topic=plan.per_topic, seed=plan.seed)
        entries, notes = pool_entries(pool), pool.notes
        sample = pool.to_tsv() if plan.samples else None
    place = {topic: at for at, topic in enumerate(topics)}
    entries.sort(key=lambda entry: place[entry.topic])
    kept = {"method": plan.method, "depth": plan.depth, "seed": plan.seed, "runs": [run.name for run in runs]}

    def change(connection: Connection) -> int:
        campaign.need("pooling", connection)  # making the pool takes a while
        _need_same(connection, submissions)
        used = connection.run("SELECT 1 FROM judgment LIMIT 1") or connection.run("SELECT 1 FROM offer LIMIT 1")
        if used and sample is not None:
            raise UsageError("documents of the sample are judged or offered already, so that no other can be drawn")
        if not used:
            connection.run("DELETE FROM pool")
        if sample is not None:
            Store._set(connection, SAMPLE, sample)
        new = put_pool(connection, entries, by=who)
        Store._set(connection, FACT, json.dumps(kept))
        add_event(connection, who, "pool", {**kept, "documents": len(entries), "new": new})
        return new

    new = campaign.store.database.write(change)
    what = ("pair of lists", "pairs of lists") if campaign.config.mode == "preferences" else ("document", "documents")
    some = "" if new == len(entries) else f", {new:,} of them new"
    return [f"{counted(len(entries), *what)} of {counted(len(runs), 'run')} are in the pool{some}", *notes]


def _pairs(campaign: Campaign, runs: list[Run]) -> list[PoolEntry]:
    """Pairs of lists in a random order; with limits, of each topic as many as of the others."""
    plan = campaign.config.pool
    by_topic: dict[str, list[PoolEntry]] = {}
    for pair in pairs_of_lists(campaign.store, runs):
        by_topic.setdefault(pair.topic, []).append(pair)
    chosen = []
    for topic, pairs in by_topic.items():
        random.Random(f"{plan.seed}/{topic}").shuffle(pairs)
        chosen += list(enumerate(pairs[: plan.per_topic]))
    chosen.sort(key=lambda numbered: numbered[0])
    return [pair for _, pair in chosen[: plan.budget]]


def campaign_proposals(campaign: Campaign) -> Proposals | None:
    """What chooses the documents: an adaptive method over the runs that count, or None: the order of the pool."""
    plan = campaign.config.pool
    if not plan.adaptive or campaign.store.fact(FACT) is None:
        return None
    lists = PooledLists.of(counting_runs(campaign), depth=plan.depth)
    return Adaptive(lambda: Pooling(lists, plan.method, seed=plan.seed))
