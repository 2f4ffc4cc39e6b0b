"""Swap rates: how often another set of topics turns a difference round."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield import check
from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, names, numbers


def describe_swap_rates(
    columns: Any,
    *,
    measure: str = "measure",
    difference: str = "difference",
    rate: str = "rate",
    wanted: float = 0.05,
    subtitle: str = "",
) -> Figure:
    """The swap rate against the difference between two systems, one line for each measure.

    `columns` have a row per measure and bin; `measure`, `difference` (the lower end of the bin) and `rate` name them.
    Bins that no pair fell into have the rate NaN and are left out. Voorhees & Buckley, SIGIR 2002, 316-323.

    >>> made = {"measure": ["AP", "AP"], "difference": [0.0, 0.01], "rate": [0.3, 0.1]}
    >>> describe_swap_rates(made).y.label
    'swap rate'
    """
    check.between("describe_swap_rates", low=0, high=1, wanted=wanted)
    found = columns_of(columns, measure, difference, rate)
    rates = numbers(found[rate], rate)
    there = ~np.isnan(rates)
    return Figure(
        "lines",
        {
            "measure": names(found[measure])[there],
            "difference": numbers(found[difference], difference)[there],
            "rate": rates[there],
        },
        x=Axis("difference", "absolute difference between two systems' means", low=0),
        y=Axis("rate", "swap rate", "share", low=0),
        by=Axis("measure", "measure", "category"),
        title="Swap rate",
        subtitle=subtitle or "how often another set of topics reverses a difference of this size",
        references=(Reference("y", wanted, f"{100 * wanted:g}%"),),
    )
