"""NTCIR writes grades as L0, L1, ... or as S, A, B, C; here they become numbers."""

from __future__ import annotations

import re

from cranfield.collection.source import DATA_LINE, Buffer, first_line, unmarked

LETTERS = {"S": 3, "A": 2, "B": 1, "C": 0}
"""Highly relevant, relevant, partially relevant (Sakai, On the Properties of Evaluation Metrics for Finding One Highly
Relevant Document, 2007, §3.1), and not relevant."""
_LEVEL = re.compile(rb"(?m)(?<=[ \t])L(\d{1,9})(?=[ \t\r]*$)")
"""A last column such as `L2`."""
_LETTER = re.compile(rb"(?m)(?<=[ \t])([SABC])(?=[ \t\r]*$)")
"""A last column such as `S`."""


def grade_called(label: str) -> float | None:
    """The number of a grade that is written as S, A, B, C or L0, L1, ...; None for any other text.

    >>> grade_called("S"), grade_called("L2"), grade_called("D")
    (3.0, 2.0, None)
    """
    if label in LETTERS:
        return float(LETTERS[label])
    return float(label[1:]) if re.fullmatch(r"L\d{1,9}", label) else None


def are_named(buffer: Buffer) -> bool:
    """Whether the grade of the first line is written as L0, L1, ... or as S, A, B, C.

    >>> are_named(b"0001 2 doc7 L3\\n"), are_named(b"301 0 L8 3\\n")
    (True, False)
    """
    first = first_line(buffer)
    return bool(_LEVEL.search(first) or _LETTER.search(first))


def levels_as_numbers(buffer: Buffer) -> tuple[Buffer, str]:
    """Replace the grades L0, L1, ... or S, A, B, C in qrels by numbers; also return a note if there were any.

    The first line decides: if its grade is a number, nothing is replaced. Letters are replaced only if every line has
    one, since otherwise their meaning is unclear.

    >>> levels_as_numbers(b"0001 2 doc7 L3\\n0001 2 L8 L0\\n")
    (b'0001 2 doc7 3\\n0001 2 L8 0\\n', 'grades L0, L1, ... are read as 0, 1, ...')
    >>> levels_as_numbers(b"001 0 doc7 S\\n001 0 A C\\n")
    (b'001 0 doc7 3\\n001 0 A 0\\n', 'grades S, A, B, C are read as 3, 2, 1, 0')
    >>> levels_as_numbers(b"301 0 L8 3\\n")
    (b'301 0 L8 3\\n', '')
    """
    first = first_line(buffer)
    if _LEVEL.search(first):
        return _LEVEL.sub(rb"\1", bytes(buffer)), "grades L0, L1, ... are read as 0, 1, ..."
    if _LETTER.search(first):
        whole = unmarked(bytes(buffer))
        text, count = _LETTER.subn(lambda match: b"%d" % LETTERS[match[1].decode()], whole)
        if count == len(DATA_LINE.findall(whole)):
            return text, "grades S, A, B, C are read as 3, 2, 1, 0"
    return buffer, ""
