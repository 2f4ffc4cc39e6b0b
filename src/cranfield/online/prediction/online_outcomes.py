"""Outcomes of online comparisons of pairs of systems, and the file that holds them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Numbers, Schema, Words
from cranfield.record import Record
from cranfield.types import Array

WON = (("first", 1.0), ("win", 1.0), ("second", -1.0), ("loss", -1.0), ("tie", 0.0))
"""Outcomes in words."""
OUTCOMES = Schema(
    "first second outcome [p] [kind]",
    separators="\t,;",
    comments=True,
    first=Words(),
    second=Words(),
    outcome=Numbers(called=WON),
    p=Numbers(least=0, most=1, blank=math.nan, default=None),
    kind=Words(blank="online", default="online"),
)


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
        return "\n".join(["\t".join(OUTCOMES.columns), *lines]) + "\n"


def read_outcomes(path: PathLike) -> OnlineOutcomes:
    """Read lines of `first second outcome`, and if known `p` and `kind`, between tabs or commas.

    `outcome` is a number (above 0 if the first system won, such as a difference of means or Δ of interleaving), or
    `first`, `second`, `tie`, `win` or `loss` (of the first). `kind` says how they were compared, such as `ab` or
    `interleaving`; default: `online`.
    """
    rows = OUTCOMES.read(path)
    for row, (first, second) in enumerate(zip(rows["first"], rows["second"], strict=True)):
        if first == second:
            raise rows.fault(row, f"{first!r} is compared with itself, expected two systems")
    return OnlineOutcomes(tuple(rows["first"]), tuple(rows["second"]), rows["outcome"], rows["p"], tuple(rows["kind"]))
