"""Names of a package that are imported on first use, so that importing the package stays fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from cranfield import _fork


class Package(ModuleType):
    """A package whose functions keep their names, although modules in it have the same names."""

    _HOMES: Mapping[str, str]

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in self._HOMES):  # the import system sets imported modules
            super().__setattr__(name, value)


class Placed(str):
    """A name with its place in a list; `dir` sorts what it returns, and these names by their places."""

    __slots__ = ("place",)
    place: int

    def __lt__(self, other: str) -> bool:
        return self.place < other.place if isinstance(other, Placed) else str.__lt__(self, other)


def in_order(names: Iterable[str]) -> list[str]:
    """Names that `dir` shows in this order.

    >>> sorted(in_order(["b", "a"]))
    ['b', 'a']
    """
    placed = [Placed(name) for name in names]
    for place, name in enumerate(placed):
        name.place = place
    return list(placed)


def names_of(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are imported on first use.

    homes: where each name is, as `module:name` below `cranfield`, in the order in which `dir` should be read.

    >>> from cranfield.operations import labels
    >>> labels.merge.__module__
    'cranfield.building.merging.merge_labels'
    """
    module = sys.modules[package]
    module.__dict__["_HOMES"] = homes
    module.__class__ = Package

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(missing(package, name, homes))
        module.__dict__[name] = value = imported(homes[name])
        return value

    return get, lambda: in_order(homes)


def imported(home: str) -> Any:
    """What `module:name` stands for, or `module`."""
    path, _, name = home.partition(":")
    with _fork.IMPORTING:
        module = import_module(f"cranfield.{path}")
        return getattr(module, name) if name else module


def missing(package: str, name: str, known: Mapping[str, str]) -> str:
    """The message for a name that a package does not have."""
    if name.startswith("_"):
        return f"{package} has no {name!r}"
    from cranfield.check import nearest

    return f"{package}: {nearest(name, list(known), 'name')}"
