"""Tables of a comparison: a row per system and a few columns per measure, letters for groups of systems, LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters, ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.table import DIGITS, Cell, Column, Estimate, Table, escape_latex, one_line, printable
from cranfield.text import enumerated

if TYPE_CHECKING:
    from cranfield.comparison.pair_tests import Family
    from cranfield.comparison.result import Comparison

BETTER_MARK, WORSE_MARK = "▲", "▼"
AGAINST_MARK = "≠"
"""After a mark: the test and the means of a pair point in opposite directions."""
OF_DIFFERENCES = "[low, high] of a difference:"
"""How notes begin that are about the intervals of differences; those of means and of groups have other beginnings."""
OF_MEANS = "[low, high]:"
OF_GROUPS = "groups"
COUNTS = "beats, loses to: the number of other systems that are significantly worse, and significantly better"
SHOWN = ("difference", "percent", "interval", "p", "effect", "wins")
"""The columns of a measure beside the mean, for comparisons with a baseline."""
MARKS = ("beats", "groups", "counts")
"""What is marked if all pairs are compared: the systems that a system beats, its groups, or how many it beats."""


@dataclass(frozen=True)
class Entry:
    """A system by one measure: its mean, its mark, and how it differs from the baseline (NaN for the baseline)."""

    mean: float
    mark: str = ""
    """With ≠ at its end if the test and the means point in opposite directions; for counts, ≠ or nothing."""
    difference: float = np.nan
    percent: float = np.nan
    """The difference in percent of the baseline's mean."""
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    effect: float = np.nan
    wins: str = ""
    """The topics won, tied and lost."""
    size: str = ""
    """The size of the difference by Spärck Jones's rule."""
    beaten: int = 0
    """Systems that are significantly worse."""
    beaten_by: int = 0


def systems_of(comparison: Comparison) -> list[str]:
    """All systems in the order of the table: the baseline, then the others, best first by the first measure."""
    names = [family.matrix.systems[column] for family in comparison.families for column in family.ranking.tolist()]
    first = [] if comparison.baseline is None else [comparison.baseline]
    return list(dict.fromkeys([*first, *names]))


def keys_of(systems: Iterable[str]) -> dict[str, str]:
    """The letter by which each system is named in the marks of others."""
    return dict(zip(systems, ascii_lowercase, strict=False))


def chosen_columns(comparison: Comparison, show: Iterable[str] | str | None, usual: Iterable[str]) -> tuple[str, ...]:
    """The columns to show beside the mean; without a baseline there are none."""
    if comparison.baseline is None:
        if show is not None:
            raise UsageError("show: the columns difference, p and others need a baseline; the pairs have them too")
        return ()
    names = tuple(usual) if show is None else column_names(show)
    return tuple(name for name in dict.fromkeys(names) if name != "difference" or "interval" not in names)


def column_names(show: Iterable[str] | str, parameter: str = "show") -> tuple[str, ...]:
    """The names in a text or a list.

    >>> column_names("percent, p")
    ('percent', 'p')
    """
    names = tuple(show.replace(",", " ").split() if isinstance(show, str) else show)
    for name in names:
        check.one_of("", SHOWN, **{parameter: name})
    return names


def chosen_marks(comparison: Comparison, marks: str | None) -> str:
    """What is marked; by default the letters of the systems that are beaten, and counts beyond 26 systems."""
    if marks is not None:
        check.one_of("compare", MARKS, marks=marks)
    if comparison.baseline is not None:
        if marks is not None:
            raise UsageError(f"marks == {marks!r} is for comparisons of all pairs; leave out the baseline")
        return "baseline"
    systems = len(systems_of(comparison))
    if marks == "beats" and systems > len(ascii_lowercase):
        raise UsageError(f"marks == 'beats' has letters for 26 systems, but there are {systems}; use 'counts'")
    return marks or ("beats" if systems <= len(ascii_lowercase) else "counts")


