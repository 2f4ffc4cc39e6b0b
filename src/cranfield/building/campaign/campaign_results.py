"""How far a campaign is, its judgments as measures read them, and scores: leaderboard, comparisons, sheets of teams."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from cranfield.assessed.dimensions import RELEVANCE
from cranfield.building.campaign.campaign_config import WINS
from cranfield.building.campaign.campaign_store import SAMPLE, Campaign, counting_runs
from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.pool_samples import SampledQrels, join_pool
from cranfield.building.serve.project.exporting import (
    Triple,
    graded,
    graded_nuggets,
    graded_rows,
    intents_of_topics,
)
from cranfield.building.serve.project.judging_status import status
from cranfield.check import nearest
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.comparison.compare import compare
from cranfield.comparison.leaderboard import Leaderboard
from cranfield.comparison.result import Comparison
from cranfield.declared.operation import operation
from cranfield.errors import CranfieldError, CranfieldWarning, UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.evaluation.same_rankings import same_rankings
from cranfield.measures.property_tables import lower_is_better
from cranfield.record import Record, column
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Array, Index64

PLURALS = {"document": "documents", "pair of lists": "pairs of lists"}


@dataclass(frozen=True, eq=False, repr=False)
class CampaignStatus(Record):
    """The state of a campaign, with a row per team."""

    facts = ("name", "phase", "topics", "pool", "wanted", "judged")

    name: str
    phase: str
    topics: int
    pool: int
    """The documents of the pool; in the mode preferences, the pairs of lists to compare."""
    wanted: int
    judged: int
    """Judgments that are wanted in all, and those that are made."""
    team: Annotated[tuple[str, ...], column()]
    state: Annotated[tuple[str, ...], column()]
    submitted: Annotated[Index64, column()]
    counting: Annotated[Index64, column()]
    refused: Annotated[Index64, column()]
    """Files that were refused, because they broke a rule."""
    last: Annotated[tuple[str, ...], column("last run")]
    """The tag of the last submission."""
    notes: tuple[str, ...] = ()
    pooled: str = "document"
    """What the pool holds: documents, or pairs of lists."""

    def table(self) -> Table:
        """A row per team, and lines about the whole."""
        table = super().table()
        pool = counted(self.pool, self.pooled, PLURALS[self.pooled])
        judged = f"{self.judged:,} of {counted(self.wanted, 'judgment')} of {pool}"
        return Table(table.columns, table.rows, self.name, (f"phase: {self.phase}", judged, *self.notes))


@operation
def campaign_status(campaign: Campaign) -> CampaignStatus:
    """The state of a campaign."""
    state, teams, submissions = status(campaign.store), campaign.teams(), campaign.submissions()
    refused = [event.who for event in campaign.events() if event.what == "refused"]
    of = {team.name: [submission for submission in submissions if submission.team == team.name] for team in teams}
    ((topics,),) = campaign.store.database.read("SELECT COUNT(*) FROM topic")
    closed = campaign.config.closed(campaign.phase)
    rows = [
        (team.name, "active" if team.active else "off", len(own := of[team.name]),
         sum(submission.counts for submission in own), refused.count(team.name), own[-1].tag if own else "")
        for team in teams
    ]  # fmt: skip
    return CampaignStatus.of_rows(
        rows, name=campaign.config.name, phase=campaign.phase, topics=int(topics), pool=state.documents,
        wanted=state.wanted, judged=state.counted, notes=(closed,) if closed else (),
        pooled="pair of lists" if campaign.config.mode == "preferences" else "document",
    )  # fmt: skip


@dataclass(frozen=True)
class CampaignJudgments:
    """Judgments, and what `evaluate` needs with them."""

    qrels: Qrels
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def campaign_judgments(campaign: Campaign) -> CampaignJudgments | None:
    """The judgments so far; None if there are none."""
    if campaign.config.mode == "intents":
        return _by_part(campaign, "intent", dict(graded_rows(campaign.store)))
    if campaign.config.mode == "nuggets":
        return _by_part(campaign, "nugget", dict(graded_nuggets(campaign.store)))
    by_topic = by_document(dict(graded(campaign.store)))
    if not by_topic:
        return None
    if campaign.config.mode == "dimensions":
        judged = dict(graded_rows(campaign.store))
        others: dict[str, Any] = {
            name: by_document({(topic, doc): grade for (topic, doc, row), grade in judged.items() if row == name})
            for name in campaign.config.dimensions
            if name != RELEVANCE
        }
        return CampaignJudgments(Qrels.from_dict(by_topic), {"dimensions": others})
    if campaign.config.pool.samples and (sampled := sampled_judgments(campaign)) is not None:
        return CampaignJudgments(sampled.qrels(), notes=sampled.notes)
    return CampaignJudgments(Qrels.from_dict(by_topic))


def by_document(judged: Mapping[tuple[str, str], float]) -> dict[str, dict[str, float]]:
    """{topic: {document: grade}}."""
    by_topic: dict[str, dict[str, float]] = {}
    for (topic, doc), grade in judged.items():
        by_topic.setdefault(topic, {})[doc] = grade
    return by_topic


def _by_part(campaign: Campaign, kind: str, judged: Mapping[Triple, float]) -> CampaignJudgments | None:
    """Judgments by intent, or by nugget, which is read as an intent."""
    if not judged:
        return None
    lines = "".join(f"{topic} {part} {doc} {grade:g}\n" for (topic, doc, part), grade in judged.items())
    intents = intents_of_topics(campaign.store, kind)
    probabilities: dict[str, dict[str, float]] = {}
    types: dict[str, dict[str, str]] = {}
    for topic, intent, probability, kind in intents.rows:
        probabilities.setdefault(topic, {})[intent] = probability
        types.setdefault(topic, {})[intent] = kind
    options = {"intent_probabilities": probabilities, "intent_types": types}
    return CampaignJudgments(Qrels.of(lines.encode(), format="diversity"), options, intents.notes)


def sampled_judgments(campaign: Campaign) -> SampledQrels | None:
    """The sample with the judgments so far; drawn documents that are not judged yet count as not drawn."""
    kept = campaign.store.fact(SAMPLE)
    if kept is None:
        return None
    return join_pool(Pool.parse(kept, "sample"), by_document(dict(graded(campaign.store))), partial=True)


def wins(campaign: Campaign, runs: Sequence[str]) -> Scores | None:
    r"""The share of comparisons that each run wins on each topic; None if nothing is judged.

    .. math:: \text{wins} = \frac{\text{preferred} + \text{ties} / 2}{\text{comparisons}}

    Every judgment of every assessor is a comparison. A run without any on a topic has NaN there. Comparisons with runs
    that do not count any more are left out.
    """
    topics = campaign.store.topic_ids()
    row, column = ({name: at for at, name in enumerate(names)} for names in (runs, topics))
    won, made = np.zeros((len(runs), len(topics))), np.zeros((len(runs), len(topics)))
    for topic, payload in campaign.store.database.read(
        "SELECT topic, payload FROM current_qrels WHERE payload IS NOT NULL ORDER BY topic, doc, assessor"
    ):
        said = json.loads(payload)
        if said["first"] not in row or said["second"] not in row:
            continue
        for side in ("first", "second"):
            place = row[said[side]], column[topic]
            made[place] += 1
            won[place] += {side: 1.0, "tie": 0.5}.get(said["preferred"], 0.0)
    judged = np.flatnonzero(made.sum(axis=0))
    if not len(judged):
        return None
    shares = np.divide(won, made, out=np.full_like(won, np.nan), where=made > 0)
    return Scores([WINS], runs, [topics[at] for at in judged.tolist()], shares[None, :, judged])


class NoResultsError(UsageError):
    """There is nothing to score yet."""


@dataclass(frozen=True, eq=False, repr=False)
class Sheet(Record):
    """A run topic by topic, against the median and the best of all runs that count."""

    facts = ("run", "team", "measure")

    run: str
    team: str
    measure: str
    topic: Annotated[tuple[str, ...], column()]
    score: Annotated[Array, column()]
    median: Annotated[Array, column()]
    best: Annotated[Array, column()]
    against_median: Annotated[Array, column()]
    place: Annotated[Index64, column()]
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
        return Sheet(
            run, team, measure, tuple(scores.topics), own, median, best, against_median=own - median, place=place
        )


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
    warned = [str(warning.message) for warning in caught if issubclass(warning.category, CranfieldWarning)]
    teams = {submission.tag: submission.team for submission in campaign.submissions(counting=True)}
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
