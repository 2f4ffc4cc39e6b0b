"""The command 1click of NTCIREVAL: S-measure and its kin from nuggets and where they were found in an output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from cranfield.compat.ntcireval_files import fields, gain_of, too_few
from cranfield.errors import DataError, UsageError

if TYPE_CHECKING:
    from cranfield.compat.ntcireval import Call


class Nugget(NamedTuple):
    """The weight of a nugget, and the length of its vital string."""

    weight: float
    length: float


def one_click(call: Call) -> Iterator[str]:
    """Recall, S-measure, T-measure and F of one output; the first line of its file is `syslen= LENGTH`."""
    limit, beta = call.number("-L", 0.0), call.number("-beta", 1.0)
    if limit < 1:
        raise UsageError(f"-L {call.values['-L']}: must be 1 or more")
    nuggets = _read_nuggets(call.values["-N"], call.separator)
    length, found = _read_matches(call.the_list(), call.separator, nuggets)
    ideal = end = 0.0
    for nugget in sorted(nuggets.values(), key=lambda nugget: (-nugget.weight, nugget.length)):
        end += nugget.length
        ideal += nugget.weight * max(0.0, limit - end)
    if not ideal:
        raise UsageError(f"-L {call.values['-L']}: no nugget fits into so few characters, so S-measure is undefined")
    gained = sum(nuggets[name].weight * max(0.0, limit - offset) for name, offset in found)
    vital = sum(nuggets[name].length for name, _ in found)
    s, t = gained / ideal, vital / length if length else 0.0
    s_flat, t_flat = min(1.0, s), min(1.0, t)
    below = beta * beta * t_flat + s_flat
    weight = sum(nugget.weight for nugget in nuggets.values())
    yield f"{call.out} #nuggets= {len(nuggets)} #matched= {len(found)} #syslen= {length:.0f}"
    for name, value in {
        "Recall": len(found) / len(nuggets),
        "W-recall": sum(nuggets[name].weight for name, _ in found) / weight,
        "S-measure": s,
        "S-flat": s_flat,
        "T-measure": t,
        "T-flat": t_flat,
        "F-flat": (1 + beta * beta) * t_flat * s_flat / below if below else 0.0,
    }.items():
        yield f"{call.out} {name + '=':<21}{value:.3f}"


def _read_nuggets(path: str, separator: str) -> dict[str, Nugget]:
    nuggets: dict[str, Nugget] = {}
    for number, cells in fields(path, separator):
        if len(cells) < 3:
            raise too_few(path, number, cells, 3, "nugget weight length")
        nugget = Nugget(gain_of(path, number, cells[1], "weight"), gain_of(path, number, cells[2], "length"))
        if not (nugget.weight and nugget.length):
            raise DataError(path, number, "a weight or a length is 0, must be above 0")
        if cells[0] in nuggets:
            raise DataError(path, number, f"nugget {cells[0]!r} appears twice")
        nuggets[cells[0]] = nugget
    if not nuggets:
        raise DataError(path, None, "is empty, expected lines of nugget weight length")
    return nuggets


def _read_matches(path: str, separator: str, nuggets: dict[str, Nugget]) -> tuple[float, list[tuple[str, float]]]:
    """The length of the output, and the nuggets in it with their offsets; an empty file is an empty output."""
    length, found = 0.0, []
    for place, (number, cells) in enumerate(fields(path, separator)):
        if len(cells) < 2:
            raise too_few(path, number, cells, 2, "nugget offset, after a line syslen= LENGTH")
        value = gain_of(path, number, cells[1], "offset" if place else "length")
        if place == 0:
            length = value
        elif cells[0] in nuggets:
            found.append((cells[0], value))
        else:
            raise DataError(path, number, f"nugget {cells[0]!r} is not in the file of nuggets")
    return length, found
