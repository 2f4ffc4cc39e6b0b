"""The texts of the documents to judge: JSON-lines, tab-separated lines, or a folder with a file for each document."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cranfield.building.document_records import PARTS, read_records, readable
from cranfield.collection.doors import reads
from cranfield.collection.source import PathLike, load, shown_path, text_of
from cranfield.errors import DataError
from cranfield.text import listed


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
