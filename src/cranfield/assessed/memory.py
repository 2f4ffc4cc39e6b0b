"""How much memory reading and joining may use."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from typing import Any

from cranfield.collection.file_formats.blocks import WHOLE
from cranfield.errors import UsageError

CHUNK = 4 << 20
"""What a thread reads at a time, in bytes."""
SMALLEST_CHUNK = 1 << 18
PER_BYTE = 14
"""Memory for each byte that is read at a time, at most: a line may have 6 bytes, and take 80 until it is ranked."""
LEAST = 32 << 20
"""Too little to read anything with."""
UNKNOWN = 100 << 20
"""About what Python, numpy and this package use, where the system does not tell."""


@dataclass(frozen=True)
class MemoryPlan:
    """Sizes in bytes for `_core.join_files`; 0: its default."""

    threads: int
    chunk: int = 0
    window: int = 0
    scattered: int = 0
    most: int = 0
    whole: int = WHOLE
    """Up to this many bytes of a compressed file or a pipe are read as a whole."""

    @property
    def sizes(self) -> dict[str, Any]:
        """The arguments of `_core.join_files`."""
        return {"chunk": self.chunk, "window": self.window, "scattered": self.scattered, "most": self.most}


def memory_plan(memory: int | str | None, threads: int) -> MemoryPlan:
    """How to stay within `memory` bytes; the process, with the judgments, already uses a part of them."""
    if memory is None:
        return MemoryPlan(threads)
    limit, used = size_in_bytes(memory), resident_bytes()
    free = limit - used
    if free < LEAST:
        raise UsageError(
            f"memory == {memory!r}, but the program and the judgments already use {in_megabytes(used)}; "
            f"allow at least {in_megabytes(used + 2 * LEAST)}"
        )
    window = min(free // 4 // PER_BYTE, 2 * CHUNK * threads)
    threads = max(1, min(threads, window // (2 * SMALLEST_CHUNK)))
    return MemoryPlan(
        threads,
        min(CHUNK, max(1, window // (2 * threads))),
        window,
        free * 3 // 10,
        free * 7 // 10,
        min(WHOLE, free // 8),
    )


def size_in_bytes(size: Any) -> int:
    """A number of bytes, or a text such as `500MB` or `1GB`.

    >>> size_in_bytes("1GB"), size_in_bytes("1.5k"), size_in_bytes(4096)
    (1073741824, 1536, 4096)
    """
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        return size
    text = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", size.strip().upper()) if isinstance(size, str) else None
    if text is None or float(text[1]) == 0:
        raise UsageError(f"memory == {size!r}, must be a number of bytes, such as '500MB' or '1GB'")
    return int(float(text[1]) * 1024 ** " KMGT".index(text[2] or " "))


def resident_bytes() -> int:
    """The memory that the process uses at present."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return UNKNOWN
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def in_megabytes(size: int) -> str:
    """
    >>> in_megabytes(150_000_000)
    '144 MB'
    """
    return f"{-(-size // 2**20):,} MB"
