"""The files of a collection (topics, qrels, runs), and writing a part of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield import check
from cranfield.collection.convert import KINDS, kind_of
from cranfield.collection.file_formats import formats, writing
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import PathLike, load, write_bytes
from cranfield.collection.topics import Topics, format_of
from cranfield.errors import DataError, UsageError
from cranfield.text import listed


@dataclass(frozen=True, eq=False)
class CollectionFile:
    """A file of the collection, with its content by topic."""

    path: str
    kind: str
    content: Topics | Qrels | list[Run]

    @property
    def topics(self) -> list[str]:
        parts: Sequence[Any] = self.content if isinstance(self.content, list) else [self.content]
        names = [part if isinstance(part, Topics) else part.topics for part in parts]
        return list(dict.fromkeys(topic for topics in names for topic in topics))

    @property
    def name(self) -> str:
        """The name of the file without its folder."""
        return os.path.basename(self.path)

    def write_topics(self, path: str, topics: Sequence[str]) -> None:
        """Write the part of some topics, in the format of the file."""
        if isinstance(self.content, Topics):
            Topics(self.content[topic] for topic in topics).write(path, format_of(self.path))
        elif isinstance(self.content, Qrels):
            self.write(path, self.content.of_topics(topics))
        else:
            self.write(path, [run.of_topics(topics) for run in self.content])

    def write(self, path: str, part: Qrels | list[Run]) -> None:
        """Write a part of the judgments or runs, in the format of the file."""
        chosen = formats.detect(load(self.path), self.kind, self.path)
        out = part.outgoing() if isinstance(part, Qrels) else writing.together([run.outgoing() for run in part])
        write_bytes(path, writing.encode(out, chosen, path))


def read_files(
    files: Iterable[PathLike], kinds: Mapping[Any, str] | None = None, caller: str = "split_files"
) -> list[CollectionFile]:
    """Read files of topics, qrels and runs; their names must differ, because a folder holds a part of each."""
    read = [_read(os.fspath(path), (kinds or {}).get(path), caller) for path in files]
    if not read:
        raise UsageError(f"{caller}: there are no files to split")
    names = [file.name for file in read]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise UsageError(f"{caller}: several files are called {listed(repeated)}, and a part has one; rename one")
    return read


def _read(path: str, kind: str | None, caller: str) -> CollectionFile:
    if path == "-":
        raise UsageError(f"{caller}: standard input has no name for the files of its parts; give a file")
    if kind is None:
        try:
            kind = kind_of(path)
        except UsageError:
            message = "the content leaves open whether these are topics, qrels or a run; say which by kinds="
            raise DataError(path, None, message) from None
    check.one_of(caller, KINDS, kind=kind)
    if kind == "topics":
        return CollectionFile(path, kind, Topics.read(path))
    if kind == "qrels":
        return CollectionFile(path, kind, Qrels.read(path))
    return CollectionFile(path, kind, runs_of(path, split_tags=True))
