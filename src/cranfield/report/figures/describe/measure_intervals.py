"""A number per measure with an interval: agreement with preferences, and informativeness."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, in_order, names, no_repeats, numbers
from cranfield.text import counted


def describe_agreement(columns: Any, *, level: float | None = None) -> Figure:
    """Show the share of preferences that each measure agrees with, highest first, with its interval.

    `columns` are those of `predictive_power`: measure, agreement, low, high.

    >>> table = {"measure": ["RR", "Q"], "agreement": [0.6, 0.7], "low": [0.5, 0.6], "high": [0.7, 0.8]}
    >>> describe_agreement(table).columns()["measure"].tolist()
    ['Q', 'RR']
    """
    table = columns_of(columns, "measure", "agreement", "low", "high")
    labels = names(table["measure"])
    no_repeats(labels.tolist(), "measure")
    data = {name: numbers(table[name], name) for name in ("agreement", "low", "high")}
    order = np.argsort(-np.nan_to_num(data["agreement"], nan=-1.0), kind="stable")
    intervals = "" if level is None or np.isnan(data["low"]).all() else f", with {100 * level:g}% intervals"
    return Figure(
        "intervals",
        {"measure": labels[order], **{name: column[order] for name, column in data.items()}},
        x=Axis("agreement", "share of preferences agreed with", "share"),
        y=Axis("measure", "measure", "category"),
        title="Agreement with preferences",
        subtitle=f"highest first{intervals}",
        references=(Reference("x", 0.5, "a coin"),),
    )


def describe_informativeness(columns: Any) -> Figure:
    """Show the error of curves inferred from a measure's scores: quartiles over lists, best measure first.

    `columns` are those of `informativeness`: measure and rms, a row per measure and list.

    >>> table = {"measure": ["R", "R", "AP", "AP"], "rms": [0.3, 0.5, 0.1, 0.2]}
    >>> describe_informativeness(table).columns()["measure"].tolist()
    ['AP', 'R']
    """
    table = columns_of(columns, "measure", "rms")
    labels, errors = names(table["measure"]), numbers(table["rms"], "rms")
    measures = in_order(labels)
    quartiles = np.array([np.quantile(errors[labels == measure], [0.5, 0.25, 0.75]) for measure in measures])
    order = np.argsort(quartiles[:, 0], kind="stable")
    rms, low, high = quartiles[order].T
    return Figure(
        "intervals",
        {"measure": names(measures)[order], "rms": rms, "low": low, "high": high},
        x=Axis("rms", "RMS error of precision on the inferred curve", low=0.0),
        y=Axis("measure", "measure", "category"),
        title="How much a score says about the list",
        subtitle=f"median and quartiles over {counted(len(errors) // len(measures), 'list')}, best first",
    )
