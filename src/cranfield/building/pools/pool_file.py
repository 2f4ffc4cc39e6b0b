"""A pool as a table: documents to judge, and for each the run and rank that proposed it, when, and at what estimate."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.column_names import COLUMNS, column_key, find_columns, header_delimiter, no_column
from cranfield.collection.doors import reads
from cranfield.collection.side_files import number_in
from cranfield.collection.source import PathLike, load, shown_path, text_of, write_bytes
from cranfield.errors import DataError
from cranfield.record import Record
from cranfield.table import Column, Table
from cranfield.text import counted
from cranfield.types import Array, Index64

FIELDS = ("topic", "doc", "order", "run", "rank", "estimate", "stratum", "probability")
"""The columns of a file; the last two only for samples."""


@dataclass(frozen=True, eq=False, repr=False)
class Pool(Record):
    """Documents to judge, topic by topic. Arrays have an entry per document.

    A pool with `stratum` and `probability` is a sample: it also lists the documents that were not drawn, with order 0.

    >>> pool = Pool.of([("q", "a", 1), ("q", "b", 2)])
    >>> len(pool), pool.docs("q")
    (2, ['a', 'b'])
    """

    facts = ("method", "seed")

    topic: NDArray[Any]
    doc: NDArray[Any]
    order: Index64
    """1 for the document that is offered first in its topic; 0: it was not drawn."""
    run: NDArray[Any]
    rank: Index64
    """The run that proposed the document, and its rank there; "" and 0 if unknown."""
    estimate: Array
    """The number that the document was chosen by; NaN if the method has none."""
    stratum: NDArray[Any] | None = None
    probability: Array | None = None
    method: str = ""
    seed: int | None = None
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(rows: Any) -> Pool:
        """A pool from rows of (topic, doc, order)."""
        topic, doc, order = zip(*rows, strict=True)
        return Pool(
            np.array(topic, dtype=object), np.array(doc, dtype=object), np.array(order, dtype=np.int64),
            np.full(len(doc), "", dtype=object), np.zeros(len(doc), dtype=np.int64), np.full(len(doc), np.nan),
        )  # fmt: skip

    def __len__(self) -> int:
        """The number of documents to judge."""
        return int(self.offered.sum())

    @cached_property
    def offered(self) -> NDArray[np.bool_]:
        """Which documents are to be judged."""
        return np.asarray(self.order > 0)

    @property
    def is_sample(self) -> bool:
        """Whether documents were drawn with known probabilities."""
        return self.probability is not None

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """The topics, in order."""
        return tuple(dict.fromkeys(self.topic.tolist()))

    def docs(self, topic: str) -> list[str]:
        """The documents of a topic to judge, in the order in which they are offered."""
        own = np.flatnonzero((self.topic == topic) & self.offered)
        return [str(doc) for doc in self.doc[own[np.argsort(self.order[own], kind="stable")]]]

    def columns(self) -> dict[str, NDArray[Any]]:
        """topic, doc, order, run, rank, estimate; and stratum and probability of a sample."""
        values = {name: getattr(self, name) for name in FIELDS}
        return {name: value for name, value in values.items() if value is not None}

    def summary(self) -> Table:
        """The number of documents by topic: all, and (of a sample) those drawn."""
        heads = [Column("topic"), Column("documents", "count")]
        offered, listed = (self._by_topic(keep) for keep in (self.offered, np.ones(len(self.doc), dtype=bool)))
        rows = [(topic, offered[topic]) for topic in self.topics] + [("(all topics)", len(self))]
        if self.is_sample:
            heads = [Column("topic"), Column("drawn", "count"), Column("of", "count")]
            rows = [(topic, drawn, listed.get(topic, len(self.doc))) for topic, drawn in rows]  # type: ignore[misc]
        return Table(tuple(heads), tuple(rows), notes=self.notes)

    def _by_topic(self, keep: NDArray[np.bool_]) -> dict[str, int]:
        counts = dict.fromkeys(self.topics, 0)
        for topic in self.topic[keep].tolist():
            counts[topic] += 1
        return counts

    # -- files

    def to_tsv(self) -> str:
        """The file: a header, and a line per document; empty for what is unknown or not drawn."""
        columns: list[list[str]] = [self.topic.tolist(), self.doc.tolist()]
        columns.append([str(number) if number else "" for number in self.order.tolist()])
        columns.append(self.run.tolist())
        columns.append([str(rank) if rank else "" for rank in self.rank.tolist()])
        columns.append(["" if math.isnan(value) else repr(value) for value in self.estimate.tolist()])
        if self.stratum is not None and self.probability is not None:
            columns += [self.stratum.tolist(), [repr(value) for value in self.probability.tolist()]]
        header = FIELDS[: len(columns)]
        lines = ["\t".join(header), *map("\t".join, zip(*columns, strict=True)), ""]
        text = "\n".join(lines)
        plain = text.count("\t") == (len(lines) - 1) * (len(header) - 1) and text.count("\n") == len(lines) - 1
        if plain and not any(mark in text for mark in '"\r'):
            return text
        out = io.StringIO()  # an id contains a tab, a quote or a line break
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerow(header)
        writer.writerows(zip(*columns, strict=True))
        return out.getvalue()

    def write(self, path: PathLike) -> None:
        """Write the file; `-` is standard output."""
        write_bytes(path, self.to_tsv().encode("utf-8", "surrogateescape"))

    @staticmethod
    @reads
    def read(path: PathLike) -> Pool:
        """The pool in a file: a table with a header, of which only topic and document are required."""
        origin = shown_path(os.fspath(path))
        return Pool.parse(text_of(load(path), origin), origin)

    @staticmethod
    def parse(text: str, origin: str) -> Pool:
        """The pool in the text of a file; messages name its `origin`."""
        rows = list(_rows(text, origin))
        if not rows:
            raise DataError(origin, None, f"is empty, expected a header and lines of {' '.join(FIELDS[:6])}")
        (line, header), *body = rows
        places = find_columns(header, {"topic": COLUMNS["topic"], "doc": COLUMNS["doc"]})
        places |= {column_key(name): place for place, name in enumerate(header) if column_key(name) in FIELDS[2:]}
        for role in ("topic", "doc"):
            if role not in places:
                raise DataError(origin, line, no_column({"doc": "document"}.get(role, role), header, COLUMNS[role]))
        for line, cells in body:
            if len(cells) != len(header):
                raise DataError(origin, line, f"{counted(len(cells), 'column')}, expected {len(header)} as in line 1")
        return _pool_of(origin, [line for line, _ in body], [cells for _, cells in body], places)


def _rows(text: str, origin: str) -> Iterator[tuple[int, list[str]]]:
    first = text.lstrip("\ufeff").partition("\n")[0].rstrip("\r")
    delimiter = header_delimiter(first)
    if text.strip() and delimiter is None:
        raise DataError(origin, 1, f"no header, expected the line {' '.join(FIELDS[:6])} first, with tabs")
    reader = csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), delimiter=delimiter or "\t")
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(origin, line, f"cannot be read as a table: {error}") from None


def _pool_of(origin: str, lines: list[int], rows: list[list[str]], places: dict[str, int]) -> Pool:
    def texts(name: str) -> list[str]:
        return [row[places[name]] for row in rows] if name in places else [""] * len(rows)

    def numbers(name: str, empty: float) -> Array:
        values = np.full(len(rows), float(empty))
        for number, text in enumerate(texts(name)):
            if text:
                try:
                    values[number] = number_in(text)
                except ValueError:
                    values[number] = np.nan
                if not np.isfinite(values[number]):
                    message = f"the {name} is {text!r}, expected a number"
                    raise DataError(origin, lines[number], message) from None
        return values

    topics, docs = texts("topic"), texts("doc")
    seen: dict[tuple[str, str], int] = {}
    for line, topic, doc in zip(lines, topics, docs, strict=True):
        if not topic or not doc:
            raise DataError(origin, line, f"the {'document' if topic else 'topic'} is empty")
        if (topic, doc) in seen:
            again = f"document {doc!r} appears twice for topic {topic!r}, first on line {seen[topic, doc]}"
            raise DataError(origin, line, again)
        seen[topic, doc] = line
    if {"stratum", "probability"} & places.keys() and not {"stratum", "probability"} <= places.keys():
        raise DataError(origin, None, "a sample needs both columns: stratum and probability")
    sample = "probability" in places
    probability = numbers("probability", np.nan) if sample else None
    if probability is not None:
        wrong = np.flatnonzero(~((probability > 0) & (probability <= 1)))
        if len(wrong):
            text = texts("probability")[wrong[0]]
            what = f"the probability is {text!r}, must be above 0, at most 1"
            raise DataError(origin, lines[wrong[0]], what)
    order = numbers("order", 0 if sample else np.nan)
    order = np.where(np.isnan(order), np.arange(1, len(rows) + 1), order)
    return Pool(
        np.array(topics, dtype=object),
        np.array(docs, dtype=object),
        order.astype(np.int64),
        np.array(texts("run"), dtype=object),
        numbers("rank", 0).astype(np.int64),
        numbers("estimate", np.nan),
        np.array(texts("stratum"), dtype=object) if sample else None,
        probability,
    )
