"""Curves that compare measures: significance levels, swap rates, and robustness to missing judgments or topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, ends_of, names, numbers
from cranfield.text import counted

ROBUSTNESS = {
    "tau": ("Kendall's τ with the full ranking of systems", "Rankings of systems"),
    "mean": ("mean score over systems and topics", "Mean scores"),
    "change": ("change of the mean score, over systems", "Mean scores"),
    "rmse": ("root mean squared error of scores, over systems", "Error of scores"),
}
"""The label of the axis and the title of a robustness curve, by what it shows."""
MOST_TICKS = 10
"""The most differences that are numbered on the axis of swap rates."""


def describe_asl(
    p: Mapping[str, Any], *, alpha: float = 0.05, highest: float | None = None, test: str = "", title: str | None = None
) -> Figure:
    """Show the sorted p-values of all pairs of systems: the lower its curve, the more differences a measure finds.

    `p` is {measure: p-values}. `highest` cuts off the vertical axis, for example at 0.15, to show where the curves
    differ. Measures are sorted by how many pairs differ at `alpha`.
    Sakai 2014 Fig. 16, after Sakai, SIGIR 2006, 525-532, doi:10.1145/1148170.1148261

    >>> describe_asl({"RR": [0.2, 0.03], "AP": [0.04, 0.01]}).columns()["measure"].tolist()
    ['AP', 'AP', 'RR', 'RR']
    """
    if not p:
        raise UsageError("no p-values to draw; give those of at least one measure")
    check.between("describe_asl", low=0, high=1, alpha=alpha)
    curves = {measure: np.sort(numbers(values, f"the p-values of {measure}")) for measure, values in p.items()}
    for measure, values in curves.items():
        if not len(values) or np.isnan(values).any() or values[0] < 0 or values[-1] > 1:
            raise UsageError(f"the p-values of {measure} must be numbers between 0 and 1, one per pair of systems")
    significant = {measure: int((values <= alpha).sum()) for measure, values in curves.items()}
    curves = {measure: curves[measure] for measure in sorted(curves, key=lambda measure: -significant[measure])}
    sizes = sorted({len(values) for values in curves.values()})
    pairs = counted(sizes[-1], "pair") if len(sizes) == 1 else f"{sizes[0]:,} to {counted(sizes[-1], 'pair')}"
    return Figure(
        "lines",
        {
            "measure": names(measure for measure, values in curves.items() for _ in values),
            "pairs": np.concatenate([np.arange(1, len(values) + 1) for values in curves.values()]),
            "p": np.concatenate(list(curves.values())),
        },
        x=Axis("pairs", "pairs of systems, sorted by p", "count", low=0),
        y=Axis("p", "p (achieved significance level)", low=0, high=1 if highest is None else highest),
        by=Axis("measure", "measure", "category"),
        title="Discriminative power" if title is None else title,
        subtitle=f"{pairs} of systems{f', {test}' if test else ''}; the lower a curve, the more pairs differ",
        references=(Reference("y", alpha, f"α = {alpha:g}"),),
        notes=tuple(
            f"{measure}: {significant[measure]:,} of {counted(len(values), 'pair')} at α = {alpha:g}"
            for measure, values in curves.items()
        ),
    )


def describe_swap_rates(
    columns: Any,
    *,
    measure: str = "measure",
    difference: str = "difference",
    rate: str = "rate",
    wanted: float = 0.05,
    open_end: bool = False,
    subtitle: str = "",
) -> Figure:
    """Show the swap rate against the difference between two systems, one line per measure.

    `columns` have a row per measure and bin; `measure`, `difference` (the lower end of the bin) and `rate` name them.
    Bins without pairs have the rate NaN and are left out. With `open_end`, the last bin is of that difference and all
    above. Voorhees & Buckley, SIGIR 2002, 316-323.

    >>> table = {"measure": ["AP", "AP"], "difference": [0.0, 0.01], "rate": [0.3, 0.1]}
    >>> describe_swap_rates(table).y.label
    'swap rate'
    """
    check.between("describe_swap_rates", low=0, high=1, wanted=wanted)
    table = columns_of(columns, measure, difference, rate)
    rates = numbers(table[rate], rate)
    edges = np.unique(numbers(table[difference], difference))
    ends: dict[str, Any] = {}
    if open_end and len(edges) > 1:
        every = next(
            n for n in range(1, len(edges)) if (len(edges) - 1) % n == 0 and (len(edges) - 1) // n <= MOST_TICKS
        )
        ends = {"ticks": tuple(edges[::every].tolist()), "open_end": True, "high": float(2 * edges[-1] - edges[-2])}
    filled = ~np.isnan(rates)
    return Figure(
        "lines",
        {
            "measure": names(table[measure])[filled],
            "difference": numbers(table[difference], difference)[filled],
            "rate": rates[filled],
        },
        x=Axis("difference", "absolute difference between two systems' means over topics", low=0, **ends),
        y=Axis("rate", "swap rate", "share", low=0),
        by=Axis("measure", "measure", "category"),
        title="Swap rate",
        subtitle=subtitle or "how often another set of topics reverses a difference of this size",
        references=(Reference("y", wanted, f"{100 * wanted:g}%"),),
    )


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
    """Show `value` against how much was kept, from all to little, one line per measure; `low` and `high` become bars.

    `columns` have a row per measure and amount. `kept` is a share (`as_share`), or a number such as topics or a depth.

    >>> table = {"measure": ["AP", "AP"], "kept": [1.0, 0.5], "tau": [1.0, 0.9]}
    >>> describe_robustness(table).title
    'Rankings of systems with fewer judgments'
    """
    table = columns_of(columns, measure, kept, value)
    amount = numbers(table[kept], kept)
    if as_share:
        for end in (amount.min(), amount.max()):
            check.between("describe_robustness", low=0, high=1, **{kept: float(end)})
    label, title = ROBUSTNESS.get(value, (value, value))
    return Figure(
        "lines",
        {"measure": names(table[measure]), kept: amount, value: numbers(table[value], value), **ends_of(table)},
        x=Axis(
            kept,
            kept_label,
            "share" if as_share else "count",
            low=0,
            high=1.0 if as_share else 1.05 * float(amount.max()),
            reverse=True,
        ),
        y=Axis(value, label, high=1.0 if value == "tau" else None),
        by=Axis("measure", "measure", "category"),
        title=f"{title} with fewer {kept_label.removesuffix(' kept')}",
        subtitle=subtitle,
    )
