"""Topics as plain records, and as tables: tab-separated text, JSON and JSON-lines."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from cranfield.collection.file_formats.structured import without_repeats
from cranfield.errors import DataError
from cranfield.text import counted

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


def _parts_to_write(records: list[Record]) -> list[str]:
    """The parts that a table needs: those in use, and those that a field could be mistaken for."""
    needed = {"id", "title"} | {PART.get(name.lower()) for record in records for name in record}
    return [part for part in SPELLINGS if part in needed]


# ---------------------------------------------------------------------------------------------------- TSV


def read_tsv(text: str, path: str) -> Found:
    rows = [(line, row.removesuffix("\r").split("\t")) for line, row in enumerate(text.split("\n"), 1) if row.strip()]
    header = ["id", "title"]
    if is_header(rows[0][1]):
        line, header = rows.pop(0)
        for name, count in Counter(header).items():
            if count > 1:
                raise DataError(path, line, f"column {name!r} appears twice in the header")
    for line, cells in rows:
        if len(cells) != len(header):
            message = f"{counted(len(cells), 'column')} between tabs, expected {len(header)}: {' '.join(header)}"
            raise DataError(path, line, message)
        yield line, record_of(zip(header, cells, strict=True), path, line)


def is_header(cells: Sequence[str]) -> bool:
    """Are the cells of the first line names of columns, with an id and a text?

    >>> is_header(["query_id", "text"]), is_header(["1", "text retrieval"])
    (True, False)
    """
    first, *others = [PART.get(cell.strip().lower()) for cell in cells]
    return first == "id" and any(part in TEXTS for part in others)


def write_tsv(records: list[Record], path: str) -> str:
    parts = _parts_to_write(records)
    header = [*parts, *dict.fromkeys(name for record in records for name in fields_of(record))]
    rows = [header]
    for record in records:
        if "subtopics" in record:
            raise _not_tabular(path, record, f"{len(record['subtopics'])} subtopics", ["title"])
        rows.append([record.get(name, "") for name in header])
        for name, cell in zip(header, rows[-1], strict=True):
            if not isinstance(cell, str) or re.search("[\t\n\r\0]", cell + name):
                raise _not_tabular(path, record, f"{name} == {cell!r}", [part for part in parts[1:] if part != name])
    return "".join("\t".join(row) + "\n" for row in rows)


def _not_tabular(path: str, record: Record, content: str, others: list[str]) -> DataError:
    way_out = f"write jsonl, or only({', '.join(map(repr, others))})"
    return DataError(path, None, f"topic {record['id']} has {content}, which TSV cannot hold; {way_out}")


# ---------------------------------------------------------------------------------------------------- JSON


def read_json(text: str, path: str) -> Found:
    """Read objects in a list, or one after another as in JSON-lines; or one object with such a list, or {id: topic}."""
    values = list(_values(text, path))
    sole = values[0][1] if len(values) == 1 else None
    if isinstance(sole, dict) and not any(name.lower() in PART for name in sole):
        if len(sole) == 1 and isinstance(items := next(iter(sole.values())), list):
            values = [(None, item) for item in items]
        else:
            values = [(None, {"id": id, **(v if isinstance(v, dict) else {"title": v})}) for id, v in sole.items()]
    for line, value in values:
        if not isinstance(value, dict):
            raise DataError(path, line, f"{shortened(repr(value))}, expected an object with id and title")
        yield line, record_of(value.items(), path, line)


def _values(text: str, path: str) -> Iterator[tuple[int | None, Any]]:
    """The items of a JSON list, or a sequence of values, each with its line."""
    is_list = text.lstrip().startswith("[")
    position = _past_blanks(text, text.index("[") + 1 if is_list else 0)
    line, line_position = 1, 0
    while not text.startswith("]", position) if is_list else position < len(text):
        line, line_position = line + text.count("\n", line_position, position), position
        try:
            value, position = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise DataError(path, error.lineno, f"malformed JSON: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            problem = "nested too deeply" if isinstance(error, RecursionError) else error
            raise DataError(path, line, f"malformed JSON: {problem}") from None
        yield line, value
        position = _past_blanks(text, position)
        if is_list and text.startswith(",", position):
            position = _past_blanks(text, position + 1)
        elif is_list and not text.startswith("]", position):
            raise DataError(path, text.count("\n", 0, position) + 1, "malformed JSON: expected ',' or ']'")
    if is_list and _past_blanks(text, position + 1) < len(text):
        raise DataError(path, text.count("\n", 0, position) + 1, "malformed JSON: text after the end of the list")


def _past_blanks(text: str, start: int) -> int:
    match = re.compile(r"[^ \t\r\n]").search(text, start)
    return match.start() if match else len(text)


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=without_repeats, parse_constant=_no_number)


def write_json(records: list[Record], path: str) -> str:
    return "[\n" + ",\n".join(map(_json_line, records)) + "\n]\n"


def write_jsonl(records: list[Record], path: str) -> str:
    return "".join(_json_line(record) + "\n" for record in records)


def _json_line(record: Record) -> str:
    parts = {part: record.get(part, "") for part in _parts_to_write([record])}
    return json.dumps({**parts, **record}, ensure_ascii=False, allow_nan=False)
