"""The file formats of runs and qrels.

To add a format of lines with columns, add a `Layout` to `RUNS` or `QRELS`: detection, reading, writing, conversion
and the lists of formats in messages follow from it. To add any other format, write a reader in `structured`, a writer
in `writing`, and add an entry to `STRUCTURED`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from cranfield import _core
from cranfield.collection.column_names import (
    DELIMITERS,
    VALUE,
    header_delimiter,
    header_of,
    run_or_qrels_columns,
    split_cells,
)
from cranfield.collection.columns import Columns, decimal_comma, with_way_out
from cranfield.collection.doors import check_json, whole_lines
from cranfield.collection.file_formats import search_responses, structured, writing
from cranfield.collection.file_formats.blocks import Blocks
from cranfield.collection.file_formats.writing import Outgoing
from cranfield.collection.grade_labels import levels_as_numbers, way_out_of_words, word_of_grade
from cranfield.collection.source import (
    DATA_LINE,
    HEAD,
    Buffer,
    PathLike,
    check_complete,
    check_content,
    data_start,
    head_of,
    unmarked,
    without_compression,
)
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
        self, content: Buffer | Blocks, kind: str, *, on_duplicate: str = "error", threads: int | None = None,
        most_faults: int = 1, keep_lines: bool = False, split_tags: bool = False, labels_count: bool = True,
    ) -> tuple[_core.Table, list[tuple[int, int, str]]]:  # fmt: skip
        """The table in the bytes of a file, and (source, line, message) for lines that cannot be read.

        Judgments may be given as blocks if one fault is enough; they are closed at the end. Line 0 is the whole file.
        Runs are one per file, or one per tag (`split_tags`). A document is judged once per topic, or once per topic and
        label of column 2 (`labels_count`).
        """
        table, faults = _core.read(
            [content],
            list(self.columns),
            self.delimiter,
            self.header,
            self.expected,
            qrels=kind == "qrels",
            on_duplicate=on_duplicate,
            threads=threads or os.cpu_count() or 1,
            most_faults=most_faults,
            keep_lines=keep_lines,
            split_tags=split_tags,
            labels_count=labels_count,
        )
        if isinstance(content, Blocks):
            if faults:
                content.drain()
            content.close()
        else:
            check_complete(content)
        return table, faults

    def way_out(self, message: str, buffer: Buffer, line: int) -> str:
        """A message about a line, with what to do."""
        words = ""
        if word_of_grade(message):
            lines = islice(DATA_LINE.finditer(unmarked(bytes(buffer))), MOST_WORDS)
            cells = [self.split(match[0].decode("utf-8", "surrogateescape")) for match in lines]
            place = self.columns.index("value")
            grades = [row[place] for row in cells if len(row) == len(self.columns)]
            words = way_out_of_words(grades)
        return with_way_out(f"{message}{words}" if words else explained(message, buffer, line))

    def encode(self, out: Outgoing, path: str) -> Iterator[bytes]:
        """The bytes of a file in this format, part by part."""
        return writing.lines_of_columns(out, self, path)


@dataclass(frozen=True)
class Structured:
    """A format that Python reads: JSON, CSV, Parquet."""

    name: str
    read: Callable[[Buffer, str, str], Columns | dict[str, dict[str, Any]]]
    """From the bytes of a file, `run` or `qrels`, and the path for messages."""
    encode: Callable[[Outgoing, str], Iterator[bytes]]
    """From entries and the path for messages."""
    column_names: Callable[[Buffer, str], list[str]]
    """The names of the columns, to tell runs, qrels and topics apart; empty for {topic: {doc: value}}."""
    suffixes: tuple[str, ...] = ()
    magic: bytes = b""
    """How a binary file begins."""
    recognised: Callable[[list[str]], bool] = lambda lines: False
    """Whether the first lines of a text file that are neither blank nor comments are in this format."""
    columns: tuple[str, ...] = ("topic", "label", "doc", "rank", "value", "name")


SAMPLED = "topic stratum doc grade probability"
"""The header of judgments of a sample. The core reads the probability as it reads the rank of a run."""

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
        Layout("sampled", ("topic", "label", "doc", "value", "rank"), SAMPLED, "\t", header=True),
    )
}

MOST_WORDS = 1 << 16
"""The number of lines in which words in place of grades are looked for."""
INSPECTED = 20
"""The number of lines that are inspected to tell judgments from runs."""
_JSON = re.compile(r'\s*(\{\s*("|\}|$)|\[\s*([\[{\]]|$))')
"""The start of JSON; a topic called `[1]` or `{x}` does not match."""


def _is_json_lines(lines: list[str]) -> bool:
    """The first line is a whole object, and it is a record or another object follows."""
    first = lines[0].strip()
    whole = first.startswith("{") and first.endswith("}")
    several = len(lines) > 1 and lines[1].lstrip().startswith("{")
    lines_of_objects = whole and (several or (first.count("{") == 1 and ":" in first))
    return bool(_JSON.match(first)) and lines_of_objects and not search_responses.is_response(lines)


def _is_delimited(delimiters: tuple[str, ...], lines: list[str]) -> bool:
    return header_delimiter(lines[0].strip("\r")) in delimiters


STRUCTURED = {
    format.name: format
    for format in (
        Structured(
            "json", structured.read_json, writing.to_json, structured.json_names, (".json",),
            recognised=lambda lines: bool(_JSON.match(lines[0])) and not _is_json_lines(lines)
            and not search_responses.is_response(lines),
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
        Structured(
            "search", search_responses.read_response, search_responses.not_written,
            search_responses.response_names, recognised=search_responses.is_response,
        ),
    )
}  # fmt: skip


def formats_of(kind: str) -> dict[str, Layout | Structured]:
    """All formats of runs or of qrels, by name.

    >>> list(formats_of("qrels"))
    ['trec', 'diversity', 'msmarco', 'beir', 'sampled', 'json', 'jsonl', 'csv', 'tsv', 'parquet', 'search']
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


