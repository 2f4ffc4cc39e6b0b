"""Runs and qrels from JSON, JSON-lines, CSV, TSV, Parquet, data frames and records, as columns.

Columns are found by name (`layout.COLUMNS`). Loops over documents are left to what runs in C: `json`, `csv`, `map`,
`itemgetter`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from cranfield import _core
from cranfield.collection.columns import WHAT, Columns, chosen, shown
from cranfield.collection.source import Buffer
from cranfield.collection.text_formats import find_columns, header_delimiter
from cranfield.errors import CranfieldError, DataError


def _columns(get: Callable[[int], list[Any]], found: dict[str, int], origin: str) -> Columns:
    """Columns from a function that gives one."""
    return Columns(
        get(found["topic"]),
        get(found["doc"]),
        get(found["value"]),
        ranks=get(found["rank"]) if "rank" in found else None,
        names=get(found["name"]) if "name" in found else None,
        labels=get(found["label"]) if "label" in found else None,
        origin=origin,
    )


def _score_by_rank(columns: Columns, found: dict[str, int]) -> Columns:
    """A run with ranks and no scores gets 1/rank as its score, as the core does for text files."""
    if found["value"] == found.get("rank"):
        columns.check_numbers(columns.values, "rank")
        ranks = np.asarray(columns.values, dtype=np.float64)
        with np.errstate(divide="ignore"):
            columns.values = (1.0 / ranks).tolist()
    return columns


# ------------------------------------------------------------------------------------------------------- frames


def is_frame(thing: object) -> bool:
    """A pandas, polars or Arrow table, or anything that gives itself as an Arrow stream."""
    root = type(thing).__module__.partition(".")[0]
    if type(thing).__name__ in ("Series", "ChunkedArray"):  # one column
        return False
    return root in ("pandas", "polars", "pyarrow") or hasattr(thing, "__arrow_c_stream__")


def frame_columns(frame: Any) -> tuple[list[str], Callable[[int], list[Any]]]:
    """The names of a frame's columns, and a function that gives the values of one."""
    root = type(frame).__module__.partition(".")[0]
    if root == "polars":
        frame = frame.collect() if hasattr(frame, "collect") else frame
        return list(frame.columns), lambda i: list(frame.to_series(i).to_list())
    if root == "pandas":
        return list(map(str, frame.columns)), lambda i: list(frame.iloc[:, i].tolist())
    if not hasattr(frame, "column_names"):
        frame = pyarrow("reading an Arrow stream").table(frame)
    return list(frame.column_names), lambda i: list(frame.column(i).to_pylist())


def from_frame(frame: Any, kind: str, origin: str = "frame") -> Columns:
    """The columns of a pandas, polars or Arrow frame."""
    names, get = frame_columns(frame)
    found = chosen(names, kind, origin)
    return _score_by_rank(_columns(get, found, origin), found)


