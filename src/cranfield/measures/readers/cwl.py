"""The C/W/L framework: any model of how likely a reader is to go on defines a measure.

C(i) is the chance that a reader goes on from rank i, W(i) the share of attention that rank i gets, L(i) the chance that
i is the last rank read. Each of the three determines the other two; the measure adds the gains and costs of documents.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.changed_lists.prefixes import score_cut_lists
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, divide, measure, number_tuple
from cranfield.measures.declarations import Positive, Probability
from cranfield.measures.gain import LINEAR, Gain, GainLike, gained, note_scale, total_gain
from cranfield.measures.ranked_lists.first import highest_grade
from cranfield.measures.readers.time import lengths_of, note_unit
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class Seen:
    """Gains (0 to 1) and costs by list (row) and rank (column); a single row holds for all lists.

    Documents that are not judged, and ranks below the end of a list, gain 0.
    """

    gain: Array
    cost: Array
    total: Array
    """The gain of all judged documents of each list's topic, retrieved or not, as a column."""

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """1, 2, 3, ... down to the depth, as one row."""
        return np.arange(1, self.gain.shape[1] + 1)[None, :]

    @cached_property
    def gained(self) -> Array:
        """The gain down to and including each rank."""
        return np.cumsum(self.gain, axis=1)

    @cached_property
    def spent(self) -> Array:
        """The cost down to and including each rank."""
        return np.cumsum(self.cost, axis=1)


def _gain_ahead(seen: Seen) -> Array:
    """The sum of gain over rank, from each rank to the last."""
    return np.cumsum((seen.gain / seen.rank)[:, ::-1], axis=1)[:, ::-1]


def average_precision(seen: Seen) -> Array:
    """AP: in proportion to the gain still ahead."""
    ahead = _gain_ahead(seen)
    chance = np.zeros_like(ahead)
    np.divide(ahead[:, 1:], ahead[:, :-1], out=chance[:, :-1], where=ahead[:, 1:] > 0)
    return chance


def documents_examined_by_AP(seen: Seen) -> Array:
    """AP treats missed relevant documents as infinitely deep: they add no gain, but each takes a share of W."""
    ahead = _gain_ahead(seen)[:, :1]
    return np.divide(seen.total, ahead, out=np.ones_like(ahead), where=ahead > 0)


def logarithmic(seen: Seen) -> Array:
    """DCG: the ratio of successive discounts 1/log2(r + 1)."""
    return np.log2(seen.rank + 1) / np.log2(seen.rank + 2)


def insq(seen: Seen, T: float) -> Array:
    """INSQ: the chance grows with the rank and with the wanted gain T."""
    below = seen.rank + 2.0 * T
    return np.square((below - 1.0) / below)


def inst(seen: Seen, T: float) -> Array:
    """INST: like INSQ, but with the gain that is still wanted."""
    below = seen.rank + 2.0 * T - seen.gained
    return np.square((below - 1.0) / below)


def bejeweled_player(seen: Seen, T: float, K: float, hb: float, hc: float, median: float) -> Array:
    """BPM: until the gain reaches T or the cost reaches K; both limits can move with the gains seen before."""

    def moved(limit: float, step: float) -> Array:
        moves = step * (seen.gain - median)
        moves[:, 1:], moves[:, 0] = moves[:, :-1].copy(), limit  # the document at a rank moves the next rank's limit
        return np.cumsum(moves, axis=1)

    # in floating point, 1/3 + 1/3 + 1/3 + 1 is a little less than 2
    goes_on = (seen.gained < moved(T, hb) - 1e-9) & (seen.spent < moved(K, hc) - 1e-9)
    return np.logical_and.accumulate(goes_on, axis=1).astype(np.float64)


def information_goal(seen: Seen, T: float, b1: float, R1: float) -> Array:
    """IFT's C1: until a gain of about T is reached."""
    with np.errstate(over="ignore"):  # far below the goal, the chance is 1
        return np.asarray(1.0 - 1.0 / (1.0 + b1 * np.exp((T - seen.gained) * R1)))


