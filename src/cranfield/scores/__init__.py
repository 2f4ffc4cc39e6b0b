"""Scores: one number for each measure, run and topic."""

from cranfield.scores.scores import Scores
from cranfield.scores.summary import Summary
from cranfield.table import Estimate

__all__ = ["Estimate", "Scores", "Summary"]
