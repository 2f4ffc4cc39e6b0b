"""The expected score of a list whose documents are relevant independently, with a given probability at each rank.

For many measures, a relevant document at rank r with n relevant documents above it adds w(r) f(n), where f(n) is 1
(nDCG, RBP, P), (1 − α)^n (ERR, RR, alpha-nDCG) or 1 + n (AP, Q). Then the expected score is

    Σ_r w(r) p_r E[f(n)],    E[f(n)] = 1,  Π_{j<r} (1 − α p_j)  or  1 + Σ_{j<r} p_j.

For a measure of diversity, the document at rank r is relevant to intent i with probability p_ir, independently of other
ranks and intents. A row is then one intent of one list, and the expected score is a sum over the rows of a list:

- an average over intents (nDCG-IA, AP-IA, ERR-IA): Pr(i|q) times the expected score for intent i;
- novelty (alpha-nDCG, NRBP, nERR-IA): f(n) = (1 − α)^n for each intent, divided by the score of the ideal list;
- intent recall: f(n) = (1 − 1)^n, so that only the first relevant document of an intent counts;
- global gains (D-nDCG): f(n) = 1 and the scale Pr(i|q); with DIN-, f(n) = (1 − 1)^n for navigational intents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from cranfield.assessed.hits_by_intent import intents_of
from cranfield.assessed.intents import Intents
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import ranges, starts_of
from cranfield.errors import UsageError
from cranfield.measures import Measure
from cranfield.measures.several_needs.diversity import RBU, IRec, number_of_intents
from cranfield.measures.several_needs.novelty import ERRIA, Novelty, nERRIA
from cranfield.meta.synthetic_lists import assess_lists
from cranfield.types import Array, Index64
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp

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
        of_empty = scores[()]
        weight = {rank: scores[rank,] - of_empty for rank in range(1, PROBED + 1)}
        counted = [rank for rank in weight if abs(weight[rank]) > SAME]
        if not counted:
            return None
        if alpha is None:
            alpha = _alpha(scores, weight, counted, of_empty)
        if alpha is None or not all(
            abs(of_empty + sum(weight[rank] * _factor(alpha, n) for n, rank in enumerate(ranks)) - score) < SAME
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
    scores: dict[tuple[int, ...], float], weight: dict[int, float], counted: list[int], of_empty: float
) -> float | None:
    """The α that two relevant documents show: the second adds 1 − α times what it adds alone, or twice as much."""
    if len(counted) < 2:
        return 0.0
    first, second = counted[:2]
    factor = (scores[first, second] - of_empty - weight[first]) / weight[second]
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
    tables, of_empty = np.zeros((keys.shape[1], ranks)), np.zeros(keys.shape[1])
    for number, (count, documents) in enumerate(keys.T.tolist()):
        if count:
            *weights, of_empty[number] = _weights(measure, count, documents).tolist()
            tables[number, :documents] = weights
    table = np.asarray(table, dtype=np.int64).reshape(-1)
    return Part(tables, table, np.ones(len(table)), np.full(len(table), alpha)), of_empty[table]


def expected_of_lists(measure: Measure, lists: Assessed, rows: Index64, ranks: int) -> ExpectedScore | None:
    """The expected score of a measure of plain lists, for these rows; None if it has another form."""
    length = np.minimum(lists.retrieved[rows], ranks).astype(np.int64)
    expected = expected_of_rows(measure, lists.num_rel(1)[rows], length, ranks)
    return None if expected is None else ExpectedScore((expected[0],), expected[1])


class IntentRows:
    """The rows of some lists: one for each intent of the topic of each list."""

    def __init__(self, lists: Assessed, chosen: Index64, ranks: int) -> None:
        self.lists, self.chosen, self.ranks = lists, chosen, ranks
        self.intents: Intents = intents_of(lists)
        topic = lists.topic[chosen]
        count = self.intents.count[topic]
        self.start: Index64 = starts_of(count)
        self.intent = ranges(self.intents.start[topic], count)
        self.list_of_row = np.repeat(np.arange(len(chosen)), count)
        self.length = np.minimum(lists.retrieved[chosen], ranks).astype(np.int64)[self.list_of_row]
        self.probability: Array = self.intents.probability[self.intent]
        self.relevant: Array = np.diff(self.intents.judged.start)[self.intent].astype(np.float64)

    def __len__(self) -> int:
        return len(self.intent)

    def per_row(self, values: Array | float) -> Array:
        """One number per row, from a number per list of `lists`, or one for all."""
        values = np.broadcast_to(np.asarray(values, dtype=np.float64), self.lists.rows)
        return np.asarray(values[self.chosen][self.list_of_row])

    def part(self, weights: Array, scale: Array, alpha: Array | float) -> Part:
        """A part with the same weights in all rows."""
        table = np.zeros(len(self), dtype=np.int64)
        return Part(weights[None, :], table, scale, np.broadcast_to(np.asarray(alpha, dtype=np.float64), len(self)))


def expected_over_intents(measure: Measure, rows: IntentRows) -> ExpectedScore | None:
    """The expected score of a diversity measure on binary lists; None if it has another form."""
    zero = np.zeros(len(rows.chosen))
    if any(not view.place for view in measure.views):  # condensed lists, ties, ...
        return None
    sharp = measure.find_view(Sharp)
    if sharp is not None:
        inner = expected_over_intents(measure.replace(views=tuple(v for v in measure.views if v is not sharp)), rows)
        if inner is None:
            return None
        recall = _intent_recall(rows, measure.rank_cutoff, 1.0).scaled(sharp.gamma)
        parts = tuple(part.scaled(1 - sharp.gamma) for part in inner.parts)
        return ExpectedScore((recall, *parts), inner.constant * (1 - sharp.gamma))
    if isinstance(measure, IRec):
        return ExpectedScore((_intent_recall(rows, measure.k, measure.rel),), zero)
    if isinstance(measure, ERRIA | nERRIA) and measure.dialect == "graded":
        return _averaged(measure.plain, rows, measure.normaliser_of_grades(rows.lists))
    if isinstance(measure, Novelty):
        return ExpectedScore((_novelty(measure, rows),), zero)
    if isinstance(measure, RBU):
        return _utility(measure, rows)
    global_gain = measure.find_view(GlobalGain)
    plain = measure.replace(views=())
    if global_gain is not None:
        part = _global_gain(plain, global_gain, rows)
        return None if part is None else ExpectedScore((part,), zero)
    return _averaged(plain, rows, 1.0) if measure.find_view(ByIntent) is not None else None


def _averaged(plain: Measure, rows: IntentRows, divisor: Array | float) -> ExpectedScore | None:
    """Σ_i Pr(i|q) times the expected score of intent i; an intent without relevant documents scores 0."""
    expected = expected_of_rows(plain, rows.relevant, rows.length, rows.ranks)
    if expected is None:
        return None
    part, of_empty = expected
    scale = rows.probability * (rows.relevant > 0) / rows.per_row(divisor)
    constant = np.bincount(rows.list_of_row, of_empty * scale, len(rows.chosen)).astype(np.float64)
    return ExpectedScore((part.scaled(scale),), constant)


def _intent_recall(rows: IntentRows, cutoff: int | None, rel: float) -> Part:
    rank = np.arange(1, rows.ranks + 1)
    weights = (rank <= (cutoff or rows.ranks)).astype(np.float64)
    return rows.part(weights, 1 / rows.per_row(number_of_intents(rows.lists, rel)), 1.0)


def _novelty(measure: Novelty, rows: IntentRows) -> Part:
    rank = np.arange(1, rows.ranks + 1)
    weights = np.where(rank <= (measure.depth or rows.ranks), measure.weight(rank), 0.0)
    worth = np.ones(len(rows.intents))
    if measure.worth is not None:
        worth[rows.intents.intent] = measure.worth(rows.intents)
    terms = measure.terms(rows.lists)
    assert terms is not None  # measures of novelty have terms
    alpha = measure.alpha_of(rows.lists)
    return rows.part(weights, worth[rows.intent] / rows.per_row(terms.over), rows.per_row(alpha))


def _utility(measure: RBU, rows: IntentRows) -> ExpectedScore:
    """RBU: a reader of intent i who sees a relevant document is satisfied with probability 2^−max_grade."""
    rank = np.arange(1, rows.ranks + 1)
    reads = np.where(rank <= (measure.k or rows.ranks), (1 - measure.p) * measure.p ** (rank - 1.0), 0.0)
    satisfied = 2.0 ** -(1.0 if measure.max_grade is None else float(measure.max_grade))
    length = np.minimum(rows.lists.retrieved[rows.chosen], rows.ranks)
    effort = measure.effort * np.concatenate([[0.0], np.cumsum(reads)])[length]
    return ExpectedScore((rows.part(reads, rows.probability * satisfied, satisfied),), -effort)


def _global_gain(plain: Measure, view: GlobalGain, rows: IntentRows) -> Part | None:
    """A weighted sum of global gains: its weights depend on the gains of all documents of the topic."""
    if plain.needs or not plain.properties.additive:
        return None
    judged = view.apply(rows.lists).judged
    highest = float(judged.grade.max(initial=0.0))
    topics, table = np.unique(rows.lists.topic[rows.chosen], return_inverse=True)
    tables = np.zeros((len(topics), rows.ranks))
    rank = np.arange(1, rows.ranks + 1)
    for number, topic in enumerate(topics.tolist()):
        gains = judged.grade[judged.start[topic] : judged.start[topic + 1]]
        empty = assess_lists(np.full((1, rows.ranks), np.nan), gains.tolist(), highest)
        copies = empty.without_hits(np.zeros(rows.ranks, dtype=np.int64)).replace(every_gain_counts=True)
        single = copies.replace(row=rank - 1, rank=rank, grade=np.ones(rows.ranks))
        tables[number] = plain.evaluate(single)
    gain = float(view.gain(np.ones(1))[0])
    once = rows.intents.navigational[rows.intent] if view.din else np.zeros(len(rows), dtype=bool)
    table = np.asarray(table, dtype=np.int64).reshape(-1)[rows.list_of_row]
    return Part(tables, table, rows.probability * gain, once.astype(np.float64))
