"""What a report is made of: scores, and where there are any, judgments, runs and times. Each result is made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cranfield.assessed.join_options import JoinOptions
from cranfield.check import nearest
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Belongs, Run
from cranfield.collection.source import PathLike
from cranfield.comparison.compare import compare
from cranfield.comparison.leaderboard import Leaderboard, leaderboard_of
from cranfield.comparison.result import Comparison
from cranfield.errors import CranfieldError, UsageError
from cranfield.evaluation.same_rankings import SameRankings, same_rankings
from cranfield.online.experiments.ab_record import Analysis
from cranfield.online.log_measures.measured_log import LogMeasures
from cranfield.scores.efficiency import Times
from cranfield.scores.scores import Scores


@dataclass(frozen=True)
class ReportSettings:
    """The settings of the tests, and how much a report shows."""

    test: str = "t"
    correction: str | None = None
    alpha: float = 0.05
    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0
    cutoff: int = 10
    """Unjudged documents are counted down to this rank of each list."""
    pool_depth: int | None = None
    """The first documents of each run that were judged; without it, the bias of the pool is not computed."""
    explained: int = 3
    """The number of topics whose lists are shown rank by rank."""
    baseline: str | None = None
    """The run that all others are compared with; None: all pairs are compared."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """The scores of runs, and what is known about them. The first measure ranks the runs."""

    scores: Scores
    qrels: Qrels | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    """{name: run}; empty if only scores are known."""
    options: JoinOptions = field(default_factory=JoinOptions)
    settings: ReportSettings = field(default_factory=ReportSettings)
    teams: Belongs | None = None
    times: Times | None = None
    topics: Any = None
    """A file of topics, `Topics` or {topic: query}, for the texts of topics."""
    documents: PathLike | None = None
    """The titles and texts of documents, as the judging server reads them."""
    answers: Scores | None = None
    """Scores of answers, as the measures of `cranfield.answers` give them."""
    log: LogMeasures | None = None
    """Online measures of a log, by day."""
    ab: Analysis | None = None
    """An experiment with users."""
    files: tuple[tuple[str, str], ...] = ()
    """(what it holds, path) of every file that was read."""
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.scores.runs or not self.scores.topics:
            raise UsageError("report: there are no scores; give at least one run and one judged topic")
        if (baseline := self.settings.baseline) is not None and baseline not in self.scores.runs:
            raise nearest(baseline, list(self.scores.runs), "run")

    @property
    def measure(self) -> str:
        """The measure that ranks the runs."""
        return self.scores.measures[0]

    @cached_property
    def same(self) -> SameRankings:
        """Runs that are the same under several names."""
        return same_rankings(self.scores, self.runs, self.options.order, self.options.ties)

    @cached_property
    def comparison(self) -> Comparison:
        """All pairs of runs by the first measure, or with a baseline those of it and each other run."""
        return self.all_pairs if self.settings.baseline is None else self._compared(self.settings.baseline)

    @cached_property
    def all_pairs(self) -> Comparison:
        """All pairs of runs, by the first measure."""
        return self._compared(None)

    def _compared(self, baseline: str | None) -> Comparison:
        if len(self.scores.runs) < 2:
            raise UsageError("there is one run, so there are no pairs to compare")
        s = self.settings
        return compare(
            self.scores, self.measure, test=s.test, correction=s.correction, alpha=s.alpha, resamples=s.resamples,
            seed=s.seed, baseline=baseline,
        )  # fmt: skip

    @cached_property
    def board(self) -> Leaderboard:
        """The leaderboard by the first measure."""
        s = self.settings
        try:
            comparison = self.all_pairs
        except CranfieldError:
            comparison = None  # a note of the leaderboard says why
        return leaderboard_of(
            self.scores, self.measure, teams=self.teams, same=self.same, level=s.level, test=s.test,
            correction=s.correction, alpha=s.alpha, comparison=comparison, resamples=s.resamples, seed=s.seed,
        )  # fmt: skip

    @cached_property
    def leaders(self) -> tuple[str, str]:
        """The best run, and the next one that has other scores; with a baseline, the best of the others and it."""
        first, *others = [run for run in self.board.run if run != self.settings.baseline]
        if self.settings.baseline is not None:
            others = [self.settings.baseline]
        values = dict(zip(self.scores.runs, self.scores[self.measure].values[0].tolist(), strict=True))
        for other in others:
            if values[other] != values[first]:
                return first, other
        raise UsageError("there are no two runs with different scores, so no topic decides between them")

    def need_runs(self) -> tuple[Qrels, Mapping[str, Run]]:
        """The judgments and the runs; an error if only scores are known."""
        if self.qrels is None or not self.runs:
            raise UsageError("this needs judgments and runs, and only scores are known")
        return self.qrels, self.runs
