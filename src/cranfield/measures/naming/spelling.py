"""How a measure's name is written, and its parts:

    name [( parameter = value , ... )] [@ cutoff] [[ view , ... ]]

A value is a number, a string in quotes, True, False, None, a table {1: 1, 2: 3} or a list [0.2, 0.5]; the grades of a
table can be written as at NTCIR, {S: 3, A: 2, B: 1}. Nothing is evaluated as code. The marks ', -IA and # are printed
after the name and views at the end, but they are accepted anywhere after the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from cranfield.collection.grade_labels import grade_called
from cranfield.errors import UsageError
from cranfield.views.by_intent import ByIntent
from cranfield.views.condensed import Condensed
from cranfield.views.parse_view import parse_view
from cranfield.views.view import View

_COMMON = r"""
      (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    | (?P<word>[^\W\d]\w*)
    | (?P<mark>[(){}\[\],:=@])
"""
INSIDE_BRACKETS = re.compile(rf"""\s*(?:(?P<string>"[^"\\]*"|'[^'\\]*') | {_COMMON})""", re.VERBOSE)
OUTSIDE = re.compile(rf"\s*(?:(?P<prime>['’′]) | (?P<suffix>[-_]IA(?!\w)[\#♯]?|[\#♯]) | {_COMMON})", re.VERBOSE)
OPENING, CLOSING = ("(", "{", "["), (")", "}", "]")
NAME = re.compile(r"\s*([^\s'’′()@\[\]{},:=\"]+)")
MODULE = re.compile(r"\s*([^\W\d][\w.]*):([^\W\d]\w*)")
WHOLE_NUMBER = re.compile(r"[-+]?\d{1,18}")
CONSTANTS = {"True": True, "true": True, "False": False, "false": False, "None": None, "none": None}
HINTS = {
    "(": 'all parameters go in one pair of brackets before the cutoff, such as AP(rel=2,norm="min")@10',
    "-": "here, by intent is written [IA]",
    "_": "here, by intent is written [IA]",
}
"""How to write what cannot be written here, by its first character."""
HINT = 'a measure is written name(parameter=value)@cutoff[view], such as nDCG(gain="exp")@10[ties]'

T = TypeVar("T")


@dataclass(frozen=True)
class NameParts:
    """The parts of a measure's name; views are in the order in which they are written."""

    name: str
    module: str | None = None
    parameters: dict[str, Any] | None = None
    cutoff: float | None = None
    views: tuple[View, ...] = ()


def split_name(text: str) -> NameParts:
    """The parts of a measure's name.

    >>> split_name("AP(rel=2)'@5")
    NameParts(name='AP', module=None, parameters={'rel': 2}, cutoff=5, views=(Condensed(),))
    """
    return _Reader(text).read()


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[_Token] = []
        self.next = 0

    def read(self) -> NameParts:
        """Marks and views can follow anywhere; parameters only before the cutoff."""
        module = MODULE.match(self.text)
        match = module or NAME.match(self.text)
        if not match:
            raise self.expected("a measure's name", 0)
        name = match[2] if module else match[1]
        parameters: dict[str, Any] | None = None
        cutoff: float | None = None
        views: list[View] = []
        self._tokenize(match.end())
        while self.next < len(self.tokens):
            token = self.tokens[self.next]
            self.next += 1
            if token.kind == "prime":
                views.append(Condensed())
            elif token.kind == "suffix" and not module:
                name += token.text
            elif token.text == "(" and parameters is None and cutoff is None:
                parameters = self._parameters()
            elif token.text == "@" and cutoff is None:
                cutoff = self._number()
            elif token.text == "[":
                views += self._until("]", self._view)
            else:
                raise UsageError(f"{self.expected('the end', token.at)}; {HINTS.get(token.text[0], HINT)}")
        return NameParts(name, match[1] if module else None, parameters, cutoff, tuple(views))

    def _tokenize(self, at: int) -> None:
        depth = 0  # ' opens a string inside brackets; outside it is a mark
        while self.text[at:].strip():
            match = (INSIDE_BRACKETS if depth else OUTSIDE).match(self.text, at)
            if not match:
                raise self.expected("a number, a name, a string in quotes or one of ( ) { } [ ] , : = @", at)
            kind = match.lastgroup or ""
            token = _Token(kind, match[kind], match.start(kind))
            depth += (token.text in OPENING) - (token.text in CLOSING)
            self.tokens.append(token)
            at = match.end()

    def expected(self, wanted: str, at: int | None = None) -> UsageError:
        rest = self.text[self._position() if at is None else at :].strip()
        return UsageError(f"{self.text!r}: expected {wanted}, found {f'{rest[:20]!r}' if rest else 'nothing'}")

    def _position(self) -> int:
        return self.tokens[self.next].at if self.next < len(self.tokens) else len(self.text)

    def take(self, mark: str) -> bool:
        """Go past `mark` if it comes next."""
        if self.next < len(self.tokens) and self.tokens[self.next].text == mark:
            self.next += 1
            return True
        return False

    def need(self, mark: str) -> None:
        if not self.take(mark):
            raise self.expected(repr(mark))

    def token(self, kind: str, expected: str) -> str:
        if self.next >= len(self.tokens) or self.tokens[self.next].kind != kind:
            raise self.expected(expected)
        self.next += 1
        return self.tokens[self.next - 1].text

    def _until(self, closing: str, read: Callable[[], T]) -> list[T]:
        """What `read` returns for every item up to the closing bracket; items are separated by commas."""
        items: list[T] = []
        while not self.take(closing):
            items.append(read())
            if not self.take(","):
                self.need(closing)
                break
        return items

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {}

        def read() -> None:
            at = self._position()
            name = self.token("word", "a parameter's name or )")
            if name in parameters:
                raise UsageError(f"{self.text!r}: {name} is given twice")
            if not self.take("="):
                raise self.expected(f"= after {name!r}", at + len(name))
            parameters[name] = self._value()

        self._until(")", read)
        return parameters

    def _value(self) -> Any:
        if self.take("{"):
            return self._table()
        if self.take("["):
            return tuple(self._until("]", self._plain_value))
        return self._plain_value()

    def _plain_value(self) -> Any:
        """A value that is not a table or a list."""
        if self.next >= len(self.tokens):
            raise self.expected("a value")
        token = self.tokens[self.next]
        if token.kind == "number":
            return self._number()
        if token.kind != "string" and not (token.kind == "word" and token.text in CONSTANTS):
            raise self.expected("a number, a string in quotes, True, False, None, {...} or [...]")
        self.next += 1
        return token.text[1:-1] if token.kind == "string" else CONSTANTS[token.text]

    def _number(self) -> float:
        text = self.token("number", "a number")
        return int(text) if WHOLE_NUMBER.fullmatch(text) else float(text)

    def _table(self) -> dict[Any, Any]:
        table: dict[Any, Any] = {}

        def read() -> None:
            key = self._key()
            self.need(":")
            if key in table:
                raise UsageError(f"{self.text!r}: grade {key} is in the table twice")
            table[key] = "linear" if key == "else" and self.take("linear") else self._plain_value()

        self._until("}", read)
        return table

    def _key(self) -> Any:
        """A grade, as a number or as NTCIR writes it, or `else`."""
        label = self.tokens[self.next].text.strip("\"'") if self.next < len(self.tokens) else ""
        grade = grade_called(label)
        if label != "else" and grade is None:
            return self._number()
        self.next += 1
        return "else" if grade is None else int(grade)

    def _view(self) -> View:
        name = self.token("word", "a view: condensed, best, worst, ties, ties=best or ties=worst")
        if self.take("="):
            name += f"={self.token('word', 'best or worst')}"
        return ByIntent() if name == "IA" else parse_view(name)
