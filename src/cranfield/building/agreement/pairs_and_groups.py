"""Agreement of each pair of assessors, which labels they confuse, and agreement within and between their groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.building.agreement.agreement_intervals import interval_of_cells
from cranfield.building.agreement.agreement_settings import IntervalResamples, Relevant, check_paired, first_labels
from cranfield.building.agreement.chance_corrected import closeness, cohen_error, cohen_of, divided
from cranfield.building.agreement.item_statistics import PairLabels, label_pairs
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.declared.operation import Level, Seed, operation
from cranfield.errors import UsageError
from cranfield.notes import method_note
from cranfield.record import Record, column, estimates, table_of, without_empty
from cranfield.table import Column, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress


@dataclass(frozen=True, eq=False, repr=False)
class PairAgreement(Record):
    """Agreement of every pair of assessors that have items in common."""

    caption = "Agreement of pairs of assessors"
    figure = "describe_assessor_agreement"
    facts = ("level",)

    first: Annotated[tuple[str, ...], column()]
    second: Annotated[tuple[str, ...], column()]
    items: Annotated[Index64, column()]
    """The number of common items."""
    percent: Annotated[Array, column()]
    kappa: Annotated[Array, column(shown="Cohen's κ", ends=("low", "high"))]
    """Cohen's κ; NaN if it is undefined."""
    low: Annotated[Array, column()]
    high: Annotated[Array, column()]
    error: Annotated[Array, column(hidden=True)]
    """The standard error of κ (Fleiss, Cohen & Everitt 1969)."""
    linear: Annotated[Array, column(optional=True)]
    """Cohen's κ with linear weights; NaN if labels have no order."""
    quadratic: Annotated[Array, column(optional=True)]
    overlap: Annotated[Array, column(optional=True)]
    """Relevant for both, divided by relevant for one of them; NaN if labels have no order."""
    level: float
    notes: tuple[str, ...]

    def matrix(self) -> tuple[tuple[str, ...], Array]:
        """The names of assessors, and assessors × assessors: Cohen's κ, NaN without common items."""
        names = tuple(dict.fromkeys((*self.first, *self.second)))
        number = {name: i for i, name in enumerate(names)}
        i, j = ([number[name] for name in side] for side in (self.first, self.second))
        kappa = np.full((len(names), len(names)), np.nan)
        kappa[i, j] = kappa[j, i] = self.kappa
        return names, kappa


