"""Which scale is a measure on? On an interval scale, equal differences of values mean the same everywhere.

This module tests it by enumeration, after Ferro & Maistro 2024 §7, and knows what was proved about some measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.check import index_of
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike, as_measures
from cranfield.measures import Measure
from cranfield.measures.base import REGISTRY
from cranfield.measures.property_tables import RATIO_GRADES, scale_of
from cranfield.meta.synthetic_lists import FAR, Grades, SyntheticLists, list_text
from cranfield.notes import Notes, method_note, shown_notes
from cranfield.record import Columns, Record, labels, stacked
from cranfield.table import Cell, Column, Table, headings
from cranfield.types import Array, Index64

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
    return [method_note(f"proved, on the total orders of lists: {results} ({THEORY})")] if results else []


def _studied(measure: Any) -> str:
    """The name of a measure that Ferrante et al. studied; otherwise empty."""
    try:
        name: str = as_measures(measure)[0].name
    except UsageError:
        return ""
    return name if name in PROVED else ""


def proved_scales(measures: MeasuresLike | None = None) -> Table:
    """The results of Ferrante et al. for some measures, by default for all that they studied, as a table."""
    chosen = as_measures(list(PROVED) if measures is None else measures)
    rows = tuple((str(it), PROVED.get(it.name, "not studied"), scale_of(it).words) for it in chosen)
    heads = (Column("measure"), Column("proved to be"), Column("told by `compare` as"))
    notes = [f"on {ORDERS['total']}", THEORY]
    if measures is None:
        notes.append(f"RBP is shown with its default, p = {REGISTRY['RBP']().p}; RBP(p=0.5) is interval")  # type: ignore[attr-defined]
    return Table(heads, rows, caption="Scales of measures, for a single topic", notes=tuple(notes))


EVEN, SAME = 1e-6, 1e-14
"""Gaps, and scores, are equal if they differ by less than this share of the largest."""
TOO_FINE = 50 * SAME
"""Gaps below this share of the largest score may be rounding errors."""
SUMS = "sum of grades"
MOST_SHOWN = 64
"""The largest number of tied lists to show."""


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


@dataclass(frozen=True, eq=False, repr=False)
class Scale(Record):
    """The lists in the order of their scores, and the gaps between the scores."""

    figure = "scale_figure"
    facts = ("measure", "kind", "relative_to", "even", "monotone", "order", "unused", "why", "looked_at", "sampled")

    measure: str
    kind: str
    """`interval`, `ordinal` or `neither`: the strongest scale that fits these lists, on the order `relative_to`."""
    relative_to: str
    """The order of lists that an ordinal scale must keep: `total` or `partial`."""
    even: bool | None
    """Are the values equally spaced? None: the sample does not contradict it, but may lack values."""
    monotone: bool | None
    """Does a swap or replacement that improves a list never lower its score? None: the measure does not rate lists."""
    order: str
    """`RBTO`, `SBTO` or `sum of grades` if the measure orders lists as that does, ties included; otherwise empty."""
    values: Array
    """The distinct scores, ascending."""
    level: Index64
    """For each of `lists`, the index of its value."""
    lists: Grades
    """From the lowest score to the highest."""
    smallest: Gap | None
    largest: Gap | None
    why: str
    """Why it is not an interval scale; empty if it is one."""
    looked_at: str
    sampled: bool
    notes: tuple[str, ...] = ()

    @property
    def scores(self) -> Array:
        return np.asarray(self.values[self.level])

    @property
    def not_refuted(self) -> bool:
        """Could it be an interval scale, judging from a sample of the lists?"""
        return self.sampled and self.even is None and self.kind == "ordinal"

    @property
    def unused(self) -> float:
        """The widest gap as a share of the range of scores."""
        return self.largest.size / float(self.values[-1] - self.values[0]) if self.largest else 0.0

    @property
    def admits(self) -> str:
        """The statistics that Stevens' rules allow on this scale."""
        return ADMITS[self.kind]

    def __str__(self) -> str:
        maybe = ", and the sample does not refute an interval scale" if self.not_refuted else ""
        kind = f"{KINDS[self.kind]} here{maybe}, on {ORDERS[self.relative_to]}"
        lines = [f"{self.measure}: {kind} ({self.looked_at})"]
        if self.why:
            lines.append(self.why)
        lines.append(f"admits {self.admits}")
        if proved := proved_scale(self.measure):
            lines.append(proved)
        return "\n".join([*lines, *shown_notes(self.notes)])

    def columns(self) -> Columns:
        """measure, list, score, value (its index, from 0), gap (to the next lower value); a row per list."""
        gap = np.concatenate([[np.nan], np.diff(self.values)])
        return {
            "measure": np.full(len(self.lists), self.measure, dtype=object),
            "list": labels(map(list_text, self.lists.tolist())),
            "score": self.scores,
            "value": self.level,
            "gap": gap[self.level],
        }

    def spacing(self) -> Table:
        """A row per value, highest first: the gap to the next lower value and the lists with this value (Fig. 19)."""
        rows: list[tuple[Cell, ...]] = []
        gaps = [None, *np.diff(self.values).tolist()]
        begin = np.searchsorted(self.level, np.arange(len(self.values) + 1))
        for number in range(len(self.values) - 1, -1, -1):
            tied = self.lists[begin[number] : begin[number + 1]][::-1]
            texts = "  ".join(list_text(grades).replace(" ", "") for grades in tied[:MOST_SHOWN].tolist())
            more = f"  and {len(tied) - MOST_SHOWN:,} more" if len(tied) > MOST_SHOWN else ""
            rows.append((float(self.values[number]), gaps[number], len(tied), texts + more))
        heads = (*headings("number", "score", "gap"), *headings("count", "count"), *headings("text", "lists"))
        return Table(heads, tuple(rows), caption=self.measure, notes=(*str(self).split("\n"),))

    def table(self) -> Table:
        return Scales((self,)).table()


