"""From the answer of a language model to a grade. An answer that is not clearly a grade of the scale has none."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from cranfield.text import listed

KEYS = ("grade", "relevance", "label", "score", "rating")
"""The names under which a JSON object may have the grade, the preferred one first."""
_NUMBER = re.compile(rf"(?:(?:{'|'.join(KEYS)}|answer)\s*[:=]?\s*)?(-?\d+(?:\.\d+)?)\s*\.?", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """The grade in an answer, as the scale spells it; or None, and why there is none."""

    grade: str | None
    problem: str = ""


def read_grade(answer: str, scale: Collection[str]) -> Reading:
    """The grade in an answer: a JSON object with a grade, or a number alone, on the scale.

    A JSON object may stand in other text, such as an explanation; if there are several, they must agree.

    >>> read_grade('The document answers it. {"grade": 2}', ["0", "1", "2"])
    Reading(grade='2', problem='')
    >>> read_grade("I would say 1 or 2", ["0", "1", "2"])
    Reading(grade=None, problem='neither a JSON object with a grade nor a number alone')
    """
    text = answer.strip()
    if not text:
        return Reading(None, "the answer is empty")
    found = _objects(text)
    if not found:
        number = _NUMBER.fullmatch(text.strip("*_`\"' \n"))
        if number is None:
            return Reading(None, "neither a JSON object with a grade nor a number alone")
        found = [number[1]]
    grades = [_on_scale(value, scale) for value in found]
    for value, grade in zip(found, grades, strict=True):
        if grade is None:
            return Reading(None, f"grade {value!r} is not on the scale {listed(scale, 10)}")
    distinct = list(dict.fromkeys(grades))
    return Reading(distinct[0]) if len(distinct) == 1 else Reading(None, f"several grades: {listed(distinct)}")


def _objects(text: str) -> list[Any]:
    """The grades of all JSON objects in a text that have one."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    at = text.find("{")
    while at >= 0:
        try:
            thing, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        names = {str(name).lower(): value for name, value in thing.items()}
        key = next((key for key in KEYS if key in names), None)
        if key is not None:
            values.append(names[key])
        at = text.find("{", end)
    return values


def _on_scale(value: Any, scale: Collection[str]) -> str | None:
    """The grade of the scale that a value is; None if it is none. True is not 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return next((grade for grade in scale if float(grade) == number), None)
