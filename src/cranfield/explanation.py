"""Why a score is what it is: one list, rank by rank, with what the measure counts there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed import Array, Assessed
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.evaluation import MeasureLike, as_measures, values_of, warn_of_gains, with_scores
from cranfield.hits_by_intent import intent_recall, intents_of, relevant_to_intents
from cranfield.intent_views import ByIntent, GlobalGain, Sharp
from cranfield.join_options import JoinOptions
from cranfield.joining import join
from cranfield.measures import Measure, Terms
from cranfield.measures.dimensions import OverDimensions
from cranfield.measures.diversity import averaged
from cranfield.views import Ties, View


@dataclass(frozen=True)
class Line:
    """One document of the list."""

    rank: int
    """In the list as the measure's views read it."""
    doc: str
    score: float
    grade: float | None
    """None: unjudged."""
    counts: dict[str, float]
    """What the measure counts here: gain, discount, precision, ...; empty where it counts nothing."""
    so_far: float
    """The measure's value if the list ended here."""


@dataclass(frozen=True)
class Explanation:
    """How one list comes to its score."""

    measure: str
    run: str
    topic: str
    score: float
    relevant: int
    """Judged documents of grade 1 or more, retrieved or not."""
    retrieved: int
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data: a record per rank under `lines`."""
        return {
            "measure": self.measure,
            "run": self.run,
            "topic": self.topic,
            "score": None if np.isnan(self.score) else self.score,
            "relevant": self.relevant,
            "retrieved": self.retrieved,
            "notes": list(self.notes),
            "lines": [
                {"rank": x.rank, "doc": x.doc, "score": x.score, "grade": x.grade, **x.counts,
                 "so far": None if np.isnan(x.so_far) else x.so_far}
                for x in self.lines
            ],
        }  # fmt: skip

    def records(self) -> list[list[Any]]:
        """The table's cells: rank, doc, score, grade, one per column, so far."""
        return [
            [x.rank, x.doc, x.score, x.grade, *(x.counts.get(name) for name in self.columns), x.so_far]
            for x in self.lines
        ]

    @property
    def header(self) -> tuple[str, ...]:
        """The names of what `records` holds."""
        return ("rank", "doc", "score", "grade", *self.columns, "so far")

    def __str__(self) -> str:
        shown = [self.header] + [_cells(record) for record in self.records()]
        widths = [max(len(row[i]) for row in shown) for i in range(len(self.header))]
        pad = [str.rjust, str.ljust] + [str.rjust] * len(widths)
        rows = ["  ".join(pad[i](cell, widths[i]) for i, cell in enumerate(row)) for row in shown]
        title = f"{self.measure} of {self.run} on topic {self.topic} = {_number(self.score)}"
        return "\n".join([title, *rows, *self.notes])


def _cells(record: list[Any]) -> tuple[str, ...]:
    rank, doc, score, grade, *counted = record
    return (str(rank), doc, f"{score:g}", "-" if grade is None else f"{grade:g}", *map(_number, counted))


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return "undefined" if np.isnan(value) else f"{value:.4f}"


def explain(
    qrels: Any,
    run: Any,
    topic: str,
    measure: MeasureLike,
    *,
    options: JoinOptions | None = None,
    depth: int | None = None,
) -> Explanation:
    """How the measure comes to the score of one run on one topic.

    `depth` limits how many ranks are shown; by default down to the measure's cutoff, or the whole list.

    >>> qrels = {"q1": {"d1": 1, "d2": 0, "d3": 1}}
    >>> print(explain(qrels, {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}, "q1", "AP"))
    AP of run on topic q1 = 0.8333
    rank  doc  score  grade  precision    adds  so far
       1  d1       3      1     1.0000  1.0000  0.5000
       2  d2       2      0          -       -  0.5000
       3  d3       1      1     0.6667  0.6667  0.8333
    sum of 'adds' 1.6667, divided by 2.0000
    """
    check.whole("explain", depth=depth)
    options = options or JoinOptions()
    measures = as_measures(measure)
    if len(measures) != 1:
        raise UsageError(f"explain: {len(measures)} measures given, must be one")
    topic = str(topic)
    judgments = Qrels.of(qrels, on_duplicate=options.on_duplicate)
    one = Run.of(run, format=options.format, on_duplicate=options.on_duplicate)
    lists = join(judgments, one, with_scores(options, measures))
    if topic not in lists.topics:
        raise UsageError(f"topic {topic!r} is not judged; there are {', '.join(lists.topics[:10])} ...")
    row = lists.topics.index(topic)
    if lists.missing[row]:
        raise UsageError(f"run {one.name!r} has no topic {topic!r}")
    warn_of_gains(measures, lists)
    lists = _only(lists, row)
    order = lists.notes[0].removeprefix("order: ")
    ranking = one.ranking(topic, order, options.precision)[: int(lists.retrieved[0])]
    return _explain(measures[0], lists, ranking, one.name, topic, depth)


