"""A topic as a plain record, the step between the text of a file and a `Topic`.

A record is a dict that JSON can hold. `id`, `title`, `description`, `narrative` and `lang` are text, `subtopics` is a
list of dicts with `number`, `text` and `type`; every other name, here and in subtopics, is a field.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from cranfield.errors import DataError

Record: TypeAlias = dict[str, Any]
Found: TypeAlias = Iterator[tuple[int | None, Record]]  # with its line, if that is known

# How files spell the parts of a topic, the preferred spelling first; other spellings in the same topic are fields.
# "identifrier" is a misspelling in a CLEF topic (Ferro's survey, Fig. 4).
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "id": (
        "id", "_id", "num", "number", "identifier", "identifrier", "qid", "query_id", "query-id", "topic_id", "topic",
    ),
    "title": ("title", "query", "text", "question", "content"),
    "description": ("description", "desc"),
    "narrative": ("narrative", "narr"),
    "lang": ("lang",),
}  # fmt: skip
PART = {spelling: part for part, spellings in SPELLINGS.items() for spelling in spellings}
TEXTS = ("title", "description", "narrative")


def record_of(
    columns: Iterable[tuple[str, Any]], path: str, line: int | None, fields: Iterable[tuple[str, Any]] = ()
) -> Record:
    """A record from columns, which can be spelled in many ways, and from fields, whose names are kept."""
    values_of: defaultdict[str, list[Any]] = defaultdict(list)
    for name, value in columns:
        values_of[name].append(value)
    record: Record = {}
    for part, spellings in SPELLINGS.items():
        column = next((name for spelling in spellings for name in values_of if name.lower() == spelling), None)
        if column is not None:
            value, *more = values_of.pop(column)
            if part == "id" and type(value) in (int, str):
                value = str(value).strip()
            if not isinstance(value, str | None):
                raise DataError(path, line, f"{column} is {value!r}, expected text")
            record[part] = value or ""
            if more:
                values_of[part] = more
    if not record.get("id"):
        raise DataError(path, line, f"topic without a number, expected one of {', '.join(SPELLINGS['id'])}")
    for name, value in fields:
        values_of[name].append(value)
    for name, values in values_of.items():
        if name in record:
            raise DataError(path, line, f"{name} appears twice in one topic, expected once (or once per language)")
        record[name] = values[0] if len(values) == 1 else values
    return record


def fields_of(record: Record) -> Record:
    """The fields of a record: everything except the parts that any topic can have."""
    return {name: value for name, value in record.items() if name not in SPELLINGS and name != "subtopics"}


def shortened(text: str) -> str:
    """Text for a message, on one line."""
    text = " ".join(text.split())
    return repr(text if len(text) <= 40 else text[:39] + "…")