@dataclass(frozen=True, eq=False, repr=False)
class Scales(Record):
    """Several measures on the same lists."""

    figure = "spacing_figure"

    scales: tuple[Scale, ...]

    def __iter__(self) -> Iterator[Scale]:
        return iter(self.scales)

    def __len__(self) -> int:
        return len(self.scales)

    def __getitem__(self, measure: Any) -> Scale:
        """The scale of one measure, given as a measure or by its name."""
        return self.scales[index_of(str(as_measures(measure)[0]), [scale.measure for scale in self.scales], "scale")]

    @property
    def notes(self) -> tuple[str, ...]:
        """The lists, why measures are not on an interval scale, what their scales admit, and what was proved."""
        notes = [
            method_note(f"scale: on {ORDERS[self.scales[0].relative_to]}"),
            method_note(f"looked at: {self.scales[0].looked_at}"),
        ]
        notes += [scale.why for scale in self.scales if scale.why]
        kinds = {scale.kind for scale in self.scales}
        notes += [method_note(f"{KINDS[kind]} admits {ADMITS[kind]}") for kind in KINDS if kind in kinds]
        notes += proved_note(scale.measure for scale in self.scales)
        notes += [note for scale in self.scales for note in scale.notes]
        return tuple(dict.fromkeys(notes))

    def columns(self) -> Columns:
        """The columns of each `Scale`, one measure after the other."""
        return stacked(self.scales)

    def table(self) -> Table:
        """A row per measure: its scale on these lists, and the gaps between its values."""
        rows: list[tuple[Cell, ...]] = []
        for scale in self.scales:
            kind = KINDS[scale.kind] + (", interval not refuted" if scale.not_refuted else "")
            counts = (len(scale.lists), len(scale.values))
            gaps = (scale.smallest.size, scale.largest.size) if scale.smallest and scale.largest else (None, None)
            rows.append((scale.measure, kind, *counts, *gaps, scale.unused, scale.order or "neither"))
        heads = (
            *headings("text", "measure", "scale"),
            *headings("count", "lists", "values"),
            *headings("number", "smallest gap", "largest gap", "of the range"),
            *headings("text", "orders as"),
        )
        return Table(heads, tuple(rows), notes=self.notes)


