"""Robustness: what is left of scores and rankings when judgments or topics are taken away."""

from __future__ import annotations

from typing import Any

from cranfield import check
from cranfield.report.figures.figure import Axis, Figure, columns_of, names, numbers

SHOWN = {
    "tau": ("Kendall's τ with the full ranking", "Rankings of systems"),
    "mean": ("mean score", "Mean scores"),
    "change": ("change of the mean score", "Mean scores"),
    "rmse": ("root mean squared error of scores", "Error of scores"),
}


def describe_robustness(
    columns: Any,
    *,
    measure: str = "measure",
    kept: str = "kept",
    value: str = "tau",
    kept_label: str = "judgments kept",
    as_share: bool = True,
    subtitle: str = "",
) -> Figure:
    """`value` against how much was kept, from all to little, one line a measure; `low` and `high` are bars if there.

    `columns` have a row per measure and amount. `kept` is a share (`as_share`), or a number such as topics or a depth.

    >>> made = {"measure": ["AP", "AP"], "kept": [1.0, 0.5], "tau": [1.0, 0.9]}
    >>> describe_robustness(made).title
    'Rankings of systems with fewer judgments'
    """
    found = columns_of(columns, measure, kept, value)
    amount = numbers(found[kept], kept)
    if as_share:
        for one in (amount.min(), amount.max()):
            check.between("describe_robustness", low=0, high=1, **{kept: float(one)})
    data = {"measure": names(found[measure]), kept: amount, value: numbers(found[value], value)}
    for end in ("low", "high"):
        if end in found and {"low", "high"} <= found.keys():
            data[end] = numbers(found[end], end)
    label, title = SHOWN.get(value, (value, value))
    return Figure(
        "lines",
        data,
        x=Axis(kept, kept_label, "share" if as_share else "count", reverse=True),
        y=Axis(value, label, high=1.0 if value == "tau" else None),
        by=Axis("measure", "measure", "category"),
        title=f"{title} with fewer {kept_label.removesuffix(' kept')}",
        subtitle=subtitle,
    )
