"""Grades that are words: those that a person gives numbers (`Exact=3`), and NTCIR's L0, L1, ... and S, A, B, C."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from cranfield import _core
from cranfield.collection.source import DATA_LINE, Buffer, first_line, unmarked
from cranfield.errors import UsageError
from cranfield.text import listed, plain_number, shown

LETTERS = {"S": 3, "A": 2, "B": 1, "C": 0}
"""Highly relevant, relevant, partially relevant (Sakai, On the Properties of Evaluation Metrics for Finding One Highly
Relevant Document, 2007, §3.1), and not relevant."""
_LEVEL = re.compile(rb"(?m)(?<=[ \t])L(\d{1,9})(?=[ \t\r]*$)")
"""A last column such as `L2`."""
_LETTER = re.compile(rb"(?m)(?<=[ \t])([SABC])(?=[ \t\r]*$)")
"""A last column such as `S`."""

_named: ContextVar[Mapping[str, float]] = ContextVar("grades of labels", default=MappingProxyType({}))
"""The grade of each label, in lower case, that a person gives."""
_spelled: ContextVar[Mapping[str, float]] = ContextVar("grades of labels, as typed", default=MappingProxyType({}))
_note: ContextVar[str] = ContextVar("note on the grades of labels", default="")
MANY = 12
"""A column with more different words than this holds something else than labels."""


@contextmanager
def named_grades(grades: Mapping[str, float] | None) -> Iterator[None]:
    """Within this context, judgments may have these labels in place of grades; upper and lower case are the same.

    >>> with named_grades({"Exact": 3, "Partial": 1}):
    ...     grades_of(["exact", "Partial", "0"])
    [3, 1, '0']
    """
    token = _named.set(_checked(grades) if grades else _named.get())
    spelled = _spelled.set(grades or _spelled.get())
    listed_grades = ", ".join(f"{label} {grade:g}" for label, grade in (grades or {}).items())
    note = _note.set(f"grades of labels: {listed_grades}" if grades else _note.get())
    try:
        yield
    finally:
        _named.reset(token)
        _spelled.reset(spelled)
        _note.reset(note)


def labels_note() -> tuple[str, ...]:
    """What a reader of the scores must know about labels, if `named_grades` gives them grades."""
    return (_note.get(),) if _note.get() else ()


def _checked(grades: Mapping[str, float]) -> dict[str, float]:
    named: dict[str, float] = {}
    for label, grade in grades.items():
        if isinstance(grade, bool) or not isinstance(grade, int | float) or grade != grade:
            raise UsageError(f"grades: {label!r} is {shown(grade)}, must be a number")
        key = str(label).strip().casefold()
        if named.setdefault(key, grade) != grade:
            raise UsageError(f"grades: {label!r} is given twice, as {named[key]:g} and {grade:g}")
    return named


def grades_of(values: list[Any]) -> list[Any]:
    """Values in which the labels of `named_grades` are replaced by their grades."""
    named = _named.get()
    if not named:
        return values
    return [named.get(value.strip().casefold(), value) if isinstance(value, str) else value for value in values]


def labels_as_grades(lists: Mapping[Any, Mapping[Any, Any]]) -> dict[Any, dict[Any, Any]] | None:
    """{topic: {doc: grade}} in which labels are replaced by their grades; None if there are none."""
    named = _named.get()
    values = (value for documents in lists.values() for value in documents.values())
    if not any(isinstance(value, str) and value.strip().casefold() in named for value in values):
        return None
    return {
        topic: dict(zip(documents, grades_of(list(documents.values())), strict=True))
        for topic, documents in lists.items()
    }


def way_out_of_words(words: Iterable[str]) -> str:
    """What to do about judgments with these grades; empty if one or few are words, or if they cannot be labels.

    >>> way_out_of_words(["Exact", "Bad", "Exact", "2"])
    "; the grades are words (Bad, Exact); to give them numbers, such as these: grades={'Bad': 0, 'Exact': 1}"
    """
    counts = Counter(word.strip() for word in words)
    named = _named.get()
    labels = {word: n for word, n in counts.items() if re.search("[^\\W\\d_]", word) and not _is_number(word)}
    several = sum(labels.values()) > 1 and 2 * sum(labels.values()) >= counts.total()
    if not labels or len(labels) > MANY or not (named or several):
        return ""
    new = sorted((label for label in labels if label.casefold() not in named), key=_likely_grade)
    example = {**_spelled.get(), **{label: grade for grade, label in enumerate(new)}}
    return f"; the grades are words ({listed(example, MANY)}); to give them numbers, such as these: grades={example}"


def word_of_grade(message: str) -> bool:
    """Whether a message is about a grade that is not a number."""
    return message.startswith("the grade is '") and message.endswith("expected a number")


def _likely_grade(label: str) -> tuple[int, str]:
    """A key that sorts labels by what they probably mean: irrelevant, partial, relevant, exact."""
    word = label.casefold()
    ranks = {
        0: ("irrelevant", "not", "non", "no", "bad", "wrong", "poor", "off", "none", "useless"),
        1: ("partial", "fair", "related", "margin", "maybe", "some", "complement", "substitute", "weak"),
        3: ("exact", "perfect", "excellent", "high", "best", "vital", "key", "very", "full"),
    }
    place = next((rank for rank, words in ranks.items() if word.startswith(words)), 2)
    return place, word


def _is_number(text: str) -> bool:
    return _core.parse_number(text.encode("utf-8", "surrogateescape")) is not None


def grade_called(label: str) -> float | None:
    """The number of a grade that is written as S, A, B, C or L0, L1, ...; None for any other text.

    >>> grade_called("S"), grade_called("L2"), grade_called("D")
    (3.0, 2.0, None)
    """
    if label in LETTERS:
        return float(LETTERS[label])
    return float(label[1:]) if re.fullmatch(r"L\d{1,9}", label) else None


def are_named(buffer: Buffer) -> bool:
    """Whether grades have labels, or that of the first line is written as L0, L1, ... or as S, A, B, C.

    >>> are_named(b"0001 2 doc7 L3\\n"), are_named(b"301 0 L8 3\\n")
    (True, False)
    """
    first = first_line(buffer)
    return bool(_named.get() or _LEVEL.search(first) or _LETTER.search(first))


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
    if named := _named.get():
        labels = "|".join(sorted(map(re.escape, named), key=len, reverse=True)).encode("utf-8", "surrogateescape")
        pattern = re.compile(rb"(?mi)(?<=[ \t])(" + labels + rb")(?=[ \t\r]*$)")
        text = pattern.sub(lambda match: _written(named, match[1]), bytes(buffer))
        return text, _note.get()
    first = first_line(buffer)
    if _LEVEL.search(first):
        return _LEVEL.sub(rb"\1", bytes(buffer)), "grades L0, L1, ... are read as 0, 1, ..."
    if _LETTER.search(first):
        whole = unmarked(bytes(buffer))
        text, count = _LETTER.subn(lambda match: b"%d" % LETTERS[match[1].decode()], whole)
        if count == len(DATA_LINE.findall(whole)):
            return text, "grades S, A, B, C are read as 3, 2, 1, 0"
    return buffer, ""


def _written(named: Mapping[str, float], label: bytes) -> bytes:
    """The grade of a label in a file; a label that is not known stays."""
    grade = named.get(label.decode("utf-8", "surrogateescape").casefold())
    return label if grade is None else plain_number(grade).encode()
