"""Spans of characters in texts: reading them, checking them, and counting what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cranfield import check
from cranfield.answers.answer_rows import Row
from cranfield.text import one_line, shown

OFFSETS = ("characters", "bytes")
"""What offsets count, from 0; the end is not included."""


@dataclass(frozen=True)
class Counter:
    """Positions in one text, with or without white space."""

    text: str
    white_space: bool

    def upto(self, end: int) -> int:
        """The number of characters before an offset."""
        return end if self.white_space else len(re.sub(r"\s", "", self.text[:end]))


def span_of(row: Row, text: str | None, offsets: str = "characters") -> tuple[int, int]:
    """The span of a row, in characters. With the text, a span outside of it is an error, and so are other words.

    A row may have the text of its span, as `judge export` writes it; if that is not what the text has there, the
    offsets are probably counted otherwise.
    """
    check.one_of("", OFFSETS, offsets=offsets)
    start, end = row.whole("start"), row.whole("end")
    if end < start:
        raise row.fault(f"the span ends at {end}, before its start at {start}")
    if text is None:
        if offsets == "bytes":
            raise row.fault("offsets in bytes can be converted only with the text")
        return start, end
    data = _bytes_of(text, row) if offsets == "bytes" else b""
    length = len(data) if offsets == "bytes" else len(text)
    if end > length:
        raise row.fault(f"the span ends at {end}, but the text has {length:,} {offsets}")
    if offsets == "bytes":
        start, end = (_characters_before(data, place, row) for place in (start, end))
    if row.has("span_text"):
        told, there = one_line(str(row.values["span_text"])), one_line(text[start:end])
        if told != there:
            other = "bytes" if offsets == "characters" else "characters"
            message = f"the text has {shown(there)} there, not {shown(told)}"
            raise row.fault(f"{message}; are the offsets in {other}? (offsets='{other}')")
    return start, end


def _bytes_of(text: str, row: Row) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise row.fault("the text has half of a surrogate pair, so its bytes are unknown; use characters") from None


def _characters_before(data: bytes, place: int, row: Row) -> int:
    if place < len(data) and data[place] & 0xC0 == 0x80:  # a byte that continues a character
        raise row.fault(f"byte {place} is within a character of the text; are the offsets in characters?")
    return len(data[:place].decode("utf-8", "surrogateescape"))


Spans = Sequence[tuple[int, int]]


def merged_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans without overlaps, in order; empty ones are dropped.

    >>> merged_spans([(5, 9), (0, 3), (8, 12), (3, 3)])
    [(0, 3), (5, 12)]
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if start == end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def overlapping(spans: Iterable[tuple[int, int]]) -> int:
    """How many spans begin before one that starts earlier ends.

    >>> overlapping([(0, 3), (2, 5), (5, 6)])
    1
    """
    count, reach = 0, -1
    for start, end in sorted(spans):
        count += start < reach
        reach = max(reach, end)
    return count


def pieces(span: tuple[int, int], within: Spans) -> Iterator[tuple[int, int, bool]]:
    """A span cut at the ends of other spans: start, end, and whether the piece is within them.

    >>> list(pieces((2, 10), [(0, 3), (5, 7)]))
    [(2, 3, True), (3, 5, False), (5, 7, True), (7, 10, False)]
    """
    at, end = span
    for low, high in within:
        if high <= at or low >= end:
            continue
        if low > at:
            yield at, low, False
        yield max(at, low), min(high, end), True
        at = min(high, end)
    if at < end:
        yield at, end, False
