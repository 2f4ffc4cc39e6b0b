"""How much does a score say about the list? Infer the list from it, and compare precision–recall curves.

A measure is informative if the most random list with its value looks like the list it was computed from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.meta.meta_record import Columns, MetaRecord, headings, labels, report
from cranfield.meta.stability.max_entropy import NOT_A_SUM, check_informative, is_informative, solve
from cranfield.table import Column, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

BLOCK = 64_000
"""Number of ranks computed at a time, to bound memory."""
SLACK = 1e-3
"""A document counts as retrieved when the expected number is short of it by this: tiny probabilities do not count."""
MISSED = 1e-3
"""A note counts the lists whose score is missed by more than this (times R for AP)."""


@dataclass(frozen=True, eq=False, repr=False)
class Informativeness(MetaRecord):
    """The errors of inferred precision–recall curves, for each measure and list."""

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    run: Index64
    topic: Index64
    """The run and topic of each column of `rms` and `mae`."""
    rms: Array
    """measures × lists: the root mean squared error of precision at the recall of each retrieved relevant document."""
    mae: Array
    """measures × lists: the mean absolute error."""
    notes: tuple[str, ...] = ()

    def columns(self) -> Columns:
        """measure, run, topic, rms, mae; a row per measure and list."""
        return {
            "measure": np.repeat(labels(self.measures), len(self.run)),
            "run": np.tile(labels(self.runs)[self.run], len(self.measures)),
            "topic": np.tile(labels(self.topics)[self.topic], len(self.measures)),
            "rms": self.rms.ravel(),
            "mae": self.mae.ravel(),
        }

    def table(self) -> Table:
        """A row per measure with means over lists; the most informative measure has the smallest errors."""
        means = zip(self.measures, self.rms.mean(axis=1).tolist(), self.mae.mean(axis=1).tolist(), strict=True)
        rows = tuple((name, rms, mae, len(self.run)) for name, rms, mae in means)
        errors = headings("number", "RMS error", "mean absolute error", better="lower")
        return Table((Column("measure"), *errors, Column("lists", "count")), rows, notes=self.notes)


def informativeness(
    lists: Assessed, measures: Any, *, depth: int = 1000, rel: float = 1, progress: Progress | None = None
) -> Informativeness:
    r"""Infer every list from its score by each measure, and compare precision–recall curves.

    Given a score, R and the number of retrieved relevant documents, `max_entropy` gives the probability of relevance at
    each rank. With :math:`S_i = \sum_{j \le i} p_j`, expected precision at rank i is :math:`S_i / i` and recall is
    :math:`S_i / R`; the curve is compared with the true one at the recall of every retrieved relevant document. `lists`
    are runs joined with judgments (`cranfield.join`), cut at `depth`; relevance is binary, from grade `rel`. Measures
    whose expected value is neither AP's nor a weighted sum, such as RR, are left out, and a note names them.

    Reference: Aslam, Yilmaz & Pavlu, SIGIR 2005, 27-34; Sakai 2014 §5.5

    >>> from cranfield.assessed.join import join
    >>> qrels = {"1": dict.fromkeys("abdh", 1)}
    >>> lists = join(qrels, {"run": {"1": {d: -r for r, d in enumerate("abcdefgh")}}})
    >>> informativeness(lists, ["AP", "R"]).rms.round(3).tolist()
    [[0.192], [0.375]]
    """
    check.whole("informativeness", depth=depth)
    named = as_measures(measures)
    chosen = [measure for measure in named if is_informative(measure)]
    if not chosen:
        check_informative(named[0])
    binary = _binary(lists, rel, depth)
    hits, relevant = binary.hits(), binary.num_rel(1)
    rows = np.flatnonzero((hits.count > 0) & (relevant > 0))
    if not len(rows):
        raise UsageError(f"no list has a relevant document (grade {rel:g} or better) in its top {depth:,}")
    values = [measure.evaluate(binary)[rows] for measure in chosen]
    found = hits.count[rows]
    length = np.minimum(binary.retrieved[rows], depth)
    deepest = int(length.max())
    errors = np.empty((2, len(chosen), len(rows)))
    inexact = np.zeros(len(chosen), dtype=np.int64)
    step = max(1, BLOCK // deepest)
    for begin in range(0, len(rows), step):
        block = slice(begin, min(begin + step, len(rows)))
        mask = (np.arange(deepest) < length[block][:, None]).astype(np.float64)
        for number, measure in enumerate(chosen):
            p, error = solve(measure, values[number][block], relevant[rows[block]], found[block], mask)
            inexact[number] += int((error > MISSED).sum())
            errors[:, number, block] = _errors(p, binary, rows[block], found[block])
            done = begin * len(chosen) + (number + 1) * (block.stop - begin)
            report(progress, done, len(chosen) * len(rows))
    used = f"{counted(len(rows), 'list')} with a relevant document in the top {depth:,}"
    notes = [f"{used}; relevance is binary, from grade {rel:g}"]
    without = binary.rows - len(rows)
    if without:
        notes.append(f"{counted(without, 'list')} without a relevant document left out")
    left_out = [str(measure) for measure in named if measure not in chosen]
    if left_out:
        reason = "their expected values are not sums over ranks" if len(left_out) > 1 else NOT_A_SUM
        notes.append(f"left out: {listed(left_out)}; {reason}")
    notes += [
        f"{measure}: the inferred list has another score for {counted(count, 'list')} with an extreme score"
        for measure, count in zip(chosen, inexact.tolist(), strict=True)
        if count
    ]
    run, topic = (index[rows].astype(np.int64) for index in (lists.run, lists.topic))
    names = tuple(map(str, chosen))
    return Informativeness(names, lists.runs, lists.topics, run, topic, errors[0], errors[1], tuple(notes))


def _binary(lists: Assessed, rel: float, depth: int) -> Assessed:
    """The lists with only the relevant documents in the top `depth`, all of grade 1."""
    keep = (lists.grade >= rel) & (lists.rank <= depth)
    judged = lists.judged
    return lists.replace(
        row=lists.row[keep],
        rank=lists.rank[keep],
        grade=np.ones(int(keep.sum())),
        judged=type(judged)(judged.start, (judged.grade >= rel).astype(np.float64)),
        retrieved=np.minimum(lists.retrieved, depth),
        **dict.fromkeys(("tie_first", "tie_last", "weight", "place", "document")),
    )


def _errors(p: Array, lists: Assessed, rows: Index64, found: Array) -> Array:
    """2 × lists: RMS and mean absolute error of precision at each retrieved relevant document."""
    number = np.full(lists.rows, -1)
    number[rows] = np.arange(len(rows))
    hits = lists.hits()
    mine = number[hits.row] >= 0
    row, nth, rank = number[hits.row[mine]], hits.nth[mine], hits.rank[mine]
    # One interpolation serves all lists: each is shifted past the one before.
    shift = (p.shape[1] + 2.0) * np.arange(len(rows))
    expected = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(p, axis=1)], axis=1) + shift[:, None]
    place = np.tile(np.arange(p.shape[1] + 1.0), (len(rows), 1))
    target = nth - SLACK
    reached = np.interp(target + shift[row], expected.ravel(), place.ravel())
    error = target / np.maximum(reached, target) - nth / rank
    squared = np.bincount(row, error**2, minlength=len(rows)) / found
    return np.stack([np.sqrt(squared), np.bincount(row, np.abs(error), minlength=len(rows)) / found])
