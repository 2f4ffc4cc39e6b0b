"""Sections of the report of runs that read more than runs: explained lists with texts, answers, logs and A/B tests."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from cranfield.building.serve.project.judging_project import read_documents
from cranfield.collection.source import PathLike
from cranfield.errors import CranfieldError, UsageError
from cranfield.evaluation.explanation import explain
from cranfield.evaluation.topic_sheet import deciding_topics
from cranfield.record import estimates, table_of
from cranfield.report.pages.report_parts import Block, Content, FigureBlock, TableBlock
from cranfield.report.reports import ab_report
from cranfield.report.reports.experiment import Experiment
from cranfield.report.tables import summary_table
from cranfield.table import Column
from cranfield.text import counted

MOST_ROWS = 20
MOST_LETTERS = 200
"""The most letters of a document that are shown beside its rank."""


def explained_section(experiment: Experiment) -> Content:
    """What each document adds to both scores, on the topics with the largest differences."""
    qrels, runs = experiment.need_runs()
    first, second = experiment.leaders
    decide = deciding_topics(experiment.scores[experiment.measure], first, second).columns()
    topics = [str(topic) for topic in decide["topic"][: experiment.settings.explained]]
    blocks: list[TableBlock] = []
    text = [
        f"How {experiment.measure} comes about on the topics with the largest differences between {first} and {second}"
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
                for name in (first, second)
            ]
        except CranfieldError as error:
            text.append(f"Topic {topic} is not shown: {error}.")
            continue
        both = explained[0].beside(explained[1])
        table = both.table()
        title = f"Topic {topic}: {first} {explained[0].score:.4f}, {second} {explained[1].score:.4f}"
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
    blocks: list[Block] = [TableBlock("answers", summary_table(scores, interval=level), data=scores.table())]
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
