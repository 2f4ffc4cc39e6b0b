"""Judgments, runs and results: named tuples, files, and conversion from and to dicts and frames."""

from __future__ import annotations

import gzip
import io
import itertools
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias

from cranfield.compat.ir_measures import lazylibs

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


DICT, FRAME, TUPLES, UNKNOWN = "dict_of_dict", "pd_dataframe", "namedtuple_iter", "UNKNOWN"


class _Converter(ABC):
    """Data in one of three shapes. An iterator can be read once; `tee` makes several of one."""

    noun: ClassVar[str]
    record: ClassVar[Any]

    def __init__(self, data: Any, strict: bool = True) -> None:
        self._data = data
        self._shape: tuple[str, str | None] | None = None
        self.strict = strict  # otherwise frames may lack columns

    @property
    def _needed(self) -> tuple[str, ...]:
        return tuple(name for name in self.record._fields if name not in self.record._field_defaults)

    def predict_type(self) -> tuple[str, str | None]:
        """The name of the shape, and what is wrong with it if it is UNKNOWN."""
        self._shape = self._shape or self._find_shape()
        return self._shape

    def _find_shape(self) -> tuple[str, str | None]:
        if isinstance(self._data, dict):
            return DICT, None
        if hasattr(self._data, "itertuples"):
            columns = list(self._data.columns)
            missing = [name for name in self._needed if name not in columns]
            if missing and self.strict:
                return UNKNOWN, f"DataFrame missing columns: {missing} (found {columns})"
            return FRAME, None
        if hasattr(self._data, "__iter__"):
            self._data, copy = itertools.tee(self._data)
            for first in copy:
                if not isinstance(first, tuple) or not hasattr(first, "_fields"):
                    return UNKNOWN, "iterable not a namedtuple iterator"
                missing = [name for name in self._needed if name not in first._fields]
                if missing:
                    return UNKNOWN, f"namedtuple iter missing fields: {missing} (found {list(first._fields)})"
                break
            return TUPLES, None
        fields = ", ".join(self._needed)
        return UNKNOWN, f"a {type(self._data).__name__}, expected named tuples or a data frame with {fields}, or a dict"

    def _tee(self, count: int) -> list[Any]:
        if self.predict_type()[0] != TUPLES:
            return [self] * count
        return [type(self)(copy, self.strict) for copy in itertools.tee(self._data, count)]

    def as_namedtuple_iter(self) -> Iterator[Any]:
        """The records, one by one."""
        shape, problem = self.predict_type()
        if shape == UNKNOWN:
            raise ValueError(f"unknown {self.noun} format: {problem}")
        if shape == TUPLES:
            yield from self._data
        elif shape == DICT:
            for query_id, documents in self._data.items():
                for doc_id, value in documents.items():
                    yield self.record(query_id, doc_id, value)
        else:
            names = [name for name in self.record._fields if name in self._data.columns]
            columns = (self._data[name].tolist() for name in names)
            yield from (self.record(*row) for row in zip(*columns, strict=True))

    def as_dict_of_dict(self) -> dict[str, dict[str, Any]]:
        """{query_id: {doc_id: value}}."""
        if self.predict_type()[0] == DICT:
            data: dict[str, dict[str, Any]] = self._data
            return data
        lists: dict[str, dict[str, Any]] = {}
        for query_id, doc_id, value in (record[:3] for record in self._ordered()):
            lists.setdefault(query_id, {})[doc_id] = value
        return lists

    def _ordered(self) -> Iterator[Any]:
        """The records, with their first fields in the order of `record`."""
        names = self._needed
        for record in self.as_namedtuple_iter():
            yield record if record._fields[: len(names)] == names else tuple(getattr(record, name) for name in names)

    def as_pd_dataframe(self) -> Any:
        """A pandas frame with a column for every field."""
        if self.predict_type()[0] == FRAME:
            missing = {name: value for name, value in self.record._field_defaults.items() if name not in self._data}
            return self._data.assign(**missing) if missing else self._data
        records = list(self.as_namedtuple_iter())
        return lazylibs.pandas().DataFrame(records, columns=None if records else list(self.record._fields))

    @contextmanager
    def as_tmp_file(self) -> Iterator[IO[str]]:
        """An open file with the data in TREC's format, which vanishes at the end."""
        with tempfile.NamedTemporaryFile(mode="w+t") as file:
            file.writelines(self._file_lines())
            file.flush()
            file.seek(0)
            yield file

    @abstractmethod
    def _file_lines(self) -> Iterator[str]:
        """The lines of a file in TREC's format."""


class QrelsConverter(_Converter):
    """Judgments in any shape.

    >>> list(QrelsConverter({"q1": {"d1": 1}}).as_namedtuple_iter())
    [Qrel(query_id='q1', doc_id='d1', relevance=1, iteration='0')]
    """

    noun = "qrels"
    record = Qrel

    @property
    def qrels(self) -> Any:
        """The judgments in their own shape."""
        return self._data

    def tee(self, count: int) -> list[QrelsConverter]:
        """As many converters of the same judgments."""
        return self._tee(count)

    def _file_lines(self) -> Iterator[str]:
        for query_id, doc_id, relevance in (record[:3] for record in self._ordered()):
            yield f"{query_id} 0 {doc_id} {relevance}\n"


class RunConverter(_Converter):
    """A run in any shape.

    >>> RunConverter([ScoredDoc("q1", "d1", 0.5)]).as_dict_of_dict()
    {'q1': {'d1': 0.5}}
    """

    noun = "run"
    record = ScoredDoc

    @property
    def run(self) -> Any:
        """The run in its own shape."""
        return self._data

    def tee(self, count: int) -> list[RunConverter]:
        """As many converters of the same run."""
        return self._tee(count)

    def as_sorteddict(self) -> dict[str, list[ScoredDoc]]:
        """{query_id: [ScoredDoc, ...]}, the highest score first."""
        lists = defaultdict(list)
        for record in self.as_namedtuple_iter():
            lists[record.query_id].append(record)
        return {query_id: sorted(records, key=_score, reverse=True) for query_id, records in lists.items()}

    def as_sorted_namedtuple_iter(self) -> Iterator[ScoredDoc]:
        """The records; those of a query that follow one another are sorted by score."""
        for _, records in itertools.groupby(self.as_namedtuple_iter(), key=lambda record: record.query_id):
            yield from sorted(records, key=_score, reverse=True)

    def _file_lines(self) -> Iterator[str]:
        rank: dict[str, int] = defaultdict(int)
        for query_id, doc_id, score in (record[:3] for record in self._ordered()):
            yield f"{query_id} Q0 {doc_id} {rank[query_id]} {score} run\n"
            rank[query_id] += 1


def _score(record: ScoredDoc) -> float:
    return record.score
