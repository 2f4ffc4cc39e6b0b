"""An order of lists by preferences that the user gives: its Hasse diagram, and the interval measure it induces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Schema, Words
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike, as_measures
from cranfield.measures import Measure
from cranfield.meta.synthetic_lists import FAR, SyntheticLists, assess_lists, check_plain_lists, higher_better
from cranfield.meta.synthetic_lists import list_text as text_of_list
from cranfield.notes import Notes
from cranfield.record import Columns, Record, column, table_of
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Array, Index64

LIST_PREFERENCES = Schema(
    "better worse",
    better=Words(("better", "preferred", "winner", "first")),
    worse=Words(("worse", "other", "loser", "second")),
)
MOST_LISTS = 2000
"""Lists that an order may have: time and memory grow with the square of their number."""

List = tuple[int, ...]
Mask = NDArray[np.bool_]


def list_of(text: str) -> List:
    """Grades from the top, with blanks or as digits.

    >>> list_of("1 0 2"), list_of("102")
    ((1, 0, 2), (1, 0, 2))
    """
    parts = text.replace(",", " ").split()
    if len(parts) == 1:
        parts = list(parts[0])
    if not parts or not all(part.isdecimal() and part.isascii() and int(part) < 100 for part in parts):
        raise UsageError(f"list {text!r}, must be grades from the top, such as 1 0 1 or 101")
    return tuple(map(int, parts))


def read_list_preferences(path: PathLike) -> list[tuple[List, List]]:
    """Pairs of lists, the better one first, from a table with the columns better and worse."""
    rows = LIST_PREFERENCES.read(path)
    pairs = []
    for at, texts in enumerate(rows):
        try:
            better, worse = map(list_of, texts)
        except UsageError as error:
            raise rows.fault(at, str(error)) from None
        pairs.append((better, worse))
    return pairs


@dataclass(frozen=True, eq=False, repr=False)
class ListOrder(Record):
    """The lists with their values on the scale that the order induces, the best first."""

    caption = "Lists in the order of the preferences"
    figure = "describe_list_order"
    facts = ("interval", "total")

    lists: Annotated[tuple[str, ...], column("list")]
    value: Annotated[Array, column(better="higher")]
    """The number of steps from the worst list below it, from 0 to 1."""
    level: Annotated[Index64, column("steps")]
    better_than: Annotated[tuple[str, ...], column("just above")]
    """The lists that it is better than, without another list between them."""
    scores: Array
    """measures × lists, higher is better."""
    measures: tuple[str, ...]
    above: Mask
    """lists × lists: is the first better than the second?"""
    covers: Mask
    """Those with no list between them: the edges of the Hasse diagram."""
    interval: bool
    """Do all ways from one list down to another have the same number of steps? Then the value is on an interval scale
    of this order."""
    total: bool
    """Does the order say of every two lists which is better?"""
    notes: tuple[str, ...]

    def columns(self) -> Columns:
        """Also the scores by the measures."""
        return super().columns() | dict(zip(self.measures, self.scores, strict=True))

    def distances(self) -> Table:
        """A row per measure: how often it keeps the order, and how far it is from the value."""
        rows: dict[str, list[Any]] = {
            name: [] for name in ("measure", "agrees", "ties", "contradicts", "r", "off", "contradiction")
        }
        better, worse = np.nonzero(self.above)
        for name, scores in zip(self.measures, self.scores, strict=True):
            difference = scores[better] - scores[worse]
            low = difference < -FAR
            cells = [int((difference > FAR).sum()), int((np.abs(difference) <= FAR).sum()), int(low.sum())]
            r, off = fit(self.value, scores)
            at = int(np.argmin(difference)) if low.any() else -1
            example = "" if at < 0 else f"{self.lists[worse[at]]} above {self.lists[better[at]]}"
            for column_name, cell in zip(rows, [name, *cells, r, off, example], strict=True):
                rows[column_name].append(cell)
        return table_of(
            rows, caption="Measures beside the order", better={"agrees": "higher", "r": "higher", "off": "lower"},
            notes=self.notes,
        )  # fmt: skip


def fit(value: Array, scores: Array) -> tuple[float, float]:
    """Pearson's r, and the root mean square distance of the scores from the best line, as a share of their range.

    >>> fit(np.array([0.0, 0.5, 1.0]), np.array([0.2, 0.4, 0.6]))
    (1.0, 0.0)
    """
    spread = float(np.ptp(scores))
    if spread <= FAR or np.ptp(value) <= FAR:
        return float("nan"), float("nan")
    r = float(np.corrcoef(value, scores)[0, 1])
    slope, base = np.polyfit(value, scores, 1)
    off = float(np.sqrt(np.mean((scores - base - slope * value) ** 2)) / spread)
    return round(r, 12), round(off, 12)


@operation
def list_order(
    preferences: Iterable[tuple[List, List]] | PathLike,
    measures: MeasuresLike | None = None,
    *,
    with_steps: Annotated[
        bool,
        about("Also prefer a list to one with a worse document in the same place, or with two neighbours swapped up."),
    ] = False,
) -> ListOrder:
    r"""The order of lists that follows from preferences, the measure that it induces, and how far measures are from it.

    preferences: pairs of lists of one length, the better one first; a list is its grades from the top.

    The order is the transitive closure: if a is better than b and b than c, a is better than c. With `with_steps`, all
    lists of the length belong to it, and a list is better than one that a replacement by a worse document, or a swap
    that moves the better of two neighbours down, makes of it. Preferences in a circle are an error that names them.

    a *covers* b if it is better and no list is between them. The value of a list is the length of the longest way down
    from it,

    .. math:: \rho(a) = \max_{a \text{ covers } b} \rho(b) + 1, \quad \rho = 0 \text{ without such } b

    divided by the largest. If :math:`\rho(a) = \rho(b) + 1` wherever a covers b, all ways between two lists are equally
    long, and the value is on an interval scale of this order; otherwise none is. `distances` counts the pairs of the
    order that a measure keeps, ties or turns, and fits a line to its scores.

    Reference: Ferrante, Ferro & Pontarollo, IEEE TKDE 31(3), 2019, doi:10.1109/TKDE.2018.2840708; Ferro & Maistro 2024,
    §7.7

    >>> order = list_order([((1, 1), (1, 0)), ((1, 0), (0, 1)), ((0, 1), (0, 0))], ["P@2", "RBP(p=0.5)"])
    >>> order.value.round(2).tolist(), order.interval, order.total
    ([1.0, 0.67, 0.33, 0.0], True, True)
    >>> [row[1:4] for row in order.distances().rows]  # P ties 10 and 01
    [(5, 1, 0), (6, 0, 0)]
    """
    given = (
        list(preferences) if not isinstance(preferences, str) and not hasattr(preferences, "__fspath__")
        else read_list_preferences(preferences)  # type: ignore[arg-type]
    )  # fmt: skip
    pairs = [(tuple(map(int, a)), tuple(map(int, b))) for a, b in given]
    if not pairs:
        raise UsageError("list_order: no preferences")
    lengths = {len(one) for pair in pairs for one in pair}
    if len(lengths) > 1:
        raise UsageError(
            f"list_order: lists of {' and '.join(map(str, sorted(lengths)))} documents, must be of one length"
        )
    (length,) = lengths
    highest = max(1, *(grade for pair in pairs for one in pair for grade in one))
    if with_steps:
        every = SyntheticLists.of(length, highest + 1)
        lists = [tuple(row) for row in every.lists.tolist()]
    else:
        lists = sorted({one for pair in pairs for one in pair}, reverse=True)
    if len(lists) > MOST_LISTS:
        raise UsageError(f"list_order: {len(lists):,} lists, at most {MOST_LISTS:,}; use shorter ones or fewer grades")
    place = {one: at for at, one in enumerate(lists)}
    better = np.zeros((len(lists), len(lists)), dtype=bool)
    for a, b in [*pairs, *(_steps(lists, highest) if with_steps else ())]:
        better[place[a], place[b]] = True
    above = closure(better)
    if above.diagonal().any():
        raise UsageError(f"list_order: preferences in a circle: {_circle(better, above, lists)}; leave one of them out")
    covers = above & ~(above.astype(np.float32) @ above.astype(np.float32) > 0)
    level = _levels(covers)
    interval = bool((level[np.nonzero(covers)[0]] == level[np.nonzero(covers)[1]] + 1).all())
    total = bool((above | above.T | np.eye(len(lists), dtype=bool)).all())
    chosen = as_measures(measures) if measures is not None else []
    scores = np.array([_scored(measure, lists, highest) for measure in chosen]).reshape(len(chosen), len(lists))
    order = np.lexsort((np.arange(len(lists)), -level))
    texts = [_text(lists[at], highest) for at in order.tolist()]
    above, covers = above[np.ix_(order, order)], covers[np.ix_(order, order)]
    below = tuple(", ".join(texts[at] for at in np.flatnonzero(row).tolist()) for row in covers)
    notes = _notes(above, interval, total, length, bool(chosen))
    return ListOrder(
        tuple(texts), level[order] / max(1, int(level.max())), level[order], below, scores[:, order],
        tuple(map(str, chosen)), above, covers, interval, total, notes,
    )  # fmt: skip


def closure(better: Mask) -> Mask:
    """Everything that is better by any number of steps.

    >>> closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    above = better.copy()
    while True:
        further = above | (above.astype(np.float32) @ above.astype(np.float32) > 0)
        if (further == above).all():
            return above
        above = further


