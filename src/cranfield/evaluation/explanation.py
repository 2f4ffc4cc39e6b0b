"""Why a score is what it is: one list, rank by rank, with what the measure counts there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import (
    MeasureLike,
    about_intents,
    as_measures,
    notes_of,
    values_of,
    warn_of_gains,
    with_scores,
)
from cranfield.evaluation.explained_intents import (
    looks_at_intents,
    rank_cutoff,
    served,
    terms_by_intent,
    told_by_intent,
)
from cranfield.measures import Measure, Terms
from cranfield.measures.multidimensional import OverDimensions
from cranfield.measures.ranked import needed
from cranfield.measures.recall import WSS
from cranfield.types import Array
from cranfield.views.ties import Ties


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
    intents: dict[str, float] = field(default_factory=dict)
    """The intents that the document serves, with its grade for each."""


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
    by_intent: bool = False
    """Whether the measure looks at intents, so that lines say which ones a document serves."""

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
                {"rank": x.rank, "doc": x.doc, "score": x.score, "grade": x.grade,
                 **({"intents": x.intents} if self.by_intent else {}), **x.counts,
                 "so far": None if np.isnan(x.so_far) else x.so_far}
                for x in self.lines
            ],
        }  # fmt: skip

    def records(self) -> list[list[Any]]:
        """The table's cells: rank, doc, score, grade, intents if the measure looks at them, one per column, so far."""
        return [
            [
                *(x.rank, x.doc, x.score, x.grade),
                *([" ".join(f"{intent}:{grade:g}" for intent, grade in x.intents.items())] if self.by_intent else []),
                *(x.counts.get(name) for name in self.columns),
                x.so_far,
            ]
            for x in self.lines
        ]

    @property
    def header(self) -> tuple[str, ...]:
        """The names of what `records` holds."""
        return ("rank", "doc", "score", "grade", *(("intents",) if self.by_intent else ()), *self.columns, "so far")

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


def _number(value: float | str | None) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, str):
        return value
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
    shown = min(length, depth or rank_cutoff(measure) or length)
    so_far = _prefix_scores(measure.replace(views=by_intent), read, shown)
    terms = terms_by_intent(measure, by_intent, read)
    at_recall, of_recall = _recall_point(measure, read) if terms is None and not by_intent else (None, [])
    counts: dict[int, dict[str, float]] = {}
    columns: tuple[str, ...] = ()
    if at_recall is not None:
        counts = _counts(at_recall.hits, at_recall.columns)
        columns = tuple(at_recall.columns)
        notes.extend(of_recall)
    if terms is not None:
        named = {**terms.columns, "adds": terms.adds}
        counts, columns = _counts(terms.hits, named), tuple(named)
        total = float(terms.hits.sum(terms.adds)[0])
        over = float(np.broadcast_to(terms.over, 1)[0])
        besides = float(np.broadcast_to(terms.besides, 1)[0])
        told = f", and {_number(besides)} for documents that were not retrieved" if besides else ""
        divided = "; there is nothing to divide it by, the score is undefined" if over == 0 else ""
        divided = divided or ("" if over == 1 else f", divided by {_number(over)}")
        notes.append(f"sum of 'adds' {_number(total)}{told}{divided}")
    notes.extend(told_by_intent(measure, by_intent, read))
    if isinstance(measure, OverDimensions):
        notes.extend(measure.told(read))
    grade_at = {int(rank): float(grade) for rank, grade in zip(read.rank, read.grade, strict=True)}
    looks = looks_at_intents(measure)
    intents_at = served(read) if looks else {}
    notes += [note for note in lists.notes if looks and note.startswith("intent ")]
    notes += [*about_intents([measure], lists), *notes_of(measure, lists)]
    lines = []
    for rank in range(1, shown + 1):
        document = ranking[place_of_rank[rank - 1]]
        counted, intents = counts.get(rank, {}), intents_at.get(rank, {})
        grade = grade_at.get(rank)
        lines.append(Line(rank, document.doc, document.score, grade, counted, float(so_far[rank - 1]), intents))
    return Explanation(
        measure=str(measure),
        run=run,
        topic=topic,
        score=score,
        relevant=int(lists.num_rel(1)[0]),
        retrieved=int(lists.retrieved[0]),
        columns=columns,
        lines=tuple(lines),
        notes=tuple(notes),
        by_intent=looks,
    )


def _counts(hits: Hits, named: Mapping[str, Array]) -> dict[int, dict[str, float]]:
    """Columns by rank."""
    values = {name: np.broadcast_to(column, len(hits)).tolist() for name, column in named.items()}
    return {rank: {name: values[name][i] for name in values} for i, rank in enumerate(hits.rank.tolist())}


def _recall_point(measure: Measure, read: Assessed) -> tuple[Terms | None, list[str]]:
    """Of a measure at a recall point: recall and precision at every relevant document, and for WSS where it ends."""
    rel = float(getattr(measure, "rel", 1))
    hits, relevant = read.relevant(rel), float(read.num_rel(rel)[0])
    if measure.cutoff_kind != "recall" or not relevant:
        return None, []
    columns = {"recall": hits.nth / relevant, "precision": hits.nth / hits.rank}
    told = []
    if isinstance(measure, WSS) and measure.cutoff is not None:
        wanted = int(max(needed(measure.cutoff, np.array([relevant]), "exact")[0], 1))
        size = measure.N or int(read.retrieved[0])
        whence = "given" if measure.N else "the length of the list"
        less = f"1 − {measure.cutoff:g}"
        if wanted <= len(hits):
            rank = int(hits.rank[wanted - 1])
            told.append(
                f"recall {measure.cutoff:g} takes {wanted} of {relevant:g} relevant documents, reached at rank {rank}; "
                f"N = {size} documents ({whence}): ({size} − {rank}) / {size} − ({less})"
            )
        else:
            told.append(
                f"recall {measure.cutoff:g} takes {wanted} of {relevant:g} relevant documents, but {len(hits)} are in "
                f"the list; none of N = {size} documents ({whence}) is left unread: 0 − ({less})"
            )
    return Terms(hits, np.zeros(len(hits)), 1.0, columns), told


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
