"""A pool as a table: documents to judge, and for each the run and rank that proposed it, when, and at what estimate."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.source import PathLike, write_bytes
from cranfield.collection.tables.rows import Rows
from cranfield.collection.tables.table_schema import DOC, TOPIC, Numbers, Schema, Words
from cranfield.errors import DataError
from cranfield.record import Record, column, labels
from cranfield.table import Column, Table
from cranfield.types import Array, Index64

POOL = Schema(
    "topic doc [order run rank estimate stratum probability]",
    layouts=(),
    key=("topic", "doc"),
    separators="\t,;|",
    quoted="\t,;|",
    strip=False,
    topic=TOPIC,
    doc=DOC,
    order=Numbers(default=math.nan, blank=math.nan),
    run=Words(default="", may_be_empty=True),
    rank=Numbers(default=0, blank=0),
    estimate=Numbers(default=math.nan, blank=math.nan),
    stratum=Words(optional=True, may_be_empty=True),
    probability=Numbers(above=0, most=1, optional=True),
)
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

    topic: Annotated[NDArray[Any], column()]
    doc: Annotated[NDArray[Any], column()]
    order: Annotated[Index64, column()]
    """1 for the document that is offered first in its topic; 0: it was not drawn."""
    run: Annotated[NDArray[Any], column()]
    rank: Annotated[Index64, column()]
    """The run that proposed the document, and its rank there; "" and 0 if unknown."""
    estimate: Annotated[Array, column()]
    """The number that the document was chosen by; NaN if the method has none."""
    stratum: Annotated[NDArray[Any] | None, column()] = None
    probability: Annotated[Array | None, column()] = None
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
        columns = [
            self.topic.tolist(),
            self.doc.tolist(),
            _positive(self.order),
            self.run.tolist(),
            _positive(self.rank),
        ]
        columns.append(["" if math.isnan(value) else repr(value) for value in self.estimate.tolist()])
        if self.stratum is not None and self.probability is not None:
            columns += [self.stratum.tolist(), [repr(value) for value in self.probability.tolist()]]
        header = list(POOL.columns)[: len(columns)]
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
    def read(path: PathLike) -> Pool:
        """The pool in a file: a table with a header, of which only topic and document are required."""
        return _pool_of(POOL.read(path))

    @staticmethod
    def parse(text: str, origin: str) -> Pool:
        """The pool in the text of a file; messages name its `origin`."""
        return _pool_of(POOL.read_content(text.encode("utf-8", "surrogateescape"), origin))


def _positive(numbers: Index64) -> list[str]:
    """Numbers as texts; empty for 0."""
    return [str(number) if number else "" for number in numbers.tolist()]


def _pool_of(rows: Rows) -> Pool:
    sample = "probability" in rows
    if sample != ("stratum" in rows):
        raise DataError(rows.origin, None, "a sample needs both columns: stratum and probability")
    order = rows["order"]
    order = np.where(np.isnan(order), 0 if sample else np.arange(1, len(rows) + 1), order)
    topic, doc, run = (labels(rows[name]) for name in ("topic", "doc", "run"))
    stratum, probability = (labels(rows["stratum"]), rows["probability"]) if sample else (None, None)
    rank, estimate = rows["rank"].astype(np.int64), rows["estimate"]
    return Pool(topic, doc, order.astype(np.int64), run, rank, estimate, stratum, probability)