def entries_of(comparison: Comparison, family: Family, marks: str) -> dict[str, Entry]:
    """The entry of every system by one measure."""
    names = family.matrix.systems
    if marks == "baseline":
        return _against_baseline(comparison, family)
    worse = _worse(comparison, family)
    flags = comparison.disagreements(family)
    groups: list[str | None] = [flags.get(names[i], "") for i in family.ranking.tolist()]
    if marks == "groups":
        groups = comparison.marks(family)
    elif marks == "beats":
        keys = keys_of(systems_of(comparison))
        beaten = ("".join(sorted(keys[names[j]] for j in np.flatnonzero(worse[i]).tolist())) for i in family.ranking)
        groups = [letters + (flag or "") for letters, flag in zip(beaten, groups, strict=True)]
    return {
        names[i]: Entry(
            float(family.means[i]), mark or "", beaten=int(worse[i].sum()), beaten_by=int(worse[:, i].sum())
        )
        for i, mark in zip(family.ranking.tolist(), groups, strict=True)
    }


def _worse(comparison: Comparison, family: Family) -> NDArray[np.bool_]:
    """Systems × systems: the second is significantly worse than the first."""
    worse = np.zeros((len(family.matrix.systems),) * 2, dtype=bool)
    worse[family.beaten(comparison.alpha)] = True
    return worse


def _against_baseline(comparison: Comparison, family: Family) -> dict[str, Entry]:
    names, means = family.matrix.systems, family.means
    marks = dict(zip((names[i] for i in family.ranking.tolist()), comparison.marks(family), strict=True))
    base = int(family.second[0])
    entries = {names[base]: Entry(float(means[base]))}
    columns = (family.difference, family.tests.low, family.tests.high, family.adjusted, family.effects[0])
    counts = zip(family.win.tolist(), family.tie.tolist(), family.loss.tolist(), strict=True)
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    sizes = family.sizes.tolist() if comparison.rule_of_thumb else [""] * len(family.first)
    for i, (difference, low, high, p, effect), won, size in zip(
        family.first.tolist(), numbers, counts, sizes, strict=True
    ):
        percent = 100 * difference / means[base] if means[base] else np.nan
        entries[names[i]] = Entry(
            float(means[i]),
            marks[names[i]] or "",
            difference,
            float(percent),
            low,
            high,
            p,
            effect,
            "/".join(map(str, won)),
            size,
        )
    return entries


def heads_of(comparison: Comparison) -> list[str]:
    """The heading of each measure, with its collection if there are several."""
    several = len({family.collection for family in comparison.families}) > 1
    return [f"{family.collection if several else ''} {family.matrix.measure}".strip() for family in comparison.families]


def wide_table(comparison: Comparison, show: Iterable[str] | str | None = None, marks: str | None = None) -> Table:
    """A row per system; for each measure the mean, marks of significance, and the columns `show`."""
    kind = chosen_marks(comparison, marks)
    several = len(comparison.families) > 1
    shown = chosen_columns(comparison, show, ("difference", "p") if several else ("interval", "p", "effect", "wins"))
    shown += ("size",) * (comparison.rule_of_thumb and kind == "baseline")
    systems = systems_of(comparison)
    columns = [Column("#")] * (kind == "beats") + [Column("system")]
    keys = keys_of(systems)
    rows: list[list[Cell]] = [[keys[system], system] if kind == "beats" else [system] for system in systems]
    marked = _marked(comparison, kind)
    for family, head in zip(comparison.families, heads_of(comparison), strict=True):
        columns += _columns(comparison, family, head, marked, shown)
        entries = entries_of(comparison, family, kind)
        for row, system in zip(rows, systems, strict=True):
            row += _cells(entries.get(system), marked, shown)
    return Table(
        tuple(columns), tuple(map(tuple, rows)), notes=tuple(notes_of(comparison, kind, shown, "interval" in shown))
    )


MARKED = {"baseline": "sig", "groups": "groups", "beats": "beats"}
COUNTED = {"beats": "beaten", "loses to": "beaten_by"}
_HEADS = {"difference": ("Δ", "difference"), "percent": ("Δ %", "percent"), "interval": ("Δ", "difference"),
          "p": ("p", "probability"), "effect": ("effect", "difference"), "wins": ("w/t/l", "text"),
          "size": ("size", "text")}  # fmt: skip


