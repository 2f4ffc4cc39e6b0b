"""Read runs and qrels from JSON, JSON-lines, CSV, TSV, Parquet, data frames and records, as columns.

Columns are found by their names. Loops over documents run in C: `json`, `csv`, `map`, `itemgetter`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from numbers import Real
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from cranfield import _core
from cranfield.collection.column_names import (
    DELIMITER,
    VALUE,
    column_key,
    header_delimiter,
    header_of,
    required_columns,
    run_or_qrels_columns,
)
from cranfield.collection.columns import Columns, shown, with_points
from cranfield.collection.file_formats.listed_documents import columns_of_lists, listed_documents
from cranfield.collection.grade_labels import grades_of
from cranfield.collection.source import HEAD, Buffer, check_complete, check_encoding, text_of
from cranfield.errors import DataError
from cranfield.frames import need
from cranfield.text import counted


def columns_at(
    get: Callable[[int], list[Any]], places: dict[str, int], origin: str, names: Sequence[str] = ()
) -> Columns:
    """Columns from a function that returns the column at a position; `names` are those of all columns."""
    columns: dict[str, Any] = {f"{role}s": get(place) for role, place in places.items()}
    if "value" not in places:
        columns |= {
            "values": [1] * len(columns["docs"]),
            "notes": (f"{origin}: no grades: each row is a relevant document",),
        }
    label_name = column_key(names[places["label"]]) if names and "label" in places else ""
    return Columns(**columns, origin=origin, label_name=label_name)


def score_by_rank(columns: Columns, places: dict[str, int]) -> Columns:
    """Give a run with ranks and no scores the score 1/rank, as the core does for text files."""
    if "value" in places and places["value"] == places.get("rank"):
        columns.check_numbers(columns.values, "rank")
        ranks = np.asarray(columns.values, dtype=np.float64)
        with np.errstate(divide="ignore"):
            columns.values = (1.0 / ranks).tolist()
    return columns


# ------------------------------------------------------------------------------------------------------- frames


def is_frame(thing: object) -> bool:
    """Whether this is a pandas, polars or Arrow table, or has an Arrow stream."""
    root = type(thing).__module__.partition(".")[0]
    if type(thing).__name__ in ("Series", "ChunkedArray"):  # one column
        return False
    return root in ("pandas", "polars", "pyarrow") or hasattr(thing, "__arrow_c_stream__")


def frame_columns(frame: Any) -> tuple[list[str], Callable[[int], list[Any]]]:
    """The names of the columns of a frame, and a function that returns the values of the column at a position."""
    root = type(frame).__module__.partition(".")[0]
    if root == "polars":
        frame = frame.collect() if hasattr(frame, "collect") else frame
        return list(frame.columns), lambda i: list(frame.to_series(i).to_list())
    if root == "pandas":
        return list(map(str, frame.columns)), lambda i: list(frame.iloc[:, i].tolist())
    if not hasattr(frame, "column_names"):
        frame = need("pyarrow", "an Arrow stream").table(frame)
    return list(frame.column_names), lambda i: list(frame.column(i).to_pylist())


def from_frame(frame: Any, kind: str, origin: str = "frame") -> Columns:
    """The columns of a pandas, polars or Arrow frame."""
    names, get = frame_columns(frame)
    if listed := listed_documents(names, lambda name: _first_value_of(frame, name), kind):
        topics, lists = (get(names.index(name)) for name in listed)
        return columns_of_lists(topics, lists, kind, origin, "row")
    places = required_columns(names, kind, origin)
    return score_by_rank(columns_at(get, places, origin, names), places)


def _first_value_of(frame: Any, name: str) -> Any:
    """The first value of a column; None for a frame that is empty or can be read only once."""
    begin = frame.slice(0, 1) if hasattr(frame, "slice") else frame.head(1) if hasattr(frame, "head") else None
    names, get = ([], None) if begin is None else frame_columns(begin)
    return next(iter(get(names.index(name))), None) if get is not None else None


def read_parquet(buffer: Buffer, kind: str, origin: str) -> Columns:
    return from_frame(parquet_table(buffer, origin), kind, origin)


def parquet_table(buffer: Buffer, origin: str) -> Any:
    """A Parquet file as an Arrow table."""
    return _parquet("read_table", buffer, origin)


def parquet_names(buffer: Buffer, origin: str) -> list[str]:
    """The names of the columns of a Parquet file."""
    return list(_parquet("read_schema", buffer, origin).names)


def _parquet(function: str, buffer: Buffer, origin: str) -> Any:
    arrow, parquet = need("pyarrow", f"{origin}: Parquet"), need("pyarrow.parquet", f"{origin}: Parquet")
    try:
        return getattr(parquet, function)(arrow.BufferReader(arrow.py_buffer(buffer)))
    except (arrow.ArrowException, OSError) as error:
        check_complete(buffer)
        raise DataError(origin, None, f"the Parquet data is damaged: {str(error).splitlines()[0]}") from None


# ------------------------------------------------------------------------------------------------------ records


def from_records(records: Iterable[Any], kind: str, origin: str = "records", unit: str = "record") -> Columns:
    """The columns of dicts, named tuples, dataclass objects or plain tuples (topic, doc, value[, label])."""
    try:
        rows = records if isinstance(records, list) else list(records)
    except TypeError as error:  # an array without dimensions claims to be iterable
        raise DataError(origin, None, f"cannot be read: {error}") from None
    if not rows:
        return Columns([], [], [], origin=origin, unit=unit)
    first = rows[0]
    names: Sequence[str] = ()
    pick: Callable[[int], Callable[[Any], Any]]
    if isinstance(first, Mapping):
        names = list(first)
        if listed := listed_documents(names, first.get, kind):
            topics, lists = (
                [_field(row, name, place, unit, origin) for place, row in enumerate(rows)] for name in listed
            )
            return columns_of_lists(topics, lists, kind, origin, unit)
        places, pick = required_columns(names, kind, origin), lambda i: itemgetter(names[i])
    elif hasattr(first, "_fields"):
        names = first._fields
        places, pick = required_columns(names, kind, origin), itemgetter
    elif hasattr(first, "__dataclass_fields__"):
        names = list(first.__dataclass_fields__)
        places, pick = required_columns(names, kind, origin), lambda i: attrgetter(names[i])
    elif isinstance(first, (tuple, list)):
        places, pick = _positions(rows, kind, origin, unit), itemgetter
    else:
        message = f"{unit} 1 is {shown(first)}, expected a dict, a named tuple or (topic, doc, {VALUE[kind]})"
        raise DataError(origin, None, message)

    def get(place: int) -> list[Any]:
        try:
            return list(map(pick(place), rows))
        except (KeyError, IndexError, AttributeError, TypeError):
            row = next(row for row, record in enumerate(rows) if not _has(pick(place), record))
            message = f"{unit} {row + 1} is {shown(rows[row])}, expected the same fields as {unit} 1"
            raise DataError(origin, None, message) from None

    columns = columns_at(get, places, origin, names)
    columns.unit = unit
    return score_by_rank(columns, places)


def _field(record: Any, name: str, place: int, unit: str, origin: str) -> Any:
    """A field of a record; a record without it is an error."""
    if not isinstance(record, Mapping) or name not in record:
        raise DataError(origin, None, f"{unit} {place + 1} is {shown(record)}, expected the same fields as {unit} 1")
    return record[name]


def _has(pick: Callable[[Any], Any], record: Any) -> bool:
    try:
        pick(record)
    except (KeyError, IndexError, AttributeError, TypeError):
        return False
    return True


def _positions(rows: list[Any], kind: str, origin: str, unit: str) -> dict[str, int]:
    most = 3 if kind == "run" else 4
    expected = "(topic, doc, score)" if kind == "run" else "(topic, doc, grade) or (topic, doc, grade, iteration)"
    size = len(rows[0])
    bad = (i for i, row in enumerate(rows) if not isinstance(row, (tuple, list)) or len(row) != size)
    wrong = next(bad, None) if 3 <= size <= most else 0
    if wrong is not None:
        raise DataError(origin, None, f"{unit} {wrong + 1} is {shown(rows[wrong])}, expected {expected}")
    return {"topic": 0, "doc": 1, "value": 2} | ({"label": 3} if size == 4 else {})


# --------------------------------------------------------------------------------------------------------- JSON


def read_json(buffer: Buffer, kind: str, origin: str) -> Columns | dict[str, dict[str, Any]]:
    """Return {topic: {doc: value}} unchanged, a list of records as columns."""
    data = parsed_json(text_of(buffer), origin)
    if not data:
        raise DataError(origin, None, f"is empty, expected {_json_shapes(kind)}")
    if isinstance(data, dict):
        if all(isinstance(documents, dict) for documents in data.values()):
            return data
        if all(isinstance(documents, list) for documents in data.values()):
            return plain_lists(data, kind, origin)
        data = [data]
    if not isinstance(data, list):
        raise DataError(origin, None, f"is {shown(data)}, expected {_json_shapes(kind)}")
    shaped = not isinstance(data[0], dict) or listed_documents(list(data[0]), data[0].get, kind)
    if not shaped and len(run_or_qrels_columns(list(data[0]), kind)) < 2:
        raise DataError(origin, None, f"is JSON of another shape, expected {_json_shapes(kind)}")
    return from_records(data, kind, origin)


def read_json_lines(buffer: Buffer, kind: str, origin: str) -> Columns | dict[str, dict[str, Any]]:
    """Read lines that each hold a record or a {topic: {doc: value}}."""
    text = text_of(buffer)
    numbered = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip() and line.lstrip()[0] != "#"]
    lines = [line for _, line in numbered]
    if not lines:
        raise DataError(origin, None, "is empty, expected one JSON object per line")
    try:  # one call for all lines is many times faster than one call per line
        records = json.loads(f"[{','.join(lines)}]", object_pairs_hook=without_repeats)
    except (ValueError, RecursionError):
        records = []
    if len(records) != len(lines):
        records = [parsed_json(line, origin, number) for number, line in numbered]
    for (number, _), record in zip(numbered, records, strict=True):
        if not isinstance(record, dict):
            raise DataError(origin, number, f"{shown(record)}, expected a JSON object")
    if records[0] and any(all(isinstance(value, shape) for value in records[0].values()) for shape in (dict, list)):
        return plain_lists(_merged(records, [number for number, _ in numbered], origin), kind, origin)
    try:
        columns = from_records(records, kind, origin, unit="line")
    except DataError as error:
        place = re.match(r"line (\d+)", error.what)
        if place is None:
            raise
        number = numbered[int(place[1]) - 1][0]
        message = error.what.removeprefix(place[0]).removeprefix(" is").lstrip()
        raise DataError(origin, number, message.replace("as line 1", f"as line {numbered[0][0]}")) from None
    columns.line = lambda row: numbered[row][0]
    return columns


def json_names(buffer: Buffer, origin: str) -> list[str]:
    """The keys of the first record in JSON or JSON-lines; none if it is {topic: {doc: value}}."""
    try:
        head = text_of(bytes(buffer[:HEAD]))
        try:
            start = _first_value(head)
        except ValueError:  # it goes on, or it is wrong
            if len(buffer) > HEAD and _NESTED.match(head):
                return []
            start = _first_value(text_of(buffer))
    except (ValueError, RecursionError) as error:
        raise DataError(origin, None, f"is not valid JSON: {error}") from None
    if not isinstance(start, dict) or all(isinstance(value, dict) for value in start.values()):
        return []
    ranked, relevant = (listed_documents(list(start), start.get, kind) for kind in ("run", "qrels"))
    return [*start, *(["rank", "score"] if ranked else ["relevance"] if relevant else [])]


_NESTED = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')
"""The start of {topic: {doc: value}}."""


def _first_value(text: str) -> Any:
    return json.JSONDecoder().raw_decode(text.lstrip().removeprefix("[").lstrip())[0]


def parsed_json(text: str, origin: str, line: int | None = None) -> Any:
    """Parse JSON; a repeated key is an error. `line` is the line of a text that is one line of a file."""
    try:
        return json.loads(text, object_pairs_hook=without_repeats)
    except json.JSONDecodeError as error:
        message = f"is not valid JSON: {error.msg} (column {error.colno})"
        raise DataError(origin, line or error.lineno, message) from None
    except RecursionError:
        raise DataError(origin, line, "is JSON nested too deeply") from None
    except ValueError as error:
        raise DataError(origin, line, str(error)) from None


def _merged(records: list[Any], numbers: list[int], origin: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for record, number in zip(records, numbers, strict=True):
        for topic, documents in record.items():
            if not isinstance(documents, dict | list):
                raise DataError(origin, number, f"topic {topic!r} has {shown(documents)}, expected {{doc: value}}")
            if topic in merged:
                raise DataError(origin, number, f"topic {topic!r} appears twice")
            merged[topic] = documents
    return merged


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object as a dict; a key that appears twice is an error, since `json` would silently keep the last."""
    data = dict(pairs)
    if len(data) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"{twice!r} appears twice in one object")
    return data


