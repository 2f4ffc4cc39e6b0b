"""Figures: `describe_*` functions return a `Figure`, which is data; its methods draw it with altair and save it.

>>> from cranfield.report.figures import describe_boxes
>>> figure = describe_boxes({"bm25": [0.1, 0.2, 0.3, 0.4, 0.9], "dense": [0.3, 0.4, 0.4, 0.5, 0.6]}, "AP")
>>> figure.title
'AP of 2 systems on 5 topics'

`figure.save("boxes.html")` writes a self-contained page; .svg, .pdf, .png, .json and .csv also work.
"""

from cranfield.report.figures.describe.comparison_figures import (
    describe_gate_history,
    describe_interaction,
    describe_intervals,
    describe_levels,
    describe_power,
    describe_progress,
    describe_residuals,
)
from cranfield.report.figures.describe.grids import (
    describe_axioms,
    describe_concordance,
    describe_correlations,
    describe_heat,
)
from cranfield.report.figures.describe.judge_figures import (
    describe_judge_confusion,
    describe_judge_ranks,
    describe_powered,
    describe_topic_leniency,
)
from cranfield.report.figures.describe.label_figures import (
    describe_assessor_accuracy,
    describe_assessor_agreement,
    describe_assessor_confusion,
    describe_discovery,
    describe_label_errors,
    describe_method_ranks,
    describe_posterior_entropy,
)
from cranfield.report.figures.describe.meta_figures import (
    describe_agreement,
    describe_alike,
    describe_asl,
    describe_components,
    describe_effects,
    describe_informativeness,
    describe_list_order,
    describe_rank_changes,
    describe_robustness,
    describe_shares,
    describe_spacing,
    describe_swap_rates,
)
from cranfield.report.figures.describe.online_figures import (
    describe_aa_p_values,
    describe_arm_effects,
    describe_click_parameters,
    describe_click_perplexity,
    describe_detectable,
    describe_interleaving_power,
    describe_log_measure,
    describe_online_agreement,
    describe_preferences,
    describe_reliability,
    describe_sessions,
)
from cranfield.report.figures.describe.score_figures import (
    describe_boxes,
    describe_curves,
    describe_differences,
    describe_diversity,
    describe_efficiency,
    describe_first_rank,
    describe_precision_recall,
    describe_saw_tooth,
    describe_topics,
    describe_trailtext,
)
from cranfield.report.figures.figure import Axis, Figure, Reference

__all__ = [
    "Axis",
    "Figure",
    "Reference",
    "describe_aa_p_values",
    "describe_agreement",
    "describe_alike",
    "describe_arm_effects",
    "describe_asl",
    "describe_assessor_accuracy",
    "describe_assessor_agreement",
    "describe_assessor_confusion",
    "describe_axioms",
    "describe_boxes",
    "describe_click_parameters",
    "describe_click_perplexity",
    "describe_components",
    "describe_concordance",
    "describe_correlations",
    "describe_curves",
    "describe_detectable",
    "describe_differences",
    "describe_discovery",
    "describe_diversity",
    "describe_effects",
    "describe_efficiency",
    "describe_first_rank",
    "describe_gate_history",
    "describe_heat",
    "describe_informativeness",
    "describe_interaction",
    "describe_interleaving_power",
    "describe_intervals",
    "describe_judge_confusion",
    "describe_judge_ranks",
    "describe_label_errors",
    "describe_levels",
    "describe_list_order",
    "describe_log_measure",
    "describe_method_ranks",
    "describe_online_agreement",
    "describe_posterior_entropy",
    "describe_power",
    "describe_powered",
    "describe_precision_recall",
    "describe_preferences",
    "describe_progress",
    "describe_rank_changes",
    "describe_reliability",
    "describe_residuals",
    "describe_robustness",
    "describe_saw_tooth",
    "describe_sessions",
    "describe_shares",
    "describe_spacing",
    "describe_swap_rates",
    "describe_topic_leniency",
    "describe_topics",
    "describe_trailtext",
]  # fmt: skip
