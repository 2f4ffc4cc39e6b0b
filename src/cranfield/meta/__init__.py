"""Which measure should I trust? Methods that evaluate measures, from scores or from judgments and runs.

The functions have the names of the verbs of `cranfield meta`. Each returns a record with a table, JSON, LaTeX, HTML,
frames, and notes that say how it was computed.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.meta.agreement.concordance import concord as concord
    from cranfield.meta.agreement.concordance import predictive_power as predictive_power
    from cranfield.meta.agreement.concordance import read_preferences as read_preferences
    from cranfield.meta.agreement.correlation import correlate as correlate
    from cranfield.meta.agreement.correlation import rank_correlation as rank_correlation
    from cranfield.meta.agreement.correlation import rank_distances as rank_distances
    from cranfield.meta.agreement.gain_change import change_gains as change_gains
    from cranfield.meta.agreement.overlap import rbo as rbo
    from cranfield.meta.agreement.prediction import prediction_quality as predict
    from cranfield.meta.agreement.prediction import read_predictors as read_predictors
    from cranfield.meta.agreement.preferred_rank import preferred_ranks as ranks
    from cranfield.meta.agreement.user_agreement import user_agreement as users
    from cranfield.meta.agreement.user_ratings import UserRatings as UserRatings
    from cranfield.meta.agreement.user_ratings import rating_model as rating_model
    from cranfield.meta.agreement.user_ratings import read_user_ratings as read_user_ratings
    from cranfield.meta.agreement.user_ratings import users_needed as users_needed
    from cranfield.meta.axioms.axioms import axioms as axioms
    from cranfield.meta.judgments.leave_out import leave_one_out as loo
    from cranfield.meta.judgments.robustness import robustness as robust
    from cranfield.meta.judgments.robustness import topic_subsets as topic_subsets
    from cranfield.meta.reproduction.metadata import read_metadata as read_metadata
    from cranfield.meta.reproduction.metadata import write_metadata as write_metadata
    from cranfield.meta.reproduction.reproduction import reproduce as reproduce
    from cranfield.meta.reproduction.reproduction import reproduce_scores as reproduce_scores
    from cranfield.meta.scale.conclusions import conclusions as conclusions
    from cranfield.meta.scale.conclusions import interval_scores as interval_scores
    from cranfield.meta.scale.conclusions import rank_scores as rank_scores
    from cranfield.meta.scale.conclusions import scale_tests as scale_tests
    from cranfield.meta.scale.list_order import list_order as order
    from cranfield.meta.scale.meaningfulness import meaningfulness as meaningful
    from cranfield.meta.scale.scale import scales as scale
    from cranfield.meta.scale.scale_comparison import compare_scales as compare_scales
    from cranfield.meta.stability.accuracy_of_tests import accuracy_of_tests as tests
    from cranfield.meta.stability.anova_square import anova_square as anova_square
    from cranfield.meta.stability.discrimination import discriminative_power as power
    from cranfield.meta.stability.generalisability import g_studies as gtheory
    from cranfield.meta.stability.generalisability import g_study as g_study
    from cranfield.meta.stability.informativeness import informativeness as inform
    from cranfield.meta.stability.informativeness import max_entropy as max_entropy
    from cranfield.meta.stability.power_side_by_side import power_by_test as power_by_test
    from cranfield.meta.stability.power_side_by_side import power_side_by_side as power_side_by_side
    from cranfield.meta.stability.swap import swap_rates as swap
    from cranfield.meta.stability.swap_extrapolation import extrapolate_swaps as extrapolate_swaps
    from cranfield.meta.study.study import run_study as study
    from cranfield.online.prediction.online_agreement import online_agreement as online

__all__ = [
    "UserRatings", "anova_square", "axioms", "change_gains", "compare_scales", "conclusions", "concord",
    "correlate", "g_study", "gtheory", "inform", "interval_scores", "loo", "max_entropy", "meaningful", "online",
    "order", "power", "predict", "predictive_power", "rank_correlation", "rank_distances", "rank_scores", "ranks",
    "rating_model", "rbo", "read_metadata", "read_predictors", "read_preferences", "read_user_ratings", "reproduce",
    "reproduce_scores", "robust", "scale", "scale_tests", "study", "swap", "tests", "topic_subsets", "users",
    "users_needed", "write_metadata",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "power": "meta.stability.discrimination:discriminative_power",
            "swap": "meta.stability.swap:swap_rates",
            "correlate": "meta.agreement.correlation:correlate",
            "concord": "meta.agreement.concordance:concord",
            "ranks": "meta.agreement.preferred_rank:preferred_ranks",
            "loo": "meta.judgments.leave_out:leave_one_out",
            "robust": "meta.judgments.robustness:robustness",
            "order": "meta.scale.list_order:list_order",
            "scale": "meta.scale.scale:scales",
            "meaningful": "meta.scale.meaningfulness:meaningfulness",
            "axioms": "meta.axioms.axioms:axioms",
            "gtheory": "meta.stability.generalisability:g_studies",
            "inform": "meta.stability.informativeness:informativeness",
            "predict": "meta.agreement.prediction:prediction_quality",
            "users": "meta.agreement.user_agreement:user_agreement",
            "tests": "meta.stability.accuracy_of_tests:accuracy_of_tests",
            "reproduce": "meta.reproduction.reproduction:reproduce",
            "study": "meta.study.study:run_study",
            "online": "online.prediction.online_agreement:online_agreement",
            "UserRatings": "meta.agreement.user_ratings:UserRatings",
            "anova_square": "meta.stability.anova_square:anova_square",
            "change_gains": "meta.agreement.gain_change:change_gains",
            "compare_scales": "meta.scale.scale_comparison:compare_scales",
            "conclusions": "meta.scale.conclusions:conclusions",
            "g_study": "meta.stability.generalisability:g_study",
            "interval_scores": "meta.scale.conclusions:interval_scores",
            "max_entropy": "meta.stability.informativeness:max_entropy",
            "extrapolate_swaps": "meta.stability.swap_extrapolation:extrapolate_swaps",
            "power_by_test": "meta.stability.power_side_by_side:power_by_test",
            "power_side_by_side": "meta.stability.power_side_by_side:power_side_by_side",
            "predictive_power": "meta.agreement.concordance:predictive_power",
            "rank_correlation": "meta.agreement.correlation:rank_correlation",
            "rank_distances": "meta.agreement.correlation:rank_distances",
            "rank_scores": "meta.scale.conclusions:rank_scores",
            "rating_model": "meta.agreement.user_ratings:rating_model",
            "rbo": "meta.agreement.overlap:rbo",
            "read_metadata": "meta.reproduction.metadata:read_metadata",
            "read_predictors": "meta.agreement.prediction:read_predictors",
            "read_preferences": "meta.agreement.concordance:read_preferences",
            "read_user_ratings": "meta.agreement.user_ratings:read_user_ratings",
            "reproduce_scores": "meta.reproduction.reproduction:reproduce_scores",
            "scale_tests": "meta.scale.conclusions:scale_tests",
            "topic_subsets": "meta.judgments.robustness:topic_subsets",
            "users_needed": "meta.agreement.user_ratings:users_needed",
            "write_metadata": "meta.reproduction.metadata:write_metadata",
        },
    )
