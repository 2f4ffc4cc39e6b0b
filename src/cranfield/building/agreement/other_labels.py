"""Each label beside the labels of the other assessors of the same item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.building.assessor_labels import Labels
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False)
class OtherLabels:
    """The labels of items that others labelled too, and how the others labelled them."""

    labels: Labels
    """One label of each item by each assessor; only items with labels of two assessors or more."""
    at: Index64
    """The position of each label among the labels that were given."""

    @staticmethod
    def of(labels: Labels) -> OtherLabels:
        """The labels of items that two assessors or more labelled."""
        several = np.bincount(labels.item, minlength=len(labels.items))[labels.item] > 1
        return OtherLabels(labels.select(several), np.flatnonzero(several))

    @cached_property
    def shares(self) -> Array:
        """labels × scale: how the labels of the others are shared among the scale."""
        labels = self.labels
        others = labels.counts()[labels.item].astype(np.float64)
        others[np.arange(len(labels)), labels.label] -= 1
        return np.asarray(others / others.sum(axis=1, keepdims=True))

    @cached_property
    def agreed(self) -> Array:
        """The share of the others who gave the same label, for each label."""
        return np.asarray(self.shares[np.arange(len(self.labels)), self.labels.label])

    @cached_property
    def majority(self) -> Index64:
        """The most frequent label of the others, for each label; -1 if two are equally frequent."""
        best = self.shares.max(axis=1, keepdims=True)
        tied = (self.shares >= best - 1e-9).sum(axis=1) > 1
        return np.where(tied, -1, self.shares.argmax(axis=1))

    @cached_property
    def leniency(self) -> Array:
        """The value of each label minus the mean value of the others' labels."""
        return np.asarray(self.labels.values[self.labels.label] - self.shares @ self.labels.values)

    def of_assessors(self) -> list[Index64]:
        """The positions of the labels of each assessor, in the order of the labels."""
        order = np.argsort(self.labels.worker, kind="stable")
        counts = np.bincount(self.labels.worker, minlength=len(self.labels.workers))
        return np.split(order, np.cumsum(counts)[:-1])

    def confusions(self, rows: Index64 | NDArray[np.bool_]) -> Array:
        """labels × (scale × scale): the own label and the shares of the others' labels; a row sums to 1."""
        own, q = self.labels.label[rows], len(self.labels.scale)
        cells = np.zeros((len(own), q, q))
        cells[np.arange(len(own)), own] = self.shares[rows]
        return cells.reshape(len(own), -1)
