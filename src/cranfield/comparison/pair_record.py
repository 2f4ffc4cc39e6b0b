"""The shared part of results with a row per pair of systems, or of levels of a factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.record import Record, table_of
from cranfield.table import Table
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PairRecord(Record):
    """All pairs of systems: `first` − `second`."""

    measure: str
    first: Index64
    second: Index64
    difference: Array
    p: Array
    alpha: float
    notes: tuple[str, ...] = ()

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Which pairs differ at α."""
        return np.asarray(self.p <= self.alpha)

    def sentence(self) -> str:
        """How many pairs differ, and how they were tested."""
        raise NotImplementedError

    def table(self) -> Table:
        """A row per pair."""
        return table_of(self.columns(), caption=self.sentence(), notes=self.notes)


def pair_columns(names: Sequence[str], first: Index64, second: Index64, **columns: Any) -> dict[str, NDArray[Any]]:
    """The names of both members of each pair, and then the other columns."""
    array = np.array(names, dtype=object)
    return {"first": array[first], "second": array[second], **columns}
