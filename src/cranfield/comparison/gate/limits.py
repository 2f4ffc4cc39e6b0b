"""The limits of a gate: numbers, for all measures or by measure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from cranfield.errors import UsageError
from cranfield.scores.labels import label, same_measure

Limit = float | str
"""A number, or a percentage of the baseline's mean such as `2%`."""


def amount(text: Limit, what: str, mean: float = math.nan) -> float:
    """A limit as a number; a percentage is that of `mean`.

    >>> amount("2%", "margin", 0.4), amount(0.01, "margin")
    (0.008, 0.01)
    """
    percent = is_percentage(text)
    try:
        number = float(text.strip().rstrip("%") if isinstance(text, str) else text)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(text, bool) or not isinstance(text, Real | str) or not math.isfinite(number):
        raise UsageError(
            f"{what} == {text!r}, must be a number{' or a percentage such as 2%' if what == 'margin' else ''}"
        )
    if percent and math.isnan(mean):
        raise UsageError(f"{what} == {text!r}: a percentage needs a baseline; give a number")
    return number / 100 * abs(mean) if percent else number


def is_percentage(text: Limit) -> bool:
    return isinstance(text, str) and text.strip().endswith("%")


def margins(given: Any, measures: list[str]) -> dict[str, Limit]:
    """The margin of each measure: one for all, or {measure: margin}, in which measures may be missing."""
    if isinstance(given, Mapping):
        limits = limits_by_measure(given, measures, "margin")
    else:
        limits = dict.fromkeys(measures, given)
    for limit in limits.values():
        if amount(limit, "margin", 1.0) < 0:
            raise UsageError(f"margin == {limit!r}, must be 0 or above: the loss that is tolerated")
    return limits


def limits_by_measure(given: Mapping[Any, Any] | None, measures: list[str], what: str) -> dict[str, Any]:
    """{measure: limit} with the measures as `measures` spells them."""
    limits: dict[str, Any] = {}
    for measure, limit in (given or {}).items():
        name = label(measure)
        place = measures.index(name) if name in measures else same_measure(name, measures)
        if place is None:
            raise UsageError(f"{what} of {name}: not one of the measures {', '.join(measures)}")
        amount(limit, what, 1.0)
        limits[measures[place]] = limit
    return limits
