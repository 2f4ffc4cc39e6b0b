"""Sections about topics: a heat map, the hardest topics, and the lists of the two best runs where they differ most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.errors import CranfieldError
from cranfield.evaluation.explanation import explain
from cranfield.measures.property_tables import lower_is_better
from cranfield.record import table_of
from cranfield.report.figures import describe_differences, describe_heat
from cranfield.report.pages.report_parts import Block, FigureBlock, Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.scores.topic_sheet import deciding_topics, topic_sheet
from cranfield.table import Column, Table

MOST_TOPICS = 150
"""The most topics in a figure; with more, those on which runs differ most."""
MOST_RUNS = 150


def topics_section(experiment: Experiment) -> Section:
    """The heat map is by rank and difficulty: the best runs above, the hardest topics on the left."""
    scores, measure = experiment.scores[experiment.measure], experiment.measure
    sheet = topic_sheet(scores, topics=experiment.topics)
    blocks: list[Block] = []
    text = [
        f"{measure} of every run on every topic: the best runs above, the hardest topics (by the median of all runs) "
        "on the left."
    ]
    hardest = [str(topic) for topic in sheet.columns()["topic"]]
    shown = hardest
    if len(hardest) > MOST_TOPICS:
        spread = dict(zip(hardest, np.nan_to_num(sheet.columns()["spread"]).tolist(), strict=True))
        chosen = set(sorted(hardest, key=lambda topic: -spread[topic])[:MOST_TOPICS])
        shown = [topic for topic in hardest if topic in chosen]
        text.append(f"The figure has the {MOST_TOPICS} of {len(hardest):,} topics on which runs differ most.")
    runs = list(experiment.board.run)
    if len(runs) > MOST_RUNS:
        text.append(f"The figure has the {MOST_RUNS} best of {len(runs):,} runs.")
    by_run = dict(zip(scores.runs, scores.values[0], strict=True))
    column = {topic: at for at, topic in enumerate(scores.topics)}
    matrix = np.stack([by_run[run] for run in runs])
    picked = matrix[:MOST_RUNS][:, [column[topic] for topic in shown]]
    data = Table(
        (Column("topic"), *(Column(run, "number") for run in runs)),
        tuple((topic, *matrix[:, column[topic]].tolist()) for topic in hardest),
        digits=6,
    )
    if not np.isnan(picked).all():
        title = f"{measure} by run and topic" + (" (lower is better)" if lower_is_better(measure) else "")
        blocks.append(
            FigureBlock("topics", describe_heat(picked, runs[:MOST_RUNS], shown, what=measure, title=title), data)
        )
    blocks.append(TableBlock("hardest_topics", sheet.table(), "Topics, the hardest first", tools=len(hardest) > 20))
    try:
        first, second = experiment.leaders
        decide = deciding_topics(scores, first, second, topics=experiment.topics)
        blocks.append(FigureBlock("differences", describe_differences(scores, (first, second))))
        title = f"Topics that decide between {first} and {second}"
        blocks.append(TableBlock("deciding_topics", decide.table(), title, data=table_of(decide.columns())))
    except CranfieldError as error:
        text.append(f"Not shown: the topics that decide between two runs ({error}).")
    return Section("topics", "Topics", tuple(text), (), tuple(blocks))


MOST_ROWS = 20


def explained_section(experiment: Experiment) -> Section:
    """What each document adds to both scores, on the topics with the largest differences."""
    qrels, runs = experiment.need_runs()
    first, second = experiment.leaders
    decide = deciding_topics(experiment.scores[experiment.measure], first, second).columns()
    topics = [str(topic) for topic in decide["topic"][: experiment.settings.explained]]
    blocks: list[Block] = []
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
    return Section("explain", "Explained topics", tuple(text), (), tuple(blocks))
