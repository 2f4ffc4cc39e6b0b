"""A registry: things of one kind under their names, such as pool methods, tests or click models.

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
from typing import Any, ClassVar, Generic, Self, TypeVar

from cranfield.check import nearest
from cranfield.declared.name_reader import read_name
from cranfield.declared.settings import Setting, Value, changed, checked_values, full_name
from cranfield.errors import UsageError
from cranfield.text import shown

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
