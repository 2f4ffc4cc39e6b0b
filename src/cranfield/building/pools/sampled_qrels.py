"""Judgments of a sampled pool, with strata and probabilities, so that measures can estimate from them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.sampling import NOT_DRAWN
from cranfield.building.pools.pool_file import Pool
from cranfield.collection.formats import QRELS, SAMPLED
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import PathLike, write_bytes
from cranfield.collection.writing import Outgoing, Part, encode
from cranfield.errors import UsageError
from cranfield.record import Record
from cranfield.text import counted, listed
from cranfield.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class SampledQrels(Record):
    """Every document of a pool with its stratum, its grade (−1: not drawn) and its probability of being drawn."""

    topic: NDArray[Any]
    stratum: NDArray[Any]
    doc: NDArray[Any]
    grade: Array
    probability: Array
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """topic, stratum, doc, grade, probability."""
        return {name: getattr(self, name) for name in SAMPLED.split()}

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


def join_pool(pool: Pool, qrels: Any, *, partial: bool = False) -> SampledQrels:
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
        yield f"{counted(len(missing), 'drawn document')} without a judgment count as not drawn: {named(missing)}"
    if len(negative):
        yield f"{counted(len(negative), 'negative grade')} of drawn documents became 0: {named(negative)}"
    extra = np.flatnonzero(~drawn & ~np.isnan(grade))
    if len(extra):
        yield f"{counted(len(extra), 'judged document')} not drawn, and left unjudged: {named(extra)}"
    outside = sorted(judged.keys() - set(keys))
    if outside:
        shown = listed("/".join(key) for key in outside)
        yield f"{counted(len(outside), 'judged document')} not in the pool, and left out: {shown}"
