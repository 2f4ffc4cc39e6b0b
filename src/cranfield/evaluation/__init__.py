"""Evaluate runs, explain scores, and estimate what unjudged documents could change."""

from cranfield.evaluation.evaluator import Evaluator, evaluate, score

__all__ = ["Evaluator", "evaluate", "score"]
