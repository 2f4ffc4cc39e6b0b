"""Findings of the linter, and those about the bytes of a text file: line ends, blanks, encoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cranfield.collection.source import Buffer, shown_path
from cranfield.text import counted

SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Finding:
    """A fault of a file, or something to know about it."""

    path: str
    line: int | None
    severity: str
    """`error`: cannot be scored; `warning`: scores may be misleading; `info`: good to know."""
    code: str
    message: str

    def __str__(self) -> str:
        path = shown_path(self.path)
        place = f"{path}:{self.line}" if self.line else path
        return f"{place}: {self.severity}: {self.message} [{self.code}]"


IS_BLANK = np.isin(np.arange(256), (ord(" "), ord("\t")))
MARK = b"\xef\xbb\xbf"
BLOCK = 1 << 18
"""Bytes that are looked at together: a file of empty lines would need forty times its size."""


def byte_findings(path: str, buffer: Buffer) -> Iterator[Finding]:
    """Mixed line ends, blanks at the end of lines, a byte order mark, bytes that are not UTF-8."""
    seen = _Seen()
    for block in blocks_of_lines(buffer):
        seen.add(block)
    if seen.odd_end is not None:
        counts = f"{counted(seen.in_crlf, 'line')} in CR LF, {counted(seen.in_lf, 'line')} in LF"
        yield Finding(path, seen.odd_end, "info", "line-ends", f"mixed line ends: {counts}")
    if seen.first_blank is not None:
        message = counted(seen.blank, "line ends in blanks", "lines end in blanks")
        yield Finding(path, seen.first_blank, "info", "trailing-blanks", message)
    if bytes(buffer[:3]) == MARK:
        yield Finding(path, 1, "info", "byte-order-mark", "begins with a UTF-8 byte order mark")
    if seen.later_mark is not None:
        message = "begins with a byte order mark, which is read as part of the first column"
        yield Finding(path, seen.later_mark, "warning", "byte-order-mark", message)
    if seen.not_utf8 is not None:
        line, byte = seen.not_utf8
        message = f"byte 0x{byte:02x} is not UTF-8: Arrow and Parquet cannot hold it"
        yield Finding(path, line, "info", "not-utf-8", message)


def blocks_of_lines(buffer: Buffer, usual: int = BLOCK) -> Iterator[bytes]:
    """The bytes in parts that end with a line, of about the usual size unless a line is longer."""
    begin, size = 0, usual
    while begin < len(buffer):
        block = bytes(buffer[begin : begin + size])
        end = block.rfind(b"\n") + 1
        if not end and begin + len(block) < len(buffer):
            size *= 2
            continue
        block = block[:end] if end else block
        yield block
        begin, size = begin + len(block), usual


@dataclass
class _Seen:
    """What was seen in the lines so far; lines are counted from 1."""

    lines: int = 0
    in_crlf: int = 0
    in_lf: int = 0
    odd_end: int | None = None
    """The first line whose end is not that of line 1."""
    blank: int = 0
    first_blank: int | None = None
    later_mark: int | None = None
    not_utf8: tuple[int, int] | None = None
    """The line and value of the first byte."""

    def add(self, block: bytes) -> None:
        """Look at further lines."""
        data = np.frombuffer(block, dtype=np.uint8)
        newlines = np.flatnonzero(data == ord("\n"))
        ends = newlines if block.endswith(b"\n") else np.append(newlines, len(data))
        begins = np.concatenate([[0], newlines + 1])[: len(ends)]
        carriage = (ends > begins) & (data[np.maximum(ends - 1, 0)] == ord("\r"))
        self._line_ends(carriage[: len(newlines)])
        last = ends - 1 - carriage
        blank = np.flatnonzero((last >= begins) & IS_BLANK[data[np.maximum(last, 0)]])
        self.blank += len(blank)
        if self.first_blank is None and len(blank):
            self.first_blank = self.lines + int(blank[0]) + 1
        if self.later_mark is None:
            at = 0 if self.lines and block.startswith(MARK) else block.find(b"\n" + MARK) + 1
            if at or (self.lines and block.startswith(MARK)):
                self.later_mark = self._line(newlines, at)
        if self.not_utf8 is None:
            try:
                block.decode()
            except UnicodeDecodeError as error:
                self.not_utf8 = self._line(newlines, error.start), block[error.start]
        self.lines += len(newlines)

    def _line(self, newlines: np.ndarray, at: int) -> int:
        return self.lines + int(np.searchsorted(newlines, at)) + 1

    def _line_ends(self, crlf: np.ndarray) -> None:
        if not len(crlf):
            return
        usual = bool(crlf[0]) if not self.lines else self.in_crlf > 0  # as line 1, unless both kinds were seen
        odd = np.flatnonzero(crlf != usual)
        if self.odd_end is None and len(odd):
            self.odd_end = self.lines + int(odd[0]) + 1
        self.in_crlf += int(crlf.sum())
        self.in_lf += int((~crlf).sum())
