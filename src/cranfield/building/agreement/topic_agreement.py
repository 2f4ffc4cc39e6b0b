"""Agreement between assessors on each topic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.agreement.agreement_errors import error_of_mean
from cranfield.building.agreement.agreement_settings import check_paired, settings_of, unit_of
from cranfield.building.agreement.chance_corrected import divided
from cranfield.building.agreement.repeated_labels import first_labels
from cranfield.building.agreement.unseen_units import interval_with_unseen, unseen_units
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.record import Record
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

USUAL = ("percent", "fleiss", "ac1", "alpha", "overlap")
USUAL_ORDERED = ("percent", "fleiss", "ac2-quadratic", "alpha-ordinal", "overlap")
MEAN = "mean"


@dataclass(frozen=True, eq=False, repr=False)
class TopicAgreement(Record):
    """Coefficients of agreement for each topic."""

    figure = "describe_assessor_agreement"
    facts = ("level", "resamples", "seed")

    topics: tuple[str, ...]
    names: tuple[str, ...]
    """The coefficients."""
    items: Index64
    """The number of items with two labels or more, for each topic."""
    labels: Index64
    values: Array
    """topics × coefficients; NaN if undefined."""
    low: Array
    high: Array
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    @property
    def mean(self) -> Array:
        """The mean of each coefficient over the topics on which it is defined (Voorhees 2000 reports overlap so)."""
        defined = ~np.isnan(self.values)
        count = defined.sum(axis=0)
        return divided(np.where(defined, self.values, 0.0).sum(axis=0), count.astype(np.float64))

    def columns(self) -> dict[str, NDArray[Any]]:
        """topic, items, labels, coefficient, value, low, high."""
        t, c = (axis.ravel() for axis in np.indices(self.values.shape))
        return {
            "topic": np.array(self.topics, dtype=object)[t],
            "items": self.items[t],
            "labels": self.labels[t],
            "coefficient": np.array(self.names, dtype=object)[c],
            "value": self.values.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
        }

    def table(self) -> Table:
        """A row per topic, and a last row for the mean over topics."""
        heads = [Column("topic"), Column("items", "count"), Column("labels", "count")]
        heads += [Column(name, "number") for name in self.names]
        rows: list[tuple[Cell, ...]] = []
        for t, topic in enumerate(self.topics):
            cells = zip(self.values[t].tolist(), self.low[t].tolist(), self.high[t].tolist(), strict=True)
            rows.append(
                (topic, int(self.items[t]), int(self.labels[t]), *(Estimate("", "", *cell, 0, 0, 0) for cell in cells))
            )
        rows.append((MEAN, int(self.items.sum()), int(self.labels.sum()), *self.mean.tolist()))
        return Table(tuple(heads), tuple(rows), "Agreement between assessors on each topic", self.notes)


def topic_agreement(
    labels: LabelsLike,
    coefficients: Iterable[str] | None = None,
    *,
    relevant: float = 1,
    resamples: int = 1_000,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> TopicAgreement:
    """The coefficients of `agreement` for each topic, with bootstrap intervals over the items of the topic.

    >>> labels = [("1", "a", "anna", 1), ("1", "a", "ben", 1), ("2", "a", "anna", 1), ("2", "a", "ben", 0)]
    >>> topic_agreement(labels, ["percent"], resamples=0).values.tolist()
    [[1.0], [0.0]]
    """
    first, notes = first_labels(Labels.of(labels))
    first.need_topics()
    check_paired(first)
    if coefficients is None:
        usual = USUAL_ORDERED if first.ordered and len(first.scale) > 2 else USUAL
        coefficients = usual if first.ordered else [name for name in usual if name != "overlap"]
    settings, more = settings_of(
        "topic_agreement", first, coefficients, relevant=relevant, unit="item", interval="bootstrap",
        resamples=resamples, level=level, seed=seed,
    )  # fmt: skip
    statistics = settings.statistics(first, unit_of(first, "topic"))
    values = settings.computed(statistics, statistics.matrix.toarray())
    by_item = replace(statistics, unit=unit_of(first, "item"))
    order = np.argsort(first.topic, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(first.topic, minlength=len(first.topic_names)))[:-1])
    low, high = np.full((2, *values.shape), np.nan)
    unseen = unseen_units(by_item) if resamples else None
    for t, part in enumerate(parts):
        if resamples and len(part) > 1:
            rows = by_item.matrix[part]
            if unseen is not None:
                low[t], high[t], _ = interval_with_unseen(
                    rows, unseen, lambda sums: settings.computed(by_item, sums), resamples, level, [seed, t]
                )
                low[t], high[t] = (np.where(np.isnan(values[t]), np.nan, end) for end in (low[t], high[t]))
        if progress is not None:
            progress(t + 1, len(parts))
    sizes = np.bincount(first.item, minlength=len(first.items))
    items = np.bincount(first.topic, weights=sizes > 1, minlength=len(parts)).astype(np.int64)
    given = np.bincount(first.topic, weights=sizes, minlength=len(parts)).astype(np.int64)
    names = tuple(one.name for one in settings.coefficients)
    errors = [error_of_mean(column, np.arange(len(column))) for column in values.T]
    spread = ", ".join(f"{name} {error:.4f}" for name, error in zip(names, errors, strict=True) if error == error)
    notes += (*more, *([f"standard error of the mean over topics: {spread}"] if spread else []))
    if resamples:
        notes += (f"intervals: percentile bootstrap over the items of a topic, level {100 * level:g}%, seed {seed}",)
    alone = [name for name, count in zip(first.topic_names, items.tolist(), strict=True) if not count]
    if alone:
        notes += (f"{counted(len(alone), 'topic')} without an item that two assessors labelled: {listed(alone)}",)
    undefined = (np.isnan(values) & (items > 0)[:, None]).sum(axis=0)
    unclear = [f"{name} ({count:,})" for name, count in zip(names, undefined.tolist(), strict=True) if count]
    if unclear:
        notes += (f"topics on which a coefficient is undefined (0/0), left out of its mean: {listed(unclear)}",)
    return TopicAgreement(first.topic_names, names, items, given, values, low, high, level, resamples, seed, notes)