def _json_shapes(kind: str) -> str:
    name = "score" if kind == "run" else "relevance"
    return f'{{topic: {{doc: {VALUE[kind]}}}}} or a list of {{"query_id": ..., "doc_id": ..., "{name}": ...}}'


# ---------------------------------------------------------------------------------------------------------- CSV


def header_names(buffer: Buffer, origin: str) -> list[str]:
    """The names in the header of CSV or TSV."""
    head = bytes(buffer[:HEAD])
    start = without_comments(text_of(head))[1] if b"\0" not in head else ""
    first = (start if "\n" in start else without_comments(text_of(buffer, origin))[1]).partition("\n")[0].strip("\r")
    for kind in ("qrels", "run"):
        if (assumed := header_of(first, kind)) is not None:
            return list(assumed[1])
    return [word.strip().strip('"') for word in first.split(header_delimiter(first) or ",")]


def read_delimited(format: str, buffer: Buffer, kind: str, origin: str) -> Columns:
    """Read `csv` or `tsv` with a header, which shows the delimiter."""
    skipped, text = without_comments(text_of(buffer, origin))
    first = text.partition("\n")[0].rstrip("\r")
    delimiter, names = header_of(first, kind) or (header_delimiter(first) or DELIMITER[format], ())
    check_encoding(text, skipped, origin)

    def reader() -> Any:
        return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)

    lines = reader()
    try:
        rows = list(filter(None, lines))
    except csv.Error as error:
        raise DataError(origin, skipped + max(1, lines.line_num), f"is not valid {format.upper()}: {error}") from None
    if not rows:
        raise DataError(origin, None, f"is empty, expected a header and lines of topic, doc, {VALUE[kind]}")
    header = list(names) or rows.pop(0)

    def line(row: int) -> int:
        again, number, begin = reader(), -1 if names else -2, 1
        for cells in again:
            number += bool(cells)
            if number == row:
                break
            begin = again.line_num + 1
        return int(skipped + begin)

    places = required_columns(header, kind, origin)
    if set(map(len, rows)) - {len(header)}:
        wrong = next(row for row, cells in enumerate(rows) if len(cells) != len(header))
        count = counted(len(rows[wrong]), "column")
        comma = _decimal_comma(rows[wrong], len(header), delimiter)
        raise DataError(origin, line(wrong), f"{count}, expected {len(header)}: {', '.join(header)}{comma}")
    columns = columns_at(lambda place: list(map(itemgetter(place), rows)), places, origin, header)
    columns.line = line
    if "value" not in places:
        return columns
    if delimiter == ";":
        columns.values = list(with_points(columns.values, origin, VALUE[kind]))
    if kind == "qrels":
        columns.values = label_grades(yes_and_no(columns.values))
    only_ranks = places["value"] == places.get("rank")
    columns.values = numbers(columns, columns.values, "rank" if only_ranks else VALUE[kind])
    if columns.ranks is not None:
        columns.ranks = list(columns.values) if only_ranks else numbers(columns, columns.ranks, "rank")
    return score_by_rank(columns, places)


