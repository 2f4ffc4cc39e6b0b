"""Concordance: which of two measures that disagree goes with a gold standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.report.figures.describe.heat_map import describe_heat
from cranfield.report.figures.figure import Figure, columns_of, in_order, numbers


def describe_concordance(columns: Any, gold: str | None = None) -> Figure:
    """A heat map: how often the measure of the row goes with `gold` where it disagrees with that of the column.

    `columns` are those of `concord`; without `gold`, the last one is taken: all gold standards at once.

    >>> made = {"gold": ["P@10"], "measure": ["Q"], "other": ["RR"], "concordance": [0.9], "other concordance": [0.3]}
    >>> describe_concordance(made).columns()["value"].tolist()
    [nan, 0.9, 0.3, nan]
    """
    found = columns_of(columns, "gold", "measure", "other", "concordance", "other concordance")
    golds = in_order(found["gold"])
    chosen = golds[-1] if gold is None else gold
    if chosen not in golds:
        raise nearest(chosen, golds, "gold standard")
    mine = found["gold"] == chosen
    one, other = found["measure"][mine].tolist(), found["other"][mine].tolist()
    labels = list(dict.fromkeys([*one, *other]))
    place = {name: i for i, name in enumerate(labels)}
    i, j = ([place[name] for name in side] for side in (one, other))
    shares = np.full((len(labels), len(labels)), np.nan)
    shares[i, j] = numbers(found["concordance"][mine], "concordance")
    shares[j, i] = numbers(found["other concordance"][mine], "other concordance")
    if np.isnan(shares).all():
        raise UsageError("nothing to draw: no two of these measures ever disagree on which of two lists is better")
    return describe_heat(
        shares,
        labels,
        what="concordance",
        title=f"Concordance with {chosen}",
        subtitle="of the pairs of lists that two measures\n"
        "order differently, the share in which\nthe row's goes with it",
    )