def _marked(comparison: Comparison, kind: str) -> dict[str, str]:
    """{heading: field of an entry} of the columns of marks; ≠ has its own beside counts, and only where it occurs."""
    if kind != "counts":
        return {MARKED[kind]: "mark"}
    return COUNTED | ({"≠": "mark"} if any(map(comparison.disagreements, comparison.families)) else {})


def _columns(
    comparison: Comparison, family: Family, head: str, marked: Mapping[str, str], shown: Iterable[str]
) -> Iterable[Column]:
    yield Column("mean", "number", "lower" if family.lower_is_better else "higher", head)
    for name, field in marked.items():
        yield Column(name, "text" if field == "mark" else "count", group=head)
    for name in shown:
        header, cells = _HEADS[name]
        yield Column(comparison.effect if name == "effect" else header, cells, group=head)


def _cells(entry: Entry | None, marked: Mapping[str, str], shown: Iterable[str]) -> Iterable[Cell]:
    if entry is None:  # the system is not in this collection
        yield from [None] * (1 + len(marked) + len(tuple(shown)))
        return
    yield entry.mean
    yield from (getattr(entry, field) for field in marked.values())
    for name in shown:
        if name == "interval" and not np.isnan(entry.difference):
            yield Estimate("", "", entry.difference, entry.low, entry.high)
        else:
            yield getattr(entry, "difference" if name == "interval" else name)


def notes_of(comparison: Comparison, kind: str, shown: Iterable[str], intervals: bool) -> Iterable[str]:
    """The notes that belong to the columns shown; `intervals` says whether differences have intervals."""
    reading = {
        "beats": "beats: the letters (#) of the systems that are significantly worse",
        "counts": COUNTS,
    }
    described = {
        "difference": f"Δ: system − {comparison.baseline}",
        "percent": "Δ %: Δ in percent of the baseline's mean",
        "effect": f"{comparison.effect}: the effect size of Δ",
        "wins": "w/t/l: topics won, tied and lost",
    }
    for place, note in enumerate(comparison.notes):
        hidden = note.startswith(OF_MEANS) or (note.startswith(OF_DIFFERENCES) and not intervals)
        if not hidden and not (kind != "groups" and note.startswith(OF_GROUPS)):
            yield note
        if place == 1:  # after the test and the number of differences
            names = dict.fromkeys("difference" if name == "interval" else name for name in shown)
            said = [described[name] for name in names if name in described]
            yield from [*([reading[kind]] if kind in reading else []), *(["; ".join(said)] if said else [])]


# -- letters

MOST_GROUPS = 2_000
"""With more groups than this, the search for them stops."""
WIDEST = 40
"""If the groups of a system take more characters than this, they do not fit in a table."""


def letters(differ: NDArray[np.bool_]) -> list[str] | None:
    """The letters of each system, from a symmetric matrix that says which pairs differ.

    Every group is a maximal set of systems of which no two differ. Its name is a letter: a to z, then A to Z. If there
    are more than 52 groups, all have numbers instead, separated by commas. None if the groups do not fit in a table.

    Reference: Piepho, An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons, JCGS 13(2), 2004

    >>> letters(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    ['a', 'ab', 'b']
    """
    groups = _groups(differ)
    if groups is None:
        return None
    ordered = sorted(groups, key=lambda group: [i for i in range(len(differ)) if group >> i & 1])
    few = len(ordered) <= len(ascii_letters)
    names = ascii_letters if few else [str(number) for number in range(1, len(ordered) + 1)]
    shown = [
        ("" if few else ",").join(name for name, group in zip(names, ordered, strict=False) if group >> i & 1)
        for i in range(len(differ))
    ]
    return shown if max(map(len, shown), default=0) <= WIDEST else None


