"""Intervals of coefficients of agreement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.building.agreement.agreement_settings import AgreementSettings
from cranfield.building.agreement.item_statistics import ItemStatistics
from cranfield.building.agreement.unseen_units import interval_with_unseen, unseen_units
from cranfield.text import counted, listed
from cranfield.types import Array, Progress

MOST_RESAMPLED = 300_000_000
"""Cohen's κ over pairs of assessors has no bootstrap interval if more numbers than this would be summed."""


def intervals(
    settings: AgreementSettings,
    statistics: ItemStatistics,
    values: Array,
    errors: Array,
    progress: Progress | None = None,
) -> tuple[Array, Array, tuple[str, ...]]:
    """The ends of the intervals of the coefficients, and notes on how they were computed."""
    none = np.full(len(values), np.nan)
    units = counted(int(np.count_nonzero(np.diff(statistics.matrix.indptr))), settings.unit)
    if settings.interval == "normal":
        from scipy.special import ndtri

        margin = ndtri((1 + settings.level) / 2) * errors
        note = f"intervals: value ± z × error, at most 1, level {100 * settings.level:g}%"
        return values - margin, np.minimum(values + margin, 1.0), (note,)
    if not settings.resamples:
        return none, none, ()
    filled = np.flatnonzero(np.diff(statistics.matrix.indptr))
    if len(filled) < 2:
        return none, none, (f"no intervals: {units} cannot be resampled",)
    without: tuple[str, ...] = ()
    resampled = settings
    if statistics.by_pair:
        width = len(statistics.pair_labels.first) * len(statistics.labels.scale) ** 2
        scattered = statistics.pair_labels.scattered
        if scattered or width * settings.resamples > MOST_RESAMPLED:
            kept = tuple(one for one in settings.coefficients if one.error != "cohen")
            resampled, statistics = replace(settings, coefficients=kept), replace(statistics, by_pair=False)
            pairs = counted(len(statistics.pair_labels.first), "pair")
            if not scattered:
                without = (f"Cohen's κ has no interval: {pairs} of assessors are too many to resample",)
    if not resampled.coefficients:
        return none, none, without
    matrix, unseen = statistics.matrix[filled], unseen_units(statistics)
    if unseen is None:
        return none, none, ("no intervals: all labels are equal, and no other label is known", *without)
    low, high = none.copy(), none.copy()
    at = [settings.coefficients.index(one) for one in resampled.coefficients]
    low[at], high[at], state = interval_with_unseen(
        matrix, unseen, lambda sums: resampled.computed(statistics, sums), settings.resamples, settings.level,
        settings.seed, progress,
    )  # fmt: skip
    undefined_value = np.isnan(values)
    low[undefined_value], high[undefined_value] = np.nan, np.nan
    undefined = np.isnan(state.result).sum(axis=0)
    partly = [
        f"{one.name} ({number:,})"
        for one, number, value in zip(resampled.coefficients, undefined.tolist(), values[at].tolist(), strict=True)
        if number and value == value
    ]
    notes = [
        f"intervals: level {100 * settings.level:g}%, {state.done:,} random weightings of {units} and one not seen "
        f"(one more disagreement, one more agreement), seed {settings.seed}"
    ]
    if partly:
        notes.append(f"weightings in which a coefficient is undefined, left out of its interval: {listed(partly)}")
    return low, high, (*notes, *without)
