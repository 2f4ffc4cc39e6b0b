"""The names of measures, and the message about an unknown name."""

from __future__ import annotations

import re

from cranfield import check
from cranfield.declared.registry import folded
from cranfield.measures.base import ALIASES, REGISTRY, Measure
from cranfield.views.by_intent import ByIntent


def names() -> dict[str, type[Measure]]:
    """Every name of a measure, aliases included."""
    return {**ALIASES, **REGISTRY}


def find(name: str) -> type[Measure] | None:
    """The measure with this name or alias."""
    return REGISTRY.get(name) or ALIASES.get(name)


NOT_MEASURES: dict[str, str] = {
    **dict.fromkeys(
        ("gm_map", "GMAP", "GM-MAP", "gmap"),
        'the geometric mean of AP: compute AP and take the statistic "gmean" of its scores',
    ),
    "gm_bpref": 'the geometric mean of bpref: compute bpref and take the statistic "gmean" of its scores',
    **{
        risk: f'a statistic of scores: compute a measure and take the statistic "{risk}" against a baseline run'
        for risk in ("URisk", "TRisk")
    },
    "GeoRisk": 'a statistic of scores: compute a measure for several runs and take the statistic "GeoRisk"',
    **dict.fromkeys(("num_q", "NumQ"), "the number of topics, which every table of scores shows"),
    **dict.fromkeys(
        (
            "AWRF", "EE-D", "EE-R", "EE-L", "rND", "rKL", "rRD", "parity", "exposure", "equity", "FA*IR",
            "dissatisfaction",
        ),
        "a measure of fairness: see `cranfield fairness`, in Python cranfield.fairness",
    ),
    **dict.fromkeys(
        ("sDCG", "nsDCG", "sRBP", "sMP", "sU", "sCost", "sCG", "esP", "esR", "esAP", "esDCG", "esNDCG"),
        "a measure of sessions: see `cranfield sessions`, in Python cranfield.answers.sessions",
    ),
    **{
        name: f"a measure of {kind}: see `cranfield {verb}`, in Python cranfield.answers"
        for verb, (kind, measures) in {
            "rouge": ("summaries", ("ROUGE",)),
            "bleu": ("texts", ("BLEU",)),
            "nuggets": ("answers", (
                "all", "all-strict", "vital", "vital-strict", "weighted", "weighted-strict", "W-Rec", "Prec",
                "pyramid", "pyramid-modified", "POURPRE",
            )),
            "citations": ("answers with citations", (
                "citation-precision", "citation-recall", "citation-F", "citation-precision-strict",
                "citation-recall-strict", "supported", "uncited",
            )),
            "one-click": ("answers to be read at once", ("S", "T", "S-flat", "T-flat", "S#")),
            "passages": ("passages", ("char-P", "char-R", "char-F", "char-bpref")),
            "verticals": ("result pages with several verticals", (
                "page-DCG", "page-nDCG", "vertical-P", "vertical-R", "vertical-F",
            )),
        }.items()
        for name in measures
    },
    "runid": "the name of the run, not a measure",
    "relstring": "a string, not a number: see `cranfield explain`",
}  # fmt: skip
"""Names that are not measures here, and what to use instead."""

LONGEST_NAME = 60


def not_a_measure(name: str) -> str:
    """What a known name that is not a measure is, whatever its case; empty for any other name."""
    if name in NOT_MEASURES:
        return NOT_MEASURES[name]
    if folded(name).startswith("rouge"):  # ROUGE-2, rouge1, ROUGE-SU4-R
        return NOT_MEASURES["ROUGE"]
    return next((what for known, what in NOT_MEASURES.items() if folded(known) == folded(name)), "")


def unknown(name: str) -> str:
    """The message about a name that is not a measure's."""
    if explanation := not_a_measure(name):
        return f"{name} is {explanation}"
    if by_intent := find(f"{name}{ByIntent.mark}"):  # a measure of its own, such as alpha#-nDCG-IA
        return f"there is no measure {name!r}; did you mean {by_intent.name}?"
    shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
    lowered = {known.casefold(): kind.name for known, kind in names().items()}
    plain = re.sub(r"^d(?:in)?[#♯]?-|[-_]*\d+$", "", name, flags=re.IGNORECASE)  # without what comes before and after
    near = dict.fromkeys(lowered[known] for known in check.similar(name, lowered) or check.similar(plain, lowered))
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no measure {shown!r}{hint} (`cranfield measures` lists them all)"