def detect(buffer: Buffer, kind: str, path: str = "<bytes>", *, check_kind: bool = True) -> Layout | Structured:
    """The format of run or qrels bytes, detected from the content; with `check_kind`, a run is not taken for qrels.

    >>> detect(b"301 0 FBIS3-1 1\\n", "qrels").name
    'trec'
    >>> detect(b"query-id\\tcorpus-id\\tscore\\nq1\\td1\\t1\\n", "qrels").name
    'beir'
    """
    check_content(bytes(buffer[:HEAD]), path)
    start = unmarked(bytes(buffer[: search_responses.INSPECTED])).lstrip()
    if start[:1] in (b"{", b"[") and search_responses.is_response([start.decode("utf-8", "replace")]):
        return STRUCTURED["search"]  # often one line of many megabytes, which is slow to split
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
    if (assumed := header_of(first.strip("\r"), kind)) is not None:
        return STRUCTURED["tsv" if assumed[0] == "\t" else "csv"]
    candidates = (layout for layout in layouts.values() if layout.detected and not layout.header)
    layout = next((layout for layout in candidates if len(layout.split(first)) == len(layout.columns)), None)
    if layout is None or not _is_entry(layout.split(first), layout):
        other = _by_header(first, head, layouts)
        if other is not None:
            return other
        _check_table(head[match.start() :], kind, path, line_of(match.start()))
    if match.end() == len(head) > HEAD and data_start(buffer) + len(head) < len(buffer):  # columns may follow
        message = f"the line is longer than {len(head):,} bytes, expected {kind} (lines of {layouts['trec'].expected})"
        raise DataError(path, line_of(match.start()), message)
    if check_kind:
        _check_kind(head, kind, path, line_of(match.start()))
    layout = layout or layouts["trec"]  # whose reader reports the wrong number of columns
    words = layout.split(first)
    if "rank" in layout.columns and layout.columns.index("rank") == 2:
        _check_rank(words, layout, path, line_of(match.start()))
    return layout


def check_block(head: bytes, kind: str, format: str | None, path: str, *, every_line: bool = True) -> None:
    """Raise an error if the first block of a file cannot be read, before the rest is read: a pipe may have no end.

    every_line: one line that cannot be read is enough; otherwise only if no line can be read.
    """
    if len(head) < HEAD or not (b"\0" in head or DATA_LINE.search(head)):
        return  # it is the whole file, or there are only comments so far
    chosen = named(format, kind) if format else detect(head, kind, path)
    if isinstance(chosen, Structured):
        if chosen.name in ("json", "jsonl"):
            check_json(head, path, several=chosen.name == "jsonl")
        return
    lines = whole_lines(head, path, f"{kind} (lines of {chosen.expected})")
    if kind == "qrels":
        lines = bytes(levels_as_numbers(lines)[0])
    most = 1 if every_line else len(lines)
    table, faults = chosen.read(lines, kind, on_duplicate="first", threads=1, most_faults=most)
    if every_line or not len(table):
        for _, line, message in faults:
            raise DataError(path, line, chosen.way_out(message, lines, line))