@operation
def pair_agreement(labels: LabelsLike, *, relevant: Relevant = 1, level: Level = 0.95) -> PairAgreement:
    """Agreement of each pair of assessors on their common items: percent, Cohen's κ plain and weighted, overlap.

    Intervals are κ ± z × standard error (Fleiss, Cohen & Everitt 1969); items count as independent. Weighted κ and the
    overlap are NaN if labels are words without an order; weighted κ is also NaN with two labels, as it equals κ.

    >>> result = pair_agreement([("t1", "anna", 1), ("t1", "ben", 1), ("t2", "anna", 0), ("t2", "ben", 1)])
    >>> result.percent.tolist(), result.overlap.tolist()
    ([0.5], [0.5])
    """
    first, notes = first_labels(Labels.of(labels))
    check_paired(first)
    pairs, q = PairLabels.of(first), len(first.scale)
    confusions = pairs.confusions(q).astype(np.float64)
    items, kappa = cohen_of(confusions, np.eye(q))
    error = cohen_error(confusions, np.eye(q))
    from scipy.special import ndtri

    margin = ndtri((1 + level) / 2) * error
    none = np.full(len(kappa), np.nan)
    linear = quadratic = overlap = none
    if first.ordered:
        if q > 2:
            linear = cohen_of(confusions, closeness("linear", first.values))[1]
            quadratic = cohen_of(confusions, closeness("quadratic", first.values))[1]
        low = first.values < relevant
        either = items - confusions[:, low][:, :, low].sum(axis=(1, 2))
        overlap = divided(confusions[:, ~low][:, :, ~low].sum(axis=(1, 2)), either)
    undefined = int(np.isnan(kappa).sum())
    if undefined:
        notes.caution(
            f"Cohen's κ is undefined (0/0) for {counted(undefined, 'pair')}: both use one label for all items"
        )
    possible = len(first.workers) * (len(first.workers) - 1) // 2
    if len(kappa) < possible:
        notes.append(f"{possible - len(kappa):,} of {possible:,} pairs of assessors have no item in common, left out")
    notes.method(f"intervals: κ ± z × standard error (Fleiss, Cohen & Everitt 1969), level {100 * level:g}%")
    return PairAgreement(
        tuple(first.workers[i] for i in pairs.first.tolist()),
        tuple(first.workers[i] for i in pairs.second.tolist()),
        items.astype(np.int64),
        np.trace(confusions, axis1=1, axis2=2) / items,
        kappa,
        kappa - margin,
        np.minimum(kappa + margin, 1.0),
        error,
        linear,
        quadratic,
        overlap,
        level,
        tuple(notes),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Confusion(Record):
    """How often two assessors give the same item labels k and l."""

    figure = "describe_assessor_agreement"
    facts = ("scale",)

    first: tuple[str, ...]
    """The first assessor of each pair; `all` if all pairs are counted together."""
    second: tuple[str, ...]
    scale: tuple[str, ...]
    counts: Index64
    """pairs × scale × scale: the row is the label of the first assessor."""
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, label (of the first), other (of the second), count, share (of the items with this label)."""
        p, k, m = (axis.ravel() for axis in np.indices(self.counts.shape))
        scale = np.array(self.scale, dtype=object)
        return {
            "first": np.array(self.first, dtype=object)[p],
            "second": np.array(self.second, dtype=object)[p],
            "label": scale[k],
            "other": scale[m],
            "count": self.counts.ravel(),
            "share": self.shares().ravel(),
        }

    def shares(self) -> Array:
        """pairs × scale × scale: the shares of each row."""
        return divided(self.counts, self.counts.sum(axis=2, keepdims=True))

    def tables(self) -> tuple[Table, ...]:
        """A matrix for each pair of assessors."""
        tables = []
        for first, second, counts in zip(self.first, self.second, self.counts, strict=True):
            rows = tuple((word, *row) for word, row in zip(self.scale, counts.tolist(), strict=True))
            heads = (Column("label"), *(Column(word, "count") for word in self.scale))
            title = "all pairs of assessors" if first == "all" else f"rows: {first}, columns: {second}"
            tables.append(Table(heads, rows, f"Labels of the same items, {title}", self.notes))
        return tuple(tables)

    def table(self) -> Table:
        """The matrix; with several pairs, a row per pair and two labels."""
        return self.tables()[0] if len(self.first) == 1 else table_of(self.columns(), notes=self.notes)


def confusion(labels: LabelsLike, *, by_pair: bool = False, pair: tuple[str, str] | None = None) -> Confusion:
    """Which labels assessors confuse: the number of items with labels k and l of two assessors.

    All pairs of assessors are counted together, each pair in both orders, so the matrix is symmetric. An item with r
    labels counts r (r − 1) times. `by_pair` has a matrix for each pair instead, `pair` one for two assessors.

    >>> confusion([("t1", "anna", 1), ("t1", "ben", 0), ("t2", "anna", 0), ("t2", "ben", 0)]).counts.tolist()
    [[[2, 1], [1, 0]]]
    """
    first, notes = first_labels(Labels.of(labels))
    check_paired(first)
    if pair is not None:
        for name in pair:
            if name not in first.workers:
                raise check.nearest(name, first.workers, "assessor")
    size = len(first.scale)
    if not by_pair and pair is None:
        _, k, m, times = label_pairs(first.counts().astype(np.float64))
        counts = np.bincount(k * size + m, weights=times, minlength=size * size).round().astype(np.int64)
        note = method_note("each pair of assessors counts in both orders, so the matrix is symmetric")
        return Confusion(("all",), ("all",), first.scale, counts.reshape(1, size, size), (*notes, note))
    pairs = PairLabels.of(first)
    matrices = pairs.confusions(size)
    ends = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    names = [(first.workers[i], first.workers[j]) for i, j in ends]
    if pair is not None:
        if pair in names:
            matrices, names = matrices[[names.index(pair)]], [pair]
        elif pair[::-1] in names:
            matrices, names = matrices[[names.index(pair[::-1])]].transpose(0, 2, 1), [pair]
        else:
            raise UsageError(f"confusion: {listed(pair)} have no item in common")
    return Confusion(tuple(a for a, _ in names), tuple(b for _, b in names), first.scale, matrices, tuple(notes))


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
            (_, low[i]), (_, high[i]) = interval_of_cells(cells, computed, resamples, level, [seed, i])
        if progress is not None:
            progress(i + 1, len(pairs))
    cost = np.full(size, np.nan)
    member = of_worker[every.worker]
    if every.cost is not None:
        cost = np.bincount(member, weights=every.cost, minlength=size).astype(np.float64)
        unknown = int(np.isnan(every.cost).sum())
        notes += (f"the cost of {counted(unknown, 'label')} is unknown",) if unknown else ()
    notes.method("percent, kappa: an assessor of the group and another one, drawn at random; each item counts once")
    if resamples:
        notes.method(f"intervals: percentile bootstrap over items, level {100 * level:g}%, seed {seed}")
    if not items.all():
        without = ", ".join(
            f"{groups[a]} and {groups[b]}" if a != b else groups[a]
            for (a, b), k in zip(pairs, items, strict=True)
            if not k
        )
        notes.append(f"no item has labels of two assessors of: {without}")
    return GroupAgreement(
        groups, np.bincount(of_worker, minlength=size), np.bincount(member, minlength=size), cost,
        tuple(groups[a] for a, _ in pairs), tuple(groups[b] for _, b in pairs), items, percent, kappa, low, high,
        difference, level, resamples, seed, tuple(notes),
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