def _steps(lists: list[List], highest: int) -> Iterable[tuple[List, List]]:
    for one in lists:
        for at, grade in enumerate(one):
            if grade > 0:
                yield one, (*one[:at], grade - 1, *one[at + 1 :])
            if at + 1 < len(one) and grade > one[at + 1]:
                yield one, (*one[:at], one[at + 1], grade, *one[at + 2 :])


def _levels(covers: Mask) -> Index64:
    level = np.zeros(len(covers), dtype=np.int64)
    while True:
        higher = np.where(covers, level[None, :] + 1, 0).max(axis=1, initial=0)
        if (higher == level).all():
            return level
        level = higher


def _circle(better: Mask, above: Mask, lists: list[List]) -> str:
    """A shortest circle."""
    names = [_text(one, 9) for one in lists]
    best: list[int] = []
    for start in np.flatnonzero(above.diagonal()).tolist():
        before, queue = {start: -1}, [start]
        while queue:
            here = queue.pop(0)
            if better[here, start]:
                way = [here]
                while before[way[-1]] >= 0:
                    way.append(before[way[-1]])
                best = way[::-1] if not best or len(way) < len(best) else best
                break
            for there in np.flatnonzero(better[here]).tolist():
                if there not in before:
                    before[there] = here
                    queue.append(there)
    return " > ".join(names[at] for at in [*best, best[0]])


