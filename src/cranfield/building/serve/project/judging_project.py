"""Set up a project: read topics, pool, documents, gold, guidelines, intents and nuggets into its database."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import Pooling
from cranfield.building.serve.project.document_files import check_url, read_documents
from cranfield.building.serve.project.judging_modes import DEFAULT_GRADES, MODE_GRADES, Settings
from cranfield.building.serve.project.project_parts import LIST_DEPTH, Facet, PoolEntry, list_key
from cranfield.building.serve.project.proposals import Adaptive, Proposals
from cranfield.building.serve.project.store import Store
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, read_runs
from cranfield.collection.source import read_bytes, text_of
from cranfield.collection.tables.table_schema import TOPIC, Numbers, Schema, Words
from cranfield.collection.topics import Topics
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed, unguarded


@dataclass(frozen=True)
class Sources:
    """The files of a project; what is None stays as it is in the database."""

    topics: str | None = None
    pool: str | None = None
    docs: tuple[str, ...] = ()
    gold: str | None = None
    guidelines: str | None = None
    intents: str | None = None
    nuggets: str | None = None
    runs: tuple[str, ...] = ()
    """Runs from which a policy chooses, or whose lists are compared."""
    method: str | None = None
    depth: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)


def prepare(store: Store, sources: Sources, progress: Callable[[int], None] | None = None) -> list[str]:
    """Read the files into the database; returns notes, a sentence each."""
    notes: list[str] = []
    settings = _settings(store, sources)
    store.set_settings(settings)
    if sources.topics is not None:
        notes.append(counted(store.add_topics(Topics.read(sources.topics)), "topic"))
    if not store.database.read("SELECT 1 FROM topic LIMIT 1"):
        raise UsageError("there are no topics; give a file of topics")
    if sources.intents is not None:
        store.add_facets(read_facets(sources.intents, "intent"))
    if sources.nuggets is not None:
        store.add_facets(read_facets(sources.nuggets, "nugget"))
    if sources.pool is not None:
        notes += _pool(store, settings, sources.pool)
    if sources.runs:
        notes += _lists(store, settings, sources) if settings.mode == "preferences" else _adaptive(store, sources)
    if sources.gold is not None:
        gold = [(entry.topic, entry.doc, entry.grade) for entry in Qrels.read(sources.gold)]
        notes.append(counted(store.add_gold(gold), "gold document"))
    if sources.guidelines is not None:
        store.write_guidelines(text_of(read_bytes(sources.guidelines), sources.guidelines).strip(), "organiser")
    for path in sources.docs:
        notes += _documents(store, path, progress)
    store.need_pool()
    store.need_facets()
    notes += _without_text(store, settings)
    return notes


def _settings(store: Store, sources: Sources) -> Settings:
    before = store.settings()
    values = dict(sources.settings)
    mode = values.get("mode") or before.mode
    if values.get("grades") is None and before.grades == DEFAULT_GRADES:
        values["grades"] = MODE_GRADES.get(mode)
    urls = [path for path in sources.docs if path.startswith(("http://", "https://"))]
    if urls:
        values["url"] = check_url(urls[0])
    return before.changed(**values)


def _pool(store: Store, settings: Settings, path: str) -> list[str]:
    if settings.mode == "preferences":
        entries = read_pairs(path)
    else:
        entries = pool_entries(Pool.read(path))
    new = store.add_pool(entries)
    some = "" if new == len(entries) else f", {new:,} of them new"
    return [f"{counted(len(entries), 'document')} in {path}{some}"]


def pool_entries(pool: Pool) -> list[PoolEntry]:
    """The documents of a pool topic by topic, in its order; of a sample, only what was drawn."""
    audit = {name: column.tolist() for name, column in pool.columns().items() if name not in ("topic", "doc")}
    number = {topic: at for at, topic in enumerate(pool.topics)}
    order = np.lexsort((pool.order, np.array([number[topic] for topic in pool.topic.tolist()])))
    return [
        PoolEntry(str(pool.topic[at]), str(pool.doc[at]), {n: c[at] for n, c in audit.items() if c[at] == c[at]})
        for at in order.tolist()
        if pool.order[at] > 0
    ]


def all_documents(lists: PooledLists, method: str, topics: Container[str]) -> list[PoolEntry]:
    """All documents of runs in some topics, from which a method chooses while people judge."""
    return [
        PoolEntry(topic, str(doc), {"method": method})
        for number, topic in enumerate(lists.topics)
        if topic in topics
        for doc in lists.docs(number)
    ]


PAIRS = Schema("topic first second", comments=True, topic=TOPIC, first=Words(), second=Words())


def read_pairs(path: str) -> list[PoolEntry]:
    """Pairs to compare: lines of topic, first, second."""
    rows = PAIRS.read(path)
    return [
        pair_entry(topic, first, second, rows.origin, rows.line(at)) for at, (topic, first, second) in enumerate(rows)
    ]


def pair_entry(topic: str, first: str, second: str, origin: str = "pairs", line: int | None = None) -> PoolEntry:
    """Two documents or lists to compare."""
    if first == second:
        raise DataError(origin, line, f"{first!r} is compared with itself")
    return PoolEntry(topic, f"{first} | {second}", {"first": first, "second": second})


def _lists(store: Store, settings: Settings, sources: Sources) -> list[str]:
    """All pairs of runs, and the first documents of their lists."""
    runs = read_runs(list(sources.runs))
    pairs = pairs_of_lists(store, runs)
    if sources.pool is None:
        store.add_pool(pairs)
    return [f"{counted(len(pairs), 'pair')} of lists by {counted(len(runs), 'run')}"]


def pairs_of_lists(store: Store, runs: Sequence[Run]) -> list[PoolEntry]:
    """The pairs of lists to compare, topic by topic, without those that begin alike; the lists are kept to be shown."""
    from itertools import combinations

    if len(runs) < 2:
        raise UsageError(f"two or more runs are needed to compare lists; there is {counted(len(runs), 'run')}")
    known = set(store.topic_ids())
    top = {run.name: {t: _best(docs) for t, docs in run.to_dict().items() if t in known} for run in runs}
    kept = [(list_key(topic, name), json.dumps(docs)) for name, lists in top.items() for topic, docs in lists.items()]
    store.keep_facts(kept)
    return [
        pair_entry(topic, first, second)
        for topic in store.topics()
        for first, second in combinations(sorted(top), 2)
        if topic in top[first] and topic in top[second] and top[first][topic] != top[second][topic]
    ]


def _best(docs: dict[str, float]) -> list[str]:
    return sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True)[:LIST_DEPTH]


def _adaptive(store: Store, sources: Sources) -> list[str]:
    """Keep which runs and policy choose the documents, and put all documents of the runs into the pool."""
    chosen = {
        "runs": [path if path == "-" else os.path.abspath(path) for path in sources.runs],
        "method": sources.method or "max-mean",
        "depth": sources.depth or 100,
    }
    pooling = _pooling(chosen, store.settings().seed)
    lists = pooling.lists
    known = set(store.topic_ids())
    entries = all_documents(lists, str(pooling.method), known)
    missing = [topic for topic in lists.topics if topic not in known]
    store.add_pool(entries)
    store.keep_fact("adaptive", json.dumps(chosen))
    notes = [f"{pooling.method} chooses from {counted(len(entries), 'document')} of {counted(len(lists.runs), 'run')}"]
    if missing:
        notes.append(f"{counted(len(missing), 'topic')} of the runs without a text, left out: {listed(missing)}")
    return notes


def _pooling(chosen: dict[str, Any], seed: int) -> Pooling:
    return Pooling(PooledLists.of(chosen["runs"], depth=chosen["depth"]), chosen["method"], seed=seed)


def proposals_of(store: Store) -> Callable[[], Proposals] | None:
    """What chooses the documents of a project: a policy if it has runs, else the order of the pool."""
    kept = store.fact("adaptive")
    if kept is None:
        return None
    chosen, seed = json.loads(kept), store.settings().seed
    lists = PooledLists.of(chosen["runs"], depth=chosen["depth"])
    return lambda: Adaptive(lambda: Pooling(lists, chosen["method"], seed=seed))


def facet_table(kind: str) -> Schema:
    """The table of intents or nuggets."""
    return Schema(
        f"topic {kind} text [type] [weight], between tabs", separators="\t", comments=True, topic=TOPIC,
        id=Words((kind, f"{kind}_id", "id"), kind), text=Words(may_be_empty=True),
        type=Words(default="", may_be_empty=True), weight=Numbers(default=math.nan, blank=math.nan),
    )  # fmt: skip


def read_facets(path: str, kind: str) -> list[Facet]:
    """Intents or nuggets: lines between tabs of topic, id, text, and optionally type and weight."""
    rows = facet_table(kind).read(path)
    for at, id in enumerate(rows["id"]):
        if " " in id:
            raise rows.fault(at, f"the {kind} {id!r} has a blank; its id must be a word")
    return [
        Facet(topic, kind, id, unguarded(text), type.lower(), None if math.isnan(weight) else float(weight))
        for topic, id, text, type, weight in rows
    ]


def _documents(store: Store, path: str, progress: Callable[[int], None] | None) -> list[str]:
    if path.startswith(("http://", "https://")):
        return []
    key, stamp = f"documents/{os.path.abspath(path)}", ""
    if os.path.isfile(path):
        facts = os.stat(path)
        stamp = f"{facts.st_size}/{facts.st_mtime_ns}"
        if store.fact(key) == stamp:
            return [f"{path}: unchanged, documents are in the database"]
    count = store.add_documents(read_documents(path), progress)
    if stamp:
        store.keep_fact(key, stamp)
    return [f"{counted(count, 'document text')} from {path}"]


def _without_text(store: Store, settings: Settings) -> list[str]:
    if settings.url is not None or settings.mode == "preferences":
        return []
    rows = store.database.read(
        "SELECT pool.doc FROM pool LEFT JOIN document ON document.id = pool.doc WHERE document.id IS NULL LIMIT 1000"
    )
    if not rows:
        return []
    size = "1,000 documents or more" if len(rows) == 1000 else counted(len(rows), "document")
    return [f"{size} of the pool without a text: {listed(doc for (doc,) in rows)}"]
