"""The documents in files, their parts and texts: JSON-lines, tab-separated lines, or a folder with a file for each."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cranfield.collection.column_names import DOCUMENTS, ITEMS, column_key, find_columns
from cranfield.collection.doors import reads
from cranfield.collection.source import HEAD, Buffer, PathLike, check_complete, check_content, load, shown_path, text_of
from cranfield.errors import DataError
from cranfield.text import counted, listed, shown

PARTS = {
    "id": (*DOCUMENTS, "id", *ITEMS),
    "title": ("title", "headline", "subject"),
    "text": ("text", "contents", "content", "body", "passage", "document_text", "abstract", "answer"),
    "html": ("html",),
    "image": ("image", "picture"),
    "url": ("url", "link"),
}
"""Names of the parts of a document, the most specific first."""
_MARK = b"\xef\xbb\xbf"
_BLOCK = 1 << 24
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class DocumentRecord:
    """A document as the file has it. Bytes that are not UTF-8 are surrogates."""

    line: int
    id: str
    parts: Mapping[str, str]
    """Its parts by the names of `PARTS`, except the id."""
    names: tuple[str, ...]
    """The names that the file has for the parts."""


@reads
def read_records(path: PathLike, origin: str) -> Iterator[DocumentRecord]:
    """The documents in a file, which may be compressed and larger than the memory.

    Lines are JSON objects with an id (such as doc_id, docno or _id) and a text (such as text, contents or body), or
    cells between tabs: with names in the first line, or an id and a text.
    """
    buffer = load(path)
    head = bytes(buffer[:HEAD])
    if not head.strip():
        raise DataError(origin, None, "is empty, expected documents")
    check_content(head, origin)
    is_json = head.removeprefix(_MARK).lstrip().startswith(b"{")
    yield from (_json_lines if is_json else _tabs)(buffer, origin)
    check_complete(buffer)


def _lines(buffer: Buffer) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; a block at a time, since collections are large."""
    number, rest = 0, b""
    for begin in range(0, len(buffer), _BLOCK):
        *lines, rest = (rest + bytes(buffer[begin : begin + _BLOCK])).split(b"\n")
        for line in lines:
            number += 1
            if line.strip():
                yield number, line.removeprefix(_MARK) if number == 1 else line
    if rest.strip():
        yield number + 1, rest.removeprefix(_MARK) if number == 0 else rest


def _json_lines(buffer: Buffer, origin: str) -> Iterator[DocumentRecord]:
    known: tuple[list[str], dict[str, str]] | None = None
    for number, line in _lines(buffer):
        try:
            record = json.loads(line.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError) as error:
            raise DataError(origin, number, f"not valid JSON: {error}") from None
        if not isinstance(record, dict):
            raise DataError(origin, number, f"is {shown(record)}, expected an object with an id and a text")
        if known is None or known[0] != list(record):
            known = list(record), _names(list(record), origin, number)
        yield _record({part: record[name] for part, name in known[1].items()}, tuple(record), origin, number)


def _names(names: list[str], origin: str, line: int) -> dict[str, str]:
    """The name that a file has for each part."""
    places = find_columns(names, PARTS)
    if "id" not in places:
        known = listed(map(column_key, names)) or "no names"
        raise DataError(
            origin, line, f"no id of the document among {known}; expected one of {', '.join(PARTS['id'])}"
        )  # fmt: skip
    return {part: names[at] for part, at in places.items()}


def _tabs(buffer: Buffer, origin: str) -> Iterator[DocumentRecord]:
    names: list[str] = []
    parts: dict[str, str] = {}
    for at, (number, line) in enumerate(_lines(buffer)):
        cells = line.removesuffix(b"\r").decode("utf-8", "surrogateescape").split("\t")
        if at == 0:
            if len(cells) < 2:
                raise DataError(
                    origin, number, "neither JSON-lines nor a table: expected an object on each line, or an id, a tab "
                    "and a text, or a first line of names between tabs, such as id, title, text",
                )  # fmt: skip
            if "id" in find_columns(cells, PARTS):
                names, parts = cells, _names(cells, origin, number)
                continue
        if names and len(cells) != len(names):
            raise DataError(origin, number, f"{counted(len(cells), 'column')}, expected {len(names)} as in the header")
        if not names and len(cells) < 2:
            raise DataError(origin, number, "1 column, expected an id, a tab and a text")
        values = dict(zip(names, cells, strict=True)) if names else {}
        of_line = {part: values[name] for part, name in parts.items()} or {"id": cells[0], "text": "\t".join(cells[1:])}
        yield _record(of_line, tuple(names), origin, number)


