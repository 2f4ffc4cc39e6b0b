"""The measures of ir_measures, their base class and their registry."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from cranfield.compat.ir_measures import names as declared
from cranfield.compat.ir_measures.measure import (
    BaseMeasure,
    MeanAgg,
    Measure,
    ParamInfo,
    SumAgg,
    register,
    registry,
)
from cranfield.compat.ir_measures.measures import base as base
from cranfield.compat.ir_measures.names import (
    AP,
    AP_IA,
    BPM,
    ERR,
    ERR_IA,
    INSQ,
    INST,
    MAP,
    MAP_IA,
    MRR,
    NDCG,
    NERR8,
    NERR9,
    NERR10,
    NERR11,
    NRBP,
    P_IA,
    RBP,
    RR,
    SDCG,
    Accuracy,
    BPref,
    Bpref,
    Compat,
    IPrec,
    Judged,
    NumQ,
    NumRel,
    NumRelRet,
    NumRet,
    P,
    Precision,
    R,
    Recall,
    RPrec,
    Rprec,
    SetAP,
    SetF,
    SetP,
    SetR,
    SetRelP,
    StRecall,
    Success,
    alpha_DCG,
    alpha_nDCG,
    infAP,
    nDCG,
    nERR_IA,
    nNRBP,
    α_DCG,
    α_nDCG,
)

__all__ = [
    "AP", "AP_IA", "BPM", "ERR", "ERR_IA", "INSQ", "INST", "MAP", "MAP_IA", "MRR", "NDCG", "NERR8", "NERR9", "NERR10",
    "NERR11", "NRBP", "P_IA", "RBP", "RR", "SDCG", "Accuracy", "BPref", "BaseMeasure", "Bpref", "Compat", "IPrec",
    "Judged", "MeanAgg", "Measure", "NumQ", "NumRel", "NumRelRet", "NumRet", "P", "ParamInfo", "Precision", "R",
    "RPrec", "Recall", "Rprec", "SetAP", "SetF", "SetP", "SetR", "SetRelP", "StRecall", "Success", "SumAgg",
    "alpha_DCG", "alpha_nDCG", "infAP", "nDCG", "nERR_IA", "nNRBP", "register", "registry", "α_DCG", "α_nDCG",
]  # fmt: skip

SUBMODULES = {
    "accuracy": "Accuracy", "ap": "AP MAP", "bpm": "BPM", "bpref": "Bpref BPref", "compat": "Compat",
    "diversity": "ERR_IA nERR_IA alpha_DCG α_DCG alpha_nDCG α_nDCG NRBP nNRBP AP_IA MAP_IA P_IA StRecall",
    "err": "ERR", "infap": "infAP", "inst": "INST INSQ", "iprec": "IPrec", "judged": "Judged", "ndcg": "nDCG NDCG",
    "nerr": "NERR8 NERR9 NERR10 NERR11", "numq": "NumQ", "numrel": "NumRel", "numret": "NumRet NumRelRet",
    "p": "P Precision", "r": "R Recall", "rbp": "RBP", "rprec": "Rprec RPrec", "rr": "RR MRR", "sdcg": "SDCG",
    "set_measures": "SetP SetRelP SetR SetF SetAP", "success": "Success",
}  # fmt: skip
"""The modules in which ir_measures keeps its measures, so that programs can import from them."""


def __getattr__(name: str) -> Any:
    """The class of a measure, whose name begins with an underscore."""
    if name[:1] == "_" and name[1:] in declared.CLASSES:
        return declared.CLASSES[name[1:]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _make_submodules() -> None:
    for name, members in SUBMODULES.items():
        module = ModuleType(f"{__name__}.{name}", f"The measures {members.replace(' ', ', ')}.")
        for member in members.split():
            measure = registry[member]
            setattr(module, member, measure)
            setattr(module, type(measure).__name__, type(measure))
        sys.modules[module.__name__] = module
        globals()[name] = module


_make_submodules()
