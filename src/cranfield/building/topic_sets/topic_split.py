"""Split topics into parts, such as train, validation and test: seeded, and alike in every class."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.shards import read_files
from cranfield.collection.source import PathLike, write_bytes
from cranfield.collection.whole_folder import whole_folder
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import DataError, UsageError
from cranfield.record import Record
from cranfield.scores.topic_classes import Classes, TopicClasses
from cranfield.table import Cell, Column, Table
from cranfield.text import counted, listed
from cranfield.types import Array

PARTS = {"train": 0.6, "validation": 0.2, "test": 0.2}
"""The usual parts, and their shares of the topics."""
NO_CLASS = "-"
"""The class of topics that the classes lack, in tables."""


@dataclass(frozen=True, eq=False, repr=False)
class TopicSplit(Record):
    """The part of each topic."""

    facts = ("seed", "shares", "by_id")

    part_of: Mapping[str, str]
    """{topic: part}, topics in their order in the input."""
    shares: Mapping[str, float]
    """{part: its share of the topics, as asked for}."""
    seed: int
    by_id: bool
    """Does the part of a topic depend on its id and the seed alone?"""
    classes: Mapping[str, str] | None
    notes: tuple[str, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts."""
        return tuple(self.shares)

    def topics(self, part: str) -> list[str]:
        """The topics of a part."""
        if part not in self.shares:
            raise check.nearest(part, self.parts, "part")
        return [topic for topic, name in self.part_of.items() if name == part]

    def columns(self) -> dict[str, NDArray[Any]]:
        """topic, part and, if there are classes, class."""
        columns = {"topic": list(self.part_of), "part": list(self.part_of.values())}
        if self.classes is not None:
            columns["class"] = [self.classes.get(topic, NO_CLASS) for topic in self.part_of]
        return {name: np.array(values, dtype=object) for name, values in columns.items()}

    def table(self) -> Table:
        """A row per part: its topics, in all and of each class."""
        classes = [] if self.classes is None else list(dict.fromkeys(self.columns()["class"].tolist()))
        columns = (
            Column("part"), Column("topics", "count"), Column("share", "number"),
            *(Column(name, "count") for name in classes),
        )  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        for part in self.parts:
            members = self.topics(part)
            of_class = [(self.classes or {}).get(topic, NO_CLASS) for topic in members]
            rows.append((part, len(members), len(members) / len(self.part_of), *map(of_class.count, classes)))
        return Table(columns, tuple(rows), "Topics of each part", self.notes)

    def write(self, path: PathLike) -> None:
        """Write lines of topic, tab, part: a file of classes, which can be read as a split again."""
        write_classes(path, self.part_of)


def write_classes(path: PathLike, classes: Mapping[str, str]) -> None:
    """Write a file with lines of topic, tab, class, whole or not at all."""
    text = "".join(f"{topic}\t{name}\n" for topic, name in classes.items())
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def split_topics(
    topics: Iterable[str],
    shares: Mapping[str, float] | None = None,
    *,
    classes: Classes | None = None,
    seed: int = 0,
    by_id: bool = False,
) -> TopicSplit:
    """Assign each topic to a part.

    A topic's place in the order of topics is a hash (BLAKE2b) of the seed and its id, so the order of the input does
    not matter. By default the first topics in this order are the first part, and so on, and sizes of parts are exact:
    the shares of n topics, where topics that are left over go to the parts that lack most.

    shares: {part: share}; shares are divided by their sum, so {"train": 3, "test": 1} has three quarters of the topics.
    classes: {topic: class}, or a file with lines of topic, class: each class is split in this way, so that parts are
        alike. A part has the share of a class rounded down or up. Topics without a class are one more class.
    by_id: the part of a topic depends on its id and the seed alone, so topics that are added later do not move others.
        The sizes of parts are then only near to the shares, and classes are not used.

    >>> split = split_topics(["1", "2", "3", "4", "5"], {"train": 0.6, "test": 0.4})
    >>> split.topics("train"), split.topics("test")
    (['2', '4', '5'], ['1', '3'])
    """
    wanted = _checked(PARTS if shares is None else shares)
    names = list(dict.fromkeys(map(str, topics)))
    if not names:
        raise UsageError("split_topics: there are no topics")
    if by_id and classes is not None:
        raise UsageError("split_topics: classes need parts of exact sizes; leave out classes or by_id")
    part_names = list(wanted)
    notes = []
    of_class: TopicClasses | None = None
    order = sorted(names, key=lambda topic: (_place(seed, topic), topic))
    if by_id:
        limits = np.cumsum(list(wanted.values()))[:-1]
        part = {topic: part_names[int(np.searchsorted(limits, _place(seed, topic), "right"))] for topic in names}
    else:
        groups: dict[str | None, list[str]] = {}
        if classes is not None:
            of_class = TopicClasses.of(classes)
            without = [topic for topic in names if topic not in of_class]
            if len(without) == len(names):
                known = f"the topics are {listed(map(repr, names))}, those with a class {listed(map(repr, of_class))}"
                raise UsageError(f"{of_class.origin}: no topic has a class: {known}")
            if without:
                notes.append(f"{counted(len(without), 'topic')} without a class, split as one class: {listed(without)}")
        for topic in order:
            groups.setdefault(of_class.get(topic) if of_class is not None else None, []).append(topic)
        part = _exact(groups, wanted)
    empty = [name for name in part_names if name not in part.values()]
    if empty:
        notes.append(f"no topics for {listed(empty)}: {counted(len(names), 'topic')} for {len(part_names)} parts")
    return TopicSplit({topic: part[topic] for topic in names}, wanted, seed, by_id, of_class, tuple(notes))


