"""The base classes of providers and evaluators, and the registry."""

from cranfield.compat.ir_measures.named_tuples import TYPE_QREL, TYPE_RUN, CalcResults, Metric
from cranfield.compat.ir_measures.provider import (
    NOT_PROVIDED,
    Any,
    Choices,
    Evaluator,
    ParamSpec,
    Provider,
    register,
    registry,
)

__all__ = [
    "NOT_PROVIDED", "TYPE_QREL", "TYPE_RUN", "Any", "CalcResults", "Choices", "Evaluator", "Metric", "ParamSpec",
    "Provider", "register", "registry",
]  # fmt: skip