def _groups(differ: NDArray[np.bool_]) -> list[int] | None:
    """The maximal sets of systems of which no two differ, as bits; None if they would not fit in a table.

    These are the maximal cliques of the graph of systems that do not differ. A system that is in more than `WIDEST` of
    them needs more characters than that, so the search can stop. Reference: Bron & Kerbosch, CACM 16(9), 1973, with
    pivots that have the most neighbours
    """
    m = len(differ)
    alike = [sum(1 << j for j in range(m) if j != i and not differ[i, j]) for i in range(m)]
    groups: list[int] = []
    of_system = [0] * m

    def extend(group: int, more: int, done: int) -> bool:
        """Add the maximal sets with `group` and some of `more`, none of `done`; False to stop the search."""
        if not more and not done:
            groups.append(group)
            for i in _bits(group):
                of_system[i] += 1
                if of_system[i] > WIDEST:
                    return False
            return len(groups) <= MOST_GROUPS
        pivot = max(_bits(more | done), key=lambda i: (more & alike[i]).bit_count())
        for i in _bits(more & ~alike[pivot]):
            if not extend(group | 1 << i, more & alike[i], done & alike[i]):
                return False
            more &= ~(1 << i)
            done |= 1 << i
        return True

    return groups if extend(0, (1 << m) - 1, 0) else None


def _bits(mask: int) -> Iterator[int]:
    """The places of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


# -- LaTeX

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
    lines = [f"% {printable(one_line(note))}" for note in writer.notes()]
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
            below = [r"\multicolumn{2}{c}{Mean}", *({**HEADS, "effect": self._effect()}[name] for name in self.shown)]
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

    def notes(self) -> Iterator[str]:
        """The notes on what the table has; the caption explains its marks."""
        for note in self.comparison.notes:
            on_groups = note.startswith("groups") and self.kind != "groups"
            on_intervals = note.startswith(OF_DIFFERENCES) and "interval" not in self.shown
            of_means = note.startswith(OF_MEANS)
            if not (note.startswith(BETTER_MARK) or on_groups or on_intervals or of_means):
                yield note

    def _daggers(self, name: str) -> str:
        """What the daggers of the table mean; those that it does not have are not named."""
        marks = {entry.mark.removesuffix(AGAINST_MARK) for entries in self.entries for entry in entries.values()}
        higher, lower = (mark in marks for mark in (BETTER_MARK, WORSE_MARK))
        if higher and lower:
            return rf"$\dagger$ and $\ddagger$: significantly higher and lower than {name}"
        if higher:
            return rf"$\dagger$: significantly higher than {name}"
        if lower:
            return rf"$\ddagger$: significantly lower than {name}"
        return f"No system differs significantly from {name}"

    def _effect(self) -> str:
        r"""The effect size as a heading: d_z is $d_z$."""
        letter, _, index = self.comparison.effect.partition("_")
        return rf"${letter}_{{{index}}}$" if len(letter) == 1 and index else escape_latex(self.comparison.effect)

    def _columns(self, name: str) -> dict[str, str]:
        """What the columns beside the means are, by their headings; the words on the test say what p is."""
        meanings = {
            "difference": (HEADS["difference"], f"difference from {name}"),
            "percent": (HEADS["percent"], f"difference in percent of the mean of {name}"),
            "interval": (
                HEADS["interval"],
                f"difference from {name} with its {100 * self.comparison.interval_level:.4g}\\% interval",
            ),
            "effect": (self._effect(), "effect size of the difference"),
            "wins": (HEADS["wins"], "topics won, tied and lost"),
        }
        return dict(meanings[shown] for shown in self.shown if shown in meanings)

    def caption(self) -> str:
        comparison = self.comparison
        marked = any(entry.mark for entries in self.entries for entry in entries.values())
        measures = escape_latex(enumerated(tuple(dict.fromkeys(each.matrix.measure for each in comparison.families))))
        how = escape_latex(
            comparison.method().replace(f"({comparison.correction})", f"({comparison.correction.title()})")
        )
        if self.kind == "baseline":
            name = escape_latex(str(comparison.baseline))
            marks = self._daggers(name)
            marks += "".join(f"; {head}: {meaning}" for head, meaning in self._columns(name).items())
        elif self.kind == "groups":
            marks = comparison.group_rule().capitalize() or "Groups of systems that do not differ are too many to show"
        elif self.kind == "beats" and not marked:
            marks = "No two systems differ significantly"
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
