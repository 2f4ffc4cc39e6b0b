"""Labels of several assessors: who gave which item which label."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.building.label_files import LabelColumns, from_judgments, read_labels
from cranfield.collection.file_formats.structured import is_frame
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import PathLike
from cranfield.collection.tables.cells import number_or_none
from cranfield.collection.tables.table_schema import Numbers, Schema, Words
from cranfield.errors import DataError, UsageError
from cranfield.frames import Tidy
from cranfield.notes import method_note
from cranfield.text import counted, listed, plain_number
from cranfield.types import Array, Index32, Index64

LabelsLike = Any
"""Anything that `Labels.of` takes."""
DUPLICATES = ("error", "first", "last", "keep")
"""What to do if an assessor labels an item twice, with different labels."""
OTHER = "other"
"""The group of assessors that have none."""
_CUTS = re.compile(r"(?:>=\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*)+")


class Assessor(NamedTuple):
    """What is known about an assessor."""

    group: str
    cost: float | None = None
    """The cost of one label; None if it is unknown."""


Assessors = Mapping[str, Assessor | tuple[str, float] | str] | PathLike
"""{assessor: group}, {assessor: (group, cost of a label)}, or a file with lines of assessor, group and perhaps cost."""


ASSESSORS = Schema(
    "assessor group [cost]",
    key=("assessor",),
    same=True,
    assessor=Words(("assessor", "worker", "worker_id", "annotator", "name"), "assessor"),
    group=Words(),
    cost=Numbers(("cost", "price"), "cost of a label", least=0, default=None, blank=math.nan),
)


def assessors_of(thing: Assessors) -> dict[str, Assessor]:
    """Groups and costs of assessors, from a dict or a file.

    >>> assessors_of({"anna": "experts", "ben": ("crowd", 0.1)})
    {'anna': Assessor(group='experts', cost=None), 'ben': Assessor(group='crowd', cost=0.1)}
    """
    costs = ASSESSORS.read(thing, "assessors")
    return {name: Assessor(group, None if math.isnan(cost) else float(cost)) for name, group, cost in costs}


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Tidy):
    """Labels of several assessors. Most items need not have a label of every assessor.

    >>> labels = Labels.of([("t1", "anna", 1), ("t1", "ben", 0), ("t2", "anna", 1)])
    >>> labels
    <Labels: 3 labels of 2 items by 2 assessors on the scale 0, 1>
    >>> labels.matrix().tolist()  # items × assessors; -1 is no label
    [[1, 0], [1, -1]]
    """

    items: tuple[str, ...]
    """A name per item: the name of the task, or topic and document."""
    workers: tuple[str, ...]
    """A name per assessor."""
    scale: tuple[str, ...]
    """The labels, lowest first."""
    item: Index64
    """The item of each label that was given."""
    worker: Index64
    """The assessor of each label that was given."""
    label: Index64
    """The position on the scale of each label that was given."""
    ordered: bool = True
    """Does the scale have an order? Numbers have one, and so has a scale that was passed by the caller."""
    topics: tuple[str, ...] = ()
    """The topic of each item; empty if unknown."""
    docs: tuple[str, ...] = ()
    """The document of each item; empty if unknown."""
    time: Array | None = None
    """The time of each label, in seconds."""
    seconds: Array | None = None
    """How long the assessor took for each label."""
    cost: Array | None = None
    """The cost of each label."""
    group: tuple[str, ...] = ()
    """The group of each assessor, such as experts or crowd; empty if unknown."""
    notes: tuple[str, ...] = ()

    # ---- input

    @classmethod
    def of(
        cls,
        thing: LabelsLike,
        *,
        scale: Sequence[Any] | None = None,
        separator: str | None = None,
        on_duplicate: str = "error",
        columns: Mapping[str, str] | None = None,
    ) -> Labels:
        """Labels from a file or an object; labels are returned as they are.

        thing: a path to a table (CSV, TSV, JSON-lines, Parquet) with columns for the task (or for topic and document),
            the worker and the label; a frame with such columns; tuples (task, worker, label) or (topic, doc, worker,
            label); a list of paths or a dict {assessor: qrels}, one qrels file for each assessor. A text file without a
            header has the columns task, worker, label, or as qrels topic, assessor, doc, grade.
        scale: all labels that are allowed, lowest first. By default the labels that occur: numbers in their order,
            otherwise words without an order.
        separator: the text between topic and document in the name of a task.
        on_duplicate: what to do if an assessor gives an item two different labels: `error`, keep the `first` or the
            `last` one, or `keep` both. The same label twice counts once, with a note, unless both are kept.
            Methods that merge labels count every label that is kept; agreement uses the first of them.
        columns: {role: name of its column} for columns with unusual names. The roles are topic, doc, task, worker,
            label, time, seconds, group and cost.
        """
        if isinstance(thing, Labels):
            return thing
        if on_duplicate not in DUPLICATES:
            raise UsageError(f"on_duplicate == {on_duplicate!r}, must be one of {', '.join(DUPLICATES)}")
        return cls._from(_columns(thing, on_duplicate, columns), scale, separator, on_duplicate)

    @classmethod
    def read(cls, *paths: PathLike, **options: Any) -> Labels:
        """Labels from a table, or from one qrels file for each assessor. See `of`."""
        return cls.of(paths[0] if len(paths) == 1 else list(paths), **options)

    @classmethod
    def _from(
        cls, columns: LabelColumns, scale: Sequence[Any] | None, separator: str | None, on_duplicate: str
    ) -> Labels:
        if separator is not None:
            columns = columns.split_tasks(separator)
        columns, missing = columns.without_missing()
        if not len(columns.labels):
            raise DataError(columns.origin, None, "holds no labels")
        labels, words, ordered = _coded(columns, scale)
        worker, workers = columns.workers.number.astype(np.int64), tuple(columns.workers.texts)
        if columns.topics is None:
            item, items = columns.tasks.number.astype(np.int64), tuple(columns.tasks.texts)
            topics: tuple[str, ...] = ()
            docs: tuple[str, ...] = ()
        else:
            item, topic, doc = pairs_of(columns.topics.number, columns.tasks.number)
            topics = tuple(map(columns.topics.texts.__getitem__, topic.tolist()))
            docs = tuple(map(columns.tasks.texts.__getitem__, doc.tolist()))
            items = tuple(f"{topic} {doc}" for topic, doc in zip(topics, docs, strict=True))
        group = _group_of(columns, worker, workers)
        notes = list(columns.notes)
        if missing:
            notes.append(f"{counted(missing, 'row')} without a label, left out")
        whole = cls(
            items, workers, words, item, worker, labels, ordered, topics, docs, columns.time, columns.seconds,
            columns.cost, group, tuple(notes),
        )  # fmt: skip
        return whole if on_duplicate == "keep" else whole._once(columns, on_duplicate)

    def _once(self, columns: LabelColumns, on_duplicate: str) -> Labels:
        """Keep one label of an item by an assessor."""
        key = self.item * len(self.workers) + self.worker
        order = np.argsort(key, kind="stable")
        same = key[order][1:] == key[order][:-1]
        if not same.any():
            return self
        differ = same & (self.label[order][1:] != self.label[order][:-1])
        if differ.any() and on_duplicate == "error":
            at = np.flatnonzero(differ)
            second, first = order[at[0] + 1], order[at[0]]
            names = self.items[self.item[second]], self.workers[self.worker[second]]
            words = self.scale[self.label[first]], self.scale[self.label[second]]
            raise DataError(
                columns.origin, columns.line(int(second)),
                f"{names[1]} gives {names[0]} two labels, {words[0]} and {words[1]}; "
                f"{counted(len(at), 'label contradicts', 'labels contradict')} an earlier one of the same assessor; "
                "models such as Dawid and Skene's count every label that an assessor gives: keep all of them by "
                "Labels.of(..., on_duplicate='keep'), or only the 'first' or the 'last'",
            )  # fmt: skip
        keep = np.ones(len(order), dtype=bool)
        if on_duplicate == "last":
            keep[order[:-1][same]] = False
        else:
            keep[order[1:][same]] = False
        note = method_note(f"{counted(int(same.sum()), 'repeated label')} of an item by the same assessor, left out")
        if differ.any():
            note += (
                f"; {counted(int(differ.sum()), 'of them differs', 'of them differ')}, the {on_duplicate} one counts"
            )
        return replace(self.select(keep), notes=(*self.notes, note))

    # ---- access

    def __len__(self) -> int:
        return len(self.label)

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.items), 'item')} by {counted(len(self.workers), 'assessor')}"
        return f"<Labels: {counted(len(self), 'label')} of {sizes} on the scale {listed(self.scale)}>"

    @cached_property
    def values(self) -> Array:
        """The number of each label of the scale: the label itself, or its position if labels are words in an order."""
        try:
            return np.array([float(word) for word in self.scale])
        except ValueError:
            if not self.ordered:
                raise UsageError(
                    f"the labels {listed(map(repr, self.scale))} are words without an order; pass them as a scale, "
                    "lowest first"
                ) from None
            return np.arange(len(self.scale), dtype=np.float64)

    @property
    def numeric(self) -> bool:
        """Are all labels of the scale numbers?"""
        return all(_number(word) is not None for word in self.scale)

    @cached_property
    def topic_names(self) -> tuple[str, ...]:
        """The topics, in order of appearance."""
        self.need_topics()
        return tuple(dict.fromkeys(self.topics))

    @cached_property
    def topic(self) -> Index64:
        """The number of the topic of each item."""
        number = {name: i for i, name in enumerate(self.topic_names)}
        return np.array([number[name] for name in self.topics], dtype=np.int64)

    def need_topics(self) -> None:
        """Raise an error if the topics of items are unknown."""
        if not self.topics:
            example = repr(self.items[0]) if self.items else "none"
            raise UsageError(
                f"the topics of items are unknown: items have one name, such as {example}. Give topic and document in "
                "two columns, or say what separates them in the name"
            )

    def select(self, keep: NDArray[np.bool_] | Index64) -> Labels:
        """Some of the labels, marked or by their positions; items, assessors and scale stay as they are."""

        def part(values: Array | None) -> Array | None:
            return None if values is None else values[keep]

        return replace(
            self, item=self.item[keep], worker=self.worker[keep], label=self.label[keep], time=part(self.time),
            seconds=part(self.seconds), cost=part(self.cost),
        )  # fmt: skip

    def with_assessors(self, assessors: Assessors) -> Labels:
        """The labels with groups of assessors and the cost of a label, from a dict or a file.

        Assessors that are not mentioned are in the group `other`, with a note. A cost replaces one in the table.

        >>> labels = Labels.of([("t1", "anna", 1), ("t1", "ben", 0)])
        >>> labels.with_assessors({"anna": ("experts", 2.0), "ben": ("crowd", 0.1)}).group
        ('experts', 'crowd')
        """
        known = assessors_of(assessors)
        absent = [name for name in self.workers if name not in known]
        if len(absent) == len(self.workers):
            raise UsageError(
                f"assessors: none of {listed(known)} gave a label; the labels are by {listed(self.workers)}"
            )
        notes = self.notes
        if absent:
            notes += (f"{counted(len(absent), 'assessor')} without a group, in group {OTHER}: {listed(absent)}",)
        group = tuple(known[name].group if name in known else OTHER for name in self.workers)
        costs = [known[name].cost if name in known else None for name in self.workers]
        cost = np.array([np.nan if cost is None else cost for cost in costs])[self.worker]
        if self.cost is not None:
            cost = np.where(np.isnan(cost), self.cost, cost)
        return replace(self, group=group, cost=None if np.isnan(cost).all() else cost, notes=notes)

    def matrix(self) -> Index64:
        """items × assessors: the position of the label on the scale, -1 if there is none; the last of repeated ones."""
        matrix = np.full((len(self.items), len(self.workers)), -1, dtype=np.int64)
        matrix[self.item, self.worker] = self.label
        return matrix

    def counts(self) -> Index64:
        """items × scale: how many assessors gave the label."""
        size = len(self.scale)
        return np.bincount(self.item * size + self.label, minlength=len(self.items) * size).reshape(-1, size)

    def columns(self) -> dict[str, NDArray[Any]]:
        """task (or topic and doc), assessor, label."""
        items = {"topic": self.topics, "doc": self.docs} if self.topics else {"task": self.items}
        named = {name: np.array(names, dtype=object)[self.item] for name, names in items.items()}
        workers, scale = np.array(self.workers, dtype=object), np.array(self.scale, dtype=object)
        return {**named, "assessor": workers[self.worker], "label": scale[self.label]}

    def to_qrels(self, grades: Array, name: str = "merged") -> Qrels:
        """Qrels with a grade per item; items whose grade is NaN are left out."""
        self.need_topics()
        keep = np.flatnonzero(~np.isnan(grades)).tolist()
        return Qrels.from_tuples([(self.topics[i], self.docs[i], float(grades[i])) for i in keep], name=name)

    def qrels_of(self, worker: str) -> Qrels:
        """The judgments of one assessor."""
        grades = np.full(len(self.items), np.nan)
        mine = self.worker == self.workers.index(worker)
        grades[self.item[mine]] = self.values[self.label[mine]]
        return self.to_qrels(grades, worker)


def factorised(names: Sequence[Any]) -> tuple[Index64, tuple[Any, ...]]:
    """The number of each name, in order of appearance, and the distinct names.

    >>> factorised(["b", "a", "b"])
    (array([0, 1, 0]), ('b', 'a'))
    """
    distinct = tuple(dict.fromkeys(names))
    number = {name: i for i, name in enumerate(distinct)}
    return np.fromiter(map(number.__getitem__, names), dtype=np.int64, count=len(names)), distinct


def pairs_of(first: Index32, second: Index32) -> tuple[Index64, Index32, Index32]:
    """The number of each pair, in order of appearance, and the two sides of each distinct pair.

    Both sides are numbers from 0 on, in order of appearance.

    >>> pairs_of(np.array([0, 1, 0, 0], np.int32), np.array([0, 0, 1, 0], np.int32))
    (array([0, 1, 2, 0]), array([0, 1, 0], dtype=int32), array([0, 0, 1], dtype=int32))
    """
    size = int(second.max()) + 1
    owner = np.empty(size, dtype=np.int32)
    owner[second[::-1]] = first[::-1]
    if (owner[second] == first).all():  # a document is in one topic: its number is that of the pair
        return second.astype(np.int64), owner, np.arange(size, dtype=np.int32)
    _, row, pair = np.unique(first * np.int64(size) + second, return_index=True, return_inverse=True)
    order = np.argsort(row)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[pair], first[row[order]], second[row[order]]


def _columns(thing: LabelsLike, on_duplicate: str, columns: Mapping[str, str] | None) -> LabelColumns:
    if isinstance(thing, str | os.PathLike) or is_frame(thing):
        return read_labels(thing, columns)
    if isinstance(thing, Mapping):
        return from_judgments(thing, on_duplicate)
    if isinstance(thing, Iterable):
        rows = list(thing)
        if rows and all(isinstance(row, str | os.PathLike) for row in rows):
            return from_judgments(rows, on_duplicate)
        return read_labels(rows, columns)
    raise UsageError(
        f"{type(thing).__name__} cannot be read as labels: give a path, a frame, tuples or a dict of judgments"
    )


def _coded(columns: LabelColumns, scale: Sequence[Any] | None) -> tuple[Index64, tuple[str, ...], bool]:
    """The position of each label on the scale, the scale, and whether it has an order."""
    code, words = columns.labels.number, columns.labels.texts
    keys = [_number(word) for word in words]
    numeric = None not in keys
    if scale is None:
        order = sorted(range(len(words)), key=lambda i: (keys[i] if numeric else 0, words[i]))
        position = {i: at for at, i in enumerate(order)}
        if numeric:  # "1" and "1.0" are one label
            values = sorted(set(keys))  # type: ignore[type-var]
            place = {value: at for at, value in enumerate(values)}
            position = {i: place[key] for i, key in enumerate(keys)}
            named = tuple(map(plain_number, values))  # type: ignore[arg-type]
        else:
            named = tuple(words[i] for i in order)
        return np.array([position[i] for i in range(len(words))], dtype=np.int64)[code], named, numeric
    allowed = [str(word) for word in scale]
    if len(set(allowed)) < len(allowed):
        raise UsageError(f"scale == {listed(allowed)}, must be labels that differ")
    places: dict[Any, int] = {}
    for at, word in enumerate(allowed):
        places |= {word: at} if _number(word) is None else {word: at, _number(word): at}
    position = {i: places.get(word, places.get(keys[i], -1)) for i, word in enumerate(words)}
    label = np.array([position[i] for i in range(len(words))], dtype=np.int64)[code]
    if (label < 0).any():
        at = int(np.flatnonzero(label < 0)[0])
        outside = counted(int((label < 0).sum()), "label")
        raise DataError(
            columns.origin, columns.line(at),
            f"label {columns.labels[at]!r} is not on the scale {', '.join(allowed)}; in all, {outside} outside it",
        )  # fmt: skip
    return label, tuple(allowed), True


def _number(word: str) -> float | None:
    number = number_or_none(word)
    return number if number is not None and np.isfinite(number) else None


def _group_of(columns: LabelColumns, worker: Index64, workers: tuple[str, ...]) -> tuple[str, ...]:
    """The group of each assessor; an assessor in two groups is an error."""
    if columns.groups is None:
        return ()
    group = np.empty(len(workers), dtype=np.int32)
    group[worker[::-1]] = columns.groups.number[::-1]  # the first of each
    other = group[worker] != columns.groups.number
    if other.any():
        at = int(np.argmax(other))
        first = columns.groups.texts[group[worker[at]]]
        raise DataError(
            columns.origin,
            columns.line(at),
            f"{workers[worker[at]]} is in two groups, {first!r} and {columns.groups[at]!r}",
        )
    return tuple(columns.groups.texts[number] for number in group.tolist())


def collapse(labels: Labels, scale: str) -> Labels:
    """The labels on a coarser scale, whose labels are 0, 1, 2 … in their order.

    scale: groups of labels, lowest first, with / between groups: `0/123` makes grades 1, 2 and 3 one grade, and `01/23`
        the two lowest and the two highest. Longer labels have + between them: `no+hardly/partly+fully`. Or limits, for
        magnitudes: `>=10` is 1 from 10 on and 0 below, `>=10>=50` has three grades.

    >>> labels = Labels.of([("t1", "anna", 0), ("t1", "ben", 1), ("t2", "anna", 3), ("t2", "ben", 2)])
    >>> collapse(labels, "01/23").label.tolist(), collapse(labels, ">=2>=3").label.tolist()
    ([0, 0, 1, 1], [0, 0, 2, 1])
    """
    new = _by_limits(labels, scale) if _CUTS.fullmatch(scale.strip()) else _by_groups(labels, scale)
    size = int(new.max()) + 1
    return replace(labels, scale=tuple(map(str, range(size))), label=new[labels.label], ordered=True)


def _by_limits(labels: Labels, scale: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    limits = [float(word) for word in scale.replace(">=", " ").split()]
    if limits != sorted(set(limits)):
        raise UsageError(f"scale {scale!r}: limits must rise, as in >=10>=50")
    new = np.searchsorted(np.array(limits), labels.values, side="right").astype(np.int64)
    if len(set(new.tolist())) < 2:
        low, high = labels.values.min(), labels.values.max()
        raise UsageError(f"scale {scale!r} gives all labels the same grade; labels are between {low:g} and {high:g}")
    return new


def _by_groups(labels: Labels, scale: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    short = all(len(word) == 1 for word in labels.scale) and "+" not in scale
    groups = [list(group.strip()) if short else [w.strip() for w in group.split("+")] for group in scale.split("/")]
    if len(groups) < 2 or not all(groups):
        example = "/".join([labels.scale[0], "+".join(labels.scale[1:]) if not short else "".join(labels.scale[1:])])
        raise UsageError(f"scale {scale!r}: expected two groups of labels or more, such as {example}, or limits: >=2")
    place: dict[str, int] = {}
    for number, group in enumerate(groups):
        for word in group:
            if word in place:
                raise UsageError(f"scale {scale!r}: label {word!r} is in two groups")
            place[word] = number
    if unknown := [word for word in place if word not in labels.scale]:
        known = listed(labels.scale)
        raise UsageError(f"scale {scale!r}: {listed(map(repr, unknown))} is not among the labels {known}")
    if lacking := [word for word in labels.scale if word not in place]:
        raise UsageError(f"scale {scale!r}: no group for {listed(map(repr, lacking))}; every label needs one")
    return np.array([place[word] for word in labels.scale], dtype=np.int64)
