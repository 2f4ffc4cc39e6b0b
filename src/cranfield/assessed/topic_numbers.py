"""Numbers of topics that measures use as parameters: `N`, the documents to read, and `alpha`, as a table by topic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.assessed.attachment import Attachment
from cranfield.collection.tables.rows import Rows
from cranfield.collection.tables.table_schema import TOPIC, Numbers, Schema
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed
from cranfield.types import Array, Index

if TYPE_CHECKING:
    from cranfield.assessed.lists import Assessed

NUMBERS = Schema(
    "topic N [alpha]",
    key=("topic",),
    any_of=("N", "alpha"),
    topic=TOPIC,
    N=Numbers(("n",), least=1, blank=math.nan, optional=True),
    alpha=Numbers(least=0, most=1, blank=math.nan, optional=True),
)


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
    rows = _table(source)
    columns = {}
    for name in (name for name in NUMBERS.any_of if name in rows):
        values = dict(zip(rows["topic"], rows[name].tolist(), strict=True))
        of_topic = np.array([values.get(topic, math.nan) for topic in lists.topics])
        columns[name] = of_topic[lists.topic]
    return TopicNumbers(rows.origin, columns)


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


def _table(source: Any) -> Rows:
    if not isinstance(source, Mapping):
        return NUMBERS.read(source, "topic_numbers")
    for name, values in source.items():
        if name not in NUMBERS.any_of or not isinstance(values, Mapping):
            raise UsageError(
                f"topic_numbers == {{{name!r}: ...}}, must be {{name: {{topic: number}}}} with the names "
                f"{' and '.join(NUMBERS.any_of)}"
            )
    topics = dict.fromkeys(topic for values in source.values() for topic in values)
    columns = {name: [values.get(topic) for topic in topics] for name, values in source.items()}
    return NUMBERS.read_columns({"topic": list(topics), **columns}, "topic_numbers")
