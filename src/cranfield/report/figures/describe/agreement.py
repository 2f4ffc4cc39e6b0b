"""A number for each measure, with an interval: agreement with people, and how much a score tells of the list."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, in_order, names, no_repeats, numbers
from cranfield.text import counted


def describe_agreement(columns: Any, *, level: float | None = None) -> Figure:
    """The share of preferences that each measure agrees with, highest first, with its interval.

    `columns` are those of `predictive_power`: measure, agreement, low, high.

    >>> made = {"measure": ["RR", "Q"], "agreement": [0.6, 0.7], "low": [0.5, 0.6], "high": [0.7, 0.8]}
    >>> describe_agreement(made).columns()["measure"].tolist()
    ['Q', 'RR']
    """
    found = columns_of(columns, "measure", "agreement", "low", "high")
    labels = names(found["measure"])
    no_repeats(labels.tolist(), "measure")
    shares = numbers(found["agreement"], "agreement")
    order = np.argsort(-np.nan_to_num(shares, nan=-1.0), kind="stable")
    ends = {name: numbers(found[name], name)[order] for name in ("low", "high")}
    drawn = "" if level is None or np.isnan(ends["low"]).all() else f", with {100 * level:g}% intervals"
    return Figure(
        "agreement",
        {"measure": labels[order], "agreement": shares[order], **ends},
        x=Axis("agreement", "share of preferences agreed with", "share"),
        y=Axis("measure", "", "category"),
        title="Agreement with preferences",
        subtitle=f"highest first{drawn}",
        references=(Reference("x", 0.5, "a coin"),),
    )


def describe_informativeness(columns: Any) -> Figure:
    """How far the curves inferred from a measure's scores are from the true ones: quartiles over lists, best first.

    `columns` are those of `informativeness`: measure, rms; a row per measure and list.

    >>> made = {"measure": ["R", "R", "AP", "AP"], "rms": [0.3, 0.5, 0.1, 0.2]}
    >>> describe_informativeness(made).columns()["measure"].tolist()
    ['AP', 'R']
    """
    found = columns_of(columns, "measure", "rms")
    labels, errors = names(found["measure"]), numbers(found["rms"], "rms")
    measures = in_order(labels)
    quartiles = np.array([np.quantile(errors[labels == one], [0.5, 0.25, 0.75]) for one in measures])
    order = np.argsort(quartiles[:, 0], kind="stable")
    rms, low, high = quartiles[order].T
    return Figure(
        "agreement",
        {"measure": names(measures)[order], "rms": rms, "low": low, "high": high},
        x=Axis("rms", "RMS error of precision on the inferred curve", low=0.0),
        y=Axis("measure", "", "category"),
        title="What a score tells of the list",
        subtitle=f"median and quartiles over {counted(len(errors) // len(measures), 'list')}, best first",
    )
