"""How a score comes about: one list, rank by rank, with what the measure counts at each rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield import check
from cranfield.assessed.hits_by_intent import documents_of, intents_of, relevant_to_intents
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.collection.accepted_inputs import QrelsLike, RunLike, TopicsLike
from cranfield.collection.column_names import ColumnNames, named_columns
from cranfield.collection.grade_labels import named_grades
from cranfield.collection.run import Run
from cranfield.collection.topic_tables import TEXTS
from cranfield.collection.topics import Topic, text_lines, topic_of
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import (
    MeasureLike,
    as_measures,
    judgments_of,
    notes_of,
    values_of,
    warn_if_swapped,
    warn_of_gains,
    with_scores,
)
from cranfield.evaluation.runs_or_scores import names_measures
from cranfield.measures import Measure, Terms
from cranfield.measures.several_needs.diversity import averaged
from cranfield.notes import method_note, shown_notes
from cranfield.table import Column, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64
from cranfield.views.by_intent import ByIntent
from cranfield.views.view import View

if TYPE_CHECKING:
    from cranfield.evaluation.side_by_side import SideBySide

MOST_MISSED = 10
"""So many missed documents are printed; data formats have all."""


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

    def status(self, rel: float) -> str:
        """The judgment in words."""
        return "unjudged" if self.grade is None else "relevant" if self.grade >= rel else "not relevant"


@dataclass(frozen=True)
class Missed:
    """A relevant document that is not among the ranks shown."""

    doc: str
    grade: float
    rank: int | None
    """None: not retrieved."""


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
    missed: tuple[Missed, ...] = ()
    """Relevant documents below the ranks shown or not retrieved; highest grade first, then by rank."""
    text: Topic | None = None
    """The topic's text, if topics were given."""
    rel: float = 1.0
    """The lowest grade that is relevant."""
    ranks: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    """The rank of every retrieved document."""
    divisor: float | None = field(default=None, repr=False)
    """By what the sum of `adds` is divided; None if the score is not a sum."""

    def beside(self, other: Explanation) -> SideBySide:
        """This list and another one of the same topic: which documents moved, and what each adds to both scores.

        >>> qrels = {"q1": {"d1": 1, "d2": 0, "d3": 1}}
        >>> a = explain(qrels, {"q1": {"d2": 3.0, "d1": 2.0}}, "q1", "AP")
        >>> b = explain(qrels, {"q1": {"d1": 3.0, "d3": 2.0, "d2": 1.0}}, "q1", "AP")
        >>> print(a.beside(b))
        AP on topic q1: first 0.2500, second 1.0000, difference +0.7500
        doc  grade  rank in first  rank in second  moved   adds to first  adds to second   change
        d3   1                  -               2  new                 -          1.0000  +1.0000
        d1   1                  2               1  up 1           0.5000          1.0000  +0.5000
        d2   0                  1               3  down 2              -               -        -
        1 document moved up, 1 down, 1 only in second
        the difference is the sum of 'change', +1.5000, divided by 2.0000
        """
        from cranfield.evaluation.side_by_side import side_by_side

        return side_by_side(self, other)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with one record per rank under `lines`."""
        return {
            "measure": self.measure,
            "run": self.run,
            "topic": self.topic,
            "score": None if np.isnan(self.score) else self.score,
            "relevant": self.relevant,
            "retrieved": self.retrieved,
            "text": None if self.text is None else {part: getattr(self.text, part) for part in TEXTS},
            "notes": list(self.notes),
            "missed": [{"doc": x.doc, "grade": x.grade, "rank": x.rank} for x in self.missed],
            "lines": [
                {"rank": x.rank, "doc": x.doc, "score": x.score, "grade": x.grade, "status": x.status(self.rel),
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

    @property
    def title(self) -> str:
        """What is explained, and the score."""
        return f"{self.measure} of {self.run} on topic {self.topic} = {_number(self.score)}"

    def about_topic(self) -> tuple[str, ...]:
        """The topic's text, in lines."""
        return () if self.text is None else text_lines(self.text)

    def __str__(self) -> str:
        return self.as_text()

    def as_text(self, most: int = MOST_MISSED, hint: str = "`missed` has all") -> str:
        """The list as a table, and `most` of the relevant documents that were missed."""
        shown = [self.header] + [_cells(record) for record in self.records()]
        widths = [max(len(row[i]) for row in shown) for i in range(len(self.header))]
        pad = [str.rjust, str.ljust] + [str.rjust] * len(widths)
        rows = ["  ".join(pad[i](cell, widths[i]) for i, cell in enumerate(row)) for row in shown]
        return "\n".join(
            [self.title, *self.about_topic(), *rows, *shown_notes(self.notes), *self._missed_lines(most, hint)]
        )

    def _repr_html_(self) -> str:
        return in_html(self)

    def table(self) -> Table:
        """A row per rank."""
        rows = tuple(tuple("unjudged" if i == 3 and x is None else x for i, x in enumerate(r)) for r in self.records())
        return Table(self._heads(), rows, caption=self.title, notes=self.notes)

    def _heads(self) -> tuple[Column, ...]:
        kinds = {"rank": "count", "doc": "text", "grade": "text", "intents": "text"}
        return tuple(Column(name, kinds.get(name, "number")) for name in self.header)

    def all_rows(self) -> Table:
        """A row per rank and then per missed document; `status` is relevant, not relevant, unjudged or missed."""
        heads = [*self._heads()[:4], Column("status"), *self._heads()[4:]]
        rows = [(*r[:4], x.status(self.rel), *r[4:]) for r, x in zip(self.records(), self.lines, strict=True)]
        rest = [None] * (len(self.header) - 4)
        rows += [(x.rank, x.doc, None, float(x.grade), "missed", *rest) for x in self.missed]
        return Table(tuple(heads), tuple(rows), notes=self.notes)

    def missed_table(self, most: int | None = None) -> Table:
        """The relevant documents that were missed."""
        rows = [(_rank(x.rank), x.doc, f"{x.grade:g}") for x in self.missed[:most]]
        return Table((Column("rank"), Column("doc"), Column("grade")), tuple(rows), caption=self.missed_sentence())

    def missed_sentence(self) -> str:
        """How many relevant documents were missed."""
        if not self.missed:
            return ""
        absent = sum(missed.rank is None for missed in self.missed)
        lower = len(self.missed) - absent
        below = f"{lower:,} below rank {len(self.lines)}" if lower else ""
        parts = " and ".join(filter(None, [below, f"{absent:,} not retrieved" if absent else ""]))
        return f"missed: {counted(len(self.missed), 'relevant document')}, {parts}"

    def _missed_lines(self, most: int, hint: str) -> list[str]:
        if not self.missed:
            return []
        rows = [("rank", "doc", "grade")]
        rows += [(_rank(x.rank), x.doc, f"{x.grade:g}") for x in self.missed[:most]]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{rank:>{widths[0]}}  {doc:<{widths[1]}}  {grade:>{widths[2]}}" for rank, doc, grade in rows]
        left_out = len(self.missed) - most
        more = [f"and {left_out:,} more: {hint}"] if left_out > 0 else []
        return [self.missed_sentence(), *(lines if most > 0 else []), *more]


