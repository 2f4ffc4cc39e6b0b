"""A cache of results: the same files, measures, options and code have the same key and are not computed again.

An entry is written completely or not at all, so a study can be stopped at any time; a damaged entry is ignored.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import cranfield
from cranfield.collection.source import write_bytes
from cranfield.errors import DataError
from cranfield.measures.definition import files_outside
from cranfield.measures.naming.parse import parse
from cranfield.scores.scores import Scores
from cranfield.table import Column, Estimate, Table


class Cache:
    """A folder of entries; a checksum precedes the content of each."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key[:2], key)

    def get(self, key: str) -> bytes | None:
        """The content of an entry; None if it is absent or damaged."""
        try:
            entry = Path(self._path(key)).read_bytes()
        except OSError:
            return None
        checksum, _, content = entry.partition(b"\n")
        return zlib.decompress(content) if checksum == _sum(content).encode() else None

    def put(self, key: str, content: bytes) -> None:
        path = self._path(key)
        make_folder(os.path.dirname(path))
        packed = zlib.compress(content, 1)
        # Not durable: a damaged entry is noticed by its checksum, and made again.
        write_bytes(path, _sum(packed).encode() + b"\n" + packed, durable=False)


def make_folder(path: str) -> None:
    try:
        os.makedirs(path or ".", exist_ok=True)
    except OSError as error:
        raise DataError(path, None, f"cannot make this folder: {error.strerror or error}") from None


def key_of(**facts: Any) -> str:
    """A hash of everything that a result depends on, including the code.

    >>> key_of(a=1, b=[2]) == key_of(b=[2], a=1), key_of(a=1) == key_of(a=2)
    (True, False)
    """
    text = json.dumps({"code": code_version(), **facts}, sort_keys=True, default=str)
    return _sum(text.encode("utf-8", "surrogatepass"))


@functools.cache
def code_version() -> str:
    """The release and a hash of the code: results of another version are computed again."""
    root = Path(cranfield.__file__).parent
    files = sorted(path for pattern in ("*.py", "_core*") for path in root.rglob(pattern) if path.is_file())
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(root)}\n".encode())
        total.update(path.read_bytes())
    return f"{cranfield.__version__} {total.hexdigest()}"


def file_sum(path: str) -> str:
    """A hash of a file's content; for names that are not files (`irds:NAME`), the name itself."""
    if path.startswith("irds:"):
        return path
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise DataError(path, None, "no such file") from None
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {error.strerror or error}") from None


def measure_key(name: str) -> str:
    """The name of a measure; for a measure from outside this package, with a hash of its file.

    >>> measure_key("AP")
    'AP'
    """
    return " ".join([name, *map(file_sum, files_outside(parse(name)))])


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def scores_to_bytes(scores: Scores) -> bytes:
    labels = json.dumps([scores.measures, scores.runs, scores.topics, scores.missing_rule, scores.notes])
    buffer = io.BytesIO()
    packed = np.frombuffer(labels.encode("ascii"), np.uint8)
    np.savez(buffer, labels=packed, values=scores.values, missing=scores.missing)
    return buffer.getvalue()


def scores_from_bytes(content: bytes) -> Scores:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        measures, runs, topics, rule, notes = json.loads(arrays["labels"].tobytes())
        return Scores(measures, runs, topics, arrays["values"], arrays["missing"], rule, notes)


def table_to_plain(table: Table) -> dict[str, Any]:
    """A table as plain values for JSON, without loss; NaN and infinity are written as Python writes them."""
    return {
        "columns": [[column.header, column.kind, column.better] for column in table.columns],
        "rows": [[[*vars(x).values()] if isinstance(x, Estimate) else x for x in row] for row in table.rows],
        "caption": table.caption,
        "notes": table.notes,
        "digits": table.digits,
    }


def table_from_plain(plain: Mapping[str, Any]) -> Table:
    rows = tuple(tuple(Estimate(*x) if isinstance(x, list) else x for x in row) for row in plain["rows"])
    columns = tuple(Column(*column) for column in plain["columns"])
    return Table(columns, rows, plain["caption"], tuple(plain["notes"]), plain["digits"])
