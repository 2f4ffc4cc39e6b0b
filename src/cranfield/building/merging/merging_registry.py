"""The methods that merge labels, under the names that `merge` accepts.

A method is one function: from a `Problem` to a `Fit`. A module in `merging/models/` defines it and registers it with
`@merging_method(...)`. `merge`, the command line and docs/building.md find it here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from cranfield.building.merging.label_problem import Fit, Problem
from cranfield.declared.registry import Registry, registers
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


ORDER = ("majority", "weighted", "dawid-skene", "one-coin", "glad", "mace", "bmv", "ordinal", "gp")
"""The order of methods in lists, the simplest first; others follow by name."""

MERGING_METHODS: Registry[MergingMethod] = Registry(
    "method",
    modules="cranfield.building.merging.models",
    order=lambda method: (ORDER.index(method.name) if method.name in ORDER else len(ORDER), method.name),
)


def merging_method(name: str, **fields: Any) -> Callable[[F], F]:
    """Register a method; `fields` are the other fields of `MergingMethod`."""
    return registers(MERGING_METHODS, MergingMethod, name, **fields)
