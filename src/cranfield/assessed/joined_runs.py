"""Runs from files, tables and dicts joined with judgments, put together in the order they were given."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield import _core
from cranfield.assessed.by_rank import ByRank
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lengths import LengthTable
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged
from cranfield.collection import formats as layouts
from cranfield.collection.columns import with_way_out
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import Buffer, expand, load, shown_path, stem
from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.types import Index, Progress

MOST_THREADS = 1024
MOST_FILES = 128
"""How many files are held open at a time: the system allows some hundreds, and people have thousands of runs."""


def joined(judged: _core.Judged, runs: Any, options: JoinOptions, progress: Progress | None) -> Assessed:
    """Lists joined with judgments that are prepared; in place of its grade a document may have its number."""
    parts = Parts(judged, options, progress)
    for name, run in each_run(runs):
        parts.add(name, run)
    return parts.assessed()


def each_run(runs: Any) -> list[tuple[str | None, Any]]:
    """(name or None, run) for each run; paths with globs expanded."""
    if isinstance(runs, Mapping) and not _is_run_dict(runs):
        return [(_whole(str(name)), run) for name, run in runs.items()]
    raw = isinstance(runs, str | bytes | bytearray | memoryview)
    if isinstance(runs, Sequence) and not raw and not _is_records(runs):
        if not runs:
            raise UsageError("no runs given")
        several: list[tuple[str | None, Any]] = []
        for run in runs:
            several.extend(each_run(run) if not isinstance(run, Mapping) else [(None, run)])
        return several
    if isinstance(runs, str | os.PathLike):
        return [(None, path) for path in expand([runs])]
    return [(None, runs)]


def _whole(name: str) -> str:
    """The name of a run, which goes to tables and files."""
    try:
        name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise UsageError(f"the name {name!r} of a run has half a surrogate pair in it, expected text") from None
    return name


def _is_run_dict(thing: Mapping[Any, Any]) -> bool:
    """{topic: {doc: score}} rather than {name: run}."""
    for documents in thing.values():
        if not isinstance(documents, Mapping):
            return False
        for score in documents.values():
            return not isinstance(score, Mapping)
    return True


def _is_records(thing: Sequence[Any]) -> bool:
    """A sequence of (topic, doc, score) rather than of runs."""
    first = thing[0] if thing else None
    if isinstance(first, Mapping):  # {"query_id": "q1", "doc_id": "d1", ...}, not a run
        return bool(first) and not any(isinstance(value, Mapping) for value in first.values())
    return isinstance(first, tuple)


class Parts:
    """Joins of files, tables and dicts, put together in the order the runs were given."""

    def __init__(self, judged: _core.Judged, options: JoinOptions, progress: Progress | None) -> None:
        self.judged = judged
        self.options = options
        self.progress = progress
        self.lengths = None if options.lengths is None else LengthTable.of(options.lengths)
        self.joined: list[_core.Joined] = []
        self.names: list[list[str]] = []
        self.paths: list[list[str]] = []
        self.pending: list[tuple[str | None, str, Buffer, layouts.Layout]] = []
        self.tables: list[Run] = []
        self.orders: set[str] = set()

    def add(self, name: str | None, run: Any) -> None:
        if isinstance(run, str | os.PathLike) and not str(run).startswith(("irds:", "ir_datasets:")):
            path = os.fspath(run)
            buffer = load(path)
            kind = layouts.named(self.options.format, "run") if self.options.format else None
            kind = kind or layouts.detect(buffer, "run", shown_path(path))
            if isinstance(kind, layouts.Layout):
                self._join_tables()
                self.pending.append((name, shown_path(path), buffer, kind))
                if len(self.pending) >= MOST_FILES:
                    self._join_files()
                return
        self._join_files()
        if isinstance(run, Run):
            self.tables.extend(runs_of(run, name))
            return
        self._join_tables()
        if isinstance(run, dict) and _is_run_dict(run):
            self._join_dict(name or "run", run)
            return
        if isinstance(run, str) and run == "-":
            run, name = bytes(buffer), name or "standard input"
        self.tables = runs_of(run, name, format=self.options.format, on_duplicate=self.options.on_duplicate)
        self._join_tables()

    def _join_tables(self) -> None:
        """All pending runs that are in memory."""
        runs, self.tables = self.tables, []
        if not runs:
            return
        order = self.options.order or "score"
        for run in runs:
            if order == "rank" and len(run) and not len(run.table.ranks):
                where = run.path or run.name
                raise UsageError(f"{where}: order == 'rank', but the run has no ranks; use 'score' or 'file'")
        threads = min(self.options.threads or os.cpu_count() or 1, MOST_THREADS)
        tables = [run.table for run in runs]
        joined = _core.join_tables(self.judged, tables, threads=threads, **self._rules(order))
        self._keep(joined, order, [runs[source].path or "" for source in joined["sources"]])

    def _join_dict(self, name: str, run: dict[Any, Any]) -> None:
        order = self.options.order or "score"
        if not all(isinstance(documents, dict) for documents in run.values()):
            run = {t: dict(docs) if isinstance(docs, Mapping) else docs for t, docs in run.items()}
        try:
            self._keep(_core.join_dicts(self.judged, [(name, run)], **self._rules(order)), order)
        except UnicodeError:
            raise DataError(f"run {name!r}", None, "an id has half a surrogate pair in it, expected text") from None
        except (ValueError, TypeError) as error:
            raise DataError(f"run {name!r}", None, str(error)) from None

    def _join_files(self) -> None:
        """All pending files of one layout in one go, so that threads share them."""
        while self.pending:
            layout = self.pending[0][3]
            same = 0
            while same < len(self.pending) and self.pending[same][3] == layout:
                same += 1
            batch, self.pending = self.pending[:same], self.pending[same:]
            order = self.options.order or layout.ranked_by
            if order == "score" and "value" not in layout.columns:
                raise UsageError(f"{batch[0][1]}: order == 'score', but the file has no scores; use 'rank' or 'file'")
            if order == "rank" and "rank" not in layout.columns:
                raise UsageError(f"{batch[0][1]}: order == 'rank', but the file has no ranks; use 'score' or 'file'")
            joined, faults = _core.join_files(
                self.judged,
                [buffer for _, _, buffer, _ in batch],
                list(layout.columns),
                layout.delimiter,
                layout.header,
                layout.expected,
                on_duplicate=self.options.on_duplicate,
                threads=min(self.options.threads or os.cpu_count() or 1, MOST_THREADS),
                progress=self.progress,
                **self._rules(order),
            )
            for source, line, what in faults:
                raise DataError(batch[source][1], line, with_way_out(what))
            assert joined is not None
            for source, (_, path, _, _) in enumerate(batch):
                if source not in joined["sources"]:
                    raise DataError(path, None, f"is empty, expected lines of {layout.expected}")
            tags = Counter(joined["sources"])
            given = [batch[source][0] for source in joined["sources"]]
            joined["names"] = [
                (given_name if tags[source] == 1 else f"{given_name}:{tag}") if given_name else tag
                for given_name, source, tag in zip(given, joined["sources"], joined["names"], strict=True)
            ]
            self._keep(joined, order, [batch[source][1] for source in joined["sources"]])

    def _rules(self, order: str) -> dict[str, Any]:
        numbers = None if self.lengths is None else self.lengths.numbers
        return {**self.options.core(order), "numbers": numbers, "scores": self.options.scores and order == "score"}

    def _keep(self, joined: _core.Joined, order: str, paths: list[str] | None = None) -> None:
        self.joined.append(joined)
        self.names.append(joined["names"])
        self.paths.append(paths or [""] * len(joined["names"]))
        self.orders.add(order)

    def assessed(self) -> Assessed:
        self._join_files()
        self._join_tables()
        topics = self.judged.topics
        grades = self.judged.grade
        topic = np.repeat(np.arange(len(topics)), np.diff(self.judged.start))
        names = distinct_names([n for part in self.names for n in part], [p for part in self.paths for p in part])
        first_row = np.cumsum([0] + [len(part["names"]) * len(topics) for part in self.joined])
        lists = Assessed.grid(
            names,
            topics,
            retrieved=_concatenate([part["retrieved"] for part in self.joined]),
            missing=_concatenate([part["missing"] for part in self.joined]).astype(bool),
            row=_concatenate(
                [part["row"] + n if n else part["row"] for part, n in zip(self.joined, first_row, strict=False)]
            ),
            rank=_concatenate([part["rank"] for part in self.joined]),
            grade=_concatenate([part["grade"] for part in self.joined]),
            tie_first=_concatenate([part["tie_first"] for part in self.joined]),
            tie_last=_concatenate([part["tie_last"] for part in self.joined]),
            judged=Judged.of(topic, grades, len(topics)),
            notes=(f"order: {', '.join(sorted(self.orders))}",),
        )
        self._warn(lists)
        begin = np.cumsum(lists.retrieved, dtype=np.int64) - lists.retrieved
        if self.options.scores and self.orders == {"score"}:
            scores = _concatenate([part["scores"] for part in self.joined])
            lists = lists.replace(scores=ByRank(begin, {"score": scores}))
        return lists if self.lengths is None else self._with_lengths(lists, begin, self.lengths)

    def _with_lengths(self, lists: Assessed, begin: Index, table: LengthTable) -> Assessed:
        unknown = list(dict.fromkeys(doc for part in self.joined for doc in part["unknown"]))
        numbers = _concatenate([part["numbers"] for part in self.joined])
        return lists.replace(lengths=table.lists(numbers, begin, unknown, self.options.missing_length))

    def _warn(self, lists: Assessed) -> None:
        """What was passed over: how many, and which."""
        unjudged = [topics for part in self.joined for topics in part["unjudged_topics"]]
        paths = [path for part in self.paths for path in part]
        missing = lists.missing.reshape(len(lists.runs), -1)
        for run, (name, extra) in enumerate(zip(lists.runs, unjudged, strict=True)):
            if missing[run].all() and len(lists.topics):
                if not extra:
                    raise DataError(paths[run] or f"run {name!r}", None, "is empty: there is no topic in it")
                raise DataError(
                    paths[run] or f"run {name!r}", None,
                    f"none of its {len(extra)} topics is judged: the run has {_some(extra)}, "
                    f"the judgments have {_some(lists.topics)}",
                )  # fmt: skip
        lacking = [
            f"{name} lacks {_some([lists.topics[t] for t in np.flatnonzero(missing[run])])}"
            for run, name in enumerate(lists.runs)
            if missing[run].any()
        ]
        if lacking:
            _warn(f"{_count(int(missing.sum()), 'judged topic')} missing from runs: {_few(lacking)}")
        passed = [f"{name} has {_some(extra)}" for name, extra in zip(lists.runs, unjudged, strict=True) if extra]
        if passed:
            count = sum(len(extra) for extra in unjudged)
            _warn(f"{_count(count, 'topic')} without judgments passed over: {_few(passed)}")
        dropped = sum(part["dropped"] for part in self.joined)
        if dropped:
            _warn(f"{_count(dropped, 'duplicate document')} passed over (on_duplicate={self.options.on_duplicate!r})")


def _concatenate(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _warn(message: str) -> None:
    warnings.warn(message, CranfieldWarning, stacklevel=2)


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n:,} {what}s"


def _some(items: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def _few(items: Sequence[str], most: int = 3) -> str:
    shown = "; ".join(items[:most])
    return shown if len(items) <= most else f"{shown}; and {len(items) - most} more runs"


def distinct_names(names: list[str], paths: list[str]) -> list[str]:
    """A run is called by its tag; where two have the same tag, by file name; where that is the same too, by both.

    >>> distinct_names(["x", "x", "y"], ["a/bm25.run", "a/rm3.run", "a/z.run"])
    ['bm25', 'rm3', 'y']
    >>> distinct_names(["x", "x"], ["", ""])
    ['x#1', 'x#2']
    """
    counts = Counter(names)
    out = [n if counts[n] == 1 and n else stem(p) or n for n, p in zip(names, paths, strict=True)]
    for by_folder in (False, True):
        counts = Counter(out)
        longer = [f"{p if by_folder else o}:{n}" if p else o for n, p, o in zip(names, paths, out, strict=True)]
        out = [o if counts[o] == 1 else more for o, more in zip(out, longer, strict=True)]
    counts = Counter(out)
    seen: Counter[str] = Counter()
    for i, name in enumerate(out):
        seen[name] += 1
        if counts[name] > 1:
            out[i] = f"{name}#{seen[name]}"
    return out
