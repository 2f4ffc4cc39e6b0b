"""Each assessor against the others: agreement, majority, leniency, self-agreement, cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.building.agreement.agreement_settings import check_paired
from cranfield.building.agreement.chance_corrected import closeness, cohen_of, divided
from cranfield.building.agreement.other_labels import OtherLabels
from cranfield.building.agreement.repeated_labels import first_labels, self_agreement
from cranfield.building.agreement.unseen_units import interval_with_unseen, unseen_cells
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.comparison.resampling import check_resampling
from cranfield.record import Record
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

FEW = 10
"""A note names assessors with fewer items in common with others."""
KINDS = ("identity", "linear", "quadratic")


@dataclass(frozen=True, eq=False, repr=False)
class EachAssessor(Record):
    """Every assessor against the others."""

    figure = "describe_assessor_agreement"
    facts = ("weights", "level", "resamples", "seed")

    assessors: tuple[str, ...]
    groups: tuple[str, ...]
    """The group of each assessor; empty if there are none."""
    labels: Index64
    """The number of labels of each assessor."""
    items: Index64
    """The number of these items that others labelled too."""
    percent: Array
    """The mean share of the others who gave the same label."""
    kappa: Array
    """Cohen's κ of the assessor's labels and those of the others."""
    low: Array
    high: Array
    majority: Array
    """The share of items on which the assessor agrees with the majority of the others; items without one left out."""
    leniency: Array
    """The mean difference from the others' labels; above 0 is lenient. NaN if labels have no order."""
    again: Index64
    """The number of items that the assessor labelled again."""
    self_percent: Array
    """Self-agreement on these."""
    cost: Array
    """The cost of all labels; NaN if it is unknown."""
    weights: str
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """assessor, group, labels, items, percent, kappa, low, high, majority, leniency, again, self percent, cost."""
        group = {"group": np.array(self.groups, dtype=object)} if self.groups else {}
        names = ("labels", "items", "percent", "kappa", "low", "high", "majority", "leniency", "again")
        return {
            "assessor": np.array(self.assessors, dtype=object),
            **group,
            **{name: getattr(self, name) for name in names},
            "self percent": self.self_percent,
            "cost": self.cost,
        }

    def table(self) -> Table:
        """A row per assessor, best κ first."""
        columns = self.columns()
        shown = ["labels", "items", "percent", "kappa", "majority"]
        shown += ["leniency"] if not np.isnan(self.leniency).all() else []
        shown += ["again", "self percent"] if self.again.any() else []
        shown += ["cost"] if not np.isnan(self.cost).all() else []
        keys = ["assessor", *(["group"] if self.groups else [])]
        counts = ("labels", "items", "again")
        heads = [*map(Column, keys), *(Column(name, "count" if name in counts else "number") for name in shown)]
        rows: list[tuple[Cell, ...]] = []
        for i in np.argsort(-np.nan_to_num(self.kappa, nan=-np.inf), kind="stable").tolist():
            kappa = Estimate("", "", float(self.kappa[i]), float(self.low[i]), float(self.high[i]), 0, 0, 0)
            rows.append(
                (
                    *(columns[key][i] for key in keys),
                    *(kappa if name == "kappa" else columns[name][i] for name in shown),
                )
            )
        return Table(tuple(heads), tuple(rows), "Each assessor against the others", self.notes)


