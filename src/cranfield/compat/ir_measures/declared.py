"""The measures of ir_measures: their names, parameters and defaults."""

from __future__ import annotations

from cranfield.compat.ir_measures.measure import MeanAgg, Measure, ParamInfo, SumAgg, register

_CUTOFF = ParamInfo(int, desc="the last rank that counts")
_NEEDS_CUTOFF = ParamInfo(int, required=True, desc="the last rank that counts")
_REL = ParamInfo(int, default=1, desc="the lowest relevant grade")
_ANY_REL = ParamInfo(int, desc="the lowest relevant grade; all documents or grades if not given")
_JUDGED_ONLY = ParamInfo(bool, default=False, desc="whether unjudged documents are left out")
_MIN_REL = ParamInfo(int, default=0, desc="the grade without a gain")
_MAX_REL = ParamInfo(int, required=True, desc="the grade of the highest gain")
_TARGET = ParamInfo(float, default=1.0, desc="how much gain the reader looks for")
_ALPHA = ParamInfo(float, default=0.5, desc="how much less a repeated intent is worth")

_SET = {"rel": _REL, "judged_only": _JUDGED_ONLY}
_RANKED = {"cutoff": _CUTOFF, **_SET}
_NEEDING = {"cutoff": _NEEDS_CUTOFF, **_SET}
_SCALED = {"min_rel": _MIN_REL, "max_rel": _MAX_REL}
_NOVELTY = {"cutoff": _CUTOFF, "rel": _REL, "alpha": _ALPHA, "judged_only": _JUDGED_ONLY}
_RANK_BIASED = {"rel": _REL, "alpha": _ALPHA, "beta": ParamInfo(float, default=0.5, desc="the patience of the reader")}

CLASSES: dict[str, type[Measure]] = {}
"""The class of each measure, by its name."""


def _declare(
    name: str, params: dict[str, ParamInfo], pretty: str, *aliases: str, at: str = "cutoff", summed: bool = False
) -> Measure:
    attributes = {
        "__name__": name, "__module__": __name__, "__doc__": f"{pretty}.", "NAME": name, "PRETTY_NAME": pretty,
        "SHORT_DESC": f"{pretty}.", "SUPPORTED_PARAMS": params, "AT_PARAM": at,
        "AGGREGATOR": SumAgg if summed else MeanAgg,
    }  # fmt: skip
    CLASSES[name] = type(f"_{name}", (Measure,), attributes)
    measure = CLASSES[name]()
    register(measure, aliases)
    return measure


# -- ranked lists

nDCG = NDCG = _declare(
    "nDCG",
    {
        "cutoff": _CUTOFF,
        "dcg": ParamInfo(str, choices=["log2", "exp-log2"], default="log2", desc="linear or exponential gains"),
        "gains": ParamInfo(dict, desc="the gain of each grade; a grade that is not listed gains itself"),
        "judged_only": _JUDGED_ONLY,
    },
    "Normalised discounted cumulative gain",
    "NDCG",
)
AP = MAP = _declare("AP", _RANKED, "Average precision", "MAP")
P = Precision = _declare("P", _NEEDING, "Precision at a rank", "Precision")
RR = MRR = _declare("RR", _RANKED, "Reciprocal rank", "MRR")
R = Recall = _declare("R", _NEEDING, "Recall at a rank", "Recall")
Success = _declare("Success", _NEEDING, "Whether a relevant document is found up to a rank")
Rprec = RPrec = _declare("Rprec", _SET, "Precision at the number of relevant documents", "RPrec")
Bpref = BPref = _declare("Bpref", {"rel": _REL}, "Binary preference", "BPref")
infAP = _declare("infAP", {"rel": _REL}, "Inferred average precision")
IPrec = _declare(
    "IPrec",
    {"recall": ParamInfo(float, required=True, desc="the recall to reach"), **_SET},
    "Interpolated precision at a recall",
    at="recall",
)
Judged = _declare("Judged", {"cutoff": _CUTOFF}, "The fraction of documents that are judged")
RBP = _declare(
    "RBP",
    {"cutoff": _CUTOFF, "p": ParamInfo(float, default=0.8, desc="the patience of the reader"), "rel": _ANY_REL},
    "Rank-biased precision",
)
ERR = _declare("ERR", {"cutoff": _CUTOFF}, "Expected reciprocal rank")
Accuracy = _declare("Accuracy", {"cutoff": _CUTOFF, "rel": _REL}, "The fraction of pairs in the right order")
Compat = _declare(
    "Compat",
    {
        "p": ParamInfo(float, default=0.95, desc="the patience of the reader"),
        "normalize": ParamInfo(bool, default=True, desc="whether to divide by the best value"),
    },
    "Compatibility with an ideal list",
)

