"""Leave one out: how would a run have scored, had it not (or had its team not) contributed to the pool?"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.judged_documents import Pool
from cranfield.assessed.lists import Assessed
from cranfield.collection.qrels import Qrels
from cranfield.collection.run_table import Belongs, belongs
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.evaluation.evaluator import MeasureLike
from cranfield.frames import Tidy
from cranfield.meta.judgments.rescoring import (
    BY_TAU,
    PAIRED,
    Rescorer,
    chosen_measures,
    mean_of,
    paired_means,
    ranks,
    tau,
    undefined,
)
from cranfield.table import Column, Table
from cranfield.text import counted
from cranfield.types import Array, Index, Progress

WHO = "leave_one_out"


@dataclass(frozen=True, eq=False)
class LeftOut(Tidy):
    """What scores and rankings become when the unique contributions of one run, or team, are unjudged.

    As a frame: a row for each run that is left out (alone or with its team) and measure.
    """

    by: str
    """What is left out at a time: `run` or `team`."""
    names: tuple[str, ...]
    """The runs or teams that are left out."""
    measures: tuple[str, ...]
    runs: tuple[str, ...]
    group: Index
    """Of each run: which of `names` it is of."""
    before: Array
    """names × measures × runs: the mean score by all judgments."""
    after: Array
    """names × measures × runs: the mean score without the unique contributions of one."""
    lower: tuple[bool, ...]
    """Of each measure: is lower better?"""
    pool: Pool = field(repr=False)
    notes: tuple[str, ...] = ()

    # -- what follows

    @cached_property
    def tau(self) -> Array:
        """names × measures: Kendall's τ_b of the rankings of all runs, by all judgments and without one's own."""
        return tau(self.before, self.after)

    @cached_property
    def tau_of_own(self) -> Array:
        """Measures: τ_b of the ranking by all judgments, and that in which each run has the score it is left with."""
        each = np.arange(len(self.runs))
        return tau(self.before[self.group, :, each].T, self.after[self.group, :, each].T)

    def _own(self, values: NDArray[Any]) -> NDArray[Any]:
        """measures × runs, of names × measures × runs: each run when it is left out itself."""
        return np.asarray(values[self.group, :, np.arange(len(self.runs))].T)

    @cached_property
    def _ranks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        before, after = (np.stack([ranks(one, self.lower) for one in side]) for side in (self.before, self.after))
        return self._own(before), self._own(after)

    @cached_property
    def contributions(self) -> dict[str, NDArray[np.int64]]:
        """Of each name: judged documents it found (and relevant ones), and those that nobody else found."""
        relevant = self.pool.documents.grade >= 1
        unique = self.pool.owner == np.arange(len(self.names))[:, None]
        counts = {
            "runs": np.bincount(self.group, minlength=len(self.names)),
            "found": self.pool.found.sum(axis=1),
            "found_relevant": self.pool.found[:, relevant].sum(axis=1),
            "unique": unique.sum(axis=1),
            "unique_relevant": unique[:, relevant].sum(axis=1),
        }
        return {name: np.asarray(count, dtype=np.int64) for name, count in counts.items()}

    def qrels(self, name: str) -> Qrels:
        """The judgments without the unique contributions of a run or team."""
        if name not in self.names:
            raise UsageError(f"{WHO}: no {self.by} {name!r}; there are {', '.join(self.names[:10])}")
        return self.pool.without(self.names.index(name))

    def write(self, folder: str | os.PathLike[str]) -> dict[str, str]:
        """Write the judgments without each one's unique contributions, a file each: {run or team: path}."""
        os.makedirs(folder, exist_ok=True)
        paths: dict[str, str] = {}
        taken: set[str] = set()
        for number, name in enumerate(self.names):
            plain = re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_"
            while plain.casefold() in taken:
                plain += "_"
            taken.add(plain.casefold())
            paths[name] = os.path.join(os.fspath(folder), f"{plain}.qrels")
            self.pool.without(number).write(paths[name], "trec")
        return paths

    # -- how it is told

    def columns(self) -> dict[str, NDArray[Any]]:
        m, r = (axis.ravel() for axis in np.indices((len(self.measures), len(self.runs))))
        before, after = self._own(self.before).ravel(), self._own(self.after).ravel()
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(before == 0, np.nan, (after - before) / before)
        ranked, reranked = self._ranks
        return {
            "left_out": np.array(self.names, dtype=object)[self.group[r]],
            "run": np.array(self.runs, dtype=object)[r],
            "measure": np.array(self.measures, dtype=object)[m],
            "score": before,
            "without": after,
            "change": after - before,
            "relative": relative,
            "rank": ranked.ravel(),
            "rank_without": reranked.ravel(),
            "tau": self.tau[self.group[r], m],
        }

    def _metadata(self) -> dict[str, Any]:
        return {"by": self.by, "notes": list(self.notes)}

    def table(self) -> Table:
        """A row for each measure: how far scores and ranks move, and what becomes of the ranking."""
        change = self._own(self.after - self.before)
        ranked, reranked = self._ranks
        moved = np.abs(reranked - ranked)
        rows = []
        for m, measure in enumerate(self.measures):
            worst, farthest, least = _largest(np.abs(change[m])), _largest(moved[m]), _largest(-self.tau[:, m])
            rows.append(
                (
                    measure,
                    float(mean_of(change[m])),
                    change[m, worst],
                    self.runs[worst] if change[m, worst] else "",
                    float(moved[m].mean()),
                    int(moved[m, farthest]),
                    self.runs[farthest] if moved[m, farthest] else "",
                    float(mean_of(self.tau[:, m])),
                    float(self.tau[least, m]),
                    self.names[least] if self.tau[least, m] < 1 - 1e-9 else "",
                    float(self.tau_of_own[m]),
                )
            )
        headings = (
            Column("measure"), Column("mean change", "number"), Column("largest", "number"), Column("of run"),
            Column("mean ranks moved", "number"), Column("most", "count"), Column("by run"), Column("mean τ", "number"),
            Column("least τ", "number"), Column(f"without {self.by}"), Column("τ of own", "number", "higher"),
        )  # fmt: skip
        return Table(headings, tuple(rows), f"Leave one {self.by} out", self.notes)

    def contribution_table(self) -> Table:
        """A row for each run or team: what it found, and what only it found."""
        told = self.contributions
        relevant = int((self.pool.documents.grade >= 1).sum())
        rows = tuple(
            (name, *(int(count[g]) for count in told.values()), 100 * told["unique_relevant"][g] / relevant)
            for g, name in enumerate(self.names)
        )
        headings = [Column(name.replace("_", " "), "count") for name in told]
        share = Column("% of all relevant", "number")
        return Table((Column(self.by), *headings, share), rows, "Contributions to the pool (judged documents)")

    def run_table(self) -> Table:
        """A row for each run and measure."""
        columns = self.columns()
        if self.by == "run":
            del columns["left_out"]
        kinds = {"O": "text", "f": "number", "i": "count"}
        named = {"left_out": "team", "tau": "τ"}
        headings = tuple(
            Column(named.get(name, name).replace("_", " "), kinds[values.dtype.kind])
            for name, values in columns.items()
        )
        rows = tuple(zip(*(values.tolist() for values in columns.values()), strict=True))
        return Table(headings, rows, f"Each run without what only {'it' if self.by == 'run' else 'its team'} found")

    def __str__(self) -> str:
        return self.table().text()


