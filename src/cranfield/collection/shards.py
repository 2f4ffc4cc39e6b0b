"""Random parts (shards) of a collection of documents: which documents are in each, and its runs and judgments.

The files of a collection (topics, qrels, runs) are read here, and a part of each is written in its own format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.convert import KINDS, kind_of
from cranfield.collection.doors import reads
from cranfield.collection.file_formats import formats, writing
from cranfield.collection.qrels import Qrels
from cranfield.collection.records import Records
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import PathLike, load, write_bytes
from cranfield.collection.tables.table_schema import DOC, Schema
from cranfield.collection.topics import Topics, format_of
from cranfield.collection.whole_folder import whole_folder
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import DataError, UsageError
from cranfield.notes import rewritten
from cranfield.record import Record, column
from cranfield.text import counted, listed
from cranfield.types import Index64, Progress


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


R = TypeVar("R", bound=Records)
_BLOCK = 4_000_000
"""The number of characters in memory at once; it does not change results."""


def shard_numbers(documents: Sequence[str], shards: int, seed: int = 0) -> Index64:
    """The shard of each document, from 0: a random number that depends only on the id of the document and the seed.

    So a document is in the same shard in all runs, topics and judgments, and shards have about the same size.

    >>> shard_numbers(["d1", "d2", "d3", "d1"], 2).tolist()
    [0, 1, 1, 0]
    """
    check.whole("shards", shards=shards)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise check.wrong("shards", "seed", seed, "a whole number, 0 or more and below 2**64")
    longest = max(map(len, documents), default=0)
    step = max(1, _BLOCK // max(1, longest))
    parts = [_hashes(documents[begin : begin + step], seed) for begin in range(0, len(documents), step)]
    hashes = np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)
    return np.asarray(np.minimum((hashes >> np.uint64(11)) * (2.0**-53 * shards), shards - 1), dtype=np.int64)


def shards_of(records: R, shards: int, seed: int = 0) -> list[R]:
    """The parts of a run, or of judgments, in each shard.

    Topics without a document in a shard are left out of it; of judgments, topics without a relevant document (a grade
    above 0), because no system can do well on them.

    >>> from cranfield.collection.run import Run
    >>> run = Run.of({"q": {"d1": 3, "d2": 2, "d3": 1}})
    >>> [part.to_dict() for part in shards_of(run, 2)]
    [{'q': {'d1': 3.0}}, {'q': {'d2': 2.0, 'd3': 1.0}}]
    """
    numbers = shard_numbers(records.table.docs(0, len(records)), shards, seed)
    parts = []
    for shard in range(shards):
        chosen = numbers == shard
        if isinstance(records, Qrels):
            topic = np.repeat(np.arange(len(records.topics)), np.diff(records.starts))
            relevant = np.bincount(topic, chosen & (records.values > 0), minlength=len(records.topics))
            chosen = chosen & (relevant > 0)[topic]
        parts.append(records.of_rows(np.flatnonzero(chosen)))
    return parts


def _hashes(documents: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """A random 64-bit number for each id: FNV-1a of its characters and the seed, mixed by splitmix64."""
    texts = np.array(documents, dtype=np.str_)
    characters = texts.view(np.uint32).reshape(len(texts), -1)
    with np.errstate(over="ignore"):
        state = np.full(len(texts), _mixed(np.array([seed], dtype=np.uint64))[0] ^ np.uint64(0xCBF29CE484222325))
        for column in characters.T:
            # Ids are padded with 0 at the end, which must not count.
            state = np.where(column > 0, (state ^ column) * np.uint64(0x100000001B3), state)
        return _mixed(state)


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The output function of splitmix64 (Steele, Lea & Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


MOST_SHARDS = 10_000
IDS = Schema("document id", key=("doc",), separators="\t", comments=True, header=False, doc=DOC)
ASSIGNMENT = "shards.tsv"
"""The file with the shard of each document, in the folder of a split."""


@dataclass(frozen=True, eq=False, repr=False)
class DocumentShards(Record):
    """What was written: a row for each file and shard of each split."""

    facts = ("shards", "repeats", "seed")

    split: Annotated[Index64 | None, column()]
    """None if there is one split."""
    shard: Annotated[Index64, column()]
    file: Annotated[tuple[str, ...], column()]
    """The name of the file, in the folder of its shard."""
    topics: Annotated[Index64, column()]
    """The topics with documents in the shard; 0 for files of ids."""
    documents: Annotated[Index64, column()]
    """The number of lines: judgments, retrieved documents or ids."""
    shards: int
    repeats: int
    seed: int
    notes: tuple[str, ...]


@operation
def shard_files(
    files: Iterable[PathLike] = (),
    folder: Annotated[PathLike, about("Where to write the shards.", spelled="--folder DIR")] = "shards",
    shards: Annotated[int, about("The number of shards.", least=2, most=MOST_SHARDS)] = 5,
    *,
    ids: Iterable[PathLike] = (),
    repeats: Annotated[
        int, about("Make N different splits.", least=1, most=MOST_SHARDS, spelled="--repeats N", solves="repeats=")
    ] = 1,
    seed: Seed = 0,
    kinds: Mapping[Any, str] | None = None,
    progress: Progress | None = None,
) -> DocumentShards:
    """Cut runs, judgments and lists of document ids into random parts of the collection, and write them to `folder`.

    Each document is in one shard, chosen by a hash of its id and the seed, so it is in the same shard in all files, and
    files can be cut one after the other. `folder`/shard1/NAME is the part of a file in the first shard, in the format
    of the file; with `repeats`, `folder`/split1/shard1/NAME, where each split has its own seed: `seed`, `seed` + 1, ...
    A topic without a relevant document in a shard is left out of its judgments, because no system can do well on it;
    notes count such topics.

    files: qrels and runs.
    ids: files with a document id in each line; SPLIT/shards.tsv has the shard of each.
    kinds: {file: `qrels` or `run`} for files whose content leaves that open.

    Reference: Voorhees, Samarov & Soboroff, Using Replicates in Information Retrieval Evaluation, TOIS 36(2), 2017,
    doi:10.1145/3086701
    """
    if shards * repeats > MOST_SHARDS:
        raise UsageError(f"shard_files: {shards} shards × {repeats} repeats, must be at most {MOST_SHARDS:,} folders")
    paths, lists = list(files), [_Ids.read(path) for path in ids]
    read = read_files(paths, kinds, "shard_files") if paths or not lists else []
    for file in read:
        if file.kind == "topics":
            raise UsageError(f"shard_files: {file.path} has topics, which have no documents; give qrels, runs and ids")
    things: list[CollectionFile | _Ids] = [*read, *lists]
    names = [thing.name for thing in things]
    if len(set(names)) < len(names):
        raise UsageError("shard_files: two files have the same name, and a shard has one; rename one")
    rows: list[tuple[int, int, str, int, int]] = []
    notes: list[str] = []
    with whole_folder(folder) as made:
        for repeat in range(repeats):
            where = os.path.join(made, *([f"split{repeat + 1}"] if repeats > 1 else []))
            for shard in range(shards):
                os.makedirs(os.path.join(where, f"shard{shard + 1}"))
            for done, thing in enumerate(things):
                counts, thing_notes = _write(thing, where, shards, seed + repeat)
                rows += [(repeat + 1, shard + 1, thing.name, *count) for shard, count in enumerate(counts)]
                before = f"split {repeat + 1}: " if repeats > 1 else ""
                notes += [rewritten(note, f"{before}{note}") for note in thing_notes]
                if progress:
                    progress(repeat * len(names) + done + 1, repeats * len(names))
            if lists:
                _write_assignment(os.path.join(where, ASSIGNMENT), lists, shards, seed + repeat)
    split, shard_of, file_names, topics, documents = zip(*rows, strict=True)
    numbers = (np.array(column, dtype=np.int64) for column in (split, shard_of, topics, documents))
    of_split, of_shard, of_topics, of_documents = numbers
    split_of_row = of_split if repeats > 1 else None
    return DocumentShards(
        split_of_row,
        of_shard,
        file_names,
        of_topics,
        of_documents,
        int(shards),
        int(repeats),
        int(seed),
        tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class _Ids:
    """A file with a document id in each line."""

    path: str
    documents: Sequence[str]

    @classmethod
    def read(cls, path: PathLike) -> _Ids:
        table = IDS.read(path)
        for row, document in enumerate(table["doc"]):
            if len(document.split()) > 1:
                raise table.fault(row, f"{document!r} has blanks, expected one document id in each line")
        return cls(os.fspath(path), table["doc"])

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


@reads
def is_id_list(path: PathLike) -> bool:
    """Whether the first lines of a file have one column each, so that it is a list of document ids."""
    head = bytes(memoryview(load(path))[: 1 << 14])
    lines = [line.split() for line in head.splitlines()[:50]]
    lines = [words for words in (lines[:-1] or lines) if words and not words[0].startswith(b"#")]
    return bool(lines) and all(len(words) == 1 for words in lines) and not head.lstrip().startswith((b"{", b"[", b"<"))


def _write(thing: CollectionFile | _Ids, where: str, shards: int, seed: int) -> tuple[list[tuple[int, int]], list[str]]:
    """Write the parts of one file; return topics and documents of each, and notes."""
    if isinstance(thing, _Ids):
        number = shard_numbers(thing.documents, shards, seed)
        documents = np.array(thing.documents, dtype=object)
        parts_of_ids = [documents[number == shard].tolist() for shard in range(shards)]
        for shard, part in enumerate(parts_of_ids):
            text = "".join(f"{document}\n" for document in part)
            write_bytes(_place(where, shard, thing.name), text.encode("utf-8", "surrogateescape"))
        return [(0, len(part)) for part in parts_of_ids], []
    notes, counts = [], []
    if isinstance(thing.content, Qrels):
        parts: list[Any] = shards_of(thing.content, shards, seed)
        for shard, part in enumerate(parts):
            lost = len(thing.content.topics) - len(part.topics)
            if lost:
                topics = f"{counted(lost, 'topic')} of {len(thing.content.topics)} left out"
                notes.append(f"{thing.name}, shard {shard + 1}: {topics}, without a relevant document in the shard")
    else:
        assert isinstance(thing.content, list)
        by_run = [shards_of(run, shards, seed) for run in thing.content]
        parts = [[of_run[shard] for of_run in by_run] for shard in range(shards)]
    for shard, part in enumerate(parts):
        pieces = [part] if isinstance(part, Qrels) else part
        size = sum(len(piece) for piece in pieces)
        counts.append((len({topic for piece in pieces for topic in piece.topics}), size))
        if size:
            thing.write(_place(where, shard, thing.name), part)
        else:
            notes.append(f"{thing.name} has no document in shard {shard + 1}, so the shard has no {thing.name}")
    return counts, notes


def _place(where: str, shard: int, name: str) -> str:
    return os.path.join(where, f"shard{shard + 1}", name)


def _write_assignment(path: str, lists: Sequence[_Ids], shards: int, seed: int) -> None:
    documents = list(dict.fromkeys(document for some in lists for document in some.documents))
    number = shard_numbers(documents, shards, seed).tolist()
    text = "".join(f"{document}\t{shard + 1}\n" for document, shard in zip(documents, number, strict=True))
    write_bytes(path, text.encode("utf-8", "surrogateescape"))
