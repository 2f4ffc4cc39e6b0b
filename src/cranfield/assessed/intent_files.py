"""Side files that describe intents: the probability of each, and whether it is informational or navigational."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.segments import position_in_segment
from cranfield.collection.tables.cells import number_in
from cranfield.collection.tables.table_schema import Schema, Words
from cranfield.errors import DataError, UsageError, warn_caller
from cranfield.text import counted, listed
from cranfield.types import Array, Index

SUM_WITHIN = 0.01
"""Tolerance for sums of probabilities: those of twenty intents, written with three digits, may miss 1 by this much."""
TYPES = {"informational": False, "inf": False, "navigational": True, "nav": True}


DISTRIBUTIONS = {
    "uniform": "all intents of a topic are equally likely",
    "nonuniform": "every intent of a topic is half as likely as the one before it",
}
"""Probabilities that need no file: they depend only on the number of intents of a topic."""

GIVEN = {"probability": "intent_probabilities", "type": "intent_types"}
"""The names of the Python arguments."""

EXPECTED = {"probability": "topic intent probability [inf/nav]", "type": "topic intent [probability] inf/nav"}
"""The columns of the files."""
INTENTS: dict[str, Any] = {
    "separators": "\t;, ", "mixed": True, "comments": True, "header": False,
    "topic": Words(word=True), "intent": Words(), "value": Words(word=True),
    "type": Words(word=True, blank="informational", optional=True),
}  # fmt: skip


@dataclass(frozen=True)
class _Side:
    """The values in a side file or a mapping: {topic: {intent: (value, line)}}."""

    origin: str
    kind: str
    rows: dict[str, dict[str, tuple[str, int | None]]]
    types: dict[str, dict[str, tuple[str, int | None]]] | None = None
    """The types beside the probabilities, if the file has a fourth column."""

    @classmethod
    def of(cls, source: Any, kind: str) -> _Side:
        """From {topic: {intent: value}}, or from a file with lines `topic intent value`, as NTCIREVAL reads them.

        Columns are separated by blanks, tabs, semicolons or commas; an intent may contain blanks unless they separate.
        A file with lines `topic intent probability type` (DINprob of NTCIREVAL) gives both values; a line without type
        is informational.
        """
        if isinstance(source, _Side):
            return source
        if isinstance(source, Mapping):
            return cls(
                GIVEN[kind],
                kind,
                {str(t): {str(i): (str(v), None) for i, v in row.items()} for t, row in source.items()},
            )
        if not isinstance(source, str | os.PathLike):
            raise UsageError(
                f"intents: {kind} from {type(source).__name__}, must be a file or {{topic: {{intent: value}}}}"
            )
        table = Schema(EXPECTED[kind], **INTENTS).read(source)
        rows: dict[str, dict[str, tuple[str, int | None]]] = {}
        types: dict[str, dict[str, tuple[str, int | None]]] = {}
        for at, (topic, intent, value, *type_) in enumerate(table):
            row = rows.setdefault(topic, {})
            if intent in row:
                what = f"intent {intent!r} of topic {topic!r} appears twice, first on line {row[intent][1]}"
                raise table.fault(at, what)
            row[intent] = (value, table.line(at))
            types.setdefault(topic, {})[intent] = (type_[0] if type_ else "", table.line(at))
        both = "type" in table
        if kind == "type":
            return cls(table.origin, kind, types if both else rows)
        return cls(table.origin, kind, rows, types if both else None)

    def read(self, make: Callable[[str], Any], expected: str) -> dict[str, dict[str, Any]]:
        """The values, converted by `make`."""
        values: dict[str, dict[str, Any]] = {}
        for topic, row in self.rows.items():
            values[topic] = {}
            for intent, (value, line) in row.items():
                try:
                    values[topic][intent] = make(value)
                except (ValueError, KeyError):
                    raise DataError(
                        self.origin, line,
                        f"topic {topic!r}, intent {intent!r}: {self.kind} {value!r}, must be {expected}",
                    ) from None  # fmt: skip
        return values

    def of_intents(
        self, values: dict[str, dict[str, Any]], of_topic: Index, labels: list[str], topics: list[str]
    ) -> list[Any]:
        """The value of each intent that has relevant documents."""
        for number, label in zip(of_topic.tolist(), labels, strict=True):
            row = values.get(topics[number], {})
            if label not in row:
                raise DataError(
                    self.origin, None,
                    f"no {self.kind} for intent {label!r} of topic {topics[number]!r} (only for: "
                    f"{listed(row) or 'none'}); add a line {topics[number]} {label} {self.kind.upper()}",
                )  # fmt: skip
        return [values[topics[number]][label] for number, label in zip(of_topic.tolist(), labels, strict=True)]


def descriptions(probabilities: Any, types: Any) -> tuple[Any, Any]:
    """Probabilities and types of intents; a file of probabilities with a fourth column has the types, too."""
    if isinstance(probabilities, str | os.PathLike) and probabilities not in DISTRIBUTIONS:
        probabilities = _Side.of(probabilities, "probability")
        if types is None and probabilities.types is not None:
            types = _Side(probabilities.origin, "type", probabilities.types)
    return probabilities, types


def _probability(text: str) -> float:
    value = number_in(text)
    if not 0 <= value <= 1:
        raise ValueError(text)
    return value


def read_probabilities(source: Any) -> Any:
    """The source of probabilities, read if it is a file, so that it can be used twice."""
    named = isinstance(source, str) and source in DISTRIBUTIONS
    return source if source is None or named else _Side.of(source, "probability")


def described_intents(source: Any, topics: list[str]) -> list[tuple[int, str]]:
    """The topic and name of each intent to which a source that was read gives a probability."""
    if not isinstance(source, _Side):
        return []
    return [(number, label) for number, topic in enumerate(topics) for label in source.rows.get(topic, {})]


def probabilities_of_intents(
    source: Any,
    of_topic: Index,
    labels: list[str],
    topics: list[str],
    start: NDArray[np.int64],
    *,
    keep_empty: bool = False,
) -> Array:
    """Pr(intent | topic) of each intent, from a file, a mapping or the name of a distribution; None: all equal.

    Probabilities of a file are divided by their sum over these intents, unless `keep_empty`.
    """
    count = np.maximum(np.diff(start), 1)[of_topic]
    if source is None or source == "uniform":
        return np.asarray(1.0 / count)
    if source == "nonuniform":
        return np.asarray(np.exp2(-position_in_segment(start)) / (1.0 - np.exp2(-count.astype(np.float64))))
    side = _Side.of(source, "probability")
    table = side.read(_probability, "a number between 0 and 1")
    for topic, row in table.items():
        total = sum(row.values())
        if not math.isclose(total, 1.0, abs_tol=SUM_WITHIN):
            raise DataError(side.origin, None, f"topic {topic!r}: intent probabilities sum to {total:g}, expected 1")
    values = np.array(side.of_intents(table, of_topic, labels, topics), dtype=np.float64)
    whole = np.bincount(of_topic, values, len(topics))[of_topic]
    if (whole <= 0).any():
        topic = topics[int(of_topic[np.flatnonzero(whole <= 0)[0]])]
        raise DataError(
            side.origin, None, f"topic {topic!r}: all intents that have relevant documents have probability 0"
        )
    if keep_empty:
        return values
    _warn_unjudged(side, of_topic, labels, topics)
    return np.asarray(values / whole)


def _warn_unjudged(side: _Side, of_topic: Index, labels: list[str], topics: list[str]) -> None:
    """Warn about intents with a probability but no relevant document."""
    useful = set(zip(of_topic.tolist(), labels, strict=True))
    unused = [
        f"{topic}/{intent}"
        for number, topic in enumerate(topics)
        for intent in side.rows.get(topic, {})
        if (number, intent) not in useful
    ]
    if unused:
        warn_caller(
            f"{side.origin}: {counted(len(unused), 'intent has', 'intents have')} a probability but no relevant "
            f"document; the other intents of the topic share it: {listed(unused)}"
        )  # fmt: skip


def navigational_intents(source: Any, of_topic: Index, labels: list[str], topics: list[str]) -> NDArray[np.bool_]:
    """Which intents are navigational, from a file or a mapping; None: no intent is."""
    if source is None:
        return np.zeros(len(labels), dtype=bool)
    side = _Side.of(source, "type")
    table = side.read(lambda text: TYPES[text.lower()], "informational (inf) or navigational (nav)")
    return np.array(side.of_intents(table, of_topic, labels, topics), dtype=bool)