def _scored(measure: Measure, lists: list[List], highest: int) -> Array:
    check_plain_lists(measure)
    length = len(lists[0])
    judged = [float(grade) for grade in range(highest + 1) for _ in range(length)]
    assessed = assess_lists(np.array(lists, dtype=np.float64), judged, highest, scores=measure.needs == "scores")
    return higher_better(measure, measure.evaluate(assessed))


def _text(one: List, highest: int) -> str:
    return "".join(map(str, one)) if highest < 10 else text_of_list(one)


def _notes(above: Mask, interval: bool, total: bool, length: int, scored: bool) -> tuple[str, ...]:
    notes = Notes()
    size = len(above)
    known, pairs = int(above.sum()), size * (size - 1) // 2
    notes.method(
        f"{counted(size, 'list')} of {counted(length, 'document')}; {known:,} of {counted(pairs, 'pair')} ordered"
        + (", a total order" if total else "")
    )
    if interval:
        notes.method("all ways between two lists have the same number of steps: the value is on an interval scale")
    else:
        notes.caution(
            "ways between two lists have different numbers of steps, so no measure is on an interval scale of this "
            "order; the value counts the longest"
        )
    if scored:
        notes.method(
            "r and off compare scores with the value: off is the root mean square distance from the best line, as a "
            "share of the range of scores; the topic has as many documents of each grade as a list holds"
        )
    return tuple(notes)
