"""The rows of a table that was read by schema: its columns by name, and where each row stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cranfield.errors import DataError


@dataclass(frozen=True, eq=False)
class Rows:
    """The columns of a table by name, and where its rows stand."""

    origin: str
    columns: Mapping[str, Any]
    """Lists of texts (or `Coded`), and arrays of numbers."""
    lines: Sequence[int] | None = None
    """The line of each row of a file with lines."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """The other columns, for a schema that asks for them."""
    unused: tuple[str, ...] = ()
    """The names of columns that the schema does not know."""
    named: bool = True
    """Whether the table names its columns."""

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(next(iter((*self.columns.values(), *self.others.values()))))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.columns.values(), strict=True)

    def line(self, row: int) -> int | None:
        """The line of a row; None if the table is not a file with lines."""
        return None if self.lines is None else int(self.lines[row])

    def fault(self, row: int, message: str) -> DataError:
        """The error about a row."""
        if self.lines is not None:
            return DataError(self.origin, self.line(row), message)
        return DataError(self.origin, None, f"row {row + 1}: {message}")
