"""What each run, or each team, contributed to a pool: documents that no other found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.judged_documents import JudgedDocuments
from cranfield.collection.run_table import Belongs, belongs
from cranfield.meta.judgments.leave_out import run_groups
from cranfield.record import Record
from cranfield.text import counted
from cranfield.types import Index64, Progress


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Record):
    """For each run or team: the judged documents in its first `depth`, and those that no other has there."""

    facts = ("by", "depth")

    by: str
    """`run` or `team`."""
    names: tuple[str, ...]
    depth: int | None
    runs: Index64
    """The number of runs of each."""
    judged: Index64
    relevant: Index64
    unique: Index64
    """Judged documents that no other has."""
    unique_relevant: Index64
    all_relevant: int
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """run or team, runs, judged, relevant, unique, unique relevant, share of all relevant; most unique first."""
        order = np.lexsort((np.arange(len(self.names)), -self.unique_relevant))
        columns = {
            self.by: np.array(self.names, dtype=object),
            "runs": self.runs,
            "judged": self.judged,
            "relevant": self.relevant,
            "unique": self.unique,
            "unique relevant": self.unique_relevant,
            "share": self.unique_relevant / max(self.all_relevant, 1),
        }
        if self.by == "run":
            del columns["runs"]
        return {name: column[order] for name, column in columns.items()}


def pool_contributions(
    qrels: Any,
    runs: Any,
    *,
    teams: Belongs | None = None,
    depth: int | None = None,
    rel: float = 1,
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> Contributions:
    """The judged documents that each run, or each team, has in its first `depth` (None: whole lists).

    teams: {run: team}, or a file of run and team; a run without a team counts for itself.

    Reference: Zobel, SIGIR 1998, doi:10.1145/290941.291014

    >>> runs = {"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"a": 3, "c": 2}}}
    >>> result = pool_contributions({"q": {"a": 1, "b": 1, "c": 0}}, runs)
    >>> result.unique.tolist(), result.unique_relevant.tolist()
    ([1, 1], [1, 0])
    """
    check.whole("", depth=depth)
    documents = JudgedDocuments.of(qrels, runs, options, progress)
    names, group = run_groups(documents.lists.runs, None if teams is None else belongs(teams, "team"), runs)
    pool = documents.pool(group, names, depth)
    relevant = documents.grade >= rel
    outside = int((~pool.contributed.any(axis=0)).sum())
    where = "whole lists" if depth is None else f"the first {depth} documents of each list"
    notes = [*documents.lists.notes, f"{where}; {counted(int(relevant.sum()), 'relevant document')} in all"]
    if outside:
        what = counted(outside, "judged document is", "judged documents are")
        notes.append(f"{what} in no list{'' if depth is None else ' to that depth'}")

    def count(mask: NDArray[np.bool_]) -> Index64:
        return np.asarray(mask.sum(axis=1), dtype=np.int64)

    return Contributions(
        "run" if teams is None else "team", names, depth, np.bincount(group, minlength=len(names)),
        count(pool.contributed), count(pool.contributed[:, relevant]), pool.owned(), pool.owned(relevant),
        int(relevant.sum()), tuple(notes),
    )  # fmt: skip
