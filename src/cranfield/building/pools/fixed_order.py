"""Policies whose order is fixed before the first judgment: by rank, or by a weight of the ranks in all runs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cranfield.building.pools.pool_policy import Policy, Proposals, proposals, steady, summed
from cranfield.building.pools.pooled_lists import Mask
from cranfield.declared.settings import Setting
from cranfield.types import Array, Index64


class FixedOrder(Policy):
    """Documents in the order of a weight, the highest first."""

    adaptive = False

    def weights(self) -> Array:
        """The weight of each document."""
        raise NotImplementedError

    def estimate(self) -> Array:
        """The estimate of each document."""
        return self.weight

    def prepare(self, sizes: Index64 | None) -> None:
        self.weight = self.weights()
        self.order = np.lexsort((np.arange(self.lists.size), -self.weight, self.lists.topic))
        self._shown = self.estimate()
        self._at = self.lists.start[:-1].copy()
        self._end = self.lists.start[1:].copy()

    def propose(self, topics: Index64, skip: Mask | None = None) -> Proposals:
        at = self._at[topics]
        while (stale := self.judged[self.order[at]]).any():
            at = at + stale
        self._at[topics] = at
        if skip is not None:
            later = self.order[int(at[0]) : int(self._end[topics[0]])]
            at = at + int(np.argmax(~self.judged[later] & ~skip[later]))
        documents = self.order[at]
        return proposals(self.lists, documents, self._shown[documents])


class Depth(FixedOrder):
    """All documents of rank 1, then all of rank 2, and so on: the pool of the first k documents of every run."""

    name = "depth"
    estimates = "none"
    source = "Sparck Jones & van Rijsbergen 1975; Ferro & Maistro 2024, Fig. 5"

    def weights(self) -> Array:
        return -np.asarray(self.lists.rank[self.lists.first], dtype=np.float64)

    def estimate(self) -> Array:
        return np.full(self.lists.size, np.nan)


class ReciprocalRank(FixedOrder):
    r"""By reciprocal rank fusion: :math:`\sum_{runs} 1 / (k + rank)`."""

    name = "rrf"
    estimates = "the weight of the document"
    source = "Cormack, Clarke & Büttcher, SIGIR 2009, doi:10.1145/1571941.1572114"
    parameters: ClassVar = {"k": Setting(60.0, "the constant added to each rank", least=0, most=1e6)}

    def weights(self) -> Array:
        weight = 1.0 / (self.values["k"] + self.lists.rank)
        return steady(summed(self.lists, weight))


class RankBiased(FixedOrder):
    r"""By what a document can add to the RBP of all runs: :math:`\sum_{runs} (1 - p) p^{rank - 1}`."""

    name = "rbp"
    estimates = "the weight of the document"
    source = "Moffat, Webber & Zobel, SIGIR 2007 (method A), doi:10.1145/1277741.1277806"
    parameters: ClassVar = {"p": Setting(0.8, "the persistence of the reader", least=0, most=1)}

    def weights(self) -> Array:
        p = self.values["p"]
        weight = (1 - p) * p ** (self.lists.rank - 1.0)
        return steady(summed(self.lists, weight))