def information_rate(seen: Seen, A: float, b2: float, R2: float) -> Array:
    """IFT's C2: as long as the gain per cost stays at about A or above."""
    with np.errstate(over="ignore"):  # far below the rate, the chance is 0
        rate = np.divide(seen.gained, seen.spent, out=np.zeros_like(seen.gained), where=seen.spent > 0)
        return np.asarray(1.0 / (1.0 + b2 * np.exp((A - rate) * R2)))


REPORTS = ("EU", "ETU", "EC", "ETC", "ED", "residual")
CELLS = 1 << 20
"""How many ranks are scored at a time, to bound memory."""
MOST_RANKS = 1_000_000
COSTS = ("cost", "words", "characters", "length")
"""Columns of the table of lengths that `cost` can name."""
BELOW = ("mean", "none")
"""What a rank below the end of a list can cost, if not a number: the mean of the list, or nothing."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """C, W and L at every rank, with gains and costs; one row per list, or a single row that holds for all lists."""

    seen: Seen
    C: Array
    W: Array
    L: Array
    beyond: Array
    """How many documents a reader is expected to read that are not at any of these ranks, as a column."""
    cost_beyond: Array
    """What each of these documents costs, as a column."""

    def report(self, name: str) -> Array:
        """One of EU, ETU, EC, ETC and ED, for each list."""
        if name == "ED":
            return 1.0 / self.W[:, 0]
        if name == "EU":
            return _sum(self.W * self.seen.gain)
        if name == "ETU":
            return _sum(_from_here(self.L) * self.seen.gain)
        below = (self.beyond * self.cost_beyond)[:, 0]
        if name == "EC":
            return _sum(self.W * self.seen.cost) + below * self.W[:, 0]
        return _sum(self.L * self.seen.spent) + below


def _sum(values: Array) -> Array:
    return np.asarray(np.cumsum(values, axis=1)[:, -1])


def _from_here(values: Array) -> Array:
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]


class _NeedsLengths:
    """The attribute `needs`: the table of lengths if `cost` names one of its columns."""

    def __get__(self, measure: CWLMeasure | None, kind: type[CWLMeasure]) -> str:
        return "lengths" if measure is not None and isinstance(measure.cost, str) else ""


class CWLMeasure(Measure):
    """The base class of C/W/L measures; a subclass defines `continues`, the chance to go on at each rank.

    >>> class Impatient(CWLMeasure):
    ...     "A reader who is half as likely to go on after a document without gain."
    ...     name = "Impatient"
    ...     def continues(self, seen):
    ...         return np.where(seen.gain > 0, 0.8, 0.4)
    >>> round(Impatient().of([1, 0, 1]), 4)
    0.5183
    """

    gain: GainLike | None = field(default=LINEAR, kw_only=True)
    rel: float = field(default=1, kw_only=True)
    max_grade: Positive | None = field(default=None, kw_only=True)
    cost: str | Mapping[Any, Any] | Gain | None = field(default=None, kw_only=True)
    cost_below: str | float | None = field(default=None, kw_only=True)
    depth: int = field(default=1000, kw_only=True)
    report: str = field(default="EU", kw_only=True)

    needs: ClassVar[Any] = _NeedsLengths()
    properties = Properties(graded=True, recall_free=True)

    @abstractmethod
    def continues(self, seen: Seen) -> Array:
        """C: the chance to go on from every rank, between 0 and 1; one row per list, or one row for all lists."""

    def examined(self, seen: Seen, reach: Array) -> Array:
        """The expected number of documents that a reader examines: the sum of the chances to reach each rank."""
        return _sum(reach)[:, None]

    def normalised(self) -> dict[str, Any]:
        return {"cost": Gain.of(self.cost, "cost") if isinstance(self.cost, Mapping) else self.cost}

    def _check(self, changed: list[str]) -> None:
        super()._check(changed)
        check.one_of(self.name, REPORTS, report=self.report)
        for name, ranks in (("depth", self.depth), ("cutoff", self.cutoff or 1)):
            if not 1 <= ranks <= MOST_RANKS or ranks != int(ranks):
                raise UsageError(f"{self.name}: {name} == {ranks!r}, must be a whole number from 1 to {MOST_RANKS:,}")
        if isinstance(self.cost, str):
            check.one_of(self.name, COSTS, cost=self.cost)
        elif self.cost is not None:
            costs = dict(self.cost.table) if isinstance(self.cost, Gain) and not self.cost.unlisted else {}
            if 0 not in costs or min(costs.values()) <= 0:
                raise UsageError(
                    f"{self.name}: cost == {self.cost}, must be a table of what documents of each grade cost, all "
                    f"above 0, such as {{0: 1, 1: 3}}, or a column of the lengths: {', '.join(COSTS)}"
                )
        if isinstance(self.cost_below, str):
            check.one_of(self.name, BELOW, cost_below=self.cost_below)
        elif self.cost_below is not None:
            check.finite(self.name, cost_below=self.cost_below)
            check.positive(self.name, cost_below=self.cost_below)

    def declares(self, default: Properties) -> Properties:
        """Gains are better high; costs and depth only describe."""
        if self.report == "EU":
            return default
        if self.report == "residual":  # if C is fixed, only which documents are judged matters
            low = 0.0 if default.recall_free else -1.0
            plain = default.replace(normalised=False, diminishing=False, low=low, better="neither")
            return plain.replace(graded=False) if default.additive else plain
        better = "higher" if self.report == "ETU" else "neither"
        additive = default.additive and self.report == "ETU"
        return default.replace(normalised=False, additive=additive, high=np.inf, better=better)

    # -- what it computes

    def worth(self, lists: Assessed) -> tuple[Hits, Array]:
        """The hits with a gain, and their gains between 0 and 1."""
        if self.gain is None:
            hits = lists.relevant(self.rel, self.reading_depth)
            return hits, np.ones(len(hits))
        hits, gains = gained(lists, Gain.of(self.gain), self.reading_depth)
        return hits, gains / self._largest(lists)

    def _largest(self, lists: Assessed) -> float:
        """The gain that counts as 1."""
        return Gain.of(self.gain or LINEAR).scale(highest_grade(self.name, self.max_grade, lists))

    def _total(self, lists: Assessed) -> Array:
        """What all judged documents of each list's topic gain together."""
        if self.gain is None:
            return lists.num_rel(self.rel)
        return total_gain(lists, Gain.of(self.gain)) / self._largest(lists)

    def note(self, lists: Assessed) -> str | None:
        notes = []
        if self.gain is not None and self.max_grade is None:
            notes.append(note_scale(self._largest(lists)))
        if isinstance(self.cost, str):
            notes.append(note_unit(self.name, lists, self.cost))
        return "; ".join(filter(None, notes)) or None

    @property
    def reading_depth(self) -> int:
        """The last rank that is read."""
        return self.k or int(self.depth)

    def blocks(self, lists: Assessed, unknown: float = 0.0) -> Iterator[tuple[slice, Vectors]]:
        """C, W and L of all lists, some lists at a time; unjudged documents and missing ranks gain `unknown`."""
        hits, gains = self.worth(lists)
        total = self._total(lists)
        if hits.weight is not None:  # a view can put a document at several ranks
            gains = gains * hits.weight
        depth = self.reading_depth
        step = max(1, CELLS // depth)
        judged = lists.hits(depth)
        judged_share = np.ones(len(judged)) if judged.weight is None else judged.weight
        for begin in range(0, lists.rows, step):
            rows = slice(begin, min(begin + step, lists.rows))
            gain, total_here = _by_rank(hits, gains, rows, depth), total[rows, None]
            if unknown:
                more = unknown * (1.0 - _by_rank(judged, judged_share, rows, depth))
                gain, total_here = gain + more, total_here + more.sum(axis=1, keepdims=True)
            cost, below = self._costs(lists, rows, depth)
            yield rows, self._vectors(Seen(gain, cost, total_here), below)

    def _costs(self, lists: Assessed, rows: slice, depth: int) -> tuple[Array, Array]:
        """The cost of every rank, and what a document below the end of the list costs, as a column."""
        if self.cost is None and self.cost_below in (None, "mean", 1):
            return np.ones((1, depth)), np.ones((1, 1))
        length = np.minimum(lists.retrieved[rows], depth)[:, None]
        inside = np.arange(depth) < length
        costs = np.broadcast_to(self._costs_of_list(lists, rows, depth), inside.shape)
        default = "mean" if isinstance(self.cost, str) else dict(Gain.of(self.cost).table)[0] if self.cost else 1.0
        rule = default if self.cost_below is None else self.cost_below
        if rule == "mean":
            mean = np.where(inside, costs, 0.0).sum(axis=1, keepdims=True) / np.maximum(length, 1)
            below = np.where(length > 0, mean, 1.0)
        else:
            below = np.full(length.shape, 0.0 if rule == "none" else float(rule))
        return np.where(inside, costs, below), below

    def _costs_of_list(self, lists: Assessed, rows: slice, depth: int) -> Array:
        """The costs down to the end of each list; what stands below does not count."""
        if self.cost is None:
            return np.ones((1, depth))
        if isinstance(self.cost, str):
            return costs_by_document(lists, rows, depth, self.name, self.cost)
        cost = Gain.of(self.cost)
        unjudged, hits = dict(cost.table)[0], lists.hits(depth)
        more = lists._once(
            ("cost above unjudged", cost, depth), lambda: np.where(hits.grade > 0, cost(hits.grade) - unjudged, 0.0)
        )
        return unjudged + _by_rank(hits, more, rows, depth)

    def _vectors(self, seen: Seen, cost_below: Array) -> Vectors:
        C = np.array(self.continues(seen), dtype=np.float64, ndmin=2)
        if not np.all((C >= 0) & (C <= 1)):
            outside = C[~((C >= 0) & (C <= 1))][0]
            raise UsageError(f"{self}: the chance to go on is {outside:g} at some rank, must be between 0 and 1")
        if self.cutoff is not None:
            C[:, -1] = 0.0
        reach = np.ones_like(C)
        np.cumprod(C[:, :-1], axis=1, out=reach[:, 1:])
        examined = self.examined(seen, reach)
        beyond = np.maximum(examined - _sum(reach)[:, None], 0.0)
        return Vectors(seen, C, reach / examined, reach * (1.0 - C), beyond, cost_below)

    def score(self, lists: Assessed) -> Array:
        out = np.empty(lists.rows)
        plain = "EU" if self.report == "residual" else self.report
        for rows, vectors in self.blocks(lists):
            out[rows] = vectors.report(plain)
        if self.report == "residual":
            for rows, vectors in self.blocks(lists, unknown=1.0):
                out[rows] = vectors.report(plain) - out[rows]
        return self.defined(lists, out)

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        """Below the last rank that is read, the score does not change."""
        scores = score_cut_lists(self.score, lists, min(ranks, self.reading_depth))
        return np.pad(scores, (0, ranks - len(scores)), mode="edge")

    def defined(self, lists: Assessed, scores: Array) -> Array:
        """The scores, with NaN where the measure is undefined."""
        return scores

    def terms(self, lists: Assessed) -> Terms | None:
        """What the document at each rank adds; costs and depth are not sums over documents."""
        if self.report not in ("EU", "ETU"):
            return None
        every = lists.every(self.reading_depth)
        row, rank = every.row, every.rank
        columns = {name: np.empty(len(row)) for name in ("gain", "C", "W", "L", "adds")}
        for rows, vectors in self.blocks(lists):
            inside = slice(*np.searchsorted(row, [rows.start, rows.stop]))
            at = (row[inside] - rows.start, rank[inside] - 1)
            weight = vectors.W if self.report == "EU" else _from_here(vectors.L)
            tables = {"gain": vectors.seen.gain, "C": vectors.C, "W": vectors.W, "L": vectors.L}
            tables["adds"] = weight * vectors.seen.gain
            for name, table in tables.items():
                columns[name][inside] = np.broadcast_to(table, (rows.stop - rows.start, self.reading_depth))[at]
        adds = columns.pop("adds")
        over = self.defined(lists, np.ones(lists.rows))
        return Terms(Hits(lists.rows, row, rank, columns["gain"]), adds, over, columns)


def _by_rank(hits: Hits, values: Array, rows: slice, depth: int) -> Array:
    """The values of the hits in these rows as a table of lists by ranks, 0 elsewhere."""
    inside, count = slice(hits.start[rows.start], hits.start[rows.stop]), rows.stop - rows.start
    at = (hits.row[inside].astype(np.int64) - rows.start) * depth + hits.rank[inside] - 1
    return np.bincount(at, values[inside], count * depth).astype(np.float64, copy=False).reshape(count, depth)


def costs_by_document(lists: Assessed, rows: slice, depth: int, caller: str, column: str) -> Array:
    """The cost of the document at every rank, from the table of lengths; 0 below the end of a list.

    >>> from cranfield.assessed.lengths import Lengths
    >>> lists = Assessed.one([1, 0]).replace(lengths=Lengths.one({"cost": [2, 4]}, 2))
    >>> costs_by_document(lists, slice(0, 1), 4, "CWL", "cost").tolist()
    [[2.0, 4.0, 0.0, 0.0]]
    """
    every = lists.every(depth)
    inside = slice(every.start[rows.start], every.start[rows.stop])
    row, rank = every.row[inside], every.rank[inside]
    costs = lengths_of(lists, f"{caller}(cost={column!r})").of(column, row, rank)
    if not np.all(costs > 0):
        at = int(np.flatnonzero(~(costs > 0))[0])
        where = f"run {lists.runs[lists.run[row[at]]]!r}, topic {lists.topics[lists.topic[row[at]]]!r}, rank {rank[at]}"
        raise UsageError(f"{caller}: {where}: the document's {column} is {costs[at]:g}, must be above 0 to be a cost")
    table = np.zeros((rows.stop - rows.start, depth))
    table[row - rows.start, rank - 1] = costs
    return table


# -- the measure with any continuation

CONTINUATIONS: dict[str, Callable[[CWL, Seen], Array]] = {
    "RBP": lambda measure, seen: np.full(seen.rank.shape, float(measure.p)),
    "P": lambda measure, seen: np.ones(seen.rank.shape),
    "RR": lambda measure, seen: (seen.gained <= 0).astype(np.float64),
    "AP": lambda measure, seen: average_precision(seen),
    "DCG": lambda measure, seen: logarithmic(seen),
    "INST": lambda measure, seen: inst(seen, measure.T),
    "INSQ": lambda measure, seen: insq(seen, measure.T),
    "BPM": lambda measure, seen: bejeweled_player(seen, measure.T, np.inf, 0.0, 0.0, 0.0),
    "listed": lambda measure, seen: np.array(measure.C)[np.minimum(seen.rank, len(measure.C)) - 1],
}


@measure
class CWL(CWLMeasure):
    r"""Expected utility for a reader who goes on from rank i to rank i + 1 with probability C(i).

    .. math:: \sum_i W(i)\,g(i), \qquad W(i) = W(1)\prod_{j<i} C(j), \qquad L(i) = \frac{W(i)\,(1 - C(i))}{W(1)}

    `continuation` names C: `"RBP"` (always `p`), `"P"` (1, to the cutoff), `"RR"` (until the first gain), `"AP"` (in
    proportion to the gain still ahead), `"DCG"`, `"INST"`, `"INSQ"` and `"BPM"` (with T), or `"listed"`: the numbers in
    `C`, one per rank from the top; the last one holds for all further ranks. For any other C, write a subclass of
    CWLMeasure with the method `continues`.

    `report` selects the number: `"EU"` expected utility (gain per document), `"ETU"` expected total utility, `"EC"`
    expected cost per document, `"ETC"` expected total cost, `"ED"` expected depth, and `"residual"` how much the
    expected utility would change if all unjudged documents, and all ranks below the end of the list, gained 1. If C is
    fixed (RBP, P, DCG, INSQ, listed), the residual is the most that can be gained; for RBP it is `RBPres`.

    Gains from 0 to 1 count as they are. If gains can exceed 1, all are divided by the largest possible gain, that of
    `max_grade` or of the largest grade in the judgments. `gain=None` gives 1 to documents of grade `rel` or better and
    0 to others. A document costs 1, or what the table `cost` gives for its grade (unjudged: grade 0), or, if `cost` is
    `"cost"`, `"words"`, `"characters"` or `"length"`, the number in that column of the table of lengths. `cost_below`
    says what a document below the end of the list costs: a number, `"mean"` (the mean cost of the list, 1 if it is
    empty; the default for a column of lengths), or `"none"` (nothing). By default, without a column of lengths, it
    costs what an unjudged document costs. W adds up to 1 over `depth` ranks; L leaves out readers who go on below
    `depth`. With `@l` no reader goes on below rank l, so ETU = EU · ED. For AP, the relevant documents that were missed
    also get a share of W, and cost what a document below the end of the list costs; a topic without relevant documents
    is undefined.
    No relevant documents: 0.
    Reference: Moffat, Bailey, Scholer & Thomas, TOIS 35(3), 2017, doi:10.1145/3052768

    >>> CWL(continuation="RBP", p=0.5).of([1, 0, 1])
    0.625
    """

    continuation: str = "RBP"
    p: Probability = 0.8
    T: float = 1
    C: Sequence[float] = ()

    properties = Properties(graded=True, recall_free=True)

    def normalised(self) -> dict[str, Any]:
        chances = number_tuple(self.C)
        return {**super().normalised(), "C": chances if isinstance(chances, tuple) else (chances,)}

    def check(self) -> None:
        check.one_of(self.name, tuple(CONTINUATIONS), continuation=self.continuation)
        check_wanted_gain(self.name, self.continuation, self.T)
        for chance in self.C:
            check.finite(self.name, C=chance)
            check.between(self.name, low=0, high=1, C=chance)
        if bool(self.C) != (self.continuation == "listed"):
            settings = f"continuation == {self.continuation!r} and C == {list(self.C)}"
            raise UsageError(f'{self.name}: {settings}; give C with continuation="listed", and only there')

    def declares(self, default: Properties) -> Properties:
        fixed = self.continuation in ("RBP", "P", "DCG", "INSQ", "listed")
        return super().declares(
            default.replace(
                recall_free=self.continuation != "AP",
                additive=fixed,
                diminishing=self.continuation == "RR" and self.gain is None,
            )
        )

    def continues(self, seen: Seen) -> Array:
        return CONTINUATIONS[self.continuation](self, seen)

    def examined(self, seen: Seen, reach: Array) -> Array:
        if self.continuation == "AP":
            return documents_examined_by_AP(seen)
        return super().examined(seen, reach)

    def defined(self, lists: Assessed, scores: Array) -> Array:
        return divide(scores, (self._total(lists) > 0).astype(np.float64)) if self.continuation == "AP" else scores


def check_wanted_gain(caller: str, model: str, T: float) -> None:
    """Raise an error for a wanted gain that would give chances outside 0 to 1."""
    if model != "INST":
        check.positive(caller, T=T)
    elif not T >= 0.5:
        raise UsageError(f"{caller}: T == {T!r}, must be 0.5 or more (smaller values do not give probabilities)")
