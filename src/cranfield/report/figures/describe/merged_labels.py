"""Merged labels: the confusion of assessors, how uncertain items are, and the accuracy of assessors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cranfield.building.merging.merged import Merged
from cranfield.building.merging.worker_report import WorkerReport
from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, Reference, names
from cranfield.text import counted

MOST_WORKERS = 6
"""The number of assessors whose tables of confusion are drawn by default."""
MOST_BARS = 60
"""The largest number of assessors whose accuracies are drawn."""


def describe_worker_confusion(merged: Merged, workers: Sequence[str] | None = None) -> Figure:
    """Show the table of confusion of assessors: the share of given labels (columns) for each true label (rows).

    The true labels are those of the merged labels, by their probabilities. `workers` selects assessors; by default the
    six with most labels are shown.

    >>> from cranfield.building.merging import merge
    >>> rows = [("t1", "a", 0), ("t1", "b", 0), ("t1", "c", 1), ("t2", "a", 1), ("t2", "b", 1), ("t2", "c", 1)]
    >>> figure = describe_worker_confusion(merge(rows, "dawid-skene"), ["c"])
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
    several = {merged.method: merged} if isinstance(merged, Merged) else dict(merged)
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


def describe_worker_accuracy(report: WorkerReport) -> Figure:
    """Show the share of right checks of every assessor with its interval, the highest first; `report` is that of
    `rate_workers`.

    >>> from cranfield.building.merging import rate_workers
    >>> rows = [(f"t{i}", w, (i % 2 if w != "c" else 1)) for i in range(12) for w in "abc"]
    >>> describe_worker_accuracy(rate_workers(rows)).columns()["accuracy"].tolist()
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
            "worker": names([report.workers[w] for w in order.tolist()]),
            "accuracy": report.share[order], "low": report.low[order], "high": report.high[order],
        },
        x=Axis("accuracy", "share of labels that are right", "share", low=0.0, high=1.0),
        y=Axis("worker", "assessor", "category"),
        title="Accuracy of assessors",
        subtitle=subtitle,
        references=(Reference("x", chance, "chance"),),
    )  # fmt: skip
