"""Which figure belongs to which result: `result.plot()` draws it."""

from __future__ import annotations

from typing import Any

from cranfield.errors import UsageError
from cranfield.report import figures
from cranfield.report.figures.figure import Figure

FIGURES = {
    "AASplits": "describe_aa_p_values",
    "ABPower": "describe_detectable",
    "Analysis": "describe_arm_effects",
    "Comparison": "describe_intervals",
    "Efficiency": "describe_efficiency",
    "GateHistory": "describe_gate_history",
    "JudgeConfusion": "describe_judge_confusion",
    "Merged": "describe_posterior_entropy",
    "PoweredIntervals": "describe_powered",
    "RunRanks": "describe_judge_ranks",
    "Scores": "describe_boxes",
    "TopicAgreement": "describe_topic_leniency",
    "TopicSheet": "describe_topics",
    "WorkerReport": "describe_worker_accuracy",
}
"""{name of a class of results: name of the function that describes its figure}."""


def figure_of(result: Any, **options: Any) -> Figure:
    """The figure of a result; `options` are those of the function that describes it.

    >>> from cranfield.scores.scores import Scores
    >>> figure_of(Scores.from_matrix([[0.2, 0.4], [0.3, 0.6]], runs=["a", "b"], measure="AP")).title
    'AP of 2 systems on 2 topics'
    """
    for kind in type(result).__mro__:
        if kind.__name__ in FIGURES:
            figure: Figure = getattr(figures, FIGURES[kind.__name__])(result, **options)
            return figure
    name = type(result).__name__
    raise UsageError(
        f"{name} has no figure of its own; cranfield.report.figures has functions for columns of numbers, and these "
        f"results have one: {', '.join(FIGURES)}"
    )
