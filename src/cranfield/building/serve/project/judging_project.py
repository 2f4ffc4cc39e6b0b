"""Set up a project: read topics, pool, documents, gold, guidelines, intents and nuggets into its database."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Container, Iterator, Sequence
from html.parser import HTMLParser
from typing import Annotated, Any, Unpack

import numpy as np

from cranfield.building.document_texts import DocumentRecord, read_records, readable
from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import Pooling
from cranfield.building.serve.project.judging_modes import (
    DEFAULT_GRADES,
    LIST_DEPTH,
    MODE_GRADES,
    Document,
    Facet,
    JudgingSettings,
    PoolEntry,
    Settings,
    list_key,
    read_grades,
)
from cranfield.building.serve.project.proposals import Adaptive, Proposals
from cranfield.building.serve.project.store import Store
from cranfield.collection.doors import reads
from cranfield.collection.qrels import Qrels
from cranfield.collection.records import DATASET_PREFIXES, load_dataset, outside_errors
from cranfield.collection.run import Run, read_runs
from cranfield.collection.source import PathLike, load, read_bytes, shown_path, text_of
from cranfield.collection.tables.table_schema import TOPIC, Numbers, Schema, Words
from cranfield.collection.topics import Topics
from cranfield.declared.operation import about, operation
from cranfield.errors import DataError, UsageError
from cranfield.notes import method_note
from cranfield.text import counted, listed, shown, unguarded

IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
"""{suffix: type} of images that are shown."""
_MAGIC = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8", "image/gif": b"GIF8", "image/webp": b"RIFF"}
TEXTS = (".txt", ".text", ".md", "")
PAGES = (".html", ".htm", ".xhtml")
LONGEST_TEXT = 2_000_000
"""Characters of a document that are shown; the rest is cut, and the text says so."""


def read_documents(source: PathLike) -> Iterator[Document]:
    """The documents in a JSON-lines file, a table with a header, a folder, or a dataset (`irds:NAME`)."""
    name = os.fspath(source)
    if name.startswith(DATASET_PREFIXES):
        yield from _dataset(name)
    elif os.path.isdir(name):
        yield from _folder(name)
    else:
        yield from _file(name)


def _file(path: str) -> Iterator[Document]:
    origin = shown_path(path)
    folder = os.path.realpath(os.path.dirname(path) or ".")
    seen: dict[str, int] = {}
    for record in read_records(path, origin):
        if record.id in seen:
            raise DataError(
                origin, record.line, f"document {shown(record.id)} appears twice, first on line {seen[record.id]}"
            )
        seen[record.id] = record.line
        yield _document(record, origin, folder)


def _document(record: DocumentRecord, origin: str, folder: str) -> Document:
    parts = {part: readable(text) for part, text in record.parts.items()}
    extra = {part: parts[part] for part in ("url",) if parts.get(part)}
    if parts.get("image"):
        extra["image"] = _inside(folder, parts["image"], origin, record.line)
        return Document(record.id, parts.get("title", ""), _cut(parts.get("text", "")), "image", extra)
    if parts.get("html"):
        extra["html"] = _cut(parts["html"])
        return Document(record.id, parts.get("title", ""), text_of_html(extra["html"]), "html", extra)
    return Document(record.id, parts.get("title", ""), _cut(parts.get("text", "")), "text", extra)


def _inside(folder: str, path: str, origin: str, line: int | None) -> str:
    """The real path of an image, which must be in the folder of the documents."""
    real = os.path.realpath(os.path.join(folder, path))
    if os.path.commonpath([folder, real]) != folder:
        raise DataError(origin, line, f"image {shown(path)} is outside the folder {folder}")
    if not image_type(real):
        raise DataError(origin, line, f"image {shown(path)} is missing or not one of {', '.join(IMAGES)}")
    return real


def image_type(path: str) -> str | None:
    """The type of an image file by its suffix, if its first bytes agree; None for anything else."""
    kind = IMAGES.get(os.path.splitext(path)[1].lower())
    if kind is None:
        return None
    try:
        with open(path, "rb") as file:
            return kind if file.read(8).startswith(_MAGIC[kind]) else None
    except OSError:
        return None


def _folder(path: str) -> Iterator[Document]:
    """A document per file; its id is the path in the folder, without the suffix."""
    root = os.path.realpath(path)
    seen: dict[str, str] = {}
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            stem, suffix = os.path.splitext(name)
            whole, suffix = os.path.join(folder, name), suffix.lower()
            if name.startswith(".") or suffix not in (*TEXTS, *PAGES, *IMAGES):
                continue
            id = os.path.relpath(os.path.join(folder, stem), root).replace(os.sep, "/")
            if id in seen:
                raise DataError(whole, None, f"has the same id {shown(id)} as {seen[id]}; rename one of them")
            seen[id] = whole
            yield _of_file(id, whole, suffix, root)
    if not seen:
        suffixes = ", ".join(suffix for suffix in (*TEXTS, *PAGES, *IMAGES) if suffix)
        raise DataError(path, None, f"holds no documents; expected files that end in {suffixes}")


@reads
def _of_file(id: str, path: str, suffix: str, root: str) -> Document:
    if suffix in IMAGES:
        return Document(id, "", "", "image", {"image": _inside(root, path, path, None)})
    text = _cut(readable(text_of(load(path), path)))
    if suffix in PAGES:
        return Document(id, "", text_of_html(text), "html", {"html": text})
    return Document(id, "", text, "text", {})


def _dataset(name: str) -> Iterator[Document]:
    dataset = load_dataset(name)
    if not dataset.has_docs():
        raise DataError(name, None, "this dataset has no documents")
    with outside_errors(name):
        entries = iter(dataset.docs_iter())
    while True:
        with outside_errors(name):
            doc = next(entries, None)
        if doc is None:
            return
        title = str(getattr(doc, "title", "") or "")
        text = doc.default_text() if hasattr(doc, "default_text") else str(getattr(doc, "text", ""))
        yield Document(doc.doc_id, title, _cut(text.removeprefix(title).strip()), "text", {})


def _cut(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}\n\n[{len(text) - LONGEST_TEXT:,} more characters are not shown]"


def check_url(template: str) -> str:
    """An address with `{doc}` for the id of a document."""
    if not template.startswith(("http://", "https://")) or "{doc}" not in template:
        raise UsageError(
            f"{shown(template)}: expected an address with {{doc}}, such as https://host/pages/{{doc}}.html"
        )
    return template


# ---- HTML as text

_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "head", "iframe", "object"})
_BLOCKS = frozenset(
    {
        "address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "figure", "footer", "form", "h1", "h2", "h3",
        "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "td", "th", "tr",
        "ul",
    }
)  # fmt: skip


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self.hidden += 1
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self.hidden = max(0, self.hidden - 1)
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def text_of_html(html: str) -> str:
    """The words of a page, without markup and scripts.

    >>> text_of_html("<h1>Wings</h1><script>alert(1)</script><p>They <b>flutter</b> &amp; bend.</p>")
    'Wings\\n\\nThey flutter & bend.'
    """
    parser = _Text()
    parser.feed(html)
    parser.close()
    lines = [" ".join(line.split()) for line in "".join(parser.parts).split("\n")]
    paragraphs: list[str] = []
    blank = False
    for line in lines:
        if line:
            paragraphs.append(f"\n{line}" if blank and paragraphs else line)
            blank = False
        else:
            blank = True
    return "\n".join(paragraphs)


class Sources(JudgingSettings, total=False):
    """The files of a project, and how it judges; what is None, or not given, stays as it is in the database."""

    topics: str | None
    pool: str | None
    docs: Sequence[str]
    gold: str | None
    guidelines: str | None
    intents: str | None
    nuggets: str | None
    runs: Sequence[str]
    """Runs from which a policy chooses, or whose lists are compared."""
    method: Annotated[
        str | None,
        about(
            "The method that chooses documents of --runs: {names}.",
            None,
            names="building.pools.pooling:POLICIES",
            spelled="--method METHOD",
        ),
    ]
    depth: Annotated[int | None, about("The documents of each list of --runs; default: 100.", None, least=1, rare=True)]


@operation
def prepare(store: Store, progress: Callable[[int], None] | None = None, **sources: Unpack[Sources]) -> list[str]:
    """Read the files into the database; returns notes, a sentence each."""
    notes: list[str] = []
    settings = _settings(store, sources)
    store.set_settings(settings)
    if (topics := sources.get("topics")) is not None:
        notes.append(counted(store.add_topics(Topics.read(topics)), "topic"))
    if not store.database.read("SELECT 1 FROM topic LIMIT 1"):
        raise UsageError("there are no topics; give a file of topics")
    for kind, file in (("intent", sources.get("intents")), ("nugget", sources.get("nuggets"))):
        if file is not None:
            store.add_facets(read_facets(file, kind))
    if (pool := sources.get("pool")) is not None:
        notes += _pool(store, settings, pool)
    if sources.get("runs"):
        notes += _lists(store, settings, sources) if settings.mode == "preferences" else _adaptive(store, sources)
    if (gold := sources.get("gold")) is not None:
        graded = [(entry.topic, entry.doc, entry.grade) for entry in Qrels.read(gold)]
        notes.append(counted(store.add_gold(graded), "gold document"))
    if (guidelines := sources.get("guidelines")) is not None:
        store.write_guidelines(text_of(read_bytes(guidelines), guidelines).strip(), "organiser")
    for path in sources.get("docs", ()):
        notes += _documents(store, path, progress)
    store.need_pool()
    store.need_facets()
    notes += _without_text(store, settings)
    return notes


def _settings(store: Store, sources: Sources) -> Settings:
    before = store.settings()
    values: dict[str, Any] = {name: sources.get(name) for name in JudgingSettings.__annotations__}
    if isinstance(values["grades"], str):
        values["grades"] = read_grades(values["grades"])
    if values["grades"] is None and before.grades == DEFAULT_GRADES:
        values["grades"] = MODE_GRADES.get(values["mode"] or before.mode)
    if values["dimensions"] is not None:
        values["dimensions"] = tuple(values["dimensions"])
    urls = [path for path in sources.get("docs", ()) if path.startswith(("http://", "https://"))]
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
    runs = read_runs(list(sources.get("runs", ())))
    pairs = pairs_of_lists(store, runs)
    if sources.get("pool") is None:
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
        "runs": [path if path == "-" else os.path.abspath(path) for path in sources.get("runs", ())],
        "method": sources.get("method") or "max-mean",
        "depth": sources.get("depth") or 100,
    }
    pooling = _pooling(chosen, store.settings().seed)
    lists = pooling.lists
    known = set(store.topic_ids())
    entries = all_documents(lists, str(pooling.method), known)
    missing = [topic for topic in lists.topics if topic not in known]
    store.add_pool(entries)
    store.keep_fact("adaptive", json.dumps(chosen))
    notes = [
        method_note(
            f"{pooling.method} chooses from {counted(len(entries), 'document')} of {counted(len(lists.runs), 'run')}"
        )
    ]
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
