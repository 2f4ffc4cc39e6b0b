"""The files that a report is made of, with their sizes and digests."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from cranfield.collection.source import is_pipe
from cranfield.report.pages.report_parts import TableBlock
from cranfield.table import Cell, Column, Table

SHOWN_DIGITS = 16
LARGEST_TABLE = 20
"""Longer tables can be filtered."""


def files_block(files: Sequence[tuple[str, str]]) -> TableBlock:
    """A table of files, given as (what it holds, path); the page shows the first digits of each digest."""
    data = files_table(files)
    shown = tuple((*row[:-1], str(row[-1])[:SHOWN_DIGITS]) for row in data.rows)
    note = (f"the first {SHOWN_DIGITS} hexadecimal digits of digests; the CSV file has all 64",)
    table = Table(data.columns, shown, notes=note)
    return TableBlock("files", table, "Files", data=data, tools=len(shown) > LARGEST_TABLE)


def files_table(files: Sequence[tuple[str, str]]) -> Table:
    """A row per file: what it holds, its path, its size and the SHA-256 digest of its bytes."""
    with ThreadPoolExecutor() as pool:  # hashing does not hold the lock of the interpreter
        digests = list(pool.map(_digest, [path for _, path in files]))
    names = shown_paths([path for _, path in files])
    rows: list[tuple[Cell, ...]] = [
        (names[path], what, size, digest) for (what, path), (size, digest) in zip(files, digests, strict=True)
    ]
    columns = (Column("file"), Column("holds"), Column("bytes", "count"), Column("SHA-256"))
    return Table(columns, tuple(rows))


def shown_paths(paths: Iterable[str]) -> dict[str, str]:
    """{path: what readers of a page see}: the name of the file, without the folders of a machine they do not know.

    Of files with the same name, as much of the path as tells them apart.

    >>> shown_paths(["runs/a.run", "/home/me/x/b.run", "../y/b.run", "/home/me/qrels.txt"]).values()
    dict_values(['a.run', 'x/b.run', 'y/b.run', 'qrels.txt'])
    """
    parts = {path: os.path.normpath(path).split(os.sep) for path in paths}
    shown = {}
    for path, names in parts.items():
        others = [other for other in parts.values() if other != names]
        depth = next((n for n in range(1, len(names)) if all(other[-n:] != names[-n:] for other in others)), len(names))
        shown[path] = "/".join(names[-depth:]).lstrip("/")
    return shown


def without_folders(text: str, paths: Iterable[str]) -> str:
    """A text in which the paths of these files are as `shown_paths` has them."""
    for path, shown in sorted(shown_paths(paths).items(), key=lambda pair: -len(pair[0])):
        text = text.replace(path, shown) if os.sep in path else text
    return text


def _digest(path: str) -> tuple[int | None, str]:
    """The size and digest of a file; nothing for standard input, which cannot be read again."""
    if path == "-" or is_pipe(path):
        return None, ""
    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), digest
    except OSError:
        return None, ""
