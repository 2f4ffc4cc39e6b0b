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
from cranfield.collection.accepted_inputs import QrelsLike, RunLike
from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, as_measures, notes_of, values_of, warn_of_gains, with_scores
from cranfield.evaluation.explained_intents import intents_by_rank, notes_by_intent, terms_by_intent
from cranfield.measures import Measure
from cranfield.text import listed
from cranfield.types import Array, Index64


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
    qrels: QrelsLike,
    run: RunLike,
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
    return _explain(measures[0], lists, the_run, topic, order, options.precision, depth)


def _explain(
    measure: Measure, lists: Assessed, run: Run, topic: str, order: str, precision: int, depth: int | None
) -> Explanation:
    score = float(values_of(measure, lists)[0])
    of_list, by_intent = measure.split_views()
    read, notes = lists, []
    for view in of_list:
        read, of_view = view.explained(read)
        notes += of_view
    length = int(read.retrieved[0])
    shown = min(length, depth or measure.rank_cutoff or length)
    places = _places(read, int(lists.retrieved[0]))[:shown]
    terms = terms_by_intent(measure, by_intent, read)
    so_far = measure.replace(views=by_intent).evaluate_prefixes(read, shown)
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
    counts = _counts(hits, columns, shown)
    end = int(np.searchsorted(read.rank, shown, side="right"))
    top = read.take_hits(np.array([0]), slice(end), read.row[:end])
    intents = intents_by_rank(top) if uses_intents else {}
    grades = dict(zip(top.rank.tolist(), top.grade.tolist(), strict=True))
    documents = run.ranked_at(topic, places, order, precision)
    lines = [
        Line(rank, document.doc, document.score, grades.get(rank), counts.get(rank, {}), score_here,
             intents.get(rank, {}))
        for rank, (document, score_here) in enumerate(zip(documents, so_far.tolist(), strict=True), 1)
    ]  # fmt: skip
    return Explanation(
        measure=str(measure),
        run=run.name,
        topic=topic,
        score=score,
        relevant=int(lists.num_rel(1)[0]),
        retrieved=int(lists.retrieved[0]),
        columns=tuple(columns),
        lines=tuple(lines),
        notes=tuple(notes),
        by_intent=uses_intents,
    )


def _counts(hits: Hits, named: Mapping[str, Array], shown: int) -> dict[int, dict[str, float]]:
    """The values of the columns by rank, down to the last rank that is shown."""
    if not named:
        return {}
    end = int(np.searchsorted(hits.rank, shown, side="right"))
    columns = [np.broadcast_to(column, len(hits))[:end].tolist() for column in named.values()]
    values = zip(*columns, strict=True)
    return {
        rank: dict(zip(named, row, strict=True)) for rank, row in zip(hits.rank[:end].tolist(), values, strict=True)
    }


def _places(read: Assessed, documents: int) -> Index64:
    """For each rank of the list as the views read it: the number of its document in the ranking."""
    length = int(read.retrieved[0])
    places = np.full(length, -1)
    assert read.place is not None
    places[np.asarray(read.rank) - 1] = read.place
    if length == documents:
        unused = np.ones(documents, dtype=bool)
        unused[read.place] = False
        places[places < 0] = np.flatnonzero(unused)
    return places
