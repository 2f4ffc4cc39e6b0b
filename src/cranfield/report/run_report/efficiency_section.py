"""Effectiveness beside seconds per query."""

from __future__ import annotations

from cranfield.errors import UsageError
from cranfield.report.figures import describe_efficiency
from cranfield.report.pages.report_parts import FigureBlock, Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.scores.efficiency import efficiency


def efficiency_section(experiment: Experiment) -> Section:
    """Runs that no other run beats in both are on the front."""
    if experiment.times is None:
        raise UsageError("no times of runs are known")
    result = efficiency(experiment.scores, experiment.times)
    figure = describe_efficiency(efficiency(experiment.scores[experiment.measure], experiment.times))
    text = "A run is on the front if no other run is at least as effective and as fast, and better in one of the two."
    table = TableBlock("efficiency", result.table(), tools=len(result.runs) > 20)
    return Section("efficiency", "Efficiency", (text,), (), (FigureBlock("front", figure), table))
