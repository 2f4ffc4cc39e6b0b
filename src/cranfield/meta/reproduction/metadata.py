"""Run metadata in the head of a run file, as ir_metadata has it: YAML in comment lines, which readers pass over.

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

from cranfield.collection.source import PathLike, load, read_bytes, unmarked, write_bytes
from cranfield.errors import DataError, UsageError
from cranfield.meta.yaml_text import read_yaml, write_yaml

START, END = b"# ir_metadata.start", b"# ir_metadata.end"
COMPONENTS = ("platform", "research goal", "implementation", "method", "actor", "data")
"""The first letters spell PRIMAD."""
LONGEST = 1 << 24
"""A header is looked for in so many bytes at the top of a file."""


def read_metadata(path: PathLike) -> dict[str, Any] | None:
    """The metadata in the head of a run file, compressed or not; None where there is none.

    Lines before the header may be blank or comments. PyYAML reads it, plain values only.
    """
    name = os.fspath(path)
    head = unmarked(bytes(load(name)[:LONGEST]))
    found = _header(head, name)
    if found is None:
        return None
    begin, end, line = found
    rows = head[begin:end].decode("utf-8", "replace").splitlines()[1:-1]
    text = textwrap.dedent("\n".join(row.lstrip()[1:].rstrip() for row in rows))
    held = read_yaml(text, name, line + 1)
    if held is None:
        return {}
    if not isinstance(held, dict):
        raise DataError(
            name, line, f"the metadata is a {type(held).__name__}, expected keys such as platform: and tag:"
        )
    return held


def has_metadata(path: PathLike) -> bool:
    """Is there a header? Tells without PyYAML; a file that is none, such as `irds:NAME`, has no header."""
    name = os.fspath(path)
    return os.path.isfile(name) and _header(unmarked(bytes(load(name)[:LONGEST])), name) is not None


def write_metadata(path: PathLike, metadata: Mapping[str, Any], output: PathLike | None = None) -> None:
    """Put metadata in the head of a run file, in place of what is there; the lines of the run stay as they are.

    The file is replaced whole or not at all, or `output` is written instead. Compression follows the name.
    """
    if not isinstance(metadata, Mapping):
        raise UsageError(f"metadata must be a mapping such as {{'tag': ...}}, it is {type(metadata).__name__}")
    name = os.fspath(path)
    whole = unmarked(read_bytes(name))
    found = _header(whole, name)
    rest = whole if found is None else whole[: found[0]] + whole[found[1] :]
    lines = write_yaml(dict(metadata), name).splitlines()
    commented = "\n".join(f"# {line}".rstrip() for line in lines).encode("utf-8")
    write_bytes(output if output is not None else name, b"\n".join([START, commented, END, b""]) + rest)


@dataclass(frozen=True)
class Primad:
    """Which components of two experiments differ.

    >>> str(Primad(differ=("method",), same=("platform", "data"), unknown=("research goal", "implementation", "actor")))
    'priMad: method differs; not told by both: research goal, implementation, actor'
    """

    differ: tuple[str, ...]
    same: tuple[str, ...]
    unknown: tuple[str, ...]
    """Components that one of the two, or both, say nothing of."""

    @property
    def code(self) -> str:
        """PRIMAD with a capital for each component that differs: `priMad` is another method and all else the same."""
        return "".join(one[0].upper() if one in self.differ else one[0] for one in COMPONENTS)

    def __str__(self) -> str:
        differ = (
            f"{', '.join(self.differ)} differ{'s' if len(self.differ) == 1 else ''}" if self.differ else "no change"
        )
        told = f"; not told by both: {', '.join(self.unknown)}" if self.unknown else ""
        return f"{self.code}: {differ}{told}"


def primad(original: Mapping[str, Any], again: Mapping[str, Any]) -> Primad:
    """What changed from one experiment to the next, by their metadata.

    >>> before = {"method": {"k1": 0.9}, "actor": {"team": "ours"}}
    >>> primad(before, {**before, "actor": {"team": "theirs"}}).code
    'primAd'
    """
    told = [one for one in COMPONENTS if original.get(one) is not None and again.get(one) is not None]
    return Primad(
        differ=tuple(one for one in told if original[one] != again[one]),
        same=tuple(one for one in told if original[one] == again[one]),
        unknown=tuple(one for one in COMPONENTS if one not in told),
    )


def _header(data: bytes, name: str) -> tuple[int, int, int] | None:
    """Where the header begins, where what follows it does, and its line; it stands before the first entry."""
    at, line, begun = 0, 0, None
    while at < len(data):
        newline = data.find(b"\n", at)
        after = len(data) if newline < 0 else newline + 1
        row = data[at:after].strip()
        line += 1
        if begun is None and row == START:
            begun = (at, line)
        elif begun is not None and row == END:
            return begun[0], after, begun[1]
        elif row and not row.startswith(b"#"):
            break
        at = after
    if begun is not None:
        raise DataError(
            name, begun[1], f"the metadata does not end, expected a line {END.decode()!r} before the entries"
        )
    return None
