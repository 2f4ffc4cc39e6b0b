"""Runs in files, tables and dicts, joined with judgments in the order in which they are given."""

from __future__ import annotations

import mmap
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice, takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.attachment import ByRank, topic_numbers_of
from cranfield.assessed.given_runs import distinct_names, each_run, is_run_dict
from cranfield.assessed.join_options import JoinOptions, MemoryPlan, memory_plan
from cranfield.assessed.lengths import LengthTable
from cranfield.assessed.lists import Assessed
from cranfield.assessed.parts import can_be_cut, join_contents, join_in_parts, join_rules
from cranfield.assessed.segments import Judged
from cranfield.collection.file_formats import formats as layouts
from cranfield.collection.file_formats.blocks import Blocks, load_or_open
from cranfield.collection.file_formats.structured import plain_lists, wrong_depth
from cranfield.collection.qrels import Qrels
from cranfield.collection.records import DATASET_PREFIXES
from cranfield.collection.run import TIES, Run, runs_of, several_tags
from cranfield.collection.source import (
    DATA_LINE,
    HEAD,
    STDIN,
    Buffer,
    FromStdin,
    check_complete,
    check_content,
    shown_path,
    stem,
    unmarked,
)
from cranfield.errors import CranfieldWarning, DataError, NotedWarning, SameRunWarning, UsageError, warn_caller
from cranfield.notes import method_note
from cranfield.text import counted, listed
from cranfield.types import Array, Progress

MOST_THREADS = 1024
MOST_FILES = 128
"""Files open at a time: systems allow some hundreds, and there may be thousands of runs."""


class JudgedIndex(NamedTuple):
    """The judged documents of every topic, for joins."""

    table: _core.Judged
    grade: Array | None
    """The grade of each document, NaN if it does not count as judged; None: those of the table."""
    by_topic: Judged
    """The grades of each topic, best first."""

    @staticmethod
    def of(table: _core.Judged, grade: Array | None = None) -> JudgedIndex:
        if grade is None:
            return JudgedIndex(table, None, Judged.of_table(table))
        unknown = np.isnan(grade)
        if not unknown.any():
            return JudgedIndex(table, grade, Judged.in_order(table.start, grade))
        topics = len(table.topics)
        topic = np.repeat(np.arange(topics), np.diff(table.start))
        return JudgedIndex(table, grade, Judged.of(topic[~unknown], grade[~unknown], topics))

    def grade_of(self, document: NDArray[np.int32]) -> Array:
        """The grades of some documents."""
        return self.table.grade_of(document) if self.grade is None else self.grade.take(document)


def join_runs(
    documents: JudgedIndex, runs: Any, options: JoinOptions, progress: Progress | None, qrels: Qrels
) -> Assessed:
    """Lists of all runs. `qrels` are the same judgments; messages show a document of them."""
    joiner = RunJoiner(documents.table, options, progress, qrels)
    for name, run in each_run(runs):
        joiner.add(name, run)
    lists = joiner.assessed(documents)
    joiner.warn_of_odd_runs(lists, qrels)
    if options.topic_numbers is None:
        return lists
    return lists.replace(topic_numbers=topic_numbers_of(options.topic_numbers, lists))


def lists_of(documents: JudgedIndex, joined: _core.Joined, order: str, options: JoinOptions, qrels: Qrels) -> Assessed:
    """Lists of runs that another engine joined."""
    joiner = RunJoiner(documents.table, options, None)
    joiner._keep(joined, order, None)
    lists = joiner.assessed(documents)
    joiner.warn_of_odd_runs(lists, qrels)
    return lists


class _File(NamedTuple):
    """A run file that is loaded but not joined yet."""

    name: str | None
    path: str
    content: Buffer | Blocks
    layout: layouts.Layout

    @property
    def head(self) -> bytes:
        """The first lines."""
        return bytes((self.content.head if isinstance(self.content, Blocks) else self.content)[:HEAD])