def _check_kind(head: bytes, kind: str, path: str, line: int) -> None:
    """Raise an error for a run where judgments are expected, and for judgments where a run is expected."""
    rows = [row[0].decode("utf-8", "replace").split() for row in islice(DATA_LINE.finditer(head), INSPECTED)]

    def is_number(text: str) -> bool:
        return _core.parse_number(text.encode()) is not None

    swapped = "; are judgments and runs swapped? judgments come first"
    if kind == "qrels" and len(rows[0]) == 6 and is_number(rows[0][3]) and is_number(rows[0][4]):
        message = f"6 columns: this is a run, expected judgments ({QRELS['trec'].expected})"
        raise DataError(path, line, message + swapped)
    if kind == "run" and all(len(row) == 4 and row[1] == "0" and is_number(row[3]) for row in rows):
        message = f"4 columns, the second is 0: these are judgments, expected a run ({RUNS['trec'].expected})"
        raise DataError(path, line, message + swapped)


def explained(message: str, buffer: Buffer, line: int) -> str:
    """A message about a line, with its likely cause: a header, or a decimal comma.

    >>> explained("the score is '0,5', expected a number", b"1 Q0 d 1 0,5 t", 1)
    "the score is '0,5', expected a number; numbers need a decimal point: 0.5"
    """
    if comma := decimal_comma(message):
        return f"{message}{comma}"
    head = bytes(buffer[:HEAD])
    first = DATA_LINE.search(unmarked(head))
    if first and unmarked(head).count(b"\n", 0, first.start()) + 1 == line:
        words = first[0].split()
        if words and all(_core.parse_number(word) is None for word in words):
            return f"{message}; if this line is a header, remove it"
    return message


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


def _check_table(head: bytes, kind: str, path: str, line: int) -> None:
    """Refuse a table whose first line does not name the columns, or not by known names, with a way to name them."""
    first, *lines = (line.decode("utf-8", "replace").strip("\r") for line in islice(head.split(b"\n"), INSPECTED))
    for delimiter in DELIMITERS:
        cells = [cell.strip() for cell in split_cells(first, delimiter)]
        if len(cells) < 3 or "" in cells or (delimiter == "\t" and len(first.split()) == len(cells)):
            continue
        rows = [split_cells(line, delimiter) for line in lines]
        known = {place: role for role, place in run_or_qrels_columns(cells, kind).items()}
        value = VALUE[kind]
        if _are_data(cells, [row for row in rows if len(row) == len(cells)]):
            names = ["topic", "doc", value, *["-"] * (len(cells) - 3)]
            what = f"no header: the first line has {', '.join(cells)}; to name the columns, such as: columns={names}"
            raise DataError(path, line, what)
        rest = [cell for place, cell in enumerate(cells) if place not in known]
        wanted = [role for role in ("topic", "doc", value) if role.replace(value, "value") not in known.values()]
        names_of = dict(zip(wanted, rest, strict=False))
        what = f"the columns are {', '.join(cells)}; to say which is which, such as: columns={names_of}"
        raise DataError(path, line, what)


def _are_data(cells: list[str], rows: list[list[str]]) -> bool:
    """Whether the cells of a first line are data: one is a number, or is there again below, as no name of a column is.

    >>> _are_data(["lamp", "p1", "Exact"], [["lamp", "p2", "Bad"]]), _are_data(["Frage", "Urteil"], [["q", "2"]])
    (True, False)
    """
    numbers = (_core.parse_number(cell.replace(",", ".").encode("utf-8", "surrogateescape")) for cell in cells[1:])
    again = any(cell == row[place].strip() for place, cell in enumerate(cells) for row in rows)
    return again or any(number is not None for number in numbers)


def _check_rank(words: list[str], layout: Layout, path: str, line: int) -> None:
    """Refuse a third column that is not a rank: scores read as ranks would reverse every list."""
    message = f"{len(words)} columns, the third is {words[2]!r}, expected a rank ({layout.expected})"
    rank = _core.parse_number(words[2].encode("utf-8", "surrogateescape"))
    if rank is None:
        if len(words) == 3:
            return  # the reader reports it
        raise DataError(path, line, f"{message}; is this a run? judgments come first, then runs") from None
    if not rank.is_integer() and "value" not in layout.columns:
        what = f"{message}; a file of scores needs a first line query-id corpus-id score, with tabs"
        raise DataError(path, line, what)
