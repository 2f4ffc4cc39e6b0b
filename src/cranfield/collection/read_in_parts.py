"""Read large JSON-lines, CSV, TSV and JSON files of runs and qrels part by part, in memory that they do not decide.

`structured` reads a whole file at once: every entry is several Python objects then, thirty times the size of the file.
Here, the entries of a part go to the core before the next part is read. Whatever is not plain (a fault, a value of
another type, an unusual shape) is left to `structured`, which has the messages.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from operator import itemgetter

from cranfield import _core
from cranfield.collection import structured
from cranfield.collection.column_names import DELIMITER, VALUE, header_delimiter, required_columns
from cranfield.collection.columns import Columns
from cranfield.collection.named_tables import text_blocks
from cranfield.collection.source import Buffer, check_complete
from cranfield.errors import DataError

SMALL = 1 << 21
"""Files up to this number of bytes are read at once."""
ROWS = 1 << 14


class NotPlain(Exception):
    """The file has something that `structured` must look at."""


@dataclass
class PartsRead:
    """The table in a file, and what the file calls things."""

    table: _core.Table
    tags: list[str]
    label_name: str


def read_in_parts(format: str, buffer: Buffer, kind: str, on_duplicate: str, split_tags: bool) -> PartsRead | None:
    """The table in a file; None if the file is small, or not plain, or in a format that is read at once."""
    read = READERS.get(format)
    if read is None or len(buffer) <= SMALL:
        return None
    try:
        for together in (False, True):
            adding = Adding(kind, _core.TableColumns(on_duplicate, VALUE[kind]), split_tags, together)
            if all(map(adding.add, read(buffer, kind))):
                check_complete(buffer)
                return PartsRead(adding.columns.table(), list(adding.tags), adding.label_name) if adding.rows else None
    except (NotPlain, DataError, ValueError, RecursionError, csv.Error):
        check_complete(buffer)
    return None


@dataclass
class Adding:
    """Adds parts to a table."""

    kind: str
    columns: _core.TableColumns
    split_tags: bool
    together: bool
    """Several tags are read as one run, so that names do not matter."""
    tags: dict[str, None] = field(default_factory=dict)
    label_name: str = ""
    rows: int = 0

    def add(self, part: Columns) -> bool:
        """Add entries; False if they have a second tag, which must be known from the beginning."""
        part.check(self.kind)
        if any(part.infinite()):
            raise NotPlain  # a warning names the line
        self.tags.update(dict.fromkeys(part.tags))
        self.label_name = part.label_name
        if len(self.tags) > 1 and not self.split_tags and not self.together:
            return False
        names = None if self.together else part.names
        self.columns.add(names, part.topics, part.docs, part.values, part.ranks, part.labels)
        self.rows += len(part.docs)
        return True


def json_lines(buffer: Buffer, kind: str) -> Iterator[Columns]:
    """Records, each on a line."""
    first = None
    for text in text_blocks(buffer, ""):
        lines = [line for line in text.split("\n") if line.strip() and line.lstrip()[0] != "#"]
        records = json.loads(f"[{','.join(lines)}]", object_pairs_hook=structured.without_repeats)
        if len(records) != len(lines) or not all(isinstance(record, dict) for record in records):
            raise NotPlain
        if not records:
            continue
        first = records[0] if first is None else first
        if any(isinstance(value, dict | list) for value in first.values()):
            raise NotPlain
        # with the first record of the file in front, whose names and order of fields hold for all
        yield without_first_row(structured.from_records([first, *records], kind))


def without_first_row(columns: Columns) -> Columns:
    """The same columns, without their first entry."""
    for column in (columns.topics, columns.docs, columns.values, columns.ranks, columns.names, columns.labels):
        if column is not None:
            del column[0]
    return columns


def delimited(format: str, buffer: Buffer, kind: str) -> Iterator[Columns]:
    """Rows of CSV or TSV with a header."""
    blocks = text_blocks(buffer, "")
    _, start = structured.without_comments(next(blocks))
    if not start:
        raise NotPlain  # a block of comments
    delimiter = header_delimiter(start.partition("\n")[0].rstrip("\r")) or DELIMITER[format]
    lines = chain.from_iterable(io.StringIO(text, newline="") for text in chain([start], blocks))
    rows = filter(None, csv.reader(lines, delimiter=delimiter, strict=True))
    header = next(rows)
    places = required_columns(header, kind, "")
    words = None
    while some := list(islice(rows, ROWS)):
        if set(map(len, some)) != {len(header)}:
            raise NotPlain
        columns = structured.columns_at(partial(_column, some), places, "", header)
        if kind == "qrels":
            graded = structured.yes_and_no(columns.values)
            if words not in (None, graded is not columns.values):
                raise NotPlain  # words in one part, and numbers in another
            words = graded is not columns.values
            columns.values = graded
        if any(map(structured.in_base_16, filter(None, (columns.values, columns.ranks)))):
            raise NotPlain  # a warning names the line
        columns.values = structured.numbers(columns, columns.values, VALUE[kind])
        if columns.ranks is not None:
            columns.ranks = structured.numbers(columns, columns.ranks, "rank")
        yield structured.score_by_rank(columns, places)


def _column(rows: list[list[str]], place: int) -> list[str]:
    return list(map(itemgetter(place), rows))


_BLANK = re.compile(r"[ \t\n\r]*")


def nested_json(buffer: Buffer, kind: str) -> Iterator[Columns]:
    """{topic: {doc: value}}, topic by topic."""
    text = "".join(text_blocks(buffer, ""))
    decoder = json.JSONDecoder(object_pairs_hook=structured.without_repeats)
    seen: set[str] = set()
    topics: list[str] = []
    docs: list[str] = []
    values: list[float] = []

    def at(place: int) -> int:
        found = _BLANK.match(text, place)
        assert found is not None
        return found.end()

    place = at(0)
    if text[place : place + 1] != "{":
        raise NotPlain
    while True:
        topic, place = decoder.raw_decode(text, at(place + 1))
        place = at(place)
        if not isinstance(topic, str) or topic in seen or text[place : place + 1] != ":":
            raise NotPlain
        documents, place = decoder.raw_decode(text, at(place + 1))
        if not isinstance(documents, dict) or not documents or not set(map(type, documents.values())) <= {int, float}:
            raise NotPlain
        seen.add(topic)
        topics += [topic] * len(documents)
        docs += documents
        values += documents.values()
        place = at(place)
        ends = text[place : place + 1] != ","
        if ends or len(docs) > ROWS:
            yield Columns(topics, docs, values)
            topics, docs, values = [], [], []
        if ends:
            break
    if text[place : place + 1] != "}" or at(place + 1) != len(text):
        raise NotPlain


READERS: dict[str, Callable[[Buffer, str], Iterator[Columns]]] = {
    "jsonl": json_lines,
    "csv": partial(delimited, "csv"),
    "tsv": partial(delimited, "tsv"),
    "json": nested_json,
}
