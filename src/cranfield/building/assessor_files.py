"""Read a file about assessors: the group of each, such as experts or crowd, and the cost of a label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cranfield.collection.column_names import column_key
from cranfield.collection.side_files import read_side_file
from cranfield.collection.source import PathLike
from cranfield.errors import DataError, UsageError


class Assessor(NamedTuple):
    """What is known about an assessor."""

    group: str
    cost: float | None = None
    """The cost of one label; None if it is unknown."""


Assessors = Mapping[str, Assessor | tuple[str, float] | str] | PathLike
"""{worker: group}, {worker: (group, cost of a label)}, or a file with lines of worker, group and perhaps cost."""


def assessors_of(thing: Assessors) -> dict[str, Assessor]:
    """Groups and costs of assessors, from a dict or a file.

    >>> assessors_of({"anna": "experts", "ben": ("crowd", 0.1)})
    {'anna': Assessor(group='experts', cost=None), 'ben': Assessor(group='crowd', cost=0.1)}
    """
    if not isinstance(thing, Mapping):
        return read_assessors(thing)
    known = {
        str(name): Assessor(entry) if isinstance(entry, str) else Assessor(*entry) for name, entry in thing.items()
    }
    for name, assessor in known.items():
        if assessor.cost is not None and not 0 <= assessor.cost < float("inf"):
            raise UsageError(f"assessors: {name} costs {assessor.cost!r} a label, must be a number, 0 or more")
    return known


def read_assessors(path: PathLike) -> dict[str, Assessor]:
    """Read lines of worker, group and perhaps the cost of a label, with or without a header."""
    expected = "worker group, or worker group cost"
    table = read_side_file(path, expected, (2, 3), filled=2, header=lambda cells: column_key(cells[1]) == "group")
    assessors: dict[str, Assessor] = {}
    for line, (name, group, *rest) in table:
        assessor = Assessor(group, _cost(rest[0]) if rest and rest[0] else None)
        if assessor.cost is not None and assessor.cost < 0:
            raise DataError(table.origin, line, f"cost {rest[0]!r} of a label by {name}, expected a number, 0 or more")
        if assessors.setdefault(name, assessor) != assessor:
            raise DataError(table.origin, line, f"{name} appears twice, in group {assessors[name].group} and {group}")
    if not assessors:
        raise DataError(table.origin, table.header_line, f"holds only a header, expected lines of {expected}")
    return assessors


def _cost(cell: str) -> float:
    """The number in a cell; -1 if it is not one, so that the caller reports it with its line."""
    try:
        cost = float(cell)
    except ValueError:
        return -1.0
    return cost if 0 <= cost < float("inf") else -1.0
