"""Each assessor against the others, and against earlier labels of their own; and agreement over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield.building.agreement.agreement_intervals import interval_of_cells
from cranfield.building.agreement.agreement_settings import IntervalResamples, check_paired, first_labels
from cranfield.building.agreement.chance_corrected import closeness, cohen_of, divided
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.declared.operation import Level, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.notes import Notes, method_note
from cranfield.record import Record, column, estimates, table_of
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

FEW = 10
"""A note names assessors with fewer items in common with others."""
ALL = "all"
WINDOWS = "assessors window"
"""The axes of what is measured in each window."""


@dataclass(frozen=True, eq=False)
class SharedLabels:
    """The labels of items that others labelled too, and how the others labelled them."""

    labels: Labels
    """One label of each item by each assessor; only items with labels of two assessors or more."""
    at: Index64
    """The position of each label among the labels that were given."""

    @staticmethod
    def of(labels: Labels) -> SharedLabels:
        """The labels of items that two assessors or more labelled."""
        several = np.bincount(labels.item, minlength=len(labels.items))[labels.item] > 1
        return SharedLabels(labels.select(several), np.flatnonzero(several))

    @cached_property
    def shares(self) -> Array:
        """labels × scale: how the labels of the others are shared among the scale."""
        labels = self.labels
        others = labels.counts()[labels.item].astype(np.float64)
        others[np.arange(len(labels)), labels.label] -= 1
        return np.asarray(others / others.sum(axis=1, keepdims=True))

    @cached_property
    def agreed(self) -> Array:
        """The share of the others who gave the same label, for each label."""
        return np.asarray(self.shares[np.arange(len(self.labels)), self.labels.label])

    @cached_property
    def majority(self) -> Index64:
        """The most frequent label of the others, for each label; -1 if two are equally frequent."""
        best = self.shares.max(axis=1, keepdims=True)
        tied = (self.shares >= best - 1e-9).sum(axis=1) > 1
        return np.where(tied, -1, self.shares.argmax(axis=1))

    @cached_property
    def leniency(self) -> Array:
        """The value of each label minus the mean value of the others' labels."""
        return np.asarray(self.labels.values[self.labels.label] - self.shares @ self.labels.values)

    def of_assessors(self) -> list[Index64]:
        """The positions of the labels of each assessor, in the order of the labels."""
        order = np.argsort(self.labels.worker, kind="stable")
        counts = np.bincount(self.labels.worker, minlength=len(self.labels.workers))
        return np.split(order, np.cumsum(counts)[:-1])

    def confusions(self, rows: Index64 | NDArray[np.bool_]) -> Array:
        """labels × (scale × scale): the own label and the shares of the others' labels; a row sums to 1."""
        own, q = self.labels.label[rows], len(self.labels.scale)
        cells = np.zeros((len(own), q, q))
        cells[np.arange(len(own)), own] = self.shares[rows]
        return cells.reshape(len(own), -1)


@dataclass(frozen=True, eq=False)
class SelfAgreement:
    """The labels that assessors gave again: self-agreement of an assessor."""

    worker: Index64
    """The assessor of each repeated item."""
    confusions: Array
    """repeated items × scale × scale: the share of pairs of the item's labels with labels k and l."""
    workers: tuple[str, ...]
    notes: tuple[str, ...]

    def of_each(self) -> tuple[Index64, Array]:
        """The number of repeated items of each assessor, and the mean agreement on them; NaN without any."""
        size = len(self.workers)
        count = np.bincount(self.worker, minlength=size)
        agreed = np.bincount(self.worker, weights=np.trace(self.confusions, axis1=1, axis2=2), minlength=size)
        return count, np.divide(agreed, count, out=np.full(size, np.nan), where=count > 0)

    def of_all(self, *, resamples: int, level: float, seed: int) -> tuple[Array, Array, Array]:
        """Percent agreement and κ of all repeated items together: values, low and high ends of intervals."""
        q = self.confusions.shape[1]
        cells = self.confusions.reshape(len(self.confusions), -1)

        def both(sums: Array) -> Array:
            matrices = sums.reshape(-1, q, q)
            items, kappa = cohen_of(matrices, np.eye(q))
            return np.stack([np.trace(matrices, axis1=1, axis2=2) / items, kappa], axis=1)

        return both(cells.sum(axis=0, keepdims=True))[0], *interval_of_cells(cells, both, resamples, level, seed)


