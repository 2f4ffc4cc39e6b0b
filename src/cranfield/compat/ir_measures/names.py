"""The measures of ir_measures, with parameters and defaults, and measures from names, also those of trec_eval."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from cranfield.compat.ir_measures.measure import MeanAgg, Measure, ParamInfo, SumAgg, register, registry
from cranfield.compat.ir_measures.named_tuples import deprecated
from cranfield.errors import CranfieldWarning
from cranfield.text import listed

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


_FORMAT = "expected a name with parameters, such as nDCG(dcg='exp-log2')@10"


def parse_measure(measure: str | Measure) -> Measure:
    """A measure from its name. ValueError: not the form of a name; NameError: an unknown measure.

    >>> parse_measure("AP(rel=2)@100")
    AP(rel=2)@100
    """
    if isinstance(measure, Measure):
        return measure
    params: dict[str, Any] = {}
    at = None
    try:
        node: ast.AST = ast.parse(measure, mode="eval").body
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            at, node = ast.literal_eval(node.right), node.left
        if isinstance(node, ast.Call) and not node.args:
            params = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
            node = node.func
    except (SyntaxError, ValueError):
        raise ValueError(f"problem parsing measure {measure!r}; {_FORMAT}") from None
    if not isinstance(node, ast.Name):
        raise ValueError(f"problem parsing measure {measure!r}; {_FORMAT}")
    if node.id not in registry:
        raise NameError(f"measure not found: {node.id}")
    parsed = registry[node.id](**params)
    return parsed if at is None else parsed @ at


_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TREC_NAMES: dict[str, Measure] = {
    "ndcg": nDCG, "map": AP, "recip_rank": RR, "Rprec": Rprec,
    "bpref": Bpref, "infAP": infAP, "set_P": SetP, "set_relative_P": SetRelP,
    "set_recall": SetR, "set_map": SetAP, "num_q": NumQ, "num_ret": NumRet,
    "num_rel": NumRel, "num_rel_ret": NumRelRet,
}  # fmt: skip
TREC_NAMES_WITH_PARAMETERS: dict[str, tuple[Measure, str, tuple[float, ...]]] = {
    "ndcg_cut": (nDCG, "cutoff", _CUTOFFS),
    "map_cut": (AP, "cutoff", _CUTOFFS),
    "P": (P, "cutoff", _CUTOFFS),
    "recall": (R, "cutoff", _CUTOFFS),
    "success": (Success, "cutoff", (1, 5, 10)),
    "iprec_at_recall": (IPrec, "recall", tuple(tenth / 10 for tenth in range(11))),
    "set_F": (SetF, "beta", (1.0,)),
}
"""The measure, the parameter that follows the name, and its default values."""
UNSUPPORTED = {
    "11pt_avg", "G", "Rndcg", "Rprec_mult", "binG", "gm_bpref", "gm_map", "ndcg_rel", "num_nonrel_judged_ret",
    "relative_P", "relstring", "utility",
}  # fmt: skip
"""Measures of trec_eval that ir_measures does not have."""


def parse_trec_measure(measure: str) -> list[Measure]:
    """The measures of a trec_eval name, or of a nickname: official, set, all_trec.

    A warning names the measures of a nickname that ir_measures does not have.

    >>> parse_trec_measure("P.5,10"), parse_trec_measure("map")
    ([P@5, P@10], [AP])
    """
    from cranfield.compat.pytrec_eval import supported_nicknames

    if measure in supported_nicknames:
        names = sorted(supported_nicknames[measure])
        skipped = [name for name in names if name in UNSUPPORTED]
        if skipped:
            message = f"{measure}: left out {listed(skipped)}, which ir_measures does not have"
            warnings.warn(message, CranfieldWarning, stacklevel=2)
        return [one for name in names if name not in UNSUPPORTED | {"runid"} for one in parse_trec_measure(name)]
    match = re.fullmatch(r"(.+?)(?:[._]([\d.]+(?:,[\d.]+)*))?", measure)
    name, typed = match.groups() if match else (measure, None)
    if name in TREC_NAMES:
        if typed:
            raise ValueError(f"unknown argument for {name}: {typed}")
        return [TREC_NAMES[name]]
    if name in UNSUPPORTED:
        raise ValueError(f"{name} is a measure of trec_eval that ir_measures does not have")
    if name not in TREC_NAMES_WITH_PARAMETERS:
        raise ValueError(f"unknown measure {measure}")
    base, parameter, values = TREC_NAMES_WITH_PARAMETERS[name]
    if typed:
        values = tuple(map(int if parameter == "cutoff" else float, typed.split(",")))
    return [base(**{parameter: value}) for value in values]


def convert_trec_name(measure: str) -> list[Measure]:
    """The old name of `parse_trec_measure`."""
    deprecated("convert_trec_name", "parse_trec_measure")
    return parse_trec_measure(measure)
