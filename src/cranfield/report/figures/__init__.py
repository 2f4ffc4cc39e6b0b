"""Figures: `describe_*` functions return a `Figure`, which is data; its methods draw it with altair and save it.

>>> from cranfield.report.figures import describe_boxes
>>> figure = describe_boxes({"bm25": [0.1, 0.2, 0.3, 0.4, 0.9], "dense": [0.3, 0.4, 0.4, 0.5, 0.6]}, "AP")
>>> figure.title
'AP of 2 systems on 5 topics'

`figure.save("boxes.html")` writes a self-contained page; .svg, .pdf, .png, .json and .csv also work.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.report.figures.describe.assessor_figures import describe_assessor_agreement
    from cranfield.report.figures.describe.box_plots import describe_boxes
    from cranfield.report.figures.describe.build_means import describe_gate_history
    from cranfield.report.figures.describe.click_figures import describe_click_parameters, describe_click_perplexity
    from cranfield.report.figures.describe.discovery_curves import describe_discovery
    from cranfield.report.figures.describe.diversity_plane import describe_diversity
    from cranfield.report.figures.describe.efficiency_front import describe_efficiency
    from cranfield.report.figures.describe.experiment_figures import (
        describe_aa_p_values,
        describe_arm_effects,
        describe_detectable,
    )
    from cranfield.report.figures.describe.grids import (
        describe_axioms,
        describe_concordance,
        describe_correlations,
        describe_heat,
    )
    from cranfield.report.figures.describe.interaction import describe_interaction
    from cranfield.report.figures.describe.judge_figures import (
        describe_judge_confusion,
        describe_judge_ranks,
        describe_powered,
        describe_topic_leniency,
    )
    from cranfield.report.figures.describe.measure_curves import describe_asl, describe_robustness, describe_swap_rates
    from cranfield.report.figures.describe.measure_intervals import describe_agreement, describe_informativeness
    from cranfield.report.figures.describe.merged_labels import (
        describe_posterior_entropy,
        describe_worker_accuracy,
        describe_worker_confusion,
    )
    from cranfield.report.figures.describe.method_ranks import describe_method_ranks
    from cranfield.report.figures.describe.online_measures import describe_log_measure, describe_reliability
    from cranfield.report.figures.describe.online_winners import describe_online_agreement
    from cranfield.report.figures.describe.power_curves import describe_power
    from cranfield.report.figures.describe.precision_recall import describe_curves, describe_precision_recall
    from cranfield.report.figures.describe.preference_figures import describe_interleaving_power, describe_preferences
    from cranfield.report.figures.describe.rank_changes import describe_rank_changes
    from cranfield.report.figures.describe.reproduction_plots import describe_alike, describe_effects
    from cranfield.report.figures.describe.session_figure import describe_sessions
    from cranfield.report.figures.describe.spacing import describe_spacing
    from cranfield.report.figures.describe.system_intervals import describe_intervals, describe_levels
    from cranfield.report.figures.describe.text_read import describe_trailtext
    from cranfield.report.figures.describe.topic_differences import describe_differences
    from cranfield.report.figures.describe.topic_ranges import describe_topics
    from cranfield.report.figures.describe.variance_bars import describe_components
    from cranfield.report.figures.figure import Axis, Figure, Reference

HOMES = {
    "describe.assessor_figures": ("describe_assessor_agreement",),
    "describe.box_plots": ("describe_boxes",),
    "describe.build_means": ("describe_gate_history",),
    "describe.click_figures": (
        "describe_click_parameters",
        "describe_click_perplexity",
    ),
    "describe.discovery_curves": ("describe_discovery",),
    "describe.diversity_plane": ("describe_diversity",),
    "describe.efficiency_front": ("describe_efficiency",),
    "describe.experiment_figures": (
        "describe_aa_p_values",
        "describe_arm_effects",
        "describe_detectable",
    ),
    "describe.grids": (
        "describe_axioms",
        "describe_concordance",
        "describe_correlations",
        "describe_heat",
    ),
    "describe.interaction": ("describe_interaction",),
    "describe.judge_figures": (
        "describe_judge_confusion",
        "describe_judge_ranks",
        "describe_powered",
        "describe_topic_leniency",
    ),
    "describe.measure_curves": (
        "describe_asl",
        "describe_robustness",
        "describe_swap_rates",
    ),
    "describe.measure_intervals": (
        "describe_agreement",
        "describe_informativeness",
    ),
    "describe.merged_labels": (
        "describe_posterior_entropy",
        "describe_worker_accuracy",
        "describe_worker_confusion",
    ),
    "describe.method_ranks": ("describe_method_ranks",),
    "describe.online_measures": (
        "describe_log_measure",
        "describe_reliability",
    ),
    "describe.online_winners": ("describe_online_agreement",),
    "describe.power_curves": ("describe_power",),
    "describe.precision_recall": (
        "describe_curves",
        "describe_precision_recall",
    ),
    "describe.preference_figures": (
        "describe_interleaving_power",
        "describe_preferences",
    ),
    "describe.rank_changes": ("describe_rank_changes",),
    "describe.reproduction_plots": (
        "describe_alike",
        "describe_effects",
    ),
    "describe.session_figure": ("describe_sessions",),
    "describe.spacing": ("describe_spacing",),
    "describe.system_intervals": (
        "describe_intervals",
        "describe_levels",
    ),
    "describe.text_read": ("describe_trailtext",),
    "describe.topic_differences": ("describe_differences",),
    "describe.topic_ranges": ("describe_topics",),
    "describe.variance_bars": ("describe_components",),
    "figure": (
        "Axis",
        "Figure",
        "Reference",
    ),
}
"""{module: what it has}. A module is imported when something in it is used: some need half of the package."""

__all__ = [
    "Axis", "Figure", "Reference", "describe_aa_p_values", "describe_agreement", "describe_alike",
    "describe_arm_effects", "describe_asl", "describe_assessor_agreement", "describe_axioms", "describe_boxes",
    "describe_click_parameters", "describe_click_perplexity", "describe_components", "describe_concordance",
    "describe_correlations", "describe_curves", "describe_detectable", "describe_differences", "describe_discovery",
    "describe_diversity", "describe_effects", "describe_efficiency", "describe_gate_history", "describe_heat",
    "describe_informativeness", "describe_interaction", "describe_interleaving_power", "describe_intervals",
    "describe_judge_confusion", "describe_judge_ranks", "describe_levels", "describe_log_measure",
    "describe_method_ranks", "describe_online_agreement", "describe_posterior_entropy", "describe_power",
    "describe_powered", "describe_precision_recall", "describe_preferences", "describe_rank_changes",
    "describe_reliability", "describe_robustness", "describe_sessions", "describe_spacing", "describe_swap_rates",
    "describe_topic_leniency", "describe_topics", "describe_trailtext", "describe_worker_accuracy",
    "describe_worker_confusion",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
