"""Numbers of every retrieved document, judged or not, by list and rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from cranfield.assessed.attachment import Attachment
from cranfield.errors import UsageError
from cranfield.types import Array, Index

if TYPE_CHECKING:
    from cranfield.assessed.lists import Assessed


@dataclass(frozen=True, eq=False)
class ByRank(Attachment):
    """Numbers of the retrieved documents of every list, by rank.

    | array | one per | meaning |
    |---|---|---|
    | `begin` | list | where its documents begin in the columns |
    | `columns` | document | numbers, by name |

    Several lists may share documents: a list that is read several times (by intent, cut at every rank) is stored once.

    >>> ByRank.of_list("scores", {"score": [0.9, 0.2]}, 2).at("score", np.array([0]), np.array([2])).tolist()
    [0.2]
    """

    begin: Index
    columns: Mapping[str, Array]

    @classmethod
    def of_list(cls, kind: str, columns: Mapping[str, object], retrieved: int) -> Self:
        """For a single list; each column goes from the top down."""
        arrays = {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
        for name, array in arrays.items():
            if array.shape != (retrieved,):
                raise UsageError(f"{kind}: {array.size} numbers for {name}, but the list has {retrieved} documents")
        return cls(np.zeros(1, dtype=np.int64), arrays)

    def take(self, rows: Index | slice) -> Self:
        return type(self)(self.begin[rows], self.columns)

    def condensed(self, lists: Assessed) -> Self:
        return self.picked(lists.hits().start[:-1], lists.row, lists.rank)

    def picked(self, begin: Index, row: Index, rank: Index) -> Self:
        """For new lists that begin at `begin` and have the documents at these rows and ranks."""
        at = self.begin[row] + rank - 1
        return type(self)(begin, {name: column[at] for name, column in self.columns.items()})

    def at(self, name: str, row: Index, rank: Index) -> Array:
        """The column's values for the documents at these rows and ranks."""
        return np.asarray(self.columns[name][self.begin[row] + rank - 1])
