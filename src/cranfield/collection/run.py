"""Runs: the documents that a system retrieved for each topic, with scores or ranks; and the team of each run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield import check
from cranfield.collection.accepted_inputs import FrameLike, RunLike
from cranfield.collection.accepted_inputs import Records as GivenRecords
from cranfield.collection.column_names import COLUMNS, ColumnNames, named_columns
from cranfield.collection.columns import Columns
from cranfield.collection.file_formats.search_responses import named_queries
from cranfield.collection.file_formats.writing import Outgoing, Part
from cranfield.collection.records import Reading, Records, are_whole, from_mapping, matrix_columns, table_of
from cranfield.collection.source import PathLike, named_paths, stem
from cranfield.collection.tables.table_schema import Schema, Words
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.text import listed
from cranfield.types import Index64

ORDERS = ("score", "rank", "file")
"""What lists are sorted by."""
TIES = ("z-a", "a-z", "file")
"""The order of documents with equal scores: by id, descending or ascending, or as in the file."""


def check_order(caller: str, order: str | None, ties: str) -> None:
    """Refuse an unknown order, and a rule for ties that the order does not use."""
    if order is not None:
        check.one_of(caller, ORDERS, order=order)
    check.one_of(caller, TIES, ties=ties)
    if ties != TIES[0] and order in ("rank", "file"):
        raise UsageError(f"ties == {ties!r} is for order='score'; in the order {order!r} no documents are tied")


class Retrieved(NamedTuple):
    """One line of a run."""

    topic: str
    doc: str
    score: float


class Ranked(NamedTuple):
    """One place of a ranked list."""

    rank: int
    doc: str
    score: float


class Run(Records):
    """The lists one system retrieved. An immutable value: equal when topics, documents, their order and scores are.

    >>> run = Run.of({"q1": {"d1": 0.5, "d2": 0.9}}, name="bm25")
    >>> run
    <Run 'bm25': 1 topic, 2 documents>
    >>> run.ranking("q1")
    [Ranked(rank=1, doc='d2', score=0.9), Ranked(rank=2, doc='d1', score=0.5)]
    """

    kind: ClassVar[str] = "run"

    # ---- input

    @classmethod
    def of(
        cls,
        thing: RunLike,
        name: str | None = None,
        *,
        format: str | None = None,
        on_duplicate: str = "error",
        columns: ColumnNames | None = None,
        queries: Iterable[object] | None = None,
    ) -> Run:
        """One run from a file or an object; a run is returned as it is.

        `thing` is a path (`-` is standard input, `irds:NAME` the scored documents of an ir_datasets dataset), bytes, an
        open file, {topic: {doc: score}}, {topic: [doc, ...]} (best first), a pandas, polars or Arrow frame, or an
        iterable of named tuples or tuples (topic, doc, score). Its name is `name`, or its tag, or that of its file.
        Several tags are one run, with a warning; `read_runs` can read a run for each tag. `columns` names columns of a
        table that have unusual names:
        {"topic": "search term", "doc": "sku"}; or all columns of a file without a header: ["topic", "doc", "score"].
        `queries` are the ids of topics for responses of a search engine that do
        not name theirs, such as those of msearch, in their order.

        >>> Run.of([{"term": "lamp", "sku": "L1", "score": 2.5}], columns={"topic": "term", "doc": "sku"}).to_dict()
        {'lamp': {'L1': 2.5}}
        """
        with named_columns(columns), named_queries(queries):
            return runs_of(thing, name, format=format, on_duplicate=on_duplicate)[0]

    @classmethod
    def read(
        cls,
        path: PathLike,
        name: str | None = None,
        *,
        format: str | None = None,
        on_duplicate: str = "error",
        columns: ColumnNames | None = None,
    ) -> Run:
        """The run in a file, or in a folder with the response to one query in each file; see `of`."""
        return cls.of(path, name, format=format, on_duplicate=on_duplicate, columns=columns)

    @classmethod
    def from_dict(cls, lists: Mapping[Any, Mapping[Any, float]], name: str = "run") -> Run:
        """A run from {topic: {doc: score}}."""
        return cls(from_mapping(lists, "run", name), name)

    @classmethod
    def from_frame(
        cls,
        frame: FrameLike,
        name: str | None = None,
        *,
        on_duplicate: str = "error",
        columns: Mapping[str, str] | None = None,
    ) -> Run:
        """A run from a pandas, polars or Arrow frame; `columns` names columns that have unusual names."""
        return cls.of(frame, name, on_duplicate=on_duplicate, columns=columns)

    @classmethod
    def from_tuples(cls, records: GivenRecords, name: str | None = None, *, on_duplicate: str = "error") -> Run:
        """A run from tuples (topic, doc, score), named tuples or dicts with such fields.

        >>> len(Run.from_tuples([("q1", "d1", 0.5), ("q1", "d2", 0.2)]))
        2
        """
        given: GivenRecords = iter(records)  # type: ignore[assignment]  # of one of the two kinds
        return cls.of(given, name, on_duplicate=on_duplicate)

    @classmethod
    def from_arrays(
        cls,
        scores: ArrayLike,
        mask: ArrayLike | None = None,
        topics: Iterable[object] | None = None,
        docs: ArrayLike | Sequence[Sequence[str]] | None = None,
        name: str = "run",
    ) -> Run:
        """A run from a matrix of scores (queries × documents). Documents whose `mask` is false are left out.

        >>> [place.doc for place in Run.from_arrays([[0.1, 0.9, 0.5]]).ranking("0")]
        ['1', '2', '0']
        """
        columns = matrix_columns(scores, mask, topics, docs, "scores", nan_is_absent=False)
        return cls(columns.table("run", "error").renamed(name), name)

    # ---- the entries

    @cached_property
    def ranks(self) -> NDArray[np.float64]:
        """The rank column, in the order of the table; empty if there is none."""
        return self.table.ranks

    @cached_property
    def has_ranks(self) -> bool:
        """Whether every document has a rank that is a number."""
        return len(self.ranks) > 0 and not bool(np.isnan(self.ranks).any())

    @cached_property
    def score_ranks(self) -> NDArray[np.int64]:
        """The rank of each document in its list ordered by score (ties by document id, descending)."""
        ranks = np.empty(len(self), dtype=np.int64)
        for place in range(len(self.topics)):
            positions, _ = self.table.order(place, "score", False)
            ranks[positions] = np.arange(1, len(positions) + 1)
        return ranks

    @cached_property
    def ranks_follow_scores(self) -> bool:
        """Whether the ranks are those of the scores; also if there are no ranks."""
        return not len(self.ranks) or bool((self.ranks == self.score_ranks).all())

    @cached_property
    def scores_follow_ranks(self) -> bool:
        """Whether the scores are 1/rank, as in a file without scores."""
        ranks = self.ranks if self.has_ranks else self.score_ranks
        with np.errstate(divide="ignore"):
            return bool((self.values == 1.0 / ranks).all())

    def ranking(self, topic: object, order: str = "score", precision: int = 64, ties: str = "z-a") -> list[Ranked]:
        """The list of one topic, best first, by `score` (compared in 64 or 32 bits), `rank` or as in the `file`.

        ties: documents with equal scores are sorted by id, `z-a` or `a-z`, or stay as in the `file`.

        >>> [place.doc for place in Run.of({"q": {"b": 1, "a": 1, "c": 1}}).ranking("q", ties="a-z")]
        ['a', 'b', 'c']
        """
        self._check_order("ranking", order, ties)
        return self._ranked(self._positions(topic, order, precision, ties))

    def ordered_docs(self, topic: object, order: str = "score", ties: str = "z-a") -> list[str]:
        """The documents of one topic, best first; as `ranking`, without ranks and scores."""
        rows = self._positions(topic, order, 64, ties)
        return self.table.take(rows, self.name).docs(0, len(rows))

    def ranked_at(
        self, topic: object, places: Index64, order: str = "score", precision: int = 64, ties: str = "z-a"
    ) -> list[Ranked]:
        """The documents at these places of `ranking`, counted from 0; the rest of the list is not converted."""
        return self._ranked(self._positions(topic, order, precision, ties)[places], places + 1)

    def _positions(self, topic: object, order: str, precision: int, ties: str) -> Index64:
        self._slice(topic)  # an unknown topic is an error
        return self.table.order(self._place[str(topic)], order, precision == 32, ties)[0]

    def _ranked(self, rows: Index64, ranks: Index64 | None = None) -> list[Ranked]:
        docs = self.table.take(rows, self.name).docs(0, len(rows))
        places = np.arange(1, len(rows) + 1) if ranks is None else ranks
        return list(map(Ranked, places.tolist(), docs, self.values[rows].tolist()))

    def top(self, k: int, order: str = "score", ties: str = "z-a") -> Run:
        """The first `k` documents of every list, best first; `order` and `ties` as for `ranking`.

        >>> Run.of({"q": {"a": 1, "b": 2, "c": 3}}).top(2).to_dict()
        {'q': {'c': 3.0, 'b': 2.0}}
        """
        self._check_order("top", order, ties)
        if k < 1:
            raise UsageError(f"k == {k!r}, must be 1 or more")
        firsts = [self.table.order(place, order, False, ties)[0][:k] for place in range(len(self.topics))]
        rows = np.concatenate(firsts) if firsts else np.empty(0, dtype=np.int64)
        return Run(self.table.take(rows, self.name), self.name, self.path)

    def _check_order(self, caller: str, order: str, ties: str) -> None:
        check_order(caller, order, ties)
        if order == "rank" and not self.has_ranks:
            raise UsageError(f"order == 'rank', but {self.name} has no ranks; use 'score' or 'file'")

    @cached_property
    def _whole_ranks(self) -> bool:
        return are_whole(self.ranks)

    def columns(self, begin: int = 0, end: int | None = None) -> Columns:
        """Entries as lists, column by column: all, or those from a place up to another."""
        columns = super().columns(begin, end)
        if self.has_ranks:
            ranks = self.ranks[begin:end]
            columns.ranks = (ranks.astype(np.int64) if self._whole_ranks else ranks).tolist()
        columns.names = [self.name] * len(columns.docs)
        return columns

    def part(self, begin: int, end: int) -> Part:
        """Entries to write."""
        columns = self.columns(begin, end)
        return Part(columns, columns.ranks or self.score_ranks[begin:end].tolist(), [])

    def outgoing(self) -> Outgoing:
        """The data to write."""
        return Outgoing(
            "run", self.name, len(self), self.part, self.lists,
            ranks_matter=self.has_ranks and not self.ranks_follow_scores,
            scores_matter=not self.scores_follow_ranks,
            empty_topics=self.empty_topics,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Retrieved]:
        columns = super().columns()
        return map(Retrieved, columns.topics, columns.docs, columns.values)

    def _content(self) -> dict[str, Any]:
        docs, scores = self.table.docs(0, len(self)), self.values.tolist()
        return {topic: list(entries.items()) for topic, entries in self._by_topic(docs, scores).items()}

    def __eq__(self, other: object) -> bool:
        equal = super().__eq__(other)
        if equal is not True or not isinstance(other, Run) or not (self.has_ranks and other.has_ranks):
            return equal
        mine, theirs = ({t: run.ranks[slice(*run._slice(t))].tolist() for t in run.topics} for run in (self, other))
        return mine == theirs

    __hash__ = Records.__hash__


def runs_of(
    thing: Any,
    name: str | None = None,
    *,
    format: str | None = None,
    on_duplicate: str = "error",
    split_tags: bool = False,
) -> list[Run]:
    """The run in one file or object, or with `split_tags` a run for each tag.

    With `name`, several runs are called `name:tag`.

    >>> [run.name for run in runs_of(b"1 Q0 d1 1 0.5 bm25\\n1 Q0 d1 1 0.4 rm3\\n", split_tags=True)]
    ['bm25', 'rm3']
    """
    if isinstance(thing, Run):
        return [thing if name in (None, thing.name) else Run(thing.table.renamed(name or ""), name or "", thing.path)]
    reading = Reading("run", format, on_duplicate, split_tags=split_tags)
    table, path = table_of(thing, reading, name or "run")
    tags = table.names
    if len(tags) <= 1:
        together = len(reading.tags) > 1
        if together:
            warn_caller(f"{path or '<data>'}: {several_tags(reading.tags)}", CranfieldWarning)
        own = tags[0] if tags and not together else ""
        run_name = name or own or (stem(path) if path else "run")
        return [Run(table if tags == [run_name] else table.renamed(run_name), run_name, path)]
    row_tag = np.repeat(table.list_name, np.diff(table.list_start))
    names = [f"{name}:{tag}" if name else tag for tag in tags]
    return [Run(table.take(np.flatnonzero(row_tag == i), names[i]), names[i], path) for i in range(len(tags))]


def several_tags(tags: Sequence[str]) -> str:
    """The message about a file with several tags that is read as one run.

    >>> several_tags(["bm25", "rm3"])
    '2 tags (bm25, rm3) are read as one run; to read a run for each tag: split_tags=True'
    """
    return f"{len(tags):,} tags ({listed(tags)}) are read as one run; to read a run for each tag: split_tags=True"


def read_runs(
    paths: PathLike | Iterable[PathLike],
    *,
    format: str | None = None,
    on_duplicate: str = "error",
    split_tags: bool = False,
) -> list[Run]:
    """The runs of several files (globs are expanded), one for each file, or with `split_tags` for each tag."""
    names = [paths] if not isinstance(paths, Iterable) or isinstance(paths, str) else list(paths)
    options: dict[str, Any] = {"format": format, "on_duplicate": on_duplicate, "split_tags": split_tags}
    return [run for name, path in named_paths(names) for run in runs_of(path, name, **options)]


def ranking_digest(run: Run, order: str = "score", ties: str = "z-a") -> str:
    """The SHA-256 digest of all lists of a run: topics, and documents in their order. Scores and tags do not matter.

    >>> first = Run.of({"1": {"a": 2.0, "b": 1.0}}, name="red")
    >>> ranking_digest(first) == ranking_digest(Run.of({"1": {"b": 0.1, "a": 0.7}}, name="blue"))
    True
    >>> ranking_digest(first) == ranking_digest(Run.of({"1": {"b": 0.7, "a": 0.1}}, name="red"))
    False
    """
    digest = hashlib.sha256()
    for topic in sorted(run.topics):
        docs = run.ordered_docs(topic, order, ties)
        text = "\0".join([topic, str(len(docs)), *docs])
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0\0")
    return digest.hexdigest()


Belongs = Mapping[str, str] | str | os.PathLike[str]
"""{run: team}, or a file of run and team."""


def belongs(runs: Belongs, noun: str) -> dict[str, str]:
    """{run: team} from a mapping or a file; messages call the team `noun`.

    >>> belongs({"bm25": "A"}, "team")
    {'bm25': 'A'}
    """
    if isinstance(runs, Mapping):
        return {str(run): str(team) for run, team in runs.items()}
    return read_run_table(runs, noun)


def by_run(table: Mapping[str, str], runs: Sequence[str], files: object) -> dict[str, str]:
    """The table with the names of runs where it has those of their files, with or without their suffixes.

    files: the files of these runs, in their order. If they are something else, or hold several runs each, the table
        stays as it is. A run's name wins, as it may also be the name of another run's file.

    >>> by_run({"a": "red", "b.run": "blue"}, ["a", "tag"], ["runs/a.run", "runs/b.run"])
    {'a': 'red', 'tag': 'blue'}
    """
    named = dict(table)
    if not isinstance(files, Sequence) or not all(isinstance(file, str | os.PathLike) for file in files):
        return named
    paths = [path for _, path in named_paths([files] if isinstance(files, str) else files)]
    for run, path in zip(runs, paths, strict=True) if len(paths) == len(runs) else ():
        for name in (os.path.basename(path), stem(path)):
            if run not in named and name in named and name not in runs:
                named[run] = named.pop(name)
    return named


def read_run_table(path: PathLike, noun: str) -> dict[str, str]:
    """Read lines of run and team between tabs, commas, blanks or semicolons; `#` begins a comment."""
    schema = Schema(
        f"run {noun}", key=("run",), separators="\t, ;", mixed=True, comments=True, run=Words(COLUMNS["name"]),
        team=Words((noun, "team", "group"), noun),
    )  # fmt: skip
    return dict(schema.read(path))
