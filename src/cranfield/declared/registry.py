"""A registry: things of one kind under their names, such as pool methods, tests or click models.

    name [( parameter = value , ... )] [@ cutoff]

A value is a number, a word, a text in quotes, True, False, None, a table {1: 1, 2: 3} or a list [0.2, 0.5]. Nothing is
evaluated as code. Every registry reads names this way; measures add marks and views (`measures/naming/spelling.py`).

A name is found whatever its case, separators and accents, and in British or American spelling: `Team Draft`,
`team_draft` and `teamdraft` are `team-draft`. Parameters stand in brackets, as in `rbp(p=0.95)`; one that is unknown or
given twice is an error. A value keeps only the parameters that differ from their defaults, in the order of their
declaration, so that equal values have one name; the name has all digits, so that reading it gives the value again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from cranfield.check import nearest
from cranfield.declared.settings import Setting, Value, changed, checked_values, full_name
from cranfield.errors import UsageError
from cranfield.text import shown

NUMBER = r"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))"
MARK = r"(?P<mark>[(){}\[\],:=@])"
INSIDE_BRACKETS = re.compile(
    rf"""\s*(?:(?P<string>"[^"\\]*"|'[^'\\]*') | {NUMBER} | (?P<word>[^\W\d]\w*(?:-\w+)*) | {MARK})""", re.VERBOSE
)
OUTSIDE = re.compile(rf"\s*(?:{NUMBER} | (?P<word>[^\W\d]\w*) | {MARK})", re.VERBOSE)
OPENING, CLOSING = ("(", "{", "["), (")", "}", "]")
WHOLE_NUMBER = re.compile(r"[-+]?\d{1,18}")
CONSTANTS = {"True": True, "true": True, "False": False, "false": False, "None": None, "none": None}

Item = TypeVar("Item")


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

    def until(self, closing: str, read: Callable[[], Item]) -> list[Item]:
        """What `read` returns for every item up to the closing bracket; items are separated by commas."""
        items: list[Item] = []
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


T = TypeVar("T", bound=Any)
"""What a registry holds: something with a `name`, and perhaps `aliases`, `parameters` and `settings`."""


class Registry(Mapping[str, T], Generic[T]):
    """Entries by name, in the order of their registration, or in a given order.

    kind: what an entry is, for messages.
    aliases: {other name: name}; an entry may have aliases of its own too.
    modules: the package whose modules register the entries; they are imported when one is needed.
    usual: the module to import first, so that the usual entries do not need all the others.
    order: the key by which entries are sorted.
    """

    def __init__(
        self,
        kind: str,
        entries: Iterable[T] = (),
        *,
        aliases: Mapping[str, str] | None = None,
        modules: str = "",
        usual: str = "",
        order: Callable[[T], Any] | None = None,
    ) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}
        self._by_spelling: dict[str, str] = {folded(alias): name for alias, name in (aliases or {}).items()}
        self._modules = modules
        self._usual = f"{modules}.{usual}" if usual else ""
        self._order = order
        for entry in entries:
            self.add(entry)

    def add(self, entry: T) -> T:
        """Register an entry under its name and its aliases."""
        self._entries[entry.name] = entry
        for spelling in (entry.name, *getattr(entry, "aliases", ())):
            self._by_spelling[folded(spelling)] = entry.name
        return entry

    def find(self, name: str) -> T:
        """The entry with this name in any spelling, or with this alias.

        >>> from cranfield.comparison.pair_tests import TESTS
        >>> TESTS.find("Paired_T").name
        't'
        >>> TESTS.find("wilcoxen")
        Traceback (most recent call last):
        cranfield.errors.UsageError: no test 'wilcoxen'; did you mean 'wilcoxon'?
        """
        if not isinstance(name, str):
            raise UsageError(f"a {self.kind} is given by its name, not by {shown(name)}")
        spelling = folded(name)
        if spelling not in self._by_spelling and self._usual:
            import_module(self._usual)
        if spelling not in self._by_spelling:
            self._import_all()
        if spelling not in self._by_spelling:
            raise nearest(name, list(self), self.kind)
        return self._entries[self._by_spelling[spelling]]

    def own_settings(self, entry: T, **given: Any) -> dict[str, Any]:
        """The settings that were given, which are not None; an error if `entry.settings` does not name one of them.

        >>> from cranfield.comparison.pair_tests import TESTS
        >>> TESTS.own_settings(TESTS.find("sign"), margin=0.05, zeros=None)
        {'margin': 0.05}
        """
        own = {name: value for name, value in given.items() if value is not None}
        for name, value in own.items():
            if name not in entry.settings:
                others = [other.name for other in self.values() if name in other.settings]
                raise UsageError(f"{name} == {value!r} is a setting of {', '.join(others)}, not of {entry.name}")
        return own

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            self._import_all()
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        self._import_all()
        if self._order is None:
            return iter(tuple(self._entries))
        return iter([entry.name for entry in sorted(self._entries.values(), key=self._order)])

    def __len__(self) -> int:
        self._import_all()
        return len(self._entries)

    def _import_all(self) -> None:
        if self._modules:
            package = import_module(self._modules)
            for module in iter_modules(package.__path__):
                import_module(f"{self._modules}.{module.name}")


