"""Hedge: runs as experts whose weights follow their losses, and the document that weighs most comes next."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cranfield.building.pools.pool_policy import (
    Policy,
    Proposals,
    entries_of,
    proposals,
    steady,
)
from cranfield.building.pools.pooled_lists import Mask
from cranfield.declared.settings import Setting
from cranfield.types import Array, Index64


class Hedge(Policy):
    r"""The document with the highest weighted loss, if it were not relevant.

    A run that has a document at rank r loses :math:`\frac12 \ln(Z/r)` if it is not relevant and wins as much if it is,
    where Z is the longest list of the topic; a run without the document loses nothing. The weight of a run is
    :math:`\beta^{loss}`, divided by the sum over runs; the document with the highest
    :math:`\sum_{runs} weight \cdot \frac12 \ln(Z/r)` comes next.
    """

    name = "hedge"
    estimates = "the weighted loss of the document"
    source = "Aslam, Pavlu & Savell, SIGIR 2003, doi:10.1145/860435.860517"
    parameters: ClassVar = {
        "beta": Setting(0.1, "the base of the weights; 1: runs keep equal weights", least=1e-12, most=1)
    }

    def prepare(self, sizes: Index64 | None) -> None:
        lists = self.lists
        entry_topic = lists.topic[lists.document]
        longest = np.ones(len(lists.topics))
        np.maximum.at(longest, entry_topic, lists.rank)
        self._cost = 0.5 * np.log(longest[entry_topic] / lists.rank)
        self.loss = np.zeros((len(lists.topics), len(lists.runs)))
        order = lists.by_document
        self._run, self._sorted_cost = lists.run[order], self._cost[order]
        self.weight = np.zeros(lists.size)
        """The weighted loss of each document; −1 once it is judged."""
        for topic in range(len(lists.topics)):
            self._weigh(topic)

    def _weigh(self, topic: int) -> None:
        begin, end = int(self.lists.start[topic]), int(self.lists.start[topic + 1])
        if begin == end:
            return
        starts = self.lists.document_start[begin : end + 1]
        share = self.shares(topic)
        part = slice(int(starts[0]), int(starts[-1]))
        weight = steady(np.add.reduceat(share[self._run[part]] * self._sorted_cost[part], starts[:-1] - starts[0]))
        self.weight[begin:end] = np.where(self.judged[begin:end], -1.0, weight)

    def shares(self, topic: int) -> Array:
        """The weights of the runs of a topic, which add up to 1."""
        loss = self.loss[topic]
        weight = self.values["beta"] ** (loss - loss.min())
        return np.asarray(weight / weight.sum())

    def propose(self, topics: Index64, skip: Mask | None = None) -> Proposals:
        documents = []
        for topic in topics.tolist():
            begin, end = int(self.lists.start[topic]), int(self.lists.start[topic + 1])
            weight = self.weight[begin:end]
            documents.append(
                begin + int((weight if skip is None else np.where(skip[begin:end], -1.0, weight)).argmax())
            )
        chosen = np.array(documents, dtype=np.int64)
        return proposals(self.lists, chosen, self.weight[chosen])

    def learn(self, topics: Index64, documents: Index64, relevant: Mask) -> None:
        super().learn(topics, documents, relevant)
        for topic in topics.tolist():
            self._weigh(topic)

    def update(self, topics: Index64, documents: Index64, relevant: Mask) -> None:
        entries, owner = entries_of(self.lists, documents)
        sign = np.where(relevant[owner], -1.0, 1.0)
        self.loss[topics[owner], self.lists.run[entries]] += sign * self._cost[entries]
