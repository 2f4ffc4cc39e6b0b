"""Run metadata at the top of a run file in the ir_metadata format: YAML in comment lines, which readers ignore.

The components are those of PRIMAD: platform, research goal, implementation, method, actor and data.

Reference: Breuer, Keller & Schaer, ir_metadata: An Extensible Metadata Schema for IR Experiments, SIGIR 2022,
3078-3089, doi:10.1145/3477495.3531738; Ferro & Maistro 2024 §8
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.collection.config_files import read_yaml, write_yaml
from cranfield.collection.doors import reads
from cranfield.collection.source import PathLike, load, read_bytes, unmarked, write_bytes
from cranfield.errors import DataError, UsageError

START, END = b"# ir_metadata.start", b"# ir_metadata.end"
COMPONENTS = ("platform", "research goal", "implementation", "method", "actor", "data")
"""Their first letters spell PRIMAD."""
LONGEST = 1 << 24
"""The number of bytes at the top of a file in which the header is searched."""


@reads
def read_metadata(path: PathLike) -> dict[str, Any] | None:
    """The metadata at the top of a run file, compressed or not; None without a header.

    Lines before the header may be blank or comments. Reading needs PyYAML.
    """
    name = os.fspath(path)
    head = unmarked(bytes(load(name)[:LONGEST]))
    header = _header(head, name)
    if header is None:
        return None
    begin, end, line = header
    rows = head[begin:end].decode("utf-8", "replace").splitlines()[1:-1]
    text = textwrap.dedent("\n".join(row.lstrip()[1:].rstrip() for row in rows))
    metadata = read_yaml(text, name, line + 1)
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        kind = type(metadata).__name__
        raise DataError(name, line, f"the metadata is a {kind}, expected keys such as platform: and tag:")
    return metadata


@reads
def has_metadata(path: PathLike) -> bool:
    """Does a run file have a header? Does not need PyYAML; False for names that are not files, such as `irds:NAME`."""
    name = os.fspath(path)
    return os.path.isfile(name) and _header(unmarked(bytes(load(name)[:LONGEST])), name) is not None


def write_metadata(path: PathLike, metadata: Mapping[str, Any], output: PathLike | None = None) -> None:
    """Write metadata to the top of a run file, replacing an existing header; the lines of the run do not change.

    The file is replaced completely or not at all; `output` names another file to write. Compression follows the name.
    """
    if not isinstance(metadata, Mapping):
        raise UsageError(f"metadata is {type(metadata).__name__}, must be a mapping such as {{'tag': ...}}")
    name = os.fspath(path)
    content = unmarked(read_bytes(name))
    header = _header(content, name)
    rest = content if header is None else content[: header[0]] + content[header[1] :]
    lines = write_yaml(dict(metadata), name).splitlines()
    commented = "\n".join(f"# {line}".rstrip() for line in lines).encode("utf-8")
    write_bytes(output if output is not None else name, b"\n".join([START, commented, END, b""]) + rest)


@dataclass(frozen=True)
class Primad:
    """Which components of two experiments differ.

    >>> str(Primad(differ=("method",), same=("platform", "data"), unknown=("research goal", "implementation", "actor")))
    'priMad: method differs; unknown: research goal, implementation, actor'
    """

    differ: tuple[str, ...]
    same: tuple[str, ...]
    unknown: tuple[str, ...]
    """Components that are missing in the metadata of one or both experiments."""

    @property
    def code(self) -> str:
        """PRIMAD with a capital for each component that differs: `priMad` if only the method differs."""
        return "".join(name[0].upper() if name in self.differ else name[0] for name in COMPONENTS)

    def __str__(self) -> str:
        verb = "differs" if len(self.differ) == 1 else "differ"
        change = f"{', '.join(self.differ)} {verb}" if self.differ else "no change"
        unknown = f"; unknown: {', '.join(self.unknown)}" if self.unknown else ""
        return f"{self.code}: {change}{unknown}"


def primad(original: Mapping[str, Any], again: Mapping[str, Any]) -> Primad:
    """Compare the metadata of two experiments.

    >>> before = {"method": {"k1": 0.9}, "actor": {"team": "ours"}}
    >>> primad(before, {**before, "actor": {"team": "theirs"}}).code
    'primAd'
    """
    known = [name for name in COMPONENTS if original.get(name) is not None and again.get(name) is not None]
    return Primad(
        differ=tuple(name for name in known if original[name] != again[name]),
        same=tuple(name for name in known if original[name] == again[name]),
        unknown=tuple(name for name in COMPONENTS if name not in known),
    )


def _header(data: bytes, name: str) -> tuple[int, int, int] | None:
    """The begin and end of the header, and its first line; None without a header before the first entry."""
    at, line, start = 0, 0, None
    while at < len(data):
        newline = data.find(b"\n", at)
        after = len(data) if newline < 0 else newline + 1
        row = data[at:after].strip()
        line += 1
        if start is None and row == START:
            start = (at, line)
        elif start is not None and row == END:
            return start[0], after, start[1]
        elif row and not row.startswith(b"#"):
            break
        at = after
    if start is not None:
        raise DataError(name, start[1], f"the metadata has no end, expected a line {END.decode()!r} before the entries")
    return None