# -- sets and counts

SetP = _declare(
    "SetP",
    {"rel": _REL, "relative": ParamInfo(bool, default=False, desc="whether to divide by the best value"),
     "judged_only": _JUDGED_ONLY},
    "Precision of all retrieved documents",
)  # fmt: skip
SetRelP = SetP(relative=True)
register(SetRelP, name="SetRelP")
SetR = _declare("SetR", {"rel": _REL}, "Recall of all retrieved documents")
SetF = _declare(
    "SetF",
    {"rel": _REL, "beta": ParamInfo(float, default=1.0, desc="the weight of recall"), "judged_only": _JUDGED_ONLY},
    "F measure of all retrieved documents",
)
SetAP = _declare("SetAP", _SET, "Precision times recall of all retrieved documents")
NumQ = _declare("NumQ", {}, "The number of topics", summed=True)
NumRet = _declare("NumRet", {"rel": _ANY_REL}, "The number of retrieved documents", summed=True)
NumRelRet = NumRet(rel=1)
register(NumRelRet, name="NumRelRet")
NumRel = _declare("NumRel", {"rel": _REL}, "The number of relevant documents", summed=True)

# -- models of readers

SDCG = _declare(
    "SDCG",
    {"cutoff": _NEEDS_CUTOFF, "dcg": ParamInfo(str, choices=["log2"], default="log2", desc="the discount"), **_SCALED},
    "Scaled discounted cumulative gain",
)
BPM = _declare("BPM", {"cutoff": _NEEDS_CUTOFF, "T": _TARGET, **_SCALED}, "The Bejewelled player model")
INST = _declare("INST", {"T": _TARGET, **_SCALED}, "INST")
INSQ = _declare("INSQ", {"T": _TARGET, **_SCALED}, "INSQ")
NERR8 = _declare("NERR8", {"cutoff": _NEEDS_CUTOFF, **_SCALED}, "Nearly expected reciprocal rank, equation 8")
NERR9 = _declare("NERR9", {"cutoff": _NEEDS_CUTOFF, **_SCALED}, "Nearly expected reciprocal rank, equation 9")
NERR10 = _declare(
    "NERR10",
    {"p": ParamInfo(float, default=0.9, desc="the patience of the reader"), **_SCALED},
    "Nearly expected reciprocal rank, equation 10",
)
NERR11 = _declare("NERR11", {"T": _TARGET, **_SCALED}, "Nearly expected reciprocal rank, equation 11")

# -- diversity

ERR_IA = _declare("ERR_IA", _RANKED, "Intent-aware expected reciprocal rank")
nERR_IA = _declare("nERR_IA", _RANKED, "Normalised intent-aware expected reciprocal rank")
alpha_DCG = α_DCG = _declare("alpha_DCG", _NOVELTY, "Alpha discounted cumulative gain", "α_DCG")
alpha_nDCG = α_nDCG = _declare("alpha_nDCG", _NOVELTY, "Alpha normalised discounted cumulative gain", "α_nDCG")
NRBP = _declare("NRBP", _RANK_BIASED, "Novelty- and rank-biased precision")
nNRBP = _declare("nNRBP", _RANK_BIASED, "Normalised novelty- and rank-biased precision")
AP_IA = MAP_IA = _declare("AP_IA", _SET, "Intent-aware average precision", "MAP_IA")
P_IA = _declare("P_IA", _RANKED, "Intent-aware precision at a rank")
StRecall = _declare("StRecall", {"cutoff": _CUTOFF, "rel": _REL}, "The fraction of intents that are found")
