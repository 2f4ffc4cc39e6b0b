"""Agreement of each pair of assessors, and which labels they confuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.building.agreement.agreement_errors import cohen_error
from cranfield.building.agreement.agreement_settings import Relevant, check_paired
from cranfield.building.agreement.chance_corrected import closeness, cohen_of, divided
from cranfield.building.agreement.item_statistics import PairLabels, label_pairs
from cranfield.building.agreement.repeated_labels import first_labels
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.declared.operation import Level, operation
from cranfield.errors import UsageError
from cranfield.record import Record, column, table_of
from cranfield.table import Column, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64


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
        notes += (f"Cohen's κ is undefined (0/0) for {counted(undefined, 'pair')}: both use one label for all items",)
    possible = len(first.workers) * (len(first.workers) - 1) // 2
    if len(kappa) < possible:
        notes += (f"{possible - len(kappa):,} of {possible:,} pairs of assessors have no item in common, left out",)
    notes += (f"intervals: κ ± z × standard error (Fleiss, Cohen & Everitt 1969), level {100 * level:g}%",)
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
        notes,
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
        note = "each pair of assessors counts in both orders, so the matrix is symmetric"
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
    return Confusion(tuple(a for a, _ in names), tuple(b for _, b in names), first.scale, matrices, notes)
