"""Write the part of every file of a collection: topics, qrels and runs, in a folder for each part."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cranfield import check
from cranfield.building.topic_sets.topic_split import TopicSplit, split_topics
from cranfield.collection import formats, writing
from cranfield.collection.convert import KINDS, kind_of, together
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import PathLike, load, write_bytes
from cranfield.collection.topics import Topics, format_of
from cranfield.errors import DataError, UsageError
from cranfield.scores.topic_classes import Classes, TopicClasses
from cranfield.text import counted, listed

ASSIGNMENT = "split.tsv"
"""The file with the part of each topic, in the folder of the parts."""


@dataclass(frozen=True, eq=False)
class _File:
    """A file of the collection, with its content by topic."""

    path: str
    kind: str
    content: Topics | Qrels | list[Run]

    @property
    def topics(self) -> list[str]:
        parts: Sequence[Any] = self.content if isinstance(self.content, list) else [self.content]
        names = [part if isinstance(part, Topics) else part.topics for part in parts]
        return list(dict.fromkeys(topic for topics in names for topic in topics))

    def write(self, path: str, topics: Sequence[str]) -> None:
        """Write the part of some topics, in the format of the file."""
        if isinstance(self.content, Topics):
            Topics(self.content[topic] for topic in topics).write(path, format_of(self.path))
            return
        chosen = formats.detect(load(self.path), self.kind, self.path)
        if isinstance(self.content, Qrels):
            out = self.content.of_topics(topics).outgoing()
        else:
            out = together([run.of_topics(topics) for run in self.content])
        write_bytes(path, writing.encode(out, chosen, path))


def split_files(
    files: Iterable[PathLike],
    folder: PathLike,
    shares: Mapping[str, float] | None = None,
    *,
    kinds: Mapping[Any, str] | None = None,
    assigned: Classes | None = None,
    classes: Classes | None = None,
    seed: int = 0,
    by_id: bool = False,
) -> TopicSplit:
    """Split topics, and write the part of each file to `folder`/PART/NAME, in the format of the file.

    The topics are those of the files of topics; without any, those of the qrels; else those of the runs. Topics that
    only other files have are in no part, and a note counts them. `folder`/split.tsv has the part of each topic.

    files: files of topics, qrels and runs.
    kinds: {file: `topics`, `qrels` or `run`} for files whose content leaves that open.
    assigned: a split made earlier, {topic: part} or a file such as split.tsv: no new one is made.
    shares, classes, seed, by_id: see `split_topics`.
    """
    read = [_read(os.fspath(path), (kinds or {}).get(path)) for path in files]
    if not read:
        raise UsageError("split_files: there are no files to split")
    names = [os.path.basename(file.path) for file in read]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise UsageError(f"split_files: several files are called {listed(repeated)}, and a part has one; rename one")
    deciding = next(kind for kind in ("topics", "qrels", "run") if any(file.kind == kind for file in read))
    topics = list(dict.fromkeys(topic for file in read if file.kind == deciding for topic in file.topics))
    if assigned is None:
        split = split_topics(topics, shares, classes=classes, seed=seed, by_id=by_id)
    else:
        split = _assigned(topics, TopicClasses.of(assigned))
    notes = list(split.notes)
    where = os.fspath(folder)
    for part in split.parts:
        members = split.topics(part)
        for file, name in zip(read, names, strict=True):
            present = set(file.topics)
            kept = [topic for topic in members if topic in present]
            if not kept:
                notes.append(f"{file.path} has no topic of {part}, so {part} has no {name}")
                continue
            _make_folder(os.path.join(where, part))
            file.write(os.path.join(where, part, name), kept)
    for file in read:
        if outside := [topic for topic in file.topics if topic not in split.part_of]:
            notes.append(f"{file.path}: {counted(len(outside), 'topic')} in no part, left out: {listed(outside)}")
    _make_folder(where)
    split.write(os.path.join(where, ASSIGNMENT))
    return replace(split, notes=tuple(notes))


def _read(path: str, kind: str | None) -> _File:
    if path == "-":
        raise UsageError("split_files: standard input has no name for the files of its parts; give a file")
    if kind is None:
        try:
            kind = kind_of(path)
        except UsageError:
            message = "the content leaves open whether these are topics, qrels or a run; say which by kinds="
            raise DataError(path, None, message) from None
    check.one_of("split_files", KINDS, kind=kind)
    if kind == "topics":
        return _File(path, kind, Topics.read(path))
    if kind == "qrels":
        return _File(path, kind, Qrels.read(path))
    return _File(path, kind, runs_of(path, split_tags=True))


def _assigned(topics: Sequence[str], parts: TopicClasses) -> TopicSplit:
    """A split that was made earlier, for some topics."""
    part_of = {topic: parts[topic] for topic in topics if topic in parts}
    if not part_of:
        known = f"the topics are {listed(map(repr, topics))}, those with a part {listed(map(repr, parts))}"
        raise DataError(parts.origin, None, f"no topic has a part: {known}")
    names = dict.fromkeys(parts.values())
    sizes = {name: sum(part == name for part in part_of.values()) / len(part_of) for name in names}
    return TopicSplit(part_of, sizes, 0, False, None, (f"parts as in {parts.origin}",))


def _make_folder(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise DataError(path, None, f"cannot be made: {error.strerror or error}") from None
