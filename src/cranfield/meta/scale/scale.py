"""On which scale does a measure measure? All lists of a length, put in order and spaced by their scores.

A measure is on an interval scale if a step of its values means the same wherever it is taken. Ferrante et al. take the
order of lists from two steps that make a list better without doubt (a swap, a replacement) and ask whether the values
of a measure are then equally spaced. Here it is tried out, after Ferro & Maistro 2024 §7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.frames import Tidy
from cranfield.measures import Measure
from cranfield.meta.constructed_lists import FAR, Grades, Lists, shown
from cranfield.meta.scale.scale_theory import ADMITS, proved_scale
from cranfield.table import Cell, Column, Table
from cranfield.types import Array, Index64

EVEN = 1e-6
"""Gaps that differ by a smaller share of the largest are the same."""
SAME = 1e-14
"""Scores that differ by a smaller share of the largest are the same value."""
TOO_FINE = 50 * SAME
"""Gaps of a smaller share of the largest score are within the reach of rounding errors."""
FEW_LISTS = 64
"""So many lists are shown one by one."""


@dataclass(frozen=True)
class Gap:
    """Two neighbouring values of a measure, with a list for each."""

    size: float
    low: float
    high: float
    low_list: str
    high_list: str

    def __str__(self) -> str:
        return f"{self.size:.4g} from ({self.low_list}) at {self.low:.4f} to ({self.high_list}) at {self.high:.4f}"


@dataclass(frozen=True, eq=False)
class Scale(Tidy):
    """The lists in the order of their scores, and what the spaces between these say."""

    measure: str
    kind: str
    """`nominal`, `ordinal` or `interval`: the most that holds of these lists."""
    even: bool | None
    """Are the values equally spaced? None: a sample does not contradict it, but values may be missing."""
    monotone: bool | None
    """Does no swap or replacement that betters a list lower its score? None: the measure does not rate lists."""
    order: str
    """`RBTO`, `SBTO`: it puts lists in the same order as this measure; empty if it is neither."""
    values: Array
    """All different scores, ascending."""
    level: Index64
    """Which value each list has, a list after the other as in `lists`."""
    lists: Grades
    """From the lowest score to the highest."""
    smallest: Gap | None
    largest: Gap | None
    why: str
    """What keeps it from being an interval scale; empty if nothing does."""
    looked_at: str
    sampled: bool
    notes: tuple[str, ...] = ()

    @property
    def scores(self) -> Array:
        """The score of each list."""
        return np.asarray(self.values[self.level])

    @property
    def not_refuted(self) -> bool:
        """Might it be an interval scale, for all that a sample of the lists tells?"""
        return self.sampled and self.even is None and self.kind == "ordinal"

    @property
    def unused(self) -> float:
        """The widest gap as a share of the range: how much of it no list reaches."""
        return self.largest.size / float(self.values[-1] - self.values[0]) if self.largest else 0.0

    @property
    def admits(self) -> str:
        """What Stevens' rules allow on such a scale."""
        return ADMITS[self.kind]

    def __str__(self) -> str:
        maybe = ", and the sample does not refute an interval scale" if self.not_refuted else ""
        lines = [f"{self.measure}: {_a(self.kind)} scale here{maybe} ({self.looked_at})"]
        if self.why:
            lines.append(self.why)
        lines.append(f"admits {self.admits}")
        if proved := proved_scale(self.measure):
            lines.append(proved)
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, list, score, value (its number, from 0), gap (to the next lower value); a row per list."""
        gap = np.concatenate([[np.nan], np.diff(self.values)])
        return {
            "measure": np.full(len(self.lists), self.measure, dtype=object),
            "list": np.array([shown(one) for one in self.lists.tolist()], dtype=object),
            "score": self.scores,
            "value": self.level,
            "gap": gap[self.level],
        }

    def spacing(self) -> Table:
        """A row per value, highest first: the gap to the next lower one and the lists that have it (Fig. 19)."""
        rows: list[tuple[Cell, ...]] = []
        gaps = [None, *np.diff(self.values).tolist()]
        begin = np.searchsorted(self.level, np.arange(len(self.values) + 1))
        for number in range(len(self.values) - 1, -1, -1):
            tied = self.lists[begin[number] : begin[number + 1]][::-1]
            names = "  ".join(shown(one).replace(" ", "") for one in tied[:FEW_LISTS].tolist())
            more = f"  and {len(tied) - FEW_LISTS:,} more" if len(tied) > FEW_LISTS else ""
            rows.append((float(self.values[number]), gaps[number], len(tied), names + more))
        heads = (Column("score", "number"), Column("gap", "number"), Column("count", "count"), Column("lists"))
        return Table(heads, tuple(rows), caption=self.measure, notes=(*str(self).split("\n"),))

    def table(self) -> Table:
        """One row of facts."""
        return Scales((self,)).table()


@dataclass(frozen=True, eq=False)
class Scales(Tidy):
    """Several measures on the same lists."""

    scales: tuple[Scale, ...]

    def __iter__(self) -> Iterator[Scale]:
        return iter(self.scales)

    def __len__(self) -> int:
        return len(self.scales)

    def __getitem__(self, measure: Any) -> Scale:
        """One measure's, by its name or the measure itself."""
        wanted = str(as_measures(measure)[0])
        for one in self.scales:
            if one.measure == wanted:
                return one
        raise UsageError(f"no scale of {wanted!r}; there are {', '.join(one.measure for one in self.scales)}")

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__

    def columns(self) -> dict[str, NDArray[Any]]:
        """As `Scale.columns`, measure after measure."""
        parts = [one.columns() for one in self.scales]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def table(self) -> Table:
        """A row per measure: its scale on these lists, and how its values are spaced."""
        rows: list[tuple[Cell, ...]] = []
        for one in self.scales:
            gaps = (one.smallest.size, one.largest.size) if one.smallest and one.largest else (None, None)
            count = len(one.values)
            told = one.kind + (", interval not refuted" if one.not_refuted else "")
            rows.append((one.measure, told, len(one.lists), count, *gaps, one.unused, one.order or "neither"))
        heads = (
            Column("measure"),
            Column("scale"),
            Column("lists", "count"),
            Column("values", "count"),
            Column("smallest gap", "number"),
            Column("largest gap", "number"),
            Column("of the range", "number"),
            Column("orders as"),
        )
        notes = [f"looked at: {self.scales[0].looked_at}"]
        notes += [one.why for one in self.scales if one.why]
        notes += [f"{kind} admits {ADMITS[kind]}" for kind in ADMITS if any(one.kind == kind for one in self.scales)]
        notes += [proved for one in self.scales if (proved := proved_scale(one.measure))]
        notes += [note for one in self.scales for note in one.notes]
        return Table(heads, tuple(rows), notes=tuple(dict.fromkeys(notes)))


