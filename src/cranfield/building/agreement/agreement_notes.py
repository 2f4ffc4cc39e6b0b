"""Notes below coefficients of agreement: sizes, undefined values, rules and the sources of standard errors."""

from __future__ import annotations

import numpy as np

from cranfield.building.agreement.agreement_settings import AgreementSettings
from cranfield.building.agreement.chance_corrected import cohen_of
from cranfield.building.agreement.item_statistics import RELIABLE, ItemStatistics, PairLabels
from cranfield.building.assessor_labels import Labels
from cranfield.text import counted, listed
from cranfield.types import Array


def size_note(labels: Labels, paired: int) -> str:
    given = f"{counted(len(labels), 'label')} of {counted(len(labels.items), 'item')}"
    scale = f"scale: {listed(labels.scale, most=10)}"
    return f"{given} by {counted(len(labels.workers), 'assessor')}, {paired:,} items with two labels or more; {scale}"


def undefined_note(settings: AgreementSettings, values: Array, labels: Labels) -> tuple[str, ...]:
    names = [one.name for one, value in zip(settings.coefficients, values.tolist(), strict=True) if value != value]
    if not names:
        return ()
    sizes = np.bincount(labels.item, minlength=len(labels.items))
    used = np.unique(labels.label[sizes[labels.item] > 1])
    if len(used) == 1:
        same = f"all items with two labels or more have only the label {labels.scale[used[0]]}"
        return (f"undefined (0/0), as {same}: {listed(names, most=20)}",)
    return (f"undefined (0/0): {listed(names, most=20)}",)


def rule_notes(settings: AgreementSettings, statistics: ItemStatistics, errors: Array, nulls: Array) -> tuple[str, ...]:
    """How items with different numbers of labels count, and where the standard errors come from."""
    notes = []
    if not (np.isnan(errors).all()):
        kinds = {one.error for one, error in zip(settings.coefficients, errors.tolist(), strict=True) if error == error}
        sources = {
            "gwet": "Gwet 2008",
            "cohen": "Fleiss, Cohen & Everitt 1969 (Cohen's κ)",
            "alpha": "delta method (α)",
            "overlap": "delta method (overlap)",
        }
        named = "; ".join(text for kind, text in sources.items() if kind in kinds)
        notes.append(f"error: standard error over {settings.unit}s, by {named}")
    if not np.isnan(nulls).all():
        notes.append(
            "null error: standard error if assessors agree by chance only, by Fleiss, Nee & Landis 1979 (Fleiss' κ) "
            "and Fleiss, Cohen & Everitt 1969 (Cohen's κ); items count as independent"
        )
    if len(statistics.labels.workers) > 2:
        by_rule: dict[str, list[str]] = {}
        for one in settings.coefficients:
            by_rule.setdefault(one.rule, []).append(one.name)
        notes += [f"{', '.join(names)}: {rule}" for rule, names in by_rule.items()]
    return (*notes, *(_pair_notes(statistics) if statistics.by_pair else ()))


def _pair_notes(statistics: ItemStatistics) -> list[str]:
    """Which pairs of assessors count in Cohen's κ."""
    every, used = PairLabels.of(statistics.labels), statistics.pair_labels
    if len(every.first) < 2:
        return []
    notes = []
    if used.scattered:
        notes.append("Cohen's κ over pairs has no interval, as pairs share few of the items; use Conger's κ")
    else:
        notes.append("Cohen's κ over pairs: the interval is a basic (reflected) bootstrap, as κ of few items is biased")
    if len(used.first) < len(every.first):
        left_out = f"{len(every.first) - len(used.first):,} of {counted(len(every.first), 'pair')}"
        notes.append(f"Cohen's κ leaves out {left_out} of assessors, with fewer than {every.least:g} common items")
    median = float(np.median(used.num_items))
    if median < RELIABLE:
        notes.append(f"pairs of assessors share {median:g} items (median), which are few for Cohen's κ")
    size = len(statistics.labels.scale)
    undefined = int(np.isnan(cohen_of(used.confusions(size).astype(np.float64), np.eye(size))[1]).sum())
    if undefined:
        notes.append(
            f"Cohen's κ is undefined (0/0) for {undefined:,} of {counted(len(used.first), 'pair')} of assessors, who "
            "use one label for all their common items; these pairs are left out"
        )
    return notes
