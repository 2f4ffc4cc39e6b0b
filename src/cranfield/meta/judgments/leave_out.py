"""Leave one out: how would a run have scored if it, or its team, had not contributed to the pool?"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.changed_lists.judged_documents import Pool
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.check import index_of
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Belongs, belongs, by_run
from cranfield.collection.whole_folder import whole_folder
from cranfield.declared.operation import about, operation
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.meta.judgments import rescoring
from cranfield.notes import Notes, method_note
from cranfield.record import Columns, Record, labels, table_of
from cranfield.scores import summary as summaries
from cranfield.table import Column, Table, headings
from cranfield.text import counted, listed
from cranfield.types import Array, Index, Progress, report

NAME = "leave_one_out"
POOL_DEPTH = about("The number of first documents of each run that were judged; default: whole lists.", least=1)


@dataclass(frozen=True, eq=False, repr=False)
class LeftOut(Record):
    """Scores and rankings when the unique contributions of one run, or of one team, are unjudged."""

    figure = "left_out_figure"
    facts = ("by",)

    by: str
    """What is left out at a time: `run` or `team`."""
    names: tuple[str, ...]
    """The runs or teams that are left out."""
    measures: tuple[str, ...]
    runs: tuple[str, ...]
    group: Index
    """For each run, the index of its name or team in `names`."""
    before: Array
    """names × measures × runs: the mean score with all judgments."""
    after: Array
    """names × measures × runs: the mean score without the unique contributions of one name."""
    lower: tuple[bool, ...]
    """For each measure: is lower better?"""
    pool: Pool
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def tau(self) -> Array:
        """names × measures: Kendall's τ_b of the rankings of all runs, with all judgments and without one name's."""
        return rescoring.tau(self.before, self.after)

    @cached_property
    def tau_of_own(self) -> Array:
        """Measures: τ_b of the ranking with all judgments, and the ranking of each run by its score when left out."""
        return rescoring.tau(self._own(self.before), self._own(self.after))

    def _own(self, values: NDArray[Any]) -> NDArray[Any]:
        """measures × runs, from names × measures × runs: each run when it is left out itself."""
        return np.asarray(values[self.group, :, np.arange(len(self.runs))].T)

    @cached_property
    def _ranks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        before, after = (
            np.stack([rescoring.ranks(scores, self.lower) for scores in values]) for values in (self.before, self.after)
        )
        return self._own(before), self._own(after)

    @cached_property
    def contributions(self) -> dict[str, NDArray[np.int64]]:
        """For each name: the (relevant) judged documents it retrieved, and those that no other name retrieved."""
        relevant = self.pool.documents.grade >= 1
        counts = {
            "runs": np.bincount(self.group, minlength=len(self.names)),
            "found": self.pool.contributed.sum(axis=1),
            "found_relevant": self.pool.contributed[:, relevant].sum(axis=1),
            "unique": self.pool.owned(),
            "unique_relevant": self.pool.owned(relevant),
        }
        return {name: np.asarray(count, dtype=np.int64) for name, count in counts.items()}

    def qrels(self, name: str) -> Qrels:
        """The judgments without the unique contributions of a run or team."""
        return self.pool.without(index_of(name, self.names, self.by))

    def write(self, folder: str | os.PathLike[str]) -> dict[str, str]:
        """Write a file of judgments for each run or team, without its unique contributions: {name: path}."""
        paths: dict[str, str] = {}
        taken: set[str] = set()
        with whole_folder(folder) as made:
            for number, name in enumerate(self.names):
                stem = re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_"
                while stem.casefold() in taken:
                    stem += "_"
                taken.add(stem.casefold())
                paths[name] = os.path.join(os.fspath(folder), f"{stem}.qrels")
                self.pool.without(number).write(os.path.join(made, f"{stem}.qrels"), "trec")
        return paths

    def columns(self) -> Columns:
        """left_out, run, measure, score, without, change, relative, rank, rank_without, tau: each run when left out."""
        m, r = (axis.ravel() for axis in np.indices((len(self.measures), len(self.runs))))
        before, after = self._own(self.before).ravel(), self._own(self.after).ravel()
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(before == 0, np.nan, (after - before) / before)
        rank, rank_without = self._ranks
        return {
            "left_out": labels(self.names)[self.group[r]],
            "run": labels(self.runs)[r],
            "measure": labels(self.measures)[m],
            "score": before,
            "without": after,
            "change": after - before,
            "relative": relative,
            "rank": rank.ravel(),
            "rank_without": rank_without.ravel(),
            "tau": self.tau[self.group[r], m],
        }

    def table(self) -> Table:
        """A row for each measure: how far scores and ranks move, and how well the ranking is preserved."""
        change = self._own(self.after - self.before)
        rank, rank_without = self._ranks
        moved = np.abs(rank_without - rank)
        rows = []
        for m, measure in enumerate(self.measures):
            tau = self.tau[:, m]
            worst, farthest, least = _largest(np.abs(change[m])), _largest(moved[m]), _largest(-tau)
            largest, most, lowest = change[m, worst], int(moved[m, farthest]), float(tau[least])
            changes = (float(summaries.mean(change[m])), largest, self.runs[worst] if largest else "")
            moves = (float(moved[m].mean()), most, self.runs[farthest] if most else "")
            taus = (float(summaries.mean(tau)), lowest, self.names[least] if lowest < 1 - 1e-9 else "")
            rows.append((measure, *changes, *moves, *taus, float(self.tau_of_own[m])))
        heads = (
            Column("measure"), *headings("number", "mean change", "largest"), Column("of run"),
            Column("mean ranks moved", "number"), Column("most", "count"), Column("by run"),
            *headings("number", "mean τ", "least τ"), Column(f"without {self.by}"),
            Column("τ of own", "number", "higher"),
        )  # fmt: skip
        return Table(heads, tuple(rows), f"Leave one {self.by} out", self.notes)

    def contribution_table(self) -> Table:
        """A row for each run or team: the documents that it retrieved, and that only it retrieved."""
        counts = self.contributions
        relevant = int((self.pool.documents.grade >= 1).sum())
        rows = tuple(
            (name, *(int(count[g]) for count in counts.values()), 100 * counts["unique_relevant"][g] / relevant)
            for g, name in enumerate(self.names)
        )
        heads = headings("count", *(name.replace("_", " ") for name in counts))
        share = Column("% of all relevant", "number")
        return Table((Column(self.by), *heads, share), rows, "Contributions to the pool (judged documents)")

    def run_table(self) -> Table:
        columns = self.columns()
        if self.by == "run":
            del columns["left_out"]
        caption = f"Each run without the documents that only {'it' if self.by == 'run' else 'its team'} retrieved"
        names = {"left_out": "team", "rank_without": "rank without", "tau": "τ"}
        return table_of({names.get(name, name): column for name, column in columns.items()}, caption=caption)


@operation
def leave_one_out(
    qrels: Any,
    runs: Any,
    measures: MeasuresLike | None = None,
    *,
    teams: Belongs | None = None,
    pool_depth: Annotated[int | None, POOL_DEPTH] = None,
    condensed: rescoring.WithCondensed = False,
    missing: str = "zero",
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> LeftOut:
    r"""Score all runs without the documents that only one run, or one team, contributed to the pool.

    The contributions :math:`C_j` of run or team j are the judged documents among the first `pool_depth` of its lists
    (None: whole lists); :math:`U_j = C_j - \bigcup_{j' \ne j} C_{j'}` are unjudged in :math:`LOO_j = P - U_j`. If the
    scores and ranks of j with LOO_j are similar to those with all judgments, the collection is fair to a system that
    was not pooled. Runs are read and joined once.

    teams: {run: team}, or a file of lines `run team`; None: leave out one run at a time.
    condensed: also score each measure on lists without unjudged documents (AP and AP').
    options: how runs are read and ranked.

    Judged documents that no run has in its first `pool_depth` stay judged, and notes count them. A topic on which a
    measure is undefined with LOO_j, for example AP without relevant documents, counts in neither mean.

    Reference: Zobel, SIGIR 1998, 307-314, doi:10.1145/290941.291014 (by run); Sakai 2014 §5.4 (by team)

    >>> runs = {"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}, "z": {"q": {"c": 3, "d": 2}}}
    >>> result = leave_one_out({"q": {"a": 1, "b": 1, "c": 0}}, runs, "P@2", pool_depth=2)
    >>> result.contributions["unique"].tolist()  # only x retrieved b
    [1, 0, 0]
    >>> result.before[0, 0].tolist(), result.after[0, 0].tolist()
    ([1.0, 0.5, 0.0], [0.5, 0.5, 0.0])
    """
    chosen = rescoring.with_condensed(measures, condensed)
    scorer = rescoring.Rescorer(NAME, qrels, runs, chosen, options, missing)
    documents, full = scorer.documents, scorer.full
    names, group = run_groups(full.runs, None if teams is None else belongs(teams, "team"), runs)
    if len(names) < 2:
        raise UsageError(f"{NAME}: all runs belong to team {names[0]!r}, there must be 2 or more teams")
    pool = documents.pool(group, names, pool_depth)
    before, after = np.empty((2, len(names), len(chosen), len(full.runs)))
    relevant, owned = documents.grade >= 1, pool.owned()
    emptied: list[str] = []
    for number, name in enumerate(names):
        values = full.values
        if owned[number]:
            kept = pool.left(number)
            values = scorer.values(documents.judged(keep=kept))
            topics = np.setdiff1d(documents.topic[relevant], documents.topic[kept & relevant])
            emptied += [f"{full.topics[topic]} without {name}" for topic in topics]
        before[number], after[number] = rescoring.paired_means(full.values, values)
        report(progress, number + 1, len(names))
    notes = Notes(
        [*full.notes, counted(len(full.topics), "topic"), rescoring.BY_TAU, rescoring.PAIRED, *_pool_notes(pool)]
    )
    notes += rescoring.undefined_note(rescoring.tau(before, after))
    if emptied:
        notes.caution(f"no relevant documents are left for {listed(emptied)}")
    return LeftOut(
        "run" if teams is None else "team", names, full.measures, full.runs, group, before, after,
        tuple(measure.properties.better == "lower" for measure in chosen), pool, tuple(notes),
    )  # fmt: skip


def _largest(values: NDArray[Any]) -> int:
    """The index of the largest value; 0 if all are undefined."""
    return int(np.argmax(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=-np.inf)))


def run_groups(
    runs: tuple[str, ...], team: dict[str, str] | None, files: object = None
) -> tuple[tuple[str, ...], Index]:
    """The runs or teams to leave out, and the index of each run's; `team` may name runs by their `files`."""
    if team is None:
        return runs, np.arange(len(runs))
    team = by_run(team, runs, files)
    alone = [run for run in runs if run not in team]
    if len(alone) == len(runs):
        table = listed(team) or "none"
        raise UsageError(f"no run is in the table of teams: it has {table}, the runs are {listed(runs)}")
    absent = [run for run in team if run not in runs]
    present = {team[run] for run in runs if run in team}
    empty = [name for name in dict.fromkeys(team.values()) if name not in present]
    for names, problem in (
        (empty, "teams without any of the runs"),
        (absent, "runs in the table of teams that are not among the runs"),
        (alone, "runs without a team, left out one by one"),
    ):
        if names:
            warn_caller(f"{problem}: {listed(names)}", CranfieldWarning)
    # A run without a team does not belong to a team that has the run's name.
    group = [team.get(run) or (f"{run} (run)" if run in present else run) for run in runs]
    number = {name: at for at, name in enumerate(dict.fromkeys(group))}
    return tuple(number), np.array([number[name] for name in group])


def _pool_notes(pool: Pool) -> list[str]:
    lists, depth = pool.documents.lists, pool.depth
    longest = int(lists.retrieved.max(initial=0))
    notes = Notes([method_note(f"pool depth: {depth or 'whole lists'}")])
    if depth is not None and depth > longest:
        rescoring.warn_too_deep("pool_depth", depth, longest)
    judged_depth = _judged_depth(lists)
    if judged_depth < min(depth or longest, longest):
        give = "; give the depth of the pool, pool_depth" if depth is None else ""
        deep = f"a list has an unjudged document at rank {judged_depth + 1}: not all were pooled that deep"
        notes.caution(f"{deep}{give}")
    outside = int((~pool.contributed.any(axis=0)).sum())
    if outside:
        notes.caution(
            f"{outside:,} of {len(pool.owner):,} judged documents are in no list to that depth, and stay judged"
        )
    return notes


def _judged_depth(lists: Assessed) -> int:
    """The rank to which every document of every list is judged; lists that are judged completely do not limit it."""
    hits = lists.hits()
    judged = np.bincount(hits.row[hits.rank == hits.nth], minlength=len(lists))
    limits = judged < lists.retrieved
    return int(judged[limits].min()) if limits.any() else int(lists.retrieved.max(initial=0))