@dataclass(frozen=True)
class Named:
    """An entry of a registry with its parameters; a subclass has the registry."""

    name: str
    given: tuple[tuple[str, Value], ...] = ()
    """The parameters that differ from their defaults."""

    registry: ClassVar[Registry[Any]]

    @classmethod
    def of(cls, text: str | Self, **passed: Any) -> Self:
        """The value of a text such as `rbp(p=0.95)`; parameters can also be passed beside the name."""
        if isinstance(text, cls):
            return text
        if not isinstance(text, str):
            raise UsageError(f"a {cls.registry.kind} is given by its name, not by {shown(text)}")
        written = read_name(text, cls.registry.kind)
        entry = cls.registry.find(written.name)
        declared = parameters_of(entry)
        given = given_once(entry.name, written.parameters, passed)
        return cls(entry.name, changed(checked_values(entry.name, given, declared), declared))

    @property
    def values(self) -> dict[str, Any]:
        """All parameters."""
        declared = parameters_of(self.registry[self.name])
        return {name: setting.default for name, setting in declared.items()} | dict(self.given)

    def __str__(self) -> str:
        return full_name(self.name, self.given)


def parameters_of(entry: Any) -> Mapping[str, Setting]:
    """What stands in brackets after the name of an entry."""
    parameters: Mapping[str, Setting] = getattr(entry, "parameters", {})
    return parameters


def folded(name: str) -> str:
    """A name without differences in case, separators, accents, and British or American spelling.

    >>> folded("Team_Draft") == folded("team draft"), folded("optimized") == folded("optimised"), folded("Šidák")
    (True, True, 'sidak')
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return re.sub(r"[\s_‐-―-]", "", plain).casefold().replace("ise", "ize").replace("isa", "iza")


def given_once(owner: str, written: Mapping[str, Any], passed: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters in a name together with those that were passed beside it; one in both is an error.

    >>> given_once("rrf", {"k": 20}, {"k": 60})
    Traceback (most recent call last):
    cranfield.errors.UsageError: rrf: k is given twice, as 20 and 60; give it once
    """
    for name in written:
        if name in passed:
            raise UsageError(f"{owner}: {name} is given twice, as {written[name]} and {passed[name]}; give it once")
    return {**written, **passed}


F = TypeVar("F", bound=Callable[..., Any])


def registers(registry: Registry[Any], entry: Callable[..., Any], name: str, **fields: Any) -> Callable[[F], F]:
    """A decorator that registers `entry(name, function, **fields)`."""

    def register(function: F) -> F:
        registry.add(entry(name, function, **fields))
        return function

    return register