def pyarrow(purpose: str) -> Any:
    """The pyarrow package, or word of how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise CranfieldError(f"{purpose} needs pyarrow: pip install 'cranfield[frames]'") from None
    return pyarrow


def read_parquet(buffer: Buffer, kind: str, origin: str) -> Columns:
    """The columns of a Parquet file."""
    return from_frame(parquet_table(buffer, origin), kind, origin)


def parquet_table(buffer: Buffer, origin: str) -> Any:
    """A Parquet file as an Arrow table."""
    arrow = pyarrow(f"{origin}: reading Parquet")
    from pyarrow import parquet

    try:
        return parquet.read_table(arrow.BufferReader(arrow.py_buffer(buffer)))
    except (arrow.ArrowException, OSError) as error:
        raise DataError(origin, None, f"the Parquet data is damaged: {str(error).splitlines()[0]}") from None


# ------------------------------------------------------------------------------------------------------ records


def from_records(records: Iterable[Any], kind: str, origin: str = "records", unit: str = "record") -> Columns:
    """Columns of dicts, named tuples, objects with such attributes, or plain tuples (topic, doc, value[, label])."""
    try:
        rows = records if isinstance(records, list) else list(records)
    except TypeError as error:  # an array without dimensions says that it can be iterated over, and cannot
        raise DataError(origin, None, f"cannot be read: {error}") from None
    if not rows:
        return Columns([], [], [], origin=origin, unit=unit)
    first = rows[0]
    names: Sequence[str]
    pick: Callable[[int], Callable[[Any], Any]]
    if isinstance(first, Mapping):
        names = list(first)
        found, pick = chosen(names, kind, origin), lambda i: itemgetter(names[i])
    elif hasattr(first, "_fields"):
        found, pick = chosen(first._fields, kind, origin), itemgetter
    elif hasattr(first, "__dataclass_fields__"):
        names = list(first.__dataclass_fields__)
        found, pick = chosen(names, kind, origin), lambda i: attrgetter(names[i])
    elif isinstance(first, (tuple, list)):
        found, pick = _positions(rows, kind, origin, unit), itemgetter
    else:
        raise DataError(
            origin, None, f"{unit} 1 is {shown(first)}, expected a dict, a named tuple or (topic, doc, {WHAT[kind]})"
        )

    def get(place: int) -> list[Any]:
        try:
            return list(map(pick(place), rows))
        except (KeyError, IndexError, AttributeError, TypeError):
            row = next(row for row, record in enumerate(rows) if not _has(pick(place), record))
            raise DataError(
                origin, None, f"{unit} {row + 1} is {shown(rows[row])}, expected the same fields as {unit} 1"
            ) from None

    columns = _columns(get, found, origin)
    columns.unit = unit
    return _score_by_rank(columns, found)


def _has(pick: Callable[[Any], Any], record: Any) -> bool:
    try:
        pick(record)
    except (KeyError, IndexError, AttributeError, TypeError):
        return False
    return True


def _positions(rows: list[Any], kind: str, origin: str, unit: str) -> dict[str, int]:
    """Roles of plain tuples, by position."""
    most = 3 if kind == "run" else 4
    expected = "(topic, doc, score)" if kind == "run" else "(topic, doc, grade) or (topic, doc, grade, iteration)"
    size = len(rows[0])
    wrong = 0 if not 3 <= size <= most else next((i for i, row in enumerate(rows) if not _sized(row, size)), None)
    if wrong is not None:
        raise DataError(origin, None, f"{unit} {wrong + 1} is {shown(rows[wrong])}, expected {expected}")
    return {"topic": 0, "doc": 1, "value": 2} | ({"label": 3} if size == 4 else {})


def _sized(row: Any, size: int) -> bool:
    return isinstance(row, (tuple, list)) and len(row) == size


# --------------------------------------------------------------------------------------------------------- JSON


def read_json(text: str, kind: str, origin: str) -> Columns | dict[str, dict[str, Any]]:
    """{topic: {doc: value}} as it is, a list of records as columns."""
    data = parsed_json(text, origin)
    if not data:
        raise DataError(origin, None, f"is empty, expected {_json_shapes(kind)}")
    if isinstance(data, dict):
        if all(isinstance(documents, dict) for documents in data.values()):
            return data
        data = [data]
    if not isinstance(data, list):
        raise DataError(origin, None, f"is {shown(data)}, expected {_json_shapes(kind)}")
    if isinstance(data[0], dict) and len(find_columns(list(data[0]), kind)) < 2:
        raise DataError(origin, None, f"is JSON of another shape, expected {_json_shapes(kind)}")
    return from_records(data, kind, origin)


def read_json_lines(text: str, kind: str, origin: str) -> Columns | dict[str, dict[str, Any]]:
    """One record a line, or one {topic: {doc: value}} a line."""
    numbered = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip() and line.lstrip()[0] != "#"]
    lines = [line for _, line in numbered]
    if not lines:
        raise DataError(origin, None, "is empty, expected one JSON object a line")
    try:  # one call for all lines is many times faster than one call a line
        records = json.loads(f"[{','.join(lines)}]", object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        records = []
    if len(records) != len(lines):
        records = [parsed_json(line, origin, number) for number, line in numbered]
    for (number, _), record in zip(numbered, records, strict=True):
        if not isinstance(record, dict):
            raise DataError(origin, number, f"{shown(record)}, expected a JSON object")
    if all(isinstance(value, dict) for value in records[0].values()) and records[0]:
        return _merged(records, [number for number, _ in numbered], origin)
    try:
        columns = from_records(records, kind, origin, unit="line")
    except DataError as error:
        place = re.match(r"line (\d+)", error.what)
        if place is None:
            raise
        number = numbered[int(place[1]) - 1][0]
        what = error.what.removeprefix(place[0]).removeprefix(" is ").replace("as line 1", f"as line {numbered[0][0]}")
        raise DataError(origin, number, what) from None
    columns.line = lambda row: numbered[row][0]
    return columns


def first_keys(text: str, origin: str) -> list[str]:
    """The keys of the first record in JSON or JSON-lines; none if it is {topic: {doc: value}}."""
    try:
        start = json.JSONDecoder().raw_decode(text.lstrip().removeprefix("[").lstrip())[0]
    except (ValueError, RecursionError) as error:
        raise DataError(origin, None, f"is not JSON: {error}") from None
    nested = isinstance(start, dict) and all(isinstance(value, dict) for value in start.values())
    return list(start) if isinstance(start, dict) and not nested else []


def parsed_json(text: str, origin: str, line: int | None = None) -> Any:
    """What JSON says, no key twice in an object; `line` is where a text of one line stands."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise DataError(origin, line or error.lineno, f"is not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise DataError(origin, line, "is JSON nested too deeply") from None
    except ValueError as error:
        raise DataError(origin, line, str(error)) from None