def _decimal_comma(cells: list[str], width: int, delimiter: str) -> str:
    """The end of a message about a row with a cell too many: its last number may have a decimal comma.

    >>> _decimal_comma(["7", "d1", "0", "25"], 3, ",")
    '; if the last number is 0.25, write it with a decimal point'
    """
    if delimiter != "," or len(cells) != width + 1 or not re.fullmatch(r"[-+]?\d*,\d+", ",".join(cells[-2:])):
        return ""
    return f"; if the last number is {'.'.join(cells[-2:])}, write it with a decimal point"


BASE_16 = "which is read as a number in base 16"
YES_AND_NO = {"true": "1", "false": "0", "yes": "1", "no": "0"}


def yes_and_no(grades: list[str]) -> list[str]:
    """Grades as numbers if all of them are true or false, or yes or no."""
    if not set(map(str.casefold, map(str.strip, set(grades)))) <= set(YES_AND_NO):
        return grades
    return [YES_AND_NO[grade.strip().casefold()] for grade in grades]


def label_grades(grades: list[str]) -> list[str]:
    """Grades in which labels with a grade (`named_grades`) are replaced by it."""
    graded = grades_of(grades)
    return grades if graded is grades else list(map(str, graded))


def in_base_16(column: list[str]) -> list[int]:
    """The rows whose number is written in base 16, as in C.

    >>> in_base_16(["1", "0x10", " -0X1p3"])
    [1, 2]
    """
    joined = "".join(column)
    if "x" not in joined and "X" not in joined:  # nearly all, without looking at each
        return []
    return [row for row, text in enumerate(column) if re.match(r"\s*[+-]?0[xX]", text)]


