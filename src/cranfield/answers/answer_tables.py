"""Tables of answers: JSON lines, or columns that a first line names, between tabs, commas or semicolons."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.collection.column_names import COLUMNS
from cranfield.collection.doors import reads, text_blocks
from cranfield.collection.file_formats.structured import parsed_json
from cranfield.collection.source import Buffer, PathLike, head_of, load, shown_path, unmarked
from cranfield.collection.tables.rows import Rows
from cranfield.collection.tables.table_schema import Anything, Column, Numbers, Schema, Words
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

    @reads
    def each(self, path: PathLike) -> list[Row]:
        """The rows of a file, one by one. In JSON lines, each object may have names of its own for the columns."""
        origin, data = shown_path(os.fspath(path)), load(path)
        is_json = unmarked(head_of(data)).lstrip().startswith(b"{")
        parts = self._of_objects(data, origin) if is_json else [self.read_content(data, origin)]
        made = []
        for rows in parts:
            columns = [
                column.tolist() if isinstance(column, np.ndarray) else column for column in rows.columns.values()
            ]
            for at, values in enumerate(zip(*columns, strict=True)):
                made.append(Row(rows, at, dict(zip(rows.columns, values, strict=True))))
        return sorted(made, key=lambda row: row.rows.line(row.at) or 0)

    def _of_objects(self, data: Buffer, origin: str) -> list[Rows]:
        """The rows of JSON lines, those of objects with the same names together."""
        objects: dict[tuple[str, ...], dict[int, dict[str, Any]]] = {}
        lines = (line for block in text_blocks(data, origin) for line in block.removesuffix("\n").split("\n"))
        for number, line in enumerate(lines, 1):
            if line.strip():
                record = parsed_json(line, origin, number)
                if not isinstance(record, dict):
                    raise DataError(origin, number, f"is {shown(record)}, expected an object")
                objects.setdefault(tuple(record), {})[number] = record
        return [self._of_part(names, part, origin) for names, part in objects.items()]

    def _of_part(self, names: tuple[str, ...], part: dict[int, dict[str, Any]], origin: str) -> Rows:
        def cells(at: int) -> list[Any]:
            return [record[names[at]] for record in part.values()]

        return self._named(names, cells, origin, {}, next(iter(part)), list(part))
