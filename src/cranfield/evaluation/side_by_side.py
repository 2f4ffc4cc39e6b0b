"""Two ranked lists of one topic beside each other: which documents moved, and what each adds to both scores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.topic_tables import TEXTS
from cranfield.collection.topics import Topic, text_lines
from cranfield.errors import UsageError
from cranfield.evaluation.explanation import Explanation, Line, Missed, in_html
from cranfield.notes import method_note
from cranfield.record import Record, plain, rows_of, table_of
from cranfield.table import Cell, Column, Table
from cranfield.text import counted

DEEP = 20
"""Below this rank of both lists, only relevant documents are shown, unless fewer ranks are asked for."""


@dataclass(frozen=True)
class Moved:
    """A document in one or both lists. Ranks are None where it was not retrieved, adds where it counts nothing."""

    doc: str
    grade: float | None
    status: str
    """relevant, not relevant or unjudged."""
    first: int | None
    second: int | None
    first_adds: float | None
    second_adds: float | None

    @property
    def change(self) -> float | None:
        """What the second list gains by this document; None if it counts in neither."""
        if self.first_adds is None and self.second_adds is None:
            return None
        return (self.second_adds or 0.0) - (self.first_adds or 0.0)

    @property
    def moved(self) -> str:
        """From the first list to the second: up 3, down 3, same, new, gone."""
        if self.first is None or self.second is None:
            return "new" if self.first is None else "gone"
        places = self.first - self.second
        return "same" if places == 0 else f"up {places}" if places > 0 else f"down {-places}"


@dataclass(frozen=True, eq=False, repr=False)
class SideBySide(Record):
    """Two lists of one topic; the documents that change the score most come first."""

    measure: str
    topic: str
    runs: tuple[str, str]
    scores: tuple[float, float]
    documents: tuple[Moved, ...]
    missed: tuple[tuple[Missed, Missed], ...]
    """Relevant documents that both lists missed, with the rank in each."""
    text: Topic | None
    notes: tuple[str, ...]
    is_sum: bool
    """Whether the score is a sum over documents, so that each adds something."""

    @property
    def difference(self) -> float:
        """The score of the second list minus that of the first."""
        return self.scores[1] - self.scores[0]

    def columns(self) -> dict[str, NDArray[Any]]:
        """doc, grade, status, the rank in both lists, moved, what it adds to both scores, and the change."""
        rows = self.documents
        both = [Moved(a.doc, a.grade, "relevant", a.rank, b.rank, None, None) for a, b in self.missed]
        adds = {
            f"adds to {self.runs[0]}": [x.first_adds for x in rows],
            f"adds to {self.runs[1]}": [x.second_adds for x in rows],
            "change": [x.change for x in rows],
        }
        every = [*rows, *both]
        return {
            "doc": np.array([x.doc for x in every], dtype=object),
            "grade": _numbers([x.grade for x in every]),
            "status": np.array([*(x.status for x in rows), *("missed by both" for _ in both)], dtype=object),
            f"rank in {self.runs[0]}": _numbers([x.first for x in every]),
            f"rank in {self.runs[1]}": _numbers([x.second for x in every]),
            "moved": np.array([x.moved if x.first or x.second else "" for x in every], dtype=object),
            **(
                {name: _numbers([*values, *[None] * len(both)]) for name, values in adds.items()} if self.is_sum else {}
            ),
        }

    def to_dict(self) -> dict[str, Any]:
        """The runs with their scores, a record per document, and the documents that both lists missed."""
        rows = rows_of(self.columns())
        facts = {
            "measure": self.measure,
            "topic": self.topic,
            "text": None if self.text is None else {part: getattr(self.text, part) for part in TEXTS},
            "runs": dict(zip(self.runs, self.scores, strict=True)),
            "difference": self.difference,
            "notes": self.notes,
            "documents": rows[: len(self.documents)],
            "missed by both": [
                {"doc": a.doc, "grade": a.grade, self.runs[0]: a.rank, self.runs[1]: b.rank} for a, b in self.missed
            ],
        }
        return dict(plain(facts))

    def table(self) -> Table:
        """A row per document in one of the lists."""
        first, second = self.runs
        columns = [Column("doc"), Column("grade"), Column(f"rank in {first}", "count")]
        columns += [Column(f"rank in {second}", "count"), Column("moved")]
        if self.is_sum:
            columns += [Column(f"adds to {first}", "number"), Column(f"adds to {second}", "number")]
            columns.append(Column("change", "difference"))
        rows: list[tuple[Cell, ...]] = []
        for x in self.documents:
            grade = "unjudged" if x.grade is None else f"{x.grade:g}"
            adds = (x.first_adds, x.second_adds, x.change) if self.is_sum else ()
            rows.append((x.doc, grade, x.first, x.second, x.moved, *adds))
        scores = ", ".join(f"{run} {score:.4f}" for run, score in zip(self.runs, self.scores, strict=True))
        caption = f"{self.measure} on topic {self.topic}: {scores}, difference {self.difference:+.4f}"
        return Table(tuple(columns), tuple(rows), caption=caption, notes=self.notes)

    def all_rows(self) -> Table:
        """A row per document with all columns, also for documents that both lists missed."""
        return table_of(self.columns(), notes=self.notes)

    def missed_table(self, most: int | None = None) -> Table:
        """The relevant documents that both lists missed."""
        heads = (Column("doc"), Column("grade"), *(Column(f"rank in {run}") for run in self.runs))
        rows = [(a.doc, f"{a.grade:g}", *(_rank(x.rank) for x in (a, b))) for a, b in self.missed[:most]]
        caption = f"missed by both: {counted(len(self.missed), 'relevant document')}"
        return Table(heads, tuple(rows), caption=caption)

    def about_topic(self) -> tuple[str, ...]:
        """The topic's text, in lines."""
        return () if self.text is None else text_lines(self.text)

    def __str__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return in_html(self)

    def as_text(self, most: int = 10, hint: str = "`missed` has all") -> str:
        """The table, and `most` of the relevant documents that both lists missed."""
        caption, *lines = self.table().text().split("\n")
        parts = "\n".join([caption, *self.about_topic(), *lines])
        if not self.missed:
            return parts
        left_out = len(self.missed) - most
        more = f"\nand {left_out:,} more: {hint}" if left_out > 0 else ""
        return f"{parts}\n\n{self.missed_table(most).text()}{more}"


