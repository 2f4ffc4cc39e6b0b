"""The file formats of runs and qrels.

To add a format of lines with columns, add a `Layout` to `RUNS` or `QRELS`: detection, reading, writing, conversion
and the lists of formats in messages follow from it. To add any other format, write a reader in `structured`, a writer
in `writing`, and add an entry to `STRUCTURED`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from cranfield import _core
from cranfield.collection import structured, writing
from cranfield.collection.column_names import header_delimiter
from cranfield.collection.columns import Columns
from cranfield.collection.source import (
    DATA_LINE,
    Buffer,
    PathLike,
    check_complete,
    data_start,
    head_of,
    unmarked,
    without_compression,
)
from cranfield.collection.writing import Outgoing
from cranfield.errors import DataError, UsageError


@dataclass(frozen=True)
class Layout:
    """A format of lines: which column has which role. The core reads such files."""

    name: str
    columns: tuple[str, ...]
    """Roles: topic, label (Q0, iteration or intent), doc, rank, value (score or grade), name (the tag of a run)."""
    expected: str
    """The columns as messages call them, and as a header writes them."""
    delimiter: str = " "
    """One character; a blank means any mix of spaces and tabs."""
    header: bool = False
    """Whether the first line holds the names of the columns: the words of `expected`."""
    written_with: str = ""
    """What is written between columns, if not `delimiter`; a tab for a format that is read with any blanks."""
    detected: bool = True
    """Whether a file without a header that has this number of columns is read in this format, unless a format listed
    before this one has the same number, or another format is requested."""

    def split(self, line: str) -> list[str]:
        """The cells of a line."""
        return line.split() if self.delimiter == " " else [cell.strip() for cell in line.split(self.delimiter)]

    @property
    def ranked_by(self) -> str:
        """The default order of documents: by rank in a file without scores."""
        return "score" if "value" in self.columns else "rank"

    def read(
        self, buffer: Buffer, kind: str, *, on_duplicate: str = "error", threads: int | None = None,
        most_faults: int = 1, keep_lines: bool = False,
    ) -> tuple[_core.Table, list[tuple[int, int, str]]]:  # fmt: skip
        """The table in the bytes of a file, and (source, line, message) for lines that cannot be read."""
        table, faults = _core.read(
            [buffer],
            list(self.columns),
            self.delimiter,
            self.header,
            self.expected,
            qrels=kind == "qrels",
            on_duplicate=on_duplicate,
            threads=threads or os.cpu_count() or 1,
            most_faults=most_faults,
            keep_lines=keep_lines,
        )
        check_complete(buffer)
        return table, faults

    def encode(self, out: Outgoing, path: str) -> bytes:
        """The bytes of a file in this format."""
        return writing.lines_of_columns(out, self, path)


@dataclass(frozen=True)
class Structured:
    """A format that Python reads: JSON, CSV, Parquet."""

    name: str
    read: Callable[[Buffer, str, str], Columns | dict[str, dict[str, Any]]]
    """From the bytes of a file, `run` or `qrels`, and the path for messages."""
    encode: Callable[[Outgoing, str], bytes]
    """From entries and the path for messages."""
    column_names: Callable[[Buffer, str], list[str]]
    """The names of the columns, to tell runs, qrels and topics apart; empty for {topic: {doc: value}}."""
    suffixes: tuple[str, ...] = ()
    magic: bytes = b""
    """How a binary file begins."""
    recognised: Callable[[list[str]], bool] = lambda lines: False
    """Whether the first lines of a text file that are neither blank nor comments are in this format."""
    columns: tuple[str, ...] = ("topic", "label", "doc", "rank", "value", "name")


RUNS = {
    layout.name: layout
    for layout in (
        Layout("trec", ("topic", "label", "doc", "rank", "value", "name"), "topic Q0 doc rank score tag"),
        Layout("msmarco", ("topic", "doc", "rank"), "topic doc rank", written_with="\t"),
        Layout("msmarco-scored", ("topic", "doc", "rank", "value"), "topic doc rank score", written_with="\t"),
        Layout("beir", ("topic", "doc", "value"), "query-id corpus-id score", "\t", header=True),
    )
}
QRELS = {
    layout.name: layout
    for layout in (
        Layout("trec", ("topic", "label", "doc", "value"), "topic iteration doc grade"),
        Layout("diversity", ("topic", "label", "doc", "value"), "topic intent doc grade", detected=False),
        Layout("msmarco", ("topic", "doc", "value"), "topic doc grade", written_with="\t"),
        Layout("beir", ("topic", "doc", "value"), "query-id corpus-id score", "\t", header=True),
    )
}

_JSON = re.compile(r'\s*(\{\s*("|\}|$)|\[\s*([\[{\]]|$))')
"""The start of JSON; a topic called `[1]` or `{x}` does not match."""


def _is_json_lines(lines: list[str]) -> bool:
    """The first line is a whole object, and it is a record or another object follows."""
    first = lines[0].strip()
    whole = first.startswith("{") and first.endswith("}")
    several = len(lines) > 1 and lines[1].lstrip().startswith("{")
    return bool(_JSON.match(first)) and whole and (several or (first.count("{") == 1 and ":" in first))


def _is_delimited(delimiters: tuple[str, ...], lines: list[str]) -> bool:
    return header_delimiter(lines[0].strip("\r")) in delimiters


STRUCTURED = {
    format.name: format
    for format in (
        Structured(
            "json", structured.read_json, writing.to_json, structured.json_names, (".json",),
            recognised=lambda lines: bool(_JSON.match(lines[0])) and not _is_json_lines(lines),
        ),
        Structured(
            "jsonl", structured.read_json_lines, writing.to_json_lines, structured.json_names, (".jsonl", ".ndjson"),
            recognised=_is_json_lines,
        ),
        *(Structured(
            name, partial(structured.read_delimited, name), partial(writing.to_table, name), structured.header_names,
            (f".{name}",), recognised=partial(_is_delimited, delimiters),
        ) for name, delimiters in {"csv": (",", ";", "|"), "tsv": ("\t",)}.items()),
        Structured(
            "parquet", structured.read_parquet, writing.to_parquet, structured.parquet_names, (".parquet", ".pq"),
            magic=b"PAR1",
        ),
    )
}  # fmt: skip


def formats_of(kind: str) -> dict[str, Layout | Structured]:
    """All formats of runs or of qrels, by name.

    >>> list(formats_of("qrels"))
    ['trec', 'diversity', 'msmarco', 'beir', 'json', 'jsonl', 'csv', 'tsv', 'parquet']
    """
    return {**(RUNS if kind == "run" else QRELS), **STRUCTURED}


def named(format: str, kind: str) -> Layout | Structured:
    """The format with this name."""
    formats = formats_of(kind)
    if format not in formats:
        raise UsageError(f"format == {format!r}, must be one of {', '.join(formats)} for {kind}")
    return formats[format]


def format_for(path: PathLike, format: str | None, kind: str) -> Layout | Structured:
    """The format in which to write a file: the one named, or that of the suffix, or TREC's.

    >>> format_for("bm25.jsonl.gz", None, "run").name, format_for("bm25.run", None, "run").name
    ('jsonl', 'trec')
    """
    if format is None:
        suffix = os.path.splitext(without_compression(os.fspath(path)))[1].lower()
        format = next((other.name for other in STRUCTURED.values() if suffix in other.suffixes), "trec")
    return named(format, kind)


def detect(buffer: Buffer, kind: str, path: str = "<bytes>") -> Layout | Structured:
    """The format of run or qrels bytes, detected from the content.

    >>> detect(b"301 0 FBIS3-1 1\\n", "qrels").name
    'trec'
    >>> detect(b"query-id\\tcorpus-id\\tscore\\nq1\\td1\\t1\\n", "qrels").name
    'beir'
    """
    head = unmarked(head_of(buffer))
    for format in STRUCTURED.values():
        if format.magic and head.startswith(format.magic):
            return format

    def line_of(position: int) -> int:
        return bytes(buffer[: data_start(buffer)]).count(b"\n") + head.count(b"\n", 0, position) + 1

    if b"\0" in head:
        what = f"a NUL byte: a binary file, expected {kind} as text, JSON, CSV or Parquet"
        raise DataError(path, line_of(head.index(b"\0")), what)
    match = DATA_LINE.search(head)
    layouts = RUNS if kind == "run" else QRELS
    if match is None:
        raise DataError(path, None, f"is empty, expected {kind} (lines of {layouts['trec'].expected})")
    first = match[0].decode("utf-8", "replace")
    candidates = (one for one in layouts.values() if one.detected and not one.header)
    layout = next((one for one in candidates if len(one.split(first)) == len(one.columns)), None)
    if layout is None or not _is_entry(layout.split(first), layout):
        other = _by_header(first, head, layouts)
        if other is not None:
            return other
    layout = layout or layouts["trec"]  # whose reader reports the wrong number of columns
    words = layout.split(first)
    if "rank" in layout.columns and layout.columns.index("rank") == 2:
        _check_rank(words, layout, path, line_of(match.start()))
    return layout


def _is_entry(words: list[str], layout: Layout) -> bool:
    """Whether these words are an entry: neither JSON nor a header, since the column of the number has a number."""
    place = layout.columns.index("value" if "value" in layout.columns else "rank")
    return not words[0].startswith(("{", "[")) and _core.parse_number(words[place].encode()) is not None


def _by_header(first: str, head: bytes, layouts: dict[str, Layout]) -> Layout | Structured | None:
    """The format with this header, or JSON; None if the line is neither."""
    for layout in layouts.values():
        if layout.header and first.strip("\r").lower() == layout.expected.lower().replace(" ", layout.delimiter):
            return layout
    lines = [line.decode("utf-8", "replace") for line in DATA_LINE.findall(head)]
    return next((format for format in STRUCTURED.values() if format.recognised(lines)), None)


def _check_rank(words: list[str], layout: Layout, path: str, line: int) -> None:
    """Refuse a third column that is not a rank: scores read as ranks would reverse every list."""
    message = f"{len(words)} columns, the third is {words[2]!r}, expected a rank ({layout.expected})"
    try:
        whole = float(words[2]).is_integer()
    except ValueError:
        if len(words) == 3:
            return  # the reader reports it
        raise DataError(path, line, f"{message}; is this a run?") from None
    if not whole and "value" not in layout.columns:
        what = f"{message}; a file of scores needs a first line query-id corpus-id score, with tabs"
        raise DataError(path, line, what)
