"""Satisfaction as a classifier over the signals of a query: its fit, its calibration, and its mean over a log."""

from __future__ import annotations

from cranfield.online.log_measures.satisfaction.learned_satisfaction import (
    LearnedSatisfaction,
    Satisfaction,
    learn_satisfaction,
)
from cranfield.online.log_measures.satisfaction.logistic_fit import (
    LogisticFit,
    Reliability,
    area_under_curve,
    brier_score,
    fit_logistic,
    reliability_curve,
)

__all__ = [
    "LearnedSatisfaction", "LogisticFit", "Reliability", "Satisfaction", "area_under_curve", "brier_score",
    "fit_logistic", "learn_satisfaction", "reliability_curve",
]  # fmt: skip