def _rank(rank: int | None) -> str:
    return "not retrieved" if rank is None else str(rank)


def _numbers(values: list[Any]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def side_by_side(first: Explanation, second: Explanation) -> SideBySide:
    """Two explanations of one topic by one measure beside each other."""
    for what in ("topic", "measure"):
        names = getattr(first, what), getattr(second, what)
        if names[0] != names[1]:
            raise UsageError(f"beside: the {what} is {names[0]} in one list and {names[1]} in the other; must be equal")
    runs = (first.run, second.run) if first.run != second.run else ("first", "second")
    lines: dict[str, tuple[Line | None, Line | None]] = {line.doc: (line, None) for line in first.lines}
    for line in second.lines:
        lines[line.doc] = (lines.get(line.doc, (None, None))[0], line)
    every = [_moved(doc, pair, first, second) for doc, pair in lines.items()]
    is_sum = first.divisor is not None and second.divisor is not None
    shown = [x for x in every if x.status == "relevant" or min(x.first or math.inf, x.second or math.inf) <= DEEP]
    shown.sort(key=lambda x: (-abs(x.change or 0.0), min(x.first or math.inf, x.second or math.inf)))
    other = {missed.doc: missed for missed in second.missed}
    both = tuple((missed, other[missed.doc]) for missed in first.missed if missed.doc in other)
    notes = tuple(_notes(first, second, runs, every, len(every) - len(shown), is_sum))
    text = first.text or second.text
    scores = first.score, second.score
    return SideBySide(first.measure, first.topic, runs, scores, tuple(shown), both, text, notes, is_sum)


def _moved(doc: str, pair: tuple[Line | None, Line | None], first: Explanation, second: Explanation) -> Moved:
    line = pair[0] or pair[1]
    assert line is not None
    adds = [x.counts.get("adds") if x else None for x in pair]
    status = line.status(first.rel)
    return Moved(doc, line.grade, status, first.ranks.get(doc), second.ranks.get(doc), adds[0], adds[1])


def _notes(
    first: Explanation, second: Explanation, runs: tuple[str, str], every: list[Moved], left_out: int, is_sum: bool
) -> Iterator[str]:
    words = [x.moved.split()[0] for x in every]
    up, down, new, gone = (words.count(word) for word in ("up", "down", "new", "gone"))
    only = [f"{n:,} only in {run}" for n, run in ((gone, runs[0]), (new, runs[1])) if n]
    yield ", ".join([f"{counted(up, 'document')} moved up, {down:,} down", *only])
    if is_sum and first.divisor == second.divisor and first.divisor:
        total = sum(x.change or 0.0 for x in every)
        if math.isclose(total / first.divisor, second.score - first.score, abs_tol=1e-9):
            divided = "" if first.divisor == 1 else f", divided by {first.divisor:.4f}"
            yield method_note(f"the difference is the sum of 'change', {total:+.4f}{divided}")
    if left_out:
        yield f"{counted(left_out, 'document')} below rank {DEEP} that are not relevant are left out"
    yield from dict.fromkeys(note for note in (*first.notes, *second.notes) if not note.startswith("the score is"))
