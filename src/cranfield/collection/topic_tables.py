"""Topics as tables: tab-separated text, JSON and JSON-lines, to and from plain records."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from cranfield.collection.topic_record import PART, SPELLINGS, TEXTS, Found, Record, fields_of, record_of, shortened
from cranfield.errors import DataError


def _parts_to_write(*records: Record) -> list[str]:
    """The parts a table needs: those in use, and those that a field would otherwise be taken for."""
    needed = {"id", "title"}
    for record in records:
        needed |= {name for name in SPELLINGS if record.get(name)} | {PART.get(n.lower(), n) for n in fields_of(record)}
    return [part for part in SPELLINGS if part in needed]


# ---------------------------------------------------------------------------------------------------- TSV


def read_tsv(text: str, path: str) -> Found:
    rows = [(line, row.removesuffix("\r").split("\t")) for line, row in enumerate(text.split("\n"), 1) if row.strip()]
    header = ["id", "title"]
    if _is_header(rows[0][1]):
        line, header = rows.pop(0)
        repeated = [name for name, count in Counter(header).items() if count > 1]
        if repeated:
            raise DataError(path, line, f"column {repeated[0]!r} twice in the header")
    for line, cells in rows:
        if len(cells) != len(header):
            what = f"{len(cells)} columns between tabs, expected {len(header)}: {' '.join(header)}"
            raise DataError(path, line, what)
        yield line, record_of(zip(header, cells, strict=True), path, line)


def _is_header(cells: list[str]) -> bool:
    parts = [PART.get(cell.lower()) for cell in cells]
    return parts[0] == "id" and any(part in TEXTS for part in parts[1:])


def write_tsv(records: list[Record], path: str) -> str:
    parts = _parts_to_write(*records)
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


def _not_tabular(path: str, record: Record, what: str, others: list[str]) -> DataError:
    way_out = f"write jsonl, or only({', '.join(map(repr, others))})"
    return DataError(path, None, f"topic {record['id']} has {what}, which TSV cannot carry; {way_out}")


# ---------------------------------------------------------------------------------------------------- JSON


def is_json_lines(text: str) -> bool:
    """Is text that begins with an object an object a line, not one object of topics by id?"""
    first, _, rest = text.strip().partition("\n")
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return bool(rest) or _has_id(value)


def _has_id(value: dict[str, Any]) -> bool:
    return any(PART.get(name.lower()) == "id" for name in value)


def read_json(text: str, path: str) -> Found:
    """Topics from a list of objects, alone or in an object of its own; one object; or id -> query or object."""
    (line, value), *more = _values(text, path) or [(None, None)]
    if more or text.lstrip().startswith("[") or not isinstance(value, dict) or _has_id(value):
        return read_jsonl(text, path)
    if len(value) == 1 and isinstance(only := next(iter(value.values())), list):
        objects = only
    else:
        objects = [{"id": id, **(said if isinstance(said, dict) else {"title": said})} for id, said in value.items()]
    return ((None, _record(each, path, None)) for each in objects)


def read_jsonl(text: str, path: str) -> Found:
    for line, value in _values(text, path):
        yield line, _record(value, path, line)


def _record(value: Any, path: str, line: int | None) -> Record:
    if not isinstance(value, dict):
        raise DataError(path, line, f"{shortened(repr(value))}, expected an object with id and title")
    return record_of(value.items(), path, line)