def self_agreement(labels: Labels) -> SelfAgreement:
    """Agreement of assessors with themselves, on items that they labelled several times.

    Each item of an assessor counts once, whatever the number of its labels. κ uses the shares of labels of all repeated
    items, so both labels of a pair have the same distribution.

    >>> twice = [("t1", "anna", 1), ("t1", "anna", 1), ("t2", "anna", 0), ("t2", "anna", 1)]
    >>> self_agreement(Labels.of(twice, on_duplicate="keep")).of_each()[1].tolist()
    [0.5]
    """
    q = len(labels.scale)
    key, of = np.unique(labels.item * len(labels.workers) + labels.worker, return_inverse=True)
    counts = np.bincount(of.ravel() * q + labels.label, minlength=len(key) * q).reshape(-1, q)
    repeated = counts.sum(axis=1) > 1
    counts, worker = counts[repeated].astype(np.float64), (key % len(labels.workers))[repeated]
    sizes = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(q)
    confusions = pairs / np.maximum(sizes * (sizes - 1), 1)[:, None, None]
    who = counted(len(np.unique(worker)), "assessor")
    notes = (f"self percent, self kappa: {counted(len(worker), 'item')} that {who} labelled again",)
    return SelfAgreement(worker, confusions, labels.workers, notes)


@dataclass(frozen=True, eq=False, repr=False)
class AgreementWithOthers(Record):
    """Every assessor against the others."""

    caption = "Each assessor against the others"
    figure = "describe_assessor_agreement"
    facts = ("weights", "level", "resamples", "seed")

    assessors: Annotated[tuple[str, ...], column("assessor")]
    groups: Annotated[tuple[str, ...], column("group")] | None
    """The group of each assessor; None if there are none."""
    labels: Annotated[Index64, column()]
    """The number of labels of each assessor."""
    items: Annotated[Index64, column()]
    """The number of these items that others labelled too."""
    percent: Annotated[Array, column()]
    """The mean share of the others who gave the same label."""
    kappa: Annotated[Array, column(ends=("low", "high"))]
    """Cohen's κ of the assessor's labels and those of the others."""
    low: Annotated[Array, column()]
    high: Annotated[Array, column()]
    majority: Annotated[Array, column()]
    """The share of items on which the assessor agrees with the majority of the others; items without one left out."""
    leniency: Annotated[Array, column(optional=True)]
    """The mean difference from the others' labels; above 0 is lenient. NaN if labels have no order."""
    again: Annotated[Index64, column(optional=True)]
    """The number of items that the assessor labelled again."""
    self_percent: Annotated[Array, column(optional=True)]
    """Self-agreement on these."""
    cost: Annotated[Array, column(optional=True)]
    """The cost of all labels; NaN if it is unknown."""
    weights: str
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def sorted_rows(self) -> Index64:
        """A row per assessor, best κ first."""
        return np.argsort(-np.nan_to_num(self.kappa, nan=-np.inf), kind="stable")


