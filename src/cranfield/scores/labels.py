"""Where a measure, run or topic stands in scores: by its label, and a measure by any spelling of its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.scores.score_files import label


def positions(wanted: Any, names: Sequence[str], kind: str) -> list[int]:
    """Where the wanted ones stand: one or several, by name or as measures; None is all.

    >>> positions(["recall_5", "AP"], ["AP", "R@5"], "measure")
    [1, 0]
    """
    if wanted is None:
        return list(range(len(names)))
    several = isinstance(wanted, Iterable) and not isinstance(wanted, (str, type))
    place = {name: i for i, name in enumerate(names)}
    found = []
    for one in wanted if several else [wanted]:
        name = label(one)
        at = place[name] if name in place else same_measure(name, names) if kind == "measure" else None
        if at is None:
            raise nearest(name, names, kind)
        found.append(at)
    return found


def same_measure(name: str, names: Sequence[str]) -> int | None:
    """Where the measure stands that is also called `name`: an alias, or with its defaults written out.

    >>> same_measure("StRecall@5", ["AP", "I-rec@5"]), same_measure("StRecall@6", ["AP", "I-rec@5"])
    (1, None)
    """
    canonical = _canonical(name)
    if canonical is None:
        return None
    found = [i for i, one in enumerate(names) if one == canonical or _canonical(one) == canonical]
    if len(found) > 1:
        raise UsageError(f"{name!r} may be {' or '.join(repr(names[i]) for i in found)}; write the label as it is")
    return found[0] if found else None


def _canonical(name: str) -> str | None:
    """As the measure spells itself; None for what is no measure's name. `module:name` imports nothing here."""
    from cranfield.measures.naming.parse import parse

    try:
        return str(parse(name, modules=False))
    except UsageError:
        return None
