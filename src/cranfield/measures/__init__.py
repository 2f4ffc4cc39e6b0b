"""All measures, and `parse`, which turns a name into a measure.

A new measure is a class in the file of its family and its name here, in the import and in `__all__`.
"""

from __future__ import annotations

from cranfield.measures.base import REGISTRY, FunctionMeasure, Measure, Properties, Terms, measure
from cranfield.measures.gain import Discount, Gain
from cranfield.measures.naming.parse import parse, parse_many
from cranfield.measures.naming.spelling import names
from cranfield.measures.ranked_lists.compatibility import Compat
from cranfield.measures.ranked_lists.counts import Judged, NumRel, NumRelRet, NumRet, Unjudged
from cranfield.measures.ranked_lists.curves import Curve, Curves, interpolated_precision, precision_recall, roc
from cranfield.measures.ranked_lists.estimates import ADM
from cranfield.measures.ranked_lists.first import ERR, NWRR, RR, WRR, O, Pmeasure, Pplus, nERR
from cranfield.measures.ranked_lists.graded import GAP, Q, Rmeasure, gAP
from cranfield.measures.ranked_lists.incomplete import (
    bpref,
    bpref_N,
    bpref_R,
    bpref_relative,
    infAP,
    rpref_N,
    rpref_relative,
    rpref_relative2,
)
from cranfield.measures.ranked_lists.ncu import EBR, NCU, iRBU
from cranfield.measures.ranked_lists.ranked import AP, AP11, CG, DCG, RBP, IPrec, RBPmax, RBPres, nCG, nDCG
from cranfield.measures.ranked_lists.recall import ESL, PRES, WSS, LastRel
from cranfield.measures.ranked_lists.sampled import infNDCG, statAP, xinfAP
from cranfield.measures.ranked_lists.sets import (
    Accuracy,
    Confusion,
    E,
    F,
    Fallout,
    P,
    R,
    Rprec,
    SetAP,
    Specificity,
    Success,
    confusion,
    gP,
    gR,
)
from cranfield.measures.ranked_lists.total_orders import RBTO, SBTO
from cranfield.measures.ranked_lists.trec import (
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
from cranfield.measures.readers.click_measures import (
    EBU,
    rrCCM,
    rrDBN,
    rrDCM,
    rrSDBN,
    uCCM,
    uDBN,
    uDCM,
    uPBM,
    uSDBN,
    uUBM,
)
from cranfield.measures.readers.cwl import CWL, CWLMeasure
from cranfield.measures.readers.cwl_members import (
    BPM,
    IFT,
    INSQ,
    INST,
    NERR8,
    NERR9,
    NERR10,
    NERR11,
    SDCG,
    as_cwl,
    cwl_vectors,
)
from cranfield.measures.readers.markov import MP, session_precision
from cranfield.measures.readers.time import ESD, TBG, Trailtext, U
from cranfield.measures.several_needs.attainable import nDIN, nPplusQ
from cranfield.measures.several_needs.difficulty import AlphaSharpNDCGIA, AlphaSharpNERRIA, AlphaSharpNNRBPIA
from cranfield.measures.several_needs.diversity import PMP, RBU, EfP, IRec, PplusQ
from cranfield.measures.several_needs.multidimensional import CAM, MM, TOMA, cRBP, uRBP
from cranfield.measures.several_needs.novelty import ERRIA, NRBP, AlphaDCG, AlphaNDCG, nERRIA, nNRBP

DEFAULT: tuple[Measure, ...] = (nDCG() @ 10, AP(), RR(), P() @ 10, R() @ 1000, Judged() @ 10)
"""The measures that are computed by default: the one that most papers report, one of the whole list, one of the first
relevant document, one of the first page, one of what a later stage could still find, and how much is judged."""

MEASURES = tuple(sorted(REGISTRY, key=str.lower))
"""The names of all measures in the package."""

__all__ = [
    "ADM",
    "AP",
    "AP11",
    "BPM",
    "CAM",
    "CG",
    "CWL",
    "DCG",
    "DEFAULT",
    "EBR",
    "EBU",
    "ERR",
    "ERRIA",
    "ESD",
    "ESL",
    "GAP",
    "IFT",
    "INSQ",
    "INST",
    "MEASURES",
    "MM",
    "MP",
    "NCU",
    "NERR8",
    "NERR9",
    "NERR10",
    "NERR11",
    "NRBP",
    "NWRR",
    "PMP",
    "PRES",
    "RBP",
    "RBTO",
    "RBU",
    "REGISTRY",
    "RR",
    "SBTO",
    "SDCG",
    "TBG",
    "TOMA",
    "WRR",
    "WSS",
    "Accuracy",
    "AlphaDCG",
    "AlphaNDCG",
    "AlphaSharpNDCGIA",
    "AlphaSharpNERRIA",
    "AlphaSharpNNRBPIA",
    "CWLMeasure",
    "Compat",
    "Confusion",
    "Curve",
    "Curves",
    "Discount",
    "E",
    "EfP",
    "F",
    "Fallout",
    "FunctionMeasure",
    "G",
    "Gain",
    "IPrec",
    "IRec",
    "Judged",
    "LastRel",
    "Measure",
    "NumNonrelRet",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "O",
    "P",
    "Pmeasure",
    "Pplus",
    "PplusQ",
    "Properties",
    "Q",
    "R",
    "RBPmax",
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
    "Trailtext",
    "U",
    "Unjudged",
    "Utility",
    "as_cwl",
    "binG",
    "bpref",
    "bpref_N",
    "bpref_R",
    "bpref_relative",
    "cRBP",
    "confusion",
    "cwl_vectors",
    "gAP",
    "gP",
    "gR",
    "iRBU",
    "ideal_dcg",
    "infAP",
    "infNDCG",
    "interpolated_precision",
    "measure",
    "nCG",
    "nDCG",
    "nDCGrel",
    "nDIN",
    "nERR",
    "nERRIA",
    "nNRBP",
    "nPplusQ",
    "names",
    "parse",
    "parse_many",
    "precision_recall",
    "rbp_resid",
    "roc",
    "rpref_N",
    "rpref_relative",
    "rpref_relative2",
    "rrCCM",
    "rrDBN",
    "rrDCM",
    "rrSDBN",
    "session_precision",
    "statAP",
    "uCCM",
    "uDBN",
    "uDCM",
    "uPBM",
    "uRBP",
    "uSDBN",
    "uUBM",
    "unj",
    "xinfAP",
    "yaap",
]  # fmt: skip
