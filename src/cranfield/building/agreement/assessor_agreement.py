"""How well assessors agree: all coefficients for all labels together, or for each topic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from cranfield.building.agreement.against_the_others import self_agreement
from cranfield.building.agreement.agreement_intervals import interval_with_unseen, intervals, unseen_units
from cranfield.building.agreement.agreement_settings import (
    AgreementSettings,
    IntervalResamples,
    Relevant,
    check_paired,
    first_labels,
    settings_of,
    unit_of,
)
from cranfield.building.agreement.chance_corrected import (
    COEFFICIENTS,
    Coefficient,
    coefficient_of,
    cohen_null_error,
    cohen_of,
    divided,
    error_of_mean,
    fleiss_null_error,
    standard_error,
)
from cranfield.building.agreement.item_statistics import RELIABLE, ItemStatistics, PairLabels
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.declared.operation import Level, Seed, about, operation
from cranfield.notes import Notes, caution_note, method_note
from cranfield.record import Record, column, estimates, table_of, without_empty
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

USUAL = ("percent", "fleiss", "ac1", "alpha", "overlap")
USUAL_ORDERED = ("percent", "fleiss", "ac2-quadratic", "alpha-ordinal", "overlap")
MEAN = "mean"
COEFFICIENT = about(
    "A coefficient, or several separated by commas: {names}; default: all that fit the labels.",
    names="building.agreement.chance_corrected:COEFFICIENTS", spelled="--coefficient, -c NAME,...",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Record):
    """Coefficients of agreement between assessors, with intervals and standard errors."""

    figure = "describe_assessor_agreement"
    facts = ("items", "paired", "labels", "assessors", "scale", "unit", "interval", "level", "resamples", "seed")

    names: Annotated[tuple[str, ...], column("coefficient")]
    values: Annotated[Array, column("value")]
    """NaN if a coefficient is undefined."""
    low: Annotated[Array, column()]
    high: Annotated[Array, column()]
    errors: Annotated[Array, column("error")]
    """Standard errors from formulas; NaN if there is none."""
    null_errors: Annotated[Array, column("null error")]
    """Standard errors if assessors agree by chance only; NaN if there is no formula."""
    items: int
    """The number of items with a label."""
    paired: int
    """The number of items with labels of two assessors or more."""
    labels: int
    assessors: int
    scale: tuple[str, ...]
    unit: str
    interval: str
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> float:
        """The value of a coefficient."""
        return float(self.values[self.names.index(coefficient_of(name).name if name not in self.names else name)])

    def table(self) -> Table:
        """A row per coefficient, with its interval and standard errors."""
        columns = {
            "coefficient": [COEFFICIENTS[name].title if name in COEFFICIENTS else name for name in self.names],
            "name": self.names,
            "value": estimates(self.values, self.low, self.high),
            "error": self.errors,
            "null error": self.null_errors,
        }
        return table_of(without_empty(columns, "null error"), caption="Agreement between assessors", notes=self.notes)


@operation
def agreement(
    labels: LabelsLike,
    coefficients: Annotated[Iterable[str] | None, COEFFICIENT] = None,
    *,
    relevant: Relevant = 1,
    unit: Annotated[
        str | None,
        about(
            "What is resampled: {names}; default: topics if there are 10 or more, else items.",
            choices=("item", "topic"),
            spelled="--resampled NAME",
            rare=True,
        ),
    ] = None,
    interval: Annotated[
        str,
        about(
            "Intervals: {names} (weighted items and one not seen, or from standard errors where there is a formula).",
            choices=("bootstrap", "normal"),
            spelled="--intervals KIND",
            rare=True,
        ),
    ] = "bootstrap",
    resamples: IntervalResamples = 1_000,
    level: Level = 0.95,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Agreement:
    r"""How well assessors agree, beyond what chance explains, by several coefficients with intervals.

    .. math:: \kappa = \frac{p_o - p_e}{1 - p_e}, \qquad \alpha = 1 - \frac{D_o}{D_e}

    p_o is the observed agreement of two labels of an item, p_e the agreement by chance, for which each coefficient has
    its own definition; D are disagreements. Most items may lack the labels of most assessors: `COEFFICIENTS` says how
    items with different numbers of labels count. If all labels are equal, κ and α are 0/0, undefined; AC1 is 1.

    coefficients: names of `COEFFICIENTS`; by default all that fit the labels. `linear` and `quadratic` weights use the
        values of labels, or their positions on the scale if they are words in an order.
    relevant: the lowest value that counts as relevant, for the overlap.
    unit: what is resampled: `item`, or `topic`, since labels of one topic are not independent. By default topics if
        there are 10 or more.
    interval: `bootstrap` (percentiles over `resamples` random weightings of the units and one more, on which the
        assessors disagree for the low end and agree for the high one, so that no interval is without width), or
        `normal` (value ± z × standard error, where there is a
        formula). The standard errors are those of Gwet 2008 for percent agreement, Fleiss' κ, AC1 and AC2, of Fleiss,
        Cohen & Everitt 1969 for Cohen's κ of two assessors, and of the delta method for α and the overlap.

    If an assessor labels an item several times, the first label counts; the others give self-agreement.

    References: Cohen, EPM 20(1), 1960, doi:10.1177/001316446002000104; Fleiss, Psychological Bulletin 76(5), 1971,
    doi:10.1037/h0031619; Gwet, BJMSP 61(1), 2008, doi:10.1348/000711006X126600; Krippendorff, Content Analysis, 2004;
    Voorhees, IPM 36(5), 2000, doi:10.1016/S0306-4573(00)00010-8

    >>> labels = [("t1", "anna", 1), ("t1", "ben", 1), ("t2", "anna", 0), ("t2", "ben", 0), ("t3", "anna", 1)]
    >>> result = agreement([*labels, ("t3", "ben", 0)], ["percent", "cohen", "overlap"], resamples=0)
    >>> result.values.round(4).tolist()  # 2 of 3 agree; by chance 1/3 × 2/3 + 2/3 × 1/3 = 4/9; one of two is relevant
    [0.6667, 0.4, 0.5]
    """
    every = Labels.of(labels)
    first, notes = first_labels(every)
    settings, more = settings_of(
        first, coefficients, relevant=relevant, unit=unit, interval=interval, resamples=resamples,
        level=level, seed=seed,
    )  # fmt: skip
    own = self_agreement(every) if len(every) > len(first) else None
    if len(first.workers) > 1 or own is None:
        check_paired(first)
    else:
        settings = replace(settings, coefficients=())  # one assessor: only self-agreement
    size = len(settings.coefficients)
    values, low, high, errors, nulls = np.full((5, size), np.nan)
    sizes = np.bincount(first.item, minlength=len(first.items))
    notes.append(size_note(first, int((sizes > 1).sum())))
    if size:
        statistics = settings.statistics(first, unit_of(first, settings.unit))
        values = settings.computed(statistics, np.asarray(statistics.matrix.sum(axis=0)))[0]
        errors = np.array([standard_error(coefficient, statistics) for coefficient in settings.coefficients])
        nulls = np.array([_null_error(coefficient, statistics) for coefficient in settings.coefficients])
        low, high, told = intervals(settings, statistics, values, errors, progress)
        notes += (
            *more,
            *told,
            *undefined_note(settings, values, first),
            *rule_notes(settings, statistics, errors, nulls),
        )
    names = tuple(coefficient.name for coefficient in settings.coefficients)
    if own is not None:
        names += ("self percent", "self kappa")
        whole = own.of_all(resamples=resamples, level=level, seed=seed)
        values, low, high = (np.append(a, b) for a, b in zip((values, low, high), whole, strict=True))
        errors, nulls = np.append(errors, [np.nan] * 2), np.append(nulls, [np.nan] * 2)
        notes += own.notes
    return Agreement(
        names, values, low, high, errors, nulls, int((sizes > 0).sum()), int((sizes > 1).sum()), len(first),
        len(first.workers), first.scale, settings.unit, interval, level, resamples, seed, tuple(notes),
    )  # fmt: skip


def _null_error(coefficient: Coefficient, statistics: ItemStatistics) -> float:
    """The standard error if assessors agree by chance only; items are independent."""
    if coefficient.name == "fleiss":
        return fleiss_null_error(statistics.counts)
    if coefficient.error == "cohen" and len(statistics.pair_labels.first) == 1:
        confusion = statistics.pair_labels.confusions(len(statistics.labels.scale)).astype(np.float64)
        return float(cohen_null_error(confusion, coefficient.weights(statistics.labels))[0])
    return np.nan


def size_note(labels: Labels, paired: int) -> str:
    labelled = f"{counted(len(labels), 'label')} of {counted(len(labels.items), 'item')}"
    scale = f"scale: {listed(labels.scale, most=10)}"
    return method_note(
        f"{labelled} by {counted(len(labels.workers), 'assessor')}, {paired:,} items with two labels or more; {scale}"
    )


def undefined_note(settings: AgreementSettings, values: Array, labels: Labels) -> tuple[str, ...]:
    names = [
        coefficient.name
        for coefficient, value in zip(settings.coefficients, values.tolist(), strict=True)
        if value != value
    ]
    if not names:
        return ()
    sizes = np.bincount(labels.item, minlength=len(labels.items))
    used = np.unique(labels.label[sizes[labels.item] > 1])
    if len(used) == 1:
        same = f"all items with two labels or more have only the label {labels.scale[used[0]]}"
        return (caution_note(f"undefined (0/0), as {same}: {listed(names, most=20)}"),)
    return (caution_note(f"undefined (0/0): {listed(names, most=20)}"),)


def rule_notes(settings: AgreementSettings, statistics: ItemStatistics, errors: Array, nulls: Array) -> tuple[str, ...]:
    """How items with different numbers of labels count, and where the standard errors come from."""
    notes = Notes()
    if not (np.isnan(errors).all()):
        kinds = {
            coefficient.error
            for coefficient, error in zip(settings.coefficients, errors.tolist(), strict=True)
            if error == error
        }
        sources = {
            "gwet": "Gwet 2008",
            "cohen": "Fleiss, Cohen & Everitt 1969 (Cohen's κ)",
            "alpha": "delta method (α)",
            "overlap": "delta method (overlap)",
        }
        named = "; ".join(text for kind, text in sources.items() if kind in kinds)
        notes.method(f"error: standard error over {settings.unit}s, by {named}")
    if not np.isnan(nulls).all():
        notes.method(
            "null error: standard error if assessors agree by chance only, by Fleiss, Nee & Landis 1979 (Fleiss' "
            "κ) and Fleiss, Cohen & Everitt 1969 (Cohen's κ); items count as independent"
        )
    if len(statistics.labels.workers) > 2:
        by_rule: dict[str, list[str]] = {}
        for coefficient in settings.coefficients:
            by_rule.setdefault(coefficient.rule, []).append(coefficient.name)
        notes += [f"{', '.join(names)}: {rule}" for rule, names in by_rule.items()]
    return (*notes, *(_pair_notes(statistics) if statistics.by_pair else ()))


def _pair_notes(statistics: ItemStatistics) -> list[str]:
    """Which pairs of assessors count in Cohen's κ."""
    every, used = PairLabels.of(statistics.labels), statistics.pair_labels
    if len(every.first) < 2:
        return []
    notes = Notes()
    if used.scattered:
        notes.append("Cohen's κ over pairs has no interval, as pairs share few of the items; use Conger's κ")
    else:
        notes.method("Cohen's κ over pairs: the interval is a basic (reflected) bootstrap, as κ of few items is biased")
    if len(used.first) < len(every.first):
        left_out = f"{len(every.first) - len(used.first):,} of {counted(len(every.first), 'pair')}"
        notes.append(f"Cohen's κ leaves out {left_out} of assessors, with fewer than {every.least:g} common items")
    median = float(np.median(used.num_items))
    if median < RELIABLE:
        notes.caution(f"pairs of assessors share {median:g} items (median), which are few for Cohen's κ")
    size = len(statistics.labels.scale)
    undefined = int(np.isnan(cohen_of(used.confusions(size).astype(np.float64), np.eye(size))[1]).sum())
    if undefined:
        notes.caution(
            f"Cohen's κ is undefined (0/0) for {undefined:,} of {counted(len(used.first), 'pair')} of assessors, "
            "who use one label for all their common items; these pairs are left out"
        )
    return notes


