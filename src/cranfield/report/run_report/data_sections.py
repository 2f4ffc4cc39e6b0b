"""Sections about the data: files with their digests, versions, rules and warnings; and are enough documents judged?"""

from __future__ import annotations

import numpy as np

from cranfield.building.pools.pool_coverage import pool_holes
from cranfield.collection.qrels import Qrels
from cranfield.errors import CranfieldError
from cranfield.evaluation.evaluator import as_measures
from cranfield.evaluation.missing_judgments import pool_bias_of
from cranfield.record import table_of
from cranfield.report.pages.file_digests import files_block
from cranfield.report.pages.report_parts import MADE_WITH, Block, Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.scores.score_text import all_notes
from cranfield.table import Cell, Column, Table
from cranfield.text import counted

TIE_RULES = {
    "z-a": "by document id, descending (as in trec_eval)",
    "a-z": "by document id, ascending",
    "file": "in the order of the file",
}
RULES = {"zero": "scored as an empty list", "skip": "left out of the mean of the run"}


def evaluated_section(experiment: Experiment) -> Section:
    """Counts, rules, warnings, and the digest of each file."""
    scores, options = experiment.scores, experiment.options
    facts: list[tuple[Cell, ...]] = [
        ("runs", f"{len(scores.runs):,}"),
        ("topics", f"{len(scores.topics):,}"),
        ("measures", ", ".join(scores.measures)),
    ]
    if experiment.qrels is not None:
        facts += _judgments(experiment.qrels)
    if experiment.runs:
        rule = options.order or "score if there are scores, else rank"
        facts.append(("order of documents", rule))
        facts.append(("documents with equal scores", TIE_RULES[options.ties]))
        facts.append(("scores compared as", f"{options.precision}-bit numbers"))
        facts.append(("a document twice in a list", options.on_duplicate))
    facts.append(("a judged topic that a run lacks", RULES.get(scores.missing_rule, scores.missing_rule)))
    facts.append(("made with", MADE_WITH))
    blocks = [TableBlock("evaluated", Table((Column("fact"), Column("value")), tuple(facts)), "Data and rules")]
    if experiment.files:
        blocks.append(files_block(experiment.files))
    notes = tuple(dict.fromkeys([*all_notes(scores), *experiment.warnings]))
    text = ("Warnings and notes of the evaluation:",) if notes else ("The evaluation gave no warnings.",)
    return Section("evaluated", "What was evaluated", text, notes, tuple(blocks))


def _judgments(qrels: Qrels) -> list[tuple[Cell, ...]]:
    values = qrels.values
    levels, counts = np.unique(values, return_counts=True)
    shown = ", ".join(f"{grade:g}: {count:,}" for grade, count in zip(levels[:12], counts[:12], strict=True))
    more = f" and {len(levels) - 12} more" if len(levels) > 12 else ""
    return [
        ("judgments", f"{len(values):,} of {counted(len(qrels.topics), 'topic')}"),
        ("judgments by grade", shown + more),
    ]


def judgments_section(experiment: Experiment) -> Section:
    """Holes of each run; with the depth of the pool, also the loss of each run without its own documents."""
    qrels, runs = experiment.need_runs()
    settings = experiment.settings
    topics = experiment.scores.topics
    holes = pool_holes(qrels, dict(runs), settings.cutoff, options=experiment.options, topics=topics)
    columns = holes.columns()
    place = {run: at for at, run in enumerate(experiment.board.run)}
    order = sorted(range(len(holes.runs)), key=lambda at: place.get(holes.runs[at], len(place)))
    table = table_of({name: column[order] for name, column in columns.items()}, notes=holes.notes)
    share = columns["unjudged"].sum() / max(columns["documents"].sum(), 1)
    text = [
        f"{share:.1%} of the first {settings.cutoff} documents of all lists are not judged. Measures count them as not "
        "relevant, so a run with many of them may be better than its score."
    ]
    title = f"Unjudged documents in the first {settings.cutoff}"
    blocks: list[Block] = [TableBlock("holes", table, title, tools=len(runs) > 20)]
    if settings.pool_depth is None:
        text.append("The bias of the pool was not computed: the depth of the pool is not known.")
    else:
        try:
            measures = as_measures(list(experiment.scores.measures))
            bias = pool_bias_of(qrels, runs, measures, depth=settings.pool_depth, groups=experiment.teams)
        except CranfieldError as error:
            text.append(f"The bias of the pool was not computed: {error}.")
        else:
            heads = (Column("run"), *(Column(name, "difference") for name in bias.measures))
            rows: tuple[tuple[Cell, ...], ...] = tuple(
                (run, *bias.mean(run).values()) for run in sorted(bias.runs, key=lambda run: place[run])
            )
            title = f"Loss of each run if its first {settings.pool_depth} documents had not been pooled"
            mean = ", ".join(f"{name} {value:+.4f}" for name, value in bias.mean().items())
            notes = (f"mean of all runs: {mean}", "a run that was not pooled may score too low by as much")
            blocks.append(TableBlock("pool_bias", Table(heads, rows, notes=notes), title, tools=len(runs) > 20))
    return Section("judgments", "Judgments", tuple(text), (), tuple(blocks))
