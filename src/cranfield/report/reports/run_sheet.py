"""The sheet of a run, as a track sends it to a team: its score on every topic beside the best, median and worst run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from cranfield import __version__
from cranfield.collection.accepted_inputs import TopicsLike
from cranfield.evaluation.topic_sheet import topic_sheet
from cranfield.measures.property_tables import lower_is_better
from cranfield.report.pages.report_parts import Block, FigureBlock, Report, Section, TableBlock
from cranfield.scores.scores import Scores
from cranfield.text import counted

MOST_TOPICS = 250
"""With more topics there is no figure; the table has them all."""


def run_sheet(scores: Scores, run: str, topics: TopicsLike | None = None) -> Report:
    """The sheet of a run among all runs, ready for `report_page`; a section for each measure.

    >>> scores = Scores.from_matrix([[0.5, 0.9], [0.4, 0.8]], runs=["x", "y"], topics=["1", "2"], measure="AP")
    >>> run_sheet(scores, "x").sections[0].text
    ('Mean AP 0.4500, rank 2 of 2 runs; at or above the median on 0 of 2 topics.',)
    """
    sections = []
    for number, measure in enumerate(scores.measures, 1):
        of_measure = scores[measure]
        sheet = topic_sheet(of_measure, run=run, topics=topics)
        columns, means = sheet.columns(), of_measure.means()[0]
        sign = -1.0 if lower_is_better(measure) else 1.0
        mean = means[scores.runs.index(run)]
        rank = 1 + int((sign * means > sign * mean).sum())
        above = int((sign * columns["− median"] >= 0).sum())
        text = (
            f"Mean {measure} {mean:.4f}, rank {rank} of {counted(len(scores.runs), 'run')}; at or above the median on "
            f"{above} of {counted(len(columns['topic']), 'topic')}."
        )
        blocks: list[Block] = []
        if len(columns["topic"]) <= MOST_TOPICS:
            blocks.append(FigureBlock(f"sheet_{number}", replace(sheet.plot(), notes=())))
        blocks.append(TableBlock(f"topics_{number}", replace(sheet.table(), caption=""), tools=True, printed=None))
        sections.append(Section(f"measure-{number}", measure, (text,), blocks=tuple(blocks)))
    lead = f"one of {counted(len(scores.runs), 'run')} on {counted(len(scores.topics), 'topic')}"
    return Report(f"Run {run}", tuple(sections), lead, footer=f"Made by cranfield {__version__}.")


def sheet_files(runs: Iterable[str]) -> dict[str, str]:
    """{run: the name of the file of its sheet}, without signs that are not allowed in names of files.

    >>> sheet_files(["bm25", "a/b", "a b"])
    {'bm25': 'bm25.html', 'a/b': 'a_b.html', 'a b': 'a_b_2.html'}
    """
    names: dict[str, str] = {}
    for run in runs:
        stem = re.sub(r"[^\w.+-]+", "_", run).lstrip(".") or "run"
        name, number = stem, 1
        while f"{name}.html".casefold() in {other.casefold() for other in names.values()}:
            number += 1
            name = f"{stem}_{number}"
        names[run] = f"{name}.html"
    return names
