"""Figures of labels: how assessors agree, merged labels and their assessors, and how fast pools find documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.report.figures.describe.grids import describe_heat
from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, in_order, names, numbers
from cranfield.text import counted
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.building.agreement import (
        Agreement,
        AgreementOverTime,
        AgreementWithOthers,
        Confusion,
        GroupAgreement,
        PairAgreement,
        TopicAgreement,
    )
    from cranfield.building.effect.label_errors import LabelErrors
    from cranfield.building.merging.assessor_report import AssessorReport
    from cranfield.building.merging.merged import Merged

SMALLEST = 1e-9
CHANCE = (Reference("x", 0.0, "chance"),)


def describe_assessor_agreement(result: Any) -> Figure:
    """Show a result of `cranfield.building.agreement`: each kind of result has its own figure.

    >>> from cranfield.building.agreement import agreement
    >>> labels = [("t1", "anna", 1), ("t1", "ben", 1), ("t2", "anna", 0), ("t2", "ben", 0), ("t3", "anna", 1)]
    >>> describe_assessor_agreement(agreement([*labels, ("t3", "ben", 0)])).title
    'Agreement of 2 assessors on 3 items'
    """
    import cranfield.building.agreement as kinds

    describe: dict[type, Callable[[Any], Figure]] = {
        kinds.Agreement: _coefficients,
        kinds.TopicAgreement: _topics,
        kinds.AgreementWithOthers: _assessors,
        kinds.AgreementOverTime: _over_time,
        kinds.GroupAgreement: _groups,
        kinds.PairAgreement: _pairs,
        kinds.Confusion: _confusion,
    }
    if type(result) not in describe:
        raise UsageError(f"{type(result).__name__} is not a result of cranfield.building.agreement")
    return describe[type(result)](result)


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


def _assessors(result: AgreementWithOthers) -> Figure:
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
        notes=_left_out(result.kappa, "pair of groups"),
    )


def _pairs(result: PairAgreement) -> Figure:
    labels, kappa = result.matrix()
    title = f"Cohen's κ of {counted(len(result.first), 'pair')} of assessors"
    return describe_heat(kappa, labels, what="Cohen's κ", title=title)


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


MOST_WORKERS = 6
"""The number of assessors whose tables of confusion are drawn by default."""
MOST_BARS = 60
"""The largest number of assessors whose accuracies are drawn."""


def describe_assessor_confusion(merged: Merged, workers: Sequence[str] | None = None) -> Figure:
    """Show the table of confusion of assessors: the share of given labels (columns) for each true label (rows).

    The true labels are those of the merged labels, by their probabilities. `workers` selects assessors; by default the
    six with most labels are shown.

    >>> from cranfield.building.merging import merge
    >>> rows = [("t1", "a", 0), ("t1", "b", 0), ("t1", "c", 1), ("t2", "a", 1), ("t2", "b", 1), ("t2", "c", 1)]
    >>> figure = describe_assessor_confusion(merge(rows, "dawid-skene"), ["c"])
    >>> figure.columns()["value"].round(2).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    labels = merged.labels
    if workers is None:
        counts = np.bincount(labels.worker, minlength=len(labels.workers))
        chosen = np.argsort(-counts, kind="stable")[:MOST_WORKERS]
    else:
        for name in workers:
            if name not in labels.workers:
                raise nearest(name, labels.workers, "assessor")
        chosen = np.array([labels.workers.index(name) for name in workers], dtype=np.int64)
    size, scale = len(labels.scale), names(labels.scale)
    shown = names([labels.workers[w] for w in chosen.tolist()])
    values = merged.confusion[chosen]
    if np.isnan(values).all():
        raise UsageError("nothing to draw: these assessors have no labels")
    subtitle = f"rows: true label, by {merged.method}; columns: given label"
    if len(chosen) < len(labels.workers) and workers is None:
        subtitle += f"; the {len(chosen)} of {counted(len(labels.workers), 'assessor')} with most labels"
    return Figure(
        "heat_map",
        {
            "coefficient": np.repeat(shown, size * size),
            "row": np.tile(np.repeat(scale, size), len(chosen)),
            "column": np.tile(scale, size * len(chosen)),
            "value": values.ravel(),
        },
        x=Axis("column", "", "category"),
        y=Axis("row", "", "category"),
        by=Axis("value", "share of labels", "share"),
        title="What assessors confuse",
        subtitle=subtitle,
    )


def describe_posterior_entropy(merged: Merged | Mapping[str, Merged]) -> Figure:
    """Show how uncertain merged labels are: the entropy of every item, from the most to the least uncertain one.

    A dict {name: result} compares several results.

    >>> from cranfield.building.merging import merge
    >>> figure = describe_posterior_entropy(merge([("t1", "a", 0), ("t1", "b", 1), ("t2", "a", 1)]))
    >>> figure.columns()["entropy"].tolist()
    [1.0, 0.0]
    """
    several = dict(merged) if isinstance(merged, Mapping) else {merged.method: merged}
    if not several:
        raise UsageError("nothing to draw: there are no merged labels")
    by, share, entropy = [], [], []
    for name, result in several.items():
        values = np.sort(result.entropy[~np.isnan(result.entropy)])[::-1]
        by.append(np.full(len(values), names([name])[0], dtype=object))
        share.append((np.arange(len(values)) + 1) / max(len(values), 1))
        entropy.append(values)
    first = next(iter(several.values()))
    most = float(np.log2(len(first.scale)))
    return Figure(
        "lines",
        {"method": np.concatenate(by), "items": np.concatenate(share), "entropy": np.concatenate(entropy)},
        x=Axis("items", "share of items", "share", low=0.0, high=1.0),
        y=Axis("entropy", "entropy (bits)", low=0.0, high=most),
        by=Axis("method", "method", "category"),
        title="How uncertain merged labels are",
        subtitle=f"{counted(len(first.labels.items), 'item')}, the most uncertain first; 0 bits is certain, "
        f"{most:.3g} bits is the most",
    )