def scale(
    measure: Any,
    length: int = 4,
    grades: int = 2,
    *,
    recall_base: int | Sequence[int] | None = None,
    relative_to: str = "total",
    draw: int | None = None,
    seed: int = 0,
) -> Scale:
    r"""Order all lists of `length` documents by their scores, and look at the gaps between the scores.

    A scale is relative to an order of lists. By default (`relative_to="total"`) the measure is on an *ordinal* scale if
    it orders all lists as RBTO (by rank), or as SBTO or the sum of grades (by set) does, ties included. With
    `relative_to="partial"` it is enough that no step that improves a list lowers its score: neither a swap of two
    neighbours that moves the better one up, nor a replacement by a better document. With
    :math:`x_1 < x_2 < \dots < x_m` the distinct scores, it is on an *interval* scale if it keeps one of the total
    orders and all :math:`x_{i+1} - x_i` are equal.

    With `grades` grades there are grades^length lists of one topic; `recall_base` is the topic's number of documents of
    each relevant grade (default: `length`, so that every list is possible). If there are too many lists to enumerate, a
    sample (`draw` lists) can show that values are not equally spaced, but not that they are.

    Reference: Ferrante, Ferro & Pontarollo, IEEE TKDE 31(3), 2019, doi:10.1109/TKDE.2018.2840708; Ferrante, Ferro &
    Fuhr, IEEE Access 9, 2021; Ferro & Maistro 2024 §7.7–7.8 and Fig. 19

    >>> scale("P@4").kind, scale("RBP(p=0.5)").kind, scale("RBP(p=0.2)").kind, scale("AP").kind
    ('interval', 'interval', 'ordinal', 'neither')
    >>> scale("AP", relative_to="partial").kind
    'ordinal'
    >>> print(scale("AP").largest)
    0.25 from (1 1 1 0) at 0.7500 to (1 1 1 1) at 1.0000
    """
    settings = {"recall_base": recall_base, "relative_to": relative_to, "draw": draw, "seed": seed}
    return scales([measure], length, grades, **settings).scales[0]  # type: ignore[arg-type]


@operation
def scales(
    measures: MeasuresLike,
    length: Annotated[int, about("The number of documents in the lists.", least=1, spelled="--length N")] = 4,
    grades: Annotated[
        int, about("The number of grades including 0; 2 is binary.", least=2, spelled="--number-of-grades N")
    ] = 2,
    *,
    recall_base: Annotated[
        int | Sequence[int] | None,
        about(
            "Documents of each relevant grade: one number, or one per grade separated by commas; default: the length.",
            least=0,
            spelled="--recall-base R",
        ),
    ] = None,
    relative_to: Annotated[
        str,
        about(
            "The order of lists that an ordinal scale must keep: total (RBTO by rank, SBTO or sums of grades by set), "
            "or partial (swaps and replacements).",
            choices=tuple(ORDERS),
            spelled="--relative-to ORDER",
        ),
    ] = "total",
    draw: Annotated[
        int | None,
        about("Draw this many lists at random if there are too many.", least=1, solves="draw="),
    ] = None,
    seed: Seed = 0,
) -> Scales:
    """As `scale`, for several measures on the same lists."""
    chosen = as_measures(measures)
    lists = SyntheticLists.of(length, grades, recall_base, sample=draw, seed=seed)
    return Scales(tuple(_scale(measure, lists, relative_to) for measure in chosen))


