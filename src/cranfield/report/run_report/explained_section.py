"""The lists of the two best runs, side by side, on the topics that decide between them."""

from __future__ import annotations

from dataclasses import replace

from cranfield.errors import CranfieldError
from cranfield.evaluation.explanation import explain
from cranfield.report.pages.report_parts import Block, Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.scores.topic_sheet import deciding_topics

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
