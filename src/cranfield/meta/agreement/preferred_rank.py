"""How far down a reader goes: ranks of the first relevant and of the preferred document (Sakai 2007 Tables 7-9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.join_options import JoinOptions
from cranfield.declared.operation import operation
from cranfield.errors import UsageError
from cranfield.measures.ranked_lists.first import down_to_preferred, first_relevant, preferred
from cranfield.meta.complete_scores import Rel
from cranfield.meta.judgments.rescoring import joined
from cranfield.notes import caution_note, method_note
from cranfield.record import Record, column
from cranfield.table import Cell, Column, Table, headings
from cranfield.text import counted
from cranfield.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class PreferredRanks(Record):
    """r1 and rp of every list, and for each topic the list with the largest rp.

    Arrays are runs × topics, or topics × grades; NaN for a list without a relevant document.
    """

    figure = "preferred_rank_figure"

    runs: Annotated[tuple[str, ...], column("run", axis=True)]
    topics: Annotated[tuple[str, ...], column("topic", axis=True)]
    grades: tuple[float, ...]
    """The relevant grades, best first."""
    first: Annotated[Array, column("r1", over="runs topics")]
    """r1, the rank of the first relevant document."""
    preferred: Annotated[Array, column("rp", over="runs topics")]
    """rp, the rank of the first document of the best grade in the list."""
    deepest: NDArray[np.int64]
    """For each topic, the run with the largest rp; −1 if no run retrieved a relevant document."""
    above: NDArray[np.int64]
    """topics × grades: documents at or above that rank in the list of that run."""
    judged: NDArray[np.int64]
    """topics × grades: relevant documents of the topic."""
    notes: tuple[str, ...]

    def table(self) -> Table:
        """As Sakai 2007 Tables 7-9: for each topic the largest rp, the run, its r1, and for each grade the number of
        documents at or above that rank, with the number of documents of the topic in brackets."""
        rows: list[tuple[Cell, ...]] = []
        for t, topic in enumerate(self.topics):
            run = int(self.deepest[t])
            counts = [f"{n}({of})" for n, of in zip(self.above[t].tolist(), self.judged[t].tolist(), strict=True)]
            if run < 0:
                rows.append((topic, None, None, "", *counts))
            else:
                rows.append((topic, int(self.preferred[run, t]), int(self.first[run, t]), self.runs[run], *counts))
        grades = (f"grade {grade:g}" for grade in self.grades)
        columns = (Column("topic"), *headings("count", "max rp", "r1"), *headings("text", "run", *grades))
        caption = "The largest preferred rank among the runs, and relevant documents down to it"
        return Table(columns, tuple(rows), caption, self.notes)

    def by_run(self) -> Table:
        """A row per run: mean, median and largest r1 and rp over the topics with a relevant document in its list."""
        rows: list[tuple[Cell, ...]] = []
        for run, all_r1, all_rp in zip(self.runs, self.first, self.preferred, strict=True):
            defined = ~np.isnan(all_r1)
            if not defined.any():
                rows.append((run, 0, *[None] * 7))
                continue
            r1, rp = all_r1[defined], all_rp[defined]
            averages = [float(x) for x in (r1.mean(), np.median(r1), rp.mean(), np.median(rp))]
            same = float((r1 == rp).mean())
            rows.append((run, int(defined.sum()), *averages, int(r1.max()), int(rp.max()), same))
        columns = (
            Column("run"),
            Column("topics", "count"),
            *headings("number", "mean r1", "median r1", "mean rp", "median rp"),
            *headings("count", "max r1", "max rp"),
            Column("rp = r1", "number"),
        )
        return Table(columns, tuple(rows), "Ranks of the first relevant and of the preferred document", self.notes)


@operation
def preferred_ranks(
    qrels: Any, runs: Any = None, *, rel: Rel = 1, options: JoinOptions | None = None
) -> PreferredRanks:
    """How deep readers go if they stop at the first relevant document (r1), or at the first of the best grade (rp).

    rp is the rank of the first document of the highest grade in the list, where P-measure and P+ stop looking. A list
    without a relevant document has neither. Sakai 2007's appendix shows for each topic the run with the largest rp (the
    first of several) and its documents down to that rank; `by_run` summarises each run.

    qrels, runs: as for `evaluate`, or `Assessed` lists alone. rel: the lowest relevant grade.

    >>> qrels = {"q": {"d1": 1, "d2": 3, "d3": 1}}
    >>> print(preferred_ranks(qrels, {"mine": {"q": {"d1": 3.0, "d9": 2.0, "d2": 1.0}}}))
    The largest preferred rank among the runs, and relevant documents down to it
    topic  max rp  r1  run   grade 3  grade 1
    q           3   1  mine  1(1)     1(2)
    1 run, 1 topic
    order: score
    """
    lists = joined("preferred_ranks", qrels, runs, options)
    shape = (len(lists.runs), len(lists.topics))
    if lists.rows != shape[0] * shape[1]:
        raise UsageError(f"preferred_ranks: {lists.rows} lists, must be one for each run and topic: {shape}")
    hits = lists.relevant(rel)
    r1, rp = np.full((2, lists.rows), np.nan)
    firsts = first_relevant(lists, rel, None)
    r1[firsts.row] = firsts.rank
    at = preferred(hits)
    rp[hits.row[at]] = hits.rank[at]
    first, best = r1.reshape(shape), rp.reshape(shape)
    any_relevant = ~np.isnan(best).all(axis=0)
    deepest = np.where(any_relevant, np.where(np.isnan(best), -1, best).argmax(axis=0), -1)
    relevant = lists.judged.grade >= rel
    grades = np.unique(lists.judged.grade[relevant])[::-1]
    inside, _ = down_to_preferred(hits)
    counted_hits = inside & (deepest[lists.topic[hits.row]] == lists.run[hits.row])
    above = _counts(lists.topic[hits.row[counted_hits]], hits.grade[counted_hits], grades, shape[1])
    judged = _counts(lists.judged.topic[relevant], lists.judged.grade[relevant], grades, shape[1])
    notes = [method_note(f"{counted(shape[0], 'run')}, {counted(shape[1], 'topic')}"), *lists.notes]
    empty = int(np.isnan(best).sum())
    if empty:
        notes.append(caution_note(f"{empty} of {lists.rows} lists hold no relevant document and have neither rank"))
    return PreferredRanks(
        lists.runs, lists.topics, tuple(grades.tolist()), first, best, deepest, above, judged, tuple(notes)
    )


def _counts(topic: NDArray[Any], grade: Array, grades: Array, topics: int) -> NDArray[np.int64]:
    """topics × grades: the number of documents; `grades` descend."""
    level = len(grades) - 1 - np.searchsorted(grades[::-1], grade)
    counts = np.bincount(topic.astype(np.int64) * len(grades) + level, minlength=topics * len(grades))
    return np.asarray(counts.reshape(topics, len(grades)), dtype=np.int64)
