"""Labels of measures, runs and topics, and where they are in scores; a measure is found by any spelling of its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from cranfield.check import nearest
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.measures.base import Measure

    MeasureLike: TypeAlias = str | Measure | type[Measure]


def label(measure: MeasureLike) -> str:
    """The label of a measure in scores; a class means its default instance."""
    return str(measure() if isinstance(measure, type) else measure)


def repeated(names: Sequence[str]) -> int | None:
    """The position of the first name that appeared before; None if all differ."""
    seen: set[str] = set()
    for position, name in enumerate(names):
        if name in seen:
            return position
        seen.add(name)
    return None


def positions(wanted: Any, names: Sequence[str], kind: str) -> list[int]:
    """The positions of one or several wanted names or measures; all positions if `wanted` is None.

    >>> positions(["recall_5", "AP"], ["AP", "R@5"], "measure"), positions("R@5,AP", ["AP", "R@5"], "measure")
    ([1, 0], [1, 0])
    """
    if wanted is None:
        return list(range(len(names)))
    several = isinstance(wanted, Iterable) and not isinstance(wanted, (str, type))
    position_of = {name: position for position, name in enumerate(names)}
    if kind == "measure" and isinstance(wanted, str) and "," in wanted and wanted not in position_of:
        from cranfield.measures.naming.parse import names_in

        several, wanted = True, names_in([wanted])
    places = []
    for name in map(label, wanted if several else [wanted]):
        position = position_of.get(name)
        if position is None and kind == "measure":
            position = same_measure(name, names)
        if position is None:
            raise nearest(name, names, kind)
        places.append(position)
    return places


def same_measure(name: str, names: Sequence[str]) -> int | None:
    """The position of the measure that is also called `name`: an alias, or a name with its defaults written out.

    >>> same_measure("StRecall@5", ["AP", "I-rec@5"]), same_measure("StRecall@6", ["AP", "I-rec@5"])
    (1, None)
    """
    canonical = _canonical(name)
    if canonical is None:
        return None
    same = [i for i, other in enumerate(names) if other == canonical or _canonical(other) == canonical]
    if len(same) > 1:
        labels = " or ".join(repr(names[i]) for i in same)
        raise UsageError(f"{name!r} may be {labels}; write the label as it is")
    return same[0] if same else None


def _canonical(name: str) -> str | None:
    """The measure's own spelling of its name; None if this is not a measure. `module:name` imports nothing here."""
    from cranfield.measures.naming.parse import parse

    try:
        return str(parse(name))
    except UsageError:
        return None