def in_html(shown: Explanation | SideBySide) -> str:
    """For notebooks: the topic's text, the list, and the relevant documents that were missed."""
    from html import escape

    about = "".join(f"<p>{escape(line)}</p>" for line in shown.about_topic())
    if not shown.missed:
        return about + shown.table().html()
    left_out = len(shown.missed) - MOST_MISSED
    more = f"<p>and {left_out:,} more: <code>missed</code> has all</p>" if left_out > 0 else ""
    return about + shown.table().html() + shown.missed_table(MOST_MISSED).html() + more


def _rank(rank: int | None) -> str:
    return "not retrieved" if rank is None else str(rank)


def _cells(record: list[Any]) -> tuple[str, ...]:
    rank, doc, score, grade, *counted = record
    return (str(rank), doc, f"{score:g}", "unjudged" if grade is None else f"{grade:g}", *map(_number, counted))


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
    topics: TopicsLike | None = None,
    name: str | None = None,
    columns: ColumnNames | None = None,
    grades: Mapping[str, float] | None = None,
) -> Explanation:
    """How the score of one run on one topic comes about, and which relevant documents it missed.

    `depth` is the number of ranks to show; by default the measure's cutoff, or the whole list. `topics` is a file of
    topics, `Topics` or {topic: query}, to show the topic's text; `name` is the name of the run. `columns` and `grades`
    are those of `evaluate`.
    `explain(...).beside(explain(...))` compares two runs.

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
    topic = str(topic)
    if not names_measures(measure) and names_measures(topic):
        raise UsageError(f"explain: the measure is {measure!r} and the topic {topic!r}; the topic comes first")
    measures = as_measures(measure)
    if len(measures) != 1:
        raise UsageError(f"explain: {len(measures)} measures given, must be one")
    text = None if topics is None else topic_of(topics, topic)
    with named_columns(columns), named_grades(grades):
        judgments = judgments_of(qrels, options.on_duplicate)
        the_run = Run.of(run, name, format=options.format, on_duplicate=options.on_duplicate)
    lists = join(judgments, the_run, with_scores(options, measures))
    if isinstance(run, Mapping):
        warn_if_swapped(lists, run)
    if topic not in lists.topics:
        raise UsageError(f"topic {topic!r} is not judged; judged topics are {listed(lists.topics, 10)}")
    row = lists.topics.index(topic)
    if lists.missing[row]:
        has = f"it has {listed(the_run.topics, 10)}" if the_run.topics else "it has no topics"
        raise UsageError(f"run {the_run.name!r} has no topic {topic!r}, so it scores as an empty list; {has}")
    warn_of_gains(measures, lists)
    lists = lists.take(np.array([row]))
    lists = lists.replace(place=lists.rank - 1)
    order = lists.notes[0].removeprefix("order: ")
    grades = {} if options.together is not None else judgments.highest_grades(topic)  # sets have no rank of their own
    explained = _explain(measures[0], lists, the_run, topic, order, options, depth)
    return replace(explained, text=text, missed=missed_documents(explained, grades))


def _explain(
    measure: Measure, lists: Assessed, run: Run, topic: str, order: str, options: JoinOptions, depth: int | None
) -> Explanation:
    score = float(values_of(measure, lists)[0])
    of_list, by_intent = measure.split_views()
    read, notes = lists, []
    for view in of_list:
        read, of_view = view.explained(read)
        notes += of_view
    length = int(read.retrieved[0])
    shown = min(length, depth or measure.rank_cutoff or length)
    places = _places(read, int(lists.retrieved[0]))
    plain = measure.replace(views=())
    terms = terms_by_intent(plain, by_intent, read)
    so_far = (measure.replace(views=by_intent) if by_intent else plain).evaluate_prefixes(read, shown)
    columns: dict[str, Array] = {}
    hits, divisor = read.hits(), None
    if terms is not None:
        hits, columns = terms.hits, {**terms.columns, "adds": terms.adds}
        total = float(hits.sum(terms.adds)[0])
        divisor = over = float(np.broadcast_to(terms.over, 1)[0])
        missed = float(np.broadcast_to(terms.unretrieved, 1)[0])
        unretrieved = f", plus {_number(missed)} for documents that were not retrieved" if missed else ""
        words = "" if by_intent else plain.divisor_in_words(read)
        divided = "" if over == 1 and not words else f", divided by {_number(over)}"
        divided += f", {words}" if words else ""
        if over == 0:
            divided = "; its divisor is 0, so the score is undefined"
        notes.append(method_note(f"the score is the sum of 'adds', {_number(total)}{unretrieved}{divided}"))
    elif measure.cutoff_kind == "recall" and not by_intent:
        rel = float(getattr(measure, "rel", 1))
        relevant = float(read.num_rel(rel)[0])
        if relevant:
            hits = read.relevant(rel)
            columns = {"recall": hits.nth / relevant, "precision": hits.nth / hits.rank}
    if terms is not None and divisor and not measure.views and _is_no_running_sum(hits, terms, so_far):
        notes.append(
            method_note(
                "'so far' is the score if the list ended there, not the running sum of 'adds': what a document adds "
                "depends on documents below it"
            )
        )
    notes += notes_by_intent(plain, by_intent, read)
    uses_intents = measure.uses_intents()
    notes += [note for note in lists.notes if uses_intents and note.startswith("intent ")]
    notes += notes_of([measure], lists)
    counts = _counts(hits, columns, shown)
    end = int(np.searchsorted(read.rank, shown, side="right"))
    top = read.take_hits(np.array([0]), slice(end), read.row[:end])
    intents = intents_by_rank(top) if uses_intents else {}
    grades = dict(zip(top.rank.tolist(), top.grade.tolist(), strict=True))
    documents = run.ranked_at(topic, places, order, options.precision, options.ties)
    ranks = {document.doc: rank for rank, document in enumerate(documents, 1)}
    lines = [
        Line(rank, document.doc, document.score, grades.get(rank), counts.get(rank, {}), score_here,
             intents.get(rank, {}))
        for rank, (document, score_here) in enumerate(zip(documents[:shown], so_far.tolist(), strict=True), 1)
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
        rel=_relevant_grade(measure),
        ranks=ranks,
        divisor=divisor,
    )


def _is_no_running_sum(hits: Hits, terms: Terms, so_far: Array) -> bool:
    """Whether the score of the list cut after some rank differs from the sum of what documents add down to there."""
    end = int(np.searchsorted(hits.rank, len(so_far), side="right"))
    adds, over = np.broadcast_to(terms.adds, len(hits))[:end], float(np.broadcast_to(terms.over, 1)[0])
    at_rank = np.bincount(hits.rank[:end], adds, len(so_far) + 1)[1:]
    missed = float(np.broadcast_to(terms.unretrieved, 1)[0])
    return not missed and not np.allclose(np.cumsum(at_rank) / over, so_far, rtol=1e-9, atol=1e-12, equal_nan=True)


def _relevant_grade(measure: Measure) -> float:
    rel = getattr(measure, "rel", 1)
    return float(rel) if isinstance(rel, (int, float)) else 1.0


def missed_documents(explained: Explanation, grades: Mapping[str, float]) -> tuple[Missed, ...]:
    """The relevant documents that are not among the lines, highest grade first, then by rank."""
    shown = {line.doc for line in explained.lines}
    missed = [
        Missed(doc, grade, explained.ranks.get(doc))
        for doc, grade in grades.items()
        if grade >= explained.rel and doc not in shown
    ]
    return tuple(sorted(missed, key=lambda x: (-x.grade, x.rank is None, x.rank or 0, x.doc)))


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


# -- lists with intents


def intents_by_rank(lists: Assessed) -> dict[int, dict[str, float]]:
    """For one list, by rank: the intents that a document serves, with its grade for each."""
    intents = intents_of(lists)
    served: dict[int, dict[str, float]] = {}
    for rank, document in zip(lists.rank.tolist(), documents_of(lists).tolist(), strict=True):
        entries = range(*intents.document_start[document : document + 2].tolist())
        served[rank] = {
            intents.names[intents.intent[entry]]: float(intents.grade[entry])
            for entry in entries
            if intents.grade[entry] > 0
        }
    return served


def terms_by_intent(plain: Measure, by_intent: tuple[View, ...], lists: Assessed) -> Terms | None:
    """What a measure without views counts at each rank, as views by intent read the documents.

    The column with the number of intents of a document is left out: `intents_by_rank` shows them.
    """
    for view in by_intent:
        if view.one_list_per_intent:
            terms = averaged(plain, lists)
            return terms and replace(terms, columns=_reader_columns(plain, lists))
        lists = view.apply(lists)
    terms = plain.terms(lists)
    if terms is None or "intents" not in terms.columns:
        return terms
    return replace(terms, columns={name: column for name, column in terms.columns.items() if name != "intents"})


def _reader_columns(plain: Measure, lists: Assessed) -> dict[str, Array]:
    """For a measure that follows a reader: where the readers of each intent are at each rank, one column per intent."""
    if plain.needs != "lengths":
        return {}
    lists_by_intent = ByIntent().apply(lists, plain.rank_cutoff)
    terms = plain.terms(lists_by_intent)
    if terms is None:
        return {}
    names, row = intents_of(lists).names, terms.hits.row
    return {
        f"{column} for {names[intent]}": np.asarray(terms.columns[column])[row == at]
        for at, intent in enumerate(lists_by_intent.set_of_row.tolist())
        for column in ("time", "offset")
        if column in terms.columns
    }


def notes_by_intent(plain: Measure, by_intent: tuple[View, ...], lists: Assessed) -> list[str]:
    """How intent recall and the scores of the intents make up the score."""
    counts_intents = plain.needs == "intents" or not all(view.grades_by_intent for view in by_intent)
    notes = [_first_seen(plain, lists)] if counts_intents else []
    notes += [note for view in by_intent for note in view.remarks(lists, plain)]
    return notes if any(view.grades_by_intent for view in by_intent) else notes + plain.remarks(lists)


def _first_seen(measure: Measure, lists: Assessed) -> str:
    """Where each intent is served first, from the top down, and which intents are not served."""
    rel = getattr(measure, "rel", 1)
    intents, relevant = intents_of(lists).above(rel), relevant_to_intents(lists, rel, measure.rank_cutoff)
    first = np.flatnonzero(relevant.before == 0)
    rank_of = dict(zip(relevant.intent[first].tolist(), relevant.hits.rank[relevant.hit[first]].tolist(), strict=True))
    seen = [f"intent {intents.names[intent]} at rank {rank}" for intent, rank in rank_of.items()]
    of_topic = np.unique(intents.intent[intents.topic[intents.intent] == lists.topic[0]]).tolist()
    unseen = [f"intent {intents.names[intent]}" for intent in of_topic if intent not in rank_of]
    return f"first seen: {', '.join(seen) or 'none'}" + (f"; not seen: {', '.join(unseen)}" if unseen else "")
