"""Which measure should I trust? Methods that evaluate measures, from scores or from judgments and runs.

Each function returns a record with a table, JSON, LaTeX, HTML, frames, and notes that say how it was computed.
"""

from cranfield.meta.agreement.concordance import concord, predictive_power, read_preferences
from cranfield.meta.agreement.correlation import correlate, rank_correlation, rank_distances
from cranfield.meta.agreement.gain_change import change_gains
from cranfield.meta.agreement.overlap import rbo
from cranfield.meta.agreement.prediction import prediction_quality, read_predictors
from cranfield.meta.agreement.preferred_rank import preferred_ranks
from cranfield.meta.agreement.user_agreement import user_agreement
from cranfield.meta.agreement.user_ratings import UserRatings, rating_model, read_user_ratings, users_needed
from cranfield.meta.axioms.axioms import axioms
from cranfield.meta.judgments.leave_out import leave_one_out
from cranfield.meta.judgments.robustness import robustness, topic_subsets
from cranfield.meta.reproduction.metadata import read_metadata, write_metadata
from cranfield.meta.reproduction.reproduction import reproduce, reproduce_scores
from cranfield.meta.scale.conclusions import conclusions, interval_scores, rank_scores, scale_tests
from cranfield.meta.scale.meaningfulness import meaningfulness
from cranfield.meta.scale.scale import scale, scales
from cranfield.meta.stability.accuracy_of_tests import accuracy_of_tests
from cranfield.meta.stability.discrimination import discriminative_power
from cranfield.meta.stability.generalisability import g_studies, g_study
from cranfield.meta.stability.informativeness import informativeness, max_entropy
from cranfield.meta.stability.swap import swap_rates
from cranfield.meta.study.study import run_study

__all__ = [
    "UserRatings", "accuracy_of_tests", "axioms", "change_gains", "conclusions", "concord", "correlate",
    "discriminative_power", "g_studies", "g_study", "informativeness", "interval_scores", "leave_one_out",
    "max_entropy", "meaningfulness", "prediction_quality", "predictive_power", "preferred_ranks", "rank_correlation",
    "rank_distances", "rank_scores", "rating_model", "rbo", "read_metadata", "read_predictors", "read_preferences",
    "read_user_ratings", "reproduce", "reproduce_scores", "robustness", "run_study", "scale", "scale_tests", "scales",
    "swap_rates", "topic_subsets", "user_agreement", "users_needed", "write_metadata",
]  # fmt: skip
