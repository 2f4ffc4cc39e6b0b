"""What agreement depends on: sums over items, so that a resample of items is a weighted sum of the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.assessor_labels import Labels
from cranfield.types import Array, Index64

Sparse = Any
"""A sparse matrix of scipy."""
FEW = 10
"""Pairs of assessors with fewer common items are left out of Cohen's κ, if others have twice as many."""
RELIABLE = 30
"""Cohen's κ of pairs with fewer common items is biased by more than a little."""


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over items, for one or several weightings of the items: the first axis of every array.

    An item with r labels, of which r_k are label k, has the shares r_k / r, and r (r - 1) ordered pairs of labels.
    """

    items: Array
    """The number of items with a label."""
    paired: Array
    """The number of items with two labels or more."""
    shares: Array
    """weightings × scale: the sum of r_k / r."""
    pairs: Array
    """weightings × scale × scale: the sum of the share of pairs that have labels k and l."""
    coincidences: Array
    """weightings × scale × scale: Krippendorff's coincidence matrix, the same sum times r."""
    overlaps: Array
    """weightings × 4: pairs of labels that are both relevant, pairs of which one is, and the same of triples."""
    given: Array | None = None
    """weightings × assessors × scale: the number of labels that each assessor gave."""
    confusions: Array | None = None
    """weightings × pairs of assessors × scale × scale: the number of items with labels k and l."""


