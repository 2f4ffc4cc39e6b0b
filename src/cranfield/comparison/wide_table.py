"""The table of a comparison as papers print it: a row per system, and a few columns per measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.table import Cell, Column, Estimate, Table

if TYPE_CHECKING:
    from cranfield.comparison.result import Comparison, Family

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
    for i, (difference, low, high, p, effect), won in zip(family.first.tolist(), numbers, counts, strict=True):
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
          "p": ("p", "probability"), "effect": ("effect", "difference"), "wins": ("w/t/l", "text")}  # fmt: skip


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
            yield Estimate("", "", entry.difference, entry.low, entry.high, 0, 0, 0)
        else:
            yield getattr(entry, "difference" if name == "interval" else name)


def notes_of(comparison: Comparison, kind: str, shown: Iterable[str], intervals: bool) -> Iterable[str]:
    """The notes that belong to the columns shown; `intervals` says whether differences have intervals."""
    from cranfield.comparison.result import COUNTS, OF_DIFFERENCES, OF_GROUPS, OF_MEANS

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
