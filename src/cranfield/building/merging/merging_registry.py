"""The methods that merge labels, under the names that `merge` accepts.

A method is one function: from a `Problem` to a `Fit`. A module in `merging/models/` defines it and registers it with
`@merging_method(...)`. `merge`, the command line and docs/building.md find it here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from cranfield.building.merging.label_problem import Fit, Problem
from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.text import one_line

Fitter = Callable[[Problem], Fit]
F = TypeVar("F", bound=Fitter)


@dataclass(frozen=True)
class MergingMethod:
    """A method that `merge` knows."""

    name: str
    fit: Fitter
    source: str
    """The paper."""
    aliases: tuple[str, ...] = ()
    ordered: bool = False
    """The method needs labels that have an order."""
    settings: tuple[str, ...] = ()
    """The fields of `MergeSettings` that the method has in addition to `ties` and `seed`."""

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return one_line((self.fit.__doc__ or "").partition("\n\n")[0])

    @property
    def iterative(self) -> bool:
        """Does the method take steps until it converges?"""
        return "steps" in self.settings


METHODS: dict[str, MergingMethod] = {}


def merging_method(name: str, **fields: Any) -> Callable[[F], F]:
    """Register a method; `fields` are the other fields of `MergingMethod`."""

    def register(fit: F) -> F:
        METHODS[name] = MergingMethod(name, fit, **fields)
        return fit

    return register


ORDER = ("majority", "weighted", "dawid-skene", "one-coin", "glad", "mace", "bmv", "ordinal", "gp")
"""The order of methods in lists, the simplest first; others follow by name."""


def known_merging_methods() -> dict[str, MergingMethod]:
    """All methods by name: those of every module in `merging/models/`."""
    from cranfield.building.merging import models

    for module in iter_modules(models.__path__):
        import_module(f"{models.__name__}.{module.name}")
    names = sorted(METHODS, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    return {name: METHODS[name] for name in names}


def find_merging_method(name: str) -> MergingMethod:
    """A method by its name or an alias; the error message suggests the nearest name.

    >>> find_merging_method("Dawid_Skene").name
    'dawid-skene'
    """
    methods = known_merging_methods()
    plain = str(name).casefold().replace("_", "-").replace(" ", "-").replace("–", "-")
    for method in methods.values():
        if plain in (method.name, *method.aliases):
            return method
    raise nearest(str(name), list(methods), "method")


def own_merge_settings(method: MergingMethod, **given: Any) -> dict[str, Any]:
    """The settings that were given, which are not None; an error if the method has no such setting.

    >>> own_merge_settings(find_merging_method("mace"), inference="em", window=None)
    {'inference': 'em'}
    """
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        if name not in method.settings:
            others = [other.name for other in known_merging_methods().values() if name in other.settings]
            raise UsageError(f"{name} == {value!r} is a setting of {', '.join(others)}, not of {method.name}")
    return given
