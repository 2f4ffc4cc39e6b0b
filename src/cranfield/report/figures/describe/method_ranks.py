"""Ranks of systems under each of several methods: a line per system."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, names, numbers
from cranfield.text import counted

MOST = 30
"""With more systems than this, the figure shows those that move most."""


def describe_method_ranks(
    columns: Any, *, method: str = "method", run: str = "run", rank: str = "rank", measure: str = ""
) -> Figure:
    """Show the rank of each system under each method, the best at the top; lines that cross change places.

    >>> table = {"method": ["majority"] * 2 + ["aware"] * 2, "run": ["a", "b"] * 2, "rank": [1, 2, 2, 1]}
    >>> describe_method_ranks(table).subtitle
    'rank 1 is the best; 2 of 2 systems change rank, by up to 1'
    """
    table = columns_of(columns, method, run, rank)
    methods, systems, places = names(table[method]), names(table[run]), numbers(table[rank], rank)
    pairs = list(zip(methods.tolist(), systems.tolist(), strict=True))
    if len(set(pairs)) < len(pairs):
        raise UsageError(
            f"{len(pairs)} rows, but only {len(set(pairs))} pairs of method and system; choose one measure"
        )
    order = list(dict.fromkeys(systems.tolist()))
    span = {name: float(np.ptp(places[systems == name])) for name in order}
    moved = sum(width > 0 for width in span.values())
    first = {name: float(places[systems == name][0]) for name in order}
    shown = sorted(order, key=lambda name: (-span[name], first[name]))[:MOST]
    shown.sort(key=lambda name: first[name])
    at = np.concatenate([np.flatnonzero(systems == name) for name in shown])
    changes = f"{moved:,} of {counted(len(order), 'system')} change rank, by up to {max(span.values()):g}"
    last = int(places.max())
    ticks = tuple(float(place) for place in range(1, last + 1, max(1, last // 12)))
    hidden = f"; the {MOST} that move most are shown" if len(order) > MOST else ""
    return Figure(
        "lines",
        {"system": systems[at], "method": methods[at], "rank": places[at]},
        x=Axis("method", "method of merging", "category"),
        y=Axis("rank", f"rank{f' by mean {measure}' if measure else ''}", "count", 0.5, last + 0.5, True, ticks),
        by=Axis("system", "system", "category"),
        title="Rankings under each method of merging",
        subtitle=f"rank 1 is the best; {changes if moved else 'no system changes rank'}{hidden}",
    )
