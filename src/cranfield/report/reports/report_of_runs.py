"""`report`: one page about an evaluation, from judgments and runs or from scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cranfield.collection.accepted_inputs import QrelsLike, RunsLike, TopicsLike
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Belongs, Run
from cranfield.collection.source import PathLike
from cranfield.collection.topics import topics_of
from cranfield.comparison.leaderboard import teams_of_runs
from cranfield.errors import NotedWarning, SameRunWarning, UsageError
from cranfield.evaluation.evaluator import MeasureLike, evaluate
from cranfield.evaluation.runs_or_scores import ScoresInput, inputs_in, scores_of
from cranfield.evaluation.same_rankings import runs_by_name
from cranfield.online.experiments.ab_record import Analysis
from cranfield.online.log_measures.measured_log import LogMeasures
from cranfield.report.pages.report_parts import Outline, Report
from cranfield.report.reports.experiment import Experiment, ReportSettings
from cranfield.report.reports.run_report import make_report
from cranfield.scores.efficiency import Times, read_times

MEASURES = "nDCG@10,AP,RR,P@10"


def report(
    qrels: QrelsLike | ScoresInput,
    runs: RunsLike | MeasureLike | None = None,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    title: str = "",
    sections: Sequence[str] = (),
    teams: Belongs | None = None,
    times: Times | None = None,
    topics: TopicsLike | None = None,
    docs: PathLike | None = None,
    baseline: str | None = None,
    answers: ScoresInput | None = None,
    log: LogMeasures | None = None,
    ab: Analysis | None = None,
    test: str = "t",
    correction: str | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    cutoff: int = 10,
    pool_depth: int | None = None,
    explained: int = 3,
) -> Report:
    """A page about an evaluation: leaderboard, pairs, topics, explained lists, judgments, methods.

    The first measure ranks the runs. With scores in place of judgments and runs, the sections that need runs are left
    out. `save` writes the page, a single HTML file that works offline. `answers` are scores of answers, `log` and `ab`
    the results of `measure_log` and `analyse`. The other parameters are the options of `cranfield report`.

    >>> scores = {"x": {"1": 0.5, "2": 0.4, "3": 0.6}, "y": {"1": 0.9, "2": 0.8, "3": 0.8}}
    >>> page = report(scores, sections=["summary"])
    >>> page.sections[0].points[0]
    'y is the best of 2 runs by score: 0.8333 (95% interval 0.3311 to 0.9374) on 3 topics.'
    """
    settings = ReportSettings(test, correction, alpha, level, resamples, seed, cutoff, pool_depth, explained, baseline)
    judgments: Qrels | None = None
    by_name: Mapping[str, Run] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", SameRunWarning)  # the leaderboard names these runs
        if inputs_in((qrels, runs)) < 2:
            given: Any = runs if measures is None else measures
            scores = scores_of(qrels, "report")
            scores = scores if given is None else scores.select(measures=given)
        else:
            collection: Any = qrels
            if isinstance(collection, Mapping) and not collection:
                raise UsageError("report: there are no judgments")
            judgments = Qrels.of(collection)
            lists: Any = runs
            scores = evaluate(judgments, lists, MEASURES if measures is None else measures)
            by_name = {name: Run.of(run) for name, run in runs_by_name(scores, lists).items()}
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    of_run = None if teams is None else teams_of_runs(teams, scores.runs)[0]
    experiment = Experiment(
        scores,
        judgments,
        by_name,
        settings=settings,
        teams=None if of_run is None else {run: team for run, team in of_run.items() if team},
        times=times if times is None or isinstance(times, Mapping) else read_times(times),
        topics=None if topics is None else topics_of(topics),
        documents=docs,
        answers=None if answers is None else scores_of(answers, "report"),
        log=log,
        ab=ab,
        warnings=tuple(
            dict.fromkeys(str(each.message) for each in caught if not issubclass(each.category, NotedWarning))
        ),
    )
    return make_report(experiment, Outline(title=title, sections=tuple(sections)))
