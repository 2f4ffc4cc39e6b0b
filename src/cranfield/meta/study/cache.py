"""Results by what they were made of: the same files, measures, options and code give the same key, and are not redone.

An entry appears whole or not at all, so that a study can be stopped at any moment; a damaged one counts as absent.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import cranfield
from cranfield.collection.source import write_bytes
from cranfield.errors import DataError
from cranfield.measures import Measure
from cranfield.measures.naming.parse import parse
from cranfield.scores.scores import Scores
from cranfield.table import Column, Estimate, Table


class Cache:
    """A folder of entries, each with a check sum before its content."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key[:2], key)

    def get(self, key: str) -> bytes | None:
        """What was put there, if it is there and whole."""
        try:
            entry = Path(self._path(key)).read_bytes()
        except OSError:
            return None
        check, _, content = entry.partition(b"\n")
        return zlib.decompress(content) if check == _sum(content).encode() else None

    def put(self, key: str, content: bytes) -> None:
        path = self._path(key)
        make_folder(os.path.dirname(path))
        packed = zlib.compress(content, 1)
        write_bytes(path, _sum(packed).encode() + b"\n" + packed)


def make_folder(path: str) -> None:
    """The folder, and those it is in; an error says what is in the way."""
    try:
        os.makedirs(path or ".", exist_ok=True)
    except OSError as error:
        raise DataError(path, None, f"cannot be made: {error.strerror or error}") from None


def key_of(**facts: Any) -> str:
    """A name for everything that a result depends on, the code included.

    >>> key_of(a=1, b=[2]) == key_of(b=[2], a=1), key_of(a=1) == key_of(a=2)
    (True, False)
    """
    told = json.dumps({"code": code_version(), **facts}, sort_keys=True, default=str)
    return _sum(told.encode("utf-8", "surrogatepass"))


@functools.cache
def code_version() -> str:
    """The release, and a sum over the code itself: what another version computed is computed anew."""
    root = Path(cranfield.__file__).parent
    files = sorted(path for pattern in ("*.py", "_core*") for path in root.rglob(pattern) if path.is_file())
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(root)}\n".encode())
        total.update(path.read_bytes())
    return f"{cranfield.__version__} {total.hexdigest()}"


def file_sum(path: str) -> str:
    """A sum over a file's bytes; of what is no file (`irds:NAME`) the name stands for the content."""
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
    """A measure's name, and for one of the user's own a sum over the file it is in.

    >>> measure_key("AP")
    'AP'
    """
    homes = sorted(home for home in _homes(parse(name)) if home.partition(".")[0] != "cranfield")
    files = (getattr(sys.modules.get(home), "__file__", None) for home in homes)
    return " ".join([name, *(file_sum(file) for file in files if file)])


def _homes(measure: Measure) -> set[str]:
    """The modules of a measure, and of those it is made from."""
    within = (one for one in vars(measure).values() if isinstance(one, Measure))
    return {type(measure).__module__}.union(*map(_homes, within))


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# -- scores and tables as bytes


def scores_to_bytes(scores: Scores) -> bytes:
    """All there is to know of scores."""
    labels = json.dumps([scores.measures, scores.runs, scores.topics, scores.missing_rule, scores.notes])
    buffer = io.BytesIO()
    np.savez(
        buffer, labels=np.frombuffer(labels.encode("ascii"), np.uint8), values=scores.values, missing=scores.missing
    )
    return buffer.getvalue()


def scores_from_bytes(content: bytes) -> Scores:
    """As `scores_to_bytes` told them."""
    with np.load(io.BytesIO(content), allow_pickle=False) as held:
        measures, runs, topics, rule, notes = json.loads(held["labels"].tobytes())
        return Scores(measures, runs, topics, held["values"], held["missing"], rule, notes)


def table_to_plain(table: Table) -> dict[str, Any]:
    """A table as JSON can hold it, exactly; NaN and infinity are Python's spelling of them."""
    return {
        "columns": [[one.header, one.kind, one.better] for one in table.columns],
        "rows": [[[*vars(x).values()] if isinstance(x, Estimate) else x for x in row] for row in table.rows],
        "caption": table.caption,
        "notes": table.notes,
        "digits": table.digits,
    }


def table_from_plain(held: Mapping[str, Any]) -> Table:
    """As `table_to_plain` told it."""
    rows = tuple(tuple(Estimate(*x) if isinstance(x, list) else x for x in row) for row in held["rows"])
    columns = tuple(Column(*one) for one in held["columns"])
    return Table(columns, rows, held["caption"], tuple(held["notes"]), held["digits"])