def _scale(measure: Measure, synthetic: SyntheticLists, relative_to: str) -> Scale:
    scores = synthetic.score(measure)
    finite = np.isfinite(scores)
    sampled = synthetic.sample is not None
    notes = Notes()
    if not finite.any():
        raise UsageError(f"{measure} has no value for any list of {synthetic.length} documents; use longer lists")
    if not finite.all():
        notes.caution(f"{measure} has no finite value for {int((~finite).sum()):,} of {len(scores):,} lists")
    if measure.k is not None and measure.cutoff_kind == "rank" and measure.k < synthetic.length:
        notes.caution(f"{measure} uses {measure.k} of {synthetic.length} documents: lists that differ below are tied")
    if measure.needs in ("lengths", "scores"):
        same = "all documents have the same length" if measure.needs == "lengths" else "the score at rank r is 1/r"
        notes.append(f"{measure}: {same}")
    ascending = np.argsort(scores[finite], kind="stable")
    lists = synthetic.lists[finite][ascending]
    values, level = distinct(scores[finite][ascending])
    rates = measure.properties.better != "neither"
    monotone, why = _monotone(measure, synthetic, scores) if rates else (None, "")
    smallest, largest = _gaps(values, level, lists, sampled)
    too_fine = smallest is not None and smallest.size < TOO_FINE * max(1.0, float(np.abs(values).max()))
    even = None if too_fine else _even(smallest, largest, sampled)
    if too_fine:
        notes.caution(f"{measure}: some values are closer than floating point can separate; use shorter lists")
    order, against = _order(synthetic, scores, measure, too_fine) if finite.all() else ("", "")
    ordinal = monotone is not False if relative_to == "partial" else bool(order)
    kind = "neither" if not ordinal or len(values) < 2 else "interval" if even and order else "ordinal"
    if order == SUMS and kind == "interval":
        notes.caution(f"{measure} is interval here because grade 2 counts as twice grade 1: {RATIO_GRADES}")
    if synthetic.grades > 2 and kind != "interval" and rates and _binary_interval(measure):
        notes.append(f"{measure} makes relevance binary, and is interval for lists of two grades, as `compare` says")
    if len(values) == 2:
        notes.append(f"{measure} has only two values, so they are equally spaced")
    if measure.properties.better == "lower":
        notes.caution(f"{measure}: lower is better; scores are shown with the sign changed")
    if not why and kind != "interval" and not (sampled and order):
        reasons = [against] if not order else []
        if even is False and smallest and largest:
            apart = str(smallest).replace(" from", " apart from", 1)
            reasons.append(f"its values are {apart}, but {largest}")
        what = "neither ordinal nor interval" if kind == "neither" else "not an interval scale"
        why = f"{measure} is {what} here: {'; '.join(filter(None, reasons))}" if any(reasons) else ""
    if len(values) < 2:
        why = f"{measure} gives all lists the same score"
    return Scale(
        str(measure), kind, relative_to, even, monotone, order, values, level, lists, smallest, largest, why,
        synthetic.note(), sampled, tuple(notes),
    )  # fmt: skip


def _binary_interval(measure: Measure) -> bool:
    """Is this a measure of binary relevance that is on an interval scale?"""
    told = scale_of(measure)
    return told.kind in ("interval", "ratio") and RATIO_GRADES not in told.conditions


def distinct(ascending: Array) -> tuple[Array, Index64]:
    """The distinct scores, up to rounding errors, and for each list the index of its score."""
    tolerance = SAME * max(1.0, float(np.abs(ascending).max()))
    first = np.concatenate([[True], np.diff(ascending) > tolerance])
    return np.asarray(ascending[first]), np.asarray(np.cumsum(first) - 1)


def _gaps(values: Array, level: Index64, lists: Grades, sampled: bool) -> tuple[Gap | None, Gap | None]:
    """The smallest and the largest gap; in a sample only the two gaps at the ends are exact, so take the larger."""
    gaps = np.diff(values)
    if not len(gaps):
        return None, None
    first = np.searchsorted(level, np.arange(len(values)))

    def gap(at: int) -> Gap:
        low, high = (list_text(lists[first[number]].tolist()) for number in (at, at + 1))
        return Gap(float(gaps[at]), float(values[at]), float(values[at + 1]), low, high)

    widest = np.argmax(gaps) if not sampled else (len(gaps) - 1 if gaps[-1] > gaps[0] else 0)
    return gap(int(np.argmin(gaps))), gap(int(widest))


