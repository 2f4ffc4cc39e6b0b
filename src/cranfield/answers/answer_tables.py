"""Tables of answers: JSON lines, or columns that a first line names, between tabs, commas or semicolons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.collection.column_names import COLUMNS
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Anything, Column, Numbers, Rows, Schema, Words
from cranfield.errors import DataError
from cranfield.text import shown


@dataclass(frozen=True)
class Name(Words):
    """Names, without the blanks around them; a list or a truth value is none."""

    @property
    def expected(self) -> str:
        return "a name or a text"

    def text(self, value: Any) -> str:
        return "" if isinstance(value, list | dict | bool) else super().text(value).strip()


RUN = Name(COLUMNS["name"])
TOPIC = Name((*COLUMNS["topic"], "question_id", "question"))
DOC = Name(COLUMNS["doc"], "document")
NUGGET = Name(("nugget", "nugget_id", "iunit", "iunit_id", "scu", "scu_id", "unit"))
ANSWER = Name(("answer", "answer_id", "output", "output_id", "doc", "doc_id", "docno"))
ASSESSOR = Name(("assessor", "assessor_id", "worker", "annotator", "judge", "user"))
TEXT = Anything(
    ("text", "answer_text", "summary", "contents", "content", "body", "response", "answer"), default=None
)  # fmt: skip
IMPORTANCE = Anything(("importance", "type", "vote"), default=None)
SUPPORT = Anything(("support", "assignment", "grade", "label", "matched"), default=None)
START = Numbers(("start", "begin", "offset"), least=0, whole=True)
END = Numbers(("end", "stop"), least=0, whole=True)


def optional(column: Name) -> Name:
    """A name that a table, or some of its rows, may lack: then it is empty."""
    return replace(column, default="", may_be_empty=True)


def optional_number(*words: str, least: float = -np.inf) -> Numbers:
    """A number that a table, or some of its rows, may lack: then it is NaN."""
    return Numbers(words, least=least, default=np.nan, blank=np.nan)


@dataclass(frozen=True, eq=False)
class Row:
    """A row: its values by column, and where it is."""

    rows: Rows
    at: int
    values: Mapping[str, Any]

    def __getitem__(self, column: str) -> Any:
        return self.values[column]

    def fault(self, what: str) -> DataError:
        """The error for this row."""
        return self.rows.fault(self.at, what)

    def has(self, column: str) -> bool:
        """Is there a value that is not empty?"""
        return self.values.get(column) not in (None, "")

    def checked(self, column: str, kind: Column) -> Any:
        """A value as a kind of column has it, where only some rows need it."""
        values, wrong = kind.values([self.values[column]])
        if wrong is not None:
            raise self.fault(f"the {column} is {shown(self.values[column])}, expected {kind.expected}")
        return values[0]


class AnswerTable(Schema):
    """A table with a header; texts are kept with the blanks around them."""

    def __init__(self, form: str, *, key: Sequence[str] = (), any_of: Sequence[str] = (), **columns: Column) -> None:
        given: dict[str, Any] = {"key": key, "any_of": any_of, **columns}
        super().__init__(form, layouts=(), separators="\t,;", strip=False, **given)

    def each(self, path: PathLike) -> list[Row]:
        """The rows of a file, one by one."""
        rows = self.read(path)
        columns = [column.tolist() if isinstance(column, np.ndarray) else column for column in rows.columns.values()]
        records = enumerate(zip(*columns, strict=True))
        return [Row(rows, at, dict(zip(rows.columns, values, strict=True))) for at, values in records]