@dataclass(frozen=True, eq=False, repr=False)
class TopicAgreement(Record):
    """Coefficients of agreement for each topic."""

    figure = "describe_assessor_agreement"
    facts = ("level", "resamples", "seed")

    topics: Annotated[tuple[str, ...], column("topic", axis=True)]
    items: Annotated[Index64, column(over="topics")]
    """The number of items with two labels or more, for each topic."""
    labels: Annotated[Index64, column(over="topics")]
    names: Annotated[tuple[str, ...], column("coefficient", axis=True)]
    values: Annotated[Array, column("value", over="topics names")]
    """topics × coefficients; NaN if undefined."""
    low: Annotated[Array, column(over="topics names")]
    high: Annotated[Array, column(over="topics names")]
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    @property
    def mean(self) -> Array:
        """The mean of each coefficient over the topics on which it is defined (Voorhees 2000 reports overlap so)."""
        defined = ~np.isnan(self.values)
        count = defined.sum(axis=0)
        return divided(np.where(defined, self.values, 0.0).sum(axis=0), count.astype(np.float64))

    def table(self) -> Table:
        """A row per topic, and a last row for the mean over topics."""
        by_name = zip(self.names, self.values.T, self.low.T, self.high.T, self.mean, strict=True)
        columns = {
            "topic": [*self.topics, MEAN],
            "items": np.append(self.items, self.items.sum()),
            "labels": np.append(self.labels, self.labels.sum()),
            **{name: np.append(estimates(*numbers), mean) for name, *numbers, mean in by_name},
        }
        return table_of(columns, caption="Agreement between assessors on each topic", notes=self.notes)


