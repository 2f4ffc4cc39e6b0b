"""Text for messages: lists of names, and numbers with nouns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from reprlib import Repr
from typing import SupportsFloat

_CONTROL = ("Cc", "Cs", "Zl", "Zp")
_INVISIBLE = "\ufeff\u200b\u2060\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""The byte order mark, spaces without width, and marks that change the direction of the text."""
INTERRUPTED_AFTER = "interrupted after"
"""How the note of a result begins that Ctrl-C ended early; nothing is printed of a result without it."""


def listed(names: Iterable[object], most: int = 5, noun: str = "") -> str:
    """Return the first few names, and how many more there are.

    >>> listed(["1", "2", "3"], most=2), listed("abc", most=1, noun="runs"), listed("ab", most=1, noun="runs")
    ('1, 2 and 1 more', 'a and 2 more runs', 'a and 1 more run')
    """
    every = [str(name) for name in names]
    shown = ", ".join(every[:most])
    if len(every) <= most:
        return shown
    more = len(every) - most
    return f"{shown} and {more:,} more {noun.removesuffix('s') if more == 1 else noun}".rstrip()


def enumerated(names: Sequence[str]) -> str:
    """All names, the last one after "and".

    >>> enumerated(["AP", "RR", "P@10"]), enumerated(["AP"])
    ('AP, RR and P@10', 'AP')
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "topic"), counted(1200, "topic")
    ('1 topic', '1,200 topics')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def plain_number(value: SupportsFloat) -> str:
    """A number with all its digits, without a decimal point if it is whole.

    >>> plain_number(2.0), plain_number(12345678.0), plain_number(0.12345678)
    ('2', '12345678', '0.12345678')
    """
    number = float(value)
    return str(int(number)) if number.is_integer() else str(value)


_CUT = Repr()
_CUT.maxlevel, _CUT.maxstring, _CUT.maxother, _CUT.maxlong = 2, 80, 80, 40
_CUT.maxlist = _CUT.maxtuple = _CUT.maxset = _CUT.maxfrozenset = _CUT.maxdict = 4


def shown(value: object) -> str:
    """The value for a message, cut if it is long: a nested value may be far longer than the file it is from.

    >>> shown("high"), shown([1, 2, 3, 4, 5, 6])
    ("'high'", '[1, 2, 3, 4, ...]')
    """
    return _CUT.repr(value)


def cut(text: str, most: int = 500) -> str:
    """The beginning of a message that repeats a long value.

    >>> cut("depth == 'xxxxxxxx'", most=12)
    "depth == 'xx…"
    """
    return text if len(text) <= most else f"{text[:most]}…"


def one_line(text: str) -> str:
    """Replace line breaks and repeated spaces by single spaces."""
    return " ".join(text.split())


def printable(text: str) -> str:
    """Escape control characters and invisible ones, so that the name of a run cannot move the cursor.

    >>> printable("a\\x1b[2J")
    'a\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    escaped = {c for c in text if unicodedata.category(c) in _CONTROL or c in _INVISIBLE}
    return "".join(c.encode("unicode_escape").decode() if c in escaped else c for c in text)


_FORMULA = re.compile(r"[\s']*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""How text begins that a spreadsheet runs; the last four are the wide forms of East Asian fonts.

Marks of a guard before it belong to it, so that a guard can be taken away again."""


def guarded(text: str) -> str:
    """Text for a cell of a table: ' before what a spreadsheet would run as a formula. `unguarded` takes it away.

    >>> guarded("=HYPERLINK(0)"), guarded("bm25"), unguarded("'=HYPERLINK(0)")
    ("'=HYPERLINK(0)", 'bm25', '=HYPERLINK(0)')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """The text that `guarded` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text, 1) else text


def control_free(text: str) -> str:
    """Escape control characters, except tabs and line breaks, for text that other programs read.

    >>> control_free("a\\x1b[2J")
    'a\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    escaped = {c for c in text if unicodedata.category(c) == "Cc" and c not in "\t\n\r"}
    return "".join(c.encode("unicode_escape").decode() if c in escaped else c for c in text)
