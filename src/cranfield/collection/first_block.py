"""Checks of the first block of a pipe or a compressed file, before the rest is read: a pipe may have no end."""

from __future__ import annotations

import json
from collections.abc import Callable

from cranfield.collection.source import DATA_LINE, HEAD, Buffer, load, unmarked
from cranfield.errors import DataError

CUT = 16
"""How near to the end of the block an error of JSON may be because the block ends there: the longest word or number."""


def whole_lines(head: bytes, path: str, expected: str) -> bytes:
    """The whole lines of a first block; nothing if it is the whole file, or holds only comments and blank lines.

    A line that is longer than the block is an error.
    """
    if len(head) < HEAD:
        return b""
    end = head.rfind(b"\n") + 1
    if not end and DATA_LINE.search(head):
        raise DataError(path, 1, f"the line is longer than {HEAD:,} bytes, expected {expected}")
    lines = head[:end]
    return lines if DATA_LINE.search(lines) else b""


def check_lines(head: bytes, path: str, expected: str, read: Callable[[bytes], object]) -> None:
    """Read the whole lines of a first block, so that a fault in them is an error."""
    lines = whole_lines(head, path, expected)
    if lines and b'"' not in lines:  # a quoted cell may go on in the next block
        read(lines)


def load_lines(path: str, expected: str, read: Callable[[bytes], object]) -> Buffer:
    """The bytes of a file; of a pipe, the lines of the first block are read first, so that a fault is an error."""

    def check(head: bytes) -> None:
        if lines := whole_lines(head, path, f"lines of {expected}"):
            read(lines)

    return load(path, check)


def check_json(head: bytes, path: str, *, several: bool = True) -> None:
    """Raise an error if a first block of JSON has a fault before its end; `several`: values may follow each other."""
    if len(head) < HEAD:
        return
    text = unmarked(head).decode("utf-8", "replace")
    position = len(text) - len(text.lstrip())
    while position < len(text):
        try:
            _, position = json.JSONDecoder().raw_decode(text, position)
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated string") or error.pos >= len(text) - CUT
            if cut:
                return
            raise DataError(path, error.lineno, f"is not valid JSON: {error.msg}") from None
        except RecursionError:
            raise DataError(path, 1, "is not valid JSON: nested too deeply") from None
        position += len(text) - position - len(text[position:].lstrip())
        if not several and position < len(text):
            raise DataError(path, text.count("\n", 0, position) + 1, "is not valid JSON: text after the end")
