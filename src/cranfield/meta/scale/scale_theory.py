"""The theory of scales: the statistics that each scale admits, and the proved scales of some measures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.measures.base import REGISTRY
from cranfield.measures.scale_type import scale_of
from cranfield.table import Column, Table

ADMITS = {
    "neither": "counts: mode and frequencies",
    "ordinal": "medians and quantiles; sign test, rank sum test, Kruskal–Wallis, Friedman",
    "interval": "means and standard deviations too; t test, ANOVA, Wilcoxon's signed rank test",
    "ratio": "geometric and harmonic means and the coefficient of variation too",
}
"""The statistics that each scale admits by Stevens' rules, in addition to those of the scales before it (Ferro &
Maistro 2024 §7.4–7.5)."""

KINDS = {"neither": "neither ordinal nor interval", "ordinal": "ordinal", "interval": "interval"}
"""The scales of lists, in words."""
ORDERS = {
    "total": "the total orders of lists: RBTO by rank, SBTO or the sum of grades by set",
    "partial": "the partial order of lists by swaps and replacements",
}
"""{name: description} of the orders that a scale is relative to (Ferro & Maistro 2024 §7.7–7.8)."""

THEORY = "Ferrante, Ferro & Pontarollo, IEEE TKDE 31(3), 2019; Ferro & Maistro, Evaluation of IR Systems, 2024, §7.7"
PROVED = {
    **dict.fromkeys(("P", "R", "F"), "an interval scale where relevance is binary"),
    **dict.fromkeys(("gP", "gR"), "an interval scale only if the grades are on a ratio scale, by the sum of grades"),
    "RBP": "an interval scale only for p = 1/2; graded, only for p = G/(G + 1), where G is the normalised smallest gap "
    "between the gains of two grades, and only if the grades are on a ratio scale",
    **dict.fromkeys(("AP", "DCG", "ERR"), "not an interval scale"),
    **dict.fromkeys(("SBTO", "RBTO"), "an interval scale by construction"),
}
"""The results of Ferrante et al. for a single topic. Moffat (IEEE Access 10, 2022) argues that values need not be
equally spaced; Ferro & Maistro 2024 §7.6 presents both sides."""


def proved_scale(measure: Any) -> str:
    """A sentence with the scale that Ferrante et al. proved for a measure; empty if they did not study it.

    >>> print(proved_scale("AP@10").partition(",")[0])
    AP was proved to be not an interval scale
    """
    name = _studied(measure)
    return f"{name} was proved to be {PROVED[name]}, on {ORDERS['total']} ({THEORY})" if name else ""


def proved_note(measures: Iterable[Any]) -> list[str]:
    """One sentence with the proved scales of several measures; none if they were not studied.

    >>> print(proved_note(["AP@10", "AP", "DCG", "bpref"])[0].partition(" (")[0])
    proved, on the total orders of lists: AP, DCG: not an interval scale
    """
    by_result: dict[str, dict[str, None]] = {}
    for name in filter(None, map(_studied, measures)):
        by_result.setdefault(PROVED[name], {})[name] = None
    results = "; ".join(f"{', '.join(names)}: {result}" for result, names in by_result.items())
    return [f"proved, on the total orders of lists: {results} ({THEORY})"] if results else []


def _studied(measure: Any) -> str:
    """The name of a measure that Ferrante et al. studied; otherwise empty."""
    try:
        name: str = as_measures(measure)[0].name
    except UsageError:
        return ""
    return name if name in PROVED else ""


def proved_scales(measures: Any = None) -> Table:
    """The results of Ferrante et al. for some measures, by default for all that they studied, as a table."""
    chosen = as_measures(list(PROVED) if measures is None else measures)
    rows = tuple((str(it), PROVED.get(it.name, "not studied"), scale_of(it).words) for it in chosen)
    heads = (Column("measure"), Column("proved to be"), Column("told by `compare` as"))
    notes = [f"on {ORDERS['total']}", THEORY]
    if measures is None:
        notes.append(f"RBP is shown with its default, p = {REGISTRY['RBP']().p}; RBP(p=0.5) is interval")  # type: ignore[attr-defined]
    return Table(heads, rows, caption="Scales of measures, for a single topic", notes=tuple(notes))
