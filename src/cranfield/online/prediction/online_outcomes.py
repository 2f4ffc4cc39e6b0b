"""Outcomes of online comparisons of pairs of systems, and the file that holds them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.side_files import read_side_file
from cranfield.collection.source import PathLike
from cranfield.errors import DataError
from cranfield.record import Record
from cranfield.types import Array

WORDS = {"first": 1.0, "win": 1.0, "second": -1.0, "loss": -1.0, "tie": 0.0}
"""Outcomes in words."""
EXPECTED = "first second outcome p kind"


@dataclass(frozen=True, eq=False, repr=False)
class OnlineOutcomes(Record):
    """A row per online comparison of two systems."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    effect: Array
    """Above 0 if the first system won, below 0 if the second did, 0 for a tie."""
    p: Array
    """The p-value of the comparison; NaN if it is not known."""
    kind: tuple[str, ...]
    """How they were compared, such as `ab` or `interleaving`."""
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, outcome, p, kind."""
        return {
            "first": np.array(self.first, dtype=object),
            "second": np.array(self.second, dtype=object),
            "outcome": self.effect,
            "p": self.p,
            "kind": np.array(self.kind, dtype=object),
        }

    def __len__(self) -> int:
        return len(self.first)

    def text(self) -> str:
        """The content of a file that `read_outcomes` reads."""
        rows = zip(self.first, self.second, self.effect.tolist(), self.p.tolist(), self.kind, strict=True)
        lines = [f"{a}\t{b}\t{effect!r}\t{'' if math.isnan(p) else repr(p)}\t{kind}" for a, b, effect, p, kind in rows]
        return "\n".join(["\t".join(EXPECTED.split()), *lines]) + "\n"


def read_outcomes(path: PathLike) -> OnlineOutcomes:
    """Read lines of `first second outcome`, and if known `p` and `kind`, between tabs or commas.

    `outcome` is a number (above 0 if the first system won, such as a difference of means or Δ of interleaving), or
    `first`, `second`, `tie`, `win` or `loss` (of the first). `kind` says how they were compared, such as `ab` or
    `interleaving`; default: `online`.
    """
    table = read_side_file(
        path,
        EXPECTED,
        [3, 4, 5],
        separators="\t,;",
        filled=3,
        header=lambda cells: cells[2].strip().lower() == "outcome",
    )
    rows: list[tuple[str, str, float, float, str]] = []
    for line, cells in table:
        first, second, outcome, p, kind = (*cells, *[""] * (5 - len(cells)))
        if first == second:
            raise DataError(table.origin, line, f"{first!r} is compared with itself, expected two systems")
        effect = WORDS.get(outcome.lower(), _number(outcome))
        if effect is None:
            words = ", ".join(WORDS)
            raise DataError(table.origin, line, f"outcome {outcome!r}, expected a number or one of {words}")
        chance = math.nan if p == "" else _number(p)
        if chance is None or not (math.isnan(chance) or 0 <= chance <= 1):
            raise DataError(table.origin, line, f"p {p!r}, expected a number between 0 and 1, or nothing")
        rows.append((first, second, effect, chance, kind or "online"))
    if not rows:
        raise DataError(table.origin, table.header_line, f"a header and no outcomes, expected lines of {EXPECTED}")
    firsts, seconds, effects, chances, kinds = zip(*rows, strict=True)
    return OnlineOutcomes(firsts, seconds, np.array(effects), np.array(chances), kinds)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
