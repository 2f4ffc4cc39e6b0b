"""How well assessors agree: all coefficients for all labels together, or for each topic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.agreement.agreement_errors import cohen_null_error, fleiss_null_error, standard_error
from cranfield.building.agreement.agreement_intervals import intervals
from cranfield.building.agreement.agreement_notes import rule_notes, size_note, undefined_note
from cranfield.building.agreement.agreement_settings import check_paired, settings_of, unit_of, weights_of
from cranfield.building.agreement.chance_corrected import COEFFICIENTS, Coefficient, coefficient_of
from cranfield.building.agreement.item_statistics import ItemStatistics
from cranfield.building.agreement.repeated_labels import first_labels, self_agreement
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.record import Record
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.types import Array, Progress


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Record):
    """Coefficients of agreement between assessors, with intervals and standard errors."""

    figure = "describe_assessor_agreement"
    facts = ("items", "paired", "labels", "assessors", "scale", "unit", "interval", "level", "resamples", "seed")

    names: tuple[str, ...]
    """The names of the coefficients."""
    values: Array
    """NaN if a coefficient is undefined."""
    low: Array
    high: Array
    errors: Array
    """Standard errors from formulas; NaN if there is none."""
    null_errors: Array
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

    def columns(self) -> dict[str, NDArray[Any]]:
        """coefficient, value, low, high, error, null error."""
        return {
            "coefficient": np.array(self.names, dtype=object),
            "value": self.values,
            "low": self.low,
            "high": self.high,
            "error": self.errors,
            "null error": self.null_errors,
        }

    def table(self) -> Table:
        """A row per coefficient, with its interval and standard errors."""
        heads = [Column("coefficient"), Column("name"), Column("value", "number"), Column("error", "number")]
        null = not np.isnan(self.null_errors).all()
        heads += [Column("null error", "number")] if null else []
        rows: list[tuple[Cell, ...]] = []
        for i, name in enumerate(self.names):
            value = Estimate("", "", float(self.values[i]), float(self.low[i]), float(self.high[i]), 0, 0, 0)
            title = COEFFICIENTS[name].title if name in COEFFICIENTS else name
            cells: tuple[Cell, ...] = (title, name, value, float(self.errors[i]))
            rows.append((*cells, float(self.null_errors[i])) if null else cells)
        return Table(tuple(heads), tuple(rows), "Agreement between assessors", self.notes)


def agreement(
    labels: LabelsLike,
    coefficients: Iterable[str] | None = None,
    *,
    relevant: float = 1,
    unit: str | None = None,
    interval: str = "bootstrap",
    resamples: int = 1_000,
    level: float = 0.95,
    seed: int = 0,
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
        "agreement", first, coefficients, relevant=relevant, unit=unit, interval=interval, resamples=resamples,
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
    notes += (size_note(first, int((sizes > 1).sum())),)
    if size:
        statistics = settings.statistics(first, unit_of(first, settings.unit))
        values = settings.computed(statistics, np.asarray(statistics.matrix.sum(axis=0)))[0]
        errors = np.array([standard_error(one, statistics) for one in settings.coefficients])
        nulls = np.array([_null_error(one, statistics) for one in settings.coefficients])
        low, high, told = intervals(settings, statistics, values, errors, progress)
        notes += (
            *more,
            *told,
            *undefined_note(settings, values, first),
            *rule_notes(settings, statistics, errors, nulls),
        )
    names = tuple(one.name for one in settings.coefficients)
    if own is not None:
        names += ("self percent", "self kappa")
        whole = own.of_all(resamples=resamples, level=level, seed=seed)
        values, low, high = (np.append(a, b) for a, b in zip((values, low, high), whole, strict=True))
        errors, nulls = np.append(errors, [np.nan] * 2), np.append(nulls, [np.nan] * 2)
        notes += own.notes
    return Agreement(
        names, values, low, high, errors, nulls, int((sizes > 0).sum()), int((sizes > 1).sum()), len(first),
        len(first.workers), first.scale, settings.unit, interval, level, resamples, seed, notes,
    )  # fmt: skip


def _null_error(coefficient: Coefficient, statistics: ItemStatistics) -> float:
    """The standard error if assessors agree by chance only; items are independent."""
    if coefficient.name == "fleiss":
        return fleiss_null_error(statistics.counts)
    if coefficient.error == "cohen" and len(statistics.pair_labels.first) == 1:
        confusion = statistics.pair_labels.confusions(len(statistics.labels.scale)).astype(np.float64)
        return float(cohen_null_error(confusion, weights_of(coefficient, statistics.labels))[0])
    return np.nan
