"""Precision against recall of the best runs."""

from __future__ import annotations

from cranfield.assessed.join import join
from cranfield.measures.curves import interpolated_precision
from cranfield.report.figures import describe_curves
from cranfield.report.pages.report_parts import FigureBlock, Section
from cranfield.report.run_report.experiment import Experiment
from cranfield.text import counted

MOST_CURVES = 8
"""More lines could not be told apart."""


def curves_section(experiment: Experiment) -> Section:
    """Mean interpolated precision at eleven points of recall."""
    qrels, runs = experiment.need_runs()
    best = {run: runs[run] for run in experiment.board.run[:MOST_CURVES]}
    figure = describe_curves(interpolated_precision(join(qrels, best, experiment.options)))
    shown = f"the {MOST_CURVES} best of {len(runs):,} runs" if len(runs) > MOST_CURVES else counted(len(runs), "run")
    text = (
        f"Interpolated precision against recall, of {shown} by {experiment.measure}. Documents of grade 1 or more are "
        "relevant."
    )
    return Section("curves", "Curves", (text,), (), (FigureBlock("curves", figure, figure.table()),))
