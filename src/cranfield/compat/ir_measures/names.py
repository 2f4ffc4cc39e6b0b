"""Measures from their names: those of ir_measures, and those of trec_eval."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from cranfield.compat.ir_measures import declared
from cranfield.compat.ir_measures.measure import Measure, registry
from cranfield.compat.ir_measures.named_tuples import deprecated
from cranfield.errors import CranfieldWarning
from cranfield.text import listed

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
    "ndcg": declared.nDCG, "map": declared.AP, "recip_rank": declared.RR, "Rprec": declared.Rprec,
    "bpref": declared.Bpref, "infAP": declared.infAP, "set_P": declared.SetP, "set_relative_P": declared.SetRelP,
    "set_recall": declared.SetR, "set_map": declared.SetAP, "num_q": declared.NumQ, "num_ret": declared.NumRet,
    "num_rel": declared.NumRel, "num_rel_ret": declared.NumRelRet,
}  # fmt: skip
TREC_NAMES_WITH_PARAMETERS: dict[str, tuple[Measure, str, tuple[float, ...]]] = {
    "ndcg_cut": (declared.nDCG, "cutoff", _CUTOFFS),
    "map_cut": (declared.AP, "cutoff", _CUTOFFS),
    "P": (declared.P, "cutoff", _CUTOFFS),
    "recall": (declared.R, "cutoff", _CUTOFFS),
    "success": (declared.Success, "cutoff", (1, 5, 10)),
    "iprec_at_recall": (declared.IPrec, "recall", tuple(tenth / 10 for tenth in range(11))),
    "set_F": (declared.SetF, "beta", (1.0,)),
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
