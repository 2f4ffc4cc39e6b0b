"""What is known of every retrieved document, judged or not: columns, list after list, rank after rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from cranfield.errors import UsageError
from cranfield.types import Array, Index


@dataclass(frozen=True, eq=False)
class ByRank:
    """Numbers of the documents of every list, rank by rank.

    | array | one per | meaning |
    |---|---|---|
    | `begin` | list | where its documents begin in the columns |
    | `columns` | document | numbers, by name |

    Lists may share their documents: what is read as many lists (by intent, cut at every rank) is stored once.

    >>> ByRank.given("scores", {"score": [0.9, 0.2]}, 2).at("score", np.array([0]), np.array([2])).tolist()
    [0.2]
    """

    begin: Index
    columns: Mapping[str, Array]

    @classmethod
    def given(cls, what: str, columns: Mapping[str, object], retrieved: int) -> Self:
        """Of a single list, each column from the top."""
        arrays = {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
        for name, array in arrays.items():
            if array.shape != (retrieved,):
                raise UsageError(f"{what}: {array.size} numbers for {name}, but the list has {retrieved} documents")
        return cls(np.zeros(1, dtype=np.int64), arrays)

    def rows(self, index: Index | slice) -> Self:
        """Those of the lists at these rows."""
        return type(self)(self.begin[index], self.columns)

    def picked(self, begin: Index, row: Index, rank: Index) -> Self:
        """Those of other lists, which begin at `begin`: made of the documents that stand at these rows and ranks."""
        at = self.begin[row] + rank - 1
        return type(self)(begin, {name: column[at] for name, column in self.columns.items()})

    def at(self, name: str, row: Index, rank: Index) -> Array:
        """What the column says of the documents at these rows and ranks."""
        return np.asarray(self.columns[name][self.begin[row] + rank - 1])
