"""The records of ir_measures: judgments, retrieved documents and results; and their readers."""

from __future__ import annotations

import gzip
import io
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from cranfield.compat.ir_measures.measure import Measure


class Qrel(NamedTuple):
    """One judgment."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    """One retrieved document."""

    query_id: str
    doc_id: str
    score: float


class Metric(NamedTuple):
    """The value of a measure on one topic."""

    query_id: str
    measure: Measure
    value: float


class CwlMetric(NamedTuple):
    """The value of a measure on one topic, with what a reader spends and gets in the C/W/L framework."""

    query_id: str
    measure: Measure
    value: float
    expected_total_utility: float
    expected_cost: float
    expected_total_cost: float
    expected_items: float


class CalcResults(NamedTuple):
    """Values over all topics (of one measure: its value), and values of each topic."""

    aggregated: Any
    per_query: list[Metric]


class Frame(Protocol):
    """A data frame, such as that of pandas or polars."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""


TYPE_QREL: TypeAlias = Iterable[Qrel] | Frame | Mapping[str, Mapping[str, int]]
TYPE_RUN: TypeAlias = Iterable[ScoredDoc] | Frame | Mapping[str, Mapping[str, float]]


def deprecated(old: str, new: str) -> None:
    """Warn the caller of a function about a name that ir_measures keeps for old programs."""
    warnings.warn(f"{old} is deprecated since ir_measures 0.2.0; use {new}", DeprecationWarning, stacklevel=3)


class GenericQrel(Qrel):
    """The old name of `Qrel`."""

    def __new__(cls, *args: Any, **values: Any) -> GenericQrel:
        deprecated("GenericQrel", "Qrel")
        return super().__new__(cls, *args, **values)


class GenericScoredDoc(ScoredDoc):
    """The old name of `ScoredDoc`."""

    def __new__(cls, *args: Any, **values: Any) -> GenericScoredDoc:
        deprecated("GenericScoredDoc", "ScoredDoc")
        return super().__new__(cls, *args, **values)


# -- files


def read_trec_qrels(file: Any) -> Iterator[Qrel]:
    """The judgments in a TREC file: its path, its text (with a newline) or an open file."""
    for number, line in _lines(file):
        query_id, iteration, doc_id, relevance = _cells(line, number, "query_id iteration doc_id relevance")
        yield Qrel(query_id, doc_id, _grade(relevance), iteration)


def read_trec_run(file: Any) -> Iterator[ScoredDoc]:
    """The documents in a TREC file: its path, its text (with a newline) or an open file."""
    for number, line in _lines(file):
        query_id, _, doc_id, _, score, _ = _cells(line, number, "query_id Q0 doc_id rank score tag")
        yield ScoredDoc(query_id, doc_id, float(score))


def _grade(text: str) -> Any:
    """A whole number, as in ir_measures, or any other number, which ir_measures refuses."""
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _lines(file: Any) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers."""
    if isinstance(file, str) and "\n" in file:
        file = io.StringIO(file)
    if hasattr(file, "read"):
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line if isinstance(line, str) else line.decode()
        return
    with gzip.open(file, "rt") if str(file).endswith(".gz") else open(file) as opened:
        yield from _lines(opened)


def _cells(line: str, number: int, expected: str) -> list[str]:
    cells = line.split()
    if len(cells) != len(expected.split()):
        raise ValueError(f"line {number}: {len(cells)} columns, expected {expected}")
    return cells


def parse_trec_qrels(file: Any) -> Iterator[Qrel]:
    """The old name of `read_trec_qrels`."""
    deprecated("parse_trec_qrels", "read_trec_qrels")
    return read_trec_qrels(file)


def parse_trec_run(file: Any) -> Iterator[ScoredDoc]:
    """The old name of `read_trec_run`."""
    deprecated("parse_trec_run", "read_trec_run")
    return read_trec_run(file)