def numbers(columns: Columns, column: list[str], noun: str) -> list[Any]:
    """Convert text to numbers by the rules of the core, which are the same for all text formats."""
    numbers = list(map(_core.parse_number, [text.strip().encode("utf-8", "surrogateescape") for text in column]))
    if None in numbers:
        row = numbers.index(None)
        raise columns.not_a_number(row, column, noun)
    if rows := in_base_16(column):
        columns.warn(rows, f"the {noun} is {shown(column[rows[0]])}, {BASE_16}")
    return numbers


def without_comments(text: str) -> tuple[int, str]:
    """The number of blank lines and comments at the start, and the text after them."""
    skipped = 0
    while text:
        first, _, rest = text.partition("\n")
        if first.strip() and not first.lstrip().startswith("#"):
            break
        skipped, text = skipped + 1, rest
    return skipped, text


def plain_lists(lists: Mapping[Any, Any], kind: str, origin: str) -> dict[Any, dict[Any, Any]]:
    """{topic: {doc: value}} from any of the shapes; each topic is looked at, and its documents only if they are a list.

    A list of documents is a ranking, best first, or in judgments the relevant documents.

    >>> plain_lists({"q": ["a", "b"]}, "run", "run")
    {'q': {'a': 1.0, 'b': 0.5}}
    >>> plain_lists({"q": ["a", "b"]}, "qrels", "qrels")
    {'q': {'a': 1, 'b': 1}}
    """
    if isinstance(lists, dict) and set(map(type, lists.values())) <= {dict}:
        return lists
    return {topic: _documents(topic, documents, kind, origin) for topic, documents in lists.items()}