@operation
def topic_agreement(
    labels: LabelsLike,
    coefficients: Annotated[Iterable[str] | None, COEFFICIENT] = None,
    *,
    relevant: Relevant = 1,
    resamples: IntervalResamples = 1_000,
    level: Level = 0.95,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> TopicAgreement:
    """The coefficients of `agreement` for each topic, with bootstrap intervals over the items of the topic.

    >>> labels = [("1", "a", "anna", 1), ("1", "a", "ben", 1), ("2", "a", "anna", 1), ("2", "a", "ben", 0)]
    >>> topic_agreement(labels, ["percent"], resamples=0).values.tolist()
    [[1.0], [0.0]]
    """
    first, notes = first_labels(Labels.of(labels))
    first.need_topics()
    check_paired(first)
    if coefficients is None:
        usual = USUAL_ORDERED if first.ordered and len(first.scale) > 2 else USUAL
        coefficients = usual if first.ordered else [name for name in usual if name != "overlap"]
    settings, more = settings_of(
        first, coefficients, relevant=relevant, unit="item", interval="bootstrap",
        resamples=resamples, level=level, seed=seed,
    )  # fmt: skip
    statistics = settings.statistics(first, unit_of(first, "topic"))
    values = settings.computed(statistics, statistics.matrix.toarray())
    by_item = replace(statistics, unit=unit_of(first, "item"))
    order = np.argsort(first.topic, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(first.topic, minlength=len(first.topic_names)))[:-1])
    low, high = np.full((2, *values.shape), np.nan)
    unseen = unseen_units(by_item) if resamples else None
    for t, part in enumerate(parts):
        if resamples and len(part) > 1:
            rows = by_item.matrix[part]
            if unseen is not None:
                low[t], high[t], _ = interval_with_unseen(
                    rows, unseen, lambda sums: settings.computed(by_item, sums), resamples, level, [seed, t]
                )
                low[t], high[t] = (np.where(np.isnan(values[t]), np.nan, end) for end in (low[t], high[t]))
        if progress is not None:
            progress(t + 1, len(parts))
    sizes = np.bincount(first.item, minlength=len(first.items))
    items = np.bincount(first.topic, weights=sizes > 1, minlength=len(parts)).astype(np.int64)
    num_labels = np.bincount(first.topic, weights=sizes, minlength=len(parts)).astype(np.int64)
    names = tuple(coefficient.name for coefficient in settings.coefficients)
    errors = [error_of_mean(column, np.arange(len(column))) for column in values.T]
    spread = ", ".join(f"{name} {error:.4f}" for name, error in zip(names, errors, strict=True) if error == error)
    notes += (*more, *([method_note(f"standard error of the mean over topics: {spread}")] if spread else []))
    if resamples:
        notes.method(f"intervals: percentile bootstrap over the items of a topic, level {100 * level:g}%, seed {seed}")
    alone = [name for name, count in zip(first.topic_names, items.tolist(), strict=True) if not count]
    if alone:
        notes.append(f"{counted(len(alone), 'topic')} without an item that two assessors labelled: {listed(alone)}")
    undefined = (np.isnan(values) & (items > 0)[:, None]).sum(axis=0)
    unclear = [f"{name} ({count:,})" for name, count in zip(names, undefined.tolist(), strict=True) if count]
    if unclear:
        notes.caution(f"topics on which a coefficient is undefined (0/0), left out of its mean: {listed(unclear)}")
    return TopicAgreement(
        first.topic_names, items, num_labels, names, values, low, high, level, resamples, seed, tuple(notes)
    )
