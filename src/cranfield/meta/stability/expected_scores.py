"""The expected score of a list whose documents are relevant independently, with a given probability at each rank.

For many measures, a relevant document at rank r with n relevant documents above it adds w(r) f(n), where f(n) is 1
(nDCG, RBP, P), (1 − α)^n (ERR, RR, alpha-nDCG) or 1 + n (AP, Q). Then the expected score is

    Σ_r w(r) p_r E[f(n)],    E[f(n)] = 1,  Π_{j<r} (1 − α p_j)  or  1 + Σ_{j<r} p_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import Measure
from cranfield.meta.synthetic_lists import assess_lists
from cranfield.types import Array, Index64

COUNTING = -1.0
"""The alpha of measures with f(n) = 1 + n."""
SAME = 1e-7
"""Scores that differ by less are equal."""
NEGLIGIBLE = 1e-13
"""Weights smaller than this, as a fraction of the largest, count as 0."""
PROBED = 7
"""A measure is tried on all binary lists of this length."""


@dataclass(frozen=True, eq=False)
class Part:
    """A sum over rows of scale × Σ_r w(r) p_r E[f(n)]; a row is a list, or one intent of a list."""

    tables: Array
    """tables × ranks: the weights w(r)."""
    table: Index64
    """The table of each row."""
    scale: Array
    """The scale of each row."""
    alpha: Array
    """The α of each row: 0 for f(n) = 1, `COUNTING` for f(n) = 1 + n."""

    def of(self, p: Array, rows: Index64 | slice) -> Array:
        """The expected sum of each of these rows, given their probabilities (rows × ranks)."""
        alpha, weights = self.alpha[rows], self.tables[self.table[rows]][:, : p.shape[1]]
        above = np.ones_like(p)
        counting = alpha < 0
        above[counting, 1:] += np.cumsum(p[counting], axis=1)[:, :-1]
        cascade = alpha > 0
        above[cascade, 1:] = np.cumprod(1 - alpha[cascade][:, None] * p[cascade], axis=1)[:, :-1]
        return np.asarray(self.scale[rows] * (weights * p * above).sum(axis=1))

    def scaled(self, factor: Array | float) -> Part:
        return Part(self.tables, self.table, self.scale * factor, self.alpha)


@dataclass(frozen=True, eq=False)
class ExpectedScore:
    """The expected score of each list: a constant and a sum of parts over the rows of the list."""

    parts: tuple[Part, ...]
    constant: Array
    """Of each list."""

    def of(self, p: Array, start: Index64, begin: int, end: int) -> Array:
        """The expected scores of the lists from `begin` to `end`; `start` is where the rows of each list begin."""
        rows = slice(int(start[begin]), int(start[end]))
        total = sum((part.of(p, rows) for part in self.parts), np.zeros(len(p)))
        list_of_row = np.repeat(np.arange(end - begin), np.diff(start[begin : end + 1]))
        return np.asarray(self.constant[begin:end] + np.bincount(list_of_row, total, end - begin))


def binary_scores(measure: Measure, lists: Sequence[Sequence[int]], relevant: int, length: int) -> Array:
    """Scores of lists of `length` documents, each given as the ranks of its relevant documents."""
    empty = assess_lists(np.full((1, length), np.nan), [1.0] * relevant, 1.0)
    rank = np.array([rank for ranks in lists for rank in ranks], dtype=np.int64)
    row = np.repeat(np.arange(len(lists)), [len(ranks) for ranks in lists])
    copies = empty.without_hits(np.zeros(len(lists), dtype=np.int64))
    return np.asarray(measure.evaluate(copies.replace(row=row, rank=rank, grade=np.ones(len(rank)))))


@cache
def repetition(measure: Measure) -> float | None:
    """The α of a measure of plain lists, `COUNTING`, or None if its score has another form.

    It is read off the score of two relevant documents, and must then explain the scores of all binary lists of length 7
    of topics with 3 and with 7 relevant documents.

    >>> from cranfield.measures import parse
    >>> [repetition(parse(name)) for name in ("nDCG@5", "AP", "RR", "ERR", "Q", "bpref")]
    [0.0, -1.0, 1.0, 0.5, -1.0, None]
    """
    if measure.views or measure.needs:
        return None
    lists = [tuple((np.flatnonzero(bits) + 1).tolist()) for bits in product((0, 1), repeat=PROBED)]
    alpha: float | None = None
    for relevant in (PROBED, 3):
        possible = [ranks for ranks in lists if len(ranks) <= relevant]
        try:
            scores = dict(zip(possible, binary_scores(measure, possible, relevant, PROBED).tolist(), strict=True))
        except UsageError:
            return None
        if not np.allclose(_judged_scores(measure, possible, relevant), list(scores.values()), atol=SAME, rtol=0):
            return None
        nothing = scores[()]
        weight = {rank: scores[rank,] - nothing for rank in range(1, PROBED + 1)}
        counted = [rank for rank in weight if abs(weight[rank]) > SAME]
        if not counted:
            return None
        if alpha is None:
            alpha = _alpha(scores, weight, counted, nothing)
        if alpha is None or not all(
            abs(nothing + sum(weight[rank] * _factor(alpha, n) for n, rank in enumerate(ranks)) - score) < SAME
            for ranks, score in scores.items()
        ):
            return None
    return alpha


def _judged_scores(measure: Measure, lists: Sequence[Sequence[int]], relevant: int) -> Array:
    """The scores if all other documents are judged not relevant, which must make no difference."""
    grades = np.zeros((len(lists), PROBED))
    for row, ranks in enumerate(lists):
        grades[row, np.array(ranks, dtype=np.int64) - 1] = 1.0
    return np.asarray(measure.evaluate(assess_lists(grades, [1.0] * relevant + [0.0] * PROBED, 1.0)))


def _alpha(
    scores: dict[tuple[int, ...], float], weight: dict[int, float], counted: list[int], nothing: float
) -> float | None:
    """The α that two relevant documents show: the second adds 1 − α times what it adds alone, or twice as much."""
    if len(counted) < 2:
        return 0.0
    first, second = counted[:2]
    factor = (scores[first, second] - nothing - weight[first]) / weight[second]
    if abs(factor - 2) < SAME:
        return COUNTING
    alpha = round(1 - factor, 12)
    return alpha if 0 <= alpha <= 1 else None


def _factor(alpha: float, above: int) -> float:
    return 1.0 + above if alpha < 0 else (1.0 - alpha) ** above


@cache
def _weights(measure: Measure, relevant: int, length: int) -> Array:
    """What a single relevant document adds at rank 1, 2, ..., and the score of a list without one."""
    scores = binary_scores(measure, [*((rank,) for rank in range(1, length + 1)), ()], relevant, length)
    return np.append(scores[:-1] - scores[-1], scores[-1])


@cache
def _depends_on_length(measure: Measure) -> bool:
    short, long = _weights(measure, PROBED, PROBED), _weights(measure, PROBED, 2 * PROBED)
    return bool(np.abs(np.append(long[:PROBED], long[-1]) - short).max() > SAME)


def expected_of_rows(measure: Measure, relevant: Array, length: Index64, ranks: int) -> tuple[Part, Array] | None:
    """The part of a measure of plain lists, and the score of each row without relevant documents.

    `relevant` is R of each row; a row with R = 0 scores 0. None: the score has another form.
    """
    alpha = repetition(measure)
    if alpha is None:
        return None
    key = np.stack([relevant.astype(np.int64), length if _depends_on_length(measure) else np.full_like(length, ranks)])
    keys, table = np.unique(key, axis=1, return_inverse=True)
    tables, nothing = np.zeros((keys.shape[1], ranks)), np.zeros(keys.shape[1])
    for number, (count, documents) in enumerate(keys.T.tolist()):
        if count:
            *weights, nothing[number] = _weights(measure, count, documents).tolist()
            tables[number, :documents] = weights
    table = np.asarray(table, dtype=np.int64).reshape(-1)
    return Part(tables, table, np.ones(len(table)), np.full(len(table), alpha)), nothing[table]


def expected_of_lists(measure: Measure, lists: Assessed, rows: Index64, ranks: int) -> ExpectedScore | None:
    """The expected score of a measure of plain lists, for these rows; None if it has another form."""
    length = np.minimum(lists.retrieved[rows], ranks).astype(np.int64)
    expected = expected_of_rows(measure, lists.num_rel(1)[rows], length, ranks)
    return None if expected is None else ExpectedScore((expected[0],), expected[1])
