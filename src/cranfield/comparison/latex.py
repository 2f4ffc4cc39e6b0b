"""The table of a comparison in LaTeX: systems × measures, the best in bold, significance as superscripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.comparison.result import BETTER_MARK, WORSE_MARK
from cranfield.table import DIGITS, escape_latex, one_line, printable

if TYPE_CHECKING:
    from cranfield.comparison.result import Comparison, Family


def latex(comparison: Comparison) -> str:
    r"""A booktabs `table` of means with superscripts, and a caption with test, correction, α and n.

    With a baseline, the superscript is a dagger (higher) or a double dagger (lower). Otherwise it is the groups: two
    systems differ exactly if they share none.
    """
    families = comparison.families
    several = len({family.collection for family in families}) > 1
    heads = [f"{family.collection if several else ''} {family.matrix.measure}".strip() for family in families]
    cells = [_cells(comparison, family) for family in families]
    systems = dict.fromkeys(name for column in cells for name in column)
    lines = [f"% {printable(one_line(note))}" for note in comparison.notes]
    lines += [r"\begin{table}", r"\centering", rf"\caption{{{_caption(comparison)}}}"]
    lines += [rf"\begin{{tabular}}{{l{'l' * len(families)}}}", r"\toprule"]
    lines.append(" & ".join(["System", *map(escape_latex, heads)]) + r" \\")
    lines.append(r"\midrule")
    for system in systems:
        lines.append(" & ".join([escape_latex(system), *(column.get(system, "") for column in cells)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _cells(comparison: Comparison, family: Family) -> dict[str, str]:
    """The mean of every system as LaTeX, best first."""
    signs = {BETTER_MARK: r"\dagger", WORSE_MARK: r"\ddagger", "baseline": ""}
    marks = [mark or "" for mark in comparison.marks(family)]
    if comparison.baseline is None:
        signs = {mark: rf"\mathrm{{{mark}}}" for mark in marks if mark}
    means = [f"{family.means[column]:.{DIGITS}f}" for column in family.ranking.tolist()]
    cells = {}
    for column, mean, mark in zip(family.ranking.tolist(), means, marks, strict=True):
        text = rf"\textbf{{{mean}}}" if mean == means[0] else mean
        cells[family.matrix.systems[column]] = text + (rf"$^{{{signs[mark]}}}$" if signs.get(mark) else "")
    return cells


def _caption(comparison: Comparison) -> str:
    measures = ", ".join(dict.fromkeys(family.matrix.measure for family in comparison.families))
    how = escape_latex(comparison.method())
    if comparison.baseline is None:
        marks = comparison.group_rule().capitalize() or "Groups of systems that do not differ are too many to show"
    else:
        name = escape_latex(comparison.baseline)
        marks = rf"$\dagger$ and $\ddagger$: significantly higher and lower than {name}"
    return f"Mean {escape_latex(measures)}; the best in bold. {marks} ({how})."
