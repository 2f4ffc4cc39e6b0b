"""A measure whose parameters were estimated from a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.measures.base import Measure
from cranfield.online.moments import Moments
from cranfield.record import Record, columns_of, table_of
from cranfield.table import Table
from cranfield.types import Array

DIGITS = 4
"""Significant digits of estimates in the name of a measure."""


@dataclass(frozen=True)
class Estimated:
    """A parameter of a measure, estimated from a log."""

    parameter: str
    of: str
    """What it belongs to: `grade 2`, `rank 3`, `1 to 2`; empty if there is only one."""
    value: float
    low: float
    high: float
    n: int
    """How many observations it is based on."""


@dataclass(frozen=True, eq=False, repr=False)
class Calibrated(Record):
    """A calibrated measure: its parameters with intervals, and the whole measure to score runs with."""

    facts = ("name", "level")

    measure: Measure
    parameters: tuple[Estimated, ...]
    level: float
    notes: tuple[str, ...]
    moves: Array | None = None
    """For Markov Precision: counts of moves from rank (row) to rank (column)."""

    @property
    def name(self) -> str:
        """The full name of the measure, which `parse` reads."""
        return str(self.measure)

    def columns(self) -> dict[str, NDArray[Any]]:
        """parameter, of (what it belongs to), value, low, high, n."""
        return columns_of(self.parameters, Estimated)

    def table(self) -> Table:
        """A row per parameter."""
        notes = (f"measure: {self.name}", *self.notes)
        return table_of(self.columns(), caption=f"Calibrated {type(self.measure).name}", notes=notes)

    def moves_text(self) -> str:
        """The moves as lines `from to count`, the file that `MP(transitions=...)` reads; empty for other measures."""
        if self.moves is None:
            return ""
        rows = [f"{i + 1}\t{j + 1}\t{self.moves[i, j]:g}" for i, j in np.argwhere(self.moves > 0)]
        return "\n".join(["from\tto\tweight", *rows]) + "\n"


def rounded(value: float) -> float:
    """A number with as many digits as the name of a measure shows.

    >>> rounded(0.123456), rounded(224.987)
    (0.1235, 225.0)
    """
    return float(f"{value:.{DIGITS}g}")


def ratio_of_sums(
    sums: Moments, parameter: str, of: str, above: str, below: str, level: float, *,
    times: float = 1.0, most: float = np.inf,
) -> Estimated:  # fmt: skip
    """Σ above / Σ below over all users, with an interval by the delta method; `times` multiplies it.

    A share (`most` is 1) of exactly 0 or 1 has the interval of Clopper and Pearson.
    """
    from scipy.special import stdtrit

    ratio = sums.ratio(above, below)
    users = int(sums.n[0])
    reach = float(stdtrit(users - 1, (1 + level) / 2)) * float(ratio.error[0]) if users > 1 else np.nan
    value = float(ratio.value[0])
    n = round(float(sums.n[0] * sums.mean[0, sums.column(below)]))
    low, high = max(value - reach, 0.0), min(value + reach, most)
    if most == 1.0 and value in (0.0, 1.0) and n:
        # all or none: the delta method sees no variance, the exact binomial interval does
        rare = 1.0 - ((1.0 - level) / 2) ** (1.0 / n)
        low, high = (0.0, rare) if value == 0.0 else (1.0 - rare, 1.0)
    return Estimated(parameter, of, value * times, low * times, high * times, n)
