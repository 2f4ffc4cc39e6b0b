"""The report of runs, from judgments and runs or from scores: its sections, chosen by name."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from cranfield.building.serve.project.judging_project import read_documents
from cranfield.collection.accepted_inputs import QrelsLike, RunsLike, TopicsLike
from cranfield.collection.column_names import ColumnNames, named_columns
from cranfield.collection.grade_labels import named_grades
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Belongs, Run
from cranfield.collection.source import PathLike
from cranfield.collection.topics import topics_of
from cranfield.comparison.leaderboard import teams_of_runs
from cranfield.errors import CranfieldError, NotedWarning, SameRunWarning, UsageError
from cranfield.evaluation.evaluator import MeasureLike, evaluate
from cranfield.evaluation.explanation import explain
from cranfield.evaluation.runs_or_scores import ScoresInput, inputs_in, scores_of
from cranfield.evaluation.same_rankings import runs_by_name
from cranfield.evaluation.topic_sheet import deciding_topics
from cranfield.online.experiments.ab_record import Analysis
from cranfield.online.log_measures.measured_log import LogMeasures
from cranfield.record import estimates, table_of
from cranfield.report.pages.report_parts import (
    Block,
    Content,
    Drawing,
    FigureBlock,
    Outline,
    Part,
    Report,
    Section,
    TableBlock,
    report_of,
)
from cranfield.report.reports import ab_report
from cranfield.report.reports.citations import methods_section
from cranfield.report.reports.experiment import Experiment, ReportSettings
from cranfield.report.reports.run_sections import (
    curves_section,
    efficiency_section,
    evaluated_section,
    judgments_section,
    leaderboard_section,
    measures_section,
    pairs_section,
    summary_section,
    topics_section,
)
from cranfield.report.tables import summary_table
from cranfield.scores.efficiency import Times, read_times
from cranfield.scores.scores import Scores
from cranfield.table import Column
from cranfield.text import counted

MOST_ROWS = 20
MOST_LETTERS = 200
"""The most letters of a document that are shown beside its rank."""


def explained_section(experiment: Experiment) -> Content:
    """What each document adds to both scores, on the topics with the largest differences."""
    qrels, runs = experiment.need_runs()
    best, first = experiment.leaders
    decide = deciding_topics(experiment.scores[experiment.measure], best, first).columns()
    topics = [str(topic) for topic in decide["topic"][: experiment.settings.explained]]
    blocks: list[TableBlock] = []
    text = [
        f"How {experiment.measure} comes about on the topics with the largest differences between {first} and {best}"
        ": which documents moved from the first to the second, and what each adds to both scores."
    ]
    for number, topic in enumerate(topics):
        try:
            explained = [
                explain(
                    qrels,
                    runs[name],
                    topic,
                    experiment.measure,
                    options=experiment.options,
                    topics=experiment.topics,
                    name=name,
                )
                for name in (first, best)
            ]
        except CranfieldError as error:
            text.append(f"Topic {topic} is not shown: {error}.")
            continue
        both = explained[0].beside(explained[1])
        table = both.table()
        title = f"Topic {topic}: {first} {explained[0].score:.4f}, {best} {explained[1].score:.4f}"
        notes = (*both.about_topic(), *table.notes)
        if len(table.rows) > MOST_ROWS:
            notes = (*notes, f"the first {MOST_ROWS} of {len(table.rows):,} rows; the CSV file has all")
        shown = replace(table, rows=table.rows[:MOST_ROWS], caption="", notes=notes)
        blocks.append(TableBlock(f"explained_{number + 1}", shown, title, data=both.all_rows()))
    if experiment.documents is not None:
        blocks = _with_documents(blocks, experiment.documents)
    return Content(text, blocks=blocks)


def _with_documents(blocks: list[TableBlock], path: PathLike) -> list[TableBlock]:
    """Tables of documents with the title and the beginning of each beside its name."""
    texts = document_beginnings(path, {str(row[0]) for block in blocks for row in block.table.rows})
    shown = []
    for block in blocks:
        rows = tuple((row[0], texts.get(str(row[0]), ""), *row[1:]) for row in block.table.rows)
        columns = (block.table.columns[0], Column("document"), *block.table.columns[1:])
        shown.append(replace(block, table=replace(block.table, columns=columns, rows=rows)))
    return shown


def document_beginnings(path: PathLike, wanted: Collection[str]) -> dict[str, str]:
    """{document: its title, and the beginning of its text}, of those that are wanted."""
    beginnings = {}
    for document in read_documents(path):
        if document.id in wanted:
            whole = ": ".join(filter(None, (document.title, " ".join(document.text.split()))))
            cut = whole[:MOST_LETTERS].rsplit(" ", 1)[0] + " …"
            beginnings[document.id] = whole if len(whole) <= MOST_LETTERS else cut
    return beginnings


def answers_section(experiment: Experiment) -> Content:
    """The means of all measures of answers, and the spread of the first over topics."""
    scores = experiment.answers
    if scores is None:
        raise UsageError("there are no scores of answers")
    text = f"{counted(len(scores.runs), 'system')} that answer, on {counted(len(scores.topics), 'topic')}."
    level = experiment.settings.level if len(scores.topics) > 1 else None
    blocks: list[Block] = [TableBlock("answers", summary_table(scores, level=level), data=scores.table())]
    with suppress(CranfieldError):  # no system has a score: the table says so
        blocks.insert(0, FigureBlock("answers_by_topic", replace(scores.plot(), notes=())))
    return Content((text,), blocks=blocks)


def log_section(experiment: Experiment) -> Content:
    """Online measures by day."""
    measured = experiment.log
    if measured is None:
        raise UsageError("there is no log")
    blocks: list[Block] = []
    with suppress(CranfieldError):  # a single day has no figure
        blocks.append(FigureBlock("log_by_day", replace(measured.plot(measure=measured.measures[0]), notes=())))
    # A row per day and measure: with a column per measure, the table would be wider than a page.
    columns = measured.columns()
    shown = {name: columns[name] for name in (*measured.by, "measure")}
    shown["value"] = estimates(columns["value"], columns["low"], columns["high"])
    shown |= {name: columns[name] for name in ("unit", "users")}
    blocks.append(TableBlock("log", table_of(shown, notes=measured.notes), data=table_of(columns), tools=True))
    return Content(("Online measures of the log, by day, with intervals over users.",), blocks=blocks)


def ab_section(experiment: Experiment) -> Content:
    """The verdict of the experiment, and its effects."""
    if experiment.ab is None:
        raise UsageError("there is no A/B test")
    verdict, effects = ab_report.verdict_section(experiment.ab), ab_report.effects_section(experiment.ab)
    return Content(verdict.text, verdict.points, [replace(block, name=f"ab_{block.name}") for block in effects.blocks])


def make_report(experiment: Experiment, outline: Outline | None = None, drawing: Drawing | None = None) -> Report:
    """The report of an experiment, ready for `report_page`.

    Without a choice of sections, it has all for which there is data. A section that cannot be made, for example because
    there is one run, says why.

    >>> from cranfield.scores.scores import Scores
    >>> scores = Scores.from_matrix([[0.5, 0.9], [0.4, 0.8], [0.6, 0.8]], runs=["x", "y"], measure="AP")
    >>> report = make_report(Experiment(scores), Outline(sections=("summary",)))
    >>> report.sections[0].points[0]
    'y is the best of 2 runs by AP: 0.8333 (95% interval 0.3311 to 0.9374) on 3 topics.'
    """
    scores = experiment.scores
    lead = (
        f"{counted(len(scores.runs), 'run')} on {counted(len(scores.topics), 'topic')}, ranked by {experiment.measure}"
    )
    report = report_of(SECTIONS, experiment, "Evaluation report", lead, outline, drawing)
    if any(section.key == "evaluated" for section in report.sections):
        # It has the notes of the evaluation, which need not be below every table.
        notes = frozenset(scores.notes)
        report = replace(report, sections=tuple(_without_notes(section, notes) for section in report.sections))
    return report


def _without_notes(section: Section, notes: frozenset[str]) -> Section:
    """The section without these notes below its tables and figures."""
    blocks: list[Block] = []
    for block in section.blocks:
        if isinstance(block, TableBlock):
            kept = tuple(note for note in block.table.notes if note not in notes)
            block = replace(block, table=replace(block.table, notes=kept))
        elif isinstance(block, FigureBlock):
            kept = tuple(note for note in block.figure.notes if note not in notes)
            block = replace(block, figure=replace(block.figure, notes=kept))
        blocks.append(block)
    return replace(section, blocks=tuple(blocks))


def _has_runs(experiment: Experiment) -> bool:
    return bool(experiment.runs)


SECTIONS = {
    "summary": Part("In short", summary_section),
    "leaderboard": Part("Leaderboard", leaderboard_section),
    "pairs": Part("Pairs of runs", pairs_section),
    "topics": Part("Topics", topics_section),
    "explain": Part("Explained topics", explained_section, _has_runs),
    "curves": Part("Curves", curves_section, _has_runs),
    "measures": Part("Measures", measures_section),
    "judgments": Part("Judgments", judgments_section, _has_runs),
    "efficiency": Part("Efficiency", efficiency_section, lambda experiment: experiment.times is not None),
    "answers": Part("Answers", answers_section, lambda experiment: experiment.answers is not None),
    "log": Part("Live traffic", log_section, lambda experiment: experiment.log is not None),
    "ab": Part("A/B test", ab_section, lambda experiment: experiment.ab is not None),
    "methods": Part("Methods", methods_section),
    "evaluated": Part("Data, rules and files", evaluated_section),
}
"""The sections, in the order of the page."""


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
    columns: ColumnNames | None = None,
    grades: Mapping[str, float] | None = None,
) -> Report:
    """A page about an evaluation: leaderboard, pairs, topics, explained lists, judgments, methods.

    The first measure ranks the runs. With scores in place of judgments and runs, the sections that need runs are left
    out. `save` writes the page, a single HTML file that works offline. `answers` are scores of answers, `log` and `ab`
    the results of `measure_log` and `analyse`; `columns` and `grades` are those of `evaluate`. The other parameters are
    the options of `cranfield report`.

    >>> scores = {"x": {"1": 0.5, "2": 0.4, "3": 0.6}, "y": {"1": 0.9, "2": 0.8, "3": 0.8}}
    >>> page = report(scores, sections=["summary"])
    >>> page.sections[0].points[0]
    'y is the best of 2 runs by score: 0.8333 (95% interval 0.3311 to 0.9374) on 3 topics.'
    """
    settings = ReportSettings(test, correction, alpha, level, resamples, seed, cutoff, pool_depth, explained, baseline)
    judgments: Qrels | None = None
    by_name: Mapping[str, Run] = {}
    with named_columns(columns), named_grades(grades), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", SameRunWarning)  # the leaderboard names these runs
        if isinstance(qrels, Scores) or inputs_in((qrels, runs)) < 2:
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
