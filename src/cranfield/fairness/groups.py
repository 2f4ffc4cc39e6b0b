"""The groups that documents belong to, with hard or soft labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cranfield import check
from cranfield.collection.column_names import COLUMNS, column_key, find_columns, no_column
from cranfield.collection.doors import reads
from cranfield.collection.first_block import check_lines
from cranfield.collection.side_files import SideTable, read_side_file
from cranfield.collection.source import Buffer, load, shown_path
from cranfield.collection.structured import frame_columns, is_frame, parquet_table
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed
from cranfield.types import Array

NAMES = {"doc": COLUMNS["doc"], "group": ("group", "label", "category"), "weight": ("weight", "share", "probability")}
"""Accepted names of the columns of a table."""

UNKNOWN = "unknown"
EXPECTED = "doc group [weight]"


@dataclass(frozen=True, eq=False)
class Groups:
    """How much each document belongs to each group; the shares of a document sum to 1.

    >>> groups = Groups.of({"d1": "north", "d2": {"north": 0.25, "south": 0.75}})
    >>> groups.names
    ('north', 'south')
    >>> groups.of_documents(["d2", "d1"]).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """

    names: tuple[str, ...]
    documents: tuple[str, ...]
    membership: Array
    """documents × groups."""
    origin: str = "groups"

    @staticmethod
    def of(thing: Any) -> Groups:
        """Read {document: group}, {document: {group: weight}}, a frame, a file, or (document, group, weight) tuples.

        A file has lines `doc group` or `doc group weight`, separated by blanks, tabs or commas; the first line may
        hold the column names. Parquet files are also read. A document on several lines belongs to several groups, and
        its weights are divided by their sum.
        """
        if isinstance(thing, Groups):
            return thing
        if isinstance(thing, Mapping):
            return _from_triples(
                ((doc, group, weight) for doc, label in thing.items() for group, weight in _shares(label)), "groups"
            )
        if is_frame(thing):
            return _from_frame(thing, "frame")
        if isinstance(thing, str | os.PathLike):
            return _from_file(os.fspath(thing))
        if isinstance(thing, Iterable):
            return _from_triples(map(_triple, thing), "groups")
        raise UsageError(
            f"{type(thing).__name__} cannot be read as groups of documents: give {{doc: group}}, a frame or a file"
        )

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {doc: i for i, doc in enumerate(self.documents)}

    def of_documents(self, documents: Sequence[str]) -> Array:
        """Return the shares of these documents, as an array documents × groups."""
        lacking = [doc for doc in documents if doc not in self._place]
        if lacking:
            many = counted(len(lacking), "document has", "documents have")
            message = f"{many} no group: {listed(lacking)}; add them, or use covering(documents)"
            raise DataError(self.origin, None, message)
        return np.asarray(self.membership[[self._place[doc] for doc in documents]])

    def covering(self, documents: Iterable[str], group: str = UNKNOWN) -> Groups:
        """Return these groups with all of `documents`; those without a label are put in `group`.

        >>> Groups.of({"d1": "a"}).covering(["d1", "d2"]).of_documents(["d2"]).tolist()
        [[0.0, 1.0]]
        """
        new = [doc for doc in dict.fromkeys(map(str, documents)) if doc not in self._place]
        if not new:
            return self
        names = self.names if group in self.names else (*self.names, group)
        membership = np.zeros((len(self) + len(new), len(names)))
        membership[: len(self), : len(self.names)] = self.membership
        membership[len(self) :, names.index(group)] = 1.0
        return Groups(names, (*self.documents, *new), membership, self.origin)

    def column(self, group: str) -> int:
        """Return the column of a group in `membership`."""
        check.one_of("groups", self.names, group=group)
        return self.names.index(group)


def _shares(label: Any) -> list[tuple[Any, Any]]:
    """Return the (group, weight) pairs of one document."""
    if isinstance(label, Mapping):
        return list(label.items())
    if isinstance(label, set | frozenset):
        label = sorted(label)
    return [(group, 1.0) for group in (label if isinstance(label, list | tuple) else [label])]


def _triple(record: Any) -> tuple[Any, Any, Any]:
    if not isinstance(record, list | tuple) or len(record) not in (2, 3):
        raise UsageError(f"groups: {record!r}, must be (document, group) or (document, group, weight)")
    return (*record, 1.0)[:3]


def _from_frame(frame: Any, origin: str) -> Groups:
    names, get = frame_columns(frame)
    places = find_columns(names, NAMES)
    for role in ("doc", "group"):
        if role not in places:
            raise DataError(origin, None, no_column(role, names, NAMES[role]))
    documents = get(places["doc"])
    weights = get(places["weight"]) if "weight" in places else [1.0] * len(documents)
    return _from_triples(zip(documents, get(places["group"]), weights, strict=True), origin)


@reads
def _from_file(path: str) -> Groups:
    def read(data: Buffer) -> SideTable:
        return read_side_file(
            path, EXPECTED, [2, 3], data=data, separators="\t, ;", comments=False,
            header=lambda cells: column_key(cells[0]) in NAMES["doc"] and column_key(cells[1]) in NAMES["group"],
        )  # fmt: skip

    def check(head: bytes) -> None:
        if not head.startswith(b"PAR1"):
            check_lines(head, shown_path(path), EXPECTED, read)

    buffer = load(path, check)
    if bytes(buffer[:4]) == b"PAR1":
        return _from_frame(parquet_table(buffer, path), path)
    file = read(buffer)
    return _from_triples(map(_triple, file.rows), file.origin, file.lines)


def _from_triples(triples: Iterable[tuple[Any, Any, Any]], origin: str, lines: Sequence[int] | None = None) -> Groups:
    entries: dict[tuple[str, str], float] = {}
    for number, (doc, group, weight) in enumerate(triples):
        line = lines[number] if lines else None
        if group is None or group != group:  # NaN in a frame
            raise DataError(origin, line, f"document {doc!r} has no group")
        try:
            share = float(weight)
        except (TypeError, ValueError):
            share = np.nan
        if not (np.isfinite(share) and share >= 0):
            raise DataError(origin, line, f"document {doc!r}: the weight is {weight!r}, expected a number, 0 or above")
        key = (str(doc), str(group))
        if key in entries:
            raise DataError(origin, line, f"document {doc!r} is in group {group!r} twice")
        entries[key] = share
    if not entries:
        raise DataError(origin, None, f"is empty, expected {EXPECTED}")
    documents = {doc: i for i, doc in enumerate(dict.fromkeys(doc for doc, _ in entries))}
    names = {group: i for i, group in enumerate(dict.fromkeys(group for _, group in entries))}
    membership = np.zeros((len(documents), len(names)))
    for (doc, group), share in entries.items():
        membership[documents[doc], names[group]] = share
    total = membership.sum(axis=1)
    if (total == 0).any():
        doc = list(documents)[int(np.flatnonzero(total == 0)[0])]
        raise DataError(origin, None, f"document {doc!r}: all its weights are 0, expected one above 0")
    return Groups(tuple(names), tuple(documents), membership / total[:, None], origin)