def scale(
    measure: Any,
    length: int = 4,
    grades: int = 2,
    *,
    recall_base: int | Sequence[int] | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Scale:
    r"""Put all lists of `length` documents in the order of their scores, and see how these are spaced.

    With :math:`x_1 < x_2 < \dots < x_m` the different scores, the measure is on an *interval* scale here if all
    :math:`x_{i+1} - x_i` are the same and no step that betters a list lowers its score: neither a swap of two
    neighbours that brings the better one up, nor a replacement by a better document. It is on an *ordinal* scale if
    only the latter is true. With `grades` grades there are grades^length lists of one topic; `recall_base` is how many
    documents of each relevant grade it has (left out: `length`, so that every list is possible). Where they are too
    many to enumerate, a `sample` of them can show that values are not equally spaced, but not that they are.

    Reference: Ferrante, Ferro & Pontarollo, IEEE TKDE 31(3), 2019, doi:10.1109/TKDE.2018.2840708; Ferrante, Ferro &
    Fuhr, IEEE Access 9, 2021; Ferro & Maistro 2024 §7.7 and Fig. 19

    >>> scale("P@4").kind, scale("RBP(p=0.5)").kind, scale("AP").kind
    ('interval', 'interval', 'ordinal')
    >>> print(scale("AP").largest)
    0.25 from (1 1 1 0) at 0.7500 to (1 1 1 1) at 1.0000
    """
    (only,) = scales([measure], length, grades, recall_base=recall_base, sample=sample, seed=seed).scales
    return only


def scales(
    measures: Any,
    length: int = 4,
    grades: int = 2,
    *,
    recall_base: int | Sequence[int] | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Scales:
    """As `scale`, for several measures on the same lists."""
    wanted = as_measures(measures)
    made = Lists.of(length, grades, recall_base, sample=sample, seed=seed)
    return Scales(tuple(_scale(measure, made) for measure in wanted))


def _scale(measure: Measure, made: Lists) -> Scale:
    found = made.score(measure)
    there = np.isfinite(found)
    notes: list[str] = []
    if not there.any():
        raise UsageError(f"{measure} has no value for any list of {made.length} documents; take longer ones")
    if not there.all():
        notes.append(f"{measure} has no finite value for {int((~there).sum()):,} of {len(found):,} lists")
    if measure.k is not None and measure.cutoff_kind == "rank" and measure.k < made.length:
        notes.append(f"{measure} looks at {measure.k} of {made.length} documents: lists that differ below are tied")
    if measure.needs in ("lengths", "scores"):
        same = "all documents are of the same length" if measure.needs == "lengths" else "the score at rank r is 1/r"
        notes.append(f"{measure}: {same}")
    order = np.argsort(found[there], kind="stable")
    ascending = found[there][order]
    lists = made.lists[there][order]
    values, level = _values(ascending)
    monotone, lowered = (None, "") if measure.properties.better == "neither" else _monotone(measure, made, found)
    smallest, largest = _gaps(values, level, lists, made.sample is not None)
    tiny = TOO_FINE * max(1.0, float(np.abs(values).max()))
    too_fine = smallest is not None and smallest.size < tiny
    even = None if too_fine else _even(smallest, largest, made.sample is not None)
    if too_fine:
        notes.append(f"{measure}: some values are closer than floating point can tell apart; take shorter lists")
    kind = "nominal" if monotone is False or len(values) < 2 else "interval" if even else "ordinal"
    if len(values) == 2:
        notes.append(f"{measure} has two values only, which are equally spaced for want of a third")
    if measure.properties.better == "lower":
        notes.append(f"{measure}: lower is better; scores are shown with the sign changed")
    why = lowered
    if not lowered and even is False and smallest and largest:
        why = f"{measure} is no interval scale here: its values are {smallest}, but {largest}".replace(
            f"{smallest.size:.4g} from", f"{smallest.size:.4g} apart from", 1
        )
    if len(values) < 2:
        why = f"{measure} gives all lists the same score"
    return Scale(
        str(measure),
        kind,
        even,
        monotone,
        _order(made, found) if there.all() else "",
        values,
        level,
        lists,
        smallest,
        largest,
        why,
        made.note(),
        made.sample is not None,
        tuple(notes),
    )


def _values(ascending: Array) -> tuple[Array, Index64]:
    """The different scores, and which of them each list has; rounding errors make no difference."""
    tolerance = SAME * max(1.0, float(np.abs(ascending).max()))
    first = np.concatenate([[True], np.diff(ascending) > tolerance])
    return np.asarray(ascending[first]), np.asarray(np.cumsum(first) - 1)


def _gaps(values: Array, level: Index64, lists: Grades, sampled: bool) -> tuple[Gap | None, Gap | None]:
    """The smallest and the largest; in a sample the larger of those at both ends, the others being no true ones."""
    gaps = np.diff(values)
    if not len(gaps):
        return None, None
    first = np.searchsorted(level, np.arange(len(values)))

    def gap(at: int) -> Gap:
        low, high = (shown(lists[first[number]].tolist()) for number in (at, at + 1))
        return Gap(float(gaps[at]), float(values[at]), float(values[at + 1]), low, high)

    widest = np.argmax(gaps) if not sampled else (len(gaps) - 1 if gaps[-1] > gaps[0] else 0)
    return gap(int(np.argmin(gaps))), gap(int(widest))


def _even(smallest: Gap | None, largest: Gap | None, sampled: bool) -> bool | None:
    """Are values equally spaced? A sample may lack some, and can only tell that they are not."""
    if smallest is None or largest is None:
        return True
    rounding = 4 * SAME * max(1.0, abs(smallest.high), abs(largest.high))
    if largest.size - smallest.size > EVEN * largest.size + rounding:
        return False
    return None if sampled else True


def _monotone(measure: Measure, made: Lists, scores: Array) -> tuple[bool, str]:
    """Does every step that betters a list leave its score as high, or raise it? Else the step that lowers it most."""
    worst, told = 0.0, ""
    for kind in ("swap", "replacement"):
        for steps in made.steps(measure, scores, kind):
            lost = steps.score_before - steps.score_after
            if len(lost) and float(np.nanmax(lost, initial=0.0)) > max(worst, FAR):
                at = int(np.nanargmax(lost))
                worst = float(lost[at])
                before, after = (shown(lists[at].tolist()) for lists in (steps.before, steps.after))
                told = (
                    f"{measure} is no ordinal scale here: ({after}) is better than ({before}) by a {kind}, but scores "
                    f"{steps.score_after[at]:.4f}, and that {steps.score_before[at]:.4f}"
                )
    return not told, told


def _order(made: Lists, scores: Array) -> str:
    """Which of the two total orders of Ferrante et al. the scores put lists in, ties in the same places."""
    tolerance = SAME * max(1.0, float(np.abs(scores).max()))
    if bool(np.all(np.diff(scores) > tolerance)):  # lists are made in the order of RBTO
        return "RBTO"
    number = made.set_number()
    order = np.argsort(number, kind="stable")
    up, step = np.diff(number[order]) > 0, np.diff(scores[order])
    same = bool(np.all(step[up] > tolerance)) and bool(np.all(np.abs(step[~up]) <= tolerance))
    return "SBTO" if same else ""


def _a(kind: str) -> str:
    return f"{'a' if kind == 'nominal' else 'an'} {kind}"
