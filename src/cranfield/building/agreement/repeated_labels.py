"""Items that an assessor labels several times: how well assessors agree with themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.building.agreement.agreement_intervals import interval_of_cells
from cranfield.building.agreement.chance_corrected import cohen_of
from cranfield.building.assessor_labels import Labels
from cranfield.text import counted
from cranfield.types import Array, Index64


def first_labels(labels: Labels) -> tuple[Labels, tuple[str, ...]]:
    """The first label of each item by each assessor, and a note on how many more there are."""
    key = labels.item * len(labels.workers) + labels.worker
    first = np.zeros(len(labels), dtype=bool)
    first[np.unique(key, return_index=True)[1]] = True
    if first.all():
        return labels, labels.notes
    again = counted(int((~first).sum()), "repeated label")
    note = f"{again} of an item by the same assessor, used only for self-agreement"
    return labels.select(first), (*labels.notes, note)


@dataclass(frozen=True, eq=False)
class SelfAgreement:
    """The labels that assessors gave again: self-agreement of an assessor."""

    worker: Index64
    """The assessor of each repeated item."""
    confusions: Array
    """repeated items × scale × scale: the share of pairs of the item's labels with labels k and l."""
    workers: tuple[str, ...]
    notes: tuple[str, ...]

    def of_each(self) -> tuple[Index64, Array]:
        """The number of repeated items of each assessor, and the mean agreement on them; NaN without any."""
        size = len(self.workers)
        count = np.bincount(self.worker, minlength=size)
        agreed = np.bincount(self.worker, weights=np.trace(self.confusions, axis1=1, axis2=2), minlength=size)
        return count, np.divide(agreed, count, out=np.full(size, np.nan), where=count > 0)

    def of_all(self, *, resamples: int, level: float, seed: int) -> tuple[Array, Array, Array]:
        """Percent agreement and κ of all repeated items together: values, low and high ends of intervals."""
        q = self.confusions.shape[1]
        cells = self.confusions.reshape(len(self.confusions), -1)

        def both(sums: Array) -> Array:
            matrices = sums.reshape(-1, q, q)
            items, kappa = cohen_of(matrices, np.eye(q))
            return np.stack([np.trace(matrices, axis1=1, axis2=2) / items, kappa], axis=1)

        return both(cells.sum(axis=0, keepdims=True))[0], *interval_of_cells(cells, both, resamples, level, seed)


def self_agreement(labels: Labels) -> SelfAgreement:
    """Agreement of assessors with themselves, on items that they labelled several times.

    Each item of an assessor counts once, whatever the number of its labels. κ uses the shares of labels of all repeated
    items, so both labels of a pair have the same distribution.

    >>> twice = [("t1", "anna", 1), ("t1", "anna", 1), ("t2", "anna", 0), ("t2", "anna", 1)]
    >>> self_agreement(Labels.of(twice, on_duplicate="keep")).of_each()[1].tolist()
    [0.5]
    """
    q = len(labels.scale)
    key, of = np.unique(labels.item * len(labels.workers) + labels.worker, return_inverse=True)
    counts = np.bincount(of.ravel() * q + labels.label, minlength=len(key) * q).reshape(-1, q)
    repeated = counts.sum(axis=1) > 1
    counts, worker = counts[repeated].astype(np.float64), (key % len(labels.workers))[repeated]
    sizes = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(q)
    confusions = pairs / np.maximum(sizes * (sizes - 1), 1)[:, None, None]
    who = counted(len(np.unique(worker)), "assessor")
    notes = (f"self percent, self kappa: {counted(len(worker), 'item')} that {who} labelled again",)
    return SelfAgreement(worker, confusions, labels.workers, notes)
