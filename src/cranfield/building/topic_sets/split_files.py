"""Write the part of every file of a collection: topics, qrels and runs, in a folder for each part."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.building.files_to_split import read_files
from cranfield.building.topic_sets.topic_split import TopicSplit, split_topics
from cranfield.collection.source import PathLike
from cranfield.collection.whole_folder import whole_folder
from cranfield.errors import DataError
from cranfield.scores.topic_classes import Classes, TopicClasses
from cranfield.text import counted, listed

ASSIGNMENT = "split.tsv"
"""The file with the part of each topic, in the folder of the parts."""


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