def _merged(records: list[Any], numbers: list[int], origin: str) -> dict[str, dict[str, Any]]:
    merged: dict[str, dict[str, Any]] = {}
    for record, number in zip(records, numbers, strict=True):
        for topic, documents in record.items():
            if not isinstance(documents, dict):
                raise DataError(origin, number, f"topic {topic!r} has {shown(documents)}, expected {{doc: value}}")
            if topic in merged:
                raise DataError(origin, number, f"topic {topic!r} is there twice")
            merged[topic] = documents
    return merged


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What `json` makes of an object, unless a key is there twice: then it would silently keep the last."""
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"{twice!r} is there twice in one object")
    return made


def _json_shapes(kind: str) -> str:
    what = WHAT[kind]
    name = "score" if kind == "run" else "relevance"
    return f'{{topic: {{doc: {what}}}}} or a list of {{"query_id": ..., "doc_id": ..., "{name}": ...}}'


# ---------------------------------------------------------------------------------------------------------- CSV


def read_delimited(text: str, kind: str, origin: str, format: str) -> Columns:
    """CSV or TSV with a header; the delimiter is told by the header."""
    skipped, text = without_comments(text)
    first = text.partition("\n")[0].rstrip("\r")
    delimiter = header_delimiter(first) or ("\t" if format == "tsv" else ",")

    def reader() -> Any:
        return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)

    lines = reader()
    try:
        rows = list(filter(None, lines))
    except csv.Error as error:
        raise DataError(origin, skipped + max(1, lines.line_num), f"is not {format.upper()}: {error}") from None
    if not rows:
        raise DataError(origin, None, f"is empty, expected a header and lines of topic, doc, {WHAT[kind]}")
    header = rows.pop(0)

    def line(row: int) -> int:
        again, number, begin = reader(), -2, 1
        for cells in again:
            number += bool(cells)
            if number == row:
                break
            begin = again.line_num + 1
        return int(skipped + begin)

    found = chosen(header, kind, origin)
    if set(map(len, rows)) - {len(header)}:
        wrong = next(row for row, cells in enumerate(rows) if len(cells) != len(header))
        count = f"{len(rows[wrong])} column{'s' if len(rows[wrong]) != 1 else ''}"
        raise DataError(origin, line(wrong), f"{count}, expected {len(header)}: {', '.join(header)}")
    columns = _columns(lambda place: list(map(itemgetter(place), rows)), found, origin)
    columns.line = line
    columns.values = _numbers(columns, columns.values, WHAT[kind] if found["value"] != found.get("rank") else "rank")
    if columns.ranks is not None:
        columns.ranks = _numbers(columns, columns.ranks, "rank")
    return _score_by_rank(columns, found)


def _numbers(columns: Columns, column: list[str], what: str) -> list[Any]:
    """Text to numbers by the core's rules, the same for all text formats."""
    numbers = list(map(_core.parse_number, [text.strip().encode("utf-8", "surrogateescape") for text in column]))
    if None in numbers:
        row = numbers.index(None)
        raise columns.fault(row, f"the {what} is {shown(column[row])}, expected a number")
    return numbers


def without_comments(text: str) -> tuple[int, str]:
    """Text from its first line that is neither blank nor a comment, and how many lines were skipped."""
    skipped = 0
    while text:
        first, _, rest = text.partition("\n")
        if first.strip() and not first.lstrip().startswith("#"):
            break
        skipped, text = skipped + 1, rest
    return skipped, text
