"""The groups that documents belong to, with hard or soft labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cranfield import check
from cranfield.collection.tables.table_schema import DOC, Numbers, Schema, Words
from cranfield.errors import DataError
from cranfield.text import counted, listed
from cranfield.types import Array

UNKNOWN = "unknown"
GROUPS = Schema(
    "doc group [weight]",
    key=("doc", "group"),
    doc=DOC,
    group=Words(("group", "label", "category")),
    weight=Numbers(("weight", "share", "probability"), least=0, default=1.0),
)


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
            thing = [(doc, group, weight) for doc, label in thing.items() for group, weight in _shares(label)]
        rows = GROUPS.read(thing, "groups")
        documents = {doc: i for i, doc in enumerate(dict.fromkeys(rows["doc"]))}
        names = {group: i for i, group in enumerate(dict.fromkeys(rows["group"]))}
        membership = np.zeros((len(documents), len(names)))
        membership[[documents[doc] for doc in rows["doc"]], [names[group] for group in rows["group"]]] = rows["weight"]
        total = membership.sum(axis=1)
        if (total == 0).any():
            doc = list(documents)[int(np.flatnonzero(total == 0)[0])]
            raise DataError(rows.origin, None, f"document {doc!r}: all its weights are 0, expected one above 0")
        return Groups(tuple(names), tuple(documents), membership / total[:, None], rows.origin)

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