@operation
def agreement_with_others(
    labels: LabelsLike,
    *,
    weights: Annotated[
        str,
        about(
            "How much labels agree that differ, in the κ of an assessor and the others: {names} (identity: not at "
            "all).",
            choices=("identity", "linear", "quadratic"),
            spelled="--label-weights KIND",
            rare=True,
        ),
    ] = "identity",
    resamples: IntervalResamples = 1_000,
    level: Level = 0.95,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> AgreementWithOthers:
    r"""How well each assessor agrees with the others, and who is more lenient than the others.

    .. math:: \text{leniency}(a) = \frac{1}{n} \sum_i \Big( x_{ai} - \frac{1}{r_i - 1} \sum_{b \ne a} x_{bi} \Big)

    Each of the n items that others labelled too counts once, whatever the number r of its labels. κ is Cohen's, of the
    assessor's label and the label of one of the others, drawn at random; intervals are bootstrap percentiles over the
    items of the assessor.

    weights: how much labels agree that differ, in κ: `identity` (not at all), `linear` or `quadratic`.

    >>> labels = [("t1", "anna", 2), ("t1", "ben", 1), ("t2", "anna", 1), ("t2", "ben", 1)]
    >>> result = agreement_with_others(labels, resamples=0)
    >>> result.leniency.tolist(), result.percent.tolist()
    ([0.5, -0.5], [0.5, 0.5])
    """
    every = Labels.of(labels)
    first, notes = first_labels(every)
    check_paired(first)
    others, q, size = SharedLabels.of(first), len(first.scale), len(first.workers)
    matrix = closeness(weights, np.zeros(q) if weights == "identity" else first.values)
    kappa, low, high = np.full((3, size), np.nan)

    def kappas(sums: Array) -> Array:
        return cohen_of(sums.reshape(-1, q, q), matrix)[1][:, None]

    for a, rows in enumerate(others.of_assessors()):
        if len(rows):
            cells = others.confusions(rows)
            kappa[a] = kappas(cells.sum(axis=0, keepdims=True))[0, 0]
            (low[a],), (high[a],) = interval_of_cells(cells, kappas, resamples, level, [seed, a])
        if progress is not None:
            progress(a + 1, size)

    worker = others.labels.worker
    items = np.bincount(worker, minlength=size)

    def mean(values: Array, among: NDArray[np.bool_] | None = None) -> Array:
        part = slice(None) if among is None else among
        total = np.bincount(worker[part], weights=values[part], minlength=size)
        return divided(total, np.bincount(worker[part], minlength=size).astype(np.float64))

    decided = others.majority >= 0
    again, own = self_agreement(every).of_each()
    cost = np.full(size, np.nan)
    if every.cost is not None:
        cost = np.bincount(every.worker, weights=every.cost, minlength=size).astype(np.float64)
    return AgreementWithOthers(
        first.workers, first.group or None, np.bincount(every.worker, minlength=size), items, mean(others.agreed),
        kappa, low, high, mean((others.majority == others.labels.label).astype(np.float64), decided),
        mean(others.leniency) if first.ordered else np.full(size, np.nan), again, own, cost, weights, level, resamples,
        seed, (*notes, *_notes(first, items, kappa, decided, weights, level, resamples, seed)),
    )  # fmt: skip


def _notes(
    labels: Labels,
    items: Index64,
    kappa: Array,
    decided: NDArray[np.bool_],
    weights: str,
    level: float,
    resamples: int,
    seed: int,
) -> list[str]:
    notes = Notes([method_note("percent: the mean share of the others who gave the same label; each item counts once")])
    kind = "" if weights == "identity" else f", {weights} weights"
    notes.method(f"kappa: Cohen's κ of the assessor and one of the others, drawn at random{kind}")
    if resamples:
        notes.method(
            f"intervals: percentile bootstrap over the items of an assessor, level {100 * level:g}%, seed {seed}"
        )
    if labels.ordered:
        notes.method("leniency: the mean difference from the others' labels; above 0: higher labels than the others")
    if not decided.all():
        ties = counted(int((~decided).sum()), "label")
        notes.append(f"majority: {ties} of items on which the others have no majority, left out")
    alone = [name for name, count in zip(labels.workers, items.tolist(), strict=True) if not count]
    few = [name for name, count in zip(labels.workers, items.tolist(), strict=True) if 0 < count < FEW]
    if alone:
        notes.append(f"{counted(len(alone), 'assessor')} without an item that others labelled: {listed(alone)}")
    if few:
        notes.caution(
            f"{counted(len(few), 'assessor')} with fewer than {FEW} items that others labelled: {listed(few)}"
        )
    undefined = [
        name for name, n, k in zip(labels.workers, items.tolist(), kappa.tolist(), strict=True) if n and k != k
    ]
    if undefined:
        notes.caution(
            f"kappa is undefined (0/0) for {counted(len(undefined), 'assessor')}, as all labels of their items are "
            f"equal: {listed(undefined)}"
        )
    return notes


@dataclass(frozen=True, eq=False, repr=False)
class AgreementOverTime(Record):
    """The agreement of each assessor with the others, in windows over the order of their labels."""

    figure = "describe_assessor_agreement"
    facts = ("windows", "level")

    assessors: Annotated[tuple[str, ...], column("assessor", axis=True)]
    """The first is `all`: the labels of all assessors, at their places in the order of their assessor."""
    window: Annotated[Index64, column(axis=True)]
    """The numbers of the windows, from 1."""
    counts: Annotated[Index64, column("labels", over=WINDOWS)]
    """The number of labels whose items others labelled too."""
    values: Annotated[Array, column("agreement", over=WINDOWS)]
    """The mean share of the others who gave the same label; NaN for an empty window."""
    low: Annotated[Array, column(over=WINDOWS)]
    high: Annotated[Array, column(over=WINDOWS)]
    seconds: Annotated[Array, column(over=WINDOWS)]
    """Mean seconds per label; NaN if they are unknown."""
    change: Annotated[Array, column(over="assessors")]
    """How much agreement changes from the first to the last label, by least squares."""
    change_low: Annotated[Array, column(over="assessors")]
    change_high: Annotated[Array, column(over="assessors")]
    level: float
    notes: tuple[str, ...]

    @property
    def windows(self) -> int:
        """How many windows there are."""
        return len(self.window)

    def table(self) -> Table:
        """A row per assessor: agreement in each window, and the change from the first to the last label."""
        ends = {"seconds, first": self.seconds[:, 0], "seconds, last": self.seconds[:, -1]}
        columns = {
            "assessor": self.assessors,
            "labels": self.counts.sum(axis=1),
            **{f"window {w + 1}": self.values[:, w] for w in range(self.windows)},
            "change": estimates(self.change, self.change_low, self.change_high),
            **({} if np.isnan(self.seconds).all() else ends),
        }
        return table_of(columns, caption="Agreement with the others over time", notes=self.notes)


@operation
def agreement_over_time(
    labels: LabelsLike,
    *,
    windows: Annotated[int, about("The number of windows over the order of labels.", least=1, rare=True)] = 5,
    level: Level = 0.95,
) -> AgreementOverTime:
    """Agreement of each assessor with the others, in windows over the order of their labels.

    The labels of an assessor are ordered by time, or as they are given if there are no times, and divided into
    `windows` with equally many labels. The agreement of a label is the share of the others who gave the item the same
    label. The change is the slope of a least-squares line from the first label to the last: below 0, agreement falls,
    such as with fatigue, or because harder items come later. Intervals are the value ± z times its standard error; that
    of the change allows for unequal variances (White, Econometrica 48(4), 1980, doi:10.2307/1912934).

    >>> given = [("t1", "anna", 1), ("t2", "anna", 1), ("t1", "ben", 1), ("t2", "ben", 0)]
    >>> agreement_over_time(given, windows=2).values[1].tolist()  # anna
    [1.0, 0.0]
    """
    first, notes = first_labels(Labels.of(labels))
    check_paired(first)
    if first.time is not None and np.isnan(first.time).all():
        raise UsageError("agreement_over_time: no label has a time")
    place, window, untimed = _places(first, windows)
    others = SharedLabels.of(first)
    place, window = place[others.at], window[others.at]
    seconds = np.full(len(first), np.nan) if first.seconds is None else first.seconds
    timed = ~np.isnan(place)
    parts = [np.flatnonzero(timed), *(rows[timed[rows]] for rows in others.of_assessors())]
    shape = (len(parts), windows)
    counts, values, errors, means = np.zeros((4, *shape))
    change, change_error = np.full((2, len(parts)), np.nan)
    for a, rows in enumerate(parts):
        counts[a], values[a], errors[a] = _window_means(window[rows], others.agreed[rows], windows)
        change[a], change_error[a] = _slope(place[rows], others.agreed[rows])
        spent = seconds[others.at[rows]]
        means[a] = _window_means(window[rows][~np.isnan(spent)], spent[~np.isnan(spent)], windows)[1]
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    notes.method("the order of labels: " + ("by time" if first.time is not None else "as given, as there are no times"))
    notes.method(
        f"agreement: the mean share of the others who gave the same label; {windows} windows of equally many labels"
    )
    notes.method("change: from the first to the last label, by least squares; below 0, agreement falls")
    notes.method(f"intervals: value ± z × standard error (of the change: White 1980), level {100 * level:g}%")
    if untimed:
        notes.append(f"{counted(untimed, 'label')} without a time, left out")
    short = [name for name, rows in zip(first.workers, parts[1:], strict=True) if len(rows) < 2 * windows]
    if short:
        notes.caution(f"fewer than two labels per window that others gave too: {listed(short, noun='assessors')}")
    return AgreementOverTime(
        (ALL, *first.workers), np.arange(1, windows + 1), counts.astype(np.int64), values,
        np.maximum(values - z * errors, 0.0), np.minimum(values + z * errors, 1.0), means, change,
        change - z * change_error, change + z * change_error, level, tuple(notes),
    )  # fmt: skip


def _places(labels: Labels, windows: int) -> tuple[Array, Index64, int]:
    """The place of each label in the order of its assessor, from 0 to 1, its window, and how many have no time."""
    when = np.arange(len(labels), dtype=np.float64) if labels.time is None else labels.time
    known = ~np.isnan(when)
    order = np.lexsort((np.arange(len(labels)), when, labels.worker))
    order = order[known[order]]
    counts = np.bincount(labels.worker[known], minlength=len(labels.workers))
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    rank, size = np.arange(len(order)) - starts, np.repeat(counts, counts)
    place, window = np.full(len(labels), np.nan), np.zeros(len(labels), dtype=np.int64)
    place[order] = divided(rank.astype(np.float64), (size - 1).astype(np.float64))
    place[order[size == 1]] = 0.0
    window[order] = rank * windows // size
    return place, window, int((~known).sum())


def _window_means(window: Index64, values: Array, windows: int) -> tuple[Array, Array, Array]:
    """The number of values of each window, their mean, and its standard error; NaN with too few values."""
    count = np.bincount(window, minlength=windows).astype(np.float64)
    mean = divided(np.bincount(window, weights=values, minlength=windows), count)
    squares = np.bincount(window, weights=(values - mean[window]) ** 2, minlength=windows)
    return count, mean, np.sqrt(divided(squares, count * (count - 1)))


def _slope(x: Array, y: Array) -> tuple[float, float]:
    """The slope of the least-squares line, and its standard error for values of unequal variance (White 1980, HC1).

    >>> slope, error = _slope(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.0, 0.0]))
    >>> slope, round(error**2, 4)  # residuals 1/6, -1/3, 1/6: (2 × (1/2 × 1/6)²) / (1/2)² × 3
    (-1.0, 0.1667)
    """
    n = len(x)
    if n < 3 or np.ptp(x) == 0:
        return np.nan, np.nan
    centred = x - x.mean()
    spread = float((centred**2).sum())
    slope = float(centred @ y) / spread
    residual = y - y.mean() - slope * centred
    variance = float(((centred * residual) ** 2).sum()) / spread**2 * n / (n - 2)
    return slope, float(np.sqrt(variance))