def leave_one_out(
    qrels: Any,
    runs: Any,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    *,
    teams: Belongs | None = None,
    pool_depth: int | None = None,
    condensed: bool = False,
    missing: str = "zero",
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> LeftOut:
    r"""Score all runs without the documents that only one run, or one team, contributed to the pool.

    The contributions :math:`C_j` of run or team j are the judged documents among the first `pool_depth` of its lists
    (None: anywhere in them); :math:`U_j = C_j - \bigcup_{j' \ne j} C_{j'}` are unjudged in :math:`LOO_j = P - U_j`. If
    the scores and ranks of j by LOO_j are like those by all judgments, a system that was not pooled can be trusted to
    get its due. Runs are read and joined once; the lists by LOO_j are made from the hits.

    teams: {run: team}, or a file of lines `run team`; None: runs are left out one by one.
    condensed: each measure also on lists without unjudged documents (AP and AP').
    options: how runs are read and ranked.

    Judged documents that no run has in its first `pool_depth` stay judged, and notes count them. A topic on which a
    measure is undefined by LOO_j, such as AP where nothing relevant is left, does not count in either mean.

    Reference: Zobel, SIGIR 1998, 307-314, doi:10.1145/290941.291014 (by run); Sakai 2014 §5.4 (by team)

    >>> runs = {"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}, "z": {"q": {"c": 3, "d": 2}}}
    >>> left = leave_one_out({"q": {"a": 1, "b": 1, "c": 0}}, runs, "P@2", pool_depth=2)
    >>> left.contributions["unique"].tolist()  # only x found b
    [1, 0, 0]
    >>> left.before[0, 0].tolist(), left.after[0, 0].tolist()
    ([1.0, 0.5, 0.0], [0.5, 0.5, 0.0])
    """
    check.whole(WHO, pool_depth=pool_depth)
    chosen = chosen_measures(measures, condensed)
    scorer = Rescorer(WHO, qrels, runs, chosen, options, missing)
    documents, full = scorer.documents, scorer.full
    names, group = _groups(full.runs, None if teams is None else belongs(teams, "team"))
    if len(names) < 2:
        raise UsageError(f"{WHO}: all runs are of team {names[0]!r}, must be of 2 or more: nobody else found anything")
    pool = documents.pool(group, names, pool_depth)
    before, after = np.empty((2, len(names), len(chosen), len(full.runs)))
    lost: list[str] = []
    for number, name in enumerate(names):
        if (pool.owner == number).any():
            left = pool.left(number)
            values = scorer.values(documents.judged(keep=left))
            some = np.bincount(documents.topic[left & (documents.grade >= 1)], minlength=len(full.topics)) > 0
            had = np.bincount(documents.topic[documents.grade >= 1], minlength=len(full.topics)) > 0
            lost += [f"{full.topics[topic]} without {name}" for topic in np.flatnonzero(had & ~some)]
        else:
            values = full.values
        before[number], after[number] = paired_means(full.values, values)
        if progress is not None:
            progress(number + 1, len(names))
    notes = [*full.notes, counted(len(full.topics), "topic"), BY_TAU, PAIRED, *_notes(pool)]
    notes += undefined(tau(before, after))
    if lost:
        more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        notes.append(f"nothing relevant is left of {', '.join(lost[:5])}{more}")
    return LeftOut(
        "run" if teams is None else "team", names, full.measures, full.runs, group, before, after,
        tuple(one.properties.better == "lower" for one in chosen), pool, tuple(notes),
    )  # fmt: skip


def _largest(values: NDArray[Any]) -> int:
    """Where the largest value is; the first place if there is none."""
    return int(np.argmax(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=-np.inf)))