def _checked(shares: Mapping[str, float]) -> dict[str, float]:
    """The shares divided by their sum."""
    for name, share in shares.items():
        check.finite("split_topics", **{name: share})
        check.positive("split_topics", **{name: share})
        if not name or name.split() != [name] or name in (".", "..") or "/" in name or "\\" in name:
            raise check.wrong("split_topics", "part", name, "a name for a folder, without blanks")
    if len(shares) < 2:
        raise check.wrong("split_topics", "shares", dict(shares), "two parts or more")
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()}


def _place(seed: int, topic: str) -> float:
    """A number from 0 up to 1 that depends on the seed and the id of a topic alone."""
    text = f"{seed} {topic}".encode("utf-8", "surrogateescape")
    return (int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 11) / 2**53


def _exact(groups: Mapping[str | None, list[str]], shares: Mapping[str, float]) -> dict[str, str]:
    """The part of each topic, with sizes as close to the shares as possible, in each class and in all.

    Each class gives every part its share rounded down; of what is left over, one topic each goes to the parts that
    lack most of their share of all topics so far.
    """
    names = list(shares)
    share = np.array(list(shares.values()))
    part: dict[str, str] = {}
    assigned, seen = np.zeros(len(names)), 0
    for name in sorted(groups, key=lambda name: (name is not None, name or "")):
        members = groups[name]
        seen += len(members)
        exact: Array = share * len(members)
        sizes = np.floor(exact + 1e-9)
        lack = share * seen - assigned - sizes
        fraction = exact - sizes > 1e-9
        candidates = np.lexsort((np.arange(len(names)), -np.round(lack, 9), ~fraction))
        sizes[candidates[: len(members) - int(sizes.sum())]] += 1
        assigned += sizes
        ends = np.cumsum(sizes).astype(int).tolist()
        for begin, end, label in zip([0, *ends], ends, names, strict=False):
            part |= dict.fromkeys(members[begin:end], label)
    return part


ASSIGNMENT = "split.tsv"
"""The file with the part of each topic, in the folder of the parts."""


@operation
def split_files(
    files: Iterable[PathLike],
    folder: PathLike,
    shares: Mapping[str, float] | None = None,
    *,
    kinds: Mapping[Any, str] | None = None,
    assigned: Classes | None = None,
    classes: Classes | None = None,
    seed: Seed = 0,
    by_id: Annotated[
        bool, about("The part of a topic depends on its id and the seed alone; sizes are not exact.")
    ] = False,
) -> TopicSplit:
    """Split topics, and write the part of each file to `folder`/PART/NAME, in the format of the file.

    The topics are those of the files of topics; without any, those of the qrels; else those of the runs. Topics that
    only other files have are in no part, and a note counts them. `folder`/split.tsv has the part of each topic.

    files: files of topics, qrels and runs.
    kinds: {file: `topics`, `qrels` or `run`} for files whose content leaves that open.
    assigned: a split made earlier, {topic: part} or a file such as split.tsv: no new one is made.
    shares, classes, seed, by_id: see `split_topics`.
    """
    read = read_files(files, kinds)
    deciding = next(kind for kind in ("topics", "qrels", "run") if any(file.kind == kind for file in read))
    topics = list(dict.fromkeys(topic for file in read if file.kind == deciding for topic in file.topics))
    if assigned is None:
        split = split_topics(topics, shares, classes=classes, seed=seed, by_id=by_id)
    else:
        split = _assigned(topics, TopicClasses.of(assigned))
    notes = list(split.notes)
    with whole_folder(folder) as where:
        for part in split.parts:
            members = split.topics(part)
            for file in read:
                present = set(file.topics)
                kept = [topic for topic in members if topic in present]
                if not kept:
                    notes.append(f"{file.path} has no topic of {part}, so {part} has no {file.name}")
                    continue
                os.makedirs(os.path.join(where, part), exist_ok=True)
                file.write_topics(os.path.join(where, part, file.name), kept)
        split.write(os.path.join(where, ASSIGNMENT))
    for file in read:
        if outside := [topic for topic in file.topics if topic not in split.part_of]:
            notes.append(f"{file.path}: {counted(len(outside), 'topic')} in no part, left out: {listed(outside)}")
    return replace(split, notes=tuple(notes))


def _assigned(topics: Sequence[str], parts: TopicClasses) -> TopicSplit:
    """A split that was made earlier, for some topics."""
    part_of = {topic: parts[topic] for topic in topics if topic in parts}
    if not part_of:
        known = f"the topics are {listed(map(repr, topics))}, those with a part {listed(map(repr, parts))}"
        raise DataError(parts.origin, None, f"no topic has a part: {known}")
    names = dict.fromkeys(parts.values())
    sizes = {name: sum(part == name for part in part_of.values()) / len(part_of) for name in names}
    return TopicSplit(part_of, sizes, 0, False, None, (f"parts as in {parts.origin}",))
