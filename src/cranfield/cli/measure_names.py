"""Measures as `-m` names them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.measures import Measure


def chosen(texts: Iterable[str] | None) -> list[Measure]:
    """The measures that `-m` names, each once; the default ones if it was not given.

    The texts are words of the command line: a person wrote them, so `module:name` imports the module.
    """
    from cranfield.measures import DEFAULT, parse_many

    if not texts:
        return list(DEFAULT)
    measures: list[Measure] = []
    for name in measure_names(texts):
        for measure in parse_many(name, modules=True):
            if measure not in measures:
                measures.append(measure)
    return measures


def imported(name: str) -> str:
    """A name of the command line for a function that takes names: `module:name` is imported, and named as it prints."""
    return str(chosen([name])[0]) if ":" in name else name


def score_names(texts: Iterable[str] | None) -> list[str]:
    """The names that `-m` gives, as a file of scores has them: as measures print, others unchanged."""
    names = []
    for name in measure_names(texts) if texts else []:
        try:
            names.append(str(chosen([name])[0]))
        except UsageError:
            names.append(name)
    return names


def measure_names(texts: Iterable[str]) -> list[str]:
    """The names in the values of `-m`; none is an error."""
    from cranfield.measures.naming.name_lists import names_in

    names = names_in(texts)
    if not names:
        raise UsageError("-m names no measure; give one such as nDCG@10")
    return names
