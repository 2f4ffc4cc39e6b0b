"""Gold labels: the true labels of some items, from a dict, qrels or a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.building.assessor_labels import Labels
from cranfield.building.label_files import LABEL_COLUMNS
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import PathLike
from cranfield.collection.tables.cells import number_or_none
from cranfield.collection.tables.table_schema import DOC, TOPIC, Schema, Words
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed, plain_number
from cranfield.types import Index64

GoldLike = Mapping[Any, Any] | Qrels | PathLike
"""{task: label}, {topic: {doc: grade}}, qrels, or a file: qrels, or a table with columns for task and label."""

GOLD = Schema(
    "task label, or topic doc grade, or topic iteration doc grade",
    layouts=("task label", "topic doc label", "topic - doc label"),
    any_of=("task", "doc"),
    comments=True,
    topic=replace(TOPIC, optional=True, may_be_empty=True),
    doc=replace(DOC, optional=True, may_be_empty=True),
    task=Words(LABEL_COLUMNS["task"], optional=True, may_be_empty=True),
    label=Words(("gold", "truth", "gold_label", "true_label", *LABEL_COLUMNS["label"]), may_be_empty=True),
)
Entry = tuple[int | None, str, str]
"""The line, the name of the item, and its label."""


def gold_of(gold: GoldLike | None, labels: Labels) -> tuple[Index64, tuple[str, ...]]:
    """The position on the scale of the gold label of each item (-1 if it has none), and notes.

    >>> labels = Labels.of([("t1", "ann", 1), ("t2", "ann", 0)])
    >>> gold_of({"t1": 0, "t9": 1}, labels)
    (array([ 0, -1]), ('1 gold label, kept as it is', '1 gold item has no labels of assessors, left out: t9'))
    """
    known = np.full(len(labels.items), -1, dtype=np.int64)
    if gold is None:
        return known, ()
    origin, entries = _entries(gold, labels)
    place = {name: i for i, name in enumerate(labels.items)}
    position = _positions(labels.scale)
    unknown: dict[str, None] = {}
    header = ""
    if entries and entries[0][0] is not None:  # a file
        line, name, word = entries[0]
        if name not in place and word not in position and _key(word) not in position:
            header = (
                f"line {line} of {origin} names neither an item nor a label, and is read as a header: {name}, {word}"
            )
            entries = entries[1:]
    for line, name, word in entries:
        at = position.get(word, position.get(_key(word), -1))
        if name not in place:
            unknown[name] = None
            continue
        if at < 0:
            raise DataError(
                origin, line,
                f"gold label {word!r} of {name} is not on the scale {', '.join(labels.scale)} of the labels; pass all "
                "labels that are allowed by scale=",
            )  # fmt: skip
        i = place[name]
        if known[i] >= 0 and known[i] != at:
            words = f"{labels.scale[known[i]]} and {labels.scale[at]}"
            raise DataError(origin, line, f"gold contradicts itself: {name} has the labels {words}; keep one of them")
        known[i] = at
    count = int((known >= 0).sum())
    if not count:
        example = next(iter(unknown), "none")
        raise DataError(
            origin, None, f"no gold item is among the labelled items; gold has {example!r}, labels {labels.items[0]!r}"
        )
    notes = [f"{counted(count, 'gold label')}, kept as {'it is' if count == 1 else 'they are'}"]
    if header:
        notes.append(header)
    if unknown:
        verb = counted(len(unknown), "gold item has", "gold items have")
        notes.append(f"{verb} no labels of assessors, left out: {listed(unknown)}")
    return known, tuple(notes)


def _positions(scale: Iterable[str]) -> dict[Any, int]:
    """The position of each label, by its text and by its number."""
    places: dict[Any, int] = {}
    for at, word in enumerate(scale):
        places[word] = at
        places.setdefault(_key(word), at)
    return places


def _key(word: str) -> Any:
    number = number_or_none(word)
    return word if number is None else number


def _entries(gold: GoldLike, labels: Labels) -> tuple[str, list[Entry]]:
    """Where the gold labels are from, and each of them."""
    if isinstance(gold, str | os.PathLike):
        return _from_gold_file(gold)
    if isinstance(gold, Mapping) and not any(isinstance(value, Mapping) for value in gold.values()):
        return "gold", [(None, _name(task), _word(label)) for task, label in gold.items()]
    if not isinstance(gold, Mapping | Qrels):
        raise UsageError(f"{type(gold).__name__} cannot be read as gold: give a path, qrels, or a dict {{task: label}}")
    judgments = Qrels.of(gold)
    return judgments.name, [(None, f"{j.topic} {j.doc}", plain_number(j.grade)) for j in judgments]


def _name(task: Any) -> str:
    return " ".join(map(str, task)) if isinstance(task, tuple) else str(task)


def _word(label: Any) -> str:
    return (
        plain_number(label) if isinstance(label, float | np.floating) else str(int(label) if label is True else label)
    )


def _from_gold_file(path: PathLike) -> tuple[str, list[Entry]]:
    """The gold labels in a table; topic and document name an item where it has both."""
    rows = GOLD.read(path, "gold")
    pair = "topic" in rows and "doc" in rows
    names = (
        map(" ".join, zip(rows["topic"], rows["doc"], strict=True))
        if pair
        else rows["task" if "task" in rows else "doc"]
    )
    return rows.origin, [(rows.line(at), *entry) for at, entry in enumerate(zip(names, rows["label"], strict=True))]
