"""How long documents are: a table of lengths, and the lengths of the retrieved documents by rank.

Measures of reading time or of text read need the length of every document in a list, judged or not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield import _core
from cranfield.assessed.attachment import ByRank, Moves
from cranfield.assessed.segments import position_in_segment
from cranfield.collection.tables.table_schema import DOC, Numbers, Schema
from cranfield.errors import CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.text import counted, listed
from cranfield.types import Array, Index

if TYPE_CHECKING:
    from cranfield.assessed.lists import Assessed

LENGTHS = Schema(
    "doc length [snippet]",
    key=("doc",),
    layouts=("doc length", "doc length snippet"),
    any_of=("length", "words", "characters", "cost"),
    doc=DOC,
    length=Numbers(("length", "len", "doc_length", "document_length"), least=0, optional=True),
    snippet=Numbers(("snippet", "snippet_length", "snippet_characters"), least=0, optional=True),
    words=Numbers(("words", "tokens", "word_count"), least=0, optional=True),
    characters=Numbers(("characters", "chars", "character_count"), least=0, optional=True),
    cost=Numbers(("cost", "costs"), least=0, optional=True),
)
"""A `length` is in the unit that a measure counts: words, characters or a cost."""
UNITS = tuple(name for name in LENGTHS.columns if name != "doc")


class Lengths(ByRank):
    """The lengths of the documents of every list: columns `length`, `words`, `characters`, `cost` and `snippet`."""

    follows_order = True
    knows_unjudged = True

    @staticmethod
    def one(lengths: Any, retrieved: int) -> Lengths:
        """For a single list: numbers from the top down, or {column: numbers}.

        >>> Lengths.one([500, 80], 2).of("words", np.array([0]), np.array([2])).tolist()
        [80.0]
        """
        columns = lengths if isinstance(lengths, Mapping) else {"length": lengths}
        unknown = [name for name in columns if name not in UNITS]
        if unknown:
            raise UsageError(f"lengths: column {unknown[0]!r} is not known; there are {', '.join(UNITS)}")
        return Lengths.of_list("lengths", columns, retrieved)

    def reordered(self, lists: Assessed, moves: Moves) -> Lengths:
        start = lists.document_start
        row, rank = np.repeat(np.arange(lists.rows), lists.retrieved), position_in_segment(start)
        old_rank = np.empty(len(row), dtype=np.int64)
        old_rank[start[row] + moves.of(row, rank) - 1] = rank
        return self.picked(start[:-1], row, old_rank)

    def only_for(self, needs: Collection[str]) -> Lengths | None:
        return self if "lengths" in needs else None

    def of(self, unit: str, row: Index, rank: Index) -> Array:
        """The length in `unit` (words, characters) of the documents at these rows and ranks."""
        return self.at(self.column(unit), row, rank)

    def column(self, unit: str) -> str:
        """The column that holds lengths in `unit`."""
        column = next((name for name in (unit, "length") if name in self.columns), None)
        if column is None:
            columns = ", ".join(self.columns)
            raise UsageError(f"the table of document lengths has only {columns}; add a column called {unit}")
        return column

    def snippet(self, row: Index, rank: Index, otherwise: float) -> Array:
        """The number of characters of the snippets of these documents; `otherwise` if the table does not say."""
        if "snippet" not in self.columns:
            return np.full(len(row), float(otherwise))
        length = self.at("snippet", row, rank)
        return np.where(np.isnan(length), otherwise, length)


@dataclass(frozen=True, eq=False)
class LengthTable:
    """Documents and their lengths.

    >>> len(LengthTable.of({"d1": 500, "d2": 80}))
    2
    """

    documents: tuple[str, ...]
    columns: Mapping[str, Array]
    origin: str = "lengths"

    @staticmethod
    def of(thing: Any) -> LengthTable:
        """From {document: length}, a frame, or a file.

        A file has lines `doc length`, or `doc length snippet` where the snippets differ in length, separated by blanks,
        tabs or commas. With a first line of names, columns may also be called `words` (which TBG counts),
        `characters` (which U counts) and `cost` (what reading takes, for C/W/L measures). Parquet files are read too.
        """
        if isinstance(thing, LengthTable):
            return thing
        rows = LENGTHS.read(thing, "lengths")
        return LengthTable(tuple(rows["doc"]), {name: rows[name] for name in UNITS if name in rows}, rows.origin)

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def numbers(self) -> _core.Judged:
        """The documents, ready to be looked up while runs are joined; the number of each is its row in the table."""
        return _core.judged(_core.table_from_dict({"documents": dict.fromkeys(self.documents, 0)}, "", "row"), "error")

    def lists(self, row: Index, begin: Index, unknown: list[str], assumed: float | str | None) -> Lengths:
        """The lengths of retrieved documents, for which `row` is the row of the table (-1: not in the table)."""
        without = row < 0
        columns = {name: column[row] for name, column in self.columns.items()}
        if without.any():
            documents = f"{counted(len(unknown), 'retrieved document')} without a length: {listed(unknown)}"
            if assumed is None:
                raise DataError(self.origin, None, f"{documents}; add them, or give missing_length=N or 'mean'")
            values = {name: self._assumed(name, assumed) for name in columns if name != "snippet"}
            for name, column in columns.items():
                column[without] = values.get(name, np.nan)
            lengths = [f"{value:g}{f' {name}' if name != 'length' else ''}" for name, value in values.items()]
            mean = " (the mean)" if assumed == "mean" else ""
            warn_caller(f"{documents}; assumed: {' and '.join(lengths)}{mean}", CranfieldWarning)
        return Lengths(begin, columns)

    def _assumed(self, name: str, assumed: float | str) -> float:
        if assumed == "mean":
            return float(self.columns[name].mean())
        if len(units := [name for name in self.columns if name != "snippet"]) > 1:
            raise UsageError(f"missing_length == {assumed!r}, but lengths are in {' and in '.join(units)}; use 'mean'")
        return float(assumed)