def _only(lists: Assessed, row: int) -> Assessed:
    """The one list at `row`, each hit remembering where in the ranking it stands."""
    here = slice(*np.searchsorted(lists.row, [row, row + 1]))
    one = np.array([row])
    return lists.replace(
        run=lists.run[one], topic=lists.topic[one], retrieved=lists.retrieved[one], missing=lists.missing[one],
        set_of_row=lists.set_of_row[one], row=np.zeros(len(lists.row[here]), dtype=np.int64), rank=lists.rank[here],
        grade=lists.grade[here], place=lists.rank[here] - 1,
        tie_first=None if lists.tie_first is None else lists.tie_first[here],
        tie_last=None if lists.tie_last is None else lists.tie_last[here],
        lengths=None if lists.lengths is None else lists.lengths.rows(one),
        scores=None if lists.scores is None else lists.scores.rows(one),
        dimensions=None if lists.dimensions is None else lists.dimensions.rows(one),
        document=None if lists.document is None else lists.document[here],
    )  # fmt: skip


def _explain(
    measure: Measure, lists: Assessed, ranking: list[Any], run: str, topic: str, depth: int | None
) -> Explanation:
    score = float(values_of(measure, lists)[0])
    of_list, by_intent = measure.split_views()
    read, notes = lists, []
    for view in of_list:
        if isinstance(view, Ties) and view.reading == "expected":
            notes.append("documents with equal scores are shown in one order; the score is the mean over all orders")
        else:
            read = view.apply(read)
    length = int(read.retrieved[0])
    place_of_rank = _places(read, len(ranking))
    shown = min(length, depth or measure.k or length)
    so_far = _prefix_scores(measure.replace(views=by_intent), read, shown)
    terms = _terms(measure, by_intent, read)
    counts: dict[int, dict[str, float]] = {}
    columns: tuple[str, ...] = ()
    if terms is not None:
        named = {**terms.columns, "adds": terms.adds}
        columns = tuple(named)
        for i, rank in enumerate(terms.hits.rank):
            counts[int(rank)] = {
                name: float(np.broadcast_to(values, len(terms.hits))[i]) for name, values in named.items()
            }
        total = float(terms.hits.sum(terms.adds)[0])
        over = float(np.broadcast_to(terms.over, 1)[0])
        besides = float(np.broadcast_to(terms.besides, 1)[0])
        told = f", and {_number(besides)} for documents that were not retrieved" if besides else ""
        notes.append(f"sum of 'adds' {_number(total)}{told}" + ("" if over == 1 else f", divided by {_number(over)}"))
    notes.extend(_told_by_intent(measure, by_intent, read))
    if isinstance(measure, OverDimensions):
        notes.extend(measure.told(read))
    grade_at = {int(rank): float(grade) for rank, grade in zip(read.rank, read.grade, strict=True)}
    note = measure.note(lists)
    lines = []
    for rank in range(1, shown + 1):
        document = ranking[place_of_rank[rank - 1]]
        lines.append(
            Line(rank, document.doc, document.score, grade_at.get(rank), counts.get(rank, {}), float(so_far[rank - 1]))
        )
    return Explanation(
        measure=str(measure),
        run=run,
        topic=topic,
        score=score,
        relevant=int(lists.num_rel(1)[0]),
        retrieved=int(lists.retrieved[0]),
        columns=columns,
        lines=tuple(lines),
        notes=tuple([*notes, note] if note else notes),
    )


