"""Write the judgments of a project as files that the measures read, and the whole log.

With several judgments of a document, one grade is made of them by a rule (`COMBINE`). A gold document of the pool has
its known grade.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

from cranfield import check
from cranfield.building.serve.project.judging_modes import Facet
from cranfield.building.serve.project.judgment_log import FIELDS, select
from cranfield.building.serve.project.store import Store
from cranfield.declared.operation import about, operation
from cranfield.errors import CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.text import counted, guarded, listed, shown


def _majority(grades: Sequence[float]) -> float:
    counts = Counter(grades)
    most = max(counts.values())
    return min(grade for grade, count in counts.items() if count == most)


COMBINE: dict[str, Callable[[Sequence[float]], float]] = {
    "majority": _majority,
    "median": statistics.median_low,
    "mean": statistics.fmean,
    "max": max,
    "min": min,
}
"""{rule: function} that make one grade of several. Of equally frequent grades, and of two in the middle, the lower
counts."""


@dataclass(frozen=True)
class Export:
    """A file that a project can be written to."""

    file: str
    what: str
    modes: tuple[str, ...]
    """The modes in which the file has content; empty: all."""


TEXTS = ("text", "query")
"""The columns that people wrote, or that come from documents; the others hold ids and numbers."""
EXPORTS = {
    "qrels": Export("qrels.txt", "judgments, one grade for each document", ("graded", "intents", "dimensions")),
    "intent-qrels": Export("qrels.intents.txt", "judgments by intent: topic intent doc grade", ("intents",)),
    "intents": Export("intents.tsv", "probability and type of each intent", ("intents",)),
    "dimension-qrels": Export("qrels.dimension.tsv", "judgments by dimension", ("dimensions",)),
    "preferences": Export("preferences.tsv", "topic, first, second, preferred, assessor", ("preferences",)),
    "nugget-qrels": Export(
        "qrels.nuggets.txt", "which document contains which nugget: topic nugget doc 1 or 0", ("nuggets",)
    ),
    "spans": Export("spans.tsv", "passages by nugget, with offsets", ("nuggets",)),
    "nuggets": Export("nuggets.tsv", "the nuggets of each topic", ("nuggets", "answers")),
    "assignments": Export("assignments.tsv", "which answer contains which nugget", ("answers",)),
    "labels": Export("labels.tsv", "all judgments that count, by assessor: for agreement and merging", ()),
    "pool": Export("pool.tsv", "the pool, with documents found by search", ()),
    "log": Export("log.jsonl", "everything that happened, one row on a line", ()),
}
"""{name: file}."""


@operation
def export_lines(
    store: Store,
    what: str = "qrels",
    *,
    combine: Annotated[
        str,
        about(
            "The grade of a document with several judgments: {names}.",
            choices=tuple(COMBINE),
            spelled="--combine RULE",
        ),
    ] = "majority",
    dimension: Annotated[str | None, about("The dimension of dimension-qrels, as qrels.")] = None,
) -> Iterator[str]:
    """The lines of a file of the export; rows come from the database as they are needed."""
    if what not in EXPORTS:
        raise UsageError(f"what == {shown(what)}, must be one of {', '.join(EXPORTS)}")
    if dimension is not None and what != "dimension-qrels":
        raise UsageError("a dimension applies only to dimension-qrels")
    mode = store.settings().mode
    modes = EXPORTS[what].modes
    if modes and mode not in modes:
        raise UsageError(f"{what} are judged only in mode {' or '.join(modes)}, but the project is in mode {mode}")
    rule = COMBINE[combine]
    writers: dict[str, Callable[[], Iterator[str]]] = {
        "qrels": lambda: _lines((t, "0", d, g) for (t, d), g in graded(store, rule)),
        "intent-qrels": lambda: _lines((t, i, d, g) for (t, d, i), g in graded_rows(store, rule)),
        "intents": lambda: _intents(store),
        "dimension-qrels": lambda: _dimensions(store, rule, dimension),
        "preferences": lambda: _preferences(store),
        "nugget-qrels": lambda: _lines((t, n, d, g) for (t, d, n), g in graded_nuggets(store, rule)),
        "spans": lambda: _spans(store),
        "nuggets": lambda: _table(
            ("topic", "nugget", "type", "weight", "text"),
            ((nugget.topic, nugget.id, nugget.type, _weight(nugget), nugget.text) for nugget in store.facets("nugget")),
        ),
        "assignments": lambda: _table(
            ("topic", "answer", "nugget", "grade"),
            ((t, d, n, g) for (t, d, n), g in graded_rows(store, rule)),
        ),
        "labels": lambda: _labels(store),
        "pool": lambda: _pool(store),
        "log": lambda: _log(store),
    }  # fmt: skip
    return writers[what]()


# ---- grades


Rule = Callable[[Sequence[float]], float]
Triple = tuple[str, str, str]


def graded(store: Store, rule: Rule = _majority) -> Iterator[tuple[tuple[str, str], float]]:
    """(topic, document) and its grade, in the order of the pool."""
    known: dict[tuple[str, str], float] = {
        (topic, doc): grade
        for topic, doc, grade in store.database.read(
            "SELECT gold.topic, gold.doc, grade FROM gold JOIN pool USING (topic, doc)"
        )
    }
    rows = store.database.stream(
        """SELECT q.topic, q.doc, q.grade FROM current_qrels AS q JOIN pool ON pool.topic = q.topic AND pool.doc = q.doc
        LEFT JOIN topic ON topic.id = q.topic ORDER BY topic.position, pool.position"""
    )
    for item, judged in groupby(rows, key=itemgetter(0, 1)):
        grade = rule([grade for _, _, grade in judged])
        yield item, known.pop(item, grade)
    yield from known.items()


_PAYLOADS = """SELECT q.topic, q.doc, q.payload FROM current_qrels AS q JOIN pool
    ON pool.topic = q.topic AND pool.doc = q.doc LEFT JOIN topic ON topic.id = q.topic
    WHERE payload IS NOT NULL ORDER BY topic.position, pool.position"""


def graded_rows(store: Store, rule: Rule = _majority) -> Iterator[tuple[Triple, float]]:
    """(topic, document, intent or dimension or nugget) and its grade, in the order of the pool."""
    return _by_document(store, rule, lambda topic, said: said.get("grades", {}))


def graded_nuggets(store: Store, rule: Rule = _majority) -> Iterator[tuple[Triple, float]]:
    """(topic, document, nugget), and 1 if a passage of the document is attached to the nugget, else 0."""
    nuggets: dict[str, list[str]] = defaultdict(list)
    for facet in store.facets("nugget"):
        nuggets[facet.topic].append(facet.id)

    def attached(topic: str, said: Mapping[str, Any]) -> dict[str, float]:
        marked = {span["nugget"] for span in said["spans"]}
        return {nugget: float(nugget in marked) for nugget in nuggets[topic]}

    return _by_document(store, rule, attached)


def _by_document(
    store: Store, rule: Rule, grades_of: Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
) -> Iterator[tuple[Triple, float]]:
    """One grade of those that assessors gave to each row of a document."""
    for (topic, doc), rows in groupby(store.database.stream(_PAYLOADS), key=itemgetter(0, 1)):
        every: dict[str, list[float]] = defaultdict(list)
        for _, _, payload in rows:
            for row, grade in grades_of(topic, json.loads(payload)).items():
                every[row].append(float(grade))
        for row, of_assessors in every.items():
            yield (topic, doc, row), rule(of_assessors)


def _dimensions(store: Store, rule: Rule, dimension: str | None) -> Iterator[str]:
    names = store.settings().dimensions
    if dimension is None:
        rows = ((t, d, name, g) for (t, d, name), g in graded_rows(store, rule))
        return _table(("topic", "doc", "dimension", "grade"), rows)
    if dimension not in names:
        raise check.nearest(dimension, names, "dimension")
    return _lines((t, "0", d, g) for (t, d, name), g in graded_rows(store, rule) if name == dimension)


@dataclass(frozen=True)
class IntentRows:
    """Rows of topic, intent, probability and type (`inf` or `nav`)."""

    rows: tuple[tuple[str, str, float, str], ...]
    notes: tuple[str, ...]


def intents_of_topics(store: Store, kind: str = "intent") -> IntentRows:
    """The intents of all topics, or the nuggets as intents. Probabilities are scaled to sum to 1, equal if missing."""
    by_topic = defaultdict(list)
    for facet in store.facets(kind):
        by_topic[facet.topic].append(facet)
    rows, equal, scaled = [], [], []
    for topic, facets in by_topic.items():
        weights = [facet.weight for facet in facets]
        known = [weight for weight in weights if weight is not None]
        if len(known) < len(weights) or not sum(known):
            equal.append(topic)
            known = [1.0] * len(facets)
        total = sum(known)
        if abs(total - 1) > 0.01 and topic not in equal:
            scaled.append(topic)
        rows += [
            (topic, facet.id, weight / total, "nav" if facet.type == "nav" else "inf")
            for facet, weight in zip(facets, known, strict=True)
        ]
    shares, same = ("probabilities", "are equally likely") if kind == "intent" else ("weights", "count the same")
    notes = [
        f"{kind}s: {counted(len(topics), 'topic')}: {shares} {what}: {listed(topics)}"
        for topics, what in (
            (equal, f"are missing, so that all {kind}s {same}"),
            (scaled, "were scaled to sum to 1"),
        )
        if topics
    ]
    return IntentRows(tuple(rows), tuple(notes))


def _intents(store: Store) -> Iterator[str]:
    """Lines of topic, intent, probability, type."""
    intents = intents_of_topics(store)
    for note in intents.notes:
        warn_caller(note, CranfieldWarning)
    return _lines(intents.rows)


def _preferences(store: Store) -> Iterator[str]:
    rows = store.database.stream(
        "SELECT topic, assessor, payload FROM current_qrels WHERE payload IS NOT NULL ORDER BY topic, doc, assessor"
    )

    def line(topic: str, assessor: str, payload: str) -> tuple[str, ...]:
        said = json.loads(payload)
        preferred = {"first": said["first"], "second": said["second"], "tie": "tie"}[said["preferred"]]
        return topic, said["first"], said["second"], preferred, assessor

    return _table(("topic", "first", "second", "preferred", "assessor"), (line(*row) for row in rows))


def _spans(store: Store) -> Iterator[str]:
    """A line per passage; offsets count characters from 0, and the end is not included."""
    rows = store.database.stream(
        """SELECT q.topic, q.doc, q.assessor, q.payload, document.text FROM current_qrels AS q
        LEFT JOIN document ON document.id = q.doc WHERE payload IS NOT NULL ORDER BY q.topic, q.doc, q.assessor"""
    )

    def lines() -> Iterator[tuple[Any, ...]]:
        for topic, doc, assessor, payload, text in rows:
            for span in json.loads(payload)["spans"]:
                passage = " ".join((text or "")[span["start"] : span["end"]].split())
                yield topic, span["nugget"], doc, span["start"], span["end"], assessor, passage

    return _table(("topic", "nugget", "doc", "start", "end", "assessor", "text"), lines())


def _labels(store: Store) -> Iterator[str]:
    rows = store.database.stream(
        """SELECT topic, doc, assessor, grade, judged_at, milliseconds FROM standing_judgment
        WHERE state = 'graded' AND grade IS NOT NULL AND purpose <> 'repeat' ORDER BY id"""
    )
    lines = (
        (topic, doc, assessor, grade, date_text(at), "" if ms is None else f"{ms / 1000:g}")
        for topic, doc, assessor, grade, at, ms in rows
    )
    return _table(("topic", "doc", "assessor", "label", "time", "seconds"), lines)


def _pool(store: Store) -> Iterator[str]:
    names: dict[str, None] = {}
    for (audit,) in store.database.stream("SELECT audit FROM pool ORDER BY position"):
        names.update(dict.fromkeys(json.loads(audit)))
    rows = store.database.stream("SELECT topic, doc, source, query, added_by, audit FROM pool ORDER BY position")

    def line(topic: str, doc: str, source: str, query: str | None, by: str | None, audit: str) -> tuple[Any, ...]:
        trail = json.loads(audit)
        return topic, doc, source, query or "", by or "", *(trail.get(name, "") for name in names)

    return _table(("topic", "doc", "source", "query", "added_by", *names), (line(*row) for row in rows))


def _log(store: Store) -> Iterator[str]:
    """The rows of the log, oldest first; `judgment` in `schema` describes them."""
    for row in store.database.stream(select("ORDER BY id")):
        yield f"{json.dumps(log_record(row), ensure_ascii=False)}\n"


def log_record(row: Sequence[Any]) -> dict[str, Any]:
    """A row of the log as it is written: with the payload as an object, and the time as a date."""
    record = dict(zip(FIELDS, row, strict=True))
    record["payload"] = None if record["payload"] is None else json.loads(record["payload"])
    record["judged_at"] = date_text(record["judged_at"])
    return record


def date_text(seconds: float) -> str:
    """A time in the form of ISO 8601, to the microsecond.

    >>> date_text(0.5)
    '1970-01-01T00:00:00.500000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


# ---- lines


def _weight(facet: Facet) -> str:
    return "" if facet.weight is None else f"{facet.weight:g}"


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and value == round(value, 6) else str(value)


def _lines(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Lines with blanks between columns, as qrels are; an id with a blank cannot be written."""
    for row in rows:
        cells = [_cell(value) for value in row]
        for cell in cells:
            if re.search(r"\s", cell) or not cell:
                raise DataError(
                    "export",
                    None,
                    f"the id {shown(cell)} is empty or has a blank, which qrels cannot hold; export labels",
                )
        yield " ".join(cells) + "\n"


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Lines with tabs between columns; tabs and line breaks in a text become blanks.

    Texts are guarded against spreadsheets; the tools that read them take the guard away. Ids stay as they are.
    """
    yield "\t".join(names) + "\n"
    texts = [name in TEXTS for name in names]
    for row in rows:
        cells = [re.sub(r"[\t\r\n]+", " ", _cell(value)) for value in row]
        yield "\t".join(guarded(cell) if text else cell for cell, text in zip(cells, texts, strict=True)) + "\n"
