"""How far down a reader goes: the preferred rank and the rank of the first relevant document.

Sakai 2007 Tables 7-9 show them topic by topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.measures.first import down_to_preferred, first_relevant, preferred
from cranfield.table import Cell, Column, Table
from cranfield.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class PreferredRanks(Tidy):
    """r1 and rp of every list, and topic by topic the list with the largest rp.

    Arrays are runs × topics, or topics × grades; NaN where a list holds no relevant document.
    """

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    grades: tuple[float, ...]
    """The grades that count as relevant, best first."""
    first: Array
    """r1, the rank of the first relevant document."""
    preferred: Array
    """rp, the rank of the first document of the best grade that the list holds."""
    deepest: NDArray[np.int64]
    """By topic: which run has the largest rp; −1 where no run found anything relevant."""
    above: NDArray[np.int64]
    """topics × grades: documents at or above that rank in the list of that run."""
    judged: NDArray[np.int64]
    """topics × grades: relevant documents there are."""
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """run, topic, r1, rp: one entry per list."""
        r, t = (axis.ravel() for axis in np.indices(self.first.shape))
        return {
            "run": np.array(self.runs, dtype=object)[r],
            "topic": np.array(self.topics, dtype=object)[t],
            "r1": self.first.ravel(),
            "rp": self.preferred.ravel(),
        }

    def table(self) -> Table:
        """As Sakai 2007 Tables 7-9: the largest rp of each topic, the run, its r1, and by grade how many documents
        stand at or above that rank, of how many there are."""
        heads = [f"grade {grade:g}" for grade in self.grades]
        columns = [
            Column("topic"),
            Column("max rp", "count"),
            Column("r1", "count"),
            Column("run"),
            *map(Column, heads),
        ]
        rows: list[tuple[Cell, ...]] = []
        for t, topic in enumerate(self.topics):
            run = int(self.deepest[t])
            if run < 0:
                rows.append((topic, None, None, "", *(f"0({of})" for of in self.judged[t].tolist())))
                continue
            told = [f"{n}({of})" for n, of in zip(self.above[t].tolist(), self.judged[t].tolist(), strict=True)]
            rows.append((topic, int(self.preferred[run, t]), int(self.first[run, t]), self.runs[run], *told))
        return Table(
            tuple(columns), tuple(rows), "The largest preferred rank among the runs, and relevant documents down to it",
            self.notes,
        )  # fmt: skip

    def by_run(self) -> Table:
        """A row per run: means, medians and largest of r1 and rp over the topics on which it found something."""
        columns = [Column("run"), Column("topics", "count")]
        columns += [Column(f"{what} {name}", "number") for name in ("r1", "rp") for what in ("mean", "median")]
        columns += [Column("max r1", "count"), Column("max rp", "count"), Column("rp = r1", "number")]
        rows: list[tuple[Cell, ...]] = []
        for run, r1, rp in zip(self.runs, self.first, self.preferred, strict=True):
            there = ~np.isnan(r1)
            if not there.any():
                rows.append((run, 0, *[None] * 7))
                continue
            one, best = r1[there], rp[there]
            middles = [float(x) for x in (one.mean(), np.median(one), best.mean(), np.median(best))]
            same = float((one == best).mean())
            rows.append((run, int(there.sum()), *middles, int(one.max()), int(best.max()), same))
        return Table(
            tuple(columns), tuple(rows), "Ranks of the first relevant and of the preferred document", self.notes
        )

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__


def preferred_ranks(
    qrels: Any, runs: Any = None, *, rel: float = 1, options: JoinOptions | None = None
) -> PreferredRanks:
    """How deep readers go who stop at the first relevant document (r1), or at the first of the best (rp).

    rp is the rank of the first document of the highest grade in the list: where P-measure and P+ stop looking. Lists
    without a relevant document have neither. Sakai 2007's appendix shows for each topic the run with the largest rp (of
    several, the first) and what it retrieved down to there; `by_run` sums up each run.

    qrels, runs: as `evaluate` takes them, or `Assessed` lists alone. rel: the lowest grade that is relevant.

    >>> qrels = {"q": {"d1": 1, "d2": 3, "d3": 1}}
    >>> print(preferred_ranks(qrels, {"mine": {"q": {"d1": 3.0, "d9": 2.0, "d2": 1.0}}}))
    The largest preferred rank among the runs, and relevant documents down to it
    topic  max rp  r1  run   grade 3  grade 1
    q           3   1  mine  1(1)     1(2)
    1 run, 1 topic
    order: score
    """
    check.finite("preferred_ranks", rel=rel)
    if isinstance(qrels, Assessed):
        lists = qrels
    elif runs is None:
        raise UsageError("preferred_ranks: no runs; give judgments and runs, or assessed lists")
    else:
        lists = join(qrels, runs, options)
    shape = (len(lists.runs), len(lists.topics))
    if lists.rows != shape[0] * shape[1]:
        raise UsageError(f"preferred_ranks: {lists.rows} lists, must be one for each run and topic: {shape}")
    hits = lists.relevant(rel)
    r1, rp = np.full(lists.rows, np.nan), np.full(lists.rows, np.nan)
    firsts = first_relevant(lists, rel, None)
    r1[firsts.row] = firsts.rank
    at = preferred(hits)
    rp[hits.row[at]] = hits.rank[at]
    first, best = r1.reshape(shape), rp.reshape(shape)
    found = ~np.isnan(best).all(axis=0)
    deepest = np.where(found, np.where(np.isnan(best), -1, best).argmax(axis=0), -1)
    relevant = lists.judged.grade[lists.judged.grade >= rel]
    grades = np.unique(relevant)[::-1]
    inside, _ = down_to_preferred(hits)
    of_deepest = deepest[lists.topic[hits.row]] == lists.run[hits.row]
    chosen = inside & of_deepest
    above = _tallied(lists.topic[hits.row[chosen]], hits.grade[chosen], grades, shape[1])
    kept = lists.judged.grade >= rel
    judged = _tallied(lists.judged.topic[kept], relevant, grades, shape[1])
    notes = [f"{shape[0]} run{'s' * (shape[0] != 1)}, {shape[1]} topic{'s' * (shape[1] != 1)}", *lists.notes]
    empty = int(np.isnan(best).sum())
    if empty:
        notes.append(f"{empty} of {lists.rows} lists hold no relevant document and have no such rank")
    return PreferredRanks(
        lists.runs, lists.topics, tuple(grades.tolist()), first, best, deepest, above, judged, tuple(notes)
    )


def _tallied(topic: NDArray[Any], grade: Array, grades: Array, topics: int) -> NDArray[np.int64]:
    """topics × grades: how many there are; `grades` falls."""
    level = len(grades) - 1 - np.searchsorted(grades[::-1], grade)
    counts = np.bincount(topic.astype(np.int64) * len(grades) + level, minlength=topics * len(grades))
    return np.asarray(counts.reshape(topics, len(grades)), dtype=np.int64)
