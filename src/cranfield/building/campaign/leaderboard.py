"""Scores of the runs that count: the leaderboard, comparisons, and a sheet for each team."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.campaign.campaign_judgments import campaign_judgments
from cranfield.building.campaign.campaign_pool import counting_runs
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.check import nearest
from cranfield.comparison.compare import compare
from cranfield.comparison.result import Comparison
from cranfield.errors import CranfieldError, CranfieldWarning, UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.measures.property_tables import lower_is_better
from cranfield.record import Record
from cranfield.scores.scores import Scores
from cranfield.text import counted
from cranfield.types import Array, Index64

LEVEL = 0.95


class NoResultsError(UsageError):
    """There is nothing to score yet."""


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Record):
    """The runs that count, the best first by a measure. Runs with equal means share a rank.

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
    mean: Array
    low: Array
    high: Array
    """The ends of the interval of the mean, by Student's t over topics; NaN with a single topic."""
    groups: tuple[str, ...]
    """Letters: two runs that share a letter do not differ significantly. Empty if there is nothing to compare."""
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(scores: Scores, measure: str, teams: Mapping[str, str], comparison: Comparison | None = None) -> Leaderboard:
        """The leaderboard of scores by one of their measures. Equal means keep the order of the runs."""
        summary = scores.summary(interval=LEVEL)
        estimates = [summary[measure, run] for run in scores.runs]
        mean = np.array([one.value for one in estimates])
        key = np.round(mean if lower_is_better(measure) else -mean, 12)  # sums in another order differ a little
        order = np.argsort(key, kind="stable")
        ranked = key[order]
        rank = np.searchsorted(ranked, ranked, side="left") + 1
        letters = _letters(comparison, measure)
        runs = tuple(scores.runs[at] for at in order)
        low, high = (np.array([getattr(one, end) for one in estimates])[order] for end in ("low", "high"))
        notes = [f"means of {measure} over {len(scores.topics)} topics, with {LEVEL:.0%} intervals by Student's t"]
        if any(letters.values()):
            assert comparison is not None
            notes.append(f"groups: {comparison.group_rule()}; {comparison.notes[0]}")
            notes += [note for note in comparison.notes if note.startswith("caution:")]
        return Leaderboard(
            measure, LEVEL, len(scores.topics), rank.astype(np.int64), runs, tuple(teams[run] for run in runs),
            mean[order], low, high, tuple(letters.get(run, "") for run in runs), tuple(notes),
        )  # fmt: skip

    def columns(self) -> dict[str, NDArray[Any]]:
        """rank, run, team, mean, low, high, groups."""
        return {
            "rank": self.rank,
            "run": np.array(self.run, dtype=object),
            "team": np.array(self.team, dtype=object),
            self.measure: self.mean,
            "low": self.low,
            "high": self.high,
            "groups": np.array(self.groups, dtype=object),
        }


def _letters(comparison: Comparison | None, measure: str) -> dict[str, str]:
    for family in comparison.families if comparison else ():
        if family.matrix.measure == measure and comparison is not None:
            marks = comparison.marks(family)
            return {family.matrix.systems[at]: mark or "" for at, mark in zip(family.ranking, marks, strict=True)}
    return {}