def each_assessor(
    labels: LabelsLike,
    *,
    weights: str = "identity",
    resamples: int = 1_000,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> EachAssessor:
    r"""How well each assessor agrees with the others, and whether he is more lenient than they are.

    .. math:: \text{leniency}(a) = \frac{1}{n} \sum_i \Big( x_{ai} - \frac{1}{r_i - 1} \sum_{b \ne a} x_{bi} \Big)

    Each of the n items that others labelled too counts once, whatever the number r of its labels. κ is Cohen's, of the
    assessor's label and the label of one of the others, drawn at random; intervals are bootstrap percentiles over the
    items of the assessor.

    weights: how much labels agree that differ, in κ: `identity` (not at all), `linear` or `quadratic`.

    >>> result = each_assessor([("t1", "anna", 2), ("t1", "ben", 1), ("t2", "anna", 1), ("t2", "ben", 1)], resamples=0)
    >>> result.leniency.tolist(), result.percent.tolist()
    ([0.5, -0.5], [0.5, 0.5])
    """
    check.one_of("each_assessor", KINDS, weights=weights)
    if resamples:
        check_resampling("each_assessor", resamples, seed, None)
    every = Labels.of(labels)
    first, notes = first_labels(every)
    check_paired(first)
    others, q, size = OtherLabels.of(first), len(first.scale), len(first.workers)
    matrix = closeness(weights, np.zeros(q) if weights == "identity" else first.values)
    kappa, low, high = np.full((3, size), np.nan)

    def kappas(sums: Array) -> Array:
        return cohen_of(sums.reshape(-1, q, q), matrix)[1][:, None]

    for a, rows in enumerate(others.of_assessors()):
        if len(rows):
            cells = others.confusions(rows)
            kappa[a] = kappas(cells.sum(axis=0, keepdims=True))[0, 0]
            if resamples and len(rows) > 1:
                unseen = unseen_cells(cells)
                if unseen is not None and not np.isnan(kappa[a]):
                    ends = interval_with_unseen(cells, unseen, kappas, resamples, level, [seed, a])
                    low[a], high[a] = ends[0][0], ends[1][0]
        if progress is not None:
            progress(a + 1, size)

    worker = others.labels.worker
    items = np.bincount(worker, minlength=size)

    def mean(values: Array, among: NDArray[np.bool_] | None = None) -> Array:
        part = slice(None) if among is None else among
        total = np.bincount(worker[part], weights=values[part], minlength=size)
        return divided(total, np.bincount(worker[part], minlength=size).astype(np.float64))

    decided = others.majority >= 0
    again, own = self_agreement(every).of_each()
    cost = np.full(size, np.nan)
    if every.cost is not None:
        cost = np.bincount(every.worker, weights=every.cost, minlength=size).astype(np.float64)
    return EachAssessor(
        first.workers, first.group, np.bincount(every.worker, minlength=size), items, mean(others.agreed), kappa, low,
        high, mean((others.majority == others.labels.label).astype(np.float64), decided),
        mean(others.leniency) if first.ordered else np.full(size, np.nan), again, own, cost, weights, level, resamples,
        seed, (*notes, *_notes(first, items, kappa, decided, weights, level, resamples, seed)),
    )  # fmt: skip


def _notes(
    labels: Labels,
    items: Index64,
    kappa: Array,
    decided: NDArray[np.bool_],
    weights: str,
    level: float,
    resamples: int,
    seed: int,
) -> list[str]:
    notes = ["percent: the mean share of the others who gave the same label; each item counts once"]
    kind = "" if weights == "identity" else f", {weights} weights"
    notes.append(f"kappa: Cohen's κ of the assessor and one of the others, drawn at random{kind}")
    if resamples:
        notes.append(
            f"intervals: percentile bootstrap over the items of an assessor, level {100 * level:g}%, seed {seed}"
        )
    if labels.ordered:
        notes.append("leniency: the mean difference from the others' labels; above 0: higher labels than the others")
    if not decided.all():
        ties = counted(int((~decided).sum()), "label")
        notes.append(f"majority: {ties} of items on which the others have no majority, left out")
    alone = [name for name, count in zip(labels.workers, items.tolist(), strict=True) if not count]
    few = [name for name, count in zip(labels.workers, items.tolist(), strict=True) if 0 < count < FEW]
    if alone:
        notes.append(f"{counted(len(alone), 'assessor')} without an item that others labelled: {listed(alone)}")
    if few:
        notes.append(f"{counted(len(few), 'assessor')} with fewer than {FEW} items that others labelled: {listed(few)}")
    undefined = [
        name for name, n, k in zip(labels.workers, items.tolist(), kappa.tolist(), strict=True) if n and k != k
    ]
    if undefined:
        notes.append(
            f"kappa is undefined (0/0) for {counted(len(undefined), 'assessor')}, as all labels of their items are "
            f"equal: {listed(undefined)}"
        )
    return notes
