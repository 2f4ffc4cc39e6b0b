"""Which figure belongs to which result: `result.plot()` draws it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from cranfield.errors import UsageError
from cranfield.report import figures
from cranfield.report.figures.figure import Figure

FIGURES = {
    "building.agreement": {
        "agreement_over_time.AgreementOverTime": "describe_assessor_agreement",
        "assessor_agreement.Agreement": "describe_assessor_agreement",
        "assessor_pairs.Confusion": "describe_assessor_agreement",
        "assessor_pairs.PairAgreement": "describe_assessor_agreement",
        "each_assessor.EachAssessor": "describe_assessor_agreement",
        "group_agreement.GroupAgreement": "describe_assessor_agreement",
        "topic_agreement.TopicAgreement": "describe_assessor_agreement",
    },
    "building": {
        "effect.effect_record.MergeEffect": "merge_effect_figure",
        "machine.judge_agreement.JudgeConfusion": "describe_judge_confusion",
        "machine.judge_agreement.TopicAgreement": "describe_topic_leniency",
        "machine.judge_rankings.RunRanks": "describe_judge_ranks",
        "machine.machine_audit.Audit": "audit_figure",
        "machine.powered_intervals.PoweredIntervals": "describe_powered",
        "merging.merged.Merged": "describe_posterior_entropy",
        "merging.worker_report.WorkerReport": "describe_worker_accuracy",
        "pools.pool_simulation.PoolSimulation": "pool_simulation_figure",
    },
    "comparison": {
        "anova.anova.LevelMeans": "level_means_figure",
        "gate.gate_history.GateHistory": "describe_gate_history",
        "methods.tukey.LevelPairs": "describe_levels",
        "power.answers.PowerAnswer": "power_answer_figure",
        "result.Comparison": "describe_intervals",
    },
    "meta": {
        "agreement.concordance.Concordance": "describe_concordance",
        "agreement.correlation.Correlations": "describe_correlations",
        "agreement.preferences.PredictivePower": "predictive_power_figure",
        "agreement.preferred_rank.PreferredRanks": "preferred_rank_figure",
        "agreement.rank_distance.Distances": "distances_figure",
        "axioms.axioms.Axioms": "describe_axioms",
        "judgments.gain_change.GainChange": "gains_figure",
        "judgments.leave_out.LeftOut": "left_out_figure",
        "judgments.robustness.Robustness": "robustness_figure",
        "reproduction.reproduction.Reproduction": "reproduction_figure",
        "scale.meaningfulness.Meaningfulness": "meaningful_figure",
        "scale.scale.Scale": "scale_figure",
        "scale.scale.Scales": "spacing_figure",
        "scale.scale_tests.ScaleTests": "scale_tests_figure",
        "stability.accuracy_of_tests.TestAccuracy": "accuracy_figure",
        "stability.discrimination.DiscriminativePower": "power_figure",
        "stability.generalisability.GStudy": "study_figure",
        "stability.generalisability.GStudies": "components_figure",
        "stability.informativeness.Informativeness": "describe_informativeness",
        "stability.swap.SwapRates": "swap_figure",
    },
    "online": {
        "clicks.click_evaluation.ClickEvaluation": "describe_click_perplexity",
        "clicks.click_model.ClickModel": "describe_click_parameters",
        "experiments.ab_record.Analysis": "describe_arm_effects",
        "experiments.experiment_power.ABPower": "describe_detectable",
        "experiments.random_splits.AASplits": "describe_aa_p_values",
        "interleaving.impressions_needed.InterleavingPower": "interleaving_power_figure",
        "interleaving.interleaving_analysis.InterleavingAnalysis": "describe_preferences",
        "interleaving.interleaving_simulation.InterleavingSimulation": "interleaving_simulation_figure",
        "log_measures.measured_log.LogMeasures": "log_measure_figure",
        "log_measures.satisfaction.learned_satisfaction.Satisfaction": "satisfaction_figure",
        "log_measures.satisfaction.probability_scores.Reliability": "describe_reliability",
        "logs.sessions.SessionSummary": "describe_sessions",
        "prediction.online_agreement.OnlineAgreement": "online_agreement_figure",
    },
    "scores": {
        "efficiency.Efficiency": "describe_efficiency",
        "scores.Scores": "describe_boxes",
        "topic_sheet.DecidingTopics": "deciding_topics_figure",
        "topic_sheet.TopicSheet": "describe_topics",
    },
}
"""{package: {class of results: the function that describes its figure}}."""
BY_CLASS = {f"cranfield.{room}.{kind}": name for room, kinds in FIGURES.items() for kind, name in kinds.items()}


def figure_of(result: Any, **options: Any) -> Figure:
    """The figure of a result; `options` are those of the function that describes it.

    >>> from cranfield.scores.scores import Scores
    >>> figure_of(Scores.from_matrix([[0.2, 0.4], [0.3, 0.6]], runs=["a", "b"], measure="AP")).title
    'AP of 2 systems on 2 topics'
    """
    for kind in type(result).__mro__:
        name = BY_CLASS.get(f"{kind.__module__}.{kind.__name__}")
        if name is not None:
            return function_of(name)(result, **options)
    known = sorted({kind.rpartition(".")[2] for kind in BY_CLASS})
    raise UsageError(
        f"{type(result).__name__} has no figure of its own; cranfield.report.figures has functions for columns of "
        f"numbers, and these results have one: {', '.join(known)}"
    )


def function_of(name: str) -> Callable[..., Figure]:
    """A function that describes a figure, by its name."""
    homes = [import_module(f"{figures.__name__}.{module}") for module in ("method_figures", "record_figures")]
    found: Callable[..., Figure] = next(getattr(home, name) for home in (figures, *homes) if hasattr(home, name))
    return found
