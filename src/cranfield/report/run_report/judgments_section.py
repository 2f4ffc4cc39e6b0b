"""Are the judgments complete enough? Unjudged documents at the top, and the bias of the pool."""

from __future__ import annotations

from cranfield.building.pools.pool_coverage import pool_holes
from cranfield.errors import CranfieldError
from cranfield.evaluation.evaluator import as_measures
from cranfield.evaluation.missing_judgments import pool_bias_of
from cranfield.record import table_of
from cranfield.report.pages.report_parts import Block, Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.table import Cell, Column, Table


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