def readable(text: str) -> str:
    """The text with a replacement character for each byte that is not UTF-8.

    >>> readable(b"caf\\xe9".decode("utf-8", "surrogateescape"))
    'caf\ufffd'
    """
    return _SURROGATE.sub("\ufffd", text)


def _record(parts: dict[str, Any], names: tuple[str, ...], origin: str, line: int) -> DocumentRecord:
    texts = {}
    for part, value in parts.items():
        if isinstance(value, list) and part == "text":
            texts[part] = "\n".join(map(str, value))
        elif value is None:
            texts[part] = ""
        elif isinstance(value, str | int | float):
            texts[part] = str(value)
        else:
            raise DataError(origin, line, f"{part} is {shown(value)}, expected text")
    id = texts.pop("id").strip()
    if not id or not id.isprintable():
        raise DataError(origin, line, f"id {shown(id)} is empty or not printable")
    return DocumentRecord(line, id, texts, names)


@dataclass(frozen=True, eq=False)
class DocumentTexts:
    """The texts that were found, and the documents that cannot be judged."""

    texts: Mapping[str, str]
    missing: tuple[str, ...] = ()
    """Documents that were asked for and are not there."""
    empty: tuple[str, ...] = ()
    binary: tuple[str, ...] = ()
    """Documents with a NUL byte, which are not text."""
    damaged: tuple[str, ...] = ()
    """Documents with bytes that are not UTF-8; these bytes are replaced."""


@dataclass
class _Collected:
    """Texts as they are read."""

    texts: dict[str, str] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    binary: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def add(self, doc: str, text: str) -> None:
        """Add a text, in which bytes that are not UTF-8 are surrogates."""
        if "\0" in text:
            self.binary.append(doc)
            return
        if not text.strip():
            self.empty.append(doc)
            return
        self.texts[doc] = readable(text)
        if self.texts[doc] != text:
            self.damaged.append(doc)

    def __contains__(self, doc: object) -> bool:
        return doc in self.texts or doc in self.empty or doc in self.binary


def read_texts(path: PathLike, wanted: Collection[str]) -> DocumentTexts:
    """The texts of the wanted documents; others are read over and not kept.

    path: a file with a JSON object per line (an id such as doc_id, docno or _id; a text such as text, contents or body;
    optionally a title), a file with lines of id, tab, text (a header may name the columns), or a folder in which the
    file of a document is called after it, with or without a suffix. Files may be compressed.
    """
    name = os.fspath(path)
    wanted = dict.fromkeys(wanted)
    collected = _Collected()
    if os.path.isdir(name):
        _from_folder(name, wanted, collected)
    else:
        _from_file(path, shown_path(name), wanted, collected)
    missing = tuple(doc for doc in wanted if doc not in collected)
    return DocumentTexts(
        collected.texts, missing, tuple(collected.empty), tuple(collected.binary), tuple(collected.damaged)
    )


def _from_file(path: PathLike, origin: str, wanted: Mapping[str, None], collected: _Collected) -> None:
    for record in read_records(path, origin):
        if record.id not in wanted:
            continue
        if not record.parts.keys() & {"text", "title"}:
            expected = f"expected one of {', '.join(PARTS['text'])}"
            raise DataError(origin, record.line, f"no text of the document among {listed(record.names)}; {expected}")
        if record.id in collected:
            raise DataError(origin, record.line, f"document {record.id!r} appears twice")
        title, text = record.parts.get("title", ""), record.parts.get("text", "")
        collected.add(record.id, f"{title}\n\n{text}" if title and text else title or text)


@reads
def _from_folder(folder: str, wanted: Mapping[str, None], collected: _Collected) -> None:
    """Only names in the folder are opened: the id of a document is never used as a path."""
    files: dict[str, list[str]] = {}
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_file():
                for name in dict.fromkeys((entry.name, os.path.splitext(entry.name)[0])):
                    files.setdefault(name, []).append(entry.name)
    for doc in wanted:
        names = files.get(doc, [])
        exact = doc if doc in names else names[0] if len(names) == 1 else None
        if exact is None and names:
            raise DataError(folder, None, f"document {doc!r} may be {' or '.join(names)}; there must be one file")
        if exact is not None:
            collected.add(doc, text_of(load(os.path.join(folder, exact))))
