"""The common base of runs and qrels: reading from files and objects, access to the entries, writing, equality."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cranfield import _core, check
from cranfield.collection import compression, source
from cranfield.collection.column_names import VALUE
from cranfield.collection.columns import Columns
from cranfield.collection.doors import reads
from cranfield.collection.file_formats import formats, structured, writing
from cranfield.collection.file_formats.blocks import Blocks, load_or_open, read_in_parts
from cranfield.collection.file_formats.response_folders import read_response_folder
from cranfield.collection.file_formats.structured import booleans_as_grades, plain_lists, wrong_depth
from cranfield.collection.grade_labels import are_named, labels_as_grades, levels_as_numbers, way_out_of_words
from cranfield.errors import CranfieldError, CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.frames import install_command
from cranfield.text import counted, cut, one_line

DATASET_PREFIXES = ("irds:", "ir_datasets:")
PLAIN = "trec"
"""The format in which column 2 has no meaning, if it is chosen."""
SAMPLED_FORMAT = "sampled"
"""The format in which column 2 is the stratum, and column 5 the probability of having been drawn."""
NO_LABEL = frozenset({"0", "Q0", ""})
"""The values of column 2 if it has no meaning."""


@dataclass(frozen=True)
class Reading:
    """How to read bytes."""

    kind: str
    format: str | None = None
    on_duplicate: str = "error"
    threads: int | None = None
    split_tags: bool = False
    """Read a run for each tag, not one for each file."""
    notes: list[str] = field(default_factory=list)
    """Notes for readers of the scores; reading adds to them."""
    column_names: list[str] = field(default_factory=list)
    """The name of the column of labels, if the data has names; reading adds it."""
    tags: list[str] = field(default_factory=list)
    """The different names of runs in the data; reading adds them."""

    def __post_init__(self) -> None:
        check.one_of("", ("error", "first", "max"), on_duplicate=self.on_duplicate)
        if self.format is not None:
            formats.named(self.format, self.kind)


@reads
def table_of(thing: Any, reading: Reading, name: str = "") -> tuple[_core.Table, str]:
    """The table of anything that can be a run or qrels, and the path it came from (or "")."""
    if isinstance(thing, str | os.PathLike):
        path = os.fspath(thing)
        if path.startswith(DATASET_PREFIXES):
            return _from_dataset(path, reading), path
        if reading.kind == "run" and os.path.isdir(path):
            return _from_columns(read_response_folder(path), reading, path), path.rstrip(os.sep)
        shown = source.shown_path(path)
        load = load_or_open if reading.kind == "qrels" else source.load
        content = load(path, lambda head: formats.check_block(head, reading.kind, reading.format, shown))
        return from_content(content, reading, shown), "" if path == "-" else path
    if isinstance(thing, bytes | bytearray | memoryview):
        origin = source.bytes_origin(thing)
        return from_content(compression.unpacked(bytes(thing), origin), reading, origin), ""
    if structured.is_frame(thing):
        return _from_columns(structured.from_frame(thing, reading.kind), reading), ""
    if isinstance(thing, Mapping):
        return from_mapping(thing, reading.kind, name), ""
    if isinstance(thing, source.Readable):
        path = str(getattr(thing, "name", ""))
        return from_content(source.read_stream(thing), reading, path or "<stream>"), path
    if isinstance(thing, Iterable):
        return _from_columns(structured.from_records(thing, reading.kind), reading), ""
    raise UsageError(
        f"{type(thing).__name__} cannot be read as {reading.kind}: "
        "give a path, bytes, an open file, a dict of dicts, a frame or records"
    )


def from_content(content: source.Buffer | Blocks, reading: Reading, origin: str) -> _core.Table:
    """The table in the bytes of a file, or in blocks of judgments; the first line that cannot be read is an error."""
    kind = reading.kind
    buffer = content.head if isinstance(content, Blocks) else content
    if reading.format:
        source.check_content(bytes(buffer[: source.HEAD]), origin)
    format = formats.named(reading.format, kind) if reading.format else formats.detect(buffer, kind, origin)
    if isinstance(content, Blocks):
        if isinstance(format, formats.Structured) or are_named(buffer):
            return from_content(content.whole(), reading, origin)
        buffer = content.head = content.head[: source.HEAD]
    if isinstance(format, formats.Structured):
        parts = read_in_parts(format.name, buffer, kind, reading.on_duplicate, reading.split_tags)
        if parts is not None:
            reading.column_names.extend([parts.label_name] if parts.label_name else [])
            reading.tags.extend(parts.tags)
            return _warned(parts.table, reading, origin)
        columns = format.read(buffer, kind, origin)
        if isinstance(columns, dict):
            return from_mapping(columns, kind, origin=origin)
        if not columns.docs:
            raise DataError(origin, None, "is empty, expected records after the header")
        return _from_columns(columns, reading, origin)
    if format.header:
        _check_header(buffer, format, origin)
    if kind == "qrels" and not isinstance(content, Blocks):
        content, note = levels_as_numbers(content)
        reading.notes.extend([note] if note else [])
    table, faults = format.read(
        content, kind, on_duplicate=reading.on_duplicate, threads=reading.threads, split_tags=reading.split_tags,
        labels_count=reading.format != PLAIN and format.name != SAMPLED_FORMAT,
    )  # fmt: skip
    for _, line, message in faults:
        raise DataError(origin, line or None, format.way_out(message, buffer, line))
    reading.tags.extend(table.tags)
    if not len(table):
        raise DataError(origin, None, f"is empty, expected lines of {format.expected}")
    return _warned(table, reading, origin)


def _check_header(buffer: source.Buffer, layout: formats.Layout, origin: str) -> None:
    """Refuse a file that lacks the header of its format: its first line of data would be lost."""
    head = source.unmarked(bytes(buffer[: source.HEAD]))
    first = source.DATA_LINE.search(head)
    last = first[0].split(layout.delimiter.encode())[-1].strip() if first else b""
    if first and _core.parse_number(last) is not None:
        line = head.count(b"\n", 0, first.start()) + 1
        raise DataError(origin, line, f"no header, expected the line {layout.expected} first")


def from_mapping(lists: Mapping[Any, Any], kind: str, name: str = "", origin: str = "") -> _core.Table:
    """The table of {topic: {doc: value}}, or of {topic: [doc, ...]}; True and False are the grades 1 and 0."""
    where = origin or (f"run {name!r}" if name else kind)
    lists = plain_lists(lists, kind, where)
    try:
        table = _core.table_from_dict(lists, name, VALUE[kind])
        if origin and (infinite := int(np.isinf(table.values).sum())):
            rows = counted(infinite, "document has", "documents have")
            warn_caller(f"{where}: {rows} a {VALUE[kind]} that is infinite as a 64-bit number", CranfieldWarning)
        return table
    except UnicodeError:
        raise DataError(origin or name or kind, None, "an id contains half a surrogate pair, expected text") from None
    except (ValueError, TypeError) as error:
        if message := wrong_depth(lists, kind):
            raise DataError(where, None, message) from None
        if kind == "qrels" and (graded := booleans_as_grades(lists) or labels_as_grades(lists)):
            return from_mapping(graded, kind, name, origin)
        grades = (grade for documents in lists.values() for grade in documents.values() if isinstance(grade, str))
        raise DataError(where, None, f"{error}{way_out_of_words(grades) if kind == 'qrels' else ''}") from None


@contextmanager
def outside_errors(identifier: str) -> Iterator[None]:
    """Errors of ir_datasets, which loads data over the network, become errors that name the dataset."""
    try:
        yield
    except CranfieldError:
        raise
    except Exception as error:
        what = one_line(f"{type(error).__name__}: {error}")
        raise DataError(
            identifier,
            None,
            cut(f"ir_datasets could not load it, for which it needs the network the first time: {what}", 300),
        ) from error


def load_dataset(identifier: str) -> Any:
    """The dataset of ir_datasets under a name such as `irds:vaswani`."""
    try:
        import ir_datasets
    except ImportError:
        raise CranfieldError(f"{identifier}: needs ir_datasets: {install_command('datasets')}") from None
    with outside_errors(identifier):
        try:
            return ir_datasets.load(identifier.partition(":")[2])
        except KeyError:
            raise DataError(identifier, None, "ir_datasets has no such dataset") from None


def _from_dataset(identifier: str, reading: Reading) -> _core.Table:
    dataset = load_dataset(identifier)
    part = "qrels" if reading.kind == "qrels" else "scoreddocs"
    if not getattr(dataset, f"has_{part}")():
        raise DataError(identifier, None, f"this dataset has no {part}")
    with outside_errors(identifier):
        entries = list(getattr(dataset, f"{part}_iter")())
    columns = structured.from_records(entries, reading.kind, identifier)
    return _from_columns(columns, reading, identifier)


def _from_columns(columns: Columns, reading: Reading, origin: str = "") -> _core.Table:
    if columns.label_name:
        reading.column_names.append(columns.label_name)
    reading.tags.extend(columns.tags)
    reading.notes.extend(columns.notes)
    return _warned(columns.table(reading.kind, reading.on_duplicate, reading.split_tags), reading, origin)


def _warned(table: _core.Table, reading: Reading, origin: str = "") -> _core.Table:
    """The same table; warnings count the duplicates that were dropped, and name odd numbers."""
    for _, line, message in table.odd:
        where = f"{origin or '<data>'}:{line}: " if line else f"{origin or '<data>'}: "
        warn_caller(where + message, CranfieldWarning)
    if table.dropped:
        documents = counted(table.dropped, "duplicate document was", "duplicate documents were")
        message = f"{documents} dropped (on_duplicate={reading.on_duplicate!r})"
        warn_caller(f"{origin}: {message}" if origin else message, CranfieldWarning)
    return table


def matrix_columns(
    values: Any, mask: Any, topics: Iterable[Any] | None, docs: Any, noun: str, *, nan_is_absent: bool
) -> Columns:
    """The entries of a matrix (queries × documents). `docs` names its columns, or every cell if it is a matrix too.

    Without `docs`, ids are column numbers with leading zeros, so that ids sort in the order of the columns.
    """
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2:
        raise UsageError(f"{noun} of shape {matrix.shape}, must be queries × documents")
    present = np.ones(matrix.shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    if present.shape != matrix.shape:
        raise UsageError(f"mask of shape {present.shape}, must be {matrix.shape}, the shape of the {noun}")
    if nan_is_absent:
        present = present & ~np.isnan(matrix)
    queries, width = matrix.shape
    names = [str(q) for q in range(queries)] if topics is None else [str(topic) for topic in topics]
    if len(names) != queries:
        raise UsageError(f"{counted(len(names), 'topic')} for {counted(queries, 'query', 'queries')}")
    digits = len(str(max(width - 1, 0)))
    ids = np.array([f"{c:0{digits}d}" for c in range(width)] if docs is None else docs, dtype=object)
    if ids.shape not in ((width,), matrix.shape):
        raise UsageError(f"docs of shape {ids.shape}, must be ({width},) or {matrix.shape}")
    row, column = np.nonzero(present)
    cells = ids[column] if ids.ndim == 1 else ids[row, column]
    return Columns(
        np.array(names, dtype=object)[row].tolist(), cells.tolist(), matrix[present].tolist(), origin=noun, unit="value"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Records(ABC):
    """Entries (topic, document, number) in the memory of the core, grouped by topic: the base of `Run` and `Qrels`."""

    table: _core.Table
    name: str = ""
    path: str = ""
    notes: tuple[str, ...] = ()
    """What readers of the scores must know about how the file was read."""

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if len(self.table.names) > 1:
            raise UsageError(f"a table of {len(self.table.names)} runs, must be one: {', '.join(self.table.names)}")

    # ---- the entries

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """Topic ids in order of first appearance."""
        names = self.table.topics
        return tuple(names[t] for t in self.table.list_topic.tolist())

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first entry of each topic in the table, and the end of the last."""
        return self.table.list_start

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Grades or scores, in the order of the table."""
        return self.table.values

    @property
    def empty_topics(self) -> tuple[str, ...]:
        """Topics without documents."""
        return tuple(self.topics[place] for place in np.flatnonzero(np.diff(self.starts) == 0).tolist())

    @cached_property
    def _place(self) -> dict[str, int]:
        return {topic: place for place, topic in enumerate(self.topics)}

    def _slice(self, topic: Any) -> tuple[int, int]:
        """The first entry of a topic, and the end of its entries."""
        place = self._place.get(str(topic))
        if place is None:
            raise KeyError(f"no topic {topic!r} in {self.name or self.kind}")
        return int(self.starts[place]), int(self.starts[place + 1])

    def of_topics(self, topics: Iterable[Any]) -> Self:
        """The entries of some topics; topics that are not there are ignored."""
        places = sorted(self._place[str(topic)] for topic in topics if str(topic) in self._place)
        spans = [np.arange(self.starts[place], self.starts[place + 1]) for place in places]
        rows = np.concatenate([np.empty(0, dtype=np.int64), *spans])
        return self.of_rows(rows)

    def of_rows(self, rows: NDArray[np.int64]) -> Self:
        """The entries in some rows of the table, in increasing order."""
        return replace(self, table=self.table.take(rows, self.table.names[0] if self.table.names else ""))

    def __len__(self) -> int:
        return len(self.table)

    def __contains__(self, topic: object) -> bool:
        return str(topic) in self._place

    @property
    def labelled(self) -> bool:
        """Whether column 2 has a meaning."""
        return not NO_LABEL.issuperset(self.table.labels)

    @cached_property
    def row_labels(self) -> list[str] | None:
        """Column 2 of each entry; None if it has no meaning."""
        return self._labels(0, len(self)) if self.labelled else None

    def _labels(self, begin: int, end: int) -> list[str] | None:
        labels, label = self.table.labels, self.table.label
        if not labels:
            return None
        return list(np.array(labels, dtype=object)[label[begin:end]].tolist() if len(label) else labels * (end - begin))

    @cached_property
    def row_topics(self) -> list[str]:
        """The topic of each entry."""
        return self._topics_of(0, len(self))

    def _topics_of(self, begin: int, end: int) -> list[str]:
        """The topics of the entries from a place up to another."""
        first = max(0, int(np.searchsorted(self.starts, begin, "right")) - 1)
        last = int(np.searchsorted(self.starts, end, "left"))
        ends = np.clip(self.starts[first : last + 1], begin, end)
        counts = ends[1:] - ends[:-1]
        return list(np.repeat(np.array(self.topics[first:last], dtype=object), counts).tolist())

    def columns(self, begin: int = 0, end: int | None = None) -> Columns:
        """Entries as lists, column by column: all, or those from a place up to another."""
        end = len(self) if end is None else end
        return Columns(
            self._topics_of(begin, end), self.table.docs(begin, end), self.numbers(self.values[begin:end]),
            labels=self._labels(begin, end) if self.kind == "qrels" and self.labelled else None,
            origin=self.path or self.name,
        )  # fmt: skip

    def numbers(self, values: NDArray[np.float64]) -> list[Any]:
        """Values as Python numbers."""
        return list(values.tolist())

    # ---- output

    @abstractmethod
    def outgoing(self) -> writing.Outgoing:
        """The data to write."""

    def lists(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(topic, {doc: value}) for each topic."""
        ends = self.starts.tolist()
        for topic, begin, end in zip(self.topics, ends, ends[1:], strict=False):
            yield topic, dict(zip(self.table.docs(begin, end), self.numbers(self.values[begin:end]), strict=True))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """{topic: {doc: value}}."""
        return self._by_topic(self.table.docs(0, len(self)), self.numbers(self.values))

    def _by_topic(self, keys: list[Any], values: list[Any]) -> dict[str, dict[Any, Any]]:
        """{topic: {key: value}} for keys and values in the order of the table."""
        ends = self.starts.tolist()
        return {
            topic: dict(zip(keys[begin:end], values[begin:end], strict=True))
            for topic, begin, end in zip(self.topics, ends, ends[1:], strict=False)
        }

    def to_pandas(self) -> Any:
        """A pandas frame with the columns of ir_measures (query_id, doc_id, relevance or score) and any others."""
        return writing.to_frame("pandas", self.outgoing().named(), self.name)

    def to_polars(self) -> Any:
        """A polars frame, with the columns of `to_pandas`."""
        return writing.to_frame("polars", self.outgoing().named(), self.name)

    def to_arrow(self) -> Any:
        """An Arrow table, with the columns of `to_pandas`."""
        return writing.to_frame("pyarrow", self.outgoing().named(), self.name)

    def write(self, path: source.PathLike, format: str | None = None, *, allow_loss: bool = False) -> None:
        """Write a file, whole or not at all, in `format`, or that of the suffix, or TREC's.

        Data that the format cannot hold is an error, unless `allow_loss`. Suffixes .gz, .bz2, .xz and .zst compress.
        """
        chosen = formats.format_for(path, format, self.kind)
        source.write_bytes(path, writing.encode(self.outgoing(), chosen, os.fspath(path), allow_loss=allow_loss))

    # ---- equality

    @abstractmethod
    def _content(self) -> dict[str, Any]:
        """The data of each topic that must be the same for two values to be equal."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        if other is self:
            return True
        same_size = len(self) == len(other) and set(self.topics) == set(other.topics)
        return same_size and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((self.kind, len(self), frozenset(self.topics)))

    def __repr__(self) -> str:
        entries = counted(len(self), "judgment" if self.kind == "qrels" else "document")
        return f"<{type(self).__name__} {self.name!r}: {counted(len(self.topics), 'topic')}, {entries}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.empty_topics:  # only a dict can hold topics without documents
            return _rebuild_dict, (type(self), self.to_dict(), self.name, self.path)
        ranks = self.table.ranks.tolist() if len(self.table.ranks) else None
        columns = (
            self.row_topics,
            self.table.docs(0, len(self)),
            self.values.tolist(),
            ranks,
            self._labels(0, len(self)),
        )
        return _rebuild, (type(self), *columns, self.name, self.path)


def are_whole(values: NDArray[np.float64]) -> bool:
    """Whether all values are whole numbers that a 64-bit float holds exactly."""
    return bool((values == np.rint(values)).all() and (np.abs(values) < 2**53).all())


def _rebuild(
    cls: type[Records], topics: list[str], docs: list[str], values: list[float], ranks: list[float] | None,
    labels: list[str] | None, name: str, path: str,
) -> Records:  # fmt: skip
    ranks_may_be_nan = ranks is not None and bool(np.isnan(np.asarray(ranks)).any())
    table = _core.table_from_columns(
        None, topics, docs, values, None if ranks_may_be_nan else ranks, labels, "error", VALUE[cls.kind]
    )
    return cls(table.renamed(name if cls.kind == "run" else ""), name, path)


def _rebuild_dict(cls: type[Records], lists: dict[str, dict[str, Any]], name: str, path: str) -> Records:
    return cls(from_mapping(lists, cls.kind, name if cls.kind == "run" else ""), name, path)
