"""Fusion methods, and the normalisations that some of them read scores through, list by list.

A method is a function: the score of a document from its ranks or scores in several runs. To add one, add it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cranfield import _core
from cranfield.assessed.given_runs import pooled_documents
from cranfield.assessed.join_options import JoinOptions
from cranfield.collection.accepted_inputs import RunsLike
from cranfield.declared.registry import Named, Registry, registers
from cranfield.declared.settings import Setting
from cranfield.errors import DataError
from cranfield.types import Array, Index64, Progress


@dataclass(frozen=True, eq=False)
class RetrievedLists:
    """All lists (run × topic), one after the other. Documents are numbered topic by topic.

    | array | one per | meaning |
    |---|---|---|
    | `list_run`, `list_topic`, `list_start` | list | its run, its topic, and its first entry |
    | `document`, `score` | entry, by list and rank | the number of the document, and its score |
    | `start` | topic | its first document; the last entry is the number of documents |
    """

    topics: tuple[str, ...]
    runs: tuple[str, ...]
    paths: tuple[str, ...]
    list_run: Index64
    list_topic: Index64
    list_start: Index64
    document: Index64
    score: Array
    start: Index64
    pooled: _core.PooledDocuments

    @staticmethod
    def of(
        runs: RunsLike, *, depth: int | None, options: JoinOptions, progress: Progress | None = None
    ) -> RetrievedLists:
        """The lists of anything that `evaluate` takes, down to `depth`."""
        pooled, names, paths = pooled_documents(runs, depth, options, progress, scores=True)
        documents = pooled.documents()
        start = documents.list_start.astype(np.int64)
        list_topic, list_start = pooled.list_topic.astype(np.int64), pooled.list_start.astype(np.int64)
        return RetrievedLists(
            topics=tuple(documents.topics), runs=names, paths=paths,
            list_run=pooled.list_run.astype(np.int64), list_topic=list_topic, list_start=list_start,
            document=pooled.document.astype(np.int64) + np.repeat(start[list_topic], np.diff(list_start)),
            score=pooled.score, start=start, pooled=pooled,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """The number of documents of all topics."""
        return int(self.start[-1])

    @cached_property
    def length(self) -> Index64:
        """For each list, the number of its documents."""
        return np.diff(self.list_start)

    @cached_property
    def rank(self) -> Index64:
        """For each entry, its rank in its list."""
        return np.arange(len(self.document)) - np.repeat(self.list_start[:-1], self.length) + 1

    def per_entry(self, numbers: Array | Index64) -> Any:
        """A number for each list, repeated for each of its entries."""
        return np.repeat(numbers, self.length)

    def by_run(self) -> Iterator[slice]:
        """The entries of each run: its lists follow one another."""
        ends = self.list_start[np.searchsorted(self.list_run, np.arange(len(self.runs) + 1))]
        return (slice(begin, end) for begin, end in pairwise(ends.tolist()))

    def where(self, list_number: int) -> str:
        """A list, for messages: the file or the run, and the topic."""
        run = int(self.list_run[list_number])
        return f"{self.paths[run] or self.runs[run]}: topic {self.topics[int(self.list_topic[list_number])]!r}"

    def with_scores(self, score: Array) -> RetrievedLists:
        """The same lists with other scores."""
        return replace(self, score=score)


class Normalisation(NamedTuple):
    """From the scores of a list to scores on a common scale."""

    name: str
    of: Callable[[RetrievedLists], Array]
    aliases: tuple[str, ...] = ()


def _reduced(lists: RetrievedLists, reduce: np.ufunc, scores: Array) -> Array:
    """A number for each list from its scores; 0 for an empty list, which has no entries that could use it."""
    filled = np.flatnonzero(lists.length)
    numbers = np.zeros(len(lists.length))
    if len(filled):
        numbers[filled] = reduce.reduceat(scores, lists.list_start[:-1][filled])
    return numbers


def _ratio(above: Array, below: Array, otherwise: Array | float) -> Array:
    result = np.empty_like(above)
    result[...] = otherwise
    return np.divide(above, below, out=result, where=below > 0)


def min_max(lists: RetrievedLists) -> Array:
    """(s − min) / (max − min)."""
    low, high = _reduced(lists, np.minimum, lists.score), _reduced(lists, np.maximum, lists.score)
    return _ratio(lists.score - lists.per_entry(low), lists.per_entry(high - low), 1.0)


def min_max_inverted(lists: RetrievedLists) -> Array:
    """(max − s) / (max − min)."""
    low, high = _reduced(lists, np.minimum, lists.score), _reduced(lists, np.maximum, lists.score)
    return _ratio(lists.per_entry(high) - lists.score, lists.per_entry(high - low), 1.0)


def by_maximum(lists: RetrievedLists) -> Array:
    """s / max."""
    high = _reduced(lists, np.maximum, lists.score)
    low = np.flatnonzero((high <= 0) & (lists.length > 0))
    if len(low):
        message = f"the highest score is {high[low[0]]:g}, must be above 0 for max; min-max and z take any scores"
        raise DataError(lists.where(int(low[0])), None, message)
    return np.asarray(lists.score / lists.per_entry(high))


def by_sum(lists: RetrievedLists) -> Array:
    """(s − min) / Σ (s − min)."""
    above = lists.score - lists.per_entry(_reduced(lists, np.minimum, lists.score))
    total = _reduced(lists, np.add, above)
    return _ratio(above, lists.per_entry(total), lists.per_entry(1 / np.maximum(lists.length, 1)))


def z_score(lists: RetrievedLists) -> Array:
    """(s − mean) / standard deviation."""
    length = np.maximum(lists.length, 1)
    from_mean = lists.score - lists.per_entry(_reduced(lists, np.add, lists.score) / length)
    deviation = np.sqrt(_reduced(lists, np.add, from_mean**2) / length)
    constant = _reduced(lists, np.minimum, lists.score) == _reduced(lists, np.maximum, lists.score)
    return _ratio(from_mean, lists.per_entry(np.where(constant, 0.0, deviation)), 0.0)


def by_rank(lists: RetrievedLists) -> Array:
    """1 − (rank − 1) / n."""
    return np.asarray(1 - (lists.rank - 1) / lists.per_entry(lists.length))


INVERTED = "min-max-inverted"
"""The normalisation of scores of which the lowest is best."""
NORMALISATIONS: Registry[Normalisation] = Registry(
    "normalisation",
    (
        Normalisation("min-max", min_max),
        Normalisation(INVERTED, min_max_inverted),
        Normalisation("max", by_maximum),
        Normalisation("sum", by_sum),
        Normalisation("z", z_score, ("zmuv", "z-score")),
        Normalisation("rank", by_rank),
        Normalisation("none", lambda lists: lists.score),
    ),
)


def normalised(lists: RetrievedLists, name: str) -> RetrievedLists:
    """The same lists with normalised scores."""
    chosen = NORMALISATIONS.find(name)
    if chosen.name not in ("rank", "none") and not np.isfinite(lists.score).all():
        entry = int(np.flatnonzero(~np.isfinite(lists.score))[0])
        place = int(np.searchsorted(lists.list_start, entry, side="right")) - 1
        message = f"the score of rank {int(lists.rank[entry])} is {lists.score[entry]}; {name} needs finite scores"
        raise DataError(lists.where(place), None, f"{message}: use rank, or a method of ranks such as rrf")
    return lists.with_scores(chosen.of(lists))


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
        for number in by_topic[ends[topic] : ends[topic + 1]].tolist():
            own = slice(int(lists.list_start[number]), int(lists.list_start[number + 1]))
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


FOX = "Fox & Shaw 1993"
MOURAO = "Mourão et al. 2015"


Fused = Callable[[RetrievedLists, Array, float], Array]
"""From the lists, the weight of each entry and the value of the parameter: the score of each document."""


@dataclass(frozen=True)
class FusionMethod:
    """How documents are scored from several lists."""

    name: str
    fused: Fused
    uses: str
    """`ranks`, or `scores`, which are normalised first."""
    source: str
    parameters: Mapping[str, Setting] = field(default_factory=dict)
    """At most one."""

    @property
    def formula(self) -> str:
        """What the method computes, in a line."""
        return (self.fused.__doc__ or "").strip()


FUSION_METHODS: Registry[FusionMethod] = Registry("fusion method")


def _method(name: str, uses: str, source: str, **parameters: Setting) -> Callable[[Fused], Fused]:
    return registers(FUSION_METHODS, FusionMethod, name, uses=uses, source=source, parameters=parameters)


class Fusion(Named):
    """A fusion method with the value of its parameter.

    >>> str(Fusion.of("RRF(k=20)")), Fusion.of("rrf(k=60)") == Fusion.of("rrf")
    ('rrf(k=20)', True)
    """

    registry = FUSION_METHODS

    @property
    def method(self) -> FusionMethod:
        """What the method computes."""
        return FUSION_METHODS[self.name]

    @property
    def value(self) -> float:
        """The value of the parameter; 0 for a method without one."""
        return float(next(iter(self.values.values()), 0.0))


def _total(lists: RetrievedLists, adds: Array) -> Array:
    """The sum of a number over all lists that retrieve a document."""
    return np.bincount(lists.document, weights=adds, minlength=lists.size).astype(np.float64)


def _count(lists: RetrievedLists, weights: Array) -> Array:
    """The number of lists of weight above 0 that retrieve a document."""
    return _total(lists, (weights > 0).astype(np.float64))


# -- by ranks


@_method("rrf", "ranks", "Cormack et al. 2009", k=Setting(60.0, least=0))
def rrf(lists: RetrievedLists, weights: Array, k: float) -> Array:
    """Σ w / (k + rank)"""
    return _total(lists, weights / (k + lists.rank))


@_method("isr", "ranks", MOURAO)
def isr(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """n · Σ w / rank², n the number of lists with the document"""
    return _count(lists, weights) * _total(lists, weights / np.square(lists.rank.astype(np.float64)))


@_method("logisr", "ranks", MOURAO)
def logisr(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """ln(n) · Σ w / rank²; a document of one list gets 0"""
    return _log_isr(lists, weights, 0.0)


@_method("lognisr", "ranks", MOURAO, sigma=Setting(0.01, above=0))
def lognisr(lists: RetrievedLists, weights: Array, sigma: float) -> Array:
    """ln(n + sigma) · Σ w / rank²"""
    return _log_isr(lists, weights, sigma)


def _log_isr(lists: RetrievedLists, weights: Array, sigma: float) -> Array:
    factor = np.log(np.maximum(_count(lists, weights), 1) + sigma)
    return np.asarray(factor * _total(lists, weights / np.square(lists.rank.astype(np.float64))))


@_method("borda", "ranks", "Aslam & Montague 2001")
def borda(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """Σ w · (c − rank + 1), c the documents of the topic; the documents that a list lacks share its other points"""
    documents = np.diff(lists.start)[lists.list_topic]
    shared = (documents - lists.length + 1) / 2
    points = lists.per_entry(documents) - lists.rank + 1 - lists.per_entry(shared)
    list_weight = np.zeros(len(shared))
    filled = lists.length > 0
    list_weight[filled] = weights[lists.list_start[:-1][filled]]
    base = np.bincount(lists.list_topic, weights=list_weight * shared, minlength=len(lists.topics))
    return _total(lists, weights * points) + np.repeat(base, np.diff(lists.start))


@_method("condorcet", "ranks", "Montague & Aslam 2002")
def condorcet(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """c − place + 1 in an order in which no document is beaten, by the weights of the lists, by the one after it"""
    return condorcet_scores(lists, weights)


@_method("rbc", "ranks", "Bailey et al. 2017", phi=Setting(0.8, above=0, below=1))
def rbc(lists: RetrievedLists, weights: Array, phi: float) -> Array:
    """Σ w · (1 − phi) · phi^(rank − 1)"""
    return _total(lists, weights * (1 - phi) * phi ** (lists.rank - 1.0))


# -- by scores


@_method("combsum", "scores", FOX)
def combsum(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """Σ w · s"""
    return _total(lists, weights * lists.score)


@_method("combmnz", "scores", FOX)
def combmnz(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """n · Σ w · s, n the number of lists with the document"""
    return _count(lists, weights) * _total(lists, weights * lists.score)


@_method("combgmnz", "scores", "Lee 1997", gamma=Setting(2.0))
def combgmnz(lists: RetrievedLists, weights: Array, gamma: float) -> Array:
    """n^gamma · Σ w · s"""
    count = _count(lists, weights)
    power = np.where(count > 0, np.power(np.maximum(count, 1), gamma), 0.0)
    return np.asarray(power * _total(lists, weights * lists.score))


@_method("combanz", "scores", FOX)
def combanz(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """Σ w · s / Σ w over the lists with the document"""
    total = _total(lists, weights)
    return np.divide(_total(lists, weights * lists.score), total, out=np.zeros(lists.size), where=total > 0)


@_method("combmax", "scores", FOX)
def combmax(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """the highest w · s"""
    return _extreme(lists, weights, np.maximum, -np.inf)


@_method("combmin", "scores", FOX)
def combmin(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """the lowest w · s of the lists with the document"""
    return _extreme(lists, weights, np.minimum, np.inf)


@_method("combmed", "scores", FOX)
def combmed(lists: RetrievedLists, weights: Array, _: float) -> Array:
    """the median w · s of the lists with the document"""
    used = np.flatnonzero(weights > 0)
    value, document = (weights * lists.score)[used], lists.document[used]
    order = np.lexsort((value, document))
    value, count = value[order], np.bincount(document, minlength=lists.size)
    begin = np.cumsum(count) - count
    some = np.flatnonzero(count)
    median = np.zeros(lists.size)
    low, high = begin[some] + (count[some] - 1) // 2, begin[some] + count[some] // 2
    median[some] = (value[low] + value[high]) / 2
    return median


def _extreme(lists: RetrievedLists, weights: Array, choose: np.ufunc, start: float) -> Array:
    best = np.full(lists.size, start)
    for run in lists.by_run():  # a run has a document of a topic at most once
        used = np.flatnonzero(weights[run] > 0)
        document, value = lists.document[run][used], (weights[run] * lists.score[run])[used]
        best[document] = choose(best[document], value)
    return np.where(np.isfinite(best), best, 0.0)
