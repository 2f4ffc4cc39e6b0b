"""Samples: policies that draw documents at random with known probabilities, and the judgments of what they drew.

Measures such as xinfAP and statAP estimate scores from these probabilities.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.sampling import NOT_DRAWN
from cranfield.assessed.segments import position_in_segment, starts_of
from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.pool_policies import FixedOrder, steady, summed
from cranfield.building.pools.pooled_lists import Mask, PooledLists
from cranfield.collection.file_formats.formats import QRELS
from cranfield.collection.file_formats.writing import Outgoing, Part, encode
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import PathLike, write_bytes
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note
from cranfield.record import Record, column
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

BOUNDS = (10, 25, 50, 100, 250, 500, 1000)
"""The deepest rank of each stratum, if none are given."""


class Stratum(NamedTuple):
    """Documents whose best rank is at most `rank`, below the stratum before; None: `share` follows from the budget."""

    rank: int
    share: float | None = None


def read_strata(text: str) -> tuple[Stratum, ...]:
    """Strata from text: the deepest rank of each, with or without the share to draw.

    >>> read_strata("10:1,100:0.2")
    (Stratum(rank=10, share=1.0), Stratum(rank=100, share=0.2))
    """
    strata = []
    for part in text.replace(",", " ").split():
        match = re.fullmatch(r"(\d+)(?::(\d*\.?\d+))?", part)
        if match is None:
            raise UsageError(f"strata: {part!r}, expected a rank such as 10, or a rank and a share such as 10:0.5")
        strata.append(Stratum(int(match[1]), None if match[2] is None else float(match[2])))
    ranks = [stratum.rank for stratum in strata]
    if not ranks or ranks[0] < 1 or ranks != sorted(set(ranks)):
        raise UsageError(f"strata: ranks {', '.join(map(str, ranks)) or 'none'}, must rise from 1 on")
    if len({stratum.share is None for stratum in strata}) > 1:
        raise UsageError(f"strata: {text!r}, give a share for every stratum or for none")
    wrong = [stratum.share for stratum in strata if stratum.share is not None and not 0 < stratum.share <= 1]
    if wrong:
        raise UsageError(f"strata: a share of {wrong[0]:g}, must be above 0, at most 1")
    return tuple(strata)


def shared(total: int, sizes: Index64, load: Index64 | None = None) -> Index64:
    """Divide a number as evenly as the sizes allow; what is left over goes to the first. `load` is there already.

    >>> shared(10, np.array([2, 9, 9])).tolist()
    [2, 4, 4]
    >>> shared(5, np.array([9, 9, 9]), load=np.array([4, 0, 0])).tolist()
    [0, 3, 2]
    """
    owner = np.repeat(np.arange(len(sizes)), sizes)
    level = position_in_segment(starts_of(np.asarray(sizes, dtype=np.int64)))
    if load is not None:
        level = level + load[owner]
    first = np.lexsort((owner, level))[: max(total, 0)]
    return np.asarray(np.bincount(owner[first], minlength=len(sizes)), dtype=np.int64)


class Sampled(FixedOrder):
    """The drawn documents, in random order; the others are never proposed."""

    adaptive = False
    samples = True
    estimates = "the probability of having been drawn"

    def prepare(self, sizes: Index64 | None) -> None:
        if sizes is None and not self.has_shares():
            raise UsageError(f"{self.name} needs the number of documents to draw: give a budget")
        lists = self.lists
        wanted = np.diff(lists.start) if sizes is None else np.minimum(sizes, np.diff(lists.start))
        self.stratum = np.zeros(lists.size, dtype=np.int64)
        """For each document, the number of its stratum within its topic."""
        self.probability = np.zeros(lists.size)
        self.drawn = np.zeros(lists.size, dtype=bool)
        key = np.full(lists.size, np.inf)
        prior = self.weights()
        for topic, rng in enumerate(self.generators()):
            own = slice(int(lists.start[topic]), int(lists.start[topic + 1]))
            if own.start == own.stop:
                continue
            if wanted[topic] < 1:
                raise UsageError(f"{self.name}: topic {lists.topics[topic]!r} has a budget of 0, must be 1 or more")
            stratum, probability, drawn = self.draw(prior[own], int(wanted[topic]), rng)
            self.stratum[own], self.probability[own], self.drawn[own] = stratum, probability, drawn
            key[own] = np.where(drawn, rng.random(len(drawn)), np.inf)
        self.order = np.lexsort((key, lists.topic))
        self.left = np.bincount(lists.topic[self.drawn], minlength=len(lists.topics))
        self._shown = self.probability
        self._at = lists.start[:-1].copy()
        self._end = self._at + self.left

    def has_shares(self) -> bool:
        """Whether the size of the sample follows from the strata."""
        return False

    @abstractmethod
    def draw(self, weights: Array, size: int, rng: np.random.Generator) -> tuple[Index64, Array, Mask]:
        """The stratum and the probability of each document of a topic, and whether it was drawn."""

    def learn(self, topics: Index64, documents: Index64, relevant: Mask) -> None:
        super().learn(topics, documents, relevant)
        self.left[topics] += ~self.drawn[documents]  # other documents were never to be proposed

    def can_propose(self, topic: int, skip: Mask | None = None) -> bool:
        own = slice(int(self.lists.start[topic]), int(self.lists.start[topic + 1]))
        free = self.drawn[own] & ~self.judged[own]
        return bool((free if skip is None else free & ~skip[own]).any())


class Stratified(Sampled):
    """Strata by best rank; in each stratum, a simple random sample without replacement.

    A document of a stratum of N documents, of which n are drawn, has the probability n/N. The strata share the budget
    evenly, so that deep strata, which are larger, are sampled more thinly; or each has a share of its own.
    """

    name = "stratified"
    source = "Yilmaz, Kanoulas & Aslam, SIGIR 2008, doi:10.1145/1390334.1390437"

    def has_shares(self) -> bool:
        return bool(self._strata()) and all(stratum.share is not None for stratum in self._strata())

    def _strata(self) -> Sequence[Stratum]:
        strata: Sequence[Stratum] = self.values.get("strata") or ()
        return strata

    def weights(self) -> Array:
        return np.asarray(self.lists.rank[self.lists.first], dtype=np.float64)

    def draw(self, weights: Array, size: int, rng: np.random.Generator) -> tuple[Index64, Array, Mask]:
        strata = self._strata() or [Stratum(rank) for rank in BOUNDS]
        bounds = np.array([stratum.rank for stratum in strata[:-1]])
        _, stratum = np.unique(np.searchsorted(bounds, weights, side="left"), return_inverse=True)
        if self.has_shares():
            share = np.array([stratum.share for stratum in strata], dtype=np.float64)
            share = share[np.unique(np.searchsorted(bounds, weights, side="left"))]
            sizes = np.bincount(stratum)
            wanted = np.minimum(sizes, np.maximum(np.round(share * sizes).astype(np.int64), 1))
        else:
            stratum = np.minimum(stratum, size - 1)  # too few for all strata: the deepest are one
            sizes = np.bincount(stratum)
            wanted = shared(size, sizes)
        drawn = np.zeros(len(weights), dtype=bool)
        for number, count in enumerate(wanted.tolist()):
            drawn[rng.choice(np.flatnonzero(stratum == number), count, replace=False)] = True
        return stratum, (wanted / sizes)[stratum], drawn


class WeightedSample(Sampled):
    r"""Documents that matter most to average precision are drawn with the highest probability.

    The prior of a document is the mean over runs of :math:`\frac{1}{2s}(1 + \sum_{i=r}^{s} 1/i)` for rank r in a list
    of s documents. Documents are sorted by prior and put in buckets as large as the sample (m documents). A bucket is
    drawn m times, with the sum of its priors as probability; a bucket that was drawn k times gives k of its documents,
    each equally likely. So a document is drawn with the probability of its bucket, which is its stratum.
    """

    name = "sample"
    source = "Aslam & Pavlu, A practical sampling strategy for efficient retrieval evaluation, 2007 (statAP)"

    def weights(self) -> Array:
        return average_precision_prior(self.lists)

    def draw(self, weights: Array, size: int, rng: np.random.Generator) -> tuple[Index64, Array, Mask]:
        order = np.lexsort((np.arange(len(weights)), -weights))
        stratum = np.empty(len(weights), dtype=np.int64)
        stratum[order] = np.arange(len(weights)) // size
        bucket = np.asarray(np.bincount(stratum, weights) / weights.sum())
        drawn = np.zeros(len(weights), dtype=bool)
        for number, count in enumerate(rng.multinomial(size, bucket).tolist()):
            # The last bucket may be smaller: its other places are empty, and drawing one gives no document.
            places = rng.choice(size, count, replace=False) + number * size
            drawn[order[places[places < len(weights)]]] = True
        return stratum, np.minimum(bucket[stratum], 1.0), drawn


def average_precision_prior(lists: PooledLists) -> Array:
    """The weight of each document in the average precision of all runs, before anything is judged."""
    sizes = np.diff(lists.list_start)
    length = np.repeat(sizes, sizes)
    deepest = int(max(lists.rank.max(initial=0), length.max(initial=0)))
    harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, deepest + 1))))
    tail = np.maximum(harmonic[length] - harmonic[np.minimum(lists.rank, length) - 1], 0)
    weight = (1 + tail) / (2 * length)
    return steady(summed(lists, weight) / len(lists.runs))


def sizes_within(lists: PooledLists, budget: int | None, most_per_topic: int | None) -> Index64 | None:
    """How many documents to draw for each topic; None if there is no budget."""
    sizes = np.diff(lists.start)
    if most_per_topic is not None:
        sizes = np.minimum(sizes, most_per_topic)
    if budget is not None:
        return shared(budget, sizes)
    return None if most_per_topic is None else sizes


@dataclass(frozen=True, eq=False, repr=False)
class SampledQrels(Record):
    """Every document of a pool with its stratum, its grade (−1: not drawn) and its probability of being drawn."""

    topic: Annotated[NDArray[Any], column()]
    stratum: Annotated[NDArray[Any], column()]
    doc: Annotated[NDArray[Any], column()]
    grade: Annotated[Array, column()]
    probability: Annotated[Array, column()]
    notes: tuple[str, ...] = ()

    def encoded(self, path: str = "-") -> bytes:
        """The file, in the format `sampled`, which `Qrels.read` recognises by its header."""
        from cranfield.collection.columns import Columns

        def part(begin: int, end: int) -> Part:
            rows = slice(begin, end)
            grades = [int(grade) if grade == int(grade) else grade for grade in self.grade[rows].tolist()]
            topics, docs, strata = (column[rows].tolist() for column in (self.topic, self.doc, self.stratum))
            return Part(Columns(topics, docs, grades, labels=strata), [], self.probability[rows].tolist())

        out = Outgoing("qrels", "qrels", len(self.grade), part, labelled=True, sampled=True)
        return b"".join(encode(out, QRELS["sampled"], path))

    def write(self, path: PathLike) -> None:
        """Write the file; `-` is standard output."""
        write_bytes(path, self.encoded(os.fspath(path)))

    def qrels(self) -> Qrels:
        """The judgments as they are read from the file."""
        return Qrels.of(self.encoded())


@operation
def join_pool(
    pool: Pool,
    qrels: Any,
    *,
    partial: Annotated[
        bool,
        about(
            "Count drawn documents that are not judged yet as not drawn, and lower the probabilities in their strata.",
            solves="partial=",
        ),
    ] = False,
) -> SampledQrels:
    """The judgments of a sampled pool, for xinfAP, infNDCG and statAP.

    A drawn document without a judgment is an error, unless `partial`: then it counts as not drawn, and the probability
    of the other drawn documents of its stratum is multiplied by the share of them that is judged, as if those were
    chosen at random. Judged documents that were not drawn stay unjudged, because they would bias the estimates.

    >>> rows = [("q", "a", 1), ("q", "b", 1), ("q", "c", 0)]
    >>> from dataclasses import replace
    >>> pool = replace(Pool.of(rows), stratum=np.array(["1", "2", "2"]), probability=np.array([1, 0.5, 0.5]))
    >>> join_pool(pool, {"q": {"a": 1, "b": 0}}).grade.tolist()
    [1.0, 0.0, -1.0]
    """
    if pool.stratum is None or pool.probability is None:
        raise UsageError("the pool is not a sample: it has no probabilities, and its judgments can be used as they are")
    judged = {(topic, doc): grade for topic, doc, grade, _ in Qrels.of(qrels)}
    keys = list(zip(pool.topic.tolist(), pool.doc.tolist(), strict=True))
    grade = np.array([judged.get(key, np.nan) for key in keys], dtype=np.float64)
    drawn = pool.offered
    missing = np.flatnonzero(drawn & np.isnan(grade))
    if len(missing) and not partial:
        documents = listed("/".join(keys[number]) for number in missing)
        are = counted(len(missing), "drawn document is", "drawn documents are")
        raise UsageError(f"{are} not judged: {documents}; judge them, or count them as not drawn: partial=True")
    negative = np.flatnonzero(drawn & (grade < 0))
    probability = pool.probability.astype(np.float64)
    if len(missing):
        probability = probability * _judged_share(pool, drawn, drawn & ~np.isnan(grade))
    notes = tuple(_notes(keys, judged, drawn, grade, missing, negative))
    grade = np.where(drawn & ~np.isnan(grade), np.maximum(grade, 0), NOT_DRAWN)
    return SampledQrels(pool.topic, pool.stratum, pool.doc, grade, probability, notes)


def _judged_share(pool: Pool, drawn: NDArray[np.bool_], judged: NDArray[np.bool_]) -> Array:
    """For each document, the share of the drawn documents of its stratum that is judged; 1 if none is."""
    keys = [f"{topic}\n{stratum}" for topic, stratum in zip(pool.topic, pool.stratum, strict=True)]  # type: ignore[arg-type]
    _, group = np.unique(np.array(keys, dtype=object).astype(str), return_inverse=True)
    of_drawn, of_judged = (np.bincount(group[keep], minlength=group.max() + 1) for keep in (drawn, judged))
    share = np.where(of_judged > 0, of_judged / np.maximum(of_drawn, 1), 1.0)
    return np.asarray(share[group])


def _notes(
    keys: list[tuple[str, str]],
    judged: dict[tuple[str, str], float],
    drawn: NDArray[np.bool_],
    grade: Array,
    missing: NDArray[np.intp],
    negative: NDArray[np.intp],
) -> Iterator[str]:
    def named(numbers: NDArray[np.intp]) -> str:
        return listed("/".join(keys[number]) for number in numbers)

    if len(missing):
        yield caution_note(
            f"{counted(len(missing), 'drawn document')} without a judgment count as not drawn: {named(missing)}"
        )
    if len(negative):
        yield f"{counted(len(negative), 'negative grade')} of drawn documents became 0: {named(negative)}"
    extra = np.flatnonzero(~drawn & ~np.isnan(grade))
    if len(extra):
        yield f"{counted(len(extra), 'judged document')} not drawn, and left unjudged: {named(extra)}"
    outside = sorted(judged.keys() - set(keys))
    if outside:
        shown = listed("/".join(key) for key in outside)
        yield f"{counted(len(outside), 'judged document')} not in the pool, and left out: {shown}"
