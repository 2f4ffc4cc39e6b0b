"""How a score comes about: one list, rank by rank, with what the measure counts at each rank."""

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
from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, as_measures, notes_of, values_of, warn_of_gains, with_scores
from cranfield.evaluation.explained_intents import intents_by_rank, notes_by_intent, terms_by_intent
from cranfield.measures import Measure
from cranfield.text import listed
from cranfield.types import Array


@dataclass(frozen=True)
class Line:
    """One document of the list."""

    rank: int
    """The rank in the list as the measure's views read it."""
    doc: str
    score: float
    grade: float | None
    """None: unjudged."""
    counts: dict[str, float]
    """What the measure counts here: gain, discount, precision, ...; empty if it counts nothing."""
    so_far: float
    """The measure's value if the list ended here."""
    intents: dict[str, float] = field(default_factory=dict)
    """The intents that the document serves, with its grade for each."""


@dataclass(frozen=True)
class Explanation:
    """How the score of one list comes about."""

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
    """Whether the measure uses intents, so that lines show which intents a document serves."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with one record per rank under `lines`."""
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
        """The cells of the table, in the order of `header`."""
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
        """The column names of `records`."""
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
    """How the score of one run on one topic comes about.

    `depth` is the number of ranks to show; by default the measure's cutoff, or the whole list.

    >>> qrels = {"q1": {"d1": 1, "d2": 0, "d3": 1}}
    >>> print(explain(qrels, {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}, "q1", "AP"))
    AP of run on topic q1 = 0.8333
    rank  doc  score  grade  precision    adds  so far
       1  d1       3      1     1.0000  1.0000  0.5000
       2  d2       2      0          -       -  0.5000
       3  d3       1      1     0.6667  0.6667  0.8333
    the score is the sum of 'adds', 1.6667, divided by 2.0000
    """
    check.whole("explain", depth=depth)
    options = options or JoinOptions()
    measures = as_measures(measure)
    if len(measures) != 1:
        raise UsageError(f"explain: {len(measures)} measures given, must be one")
    topic = str(topic)
    the_run = Run.of(run, format=options.format, on_duplicate=options.on_duplicate)
    lists = join(qrels, the_run, with_scores(options, measures))
    if topic not in lists.topics:
        raise UsageError(f"topic {topic!r} is not judged; judged topics are {listed(lists.topics, 10)}")
    row = lists.topics.index(topic)
    if lists.missing[row]:
        raise UsageError(f"run {the_run.name!r} has no topic {topic!r}")
    warn_of_gains(measures, lists)
    lists = lists.take(np.array([row]))
    lists = lists.replace(place=lists.rank - 1)
    order = lists.notes[0].removeprefix("order: ")
    ranking = the_run.ranking(topic, order, options.precision)[: int(lists.retrieved[0])]
    return _explain(measures[0], lists, ranking, the_run.name, topic, depth)


def _explain(
    measure: Measure, lists: Assessed, ranking: list[Any], run: str, topic: str, depth: int | None
) -> Explanation:
    score = float(values_of(measure, lists)[0])
    of_list, by_intent = measure.split_views()
    read, notes = lists, []
    for view in of_list:
        read, of_view = view.explained(read)
        notes += of_view
    length = int(read.retrieved[0])
    place_of_rank = _places(read, len(ranking))
    shown = min(length, depth or measure.rank_cutoff or length)
    so_far = _prefix_scores(measure.replace(views=by_intent), read, shown)
    terms = terms_by_intent(measure, by_intent, read)
    columns: dict[str, Array] = {}
    hits = read.hits()
    if terms is not None:
        hits, columns = terms.hits, {**terms.columns, "adds": terms.adds}
        total = float(hits.sum(terms.adds)[0])
        over = float(np.broadcast_to(terms.over, 1)[0])
        missed = float(np.broadcast_to(terms.unretrieved, 1)[0])
        unretrieved = f", plus {_number(missed)} for documents that were not retrieved" if missed else ""
        divided = "" if over == 1 else f", divided by {_number(over)}"
        if over == 0:
            divided = "; its divisor is 0, so the score is undefined"
        notes.append(f"the score is the sum of 'adds', {_number(total)}{unretrieved}{divided}")
    elif measure.cutoff_kind == "recall" and not by_intent:
        rel = float(getattr(measure, "rel", 1))
        relevant = float(read.num_rel(rel)[0])
        if relevant:
            hits = read.relevant(rel)
            columns = {"recall": hits.nth / relevant, "precision": hits.nth / hits.rank}
    notes += notes_by_intent(measure, by_intent, read)
    uses_intents = measure.uses_intents()
    notes += [note for note in lists.notes if uses_intents and note.startswith("intent ")]
    notes += notes_of([measure], lists)
    counts = _counts(hits, columns) if columns else {}
    intents = intents_by_rank(read) if uses_intents else {}
    grades = dict(zip(read.rank.tolist(), read.grade.tolist(), strict=True))
    lines = []
    for rank in range(1, shown + 1):
        document = ranking[place_of_rank[rank - 1]]
        lines.append(
            Line(rank, document.doc, document.score, grades.get(rank), counts.get(rank, {}), float(so_far[rank - 1]),
                 intents.get(rank, {}))
        )  # fmt: skip
    return Explanation(
        measure=str(measure),
        run=run,
        topic=topic,
        score=score,
        relevant=int(lists.num_rel(1)[0]),
        retrieved=int(lists.retrieved[0]),
        columns=tuple(columns),
        lines=tuple(lines),
        notes=tuple(notes),
        by_intent=uses_intents,
    )


def _counts(hits: Hits, named: Mapping[str, Array]) -> dict[int, dict[str, float]]:
    """The values of the columns by rank."""
    values = {name: np.broadcast_to(column, len(hits)).tolist() for name, column in named.items()}
    return {rank: {name: values[name][i] for name in values} for i, rank in enumerate(hits.rank.tolist())}


def _places(read: Assessed, documents: int) -> list[int]:
    """For each rank of the list as the views read it: the number of its document in the ranking."""
    length = int(read.retrieved[0])
    places = np.full(length, -1)
    assert read.place is not None
    places[np.asarray(read.rank) - 1] = read.place
    if length == documents:
        unused = np.setdiff1d(np.arange(documents), read.place)
        places[places < 0] = unused
    return [int(place) for place in places]


def _prefix_scores(measure: Measure, read: Assessed, shown: int) -> Array:
    """The score of the list cut after each rank; all cuts are scored at once, as lists of their own."""
    cuts = np.arange(1, shown + 1)
    row, hit = np.nonzero(read.rank <= cuts[:, None])
    prefixes = read.take_hits(np.zeros(shown, dtype=np.int64), hit, row)
    return measure.evaluate(prefixes.replace(retrieved=cuts, place=None, tie_first=None, tie_last=None))
