"""Every measure, and the way from a name to it."""

from __future__ import annotations

from cranfield.measures.base import REGISTRY, FunctionMeasure, Measure, Properties, Terms, measure
from cranfield.measures.curves import Curve, Curves, interpolated_precision, precision_recall, roc
from cranfield.measures.first import ERR, RR, nERR
from cranfield.measures.gain import Discount, Gain
from cranfield.measures.incomplete import bpref, bpref_N, bpref_R, infAP
from cranfield.measures.parse import names, parse, parse_many
from cranfield.measures.ranked import AP, AP11, CG, DCG, RBP, IPrec, Q, RBPres, Rmeasure, nCG, nDCG
from cranfield.measures.sets import (
    Accuracy,
    Confusion,
    E,
    F,
    Fallout,
    Judged,
    NumRel,
    NumRelRet,
    NumRet,
    P,
    R,
    Rprec,
    SetAP,
    Specificity,
    Success,
    Unjudged,
    confusion,
    gP,
    gR,
)
from cranfield.measures.trec import (
    G,
    NumNonrelRet,
    RelativeP,
    Rndcg,
    SetF,
    Utility,
    binG,
    ideal_dcg,
    nDCGrel,
    rbp_resid,
    unj,
    yaap,
)

DEFAULT: tuple[Measure, ...] = (nDCG() @ 10, AP(), RR(), P() @ 10, R() @ 1000, Judged() @ 10)
"""What is computed when no measure is asked for: the measure most papers report, the one that weighs the whole list,
the first hit, the first page, what a later stage could still find, and how far the judgments reach."""

MEASURES = tuple(sorted(REGISTRY, key=str.lower))
"""The names of the measures that come with the package."""

__all__ = [
    "AP",
    "AP11",
    "CG",
    "DCG",
    "DEFAULT",
    "ERR",
    "MEASURES",
    "RBP",
    "REGISTRY",
    "RR",
    "Accuracy",
    "Confusion",
    "Curve",
    "Curves",
    "Discount",
    "E",
    "F",
    "Fallout",
    "FunctionMeasure",
    "G",
    "Gain",
    "IPrec",
    "Judged",
    "Measure",
    "NumNonrelRet",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "Properties",
    "Q",
    "R",
    "RBPres",
    "RelativeP",
    "Rmeasure",
    "Rndcg",
    "Rprec",
    "SetAP",
    "SetF",
    "Specificity",
    "Success",
    "Terms",
    "Unjudged",
    "Utility",
    "binG",
    "bpref",
    "bpref_N",
    "bpref_R",
    "confusion",
    "gP",
    "gR",
    "ideal_dcg",
    "infAP",
    "interpolated_precision",
    "measure",
    "nCG",
    "nDCG",
    "nDCGrel",
    "nERR",
    "names",
    "parse",
    "parse_many",
    "precision_recall",
    "rbp_resid",
    "roc",
    "unj",
    "yaap",
]
