"""The overall evaluation criterion (OEC): a weighted sum of online measures, declared in a file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.errors import DataError, UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.log_measures.online_measure import OnlineMeasure, parse_online
from cranfield.types import Array

MOST_PARTS = 5
"""The rule of thumb of Ferro & Maistro 2024, §6.5: no more measures than this."""


@dataclass(frozen=True)
class OECPart:
    """A measure, its weight, and how its values are made comparable.

    The value `low` counts as 0 and `high` as 1; `high` may be the smaller one, if lower is better. Without both, the
    value is divided by the value over the whole log.
    """

    measure: OnlineMeasure
    weight: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        check.finite(f"OEC: {self.measure}", weight=self.weight)
        if (self.low is None) != (self.high is None):
            raise UsageError(f"OEC: {self.measure} has only one of low and high; give both or none")
        if self.low is not None and self.high is not None:
            check.finite(f"OEC: {self.measure}", low=self.low, high=self.high)
            if self.low == self.high:
                raise check.wrong(f"OEC: {self.measure}", "high", self.high, "other than low")

    def scale(self, overall: float) -> tuple[float, float]:
        """The value that counts as 0, and the difference that counts as 1."""
        if self.low is None or self.high is None:
            return 0.0, overall
        return self.low, self.high - self.low

    def described(self) -> str:
        """The normalisation in words."""
        if self.low is None or self.high is None:
            return "divided by its value over the whole log"
        return f"{self.low:g} counts as 0 and {self.high:g} as 1"


@dataclass(frozen=True)
class OEC:
    r"""A weighted sum of normalised measures.

    .. math:: \text{OEC} = \sum_i w_i \frac{m_i - l_i}{h_i - l_i}

    Reference: Ferro & Maistro 2024, §6.5; Kohavi, Tang & Xu, Trustworthy Online Controlled Experiments, 2020
    """

    parts: tuple[OECPart, ...]
    name: str = "OEC"

    def __post_init__(self) -> None:
        if not self.parts:
            raise UsageError("OEC: no parts; give at least one measure with a weight")
        names = [str(part.measure) for part in self.parts]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise UsageError(f"OEC: measure {repeated} appears twice")

    @property
    def measures(self) -> tuple[OnlineMeasure, ...]:
        """The measures of all parts."""
        return tuple(part.measure for part in self.parts)

    def notes(self) -> tuple[str, ...]:
        """How the parts are combined, and a warning if there are too many."""
        terms = [f"{part.weight:g} × {part.measure} ({part.described()})" for part in self.parts]
        notes = [method_note(f"{self.name} = {' + '.join(terms)}")]
        if any(part.low is None for part in self.parts):
            notes.append(f"{self.name}: the interval takes the values over the whole log as known")
        if len(self.parts) > MOST_PARTS:
            notes.append(
                caution_note(
                    f"{self.name} has {len(self.parts)} measures: with more than {MOST_PARTS}, "
                    "it is hard to say what a change of the sum means"
                )
            )
        return tuple(notes)

    def combined(self, numerators: Array, denominators: Array, overall: Array) -> tuple[Array, Array, Array]:
        r"""The values, and their gradients in the mean numerators and denominators.

        The means are groups × parts; `overall` has the value of each part over the whole log.
        With :math:`R = a / b`, the gradient is :math:`w / (s b)` in a and :math:`-w R / (s b)` in b, where s is the
        difference that counts as 1.
        """
        zero, unit = np.array([part.scale(value) for part, value in zip(self.parts, overall.tolist(), strict=True)]).T
        weight = np.array([part.weight for part in self.parts])
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.where(denominators == 0, np.nan, denominators)
            unit = np.where(unit == 0, np.nan, unit)
            ratio = numerators / below
            value = (weight * (ratio - zero) / unit).sum(axis=1)
            above = weight / unit / below
        return value, above, -above * ratio


def read_oec(path: str | os.PathLike[str]) -> OEC:
    """Read an OEC from a TOML file.

    ::

        name = "shop"

        [[parts]]
        measure = "CTR@5"
        weight = 0.7
        low = 0       # counts as 0
        high = 0.2    # counts as 1

        [[parts]]
        measure = "revenue"    # without low and high: divided by the value over the whole log
        weight = 0.3
    """
    where = os.fspath(path)
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise DataError(where, None, error.strerror or "cannot be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(where, None, f"not valid TOML: {error}") from None
    try:
        return oec_of(content)
    except UsageError as error:
        raise DataError(where, None, str(error)) from None


def oec_of(content: Mapping[str, Any]) -> OEC:
    """An OEC from the content of a file: `name`, and `parts` with measure, weight, low and high.

    >>> oec = oec_of({"parts": [{"measure": "CTR@5", "weight": 1.0, "low": 0, "high": 0.2}]})
    >>> oec.notes()
    ('OEC = 1 × CTR@5 (0 counts as 0 and 0.2 as 1)',)
    """
    _known("OEC", content, ("name", "parts"))
    parts = content.get("parts", [])
    if not isinstance(parts, Sequence) or not all(isinstance(part, Mapping) for part in parts):
        raise UsageError("OEC: parts must be tables, each under a line [[parts]]")
    made = []
    for number, part in enumerate(parts, 1):
        _known(f"OEC: part {number}", part, ("measure", "weight", "low", "high"))
        for name in ("measure", "weight"):
            if name not in part:
                raise UsageError(f"OEC: part {number} has no {name}")
        made.append(OECPart(parse_online(str(part["measure"])), part["weight"], part.get("low"), part.get("high")))
    return OEC(tuple(made), str(content.get("name", "OEC")))


def _known(owner: str, content: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in content:
        if name not in names:
            raise UsageError(f"{owner}: {check.nearest(name, names, 'key')}")
