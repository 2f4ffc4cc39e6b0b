"""How much does a score say about the list? Infer the list from it, and compare it with the true list.

A measure is informative if the most random list with its value looks like the list it was computed from: if its
precision–recall curve is close to the true one (of each intent, for diversity measures), and its expected scores by
other measures are close to the true ones.

In the most random list, documents are relevant independently of each other, with probability p_r at rank r. Among all
such lists with a given expected score and number of relevant documents, the list of maximum entropy assumes nothing
else. If the score depends on intents, every intent has its own probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from cranfield import _core, check
from cranfield.assessed.hits_by_intent import intents_of
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged, row_blocks
from cranfield.comparison.resampling import threads_of
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike, as_measures
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.measures import Measure
from cranfield.meta.complete_scores import Rel
from cranfield.meta.stability.expected_scores import (
    NEGLIGIBLE,
    ExpectedScore,
    IntentRows,
    expected_of_lists,
    expected_of_rows,
    expected_over_intents,
    repetition,
)
from cranfield.notes import caution_note, method_note
from cranfield.record import Columns, Record, labels, table_of
from cranfield.table import Column, Table, headings
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress, report
from cranfield.views.by_intent import ByIntent

NOT_A_SUM = "expected values of independent documents are not known"


def max_entropy(measure: object, value: float, *, length: int, relevant: int, found: float | None = None) -> Array:
    r"""The probability of relevance at each rank of the most random list of `length` documents with this score.

    .. math:: \max_p \sum_{r=1}^{N} H(p_r) \quad\text{subject to}\quad E[M] = v, \quad \sum_r p_r = R_{ret}

    E[M] is a weighted sum of :math:`p_r` for additive measures (P@k, Rprec, R@k, DCG, nDCG, RBP, ...),
    :math:`\frac{1}{R} \sum_r \frac{p_r}{r} \left(1 + \sum_{j<r} p_j\right)` for AP and similar for Q, and
    :math:`\sum_r w(r) p_r \prod_{j<r} (1 - \alpha p_j)` for cascade measures (ERR, RR, Success). `relevant` is R,
    `found` the number of relevant documents in the list (default: all of them).

    Reference: Aslam, Yilmaz & Pavlu, The maximum entropy method for analyzing retrieval measures, SIGIR 2005, 27-34;
    Ashkan & Clarke, On the informativeness of cascade and intent-aware effectiveness measures, WWW 2011, 407-416

    >>> max_entropy("P@2", 0.5, length=6, relevant=2).round(3).tolist()
    [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    >>> max_entropy("RR", 1.0, length=4, relevant=2).round(3).tolist()
    [1.0, 0.333, 0.333, 0.333]
    """
    check.whole("max_entropy", length=length, relevant=relevant)
    check.finite("max_entropy", value=value)
    retrieved = float(min(relevant, length) if found is None else found)
    check.between("max_entropy", low=0, high=min(relevant, length), found=retrieved)
    parsed = as_measures(measure)[0]  # type: ignore[arg-type]
    check_informative(parsed)
    lengths = np.array([length])
    parts = expected_of_rows(parsed, np.array([float(relevant)]), lengths, length)
    assert parts is not None  # check_informative
    expected = ExpectedScore((parts[0],), parts[1])
    p, error = solve(expected, np.array([float(value)]), np.array([retrieved]), lengths, np.array([0, 1]))
    if error[0] > 1e-3:
        lists = f"no list of {length} documents with {retrieved:g} of {relevant} relevant ones"
        raise UsageError(f"{lists} has an expected {parsed} of {value:g}")
    return np.asarray(p[0])


def check_informative(measure: Measure) -> None:
    """Refuse a measure of plain lists whose expected value is not known."""
    if repetition(measure) is None:
        way_out = "give AP, Q, RR, ERR, or an additive measure such as P@10, Rprec, R@100, nDCG@10 or RBP"
        raise UsageError(f"{measure}: {NOT_A_SUM}; {way_out}")


def solve(
    expected: ExpectedScore,
    value: Array,
    found: Array,
    length: Index64,
    start: Index64,
    lists: slice | None = None,
    threads: int | None = None,
) -> tuple[Array, Array]:
    """Probabilities, rows × ranks, and the error of each list's score; `lists` are the ones to solve (default: all).

    `value` has a score per list; `found` and `length` a number per row; `start` is where the rows of each list begin.
    The constraints of expected scores that are not linear are linearised around the last solution, until it no longer
    changes.
    """
    lists = slice(0, len(value)) if lists is None else lists
    rows = slice(int(start[lists.start]), int(start[lists.stop]))
    parts = expected.parts
    offset = np.cumsum([0, *(len(part.tables) for part in parts)])
    tables = np.concatenate([part.tables for part in parts])
    largest = np.abs(tables).max(axis=1, keepdims=True)
    counts = np.abs(tables) > NEGLIGIBLE * largest
    used = np.where(counts.any(axis=1), tables.shape[1] - np.argmax(counts[:, ::-1], axis=1), 0)
    table_of = np.concatenate([part.table[rows] + first for part, first in zip(parts, offset.tolist(), strict=False)])
    p, reached = _core.max_entropy(
        np.ascontiguousarray(start[lists.start : lists.stop + 1] - start[lists.start], dtype=np.int64),
        np.ascontiguousarray((value - expected.constant)[lists], dtype=np.float64),
        np.ascontiguousarray(found[rows], dtype=np.float64),
        np.ascontiguousarray(length[rows], dtype=np.int64),
        np.ascontiguousarray(tables, dtype=np.float64).ravel(),
        np.ascontiguousarray(used, dtype=np.int64),
        np.ascontiguousarray(table_of, dtype=np.int32),
        np.concatenate([part.scale[rows] for part in parts]).astype(np.float64),
        np.concatenate([part.alpha[rows] for part in parts]).astype(np.float64),
        tables.shape[1],
        len(parts),
        threads_of(threads),
    )
    return p.reshape(-1, tables.shape[1]), np.abs(reached - (value - expected.constant)[lists])


BLOCK = 1_000_000
"""Number of ranks computed at a time, to bound memory."""
SLACK = 1e-3
"""A document counts as retrieved when the expected number is short of it by this: tiny probabilities do not count."""
MISSED = 1e-3
"""A note counts the lists whose score is missed by more than this."""
PLAIN = "measures without intents; give them in a call without diversity measures"
SAME = 1e-6
"""The expected score of the true list must be its score, to within this."""


@dataclass(frozen=True, eq=False, repr=False)
class Informativeness(Record):
    """The errors of inferred precision–recall curves, for each measure and list."""

    figure = "describe_informativeness"

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
    values: Array | None = None
    """measures × measures: the root mean squared error of the column's expected score, inferred from the row's."""
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
        errors = {"RMS error": self.rms.mean(axis=1), "mean absolute error": self.mae.mean(axis=1)}
        columns = {"measure": self.measures, **errors, "lists": np.full(len(self.measures), len(self.run))}
        return table_of(columns, better=dict.fromkeys(errors, "lower"), notes=self.notes)

    def value_table(self) -> Table:
        """A row per measure that is known, and a column with the RMS error of each measure that is inferred from it."""
        if self.values is None:
            raise UsageError("the errors of inferred scores were not computed: informativeness(..., values=True)")
        columns = headings("number", *self.measures, better="lower")
        rows = tuple((name, *errors) for name, errors in zip(self.measures, self.values.tolist(), strict=True))
        what = "RMS error of the score in the column, inferred from the score in the row"
        return Table((Column("measure"), *columns), rows, notes=(what, *self.notes))


@takes_runs
@operation
def informativeness(
    lists: Assessed,
    measures: MeasuresLike,
    *,
    depth: Annotated[int, about("Use only the first N documents of each list.", least=1)] = 1000,
    rel: Rel = 1,
    values: bool = False,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Informativeness:
    r"""Infer every list from its score by each measure, and compare it with the true list.

    Given a score, R and the number of retrieved relevant documents, `max_entropy` gives the probability of relevance at
    each rank. With :math:`S_r = \sum_{j \le r} p_j`, expected precision at rank r is :math:`S_r / r` and recall is
    :math:`S_r / R`; the curve is compared with the true one at the recall of every retrieved relevant document. `lists`
    are runs joined with judgments (`cranfield.join`), cut at `depth`; relevance is binary, from grade `rel`.

    Diversity measures (alpha-nDCG, ERR-IA, NRBP, I-rec, M-IA, D-nDCG, D#-nDCG, ...) know intents. Then every intent has
    its own probabilities, its own number of retrieved relevant documents and its own curve; the error of a list is the
    mean over the intents that it serves, by their probability. Measures of plain lists are then left out.

    Measures whose expected value is not known, such as bpref, are left out, and a note names them. `values` also
    compares the expected scores of the inferred list, by each of the measures, with the true scores.

    Reference: Aslam, Yilmaz & Pavlu, SIGIR 2005, 27-34; Ashkan & Clarke, WWW 2011, 407-416; Sakai 2014 §5.5

    >>> from cranfield.assessed.join import join
    >>> qrels = {"1": dict.fromkeys("abdh", 1)}
    >>> lists = join(qrels, {"run": {"1": {d: -r for r, d in enumerate("abcdefgh")}}})
    >>> informativeness(lists, ["AP", "R"]).rms.round(3).tolist()
    [[0.192], [0.375]]
    """
    named = as_measures(measures)
    by_intent = any(measure.uses_intents() for measure in named)
    binary = _binary(lists, rel, depth, by_intent=by_intent)
    served = (binary.hits().count > 0) & (binary.num_rel(1) > 0)
    chosen = np.flatnonzero(served)
    if not len(chosen):
        raise UsageError(f"no list has a relevant document (grade {rel:g} or better) in its top {depth:,}")
    problem = _problem_by_intent(binary, chosen, depth) if by_intent else _plain_problem(binary, chosen, depth)
    known: list[_Known] = []
    unknown: dict[str, list[str]] = {}
    for measure in named:
        if by_intent and not measure.uses_intents():
            unknown.setdefault(PLAIN, []).append(str(measure))
            continue
        expected = problem.expected(measure)
        score = measure.evaluate(binary)[chosen] if expected else np.zeros(0)
        if expected is None or not problem.explains(expected, score):
            unknown.setdefault(NOT_A_SUM, []).append(str(measure))
        else:
            known.append(_Known(measure, expected, score))
    if not known:
        _refuse(named, by_intent=by_intent)
    notes = _notes_of_lists(binary, len(chosen), depth, rel, by_intent=by_intent)
    notes += [caution_note(f"left out: {listed(names)}; {reason}") for reason, names in unknown.items()]
    return _compare(lists, problem, known, notes, values, progress, threads)


class _Known(NamedTuple):
    """A measure whose expected value is known, and the scores of the lists."""

    measure: Measure
    expected: ExpectedScore
    score: Array


@dataclass(frozen=True, eq=False)
class _Problem:
    """The lists to infer. A row is a list, or an intent of a list."""

    rows: Assessed
    """The rows, with their hits."""
    place: Index64
    """Which of `rows` each row is."""
    chosen: Index64
    """The lists."""
    start: Index64
    """Where the rows of each list begin."""
    share: Array
    """How much the error of each row counts."""
    by_intent: IntentRows | None
    ranks: int

    @property
    def found(self) -> Array:
        """The number of retrieved relevant documents of each row."""
        return np.asarray(self.rows.hits().count[self.place], dtype=np.float64)

    @property
    def length(self) -> Index64:
        return np.minimum(self.rows.retrieved[self.place], self.ranks).astype(np.int64)

    def expected(self, measure: Measure) -> ExpectedScore | None:
        if self.by_intent is not None:
            return expected_over_intents(measure, self.by_intent)
        return expected_of_lists(measure, self.rows, self.place, self.ranks)

    def blocks(self) -> list[slice]:
        """Blocks of lists with about `BLOCK` ranks each."""
        size = np.diff(self.start).astype(np.float64) * self.ranks
        return [slice(begin, end) for begin, end in row_blocks(size, BLOCK)]

    def truth(self, block: slice) -> Array:
        """1 at the ranks of relevant documents, rows × ranks."""
        number = np.full(self.rows.rows, -1)
        rows = slice(int(self.start[block.start]), int(self.start[block.stop]))
        number[self.place[rows]] = np.arange(rows.stop - rows.start)
        hits = self.rows.hits()
        mine = number[hits.row] >= 0
        p = np.zeros((rows.stop - rows.start, self.ranks))
        p[number[hits.row[mine]], hits.rank[mine] - 1] = 1.0
        return p

    def explains(self, expected: ExpectedScore, score: Array) -> bool:
        """Whether the expected scores of the true lists are their scores."""
        scores = (expected.of(self.truth(block), self.start, block.start, block.stop) for block in self.blocks())
        return bool(np.abs(np.concatenate(list(scores)) - score).max() < SAME)


def _plain_problem(binary: Assessed, chosen: Index64, depth: int) -> _Problem:
    ranks = int(np.minimum(binary.retrieved[chosen], depth).max())
    return _Problem(binary, chosen, chosen, np.arange(len(chosen) + 1), np.ones(len(chosen)), None, ranks)


def _problem_by_intent(binary: Assessed, chosen: Index64, depth: int) -> _Problem:
    """A row for each intent of each list; intents that a list does not serve do not count in its error."""
    ranks = int(np.minimum(binary.retrieved[chosen], depth).max())
    view = ByIntent()
    rows, parents = view.apply(binary), view.parents(binary)
    by_intent = IntentRows(binary, chosen, ranks)
    is_chosen = np.zeros(binary.rows, dtype=bool)
    is_chosen[chosen] = True
    place = np.flatnonzero(is_chosen[parents])
    weight = by_intent.probability * (rows.hits().count[place] > 0)
    total = np.bincount(by_intent.list_of_row, weight, len(chosen))
    share = weight / total[by_intent.list_of_row]
    return _Problem(rows, place, chosen, by_intent.start, share, by_intent, ranks)


def _compare(
    lists: Assessed,
    problem: _Problem,
    known: list[_Known],
    notes: list[str],
    values: bool,
    progress: Progress | None,
    threads: int | None,
) -> Informativeness:
    """Infer every list from each score; the errors of curves and, with `values`, of scores."""
    n, found, length = len(problem.chosen), problem.found, problem.length
    errors = np.empty((2, len(known), n))
    squares = np.zeros((len(known), len(known)))
    inexact = np.zeros(len(known), dtype=np.int64)
    for block in problem.blocks():
        rows = slice(int(problem.start[block.start]), int(problem.start[block.stop]))
        size = block.stop - block.start
        list_of_row = np.repeat(np.arange(size), np.diff(problem.start[block.start : block.stop + 1]))
        for number, (_, expected, score) in enumerate(known):
            p, error = solve(expected, score, found, length, problem.start, block, threads)
            inexact[number] += int((error > MISSED).sum())
            of_rows = _errors(p, problem.rows, problem.place[rows], found[rows]) * problem.share[rows]
            errors[:, number, block] = [np.bincount(list_of_row, column, size) for column in of_rows]
            for other, (_, wanted, true) in enumerate(known if values else ()):
                inferred = wanted.of(p, problem.start, block.start, block.stop)
                squares[number, other] += float(((inferred - true[block]) ** 2).sum())
            report(progress, block.start * len(known) + (number + 1) * size, n * len(known))
    notes += [
        caution_note(
            f"{measure}: the inferred list has another score for {counted(count, 'list')} with an extreme score"
        )
        for (measure, *_), count in zip(known, inexact.tolist(), strict=True)
        if count
    ]
    run, topic = (index[problem.chosen].astype(np.int64) for index in (lists.run, lists.topic))
    names = tuple(str(measure) for measure, *_ in known)
    of_values = np.sqrt(squares / n) if values else None
    return Informativeness(names, lists.runs, lists.topics, run, topic, errors[0], errors[1], of_values, tuple(notes))


def _notes_of_lists(binary: Assessed, used: int, depth: int, rel: float, *, by_intent: bool) -> list[str]:
    lists = f"{counted(used, 'list')} with a relevant document in the top {depth:,}"
    notes = [f"{lists}; relevance is binary, from grade {rel:g}"]
    if by_intent:
        notes.append(method_note("errors are means over the intents that a list serves, by their probability"))
    without = binary.rows - used
    if without:
        notes.append(caution_note(f"{counted(without, 'list')} without a relevant document left out"))
    return notes


def _refuse(named: list[Measure], *, by_intent: bool) -> None:
    if not by_intent:
        check_informative(named[0])
    first = next((measure for measure in named if measure.uses_intents()), named[0])
    way_out = "give a diversity measure such as alpha-nDCG@10, ERR-IA@20, NRBP, I-rec@10, D#-nDCG@10 or AP-IA"
    raise UsageError(f"{first}: {NOT_A_SUM}; {way_out}")


def _binary(lists: Assessed, rel: float, depth: int, *, by_intent: bool) -> Assessed:
    """The lists with only the relevant documents in the top `depth`, all of grade 1."""
    keep = (lists.grade >= rel) & (lists.rank <= depth)
    judged = lists.judged
    dropped: dict[str, Any] = dict.fromkeys(("tie_first", "tie_last", "weight", "place", "document"))
    if by_intent:
        relevant = intents_of(lists).above(rel)
        dropped["intents"] = replace(relevant, grade=np.ones(len(relevant.grade)), _cache={})
        dropped["document"] = None if lists.document is None else lists.document[keep]
    return lists.replace(
        row=lists.row[keep],
        rank=lists.rank[keep],
        grade=np.ones(int(keep.sum())),
        judged=Judged(judged.start, (judged.grade >= rel).astype(np.float64)),
        retrieved=np.minimum(lists.retrieved, depth),
        **dropped,
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
    found = np.maximum(found, 1.0)
    squared = np.bincount(row, error**2, minlength=len(rows)) / found
    return np.stack([np.sqrt(squared), np.bincount(row, np.abs(error), minlength=len(rows)) / found])
