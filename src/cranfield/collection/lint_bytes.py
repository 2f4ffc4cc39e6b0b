"""Checks of the bytes of a text file: line ends, blanks, encoding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.collection.lint_findings import Finding
from cranfield.collection.source import Buffer
from cranfield.text import counted

BLANKS = (ord(" "), ord("\t"))


def byte_findings(path: str, buffer: Buffer) -> Iterator[Finding]:
    """Mixed line ends, blanks at the end of lines, a byte order mark, bytes that are not UTF-8."""
    data = np.frombuffer(buffer, dtype=np.uint8)
    newlines = np.flatnonzero(data == ord("\n"))
    begins = np.concatenate([[0], newlines + 1])
    ends = np.append(newlines, len(data))
    carriage = (ends > begins) & (data[np.maximum(ends - 1, 0)] == ord("\r"))

    in_crlf = carriage[: len(newlines)]
    if in_crlf.any() and not in_crlf.all():
        odd = int(np.flatnonzero(in_crlf != in_crlf[0])[0]) + 1
        counts = f"{counted(int(in_crlf.sum()), 'line')} in CR LF, {counted(int((~in_crlf).sum()), 'line')} in LF"
        yield Finding(path, odd, "info", "line-ends", f"mixed line ends: {counts}")

    last = ends - 1 - carriage
    blank = (last >= begins) & np.isin(data[np.maximum(last, 0)], BLANKS)
    if blank.any():
        first = int(np.flatnonzero(blank)[0]) + 1
        message = counted(int(blank.sum()), "line ends in blanks", "lines end in blanks")
        yield Finding(path, first, "info", "trailing-blanks", message)

    if data[:3].tobytes() == b"\xef\xbb\xbf":
        yield Finding(path, 1, "info", "byte-order-mark", "begins with a UTF-8 byte order mark")
    later = data.tobytes().find(b"\n\xef\xbb\xbf") + 1
    if later:
        line = int(np.searchsorted(newlines, later)) + 1
        message = "begins with a byte order mark, which is read as part of the first column"
        yield Finding(path, line, "warning", "byte-order-mark", message)
    try:
        str(buffer, "utf-8")
    except UnicodeDecodeError as error:
        line = int(np.searchsorted(newlines, error.start)) + 1
        message = f"byte 0x{int(data[error.start]):02x} is not UTF-8: Arrow and Parquet cannot hold it"
        yield Finding(path, line, "info", "not-utf-8", message)
