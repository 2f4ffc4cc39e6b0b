"""Large files, read part by part: they are never in memory as a whole.

Compressed files and pipes are read block by block. JSON-lines, CSV, TSV and JSON files of runs and qrels are read part
by part: `structured` reads a whole file at once, where every entry is several Python objects, thirty times the size of
the file; here, the entries of a part go to the core before the next part is read. Whatever is not plain (a fault, a
value of another type, an unusual shape) is left to `structured`, which has the messages.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import IO

from cranfield import _core
from cranfield.collection import compression, source
from cranfield.collection.column_names import DELIMITER, VALUE, header_delimiter, header_of, required_columns
from cranfield.collection.columns import Columns
from cranfield.collection.compression import MAGIC_LENGTH, Check
from cranfield.collection.doors import text_blocks
from cranfield.collection.file_formats import structured
from cranfield.collection.source import DATA_LINE, HEAD, STDIN, Buffer, PathLike, check_complete, check_encoding
from cranfield.errors import DataError

WHOLE = 32 << 20
"""Up to this many bytes, unpacked, are read as a whole."""
BLOCK = 1 << 20
"""Bytes that are read or unpacked at a time."""


def load_or_open(path: PathLike, check: Check | None = None, whole: int = WHOLE) -> Buffer | Blocks:
    """The bytes of a file as `source.load` returns them; or `Blocks`, if more than `whole` have to be read or unpacked.

    `check` gets the first block, unpacked, and may raise an error before the rest is read.
    """
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None or not hasattr(sys.stdin, "buffer"):
            raise DataError(STDIN, None, "is closed")
        return Blocks(Copied(sys.stdin.buffer, STDIN), STDIN, 0, check).short(whole)
    with source.open_errors(name):
        file = open(name, "rb")  # noqa: SIM115 - Blocks closes it
        try:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return Blocks(Copied(file, name), name, 0, check).short(whole)
            if compression.compression(file.read(MAGIC_LENGTH)) is not None:
                file.seek(0)
                return Blocks(file, name, status.st_size, check).short(whole)
            content = source.plain(file, name)
        except BaseException:
            file.close()
            raise
        file.close()
    return content


class Copied:
    """A pipe whose bytes go to a temporary file as they are read, since they cannot be read twice."""

    def __init__(self, pipe: IO[bytes], name: str) -> None:
        self.pipe = pipe
        self.name = name
        self.copy: IO[bytes] | None = None
        self.begun = b""
        self.replaying = False

    def read(self, size: int) -> bytes:
        if self.replaying and self.copy is not None and (block := self.copy.read(size)):
            return block
        self.replaying = False
        block = self.pipe.read(size)
        if self.copy is not None:
            self._write(block)
        else:
            self.begun += block
        return block

    def keep(self) -> None:
        """Begin to write the copy; until then, what was read is in memory."""
        try:
            from tempfile import TemporaryFile

            self.copy = TemporaryFile(prefix="cranfield-")  # noqa: SIM115
        except OSError as error:
            raise self._failed(error) from None
        self._write(self.begun)
        self.begun = b""

    def _write(self, block: bytes) -> None:
        assert self.copy is not None
        try:
            self.copy.write(block)
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> DataError:
        return DataError(
            self.name, None,
            f"a copy on disk is needed, because a pipe can be read only once, and cannot be written: "
            f"{error.strerror or error}; TMPDIR names another folder",
        )  # fmt: skip

    def seek(self, place: int) -> None:
        assert self.copy is not None
        self.copy.flush()
        self.copy.seek(place)
        self.replaying = True

    def tell(self) -> int:
        return 0  # how much there will be is unknown, so there is no progress to show

    def close(self) -> None:
        if self.copy is not None:
            self.copy.close()


class Blocks:
    """The content of a compressed file or a pipe: `read` returns the next block, and nothing at the end."""

    def __init__(self, file: IO[bytes] | Copied, name: str, length: int, check: Check | None = None) -> None:
        self.file = file
        self.name = name
        self.length = length
        """The size of the file, 0 if it is unknown."""
        self.check = check
        self.head: bytes = b""
        """The first bytes, unpacked; whole lines of data are among them."""
        self.blocks = self._all()
        self.waiting: list[bytes] = []

    def read(self) -> bytes:
        if self.waiting:
            return self.waiting.pop(0)
        return next(self.blocks, b"")

    def rewind(self) -> None:
        self.file.seek(0)
        self.waiting = []
        self.blocks = self._all()

    @property
    def position(self) -> int:
        return self.file.tell()

    def close(self) -> None:
        self.file.close()

    def short(self, whole: int) -> Buffer | Blocks:
        """All bytes if there are no more than `whole`, else this object."""
        blocks: list[bytes] = []
        size, has_line = 0, False
        while size <= whole or not has_line:
            block = self.read()
            if not block:
                self.close()
                return blocks[0] if len(blocks) == 1 else b"".join(blocks)
            blocks.append(block)
            size += len(block)
            has_line = has_line or (b"\n" in block and DATA_LINE.search(block) is not None)
        self.head = b"".join(blocks)
        self.waiting = blocks
        if isinstance(self.file, Copied):
            self.file.keep()
        return self

    def whole(self) -> bytes:
        """All bytes from the beginning."""
        return b"".join(iter(self.read, b""))

    def drain(self) -> None:
        """Read to the end, so that a file that is damaged or cut short is an error."""
        self.rewind()
        while self.read():
            pass

    def _all(self) -> Iterator[bytes]:
        """The blocks from the beginning; the first one is checked."""
        begin = self._read(HEAD)
        kind = compression.compression(begin)
        size, head = 0, b""
        for block in self._plain(begin) if kind is None else self._unpacked(begin, kind):
            size += len(block)
            compression.check_size(size, self.name)
            if self.check:
                head += block[:HEAD]
                if len(head) >= HEAD:
                    self._check(head[:HEAD])
            yield block
        self._check(head)

    def _check(self, head: bytes) -> None:
        check, self.check = self.check, None
        if check:
            check(head)

    def _read(self, size: int) -> bytes:
        try:
            return self.file.read(size)
        except OSError as error:
            raise DataError(self.name, None, f"cannot be read: {error.strerror or error}") from None

    def _plain(self, head: bytes) -> Iterator[bytes]:
        source.check_text(head, self.name)
        if head:
            yield head
        while block := self._read(BLOCK):
            yield block

    def _unpacked(self, data: bytes, kind: str) -> Iterator[bytes]:
        """Unpack all streams of the file, one after the other."""
        new_stream = compression.decompressor(kind)
        with compression.unpack_errors(kind, self.name):
            while data:
                stream = new_stream()
                while not stream.eof:
                    if block := stream.decompress(data, BLOCK):
                        yield block
                    # zlib gives back what it did not need; the others keep it
                    data = getattr(stream, "unconsumed_tail", b"")
                    if stream.eof or data or len(block) == BLOCK or not getattr(stream, "needs_input", True):
                        continue
                    data = self._read(BLOCK)
                    if not data:
                        raise EOFError
                data = stream.unused_data.lstrip(b"\0")  # xz pads with zeros
                while not data and (more := self._read(BLOCK)):
                    data = more.lstrip(b"\0")


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
    first = start.partition("\n")[0].rstrip("\r")
    delimiter, names = header_of(first, kind) or (header_delimiter(first) or DELIMITER[format], ())
    lines = chain.from_iterable(io.StringIO(_in_utf8(text), newline="") for text in chain([start], blocks))
    rows = filter(None, csv.reader(lines, delimiter=delimiter, strict=True))
    header = list(names) or next(rows)
    places = required_columns(header, kind, "")
    if "value" not in places:
        raise NotPlain  # a note says that each row is a relevant document
    words = None
    while some := list(islice(rows, ROWS)):
        if set(map(len, some)) != {len(header)}:
            raise NotPlain
        columns = structured.columns_at(partial(_column, some), places, "", header)
        if delimiter == ";" and any("," in value for value in columns.values):
            raise NotPlain  # decimal commas, or an error
        if kind == "qrels":
            graded = structured.yes_and_no(columns.values)
            if words not in (None, graded is not columns.values):
                raise NotPlain  # words in one part, and numbers in another
            words = graded is not columns.values
            columns.values = structured.label_grades(graded)
        if any(map(structured.in_base_16, filter(None, (columns.values, columns.ranks)))):
            raise NotPlain  # a warning names the line
        columns.values = structured.numbers(columns, columns.values, VALUE[kind])
        if columns.ranks is not None:
            columns.ranks = structured.numbers(columns, columns.ranks, "rank")
        yield structured.score_by_rank(columns, places)


def _in_utf8(text: str) -> str:
    check_encoding(text, 0, "")
    return text


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
        blanks = _BLANK.match(text, place)
        assert blanks is not None
        return blanks.end()

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