class RunJoiner:
    """Joins runs one after the other. Files of the same layout, and runs in memory, are joined together."""

    def __init__(
        self, judged: _core.Judged, options: JoinOptions, progress: Progress | None, qrels: Qrels | None = None
    ) -> None:
        self.judged = judged
        self.qrels = qrels
        self.options = options
        self.progress = progress
        self.lengths = None if options.lengths is None else LengthTable.of(options.lengths)
        self.joined: list[_core.Joined] = []
        self.paths: list[str] = []
        self.pending: list[_File] = []
        self.tables: list[Run] = []
        self.orders: set[str] = set()
        self.unjudged_documents: dict[int, str] = {}
        self.reversed: list[int] = []
        if options.memory is not None:
            assert self.memory  # an error if it is too little, whatever the runs are

    @cached_property
    def memory(self) -> MemoryPlan:
        return memory_plan(self.options.memory, min(self.options.threads or os.cpu_count() or 1, MOST_THREADS))

    @property
    def threads(self) -> int:
        return self.memory.threads

    def add(self, name: str | None, run: Any) -> None:
        if isinstance(run, str | os.PathLike) and not str(run).startswith(DATASET_PREFIXES) and not os.path.isdir(run):
            path = shown_path(os.fspath(run))
            content = load_or_open(
                os.fspath(run),
                lambda head: layouts.check_block(head, "run", self.options.format, path),
                self.memory.whole,
            )
            buffer = content.head if isinstance(content, Blocks) else content
            if self.options.format:
                check_content(bytes(buffer[:HEAD]), path)
                kind = layouts.named(self.options.format, "run")
            else:
                kind = layouts.detect(buffer, "run", path)
            if isinstance(kind, layouts.Layout):
                self._join_tables()
                self.pending.append(_File(name, path, content, kind))
                if isinstance(content, Blocks):
                    content.head, buffer = content.head[:HEAD], b""
                    self._join_files()
                elif len(self.pending) >= MOST_FILES or self._in_memory() > self.memory.whole:
                    self._join_files()
                return
            if isinstance(content, Blocks):
                buffer = content.whole()
        self._join_files()
        if isinstance(run, Run):
            self.tables.extend(runs_of(run, name))
            return
        self._join_tables()
        if isinstance(run, dict) and is_run_dict(run):
            self._join_dict(name or "run", run)
            return
        if isinstance(run, str) and run == "-":
            run, name = FromStdin(buffer), name or STDIN
        options = self.options
        rules: dict[str, Any] = {"on_duplicate": options.on_duplicate, "split_tags": options.split_tags}
        self.tables = runs_of(run, name, format=options.format, **rules)
        self._join_tables()

    def _in_memory(self) -> int:
        """The size of pending files that are not mapped."""
        return sum(
            len(file.content) for file in self.pending if not isinstance(file.content, Blocks | memoryview | mmap.mmap)
        )

    def _join_tables(self) -> None:
        runs, self.tables = self.tables, []
        if not runs:
            return
        order = self.options.order or "score"
        for run in runs:
            if order == "rank" and len(run) and not len(run.table.ranks):
                where = run.path or run.name
                raise UsageError(f"{where}: order == 'rank', but the run has no ranks; use 'score' or 'file'")
        tables = [run.table for run in runs]
        joined = _core.join_tables(self.judged, tables, threads=self.threads, **self._rules(order))
        paths = [runs[source].path or "" for source in joined["sources"]]
        self._keep(
            joined, order, paths,
            lambda number: next(iter(tables[joined["sources"][number]].docs(0, 1)), ""),
            lambda number: _first_ranks_rise(tables[joined["sources"][number]]),
        )  # fmt: skip

    def _join_dict(self, name: str, run: dict[Any, Any]) -> None:
        order = self.options.order or "score"
        run = plain_lists(run, "run", f"run {name!r}")
        try:
            joined = _core.join_dicts(self.judged, [(name, run)], **self._rules(order))
        except UnicodeError:
            raise DataError(f"run {name!r}", None, "an id contains half a surrogate pair, expected text") from None
        except (ValueError, TypeError) as error:
            raise DataError(f"run {name!r}", None, wrong_depth(run, "run") or str(error)) from None
        self._keep(joined, order, None, lambda number: str(next((doc for docs in run.values() for doc in docs), "")))

    def _join_files(self) -> None:
        """Join pending files; those of the same layout together, so that threads share the work."""
        while self.pending:
            layout = self.pending[0].layout
            files = list(takewhile(lambda file, layout=layout: file.layout == layout, self.pending))  # type: ignore[misc]
            self.pending = self.pending[len(files) :]
            order = self.options.order or layout.ranked_by
            for rule, column in (("score", "value"), ("rank", "rank")):
                if order == rule and column not in layout.columns:
                    others = "'rank' or 'file'" if rule == "score" else "'score' or 'file'"
                    message = f"order == {rule!r}, but the file has no {rule}s; use {others}"
                    raise UsageError(f"{files[0].path}: {message}")
            joined, faults = self._join(files, layout, order)
            for file in files:
                if isinstance(file.content, Blocks):
                    if joined is None:
                        file.content.drain()
                    file.content.close()
                else:
                    check_complete(file.content)
            if joined is not None:
                for source, line, message in faults:  # numbers that may not be what their author meant
                    _warn(f"{files[source].path}:{line}: {message}" if line else f"{files[source].path}: {message}")
                faults = []
            for source, line, message in faults:
                if "the memory that is allowed" in message:
                    message += "; to allow more: memory="
                message = layout.way_out(message, files[source].head, line)
                raise DataError(files[source].path, line or None, message)
            assert joined is not None
            for source, file in enumerate(files):
                if source not in joined["sources"]:
                    raise DataError(file.path, None, f"is empty, expected lines of {layout.expected}")
            runs_in_file = Counter(joined["sources"])
            for number, source in enumerate(joined["sources"]):
                file, tags = files[source], joined["tags"][number]
                if len(tags) > 1:
                    _warn(f"{file.path}: {several_tags(tags)}")
                    joined["names"][number] = stem(file.path)
                if file.name:
                    one = runs_in_file[source] == 1
                    joined["names"][number] = file.name if one else f"{file.name}:{joined['names'][number]}"
            self._keep_files(joined, order, [files[source] for source in joined["sources"]])

    def _join(
        self, files: list[_File], layout: layouts.Layout, order: str
    ) -> tuple[_core.Joined | None, list[tuple[int, int, str]]]:
        """Join files of one layout, in parts if that is asked for."""
        options = self.options if self.lengths is None else replace(self.options, lengths=self.lengths)
        paths = [file.path for file in files]
        if options.sharding is not None and self.qrels is not None and all(map(can_be_cut, paths)):
            found: Any = join_in_parts(
                self.qrels, self.judged, options, paths, layout, order, self.memory, self.progress
            )
            if found is not None:
                whole, odd = found
                return whole, odd
        contents = [file.content for file in files]
        return join_contents(self.judged, contents, layout, order, options, self.memory, self.progress)

    def _rules(self, order: str) -> dict[str, Any]:
        options = self.options if self.lengths is None else replace(self.options, lengths=self.lengths)
        return join_rules(options, order)

    def _keep_files(self, joined: _core.Joined, order: str, files: list[_File]) -> None:
        """Keep runs from files, one file for each run."""

        def first_lines(number: int) -> list[dict[str, str]]:
            return _first_columns(files[number].head, files[number].layout)

        self._keep(
            joined, order, [file.path for file in files],
            lambda number: next(iter(first_lines(number)), {}).get("doc", ""),
            lambda number: _ranks_rise(first_lines(number)),
        )  # fmt: skip

    def _keep(
        self,
        joined: _core.Joined,
        order: str,
        paths: list[str] | None = None,
        first_document: Callable[[int], str] = lambda number: "",
        ranks_rise: Callable[[int], bool] = lambda number: False,
    ) -> None:
        """Keep joined runs, and what is odd about them: no judged document, or scores that rise with rank."""
        before, runs, topics = len(self.paths), len(joined["names"]), len(self.judged.topics)
        hits = np.diff(np.searchsorted(joined["row"], np.arange(runs + 1) * topics))
        for number in np.flatnonzero(hits == 0).tolist():
            self.unjudged_documents[before + number] = first_document(number)
        if order == "score":
            for number in np.flatnonzero(joined["rising"] * 2 > joined["several"]).tolist():
                if ranks_rise(number):
                    self.reversed.append(before + number)
        self.joined.append(joined)
        self.paths += paths or [""] * len(joined["names"])
        self.orders.add(order)

    def assessed(self, documents: JudgedIndex) -> Assessed:
        """The lists of all runs."""
        self._join_files()
        self._join_tables()
        topics = self.judged.topics
        names = distinct_names([name for part in self.joined for name in part["names"]], self.paths)
        first_row = np.cumsum([0] + [len(part["names"]) * len(topics) for part in self.joined])
        document = self._column("document")
        lists = Assessed.grid(
            names,
            topics,
            retrieved=self._column("retrieved"),
            missing=self._column("missing").astype(bool),
            row=_concatenate(
                [part["row"] + first for part, first in zip(self.joined, first_row[:-1], strict=True)]
                if len(self.joined) > 1
                else [part["row"] for part in self.joined]
            ),
            rank=self._column("rank"),
            grade=documents.grade_of(document),
            tie_first=self._column("tie_first"),
            tie_last=self._column("tie_last"),
            document=document,
            judged=documents.by_topic,
            notes=(method_note(f"order: {', '.join(sorted(self.orders))}"), *self._tie_notes()),
        )
        self._warn(lists)
        if self.options.scores and self.orders == {"score"}:
            lists = lists.replace(scores=ByRank(lists.document_start[:-1], {"score": self._column("scores")}))
        if self.lengths is not None:
            unknown = list(dict.fromkeys(doc for part in self.joined for doc in part["unknown"]))
            numbers, begin = self._column("numbers"), lists.document_start[:-1]
            lists = lists.replace(lengths=self.lengths.lists(numbers, begin, unknown, self.options.missing_length))
        return lists

    def _tie_notes(self) -> list[str]:
        ties = self.options.ties
        return [f"equal scores: {ties}"] if "score" in self.orders and ties != TIES[0] else []

    def _column(self, name: str) -> Any:
        """An array of all joins, one after the other."""
        return _concatenate([part[name] for part in self.joined])  # type: ignore[literal-required]

    def warn_of_odd_runs(self, lists: Assessed, qrels: Qrels) -> None:
        """Warn of runs that are probably not what their owner thinks."""
        if len(qrels):
            here = qrels.table.docs(0, 1)[0]
            for run, doc in self.unjudged_documents.items():
                if lists.retrieved.reshape(len(lists.runs), -1)[run].any():
                    ids = f"; an id in the run is {doc!r}, one in the judgments {here!r}: are they of the same kind?"
                    _warn(f"{lists.runs[run]}: no retrieved document is judged{ids if doc else ''}")
        if self.reversed:
            names = listed((lists.runs[run] for run in self.reversed), 3, "runs")
            _warn(
                f"{names}: scores rise with rank, so that the last document of the file comes first; if lower scores "
                "are better, use order='rank'"
            )
        if self.orders == {"score"}:
            level, several = self._column("level"), self._column("several")
            equal = [lists.runs[run] for run in np.flatnonzero((level == several) & (several > 0)).tolist()]
            if equal:
                kept = "keep the order of the file" if self.options.ties == "file" else "are ordered by id"
                what = f"all documents of a list have the same score and {kept}"
                _warn(f"{listed(equal, 3, 'runs')}: {what}; if the file has an order, use order='rank' or 'file'")
        same = [f"{first} and {second}" for first, second in self._same_runs(lists)]
        if same:
            what = "the same judged documents are at the same ranks; is one run given twice?"
            _warn(f"{listed(same, 3, 'pairs')}: {what}", SameRunWarning)

    def _same_runs(self, lists: Assessed) -> Iterator[tuple[str, str]]:
        """Runs that cannot be told apart by any measure, each with the first run that is like it."""
        runs, topics = len(lists.runs), len(lists.topics)
        if runs < 2 or lists.document is None:
            return
        start = np.searchsorted(lists.row, np.arange(runs + 1) * topics)
        retrieved = lists.retrieved.reshape(runs, topics)
        alike: dict[tuple[int, int], list[int]] = {}
        for run, key in enumerate(zip(np.diff(start).tolist(), retrieved.sum(axis=1).tolist(), strict=True)):
            if key[0]:
                alike.setdefault(key, []).append(run)
        for first, *others in alike.values():
            mine = slice(start[first], start[first + 1])
            for other in others:
                its = slice(start[other], start[other + 1])
                if (
                    np.array_equal(retrieved[first], retrieved[other])
                    and np.array_equal(lists.row[mine] - first * topics, lists.row[its] - other * topics)
                    and np.array_equal(lists.rank[mine], lists.rank[its])
                    and np.array_equal(lists.document[mine], lists.document[its])
                ):
                    yield lists.runs[first], lists.runs[other]

    def _warn(self, lists: Assessed) -> None:
        """Warn about missing or unjudged topics, and about duplicates; a run without judged topics is an error."""
        if not lists.runs:
            raise DataError("<data>", None, "is empty: the table of runs has no rows")
        unjudged = [topics for part in self.joined for topics in part["unjudged_topics"]]
        missing = lists.missing.reshape(len(lists.runs), -1)
        for run, (name, extra) in enumerate(zip(lists.runs, unjudged, strict=True)):
            if missing[run].all() and len(lists.topics):
                origin = self.paths[run] or f"run {name!r}"
                if not extra:
                    raise DataError(origin, None, "is empty: it has no topics")
                raise DataError(
                    origin, None,
                    f"none of its topics is judged: the run has {listed(extra)}, "
                    f"the judgments have {listed(lists.topics)}{_spelled_differently(extra, lists.topics)}"
                    f"{_numbered(extra, self.paths[run])}",
                )  # fmt: skip
        absent = [
            f"{name} ({listed([lists.topics[topic] for topic in np.flatnonzero(missing[run])])})"
            for run, name in enumerate(lists.runs)
            if missing[run].any()
        ]
        if absent:
            count = counted(int(missing.any(axis=0).sum()), "judged topic")
            _warn(f"{count} missing from runs: {listed(absent, 3, 'runs')}", NotedWarning)
        ignored = [f"{name} ({listed(extra)})" for name, extra in zip(lists.runs, unjudged, strict=True) if extra]
        if ignored:
            count = counted(len(set().union(*unjudged)), "topic")
            lacking = [lists.topics[topic] for topic in np.flatnonzero(missing.any(axis=0))]
            spelled = _spelled_differently([topic for extra in unjudged for topic in extra], lacking)
            _warn(f"{count} without judgments ignored: {listed(ignored, 3, 'runs')}{spelled}")
        dropped = sum(part["dropped"] for part in self.joined)
        if dropped:
            _warn(f"{counted(dropped, 'duplicate document')} ignored (on_duplicate={self.options.on_duplicate!r})")


