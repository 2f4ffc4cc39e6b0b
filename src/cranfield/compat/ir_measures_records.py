"""The records of ir_measures: judgments, retrieved documents and results; and their readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run


class Qrel(NamedTuple):
    """One judgment."""

    query_id: str
    doc_id: str
    relevance: float
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    """One retrieved document."""

    query_id: str
    doc_id: str
    score: float


class Metric(NamedTuple):
    """The value of a measure on one topic."""

    query_id: str
    measure: Any
    value: float


class CalcResults(NamedTuple):
    """Values over all topics, and values of each topic."""

    aggregated: Any
    per_query: list[Metric]


def read_trec_qrels(file: Any) -> Iterator[Qrel]:
    """The judgments in a TREC file: its path, its text (with a newline) or an open file."""
    for judgment in Qrels.of(_text_or_file(file), format="diversity"):  # several lines for a document
        yield Qrel(judgment.topic, judgment.doc, judgment.grade, judgment.iteration)


def read_trec_run(file: Any) -> Iterator[ScoredDoc]:
    """The documents in a TREC file: its path, its text (with a newline) or an open file."""
    for retrieved in Run.of(_text_or_file(file), format="trec"):
        yield ScoredDoc(retrieved.topic, retrieved.doc, retrieved.score)


def _text_or_file(file: Any) -> Any:
    return file.encode() if isinstance(file, str) and "\n" in file else file