def _terms(measure: Measure, by_intent: tuple[View, ...], read: Assessed) -> Terms | None:
    """What the measure counts at each rank, documents read by their global gain or intent by intent as it asks."""
    plain = measure.replace(views=())
    for view in by_intent:
        if isinstance(view, GlobalGain):
            read = view.apply(read)
        if isinstance(view, ByIntent):
            return averaged(plain, read)
    return plain.terms(read)


def _told_by_intent(measure: Measure, by_intent: tuple[View, ...], read: Assessed) -> list[str]:
    """How intent recall, and the scores of all intents, make the score."""
    told = []
    plain = measure.replace(views=())
    if measure.needs == "intents" or any(isinstance(view, Sharp) for view in by_intent):
        told.append(_intents_seen(measure, read))
    for view in by_intent:
        if isinstance(view, Sharp):
            recall = float(intent_recall(read, measure.k)[0])
            told.append(f"{view.gamma:g} of the score is intent recall {_number(recall)}, the rest as above")
        if isinstance(view, ByIntent):
            intents, apart = intents_of(read), view.apply(read)
            for intent, value in zip(apart.set_of_row.tolist(), plain.score(apart).tolist(), strict=True):
                probability = _number(float(intents.probability[intent]))
                told.append(f"intent {intents.names[intent]}: {plain} {_number(value)}, probability {probability}")
    return told


def _intents_seen(measure: Measure, read: Assessed) -> str:
    """Where each intent is served first, from the top, and which are not."""
    rel = getattr(measure, "rel", 1)
    intents, found = intents_of(read).above(rel), relevant_to_intents(read, rel, measure.k)
    first = np.flatnonzero(found.before == 0)
    rank_of = dict(zip(found.intent[first].tolist(), found.hits.rank[found.hit[first]].tolist(), strict=True))
    seen = [f"intent {intents.names[intent]} at rank {rank}" for intent, rank in rank_of.items()]
    of_topic = np.unique(intents.intent[intents.topic[intents.intent] == read.topic[0]]).tolist()
    unseen = [f"intent {intents.names[intent]}" for intent in of_topic if intent not in rank_of]
    return f"first seen: {', '.join(seen) or 'none'}" + (f"; not seen: {', '.join(unseen)}" if unseen else "")


def _places(read: Assessed, documents: int) -> list[int]:
    """For each rank of the list as it is read: which document of the ranking stands there."""
    length = int(read.retrieved[0])
    places = np.full(length, -1)
    assert read.place is not None
    places[np.asarray(read.rank) - 1] = read.place
    if length == documents:
        unused = np.setdiff1d(np.arange(documents), read.place)
        places[places < 0] = unused
    return [int(place) for place in places]


def _prefix_scores(measure: Measure, read: Assessed, shown: int) -> Array:
    """The measure's value of the list cut after each rank: all cuts scored at once, as lists of their own."""
    cuts = np.arange(1, shown + 1)
    inside = read.rank <= cuts[:, None]
    row, hit = np.nonzero(inside)
    one = np.zeros(shown, dtype=np.int64)
    prefixes = read.replace(
        run=read.run[one], topic=read.topic[one], retrieved=cuts, missing=read.missing[one],
        set_of_row=read.set_of_row[one], row=row, rank=read.rank[hit], grade=read.grade[hit], place=None,
        tie_first=None, tie_last=None, document=None if read.document is None else read.document[hit],
        lengths=None if read.lengths is None else read.lengths.rows(one),
        scores=None if read.scores is None else read.scores.rows(one),
        dimensions=None if read.dimensions is None else read.dimensions.rows(one),
    )  # fmt: skip
    return measure.evaluate(prefixes)
