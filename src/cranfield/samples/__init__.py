"""The bundled sample collection: topics, graded judgments, four runs, and texts of some of the documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """The paths of the sample collection."""

    qrels: str
    runs: tuple[str, ...]
    topics: str
    notes: str
    """JSON-lines with the texts (`doc_id`, `title`, `text`) of the first documents for topics 101 to 112."""
    intents: str
    """The intents of three topics, between tabs: topic, intent, text, type (inf or nav), probability."""
    intent_qrels: str
    """Judgments by intent (topic, intent, document, grade), of up to four drawn intents per topic."""
    intent_types: str
    """The types of these intents: topic, intent, inf or nav."""


def sample() -> Sample:
    """The bundled sample collection.

    >>> import cranfield as cf
    >>> [Path(run).name for run in cf.sample().runs]
    ['bm25.run', 'coord.run', 'dense.run', 'fusion.run']

    The notes are the texts of documents:

    >>> import json
    >>> with open(cf.sample().notes, encoding="utf-8") as file:
    ...     notes = [json.loads(line) for line in file]
    >>> next(note["title"] for note in notes if note["doc_id"] == "NOTE-0262")
    'Flutter speed of a swept wing with slung engine'
    """
    here = Path(__file__).parent
    return Sample(
        qrels=str(here / "qrels.txt"),
        runs=tuple(str(path) for path in sorted(here.glob("*.run"))),
        topics=str(here / "topics.xml"),
        notes=str(here / "notes.jsonl"),
        intents=str(here / "intents.tsv"),
        intent_qrels=str(here / "intent_qrels.txt"),
        intent_types=str(here / "intent_types.txt"),
    )