def _numbered(topics: list[str], path: str) -> str:
    """What to do if responses of a search engine were numbered, because they do not name their topics."""
    if ".json" not in path.lower() or topics != [str(number) for number in range(1, len(topics) + 1)]:
        return ""
    return "; responses without topics are numbered, queries= names their topics"


def _spelled_differently(extra: Sequence[str], known: Sequence[str]) -> str:
    """The end of a message: an unknown topic that is another one but for leading zeros or case."""
    from cranfield.collection.linting.lint import plain_id

    by_plain_id = {plain_id(topic): topic for topic in known}
    for topic in extra:
        if (other := by_plain_id.get(plain_id(topic))) is not None:
            return f"; {topic!r} and {other!r} differ by leading zeros or case, and are different topics"
    return ""


def _first_columns(head: bytes, layout: layouts.Layout) -> list[dict[str, str]]:
    """The first two lines of a file that are neither blank nor comments, as columns by role."""
    lines = islice(DATA_LINE.finditer(unmarked(head)), layout.header, 2 + layout.header)
    words = [line[0].decode("utf-8", "surrogateescape").split() for line in lines]
    return [dict(zip(layout.columns, row, strict=False)) for row in words]


def _ranks_rise(lines: list[dict[str, str]]) -> bool:
    """Whether the second of two lines of the same list has a higher rank."""
    if len(lines) < 2 or lines[0]["topic"] != lines[1]["topic"]:
        return False
    first, second = (_core.parse_number(line.get("rank", "").encode("utf-8", "surrogateescape")) for line in lines)
    return first is not None and second is not None and first < second


def _first_ranks_rise(table: _core.Table) -> bool:
    ranks = table.ranks
    return bool(len(ranks) > 1 and int(table.list_start[1]) > 1 and ranks[0] < ranks[1])


def _concatenate(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _warn(message: str, category: type[CranfieldWarning] = CranfieldWarning) -> None:
    warn_caller(message, category)
