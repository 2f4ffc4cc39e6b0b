"""Providers compute measures. Here cranfield computes all of them; those of your own work too."""

from cranfield.compat.ir_measures.core_providers import (
    AccuracyProvider,
    CompatProvider,
    CwlEvalProvider,
    FallbackProvider,
    GdevalProvider,
    JudgedProvider,
    MsMarcoProvider,
    PyNdEvalProvider,
    PytrecEvalProvider,
    RanxProvider,
    TrectoolsProvider,
)
from cranfield.compat.ir_measures.named_tuples import CwlMetric
from cranfield.compat.ir_measures.provider import Evaluator, Provider, register, registry
from cranfield.compat.ir_measures.providers import base as base
from cranfield.compat.ir_measures.runtime import RuntimeProvider, define, define_byquery

__all__ = [
    "AccuracyProvider", "CompatProvider", "CwlEvalProvider", "CwlMetric", "Evaluator", "FallbackProvider",
    "GdevalProvider", "JudgedProvider", "MsMarcoProvider", "Provider", "PyNdEvalProvider", "PytrecEvalProvider",
    "RanxProvider", "RuntimeProvider", "TrectoolsProvider", "define", "define_byquery", "register", "registry",
]  # fmt: skip
