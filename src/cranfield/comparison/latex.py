"""The table of a comparison for a paper: systems × measures, the best in bold, significance as superscripts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cranfield.table import DIGITS, escape_latex, one_line, printable

if TYPE_CHECKING:
    from cranfield.comparison.result import Comparison, Family


def latex(comparison: Comparison) -> str:
    r"""A booktabs `table` of means with superscripts, and a caption with test, correction, α and n.

    With a baseline, the superscript is a dagger (higher) or a double dagger (lower). Otherwise it is letters: systems
    that share a letter do not differ.
    """
    families = comparison.families
    systems = list(dict.fromkeys(name for family in families for name in _best_first(family)))
    heads = [_head(family, len({family.collection for family in families}) > 1) for family in families]
    cells = [_cells(comparison, family) for family in families]
    lines = [f"% {printable(one_line(note))}" for note in comparison.notes]
    lines += [r"\begin{table}", r"\centering", rf"\caption{{{_caption(comparison)}}}"]
    lines += [rf"\begin{{tabular}}{{l{'l' * len(families)}}}", r"\toprule"]
    lines.append(" & ".join(["System", *map(escape_latex, heads)]) + r" \\")
    lines.append(r"\midrule")
    for system in systems:
        lines.append(" & ".join([escape_latex(system), *(column.get(system, "") for column in cells)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _best_first(family: Family) -> list[str]:
    return [family.matrix.systems[column] for column in family.ranking.tolist()]


def _head(family: Family, collections: bool) -> str:
    return f"{family.collection} {family.matrix.measure}".strip() if collections else family.matrix.measure


def _cells(comparison: Comparison, family: Family) -> dict[str, str]:
    """The mean of every system as LaTeX."""
    names = _best_first(family)
    marks = _superscripts(comparison, family)
    shown = {name: f"{family.means[family.matrix.column(name)]:.{DIGITS}f}" for name in names}
    best = shown[names[0]]
    return {
        name: (rf"\textbf{{{text}}}" if text == best else text) + (rf"$^{{{marks[name]}}}$" if marks[name] else "")
        for name, text in shown.items()
    }


def _superscripts(comparison: Comparison, family: Family) -> dict[str, str]:
    names = _best_first(family)
    if comparison.baseline is None:
        groups = family.letters(comparison.alpha) or [""] * len(names)
        return {name: rf"\mathrm{{{group}}}" if group else "" for name, group in zip(names, groups, strict=True)}
    marks = dict.fromkeys(names, "")
    for system, difference, p in zip(family.first.tolist(), family.difference, family.adjusted, strict=True):
        if not math.isnan(p) and p <= comparison.alpha:
            marks[family.matrix.systems[system]] = r"\dagger" if difference > 0 else r"\ddagger"
    return marks


def _caption(comparison: Comparison) -> str:
    measures = ", ".join(dict.fromkeys(family.matrix.measure for family in comparison.families))
    how = escape_latex(comparison.method())
    if comparison.baseline is None:
        marks = "Systems that share a letter do not differ significantly"
    else:
        name = escape_latex(comparison.baseline)
        marks = rf"$\dagger$ and $\ddagger$: significantly higher and lower than {name}"
    return f"Mean {escape_latex(measures)}; the best in bold. {marks} ({how})."
