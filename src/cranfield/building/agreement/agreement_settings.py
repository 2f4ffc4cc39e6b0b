"""What is computed when agreement is measured: coefficients, what is resampled, and checks of the labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cranfield.building.agreement.chance_corrected import (
    COEFFICIENTS,
    WEIGHTED,
    Coefficient,
    check_values,
    coefficient_of,
)
from cranfield.building.agreement.item_statistics import ItemStatistics, PairLabels, num_label_pairs
from cranfield.building.assessor_labels import Labels
from cranfield.declared.operation import RESAMPLES, about
from cranfield.errors import DataError, UsageError
from cranfield.notes import Notes
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

Relevant = Annotated[float, about("The lowest grade that counts as relevant.", spelled="--rel GRADE")]
IntervalResamples = Annotated[
    int, about("Number of resamples for intervals; 0: no intervals.", **RESAMPLES | {"least": 0})
]
ENOUGH_TOPICS = 10
"""With as many topics, they are resampled by default instead of items."""
MOST_PAIRS = 20_000_000
"""Cohen's κ over pairs of assessors is left out if there are more pairs of labels than this."""


@dataclass(frozen=True)
class AgreementSettings:
    """What `agreement` and `agreement_by_topic` compute."""

    coefficients: tuple[Coefficient, ...]
    relevant: float
    unit: str
    interval: str
    resamples: int
    level: float
    seed: int

    def statistics(self, labels: Labels, unit: Index64) -> ItemStatistics:
        """The sums that the coefficients need."""
        names = {coefficient.name for coefficient in self.coefficients}
        relevant = self.relevant if names & {"overlap", "overlap-3"} else None
        pairs = any(coefficient.error == "cohen" for coefficient in self.coefficients)
        return ItemStatistics(labels, relevant, unit, "conger" in names, pairs)

    def computed(self, statistics: ItemStatistics, sums: Array) -> Array:
        """weightings × coefficients, from sums over units."""
        totals = statistics.totals(sums)
        values = [kind.compute(totals, kind.weights(statistics.labels)) for kind in self.coefficients]
        return np.stack(values, axis=1)


def settings_of(
    labels: Labels,
    coefficients: Iterable[str] | None,
    *,
    relevant: float,
    unit: str | None,
    interval: str,
    resamples: int,
    level: float,
    seed: int,
) -> tuple[AgreementSettings, tuple[str, ...]]:
    """The settings that fit the labels; the notes say which coefficients were left out."""
    if unit == "topic":
        labels.need_topics()
    if unit is None:
        unit = "topic" if labels.topics and len(labels.topic_names) >= ENOUGH_TOPICS else "item"
    chosen, notes = _chosen(labels, coefficients)
    return AgreementSettings(chosen, relevant, unit, interval, resamples, level, seed), notes


def _chosen(labels: Labels, names: Iterable[str] | None) -> tuple[tuple[Coefficient, ...], tuple[str, ...]]:
    """The coefficients to compute, and notes on those that are left out."""
    notes = []
    too_many = num_label_pairs(labels) > MOST_PAIRS
    if names is not None:
        wanted = tuple({(coefficient := coefficient_of(name)).name: coefficient for name in names}.values())
        if not wanted:
            raise UsageError(f"agreement: no coefficient is named; there are {listed(COEFFICIENTS, most=20)}")
        if too_many and any(coefficient.error == "cohen" for coefficient in wanted):
            raise UsageError(
                f"agreement: {num_label_pairs(labels):,} pairs of labels are too many for Cohen's κ of all pairs of "
                "assessors; use conger"
            )
        for coefficient in wanted:
            if coefficient.ordered:
                check_values(coefficient, labels.values)
        return wanted, ()
    kept = list(COEFFICIENTS.values())
    ordered = labels.ordered
    if not ordered:
        kept = [coefficient for coefficient in kept if not coefficient.ordered]
        notes.append(
            f"labels {listed(labels.scale)} are words without an order: no weighted or ordinal coefficients, no overlap"
        )
    elif len(labels.scale) <= 2:
        kept = [coefficient for coefficient in kept if coefficient.name not in WEIGHTED]
    # Grades are rarely ratios, so that these coefficients have to be asked for.
    kept = [coefficient for coefficient in kept if coefficient.kind != "ratio"]
    if np.bincount(labels.item).max(initial=0) < 3:
        kept = [coefficient for coefficient in kept if coefficient.name != "overlap-3"]
    if too_many:
        kept = [coefficient for coefficient in kept if coefficient.error != "cohen"]
        notes.append(f"{num_label_pairs(labels):,} pairs of labels are too many for Cohen's κ; Conger's κ is similar")
    elif (pairs := PairLabels.of(labels).supported()).scattered:
        kept = [coefficient for coefficient in kept if coefficient.error != "cohen"]
        median = f"{np.median(pairs.num_items):g}"
        notes.append(f"no Cohen's κ: pairs of assessors share {median} items (median), too few; Conger's κ is there")
    return tuple(kept), tuple(notes)


def first_labels(labels: Labels) -> tuple[Labels, Notes]:
    """The first label of each item by each assessor, and notes: those of the labels, and how many more there are."""
    key = labels.item * len(labels.workers) + labels.worker
    first = np.zeros(len(labels), dtype=bool)
    first[np.unique(key, return_index=True)[1]] = True
    if first.all():
        return labels, Notes(labels.notes)
    again = counted(int((~first).sum()), "repeated label")
    note = f"{again} of an item by the same assessor, used only for self-agreement"
    return labels.select(first), Notes([*labels.notes, note])


def check_paired(labels: Labels) -> None:
    """Raise an error if no item has labels of two assessors."""
    if len(labels.workers) < 2:
        name = listed(labels.workers)
        raise DataError("labels", None, f"all labels are by one assessor, {name}; agreement needs two or more")
    if np.bincount(labels.item).max(initial=0) < 2:
        sizes = f"{counted(len(labels.items), 'item')}, {counted(len(labels.workers), 'assessor')}"
        example = f"{labels.workers[labels.worker[0]]} labels {labels.items[labels.item[0]]}"
        raise DataError("labels", None, f"no item has labels of two assessors ({sizes}); for example, only {example}")


def unit_of(labels: Labels, unit: str) -> Index64:
    """The unit of each item."""
    return labels.topic if unit == "topic" else np.arange(len(labels.items), dtype=np.int64)
