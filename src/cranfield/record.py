"""Results as records: one mixin gives every result its table, JSON, LaTeX, HTML and frames."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.frames import Tidy
from cranfield.table import Column, Table, number_kind


class Record(Tidy):
    """A result that can be read in a terminal, a notebook, a paper, by a program or in a frame."""

    def table(self) -> Table:
        """A row per entry of `columns`."""
        columns = self.columns()
        kinds = {"i": "count", "O": "text"}
        heads = tuple(Column(name, kinds.get(one.dtype.kind) or number_kind(name)) for name, one in columns.items())
        rows = tuple(zip(*(column.tolist() for column in columns.values()), strict=True))
        return Table(heads, rows, notes=tuple(getattr(self, "notes", ())))

    def to_dict(self) -> dict[str, Any]:
        """Facts, and a row per entry of `columns`, for JSON; undefined is None."""
        columns = self.columns()
        entries = zip(*(column.tolist() for column in columns.values()), strict=True)
        rows = [dict(zip(columns, entry, strict=True)) for entry in entries]
        facts = {"notes": getattr(self, "notes", ()), **self._metadata(), "rows": rows}
        return {name: plain(value) for name, value in facts.items()}

    def to_json(self) -> str:
        """As `to_dict`, as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=1)

    def to_latex(self) -> str:
        """The table in LaTeX."""
        return self.table().latex()

    def _repr_html_(self) -> str:
        return self.table().html()


def plain(value: Any) -> Any:
    """What JSON can hold: NaN is None, infinity its name, tuples are lists."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(one) for one in value]
    return value
