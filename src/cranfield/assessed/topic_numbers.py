"""Numbers of topics that measures use as parameters: `N`, the documents to read, and `alpha`, as a table by topic."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.assessed.attachment import Attachment
from cranfield.collection.side_files import read_side_file
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed
from cranfield.types import Array, Index

if TYPE_CHECKING:
    from cranfield.assessed.lists import Assessed

LIMITS = {"N": ("1 or more", 1.0, math.inf), "alpha": ("between 0 and 1", 0.0, 1.0)}
"""The numbers that a topic can have: what is allowed, in words, the lowest and the highest."""


@dataclass(frozen=True, eq=False)
class TopicNumbers(Attachment):
    """Numbers of the topic of every list, by name; NaN for topics that the table lacks."""

    origin: str
    columns: Mapping[str, Array]

    def take(self, rows: Index | slice) -> TopicNumbers:
        return TopicNumbers(self.origin, {name: column[rows] for name, column in self.columns.items()})


def topic_numbers_of(source: Any, lists: Assessed) -> TopicNumbers:
    """From {name: {topic: number}}, or a file: lines `topic N`, or a header such as `topic,N,alpha` and lines of these.

    Names are `N` and `alpha`; further columns of a file are ignored.
    """
    origin, table = _from_mapping(source) if isinstance(source, Mapping) else _from_file(source)
    columns = {}
    for name, values in table.items():
        of_topic = np.array([values.get(topic, math.nan) for topic in lists.topics])
        columns[name] = of_topic[lists.topic]
    return TopicNumbers(origin, columns)


def numbers_of_topics(lists: Assessed, name: str, caller: str) -> Array | None:
    """The number of the topic of each list; None without such a table. A topic that the table lacks is an error."""
    table = lists.topic_numbers
    if table is None or name not in table.columns:
        return None
    values = table.columns[name]
    if np.isnan(values).any():
        lacking = list(dict.fromkeys(lists.topics[topic] for topic in lists.topic[np.isnan(values)].tolist()))
        what = f"{caller}: no {name} for {counted(len(lacking), 'topic')}: {listed(lacking)}"
        raise DataError(table.origin, None, f"{what}; add a line {lacking[0]} {name.upper()}")
    return values


def _from_mapping(source: Mapping[Any, Any]) -> tuple[str, dict[str, dict[str, float]]]:
    table: dict[str, dict[str, float]] = {}
    for name, values in source.items():
        if name not in LIMITS or not isinstance(values, Mapping):
            raise UsageError(
                f"topic_numbers == {{{name!r}: ...}}, must be {{name: {{topic: number}}}} with the names "
                f"{' and '.join(LIMITS)}"
            )
        table[name] = {str(topic): _number("topic_numbers", None, name, value) for topic, value in values.items()}
    return "topic_numbers", table


def _from_file(source: Any) -> tuple[str, dict[str, dict[str, float]]]:
    if not isinstance(source, str | os.PathLike):
        raise UsageError(f"topic_numbers from {type(source).__name__}, must be a file or {{name: {{topic: number}}}}")
    file = read_side_file(
        source, "topic N, or of the columns named in a header line", range(2, 100), filled=1,
        header=lambda cells: cells[0].lower() in ("topic", "query", "qid"),
    )  # fmt: skip
    names = file.header[1:] if file.header else ["N"]
    known = {column: name for column, name in enumerate(names, 1) if name in LIMITS}
    if not known:
        expected = f"expected a column {' or '.join(LIMITS)}"
        raise DataError(file.origin, file.header_line, f"the columns are {listed(names)}; {expected}")
    table: dict[str, dict[str, float]] = {name: {} for name in known.values()}
    for line, cells in file:
        for column, name in known.items():
            if cells[0] in table[name]:
                raise DataError(file.origin, line, f"topic {cells[0]!r} appears twice")
            table[name][cells[0]] = _number(file.origin, line, name, cells[column])
    return file.origin, table


def _number(origin: str, line: int | None, name: str, value: Any) -> float:
    allowed, low, high = LIMITS[name]
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not low <= number <= high or math.isinf(number):
        raise DataError(origin, line, f"{name} is {value!r}, must be a number, {allowed}")
    return number
