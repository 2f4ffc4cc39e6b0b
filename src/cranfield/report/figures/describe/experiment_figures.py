"""Experiments with users: effects with intervals, what can be found in how many days, p-values of A/A splits."""

from __future__ import annotations

import numpy as np

from cranfield.errors import UsageError
from cranfield.online.experiments.ab_record import Analysis
from cranfield.online.experiments.experiment_power import ABPower
from cranfield.online.experiments.random_splits import AASplits
from cranfield.report.figures.figure import Axis, Figure, Reference, names
from cranfield.text import counted, listed


def describe_arm_effects(result: Analysis) -> Figure:
    """Show the relative difference of every metric and arm from the control, with its interval.

    A metric whose relative difference has no interval, because the control may be 0, is left out and noted.

    >>> from cranfield.online.experiments import analyse
    >>> import pyarrow
    >>> table = pyarrow.table({"arm": ["A"] * 3 + ["B"] * 3, "revenue": [5, 6, 7, 8, 9, 13]})
    >>> describe_arm_effects(analyse(table, "revenue")).columns()["effect"].tolist()
    ['revenue, B']
    """
    columns = result.columns()
    several = len(result.arms) > 1
    shown = np.isfinite(columns["relative low"])
    labels = [
        f"{metric}, {arm}" for metric, arm in zip(columns["metric"].tolist(), columns["arm"].tolist(), strict=True)
    ]
    left_out = [label for label, kept in zip(labels, shown.tolist(), strict=True) if not kept]
    if not shown.any():
        raise UsageError("nothing to draw: no metric has an interval of the relative difference")
    clear = np.isin(columns["result"], ["better", "worse"])
    stands = np.where(clear, "differs from the control", "does not clearly differ").astype(object)
    note = (f"without an interval of the relative difference: {listed(left_out)}",) if left_out else ()
    title = f"{listed(result.arms)} against {result.control}" + (f", {len(result.arms)} arms" if several else "")
    warning = "SAMPLE-RATIO MISMATCH: do not trust these results\n" if result.mismatch else ""
    return Figure(
        "intervals",
        {
            "effect": names(labels)[shown],
            "relative": columns["relative"][shown],
            "low": columns["relative low"][shown],
            "high": columns["relative high"][shown],
            "stands": stands[shown],
        },
        x=Axis("relative", "relative difference from the control", "share"),
        y=Axis("effect", "metric, arm", "category"),
        by=Axis("stands", "", "category"),
        title=title,
        subtitle=f"{warning}{100 * (1 - result.alpha):g}% intervals; filled: clear after correction",
        references=(Reference("x", 0.0, ""),),
        notes=(*note, *result.notes),
    )


def describe_detectable(result: ABPower) -> Figure:
    """Show the smallest relative effect that is found, by days or by users, a line per metric.

    >>> from cranfield.online.experiments import ab_power
    >>> import pyarrow
    >>> past = pyarrow.table({"revenue": [0.0, 1.0, 5.0] * 100})
    >>> describe_detectable(ab_power(past, "revenue", users=[1_000, 4_000])).columns()["relative"].round(3).tolist()
    [0.192, 0.096]
    """
    dated = bool(result.days.any())
    x = "days" if dated else "users"
    wanted = (Reference("y", float(result.effect), f"{100 * result.effect:g}%"),) if result.effect else ()
    kept = np.isfinite(result.relative)
    if not kept.any():
        raise UsageError("nothing to draw: every metric has mean 0")
    return Figure(
        "lines",
        {
            "metric": names(result.metric)[kept],
            x: (result.days if dated else result.users)[kept],
            "relative": result.relative[kept],
        },
        x=Axis(x, "days" if dated else "users in all arms", "count"),
        y=Axis("relative", "smallest relative effect that is found", "share", low=0.0),
        by=Axis("metric", "metric", "category"),
        title="Smallest effect that an experiment finds",
        subtitle=f"power {result.power:g}, α = {result.alpha:g}, {counted(len(result.shares), 'arm')}",
        references=wanted,
        notes=result.notes,
    )


def describe_aa_p_values(result: AASplits) -> Figure:
    """Show how often A/A splits have each p-value, a line per metric; a valid test has a flat line.

    >>> from cranfield.online.experiments import aa_splits
    >>> import pyarrow
    >>> table = pyarrow.table({"user": range(200), "x": np.random.default_rng(0).random(200)})
    >>> len(describe_aa_p_values(aa_splits(table, "x", unit="user", splits=50)).columns()["p"])
    20
    """
    table = result.histogram()
    middle = (table["low"] + table["high"]) / 2
    return Figure(
        "lines",
        {"metric": table["metric"], "p": middle, "share": table["share"]},
        x=Axis("p", "p-value", low=0.0, high=1.0),
        y=Axis("share", "share of splits", "share", low=0.0),
        by=Axis("metric", "metric", "category"),
        title=f"p-values of {result.splits:,} A/A splits",
        subtitle="in 20 bins; without an effect all are equally likely",
        references=(Reference("y", float(np.mean(table["high"] - table["low"])), "expected"),),
        notes=result.notes,
    )
