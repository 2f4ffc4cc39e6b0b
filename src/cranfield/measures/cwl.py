"""C/W/L: a measure from nothing but the chance that a reader goes on to the next document.

C(i) is the chance to go on from rank i, W(i) the share of attention rank i gets, L(i) the chance that i is the last
rank looked at. Each of the three gives the other two; what a document gains and costs does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits, position_in_segment
from cranfield.errors import UsageError
from cranfield.measures import continuation as going_on
from cranfield.measures.base import Measure, Properties, Terms, by_parameters, divide, measure
from cranfield.measures.continuation import Seen
from cranfield.measures.first import check_highest, highest_grade
from cranfield.measures.gain import LINEAR, Gain, GainLike, note_scale
from cranfield.measures.retrieved import gained
from cranfield.measures.time import lengths_of
from cranfield.types import Array, Index

REPORTS = ("EU", "ETU", "EC", "ETC", "ED", "residual")
CELLS = 1 << 20
"""Lists are scored for so many ranks at a time, to bound memory."""
DEEPEST = 1_000_000
COSTS = ("cost", "words", "characters", "length")
"""Columns of the table of lengths that can say what a document costs."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """C, W and L at every rank, with what stands there; one row per list, or a single row where all lists share it."""

    seen: Seen
    C: Array
    W: Array
    L: Array

    def report(self, name: str) -> Array:
        """One of the five numbers that can be said of a reader, for each list."""
        if name == "ED":
            return 1.0 / self.W[:, 0]
        if name == "EU":
            return _sum(self.W * self.seen.gain)
        if name == "ETU":
            return _sum(_from_here(self.L) * self.seen.gain)
        return _sum(self.W * self.seen.cost) if name == "EC" else _sum(self.L * self.seen.spent)


def _sum(values: Array) -> Array:
    return np.asarray(np.cumsum(values, axis=1)[:, -1])


def _from_here(values: Array) -> Array:
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]


class _Needs:
    """What a measure as it is made cannot be computed without: a table, where documents have costs of their own."""

    def __get__(self, made: CWLMeasure | None, kind: type[CWLMeasure]) -> str:
        return "lengths" if made is not None and isinstance(made.cost, str) else ""


class CWLMeasure(Measure):
    """What all C/W/L measures share. A subclass says in `continues` with what chance a reader goes on at each rank.

    >>> class Impatient(CWLMeasure):
    ...     "Goes on with half the chance at every rank that gains nothing."
    ...     name = "Impatient"
    ...     def continues(self, seen):
    ...         return np.where(seen.gain > 0, 0.8, 0.4)
    >>> round(Impatient().of([1, 0, 1]), 4)
    0.5183
    """

    gain: GainLike | None = field(default=LINEAR, kw_only=True)
    rel: float = field(default=1, kw_only=True)
    max_grade: float | None = field(default=None, kw_only=True)
    cost: GainLike | None = field(default=None, kw_only=True)
    depth: int = field(default=1000, kw_only=True)
    report: str = field(default="EU", kw_only=True)

    needs: ClassVar[Any] = _Needs()
    properties: ClassVar[Any] = by_parameters(Properties(graded=True, recall_free=True))

    def continues(self, seen: Seen) -> Array:
        """C: the chance to go on from every rank, between 0 and 1; one row per list, or one row for all."""
        raise NotImplementedError

    def examined(self, seen: Seen, reach: Array) -> Array:
        """How many documents a reader is expected to examine: by default the chances to reach each rank, summed."""
        return _sum(reach)[:, None]

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Parameter names and defaults, those of the measure itself first."""
        every = super().parameters()
        shared = CWLMeasure._defaults
        return {**{name: every[name] for name in every if name not in shared}, **every}

    def _check_kind(self, name: str, default: Any) -> None:
        if name != "gain" or self.gain is not None:
            super()._check_kind(name, default)

    def _check(self) -> None:
        super()._check()
        check.one_of(self.name, REPORTS, report=self.report)
        check_highest(self.name, self.max_grade)
        for what, ranks in (("depth", self.depth), ("cutoff", self.cutoff or 1)):
            if not 1 <= ranks <= DEEPEST or ranks != int(ranks):
                raise UsageError(f"{self.name}: {what} == {ranks!r}, must be a whole number from 1 to {DEEPEST:,}")
        if isinstance(self.cost, str):
            check.one_of(self.name, COSTS, cost=self.cost)
        elif self.cost is not None:
            self._check_cost(Gain.of(self.cost))

    def _check_cost(self, cost: Gain) -> None:
        listed = dict(cost.table)
        if cost.kind != "table" or cost.unlisted or 0 not in listed or min(listed.values()) <= 0:
            raise UsageError(
                f"{self.name}: cost == {cost}, must be a table of what documents of each grade cost, all above 0, "
                f"such as {{0: 1, 1: 3}}, or name a column of the lengths: {', '.join(COSTS)}"
            )
        self.__dict__["cost"] = cost

    def declares(self, default: Properties) -> Properties:
        """What a reader gains is better high, what it takes just describes."""
        if self.report == "EU":
            return default
        if self.report == "residual":  # where C is fixed it only matters which documents are judged
            low = 0.0 if default.recall_free else -1.0
            plain = default.replace(normalised=False, diminishing=False, low=low, better="neither")
            return plain.replace(graded=False) if default.additive else plain
        better = "higher" if self.report == "ETU" else "neither"
        additive = default.additive and self.report == "ETU"
        return default.replace(normalised=False, additive=additive, high=np.inf, better=better)

    # -- what it computes

    def worth(self, lists: Assessed) -> tuple[Hits, Array]:
        """The hits that gain something, and how much, between 0 and 1."""
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
        ideal = lists.ideal(Gain.of(self.gain))
        return ideal.sum(ideal.gain) / self._largest(lists)

    def note(self, lists: Assessed) -> str | None:
        told = []
        if self.gain is not None and self.max_grade is None:
            told.append(note_scale(self._largest(lists)))
        if isinstance(self.cost, str) and lists.lengths is not None and lists.lengths.column(self.cost) != self.cost:
            told.append(f"{self.name}: the lengths of documents are taken for {self.cost}")
        return "; ".join(filter(None, told)) or None

    @property
    def reading_depth(self) -> int:
        """The last rank that is looked at."""
        return self.k or int(self.depth)

    def blocks(self, lists: Assessed, unknown: float = 0.0) -> Iterator[tuple[slice, Vectors]]:
        """C, W and L of all lists, some lists at a time; documents not judged or not there gain `unknown`."""
        hits, gains = self.worth(lists)
        total = self._total(lists)
        if hits.weight is not None:  # a document that stands at several ranks, by view
            gains = gains * hits.weight
        deep = self.reading_depth
        step = max(1, CELLS // deep)
        for begin in range(0, lists.rows, step):
            rows = slice(begin, min(begin + step, lists.rows))
            some = slice(hits.start[rows.start], hits.start[rows.stop])
            count = rows.stop - rows.start
            gain = _table(hits.row[some] - begin, hits.rank[some], gains[some], count, deep)
            of_topic = total[rows, None]
            if unknown:
                more = unknown * (1.0 - self._judged(lists, rows, deep))
                gain, of_topic = gain + more, of_topic + more.sum(axis=1, keepdims=True)
            yield rows, self._vectors(Seen(gain, self._costs(lists, rows, deep), of_topic))

    def _judged(self, lists: Assessed, rows: slice, deep: int) -> Array:
        """1 where a judged document stands; a share of it where it may stand at several ranks."""
        hits = lists.hits(deep)
        some = slice(hits.start[rows.start], hits.start[rows.stop])
        share = np.ones(len(hits.row[some])) if hits.weight is None else hits.weight[some]
        return _table(hits.row[some] - rows.start, hits.rank[some], share, rows.stop - rows.start, deep)

    def _costs(self, lists: Assessed, rows: slice, deep: int) -> Array:
        if self.cost is None:
            return np.ones((1, deep))
        if isinstance(self.cost, str):
            return costs_by_document(lists, rows, deep, self.name, self.cost)
        cost = Gain.of(self.cost)
        of_nothing = dict(cost.table)[0]
        hits = lists.hits(deep)
        some = slice(hits.start[rows.start], hits.start[rows.stop])
        more = np.where(hits.grade[some] > 0, cost(hits.grade[some]) - of_nothing, 0.0)
        table = _table(hits.row[some] - rows.start, hits.rank[some], more, rows.stop - rows.start, deep)
        return of_nothing + table

    def _vectors(self, seen: Seen) -> Vectors:
        C = np.array(self.continues(seen), dtype=np.float64, ndmin=2)
        if not np.all((C >= 0) & (C <= 1)):
            wrong = C[~((C >= 0) & (C <= 1))][0]
            raise UsageError(f"{self}: the chance to go on is {wrong:g} at some rank, must be between 0 and 1")
        if self.cutoff is not None:
            C[:, -1] = 0.0
        reach = np.ones_like(C)
        np.cumprod(C[:, :-1], axis=1, out=reach[:, 1:])
        return Vectors(seen, C, reach / self.examined(seen, reach), reach * (1.0 - C))

    def score(self, lists: Assessed) -> Array:
        out = np.empty(lists.rows)
        plain = "EU" if self.report == "residual" else self.report
        for rows, vectors in self.blocks(lists):
            out[rows] = vectors.report(plain)
        if self.report == "residual":
            for rows, vectors in self.blocks(lists, unknown=1.0):
                out[rows] = vectors.report(plain) - out[rows]
        return self.defined(lists, out)

    def defined(self, lists: Assessed, scores: Array) -> Array:
        """The scores, undefined where the measure is."""
        return scores

    def terms(self, lists: Assessed) -> Terms | None:
        """What the document at each rank adds; cost and depth are no sums over documents."""
        if self.report not in ("EU", "ETU"):
            return None
        length = np.minimum(lists.retrieved, self.reading_depth)
        row = np.repeat(np.arange(lists.rows), length)
        rank = position_in_segment(np.concatenate(([0], np.cumsum(length))))
        columns = {name: np.empty(len(row)) for name in ("gain", "C", "W", "L", "adds")}
        for rows, vectors in self.blocks(lists):
            some = slice(*np.searchsorted(row, [rows.start, rows.stop]))
            at = (row[some] - rows.start, rank[some] - 1)
            weight = vectors.W if self.report == "EU" else _from_here(vectors.L)
            tables = {"gain": vectors.seen.gain, "C": vectors.C, "W": vectors.W, "L": vectors.L}
            tables["adds"] = weight * vectors.seen.gain
            for name, table in tables.items():
                columns[name][some] = np.broadcast_to(table, (rows.stop - rows.start, self.reading_depth))[at]
        adds = columns.pop("adds")
        over = self.defined(lists, np.ones(lists.rows))
        return Terms(Hits(lists.rows, row, rank, columns["gain"]), adds, over, columns)


def _table(row: Index, rank: Index, values: Array, rows: int, deep: int) -> Array:
    """Values at their rows and ranks, 0 elsewhere."""
    at = row.astype(np.int64) * deep + rank - 1
    return np.bincount(at, values, rows * deep).astype(np.float64, copy=False).reshape(rows, deep)


def costs_by_document(lists: Assessed, rows: slice, deep: int, who: str, column: str) -> Array:
    """What the document at every rank costs, by the table of lengths; below the end of a list the mean of those above.

    >>> from cranfield.assessed.lengths import Lengths
    >>> given = Assessed.one([1, 0]).replace(lengths=Lengths.one({"cost": [2, 4]}, 2))
    >>> costs_by_document(given, slice(0, 1), 4, "CWL", "cost").tolist()
    [[2.0, 4.0, 3.0, 3.0]]
    """
    every = lists.every(deep)
    some = slice(every.start[rows.start], every.start[rows.stop])
    row, rank = every.row[some], every.rank[some]
    costs = lengths_of(lists, f"{who}(cost={column!r})").of(column, row, rank)
    if not np.all(costs > 0):
        at = int(np.flatnonzero(~(costs > 0))[0])
        where = f"run {lists.runs[lists.run[row[at]]]!r}, topic {lists.topics[lists.topic[row[at]]]!r}, rank {rank[at]}"
        raise UsageError(f"{who}: {where}: the document's {column} is {costs[at]:g}, must be above 0 to be a cost")
    count = rows.stop - rows.start
    there = np.diff(every.start[rows.start : rows.stop + 1])
    sums = np.bincount(row - rows.start, costs, count)
    below = np.where(there > 0, sums / np.maximum(there, 1), 1.0)
    table = _table(row - rows.start, rank, costs, count, deep)
    return np.where(np.arange(deep) < there[:, None], table, below[:, None])


# -- the measure with any continuation

NAMED: dict[str, Callable[[CWL, Seen], Array]] = {
    "RBP": lambda of, seen: going_on.constant(seen, of.p),
    "P": lambda of, seen: going_on.constant(seen, 1.0),
    "RR": lambda of, seen: going_on.until_the_first(seen),
    "AP": lambda of, seen: going_on.toward_the_rest(seen),
    "DCG": lambda of, seen: going_on.logarithmic(seen),
    "INST": lambda of, seen: going_on.inst(seen, of.T),
    "INSQ": lambda of, seen: going_on.insq(seen, of.T),
    "BPM": lambda of, seen: going_on.bejeweled(seen, of.T, np.inf, 0.0, 0.0, 0.0),
    "listed": lambda of, seen: going_on.listed(seen, tuple(of.C)),
}


@measure
class CWL(CWLMeasure):
    r"""Expected utility for a reader who goes on from rank i to i + 1 with the chance C(i).

    .. math:: \sum_i W(i)\,g(i), \qquad W(i) = W(1)\prod_{j<i} C(j), \qquad L(i) = \frac{W(i)\,(1 - C(i))}{W(1)}

    `continuation` names C: `"RBP"` (always `p`), `"P"` (1, to the cutoff), `"RR"` (until the first gain), `"AP"` (in
    proportion to what is still to come), `"DCG"`, `"INST"`, `"INSQ"` and `"BPM"` (with T), or `"listed"`: the numbers
    of `C`, from the top, of which the last holds from there on. A C of one's own is the method `continues` of a
    subclass of CWLMeasure. `report` says which number is given: `"EU"` expected utility (gain per document), `"ETU"`
    expected total utility, `"EC"` expected cost per document, `"ETC"` expected total cost, `"ED"` expected depth, and
    `"residual"` what expected utility would gain if all documents that are not judged, and those at ranks below the end
    of the list, gained 1. Where C is fixed (RBP, P, DCG, INSQ, listed) this is the most it can gain, for RBP it is
    `RBPres`; where readers stop once they are content it is what the best of documents would change.

    Gains from 0 to 1 count as they are, as in RBP; where some are above 1, all are divided by the largest there can be,
    that of `max_grade` or of the largest grade in the judgments. `gain=None` takes documents of grade `rel` and better
    for 1 and all others for 0. A document costs 1, or what `cost` gives for its grade (unjudged: as grade 0), or what
    the table of lengths says of the document itself in the column that `cost` names: `"cost"`, `"words"`,
    `"characters"` or `"length"`. Below the end of the list nothing gains, and by such a table a rank costs the mean of
    those above (1 in an empty list). W adds up to 1 over `depth` ranks; L leaves out those who go on below. With `@l`
    nobody goes on below rank l, so that ETU = EU · ED. As a member, AP shares W with the relevant documents that were
    missed, and is undefined without any.
    No relevant documents: 0.
    Reference: Moffat, Bailey, Scholer & Thomas, TOIS 35(3), 2017, doi:10.1145/3052768

    >>> CWL(continuation="RBP", p=0.5).of([1, 0, 1])
    0.625
    """

    continuation: str = "RBP"
    p: float = 0.8
    T: float = 1
    C: Sequence[float] = ()

    properties: ClassVar[Any] = by_parameters(Properties(graded=True, recall_free=True))

    def check(self) -> None:
        check.one_of(self.name, tuple(NAMED), continuation=self.continuation)
        check.between(self.name, low=0, high=1, p=self.p)
        check_wanted(self.name, self.continuation, self.T)
        try:
            chances = tuple(self.C)
        except TypeError:
            chances = (self.C,)  # type: ignore[assignment]
        for chance in chances:
            check.finite(self.name, C=chance)
            check.between(self.name, low=0, high=1, C=chance)
        if bool(chances) != (self.continuation == "listed"):
            raise UsageError(f'{self.name}: continuation == {self.continuation!r} and C == {list(chances)}; '
                             'give C with continuation="listed", and only there')  # fmt: skip
        self.__dict__["C"] = tuple(float(chance) for chance in chances)

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
        return NAMED[self.continuation](self, seen)

    def examined(self, seen: Seen, reach: Array) -> Array:
        if self.continuation == "AP":
            return going_on.documents_examined_by_AP(seen)
        return super().examined(seen, reach)

    def defined(self, lists: Assessed, scores: Array) -> Array:
        return divide(scores, (self._total(lists) > 0).astype(np.float64)) if self.continuation == "AP" else scores


def check_wanted(who: str, continuation: str, T: float) -> None:
    """Complain about a wanted gain for which the chance to go on would be none."""
    if continuation != "INST":
        check.positive(who, T=T)
    elif not T >= 0.5:
        raise UsageError(f"{who}: T == {T!r}, must be 0.5 or more (less is no longer a chance to go on)")
