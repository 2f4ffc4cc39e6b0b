"""How a name with parameters is written, and its parts:

    name [( parameter = value , ... )] [@ cutoff]

A value is a number, a word, a text in quotes, True, False, None, a table {1: 1, 2: 3} or a list [0.2, 0.5]. Nothing is
evaluated as code. Every registry reads names this way; measures add marks and views (`measures/naming/spelling.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeVar

from cranfield.errors import UsageError

NUMBER = r"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))"
MARK = r"(?P<mark>[(){}\[\],:=@])"
INSIDE_BRACKETS = re.compile(
    rf"""\s*(?:(?P<string>"[^"\\]*"|'[^'\\]*') | {NUMBER} | (?P<word>[^\W\d]\w*(?:-\w+)*) | {MARK})""", re.VERBOSE
)
OUTSIDE = re.compile(rf"\s*(?:{NUMBER} | (?P<word>[^\W\d]\w*) | {MARK})", re.VERBOSE)
OPENING, CLOSING = ("(", "{", "["), (")", "}", "]")
WHOLE_NUMBER = re.compile(r"[-+]?\d{1,18}")
CONSTANTS = {"True": True, "true": True, "False": False, "false": False, "None": None, "none": None}

T = TypeVar("T")


class Written(NamedTuple):
    """The parts of a name as they are written."""

    name: str
    parameters: dict[str, Any]
    cutoff: str | float | None
    """What follows `@`, if there is something."""


class Token(NamedTuple):
    """A number, a word, a text in quotes or a mark."""

    kind: str
    text: str
    at: int


def read_name(text: str, kind: str, *, cutoffs: bool = False) -> Written:
    """The parts of a name with parameters. `kind` is what it names, for messages.

    >>> read_name("epsilon-greedy(c=1, d=0.5)", "method")
    Written(name='epsilon-greedy', parameters={'c': 1, 'd': 0.5}, cutoff=None)
    >>> read_name("rbp(p=0.95,p=0.5)", "method")
    Traceback (most recent call last):
    cranfield.errors.UsageError: method 'rbp(p=0.95,p=0.5)': p is given twice, as 0.95 and 0.5; give it once
    """
    return NameReader(text, f"{kind} ").read(cutoffs)


