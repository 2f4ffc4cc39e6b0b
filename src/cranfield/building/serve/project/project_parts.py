"""The parts of a judging project: documents, the pool, intents and nuggets, and topics as the database keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.collection.topics import Subtopic, Topic

LIST_DEPTH = 10
"""Documents of a list that are shown when two lists are compared."""


@dataclass(frozen=True)
class Document:
    """A document to show. `kind` is `text`, `html`, `image` or `missing`; `extra` has the path of an image."""

    id: str
    title: str = ""
    text: str = ""
    kind: str = "text"
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class PoolEntry:
    """A document to judge. `audit` is the trail of the pool: runs, ranks, stratum; assessors never see it."""

    topic: str
    doc: str
    audit: Mapping[str, Any]
    source: str = "pool"
    query: str | None = None


@dataclass(frozen=True)
class Facet:
    """An intent or a nugget of a topic."""

    topic: str
    kind: str
    """`intent` or `nugget`."""
    id: str
    text: str = ""
    type: str = ""
    """For an intent, `inf` or `nav`; for a nugget, `vital` or `okay`, or empty."""
    weight: float | None = None
    """The probability of an intent, or the weight of a nugget."""


def topic_record(topic: Topic) -> dict[str, Any]:
    """A topic as the database keeps it."""
    texts = {name: getattr(topic, name) for name in ("id", "title", "description", "narrative", "lang")}
    subtopics = [{"number": sub.number, "text": sub.text, "type": sub.type} for sub in topic.subtopics]
    return {**texts, "subtopics": subtopics}


def topic_of(record: Mapping[str, Any]) -> Topic:
    """A topic from what the database keeps."""
    subtopics = tuple(Subtopic(sub["number"], sub["text"], sub["type"]) for sub in record["subtopics"])
    texts = {name: record[name] for name in ("id", "title", "description", "narrative", "lang")}
    return Topic(**texts, subtopics=subtopics)


def intents_of(topic: Topic) -> list[Facet]:
    """The subtopics of a topic as intents."""
    return [Facet(topic.id, "intent", sub.number, sub.text, _type(sub.type), _weight(sub)) for sub in topic.subtopics]


def _type(text: str) -> str:
    return {"navigational": "nav", "informational": "inf"}.get(text.lower(), text.lower())


def _weight(subtopic: Subtopic) -> float | None:
    try:
        return float(subtopic.fields.get("probability", ""))
    except (TypeError, ValueError):
        return None


def list_key(topic: str, name: str) -> str:
    """Where the documents of a list are kept."""
    return f"list/{topic}/{name}"
