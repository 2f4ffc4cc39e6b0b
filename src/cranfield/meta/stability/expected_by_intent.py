"""The expected score of a diversity measure, if documents are relevant to each intent independently.

The document at rank r is relevant to intent i with probability p_ir, independently of other ranks and intents. A row is
one intent of one list. The expected score is a sum over the rows of a list, of the form of `expected_scores`:

- an average over intents (nDCG-IA, AP-IA, ERR-IA): Pr(i|q) times the expected score for intent i;
- novelty (alpha-nDCG, NRBP, nERR-IA): f(n) = (1 − α)^n for each intent, divided by the score of the ideal list;
- intent recall: f(n) = (1 − 1)^n, so that only the first relevant document of an intent counts;
- global gains (D-nDCG): f(n) = 1 and the scale Pr(i|q); with DIN-, f(n) = (1 − 1)^n for navigational intents.
"""

from __future__ import annotations

import numpy as np

from cranfield.assessed.hits_by_intent import intents_of
from cranfield.assessed.intents import Intents
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import ranges, starts_of
from cranfield.measures import Measure
from cranfield.measures.diversity import RBU, IRec, number_of_intents
from cranfield.measures.novelty import ERRIA, Novelty, nERRIA
from cranfield.meta.stability.expected_scores import ExpectedScore, Part, expected_of_rows
from cranfield.meta.synthetic_lists import assess_lists
from cranfield.types import Array, Index64
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp


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
    part, nothing = expected
    scale = rows.probability * (rows.relevant > 0) / rows.per_row(divisor)
    constant = np.bincount(rows.list_of_row, nothing * scale, len(rows.chosen)).astype(np.float64)
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