class NameReader:
    """Reads a name part by part. `lead` stands before the text in messages."""

    outside: ClassVar[re.Pattern[str]] = OUTSIDE
    name: ClassVar[re.Pattern[str]] = re.compile(r"\s*([^\s()@=,{}\[\]:\"](?:[^()@=,{}\[\]:\"]*[^\s()@=,{}\[\]:\"])?)")

    def __init__(self, text: str, lead: str = "") -> None:
        self.text = text
        self.lead = lead
        self.tokens: list[Token] = []
        self.next = 0

    def read(self, cutoffs: bool) -> Written:
        """A name, then perhaps parameters, then perhaps a cutoff."""
        match = self.name.match(self.text)
        if match is None:
            raise self.expected("a name", 0)
        self.tokenize(match.end())
        parameters = self.parameters() if self.take("(") else {}
        cutoff = self.cutoff() if cutoffs and self.take("@") else None
        if self.next < len(self.tokens):
            forms = "NAME, NAME@K or NAME(parameter=value)" if cutoffs else "NAME or NAME(parameter=value)"
            raise UsageError(f"{self.lead}{self.text!r} is not written as {forms}")
        return Written(match[1], parameters, cutoff)

    def tokenize(self, at: int) -> None:
        """Split the text from this place on."""
        depth = 0  # ' opens a text inside brackets; a measure's name has it as a mark outside
        while self.text[at:].strip():
            match = (INSIDE_BRACKETS if depth else self.outside).match(self.text, at)
            if not match:
                raise self.expected("a number, a name, a string in quotes or one of ( ) { } [ ] , : = @", at)
            kind = match.lastgroup or ""
            token = Token(kind, match[kind], match.start(kind))
            depth += (token.text in OPENING) - (token.text in CLOSING)
            self.tokens.append(token)
            at = match.end()

    def expected(self, wanted: str, at: int | None = None) -> UsageError:
        """The error for something else than what is wanted here."""
        rest = self.text[self.position() if at is None else at :].strip()
        return UsageError(
            f"{self.lead}{self.text!r}: expected {wanted}, found {f'{rest[:20]!r}' if rest else 'nothing'}"
        )

    def position(self) -> int:
        """Where the next token begins."""
        return self.tokens[self.next].at if self.next < len(self.tokens) else len(self.text)

    def take(self, mark: str) -> bool:
        """Go past `mark` if it comes next."""
        if self.next < len(self.tokens) and self.tokens[self.next].text == mark:
            self.next += 1
            return True
        return False

    def need(self, mark: str) -> None:
        """Go past `mark`, which has to come next."""
        if not self.take(mark):
            raise self.expected(repr(mark))

    def token(self, kind: str, expected: str) -> str:
        """The text of the next token, which has to be of this kind."""
        if self.next >= len(self.tokens) or self.tokens[self.next].kind != kind:
            raise self.expected(expected)
        self.next += 1
        return self.tokens[self.next - 1].text

    def until(self, closing: str, read: Callable[[], T]) -> list[T]:
        """What `read` returns for every item up to the closing bracket; items are separated by commas."""
        items: list[T] = []
        while not self.take(closing):
            items.append(read())
            if not self.take(","):
                self.need(closing)
                break
        return items

    def parameters(self) -> dict[str, Any]:
        """The parameters up to the closing bracket; one that is given twice is an error."""
        parameters: dict[str, Any] = {}

        def read() -> None:
            at = self.position()
            name = self.token("word", "a parameter's name or )")
            if not self.take("="):
                raise self.expected(f"= after {name!r}", at + len(name))
            value = self.value()
            if name in parameters:
                both = f"{parameters[name]} and {value}"
                raise UsageError(f"{self.lead}{self.text!r}: {name} is given twice, as {both}; give it once")
            parameters[name] = value

        self.until(")", read)
        return parameters

    def value(self) -> Any:
        """The value of a parameter."""
        if self.take("{"):
            return self._table()
        if self.take("["):
            return tuple(self.until("]", self._plain_value))
        return self._plain_value()

    def number(self) -> float:
        """A number."""
        text = self.token("number", "a number")
        return int(text) if WHOLE_NUMBER.fullmatch(text) else float(text)

    def cutoff(self) -> str | float:
        """What follows `@`: a number, or a letter that stands for one."""
        if self.next < len(self.tokens) and self.tokens[self.next].kind == "word":
            return self.token("word", "a cutoff")
        return self.number()

    def key(self) -> Any:
        """The key of a table."""
        return self.number()

    def _plain_value(self) -> Any:
        """A value that is not a table or a list."""
        if self.next >= len(self.tokens):
            raise self.expected("a value")
        token = self.tokens[self.next]
        if token.kind == "number":
            return self.number()
        if token.kind not in ("string", "word"):
            raise self.expected("a number, a word, a string in quotes, True, False, None, {...} or [...]")
        self.next += 1
        return token.text[1:-1] if token.kind == "string" else CONSTANTS.get(token.text, token.text)

    def _table(self) -> dict[Any, Any]:
        table: dict[Any, Any] = {}

        def read() -> None:
            key = self.key()
            self.need(":")
            if key in table:
                raise UsageError(f"{self.lead}{self.text!r}: {key} is in the table twice")
            table[key] = self._plain_value()

        self.until("}", read)
        return table


def split_names(text: str) -> list[str]:
    """The names between commas, except commas between brackets.

    >>> split_names("depth, epsilon-greedy(c=1,d=0.5)")
    ['depth', 'epsilon-greedy(c=1,d=0.5)']
    """
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]
