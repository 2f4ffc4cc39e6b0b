"""Agreement between assessors: coefficients, confusions, pairs, topics, assessors, groups, and changes over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.building.agreement import (
    Agreement,
    AgreementOverTime,
    Confusion,
    EachAssessor,
    GroupAgreement,
    PairAgreement,
    TopicAgreement,
)
from cranfield.errors import UsageError
from cranfield.report.figures.describe.grids import describe_heat
from cranfield.report.figures.figure import Axis, Figure, Reference, names
from cranfield.text import counted
from cranfield.types import Array

CHANCE = (Reference("x", 0.0, "chance"),)


def describe_assessor_agreement(result: Any) -> Figure:
    """Show a result of `cranfield.building.agreement`: each kind of result has its own figure.

    >>> from cranfield.building.agreement import agreement
    >>> labels = [("t1", "anna", 1), ("t1", "ben", 1), ("t2", "anna", 0), ("t2", "ben", 0), ("t3", "anna", 1)]
    >>> describe_assessor_agreement(agreement([*labels, ("t3", "ben", 0)])).title
    'Agreement of 2 assessors on 3 items'
    """
    if isinstance(result, Agreement):
        return _coefficients(result)
    if isinstance(result, TopicAgreement):
        return _topics(result)
    if isinstance(result, EachAssessor):
        return _assessors(result)
    if isinstance(result, AgreementOverTime):
        return _over_time(result)
    if isinstance(result, GroupAgreement):
        return _groups(result)
    if isinstance(result, PairAgreement):
        labels, kappa = result.matrix()
        title = f"Cohen's κ of {counted(len(result.first), 'pair')} of assessors"
        return describe_heat(kappa, labels, what="Cohen's κ", title=title)
    if isinstance(result, Confusion):
        return _confusion(result)
    raise UsageError(f"{type(result).__name__} is not a result of cranfield.building.agreement")


def _rows(labels: Any, column: str, values: Array, low: Array, high: Array, x: str) -> dict[str, Any]:
    """The defined values with their intervals; a value without an interval is a point."""
    defined = ~np.isnan(values)
    if not defined.any():
        raise UsageError("nothing to draw: all values are undefined")
    ends = {"low": np.where(np.isnan(low), values, low), "high": np.where(np.isnan(high), values, high)}
    data = {column: names(labels), x: values, **ends}
    return {name: array[defined] for name, array in data.items()}


def _axis(column: str, label: str, low: Array, values: Array) -> Axis:
    """An axis from 0, or the lowest value if that is below, to 1."""
    lowest = min(float(np.nanmin(ends, initial=0.0)) for ends in (low, values))
    return Axis(column, label, low=np.floor(10 * lowest) / 10, high=1.0)


def _left_out(values: Array, noun: str) -> tuple[str, ...]:
    count = int(np.isnan(values).sum())
    return (f"{counted(count, noun)} without a defined value, left out",) if count else ()


def _coefficients(result: Agreement) -> Figure:
    from cranfield.building.agreement.chance_corrected import COEFFICIENTS

    titles = [COEFFICIENTS[name].title if name in COEFFICIENTS else name for name in result.names]
    return Figure(
        "intervals",
        _rows(titles, "coefficient", result.values, result.low, result.high, "value"),
        x=_axis("value", "agreement", result.low, result.values),
        y=Axis("coefficient", "", "category"),
        title=f"Agreement of {counted(result.assessors, 'assessor')} on {counted(result.paired, 'item')}",
        subtitle=f"with {100 * result.level:g}% intervals" if not np.isnan(result.low).all() else "",
        notes=_left_out(result.values, "coefficient"),
    )


def _topics(result: TopicAgreement) -> Figure:
    """The first coefficient, by topic."""
    name = result.names[0]
    values, low, high = result.values[:, 0], result.low[:, 0], result.high[:, 0]
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")
    topics = np.array(result.topics, dtype=object)[order]
    return Figure(
        "intervals",
        _rows(topics, "topic", values[order], low[order], high[order], name),
        x=_axis(name, name, low, values),
        y=Axis("topic", "topic", "category"),
        title=f"Agreement on {counted(len(result.topics), 'topic')}",
        subtitle=f"{name}, highest first, with {100 * result.level:g}% intervals over items",
        notes=_left_out(values, "topic"),
    )


def _assessors(result: EachAssessor) -> Figure:
    order = np.argsort(-np.nan_to_num(result.kappa, nan=-np.inf), kind="stable")
    assessors = np.array(result.assessors, dtype=object)[order]
    return Figure(
        "intervals",
        _rows(assessors, "assessor", result.kappa[order], result.low[order], result.high[order], "kappa"),
        x=_axis("kappa", "Cohen's κ with the others", result.low, result.kappa),
        y=Axis("assessor", "assessor", "category"),
        title=f"{counted(len(result.assessors), 'assessor')} against the others",
        subtitle=f"highest first, with {100 * result.level:g}% intervals over items",
        references=CHANCE,
        notes=_left_out(result.kappa, "assessor"),
    )


def _groups(result: GroupAgreement) -> Figure:
    pairs = zip(result.first, result.second, strict=True)
    labels = [f"within {first}" if first == second else f"{first} and {second}" for first, second in pairs]
    return Figure(
        "intervals",
        _rows(labels, "groups", result.kappa, result.low, result.high, "kappa"),
        x=_axis("kappa", "Cohen's κ", result.low, result.kappa),
        y=Axis("groups", "", "category"),
        title="Agreement within and between groups",
        subtitle=f"with {100 * result.level:g}% intervals over items",
        references=CHANCE,
        notes=_left_out(
            result.kappa,
            "pair of groups",
        ),
    )


def _over_time(result: AgreementOverTime) -> Figure:
    """A line per assessor, longest first, and `all` before them."""
    sizes = result.counts.sum(axis=1)
    order = [0, *(1 + np.argsort(-sizes[1:], kind="stable")).tolist()]
    order = [a for a in order if not np.isnan(result.values[a]).all()]
    windows = names(range(1, result.windows + 1))
    values = result.values[order].ravel()
    return Figure(
        "lines",
        {
            "assessor": np.repeat(names(np.array(result.assessors, dtype=object)[order]), result.windows),
            "window": np.tile(windows, len(order)),
            "agreement": values,
        },
        x=Axis("window", "window, in the order of the assessor's labels", "category"),
        y=Axis("agreement", "share of the others who agree", "share"),
        by=Axis("assessor", "assessor", "category"),
        title="Agreement with the others over time",
        subtitle=f"{counted(result.windows, 'window')} of equally many labels each",
    )


def _confusion(result: Confusion) -> Figure:
    if len(result.first) > 1:
        raise UsageError(f"a figure shows one matrix, but there are {len(result.first)}")
    first, second = result.first[0], result.second[0]
    who = "all pairs of assessors" if first == "all" else f"rows: {first}, columns: {second}"
    return describe_heat(
        result.shares()[0],
        result.scale,
        what="share of the row",
        title="Which labels are confused",
        subtitle=f"{who}; row: the label of one assessor,\ncolumn: how another one labels the same items",
    )