@dataclass(frozen=True, eq=False)
class ItemStatistics:
    """The terms of `Totals` for each item, or for each unit (such as a topic) that holds several items."""

    labels: Labels
    relevant: float | None
    """The lowest value that counts as relevant; None if labels have no order."""
    unit: Index64
    """The unit of each item."""
    by_assessor: bool = True
    """Is `Totals.given` needed?"""
    by_pair: bool = True
    """Is `Totals.confusions` needed?"""

    @cached_property
    def counts(self) -> Array:
        """items × scale: how many assessors gave the label."""
        return self.labels.counts().astype(np.float64)

    @cached_property
    def sizes(self) -> Array:
        """The number of labels of each item."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def pair_labels(self) -> PairLabels:
        """The labels of pairs of assessors on their common items."""
        return PairLabels.of(self.labels).supported()

    @cached_property
    def blocks(self) -> tuple[Sparse, ...]:
        """items × numbers, for each field of `Totals`."""
        from scipy import sparse

        shape, q = self.counts.shape, self.counts.shape[1]
        size = np.maximum(self.sizes, 1)
        several = np.maximum(size - 1, 1)
        at, k, m, times = label_pairs(self.counts)
        cells = (at, k * q + m)
        blocks = [
            sparse.csr_matrix(np.stack([self.sizes > 0, self.sizes > 1], axis=1).astype(np.float64)),
            sparse.csr_matrix(self.counts / size[:, None]),
            sparse.csr_matrix((times / (size * several)[at], cells), shape=(shape[0], q * q)),
            sparse.csr_matrix((times / several[at], cells), shape=(shape[0], q * q)),
            sparse.csr_matrix(self._overlaps()),
        ]
        labels = self.labels
        if self.by_assessor:
            column = labels.worker * q + labels.label
            ones = np.ones(len(labels))
            blocks.append(sparse.csr_matrix((ones, (labels.item, column)), shape=(shape[0], len(labels.workers) * q)))
        if self.by_pair:
            pairs = self.pair_labels
            column = (pairs.pair * q + pairs.label) * q + pairs.other
            ones = np.ones(len(column))
            blocks.append(sparse.csr_matrix((ones, (pairs.item, column)), shape=(shape[0], len(pairs.first) * q * q)))
        return tuple(blocks)

    def _overlaps(self) -> Array:
        """items × 4: pairs of labels that are both relevant, pairs of which one is, and the same of triples."""
        if self.relevant is None:
            return np.zeros((len(self.sizes), 4))
        r, others = self.sizes, self.counts[:, self.labels.values < self.relevant].sum(axis=1)
        m = r - others
        sets = np.stack([m, r, others])
        pairs = sets * (sets - 1) / 2
        triples = pairs * (sets - 2) / 3
        return np.stack([pairs[0], pairs[1] - pairs[2], triples[0], triples[1] - triples[2]], axis=1)

    @cached_property
    def matrix(self) -> Sparse:
        """units × numbers."""
        from scipy import sparse

        n = len(self.unit)
        member = sparse.csr_matrix((np.ones(n), (self.unit, np.arange(n))), shape=(self.num_units, n))
        return sparse.hstack([member @ block for block in self.blocks], format="csr")

    @property
    def num_units(self) -> int:
        return int(self.unit.max()) + 1 if len(self.unit) else 0

    def totals(self, sums: Array) -> Totals:
        """Weighted sums of the rows of `matrix` (weightings × numbers) under their names."""
        q, n = self.counts.shape[1], len(sums)
        ends = np.cumsum([block.shape[1] for block in self.blocks])[:-1]
        counts, shares, pairs, coincidences, overlaps, *more = np.split(sums, ends, axis=1)
        square = (n, q, q)
        given = more.pop(0).reshape(n, -1, q) if self.by_assessor else None
        confusions = more.pop(0).reshape(n, -1, q, q) if self.by_pair else None
        return Totals(
            counts[:, 0], counts[:, 1], shares, pairs.reshape(square), coincidences.reshape(square), overlaps, given,
            confusions,
        )  # fmt: skip


def label_pairs(counts: Array) -> tuple[Index64, Index64, Index64, Array]:
    """item, label, other label and number, for the ordered pairs of labels of each item.

    >>> [x.tolist() for x in label_pairs(np.array([[2.0, 1.0]]))]  # labels 0, 0, 1
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [2.0, 2.0, 2.0]]
    """
    item, label = np.nonzero(counts)
    count = counts[item, label]
    parts = [(item, label, label, count * (count - 1))]
    step = 1
    while step < counts.shape[1] and (same := item[step:] == item[:-step]).any():
        first, second = np.flatnonzero(same), np.flatnonzero(same) + step
        both = count[first] * count[second]
        parts.append((item[first], label[first], label[second], both))
        parts.append((item[first], label[second], label[first], both))
        step += 1
    at, k, m, times = (np.concatenate(part) for part in zip(*parts, strict=True))
    some = times > 0
    return at[some], k[some], m[some], times[some]


@dataclass(frozen=True, eq=False)
class PairLabels:
    """The labels that pairs of assessors gave to the same items."""

    first: Index64
    """The first assessor of each pair that has an item in common."""
    second: Index64
    item: Index64
    """The item of each entry."""
    pair: Index64
    """The pair of each entry."""
    label: Index64
    """The label of the first assessor."""
    other: Index64
    """The label of the second assessor."""

    @staticmethod
    def of(labels: Labels) -> PairLabels:
        """All pairs of labels of an item by different assessors; each assessor has one label of an item.

        >>> pairs = PairLabels.of(Labels.of([("t1", "anna", 1), ("t1", "ben", 0), ("t2", "ben", 1)]))
        >>> pairs.first.tolist(), pairs.second.tolist(), pairs.confusions(2).tolist()
        ([0], [1], [[[0, 0], [1, 0]]])
        """
        order = np.lexsort((labels.worker, labels.item))
        item, worker, label = labels.item[order], labels.worker[order], labels.label[order]
        firsts, seconds = [], []
        step = 1
        while step < len(item) and (same := item[step:] == item[:-step]).any():
            firsts.append(np.flatnonzero(same))
            seconds.append(firsts[-1] + step)
            step += 1
        none = np.zeros(0, dtype=np.int64)
        i, j = np.concatenate([none, *firsts]), np.concatenate([none, *seconds])
        size = len(labels.workers)
        pairs, pair = np.unique(worker[i] * size + worker[j], return_inverse=True)
        return PairLabels(pairs // size, pairs % size, item[i], pair.ravel(), label[i], label[j])

    @cached_property
    def num_items(self) -> Index64:
        """The number of common items of each pair."""
        return np.bincount(self.pair, minlength=len(self.first))

    def of_pairs(self, keep: NDArray[np.bool_]) -> PairLabels:
        """Some of the pairs."""
        number, entry = np.cumsum(keep) - 1, keep[self.pair]
        return PairLabels(
            self.first[keep], self.second[keep], self.item[entry], number[self.pair[entry]], self.label[entry],
            self.other[entry],
        )  # fmt: skip

    def supported(self) -> PairLabels:
        """The pairs whose κ means something: `FEW` common items, or half as many as any pair has if that is less."""
        return self.of_pairs(self.num_items >= self.least)

    @property
    def least(self) -> float:
        """The fewest common items of a pair that counts in Cohen's κ."""
        return float(min(FEW, self.num_items.max(initial=0) / 2))

    @property
    def scattered(self) -> bool:
        """Do pairs share so few of all items that the mean of their κ is biased, as in a large crowd?"""
        if len(self.first) < 2:
            return False
        median = float(np.median(self.num_items))
        return median < RELIABLE and len(np.unique(self.item)) > RELIABLE * median / 3

    def confusions(self, size: int) -> Index64:
        """pairs × scale × scale: how many items have label k of the first and l of the second assessor."""
        cell = (self.pair * size + self.label) * size + self.other
        return np.bincount(cell, minlength=len(self.first) * size * size).reshape(-1, size, size)


def num_label_pairs(labels: Labels) -> int:
    """The number of pairs of labels of the same item."""
    sizes = np.bincount(labels.item)
    return int((sizes * (sizes - 1) // 2).sum())
