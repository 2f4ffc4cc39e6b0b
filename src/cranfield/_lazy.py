"""Names of a package that are imported on first use, so that importing the package stays fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
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

    return get, lambda: list(homes)


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
