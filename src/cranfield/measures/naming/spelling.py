"""How a measure is written, taken apart:

    name [( parameter = value , ... )] [@ cutoff] [[ view , ... ]]

A value is a number, a string in quotes, True, False, None, a table {1: 1, 2: 3} or a list [0.2, 0.5]; the grades of a
table may be written as NTCIR does, {S: 3, A: 2, B: 1}. Nothing is evaluated. A mark ('), -IA and # are written behind
the name, and views at the end, but both are read wherever they stand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

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
TOKEN = re.compile(rf"""\s*(?:(?P<string>"[^"\\]*"|'[^'\\]*') | {_COMMON})""", re.VERBOSE)
OUTSIDE = re.compile(rf"\s*(?:(?P<prime>['’′]) | (?P<suffix>[-_]IA(?!\w)[\#♯]?|[\#♯]) | {_COMMON})", re.VERBOSE)
OPENING, CLOSING = ("(", "{", "["), (")", "}", "]")
NAME = re.compile(r"\s*([^\s'’′()@\[\]{},:=\"]+)")
MODULE = re.compile(r"\s*([^\W\d][\w.]*):([^\W\d]\w*)")
WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "none": None}
_WRITTEN = 'a measure is written name(parameter=value)@cutoff[view], such as nDCG(gain="exp")@10[ties]'
HOW = {
    "(": 'all parameters stand in one pair of brackets before the cutoff, such as AP(rel=2,norm="min")@10',
    "-": "by intent is written [IA] here",
    "_": "by intent is written [IA] here",
    "@": _WRITTEN,
}
"""How something is written that stands where it does not belong, by its first letter."""


@dataclass(frozen=True)
class Written:
    """The parts of what was written: views in the order in which they stand there."""

    name: str
    module: str | None = None
    given: dict[str, Any] | None = None
    cutoff: float | None = None
    views: tuple[View, ...] = ()


def split_name(text: str) -> Written:
    """The parts of a measure's name.

    >>> split_name("AP(rel=2)'@5")
    Written(name='AP', module=None, given={'rel': 2}, cutoff=5, views=(Condensed(),))
    """
    return _Reader(text).written()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[_Token] = []
        self.next = 0

    def written(self) -> Written:
        module = MODULE.match(self.text)
        found = module or NAME.match(self.text)
        if not found:
            raise self.wrong("a measure's name", 0)
        self._tokenize(found.end())
        made = Written(found.group(1), module=found.group(1) if module else None)
        if module:
            made = replace(made, name=module.group(2))
        while self.next < len(self.tokens):
            made = self._part(made)
        return made

    def _part(self, made: Written) -> Written:
        """With what is written next: a mark or a view wherever it stands, parameters before the cutoff."""
        token = self.tokens[self.next]
        if token.kind == "prime":
            self.next += 1
            return replace(made, views=(*made.views, Condensed()))
        if token.kind == "suffix" and made.module is None:
            self.next += 1
            return replace(made, name=made.name + token.text)
        if token.text == "(" and made.given is None and made.cutoff is None:
            return replace(made, given=self._parameters())
        if token.text == "@" and made.cutoff is None:
            self.next += 1
            return replace(made, cutoff=self._number())
        if token.text == "[":
            return replace(made, views=(*made.views, *self._views()))
        ways = HOW.get(token.text[0], HOW["@"])
        raise UsageError(f"{self.wrong('the end', token.at)}; {ways}")

    def _tokenize(self, at: int) -> None:
        depth = 0  # within brackets ' opens a string, elsewhere it is a mark
        while self.text[at:].strip():
            found = (TOKEN if depth else OUTSIDE).match(self.text, at)
            if not found:
                raise self.wrong("a number, a name, a string in quotes or one of ( ) { } [ ] , : = @", at)
            kind = found.lastgroup or ""
            token = _Token(kind, found.group(kind), found.start(kind))
            depth += (token.text in OPENING) - (token.text in CLOSING)
            self.tokens.append(token)
            at = found.end()

    def wrong(self, expected: str, at: int) -> UsageError:
        here = self.text[at:].strip()
        return UsageError(f"{self.text!r}: expected {expected}, found {f'{here[:20]!r}' if here else 'nothing'}")

    def take(self, mark: str) -> bool:
        if self.next < len(self.tokens) and self.tokens[self.next].text == mark:
            self.next += 1
            return True
        return False

    def need(self, mark: str) -> None:
        if not self.take(mark):
            raise self.wrong(repr(mark), self._at())

    def _at(self) -> int:
        return self.tokens[self.next].at if self.next < len(self.tokens) else len(self.text)

    def token(self, kind: str, expected: str) -> str:
        if self.next >= len(self.tokens) or self.tokens[self.next].kind != kind:
            raise self.wrong(expected, self._at())
        self.next += 1
        return self.tokens[self.next - 1].text

    def _parameters(self) -> dict[str, Any]:
        given: dict[str, Any] = {}
        self.need("(")
        while not self.take(")"):
            at = self._at()
            name = self.token("word", "a parameter's name or )")
            if name in given:
                raise UsageError(f"{self.text!r}: {name} is given twice")
            if not self.take("="):
                raise self.wrong(f"= after {name!r}", at + len(name))
            given[name] = self.value(nested=True)
            if not self.take(","):
                self.need(")")
                break
        return given

    def value(self, *, nested: bool) -> Any:
        if nested and self.take("{"):
            return self._table()
        if nested and self.take("["):
            return self._list()
        if self.next >= len(self.tokens):
            raise self.wrong("a value", len(self.text))
        token = self.tokens[self.next]
        if token.kind == "number":
            return self._number()
        if token.kind == "string":
            self.next += 1
            return token.text[1:-1]
        if token.kind == "word" and token.text in WORDS:
            self.next += 1
            return WORDS[token.text]
        raise self.wrong("a number, a string in quotes, True, False, None, {...} or [...]", token.at)

    def _number(self) -> float:
        text = self.token("number", "a number")
        return int(text) if re.fullmatch(r"[-+]?\d{1,18}", text) else float(text)

    def _table(self) -> dict[Any, Any]:
        table: dict[Any, Any] = {}
        while not self.take("}"):
            key = self._key()
            self.need(":")
            if key in table:
                raise UsageError(f"{self.text!r}: grade {key} is in the table twice")
            if key == "else" and self.take("linear"):
                table[key] = "linear"
            else:
                table[key] = self.value(nested=False)
            if not self.take(","):
                self.need("}")
                break
        return table

    def _key(self) -> Any:
        """A grade, as a number or as NTCIR calls it, or `else`."""
        if self.take("else") or self.take('"else"') or self.take("'else'"):
            return "else"
        label = self.tokens[self.next].text.strip("\"'") if self.next < len(self.tokens) else ""
        if (grade := grade_called(label)) is not None:
            self.next += 1
            return int(grade)
        return self._number()

    def _list(self) -> tuple[Any, ...]:
        values = []
        while not self.take("]"):
            values.append(self.value(nested=False))
            if not self.take(","):
                self.need("]")
                break
        return tuple(values)

    def _views(self) -> list[View]:
        views: list[View] = []
        self.need("[")
        while not self.take("]"):
            name = self.token("word", "a view: condensed, best, worst, ties, ties=best or ties=worst")
            reading = f"={self.token('word', 'best or worst')}" if self.take("=") else ""
            views.append(ByIntent() if name + reading == "IA" else parse_view(name + reading))
            if not self.take(","):
                self.need("]")
                break
        return views