@dataclass(frozen=True, eq=False, repr=False)
class Sheet(Record):
    """A run topic by topic, against the median and the best of all runs that count."""

    facts = ("run", "team", "measure")

    run: str
    team: str
    measure: str
    topic: tuple[str, ...]
    score: Array
    median: Array
    best: Array
    place: Index64
    """The place of the run on each topic, 1 for the best; runs with equal scores share a place."""
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(scores: Scores, measure: str, run: str, team: str) -> Sheet:
        """The sheet of a run. Topics without a score of the run have NaN, and place 0."""
        lower = lower_is_better(measure)
        values = scores.values[scores.measures.index(measure)]
        own = values[scores.runs.index(run)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a topic on which no run has a score
            median = np.nanmedian(values, axis=0)
            best = (np.nanmin if lower else np.nanmax)(values, axis=0)
        ahead = values < own if lower else values > own
        place = np.where(np.isnan(own), 0, ahead.sum(axis=0) + 1).astype(np.int64)
        return Sheet(run, team, measure, tuple(scores.topics), own, median, best, place)

    def columns(self) -> dict[str, NDArray[Any]]:
        """topic, score, median, best, difference from the median, place."""
        return {
            "topic": np.array(self.topic, dtype=object),
            "score": self.score,
            "median": self.median,
            "best": self.best,
            "against median": self.score - self.median,
            "place": self.place,
        }


@dataclass(frozen=True)
class Results:
    """Everything that is computed from the runs that count and the judgments."""

    scores: Scores
    teams: Mapping[str, str]
    """{run: team}."""
    comparisons: Mapping[str, Comparison]
    """{measure: comparison of all pairs}, without those that cannot be compared."""
    not_compared: Mapping[str, str]
    """{measure: why its scores cannot be compared}."""
    notes: tuple[str, ...] = ()

    def measure_of(self, name: str | None) -> str:
        """One of the measures; the first if no name is given."""
        names = [str(measure) for measure in self.scores.measures]
        if not name:
            return names[0]
        if name not in names:
            raise nearest(name, names, "measure")
        return name

    def leaderboard(self, measure: str | None = None) -> Leaderboard:
        """The leaderboard by a measure."""
        name = self.measure_of(measure)
        board = Leaderboard.of(self.scores, name, self.teams, self.comparisons.get(name))
        return replace(board, notes=(*board.notes, *self.notes))

    def sheets(self, team: str, measure: str | None = None) -> list[Sheet]:
        """The sheets of the runs of a team."""
        name = self.measure_of(measure)
        return [Sheet.of(self.scores, name, run, owner) for run, owner in self.teams.items() if owner == team]


def score(campaign: Campaign) -> Results:
    """Score the runs that count with the judgments so far."""
    judged = campaign_judgments(campaign)
    if judged is None:
        raise NoResultsError("nothing is judged yet, so that there are no scores")
    runs = counting_runs(campaign)
    if not runs:
        raise NoResultsError("no run counts, so that there are no scores")
    measures = list(campaign.config.measures)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CranfieldWarning)
        scores = evaluate(judged.qrels, {run.name: run for run in runs}, measures, **judged.options)
        comparisons, not_compared = _compared(scores)
    warned = [str(one.message) for one in caught if issubclass(one.category, CranfieldWarning)]
    teams = {one.tag: one.team for one in campaign.submissions(counting=True)}
    return Results(scores, teams, comparisons, not_compared, tuple(dict.fromkeys([*judged.notes, *warned])))


def _compared(scores: Scores) -> tuple[dict[str, Comparison], dict[str, str]]:
    """The comparison of all pairs of runs by each measure, or why there is none."""
    comparisons: dict[str, Comparison] = {}
    reasons: dict[str, str] = {}
    for measure in map(str, scores.measures):
        if len(scores.runs) < 2 or len(scores.topics) < 2:
            are = f"{counted(len(scores.runs), 'run')} and {counted(len(scores.topics), 'judged topic')}"
            reasons[measure] = f"a comparison needs two or more runs and judged topics; there are {are}"
            continue
        try:
            comparisons[measure] = compare(scores, measure)
        except CranfieldError as error:
            reasons[measure] = str(error)
    return comparisons, reasons


class Scoreboard:
    """The results of now; computed again only after something has changed."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self._lock = threading.Lock()
        self._at: tuple[int, ...] = ()
        self._results: Results | None = None

    def results(self) -> Results:
        """The results with all judgments that are in the database."""
        with self._lock:
            now = self._state()
            if self._results is None or now != self._at:
                self._results, self._at = score(self.campaign), now
            return self._results

    def _state(self) -> tuple[int, ...]:
        read = self.campaign.store.database.read
        ((judged,),) = read("SELECT COALESCE(MAX(id), 0) FROM judgment")
        ((active,),) = read("SELECT COUNT(*) FROM assessor WHERE role = 'team' AND active = 1")
        return self.campaign.last_event(), int(judged), int(active)