def _even(smallest: Gap | None, largest: Gap | None, sampled: bool) -> bool | None:
    """Are values equally spaced? A sample may lack values, and can only show that they are not."""
    if smallest is None or largest is None:
        return True
    rounding = 4 * SAME * max(1.0, abs(smallest.high), abs(largest.high))
    if largest.size - smallest.size > EVEN * largest.size + rounding:
        return False
    return None if sampled else True


def _monotone(measure: Measure, synthetic: SyntheticLists, scores: Array) -> tuple[bool, str]:
    """Does no step that improves a list lower its score? If one does, also describe the worst such step."""
    worst, why = 0.0, ""
    for kind in ("swap", "replacement"):
        for steps in synthetic.steps(measure, scores, kind):
            lost = steps.score_before - steps.score_after
            if len(lost) and float(np.nanmax(lost, initial=0.0)) > max(worst, FAR):
                at = int(np.nanargmax(lost))
                worst = float(lost[at])
                before, after = (list_text(lists[at].tolist()) for lists in (steps.before, steps.after))
                why = (
                    f"{measure} is not an ordinal scale here: ({after}) is better than ({before}) by a {kind}, but "
                    f"scores {steps.score_after[at]:.4f}, less than {steps.score_before[at]:.4f}"
                )
    return not why, why


def _order(synthetic: SyntheticLists, scores: Array, measure: Measure, too_fine: bool) -> tuple[str, str]:
    """The name of the order of Ferrante et al. that the scores agree with, ties included; empty if none.

    By set, SBTO orders all sets; the sum of grades is the rank of a set in their partial order by replacement, which gP
    and gR keep if grades are on a ratio scale. If none, also two lists that an order puts otherwise: SBTO for scores
    that do not depend on ranks, else RBTO. A measure with a cutoff need only order the documents above
    it. Scores that are too fine for floating point may be tied.
    """
    tolerance = SAME * max(1.0, float(np.abs(scores).max()))
    rises = -tolerance if too_fine else tolerance
    depth = synthetic.length if measure.cutoff_kind != "rank" or measure.k is None else min(measure.k, synthetic.length)
    example = ""
    sums = synthetic.lists[:, :depth].sum(axis=1, dtype=np.float64)
    orders = {"RBTO": synthetic.rank_number(depth), "SBTO": synthetic.set_number(depth), SUMS: sums}
    for name, number in orders.items():
        along = np.argsort(number, kind="stable")
        up, step = np.diff(number[along]) > 0, np.diff(scores[along])
        wrong = np.where(up, step <= rises, np.abs(step) > tolerance)
        if not wrong.any():
            return name, ""
        by_set = not (wrong & ~up).any()  # equal sets have equal scores
        if name == "RBTO" or (name == "SBTO" and by_set):
            lost = np.where(up, -step, np.abs(step))
            worst = int(np.argmax(np.where(wrong, lost, -np.inf)))
            example = _against(name, synthetic, scores, along, worst, up)
    return "", example


def _against(
    order: str, synthetic: SyntheticLists, scores: Array, along: Index64, at: int, up: NDArray[np.bool_]
) -> str:
    """Two neighbouring lists that an order puts otherwise than their scores."""
    below, above = (list_text(synthetic.lists[along[at + side]].tolist()) for side in (0, 1))
    low, high = (float(scores[along[at + side]]) for side in (0, 1))
    if not up[at]:
        return f"{order} ties ({above}) and ({below}), but they score {high:.4f} and {low:.4f}"
    compared = f"less than {low:.4f}" if high < low else "no more"
    return f"{order} puts ({above}) just above ({below}), but it scores {high:.4f}, {compared}"
