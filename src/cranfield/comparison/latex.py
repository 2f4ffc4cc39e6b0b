"""The table of a comparison in LaTeX: systems × measures, the best in bold, significance as superscripts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cranfield.comparison.result import AGAINST_MARK, BETTER_MARK, WORSE_MARK
from cranfield.comparison.wide_table import (
    Entry,
    chosen_columns,
    chosen_marks,
    entries_of,
    heads_of,
    keys_of,
    systems_of,
)
from cranfield.errors import UsageError
from cranfield.table import DIGITS, escape_latex, one_line, printable

if TYPE_CHECKING:
    from cranfield.comparison.result import Comparison

SIGNS = {BETTER_MARK: r"\dagger", WORSE_MARK: r"\ddagger", "baseline": "", "": ""}
HEADS = {"difference": r"$\Delta$", "percent": r"$\Delta$\,\%", "interval": r"$\Delta$ [low, high]", "p": r"$p$",
         "wins": "w/t/l"}  # fmt: skip


def latex(
    comparison: Comparison,
    show: Iterable[str] | str | None = None,
    marks: str | None = None,
    caption: str | None = None,
    label: str = "tab:comparison",
    digits: int | None = None,
) -> str:
    r"""A booktabs `table` of means with superscripts; decimal points are aligned without another package.

    With a baseline, the superscript is a dagger (higher) or a double dagger (lower). Otherwise it is the letters of the
    systems that are significantly worse, or the groups. A mean is right-aligned and its superscript is in a column of
    its own; bold digits have the width of others (`\fontseries{b}`).
    """
    if re.search(r"[{}\\%#~$&^\s]", label) or not label:
        raise UsageError(f"label == {label!r}, must be a name without blanks and LaTeX's signs, such as tab:results")
    kind = chosen_marks(comparison, marks)
    shown = chosen_columns(comparison, show, ("percent",))
    writer = _Writer(comparison, kind, shown, DIGITS if digits is None else digits)
    lines = [f"% {printable(one_line(note))}" for note in comparison.notes]
    lines += [r"\begin{table}", r"\centering", rf"\caption{{{writer.caption() if caption is None else caption}}}"]
    lines += [rf"\label{{{label}}}", *writer.tabular(), r"\end{table}"]
    return "\n".join(lines)


class _Writer:
    """What all lines of the table need."""

    def __init__(self, comparison: Comparison, kind: str, shown: Sequence[str], digits: int) -> None:
        self.comparison, self.kind, self.shown, self.digits = comparison, kind, shown, digits
        self.systems = systems_of(comparison)
        self.entries = [entries_of(comparison, family, kind) for family in comparison.families]

    def tabular(self) -> Iterator[str]:
        lettered = self.kind == "beats"
        columns = 2 + len(self.shown)  # of a measure: mean, superscript and others
        align = "".join("c" if name in ("interval", "wins") else "r" for name in self.shown)
        yield rf"\begin{{tabular}}{{{'l' * (1 + lettered)}{('r@{}l' + align) * len(self.entries)}}}"
        yield r"\toprule"
        before = [""] * lettered + ["System"]
        heads = [rf"\multicolumn{{{columns}}}{{c}}{{{escape_latex(head)}}}" for head in heads_of(self.comparison)]
        if self.shown:
            yield " & ".join([*before[:-1], "", *heads]) + r" \\"
            starts = range(len(before) + 1, len(before) + 1 + columns * len(heads), columns)
            yield " ".join(rf"\cmidrule(lr){{{start}-{start + columns - 1}}}" for start in starts)
            effect = {"effect": escape_latex(self.comparison.effect)}
            below = [r"\multicolumn{2}{c}{Mean}", *({**HEADS, **effect}[name] for name in self.shown)]
            heads = below * len(heads)
        yield " & ".join([*before, *heads]) + r" \\"
        yield r"\midrule"
        keys, bold = keys_of(self.systems), [self._best(i) for i in range(len(self.entries))]
        for system in self.systems:
            cells = [rf"\textit{{{keys[system]}}}"] if lettered else []
            cells.append(escape_latex(system))
            for entries, best in zip(self.entries, bold, strict=True):
                cells += self._cells(entries.get(system), best)
            yield " & ".join(cells) + r" \\"
            if system == self.comparison.baseline:
                yield r"\midrule"
        yield r"\bottomrule"
        yield r"\end{tabular}"

    def _best(self, measure: int) -> str:
        means = [entry.mean for entry in self.entries[measure].values() if not math.isnan(entry.mean)]
        lower = self.comparison.families[measure].lower_is_better
        return self._number((min if lower else max)(means)) if means else ""

    def _cells(self, entry: Entry | None, best: str) -> Iterator[str]:
        """The mean, its superscript, and the other columns."""
        if entry is None:
            yield from [""] * (2 + len(self.shown))
            return
        mean = self._number(entry.mean)
        yield rf"{{\fontseries{{b}}\selectfont {mean}}}" if mean == best else mean
        yield self._superscript(entry)
        for name in self.shown:
            yield "" if math.isnan(entry.difference) else self._cell(entry, name)

    def _superscript(self, entry: Entry) -> str:
        text = entry.mark.removesuffix(AGAINST_MARK)
        mark = SIGNS[text] if self.kind == "baseline" else rf"\mathrm{{{text}}}" if text else ""
        if self.kind == "counts":
            mark = str(entry.beaten) if entry.beaten else ""
        mark += r"\neq" * (text != entry.mark)
        return f"$^{{{mark}}}$" if mark else ""

    def _cell(self, entry: Entry, name: str) -> str:
        if name == "p":
            least = 10.0**-self.digits
            return f"$<${self._number(least)}" if entry.p < least else self._number(entry.p)
        if name == "wins":
            return entry.wins
        if name == "percent":
            return _signed(entry.percent, 1)
        if name == "interval":
            ends = ", ".join(_signed(end, self.digits) for end in (entry.low, entry.high))
            return f"{_signed(entry.difference, self.digits)} [{ends}]"
        return _signed(getattr(entry, name), self.digits)

    def _number(self, value: float) -> str:
        return "--" if math.isnan(value) else f"{value:z.{self.digits}f}"

    def caption(self) -> str:
        comparison = self.comparison
        measures = escape_latex(", ".join(dict.fromkeys(family.matrix.measure for family in comparison.families)))
        how = escape_latex(comparison.method())
        if self.kind == "baseline":
            name = escape_latex(str(comparison.baseline))
            marks = rf"$\dagger$ and $\ddagger$: significantly higher and lower than {name}"
            if set(self.shown) & {"difference", "percent", "interval"}:
                marks += rf"; $\Delta$: difference from {name}"
        elif self.kind == "groups":
            marks = comparison.group_rule().capitalize() or "Groups of systems that do not differ are too many to show"
        elif self.kind == "beats":
            marks = "Superscripts: the systems that are significantly worse"
        else:
            marks = "Superscripts: the number of systems that are significantly worse"
        if any(AGAINST_MARK in entry.mark for entries in self.entries for entry in entries.values()):
            marks += r"; $\neq$: the test and the means point in opposite directions, and the mark follows the test"
        return f"Mean {measures}; the best in bold. {marks} ({how})."


def _signed(value: float, digits: int) -> str:
    """A number with a sign of the width of a plus.

    >>> _signed(-0.05, 4), _signed(float("nan"), 4)
    ('$-$0.0500', '--')
    """
    if math.isnan(value):
        return "--"
    text = f"{value:+z.{digits}f}"
    return f"${text[0]}${text[1:]}"
