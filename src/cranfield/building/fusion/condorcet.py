"""Condorcet fusion: of two documents, the one that most lists prefer comes first."""

from __future__ import annotations

import numpy as np

from cranfield.building.fusion.retrieved_lists import RetrievedLists
from cranfield.types import Array, Index64

BLOCK = 1 << 22
"""Pairs of documents that are compared at a time."""


def condorcet_scores(lists: RetrievedLists, weights: Array) -> Array:
    """The score of each document: c for the first of the c documents of its topic, 1 for the last."""
    scores = np.empty(lists.size)
    by_topic = np.argsort(lists.list_topic, kind="stable")
    ends = np.searchsorted(lists.list_topic[by_topic], np.arange(len(lists.topics) + 1))
    for topic in range(len(lists.topics)):
        first, last = int(lists.start[topic]), int(lists.start[topic + 1])
        ranks, votes = [], []
        for one in by_topic[ends[topic] : ends[topic + 1]].tolist():
            own = slice(int(lists.list_start[one]), int(lists.list_start[one + 1]))
            if own.stop > own.start:
                rank = np.full(last - first, np.inf)  # a document that the list lacks is below all others
                rank[lists.document[own] - first] = lists.rank[own]
                ranks.append(rank)
                votes.append(weights[own.start])
        if ranks:
            place = np.empty(last - first)
            place[condorcet_order(np.array(ranks), np.array(votes))] = np.arange(last - first, 0, -1)
            scores[first:last] = place
    return scores


def condorcet_order(ranks: Array, votes: Array) -> Index64:
    """The documents, best first: no document is beaten by the one after it.

    `ranks` is lists × documents. A document beats another if the lists that rank it higher have more votes. At first,
    documents are sorted by the number of documents that they beat (ties count half), which is the order if there are no
    cycles; then each moves up past the documents that it beats.

    >>> condorcet_order(np.array([[1, 2, 3], [2, 1, 3], [2, 3, 1]]), np.ones(3)).tolist()
    [0, 1, 2]
    """
    documents = ranks.shape[1]
    wins = np.empty(documents)
    step = max(1, BLOCK // documents)
    for begin in range(0, documents, step):
        wins[begin : begin + step] = np.sign(_margin(ranks, votes, slice(begin, begin + step))).sum(axis=1)
    order = np.lexsort((np.arange(documents), -wins))

    def beats(upper: Index64, lower: Index64) -> Array:
        return np.asarray(votes @ (np.sign(_minus(ranks[:, upper], ranks[:, lower]))))

    if not (beats(order[:-1], order[1:]) > 0).any():  # the lower one has the better ranks in no pair of neighbours
        return order
    path: list[int] = []
    for document in order.tolist():
        place = len(path)
        while place and beats(np.array([path[place - 1]]), np.array([document]))[0] > 0:
            place -= 1
        path.insert(place, document)
    return np.array(path)


def _minus(first: Array, second: Array) -> Array:
    """The difference of ranks; 0 for two documents that a list lacks."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(first - second, nan=0.0, posinf=1.0, neginf=-1.0)


def _margin(ranks: Array, votes: Array, rows: slice) -> Array:
    """The votes for each document of `rows` against each document."""
    margin = np.zeros((ranks[0, rows].size, ranks.shape[1]))
    for rank, vote in zip(ranks, votes.tolist(), strict=True):
        margin += vote * np.sign(_minus(rank[None, :], rank[rows, None]))
    return margin
