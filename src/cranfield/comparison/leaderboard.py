"""The leaderboard: runs ranked by a measure, with intervals, groups, teams, ties and repeated submissions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.collection.accepted_inputs import QrelsLike, RunsLike
from cranfield.collection.run import Belongs, belongs
from cranfield.collection.source import stem
from cranfield.comparison.compare import compare, default_correction
from cranfield.comparison.corrections import CorrectionName
from cranfield.comparison.data import Matrix
from cranfield.comparison.methods.simultaneous_resampling import max_t_of_pairs
from cranfield.comparison.pair_tests import TEST, TESTS, TestSettings
from cranfield.comparison.resampling import TestResamples
from cranfield.comparison.result import Comparison
from cranfield.comparison.result_tables import AGAINST_MARK
from cranfield.declared.operation import Alpha, Level, Seed, about, operation
from cranfield.errors import CranfieldError, SameRunWarning, UsageError
from cranfield.evaluation.evaluator import EvaluateOptions, MeasureLike, evaluate
from cranfield.evaluation.runs_or_scores import ScoresInput, inputs_in, scores_of
from cranfield.evaluation.same_rankings import SameRankings, runs_by_name, same_rankings
from cranfield.measures.property_tables import better_of, lower_is_better
from cranfield.notes import caution_note, method_note
from cranfield.record import Record
from cranfield.scores.labels import label
from cranfield.scores.score_text import all_notes
from cranfield.scores.scores import Scores
from cranfield.table import Column, Estimate, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

LEVEL = 0.95
RESAMPLES = 2_000
"""Random signs of topics for the intervals of ranks; the seed is fixed, so that a leaderboard can be made again."""


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Record):
    """Runs, the best first by a measure. Runs with equal means share a rank.

    >>> scores = Scores.from_matrix([[0.5, 0.9, 0.5], [0.7, 0.9, 0.7]], runs=["x", "y", "z"], measure="AP")
    >>> board = Leaderboard.of(scores, "AP", {"x": "red", "y": "blue", "z": "red"})
    >>> list(zip(board.rank.tolist(), board.run, board.team))
    [(1, 'y', 'blue'), (2, 'x', 'red'), (2, 'z', 'red')]
    """

    facts = ("measure", "level", "topics")

    measure: str
    level: float
    topics: int
    rank: Index64
    run: tuple[str, ...]
    team: tuple[str, ...]
    """Empty if teams are not known."""
    mean: Array
    low: Array
    high: Array
    """The ends of the interval of the mean (`scores.mean_intervals`); NaN with a single topic."""
    rank_low: Index64
    rank_high: Index64
    """The ends of the interval of the rank (`rank_intervals`)."""
    groups: tuple[str, ...]
    """Letters: two runs that share a letter do not differ significantly. Empty if there are too many groups, or if
    nothing can be compared."""
    above: Index64
    below: Index64
    """The number of runs that are significantly worse, and significantly better; -1 without a comparison."""
    others: Mapping[str, Array] = field(default_factory=dict)
    """{measure: means} of the other measures."""
    same_as: tuple[str, ...] = ()
    """The other runs with the same ranking, for each run."""
    notes: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    """≠ for runs that `above` and `below` count against their means, because the test contradicts them; with groups,
    ≠ follows the letters."""

    @staticmethod
    def of(
        scores: Scores,
        measure: str,
        teams: Mapping[str, str] | None = None,
        comparison: Comparison | None = None,
        *,
        level: float = LEVEL,
        same: Sequence[Sequence[str]] = (),
    ) -> Leaderboard:
        """The leaderboard of scores by one of their measures. Equal means keep the order of the runs.

        `teams` is {run: team}, `comparison` that of all pairs, and `same` are groups of runs that are the same.
        """
        summary = scores[measure].summary(level=level)
        estimates = [summary[measure, run] for run in scores.runs]
        mean = np.array([estimate.value for estimate in estimates])
        lower = lower_is_better(measure)
        key = _sort_key(mean, lower)
        order = np.argsort(key, kind="stable")
        ranked = key[order]
        rank = np.searchsorted(ranked, ranked, side="left") + 1
        runs = tuple(scores.runs[at] for at in order)
        low, high = (np.array([getattr(estimate, end) for estimate in estimates])[order] for end in ("low", "high"))
        values = scores.values[scores.measures.index(measure)]
        rank_low, rank_high = rank_intervals(values, level, lower=lower)
        letters, above, below, against = _compared(comparison, measure)
        others = {name: scores[name].means()[0][order] for name in scores.measures if name != measure}
        topics = counted(len(scores.topics), "topic")
        notes = [
            method_note(f"means of {measure} over {topics}, with {level:.0%} intervals {summary.how}"),
            method_note(f"ranks: {level:.0%} intervals of all ranks together, from the max-t test of all pairs"),
        ]
        notes += summary.notes
        if comparison is not None and above:
            if any(letters.values()):
                notes.append(f"groups: {comparison.group_rule()}; {comparison.notes[0]}")
            else:
                notes.append(f"above and below: runs that are significantly worse and better; {comparison.notes[0]}")
            notes += [note for note in comparison.notes if note.startswith("caution:")]
        notes += [caution_note(f"the same ranking under {len(names)} names: {listed(names)}") for names in same]
        also = {name: ", ".join(other for other in names if other != name) for names in same for name in names}
        return Leaderboard(
            measure, level, len(scores.topics), rank.astype(np.int64), runs,
            tuple((teams or {}).get(run, "") for run in runs) if teams is not None else (),
            mean[order], low, high, rank_low[order], rank_high[order],
            tuple(letters.get(run, "") for run in runs),
            np.array([above.get(run, -1) for run in runs], dtype=np.int64),
            np.array([below.get(run, -1) for run in runs], dtype=np.int64),
            others, tuple(also.get(run, "") for run in runs) if also else (), tuple(notes),
            tuple(against.get(run, "") for run in runs),
        )  # fmt: skip

    def columns(self) -> dict[str, NDArray[Any]]:
        """rank, run, team, mean, its interval, the interval of the rank, groups, other measures, and more."""
        counts = {"above": self.above, "below": self.below} if (self.above >= 0).any() else {}
        texts = {"team": self.team, "groups": self.groups, "same as": self.same_as}
        shown = {name: np.array(column, dtype=object) for name, column in texts.items() if any(column)}
        columns: dict[str, NDArray[Any]] = {"rank": self.rank, "run": np.array(self.run, dtype=object)}
        columns |= {name: shown[name] for name in ("team",) if name in shown}
        columns |= {self.measure: self.mean, "low": self.low, "high": self.high}
        columns |= {"rank low": self.rank_low, "rank high": self.rank_high}
        columns |= {name: shown[name] for name in ("groups",) if name in shown}
        columns |= counts | ({AGAINST_MARK: np.array(self.against, dtype=object)} if any(self.against) else {})
        columns |= dict(self.others)
        return columns | {name: shown[name] for name in ("same as",) if name in shown}

    @property
    def places(self) -> list[str]:
        """The ranks as people write them, with "=" after one that several runs share."""
        shared = {rank for rank, count in zip(*np.unique(self.rank, return_counts=True), strict=True) if count > 1}
        return [f"{rank}=" if rank in shared else str(rank) for rank in self.rank.tolist()]

    @property
    def rank_spans(self) -> list[str]:
        """The intervals of the ranks as text.

        >>> board = Leaderboard.of(Scores.from_matrix([[0.5, 0.9], [0.4, 0.8]], runs=["x", "y"], measure="AP"), "AP")
        >>> board.rank_spans
        ['1–2', '1–2']
        """
        ends = zip(self.rank_low.tolist(), self.rank_high.tolist(), strict=True)
        return [str(low) if low == high else f"{low}–{high}" for low, high in ends]

    def table(self) -> Table:
        """A row per run: rank, run, team, mean with its interval, ranks that are likely, groups, other measures."""
        numbers = zip(self.run, self.mean.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        means = [Estimate(self.measure, run, mean, low, high, self.topics) for run, mean, low, high in numbers]
        cells: list[tuple[Column, Sequence[Any]]] = [(Column("rank", "count"), self.places), (Column("run"), self.run)]
        if any(self.team):
            cells.append((Column("team"), self.team))
        cells += [(Column(self.measure, "number", better_of(self.measure)), means), (Column("ranks"), self.rank_spans)]
        if any(self.groups):
            cells.append((Column("groups"), self.groups))
        elif (self.above >= 0).any():
            cells += [(Column("above", "count"), self.above.tolist()), (Column("below", "count"), self.below.tolist())]
            cells += [(Column(AGAINST_MARK), self.against)] * any(self.against)
        cells += [(Column(name, "number", better_of(name)), column.tolist()) for name, column in self.others.items()]
        if any(self.same_as):
            cells.append((Column("same as"), self.same_as))
        rows = tuple(zip(*(column for _, column in cells), strict=True))
        return Table(tuple(head for head, _ in cells), rows, notes=self.notes)


def _sort_key(mean: Array, lower: bool) -> Array:
    """Ascending from the best; sums in another order differ a little, so the last digits do not count."""
    return np.asarray(np.round(mean if lower else -mean, 12))


def rank_intervals(
    values: Array, level: float = LEVEL, *, lower: bool = False, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[Index64, Index64]:
    """The ends of the intervals of the ranks of all runs together, from simultaneous comparisons of all pairs.

    `values` are runs × topics. A run's best possible rank is 1 + the number of runs that are significantly better by
    the max-t test, its worst the number of runs that are not significantly worse. The true ranks are all within their
    intervals with probability `level`; a bootstrap of ranks misses those of nearly equal runs.
    Reference: Al Mohamad, Goeman & van Zwet, Simultaneous Confidence Intervals for Ranks with Application to Ranking
    Institutions, Biometrics 78(1), 2022, doi:10.1111/biom.13419

    >>> better, worse = np.linspace(0.7, 0.9, 9), np.linspace(0.1, 0.2, 9)
    >>> low, high = rank_intervals(np.array([better, better[::-1], worse]))
    >>> low.tolist(), high.tolist()
    ([1, 1, 3], [2, 2, 3])
    """
    runs, topics = values.shape
    best, worst = np.ones(runs, dtype=np.int64), np.full(runs, runs, dtype=np.int64)
    if runs < 2 or topics < 2:
        return best, worst
    first, second = np.triu_indices(runs, 1)
    defined = ~np.isnan(values)
    shared = (defined.astype(np.int64) @ defined.T.astype(np.int64))[first, second] > 1
    first, second = first[shared], second[shared]
    if not len(first):
        return best, worst
    names = tuple(map(str, range(runs)))
    matrix = Matrix(values.T, tuple(map(str, range(topics))), names)
    tests = max_t_of_pairs(matrix, first, second, TestSettings("two-sided", 1 - level, resamples, seed))
    difference = np.nansum(values[first] - values[second], axis=1)
    ahead = np.sign(difference) * (-1 if lower else 1) * (tests.p <= 1 - level)
    for run, other, sign in ((first, second, 1), (second, first, -1)):
        np.add.at(best, other, ahead == sign)
        np.subtract.at(worst, run, ahead == sign)
    return best, worst


def _compared(
    comparison: Comparison | None, measure: str
) -> tuple[dict[str, str], dict[str, int], dict[str, int], dict[str, str]]:
    """The groups of each run, how many runs are significantly worse and better, and ≠ where groups do not say it."""
    for family in comparison.families if comparison else ():
        if family.matrix.measure == measure and comparison is not None:
            systems = family.matrix.systems
            marks = comparison.marks(family)
            letters = {systems[at]: mark or "" for at, mark in zip(family.ranking, marks, strict=True)}
            above, below = (counts.tolist() for counts in family.counts(comparison.alpha))
            against = {} if any(marks) else comparison.disagreements(family)
            return letters, dict(zip(systems, above, strict=True)), dict(zip(systems, below, strict=True)), against
    return {}, {}, {}, {}


@operation
def leaderboard_of(
    scores: Scores,
    measure: MeasureLike | None = None,
    *,
    teams: Belongs | None = None,
    files: Mapping[str, object] | None = None,
    same: SameRankings | None = None,
    test: Annotated[str, about("The test that makes the groups: {names}.", **TEST)] = "t",
    correction: CorrectionName = None,
    alpha: Alpha = 0.05,
    level: Level = LEVEL,
    resamples: TestResamples = 10_000,
    seed: Seed = 0,
    comparison: Comparison | None = None,
) -> Leaderboard:
    """The leaderboard of scores by one of their measures, by default the first.

    `teams` is {run: team} or a file with lines of run and team; it may also name a run's file, if `files` are
    {run: file}. Groups are from `compare` with the settings of tests. If the runs cannot be compared, a note says why.
    `comparison` is that of all pairs by this measure, if it was already made; these settings are then not used.

    >>> scores = Scores.from_matrix([[0.5, 0.9], [0.4, 0.8], [0.6, 0.8]], runs=["x", "y"], measure="AP")
    >>> print(leaderboard_of(scores).table().text().splitlines()[1])
       1  y    0.8333 [0.3311, 0.9374]  1–2    a
    """
    default_correction(correction, TESTS.find(test))
    name = scores.measures[0] if measure is None else scores[label(measure)].measures[0]
    of_run, notes = (None, []) if teams is None else teams_of_runs(teams, scores.runs, files)
    notes += all_notes(scores)
    if of_run is not None and (without := [run for run, team in of_run.items() if not team]):
        notes.append(f"{counted(len(without), 'run')} without a team: {listed(without)}")
    if same is not None:
        notes += [
            caution_note(f"equal scores on every topic: {listed(names)}; are they one run?") for names in same.unchecked
        ]
    try:
        if comparison is None and len(scores.runs) > 1:
            comparison = compare(
                scores, name, test=test, correction=correction, alpha=alpha, resamples=resamples, seed=seed
            )
    except CranfieldError as error:
        notes.append(f"no groups: {error}")
    board = Leaderboard.of(scores, name, of_run, comparison, level=level, same=same.groups if same else ())
    return replace(board, notes=(*board.notes, *notes))


def teams_of_runs(
    teams: Belongs, runs: Sequence[str], files: Mapping[str, object] | None = None
) -> tuple[dict[str, str], list[str]]:
    """{run: team} for these runs, with "" for one that is not in the table, and notes. No run in the table is an error.

    The table may name a run, or its file (`files`), with or without its suffix. A run's name wins: it may be the tag in
    the file, and so also the name of another run's file.

    >>> teams_of_runs({"a": "red", "b.run": "blue"}, ["a", "tag"], {"a": "runs/a.run", "tag": "runs/b.run"})
    ({'a': 'red', 'tag': 'blue'}, [])
    """
    table = belongs(teams, "team")
    of_run, notes = {}, []
    for run in runs:
        path = (files or {}).get(run)
        spellings = [os.path.basename(path), stem(path)] if isinstance(path, str) else []
        by_file = {name: table[name] for name in spellings if name in table and name != run}
        others = {name: team for name, team in by_file.items() if name in runs}
        usable = {name: team for name, team in by_file.items() if name not in runs}
        of_run[run] = table.get(run) or next(iter(usable.values()), "")
        for name, team in by_file.items():
            if of_run[run] and team != of_run[run]:
                notes.append(
                    caution_note(f"the file of run {run!r} is {name!r}, of team {team!r}; used {of_run[run]!r}")
                )
            elif not of_run[run] and name in others:
                notes.append(f"run {run!r} has no team: its file {name!r} is also the name of another run")
    if table and not any(of_run.values()):
        where = os.fspath(teams) if isinstance(teams, str | os.PathLike) else "teams"
        raise UsageError(f"{where}: {nearest(next(iter(table)), list(runs), 'run')}")
    return of_run, list(dict.fromkeys(notes))


def leaderboard(
    qrels: QrelsLike | ScoresInput,
    runs: RunsLike | MeasureLike | None = None,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    teams: Belongs | None = None,
    level: float = LEVEL,
    test: str = "t",
    correction: str | None = None,
    alpha: float = 0.05,
    **options: Unpack[EvaluateOptions],
) -> Leaderboard:
    """Rank runs by the first of the measures, with intervals, groups of runs that do not differ, teams and ties.

    `qrels`, `runs`, `measures` and `options` are those of `evaluate`, the others those of `leaderboard_of`. Runs that
    are the same under two names are noted: they have the same documents in the same order on every topic. Scores may
    take the place of judgments and runs: `leaderboard(scores, "AP")`.

    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1}}
    >>> best, other = {"1": {"a": 2, "b": 1}, "2": {"c": 1}}, {"1": {"a": 1, "b": 2}, "2": {"d": 2, "c": 1}}
    >>> board = leaderboard(qrels, {"x": other, "y": best, "z": {**best}}, "RR")
    >>> board.places, board.run, board.same_as
    (['1=', '1=', '3'], ('y', 'z', 'x'), ('z', 'y', ''))
    """
    if inputs_in((qrels, runs)) < 2:
        given: Any = runs if measures is None else measures
        scores = scores_of(qrels, "leaderboard")
        chosen = scores if given is None else scores.select(measures=given)
        return leaderboard_of(chosen, teams=teams, level=level, test=test, correction=correction, alpha=alpha)
    lists, judgments = cast(RunsLike, runs), cast(QrelsLike, qrels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SameRunWarning)  # a note says which runs are the same
        scores = evaluate(judgments, lists, measures, **options)
    by_name = runs_by_name(scores, lists)
    same = same_rankings(scores, by_name, options.get("order"), options.get("ties", "z-a"), **_reading(options))
    files = {name: os.fspath(run) for name, run in by_name.items() if isinstance(run, str | os.PathLike)}
    return leaderboard_of(
        scores, teams=teams, files=files, same=same, level=level, test=test, correction=correction, alpha=alpha
    )


def _reading(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("format", "on_duplicate") if name in options}