def _groups(runs: tuple[str, ...], team: dict[str, str] | None) -> tuple[tuple[str, ...], Index]:
    """The names of what is left out, and which of them each run is of."""
    if team is None:
        return runs, np.arange(len(runs))
    alone = [run for run in runs if run not in team]
    if len(alone) == len(runs):
        raise UsageError(
            f"{WHO}: no run is in the table of teams: it has {_some(list(team)) or 'none'}, the runs are {_some(runs)}"
        )
    absent = [run for run in team if run not in runs]
    present = {team[run] for run in runs if run in team}
    empty = [name for name in dict.fromkeys(team.values()) if name not in present]
    told = [
        (empty, "team has none of these runs", "teams have none of these runs"),
        (absent, "run in the table of teams is not there", "runs in the table of teams are not there"),
        (alone, "run is of no team, and left out on its own", "runs are of no team, and left out one by one"),
    ]
    for which, one, many in told:
        if which:
            warnings.warn(
                f"{len(which)} {one if len(which) == 1 else many}: {_some(which)}", CranfieldWarning, stacklevel=3
            )
    # a run on its own is no member of the team that happens to have its name
    of_run = [team.get(run) or (f"{run} (run)" if run in present else run) for run in runs]
    names = tuple(dict.fromkeys(of_run))
    return names, np.array([names.index(name) for name in of_run])


def _notes(pool: Pool) -> list[str]:
    """How deep the pool is taken to be, and what is in no list."""
    lists, depth = pool.documents.lists, pool.depth
    longest = int(lists.retrieved.max(initial=0))
    notes = [f"pool depth: {depth or 'whole lists'}"]
    if depth is not None and depth > longest:
        warnings.warn(
            f"pool_depth == {depth}, but the longest list has {counted(longest, 'document')}: whole lists are taken",
            CranfieldWarning,
            stacklevel=3,
        )
    judged_down_to = _judged_down_to(lists)
    if judged_down_to < min(depth or longest, longest):
        notes.append(f"a list has an unjudged document at rank {judged_down_to + 1}: not all were pooled that deep")
    nobody = int((~pool.found.any(axis=0)).sum())
    if nobody:
        notes.append(f"{nobody} of {len(pool.owner)} judged documents are in no list to that depth, and stay judged")
    return notes


def _judged_down_to(lists: Assessed) -> int:
    """The rank down to which every document of every list is judged; lists that are judged whole do not limit it."""
    hits = lists.hits()
    judged = np.bincount(hits.row[hits.rank == hits.nth], minlength=len(lists))
    limits = judged < lists.retrieved
    return int(judged[limits].min()) if limits.any() else int(lists.retrieved.max(initial=0))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
