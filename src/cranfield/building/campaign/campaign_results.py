"""Scores of the runs that count: the leaderboard, comparisons, and a sheet for each team."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.campaign.campaign_judgments import campaign_judgments, wins
from cranfield.building.campaign.campaign_pool import counting_runs
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.check import nearest
from cranfield.collection.run import Run
from cranfield.comparison.compare import compare
from cranfield.comparison.leaderboard import Leaderboard
from cranfield.comparison.result import Comparison
from cranfield.errors import CranfieldError, CranfieldWarning, UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.evaluation.same_rankings import same_rankings
from cranfield.measures.property_tables import lower_is_better
from cranfield.record import Record
from cranfield.scores.scores import Scores
from cranfield.text import counted
from cranfield.types import Array, Index64


class NoResultsError(UsageError):
    """There is nothing to score yet."""


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
    same: tuple[tuple[str, ...], ...] = ()
    """Runs with the same ranking, in groups."""
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
        board = Leaderboard.of(self.scores, name, self.teams, self.comparisons.get(name), same=self.same)
        return replace(board, notes=(*board.notes, *self.notes))

    def sheets(self, team: str, measure: str | None = None) -> list[Sheet]:
        """The sheets of the runs of a team."""
        name = self.measure_of(measure)
        return [Sheet.of(self.scores, name, run, owner) for run, owner in self.teams.items() if owner == team]


def score(campaign: Campaign) -> Results:
    """Score the runs that count with the judgments so far."""
    runs = counting_runs(campaign)
    if not runs:
        raise NoResultsError("no run counts, so that there are no scores")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CranfieldWarning)
        scores, notes = _scores(campaign, {run.name: run for run in runs})
        comparisons, not_compared = _compared(scores)
    warned = [str(one.message) for one in caught if issubclass(one.category, CranfieldWarning)]
    teams = {one.tag: one.team for one in campaign.submissions(counting=True)}
    same = same_rankings(scores, {run.name: run for run in runs}).groups
    return Results(scores, teams, comparisons, not_compared, same, tuple(dict.fromkeys([*notes, *warned])))


def _scores(campaign: Campaign, runs: dict[str, Run]) -> tuple[Scores, tuple[str, ...]]:
    """The scores of runs, and notes about the judgments."""
    if campaign.config.mode == "preferences":
        scores = wins(campaign, list(runs))
        if scores is not None:
            return scores, ("wins: the share of comparisons in which a list was preferred; a tie counts half",)
    else:
        judged = campaign_judgments(campaign)
        if judged is not None:
            return evaluate(judged.qrels, runs, list(campaign.config.measures), **judged.options), judged.notes
    raise NoResultsError("nothing is judged yet, so that there are no scores")


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
