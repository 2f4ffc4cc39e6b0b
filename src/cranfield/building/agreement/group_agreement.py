"""Agreement within and between groups of assessors, such as experts and crowd, beside what their labels cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cranfield.building.agreement.agreement_intervals import interval_with_unseen, unseen_cells
from cranfield.building.agreement.agreement_settings import IntervalResamples, check_paired
from cranfield.building.agreement.chance_corrected import cohen_of, divided
from cranfield.building.agreement.repeated_labels import first_labels
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.declared.operation import Level, Seed, operation
from cranfield.errors import UsageError
from cranfield.record import Record, column, estimates, table_of, without_empty
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Array, Index64, Progress


@dataclass(frozen=True, eq=False, repr=False)
class GroupAgreement(Record):
    """Agreement within and between groups of assessors, and the cost of each group."""

    figure = "describe_assessor_agreement"
    facts = ("groups", "assessors", "labels", "cost", "level", "resamples", "seed")

    groups: tuple[str, ...]
    assessors: Index64
    """The number of assessors of each group."""
    labels: Index64
    """The number of labels of each group."""
    cost: Array
    """The cost of all labels of each group; NaN if it is unknown."""
    first: Annotated[tuple[str, ...], column()]
    """A group of each pair; a group with itself comes first."""
    second: Annotated[tuple[str, ...], column()]
    items: Annotated[Index64, column()]
    """The number of items with labels of both groups, by different assessors."""
    percent: Annotated[Array, column()]
    kappa: Annotated[Array, column()]
    low: Annotated[Array, column()]
    """The interval of `kappa`."""
    high: Annotated[Array, column()]
    difference: Annotated[Array, column()]
    """The mean label of the first group minus that of the second; NaN within a group, or if labels have no order."""
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def table(self) -> Table:
        """A row per pair of groups."""
        pairs = zip(self.first, self.second, strict=True)
        columns = {
            "group": self.first,
            "with": ["itself" if first == second else second for first, second in pairs],
            "items": self.items,
            "percent": self.percent,
            "kappa": estimates(self.kappa, self.low, self.high),
            "difference": self.difference,
        }
        return table_of(
            without_empty(columns, "difference"), caption="Agreement within and between groups", notes=self.notes
        )

    def costs(self) -> Table:
        """A row per group: assessors, labels, cost of a label and of all labels."""
        each = divided(self.cost, self.labels.astype(np.float64))
        columns = {"group": self.groups, "assessors": self.assessors, "labels": self.labels, "cost per label": each}
        return table_of(columns | {"cost": self.cost}, caption="Labels and cost of groups")


@operation
def group_agreement(
    labels: LabelsLike,
    *,
    resamples: IntervalResamples = 1_000,
    level: Level = 0.95,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> GroupAgreement:
    """Agreement of labels by assessors of the same group, and of different groups, beside the cost of the labels.

    Each item that has labels of both groups counts once, whatever the number of its labels. κ is Cohen's, of the label
    of an assessor of the first group and of another one of the second group, drawn at random from those of the item.
    Intervals are bootstrap percentiles over items.

    >>> labels = Labels.of([("t1", "anna", 1), ("t1", "ben", 1), ("t2", "anna", 0), ("t2", "ben", 1)])
    >>> grouped = labels.with_assessors({"anna": ("experts", 2.0), "ben": ("crowd", 0.1)})
    >>> result = group_agreement(grouped, resamples=0)
    >>> result.first[2], result.second[2], result.percent.tolist()[2], result.cost.tolist()
    ('experts', 'crowd', 0.5, [4.0, 0.2])
    """
    every = Labels.of(labels)
    if not every.group:
        raise UsageError(
            "group_agreement: the groups of assessors are unknown; the table needs a column group, or give assessors="
        )
    first, notes = first_labels(every)
    check_paired(first)
    groups = tuple(dict.fromkeys(first.group))
    of_worker = np.array([groups.index(name) for name in first.group], dtype=np.int64)
    size, q, n = len(groups), len(first.scale), len(first.items)
    cell = (first.item * size + of_worker[first.worker]) * q + first.label
    counts = np.bincount(cell, minlength=n * size * q).reshape(n, size, q).astype(np.float64)
    pairs = [(a, a) for a in range(size)] + [(a, b) for a in range(size) for b in range(a + 1, size)]
    items = np.zeros(len(pairs), dtype=np.int64)
    percent, kappa, low, high, difference = np.full((5, len(pairs)), np.nan)

    def computed(sums: Array) -> Array:
        matrices = sums.reshape(-1, q, q)
        number, beyond_chance = cohen_of(matrices, np.eye(q))
        return np.stack([divided(np.trace(matrices, axis1=1, axis2=2), number), beyond_chance], axis=1)

    for i, (a, b) in enumerate(pairs):
        cells = _pairs_of_items(counts[:, a], counts[:, b], same=a == b)
        items[i] = len(cells)
        if len(cells):
            total = cells.sum(axis=0)
            percent[i], kappa[i] = computed(total[None])[0]
            if a != b and first.ordered:
                matrix = total.reshape(q, q) / len(cells)
                difference[i] = matrix.sum(axis=1) @ first.values - matrix.sum(axis=0) @ first.values
            if resamples and len(cells) > 1:
                unseen = unseen_cells(cells)
                if unseen is not None and not np.isnan(kappa[i]):
                    ends = interval_with_unseen(cells, unseen, computed, resamples, level, [seed, i])
                    low[i], high[i] = ends[0][1], ends[1][1]
        if progress is not None:
            progress(i + 1, len(pairs))
    cost = np.full(size, np.nan)
    member = of_worker[every.worker]
    if every.cost is not None:
        cost = np.bincount(member, weights=every.cost, minlength=size).astype(np.float64)
        unknown = int(np.isnan(every.cost).sum())
        notes += (f"the cost of {counted(unknown, 'label')} is unknown",) if unknown else ()
    notes += ("percent, kappa: an assessor of the group and another one, drawn at random; each item counts once",)
    if resamples:
        notes += (f"intervals: percentile bootstrap over items, level {100 * level:g}%, seed {seed}",)
    if not items.all():
        without = ", ".join(
            f"{groups[a]} and {groups[b]}" if a != b else groups[a]
            for (a, b), k in zip(pairs, items, strict=True)
            if not k
        )
        notes += (f"no item has labels of two assessors of: {without}",)
    return GroupAgreement(
        groups, np.bincount(of_worker, minlength=size), np.bincount(member, minlength=size), cost,
        tuple(groups[a] for a, _ in pairs), tuple(groups[b] for _, b in pairs), items, percent, kappa, low, high,
        difference, level, resamples, seed, notes,
    )  # fmt: skip


def _pairs_of_items(first: Array, second: Array, *, same: bool) -> Array:
    """items × (scale × scale): shares of pairs of labels of both groups, by different assessors; a row sums to 1."""
    q = first.shape[1]
    number = first.sum(axis=1) * (second.sum(axis=1) - same)
    both = number > 0
    pairs = first[both][:, :, None] * second[both][:, None, :]
    if same:
        pairs -= first[both][:, :, None] * np.eye(q)
    return np.asarray((pairs / number[both][:, None, None]).reshape(-1, q * q))