MAY_BE_RUNS = "; if these are runs, they come second, after the judgments"


def _documents(topic: Any, documents: Any, kind: str, origin: str) -> dict[Any, Any]:
    if isinstance(documents, Mapping):
        return dict(documents)
    if isinstance(documents, list | tuple) or (isinstance(documents, Set) and kind == "qrels"):
        for doc in documents:
            if not isinstance(doc, str | bytes | int) or isinstance(doc, bool):
                expected = f"a document's id, as in {{topic: [doc, ...]}}; with {VALUE[kind]}s: {{doc: {VALUE[kind]}}}"
                raise DataError(origin, None, f"topic {topic!r}: {str(doc)[:40]!r} in a list, expected {expected}")
        found = {doc: 1 if kind == "qrels" else 1 / rank for rank, doc in enumerate(documents, 1)}
        if len(found) < len(documents):
            twice = next(doc for place, doc in enumerate(documents) if doc in list(documents)[:place])
            raise DataError(origin, None, f"topic {topic!r}: document {twice!r} appears twice in its list")
        return found
    if isinstance(documents, Real):
        message = f"{topic!r} has the number {documents}, one level too few: expected {{topic: {{doc: {VALUE[kind]}}}}}"
        raise DataError(origin, None, message)
    if kind == "qrels" and (is_frame(documents) or hasattr(documents, "row_topics")):
        raise DataError(origin, None, f"{topic!r} is a whole table{MAY_BE_RUNS}")
    raise DataError(origin, None, f"topic {topic!r}: expected a dict of documents")


def wrong_depth(lists: Mapping[Any, Any], kind: str) -> str:
    """A message if a dict has a level too many; empty otherwise.

    >>> wrong_depth({"bm25": {"q": {"d": 1.0}}}, "run")
    "one level too many: 'bm25' has {'q': {...}}, expected {topic: {doc: score}}"
    """
    for name, documents in lists.items():
        for inner, value in documents.items() if isinstance(documents, Mapping) else ():
            if isinstance(value, Mapping | list | tuple):
                shown = f"{{{inner!r}: {'{...}' if isinstance(value, Mapping) else '[...]'}}}"
                runs = MAY_BE_RUNS if kind == "qrels" and isinstance(value, Mapping) else ""
                return f"one level too many: {name!r} has {shown}, expected {{topic: {{doc: {VALUE[kind]}}}}}{runs}"
            break
    return ""


def booleans_as_grades(lists: dict[Any, dict[Any, Any]]) -> dict[Any, dict[Any, Any]] | None:
    """The same with 1 for True and 0 for False; None if there is neither."""
    if not any(type(value) is bool for documents in lists.values() for value in documents.values()):
        return None
    return {
        topic: {doc: int(value) if type(value) is bool else value for doc, value in documents.items()}
        for topic, documents in lists.items()
    }
