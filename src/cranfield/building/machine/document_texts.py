"""The texts of the documents to judge: JSON-lines, tab-separated lines, or a folder with a file for each document."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cranfield.collection.column_names import COLUMNS, column_key
from cranfield.collection.source import HEAD, Buffer, PathLike, check_complete, check_content, load, shown_path
from cranfield.errors import DataError
from cranfield.text import counted, shown

IDS = (*COLUMNS["doc"], "_id", "id")
TEXTS = ("text", "contents", "content", "body", "passage", "document_text", "abstract")
"""The names under which a record has its id and its text, the most specific first; `title` is put before the text."""
_BLOCK = 1 << 24


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

    def add(self, doc: str, text: str | bytes) -> None:
        if isinstance(text, bytes):
            if b"\0" in text:
                self.binary.append(doc)
                return
            decoded = text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
            if "\ufffd" in decoded and b"\xef\xbf\xbd" not in text:
                self.damaged.append(doc)
            text = decoded
        if "\0" in text:
            self.binary.append(doc)
        elif not text.strip():
            self.empty.append(doc)
        else:
            self.texts[doc] = text

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
        buffer = load(path)
        origin = shown_path(name)
        if not len(buffer):
            raise DataError(origin, None, "is empty, expected the texts of documents")
        head = bytes(buffer[:HEAD])
        check_content(head, origin)
        is_json = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
        (_from_json_lines if is_json else _from_tabs)(buffer, origin, wanted, collected)
        check_complete(buffer)
    missing = tuple(doc for doc in wanted if doc not in collected)
    return DocumentTexts(
        collected.texts, missing, tuple(collected.empty), tuple(collected.binary), tuple(collected.damaged)
    )


def _lines(buffer: Buffer) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; a block at a time, since collections are large."""
    number, rest = 0, b""
    for begin in range(0, len(buffer), _BLOCK):
        *lines, rest = (rest + bytes(buffer[begin : begin + _BLOCK])).split(b"\n")
        for line in lines:
            number += 1
            if line.strip():
                yield number, line
    if rest.strip():
        yield number + 1, rest


def _from_json_lines(buffer: Buffer, origin: str, wanted: Mapping[str, None], collected: _Collected) -> None:
    names: dict[str, Any] = {}
    for number, line in _lines(buffer):
        try:
            record = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError) as error:
            raise DataError(origin, number, f"not valid JSON: {error}") from None
        if not isinstance(record, dict):
            raise DataError(origin, number, f"is {shown(record)}, expected an object with an id and a text")
        if not names or any(name not in record for name in (names["id"], names["text"])):
            names = _names_of(list(record), origin, number)
        doc, text, title = str(record[names["id"]]), record[names["text"]], record.get(names["title"])
        if doc not in wanted:
            continue
        if not isinstance(text, str | None):
            raise DataError(origin, number, f"{names['text']} of {doc} is {shown(text)}, expected text")
        _once(collected, doc, origin, number)
        collected.add(doc, f"{title}\n\n{text or ''}" if isinstance(title, str) and title else text or "")


def _names_of(columns: list[str], origin: str, number: int) -> dict[str, Any]:
    keys = {column_key(column): column for column in columns}
    found = {role: next((keys[word] for word in words if word in keys), None) for role, words in
             (("id", IDS), ("text", TEXTS), ("title", ("title",)))}  # fmt: skip
    found["text"] = found["text"] or found["title"]
    if found["title"] == found["text"]:
        found["title"] = None
    for role, words in (("id", IDS), ("text", TEXTS)):
        if found[role] is None:
            raise DataError(
                origin, number, f"no {role} of the document among {', '.join(columns) or 'no names'}; expected one of "
                f"{', '.join(words)}"
            )  # fmt: skip
    return found


def _from_tabs(buffer: Buffer, origin: str, wanted: Mapping[str, None], collected: _Collected) -> None:
    places: tuple[int, int] | None = None
    for at, (number, line) in enumerate(_lines(buffer)):
        cells = line.removesuffix(b"\r").split(b"\t")
        if at == 0 and (places := _header(cells)):
            continue
        least = max(places) + 1 if places else 2
        if len(cells) < least:
            expected = f"{least} as in the header" if places else "id, tab, text"
            raise DataError(origin, number, f"{counted(len(cells), 'column')}, expected {expected}")
        name, text = (cells[places[0]], cells[places[1]]) if places else (cells[0], b"\t".join(cells[1:]))
        doc = name.decode("utf-8", "surrogateescape").strip()
        if doc in wanted:
            _once(collected, doc, origin, number)
            collected.add(doc, text)


def _header(cells: list[bytes]) -> tuple[int, int] | None:
    """The places of id and text if the first line is a header."""
    keys = [column_key(cell.decode("utf-8", "replace").lstrip("\ufeff")) for cell in cells]
    doc = next((keys.index(word) for word in IDS if word in keys), None)
    text = next((keys.index(word) for word in (*TEXTS, "title") if word in keys), None)
    return None if doc is None or text is None else (doc, text)


def _once(collected: _Collected, doc: str, origin: str, number: int) -> None:
    if doc in collected:
        raise DataError(origin, number, f"document {doc!r} appears twice")


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
            collected.add(doc, bytes(load(os.path.join(folder, exact))))