def describe_assessor_accuracy(report: AssessorReport) -> Figure:
    """Show the share of right checks of every assessor with its interval, the highest first; `report` is that of
    `rate_assessors`.

    >>> from cranfield.building.merging import rate_assessors
    >>> rows = [(f"t{i}", w, (i % 2 if w != "c" else 1)) for i in range(12) for w in "abc"]
    >>> describe_assessor_accuracy(rate_assessors(rows)).columns()["accuracy"].tolist()
    [1.0, 1.0, 0.5]
    """
    known = np.flatnonzero(report.checks > 0)
    if not len(known):
        raise UsageError(f"nothing to draw: no label could be checked against {report.basis}")
    order = known[np.argsort(-report.share[known], kind="stable")]
    subtitle = f"labels against {report.basis}, with {100 * (1 - report.alpha):g}% intervals"
    if len(order) > MOST_BARS:
        by_labels = np.argsort(-report.labels[order], kind="stable")[:MOST_BARS]
        subtitle += f"; the {MOST_BARS} of {len(order):,} assessors with most labels"
        order = order[np.sort(by_labels)]
    chance = float(np.average(report.chance[order], weights=report.checks[order]))
    return Figure(
        "intervals",
        {
            "assessor": names([report.workers[w] for w in order.tolist()]),
            "accuracy": report.share[order], "low": report.low[order], "high": report.high[order],
        },
        x=Axis("accuracy", "share of labels that are right", "share", low=0.0, high=1.0),
        y=Axis("assessor", "assessor", "category"),
        title="Accuracy of assessors",
        subtitle=subtitle,
        references=(Reference("x", chance, "chance"),),
    )  # fmt: skip


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


MOST_POINTS = 400
"""Points of a line that are kept; a page cannot show more."""


def describe_discovery(columns: Any, *, subtitle: str = "") -> Figure:
    """Show the share of all relevant documents that is found against the number of judgments, a line per method.

    `columns` are `method`, `judgments` and `share`, as in `PoolSimulation.curve`.

    >>> describe_discovery({"method": ["depth"] * 2, "judgments": [0, 1], "share": [0.0, 0.5]})
    Figure(lines: 2 rows of method, judgments, share)
    """
    table = columns_of(columns, "method", "judgments", "share")
    method = names(table["method"])
    kept = []
    for name in in_order(method):
        points = np.flatnonzero(method == name)
        if len(points) > MOST_POINTS:
            points = points[np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int))]
        kept.append(points)
    rows = np.concatenate(kept)
    data = {
        "method": method[rows],
        "judgments": numbers(table["judgments"], "judgments")[rows],
        "share": numbers(table["share"], "share")[rows],
    }
    return Figure(
        "lines",
        data,
        x=Axis("judgments", "judgments", "count", low=0),
        y=Axis("share", "share of relevant documents found", "share", low=0, high=1),
        by=Axis("method", "method", "category"),
        title="Relevant documents found by number of judgments",
        subtitle=subtitle,
    )


def describe_label_errors(result: LabelErrors, measure: str | None = None) -> Figure:
    """Show how far mislabelled documents move scores, upstream against downstream: a point per document and run.

    >>> from cranfield.building.effect.label_errors import label_errors
    >>> labels = [("1", "d", name, grade) for name, grade in (("anna", 1), ("ben", 0), ("cleo", 0))]
    >>> labels += [("1", "e", name, 1) for name in ("anna", "ben", "cleo")]
    >>> result = label_errors(labels, {"x": {"1": {"d": 2.0, "e": 1.0}}}, "AP", gold={"1": {"d": 1, "e": 1}})
    >>> describe_label_errors(result).columns()["upstream"].tolist()
    [-0.5]
    """
    measures = in_order(result.measure)
    chosen = measures[0] if measure is None else measure
    if chosen not in measures:
        raise nearest(chosen, measures, "measure")
    own = (result.measure == chosen) & ((result.upstream != 0) | (result.downstream != 0))
    up, down = result.upstream[own], result.downstream[own]
    reach = 1.05 * max(float(np.abs(np.concatenate((up, down))).max(initial=0.0)), SMALLEST)
    where = zip(result.topic[own].tolist(), result.doc[own].tolist(), result.run[own].tolist(), strict=True)
    labels = np.array([f"{topic} {doc} in {run}" for topic, doc, run in where], dtype=object)
    ends = np.array([-reach, reach])
    return Figure(
        "scatter",
        {"document": labels, "upstream": up, "downstream": down, "front": np.zeros(len(up), dtype=bool)},
        x=Axis("upstream", f"change of {chosen} upstream ({result.method})", low=-reach, high=reach),
        y=Axis("downstream", f"change of {chosen} downstream (AWARE)", low=-reach, high=reach),
        title=f"Mislabelled documents and {chosen}",
        subtitle="a point per document and run; on the line, merging labels\nand averaging scores do the same",
        references=(Reference("x", 0.0, ""), Reference("y", 0.0, "")),
        also={"front": {"x": ends, "y": ends}},
    )
