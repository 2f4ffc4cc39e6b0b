"""How much does a score tell? Infer the list from it, and see how far its precision–recall curve is from the true one.

A measure is informative if the most random list with its value looks like the list it was computed from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.frames import Tidy
from cranfield.meta.stability.max_entropy import check_informative, solved
from cranfield.table import Column, Table
from cranfield.types import Array

BLOCK = 64_000
"""So many ranks are worked on at a time."""
SLACK = 1e-3
"""A document is found when all but so much of it is expected: tails of tiny probabilities do not count."""
MISSED = 1e-3
"""Lists whose score is met no closer than this (times R for AP) are told."""


@dataclass(frozen=True, eq=False)
class Informativeness(Tidy):
    """How far inferred precision–recall curves are from true ones, measure by measure, list by list."""

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    run: NDArray[np.int64]
    topic: NDArray[np.int64]
    """Which list each column of `rms` and `mae` is of."""
    rms: Array
    """Root mean squared error of precision at the recall of each relevant document found: measures × lists."""
    mae: Array
    """Mean absolute error, alike."""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, run, topic, rms, mae; a row per measure and list."""
        lists = len(self.run)
        return {
            "measure": np.repeat(np.array(self.measures, dtype=object), lists),
            "run": np.tile(np.array(self.runs, dtype=object)[self.run], len(self.measures)),
            "topic": np.tile(np.array(self.topics, dtype=object)[self.topic], len(self.measures)),
            "rms": self.rms.ravel(),
            "mae": self.mae.ravel(),
        }

    def table(self) -> Table:
        """A row per measure, the means over lists; the most informative has the smallest errors."""
        heads = (
            Column("measure"),
            Column("RMS error", "number", "lower"),
            Column("mean absolute error", "number", "lower"),
            Column("lists", "count"),
        )
        rows = tuple(
            (name, rms, mae, len(self.run))
            for name, rms, mae in zip(
                self.measures, self.rms.mean(axis=1).tolist(), self.mae.mean(axis=1).tolist(), strict=True
            )
        )
        return Table(heads, rows, notes=self.notes)


def informativeness(
    lists: Assessed,
    measures: Any,
    *,
    depth: int = 1000,
    rel: float = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Informativeness:
    r"""Infer every list from its score by each measure, and compare precision–recall curves.

    Given a score, R and the number of relevant documents found, `max_entropy` tells how likely each rank is to hold a
    relevant document. With :math:`S_i = \sum_{j \le i} p_j`, expected precision at rank i is :math:`S_i / i` and recall
    :math:`S_i / R`; the curve is compared with the true one at the recall of every relevant document found. `lists` are
    runs joined with judgments (`cranfield.join`), read to `depth`, relevance from grade `rel` on and binary.

    Reference: Aslam, Yilmaz & Pavlu, SIGIR 2005, 27-34; Sakai 2014 §5.5

    >>> from cranfield.assessed.join import join
    >>> qrels = {"1": dict.fromkeys("abdh", 1)}
    >>> lists = join(qrels, {"run": {"1": {d: -r for r, d in enumerate("abcdefgh")}}})
    >>> informativeness(lists, ["AP", "R"]).rms.round(3).tolist()
    [[0.192], [0.375]]
    """
    check.whole("informativeness", depth=depth)
    wanted = as_measures(measures)
    for measure in wanted:
        check_informative(measure)
    binary = _binary(lists, rel, depth)
    hits, relevant = binary.hits(), binary.num_rel(1)
    rows = np.flatnonzero((hits.count > 0) & (relevant > 0))
    if not len(rows):
        raise UsageError(f"no list has a relevant document (grade {rel:g} or better) in its top {depth:,}")
    values = [measure.evaluate(binary)[rows] for measure in wanted]
    found = hits.count[rows]
    length = np.minimum(binary.retrieved[rows], depth)
    deepest = int(length.max())
    errors = np.empty((2, len(wanted), len(rows)))
    off = np.zeros(len(wanted), dtype=np.int64)
    step = max(1, BLOCK // deepest)
    total = len(wanted) * len(rows)
    for begin in range(0, len(rows), step):
        some = slice(begin, min(begin + step, len(rows)))
        mask = (np.arange(deepest) < length[some][:, None]).astype(np.float64)
        for number, measure in enumerate(wanted):
            p, missed = solved(measure, values[number][some], relevant[rows[some]], found[some], mask)
            off[number] += int((missed > MISSED).sum())
            errors[:, number, some] = _errors(p, binary, rows[some], found[some])
            if progress is not None:
                progress(begin * len(wanted) + (number + 1) * (some.stop - begin), total)
    notes = [
        f"{len(rows):,} lists with a relevant document in the top {depth:,}; relevance binary from grade {rel:g} on"
    ]
    without = binary.rows - len(rows)
    if without:
        notes.append(f"{without:,} lists without one left out")
    notes += [
        f"{measure}: the score of {count:,} lists was not met closely: few lists are as extreme"
        for measure, count in zip(wanted, off.tolist(), strict=True)
        if count
    ]
    return Informativeness(
        tuple(map(str, wanted)),
        lists.runs,
        lists.topics,
        lists.run[rows].astype(np.int64),
        lists.topic[rows].astype(np.int64),
        errors[0],
        errors[1],
        tuple(notes),
    )


def _binary(lists: Assessed, rel: float, depth: int) -> Assessed:
    """The relevant documents in the top `depth`, as documents of grade 1."""
    keep = (lists.grade >= rel) & (lists.rank <= depth)
    judged = lists.judged
    return lists.replace(
        row=lists.row[keep],
        rank=lists.rank[keep],
        grade=np.ones(int(keep.sum())),
        judged=type(judged)(judged.start, (judged.grade >= rel).astype(np.float64)),
        retrieved=np.minimum(lists.retrieved, depth),
        tie_first=None,
        tie_last=None,
        weight=None,
        place=None,
        document=None,
    )


def _errors(p: Array, lists: Assessed, rows: NDArray[np.int64], found: Array) -> Array:
    """RMS and mean absolute error of precision at each relevant document found: 2 × lists."""
    number = np.full(lists.rows, -1)
    number[rows] = np.arange(len(rows))
    hits = lists.hits()
    mine = number[hits.row] >= 0
    row, nth, rank = number[hits.row[mine]], hits.nth[mine], hits.rank[mine]
    # one interpolation for all lists: each is shifted past the one before
    shift = (p.shape[1] + 2.0) * np.arange(len(rows))
    expected = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(p, axis=1)], axis=1) + shift[:, None]
    place = np.tile(np.arange(p.shape[1] + 1.0), (len(rows), 1))
    target = nth - SLACK
    reached = np.interp(target + shift[row], expected.ravel(), place.ravel())
    away = target / np.maximum(reached, target) - nth / rank
    squared = np.bincount(row, away**2, minlength=len(rows)) / found
    return np.stack([np.sqrt(squared), np.bincount(row, np.abs(away), minlength=len(rows)) / found])
