"""Runs meet judgments: the one step from documents to hits. Ties, order, missing and duplicates are settled here."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from cranfield import _core, check
from cranfield.assessed import Array, Assessed, Index, Judged, segment_starts
from cranfield.by_dimension import graded
from cranfield.by_rank import ByRank
from cranfield.collection import layout as layouts
from cranfield.collection.columns import with_way_out
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import Buffer, expand, load, shown_path, stem
from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.intents import by_document
from cranfield.lengths import LengthTable, check_assumed
from cranfield.sampling import AS_STRATA, drawn, has_strata

Progress = Callable[[int, int], None]
BY_HIGHEST_GRADE = "measures that know of no intents take a document's highest grade over all intents"

LONGEST = 2**31 - 1
"""No list has more documents."""
MOST_THREADS = 1024
MOST_FILES = 128
"""How many files are held open at a time: the system allows some hundreds, and people have thousands of runs."""


@dataclass(frozen=True)
class JoinOptions:
    """How runs are read and ranked."""

    order: str | None = None
    """`score` (descending, ties by document id descending, as trec_eval), `rank` or `file`; None: `score` where there
    are scores, else `rank`."""
    precision: int = 64
    """Bits in which scores are compared: 64, or 32 as trec_eval up to version 9."""
    on_duplicate: str = "error"
    """A document twice in a list or in a topic's judgments: `error`, or keep the `first`, or the one with the `max`
    score or grade (by order `rank`: with the best rank)."""
    depth: int | None = None
    """Look at this many documents of each list only."""
    format: str | None = None
    """Format of the run files; None: detected."""
    threads: int | None = None
    """How many threads read; None: as many as there are cores. The answer is the same at any number."""

    intent_probabilities: Any = None
    """Pr(intent | topic) for judgments with intents: {topic: {intent: p}} or a file; None: all the same."""
    intent_types: Any = None
    """`informational` or `navigational` for each intent, given likewise; None: all informational."""
    lengths: Any = None
    """How long documents are, for TBG and U: {document: length}, a frame, or a file with lines `doc length`."""
    missing_length: float | str | None = None
    """The length to assume of a document that `lengths` lacks: a number, or `mean`; None: that is an error."""
    inclusion: Any = None
    """How likely documents were to be drawn for judging, for statAP: {topic: {doc: probability}}, or a file."""
    dimensions: Any = None
    """Judgments of further dimensions of relevance, for uRBP, cRBP, CAM and MM: {name: qrels}."""
    scores: bool = False
    """Keep the scores of all retrieved documents, for ADM; `evaluate` and `explain` see to it themselves."""

    def __post_init__(self) -> None:
        if self.order is not None:
            check.one_of("join", ("score", "rank", "file"), order=self.order)
        check.one_of("join", ("error", "first", "max"), on_duplicate=self.on_duplicate)
        if self.precision not in (32, 64):
            raise UsageError(f"precision == {self.precision!r}, must be 64 or 32")
        for name, value in (("depth", self.depth), ("threads", self.threads)):
            if value is not None and (not isinstance(value, Integral) or isinstance(value, bool) or value < 1):
                raise UsageError(f"{name} == {value!r}, must be a whole number, 1 or more")
        check_assumed(self.missing_length)

    def core(self, order: str) -> dict[str, Any]:
        depth = min(self.depth or 0, LONGEST)
        return {"order": self.order or order, "single_precision": self.precision == 32, "depth": depth}


def join(qrels: Any, runs: Any, options: JoinOptions | None = None, progress: Progress | None = None) -> Assessed:
    """Assessed lists of every run on every judged topic.

    `qrels` is anything `Qrels.of` takes. `runs` is one run or a list of them: paths, globs, dicts, frames, `Run`s;
    a mapping {name: run} names them.

    >>> lists = join({"q1": {"d1": 1, "d2": 0}}, {"mine": {"q1": {"d2": 2.0, "d1": 1.0, "d3": 0.5}}})
    >>> lists.rank.tolist(), lists.grade.tolist(), lists.retrieved.tolist()
    ([1, 2], [0.0, 1.0], [3])
    """
    options = options or JoinOptions()
    judgments = Qrels.of(qrels, on_duplicate=options.on_duplicate)
    described = options.intent_probabilities is not None or options.intent_types is not None
    if options.dimensions is not None:
        if described or options.inclusion is not None:
            raise UsageError("dimensions: judgments of several dimensions are read without intents and inclusion")
        return _joined_dimensions(judgments, runs, options, progress)
    if options.inclusion is not None or (not described and has_strata(judgments)):
        return _joined_sample(judgments, runs, options, progress)
    if not judgments.has_intents:
        if described:
            raise UsageError(f"intents are described, but {judgments.path or 'the judgments'} have none")
        lists = joined(judgments.judged(options.on_duplicate), runs, options, progress)
        _warn_without_relevant(judgments.values)
        return lists.replace(notes=(*lists.notes, *judgments.notes)) if judgments.notes else lists
    documents = by_document(judgments, options.intent_probabilities, options.intent_types)
    lists = joined(documents.judged, runs, options, progress)
    _warn_without_relevant(documents.grade)
    number = lists.grade.astype(np.int64)
    return lists.replace(
        document=number,
        grade=documents.grade[number],
        judged=Judged.of(documents.intents.topic_of_document, documents.grade, len(lists.topics)),
        intents=documents.intents,
        notes=(*lists.notes, *judgments.notes, BY_HIGHEST_GRADE),
    )


def _joined_sample(judgments: Qrels, runs: Any, options: JoinOptions, progress: Progress | None) -> Assessed:
    """Lists whose judgments are a sample: each hit remembers which document it is."""
    documents = drawn(judgments, options.inclusion)
    lists = joined(documents.judged, runs, options, progress)
    sample = documents.sample
    _warn_without_relevant(sample.grade)
    number = lists.grade.astype(np.int64)
    notes = (AS_STRATA,) if judgments.has_intents else ()
    return lists.replace(
        document=number,
        grade=sample.grade[number],
        judged=Judged.of(sample.topic, sample.grade, len(lists.topics)),
        sample=sample,
        notes=(*lists.notes, *judgments.notes, *notes),
    )


def _joined_dimensions(judgments: Qrels, runs: Any, options: JoinOptions, progress: Progress | None) -> Assessed:
    """Lists judged in several dimensions: each hit remembers which document it is."""
    documents = graded(judgments, options.dimensions, options.on_duplicate)
    lists = joined(documents.judged, runs, options, progress)
    relevance = documents.grade[0]
    judged = ~np.isnan(relevance)
    _warn_without_relevant(relevance[judged])
    number = lists.grade.astype(np.int64)
    hit = judged[number]
    first, last = lists.tie_first, lists.tie_last
    return lists.replace(
        row=lists.row[hit],
        rank=lists.rank[hit],
        grade=relevance[number[hit]],
        tie_first=None if first is None else first[hit],
        tie_last=None if last is None else last[hit],
        document=number[hit],
        judged=Judged.of(documents.topic[judged], relevance[judged], len(lists.topics)),
        dimensions=documents.joined(segment_starts(lists.row, len(lists)), lists.rank, number, first, last),
        notes=(*lists.notes, *judgments.notes),
    )


def _warn_without_relevant(grades: Array) -> None:
    if not (grades > 0).any():
        _warn("no document is judged relevant (grade 1 or more): measures that need one are undefined")


def joined(judged: _core.Judged, runs: Any, options: JoinOptions, progress: Progress | None) -> Assessed:
    """Lists joined with judgments that are prepared; in place of its grade a document may have its number."""
    parts = _Parts(judged, options, progress)
    for name, run in _each_run(runs):
        parts.add(name, run)
    return parts.assessed()


def _each_run(runs: Any) -> list[tuple[str | None, Any]]:
    """(name or None, run) for each run; paths with globs expanded."""
    if isinstance(runs, Mapping) and not _is_run_dict(runs):
        return [(_whole(str(name)), run) for name, run in runs.items()]
    raw = isinstance(runs, str | bytes | bytearray | memoryview)
    if isinstance(runs, Sequence) and not raw and not _is_records(runs):
        if not runs:
            raise UsageError("no runs given")
        several: list[tuple[str | None, Any]] = []
        for run in runs:
            several.extend(_each_run(run) if not isinstance(run, Mapping) else [(None, run)])
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


class _Parts:
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


def assess_arrays(grades: Any, scores: Any, mask: Any = None) -> Assessed:
    """Assessed lists from matrices (queries × documents), for people who train rankers.

    `mask` is true where a document exists; NaN in `grades` is an unjudged document. Ties go to the higher column,
    as document ids compare in trec_eval's rule.

    >>> lists = assess_arrays([[0, 1, 2]], [[0.1, 0.9, 0.5]])
    >>> lists.grade.tolist()
    [1.0, 2.0, 0.0]
    """
    try:
        grade, score = np.asarray(grades, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    except (ValueError, TypeError) as error:  # text, or rows of different lengths
        raise UsageError(f"grades and scores must be matrices of numbers (queries × documents): {error}") from None
    there = np.ones(score.shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    if grade.ndim != 2 or grade.shape != score.shape or there.shape != score.shape:
        raise UsageError(f"shapes {grade.shape}, {score.shape} and {there.shape}: all must be queries × documents")
    if np.isnan(score[there]).any():
        row, column = np.argwhere(np.isnan(score) & there)[0]
        raise DataError("scores", None, f"NaN at query {row}, document {column}")
    queries, documents = score.shape
    backwards = slice(None, None, -1)
    order = np.lexsort((-score[:, backwards], ~there[:, backwards]), axis=1)  # a document with -inf exists all the same
    order = documents - 1 - order
    length = there.sum(axis=1)
    sorted_grade = np.take_along_axis(grade, order, axis=1)
    sorted_score = np.take_along_axis(score, order, axis=1)
    inside = np.arange(documents) < length[:, None]
    hit = inside & ~np.isnan(sorted_grade)
    row, column = np.nonzero(hit)
    new_group = np.ones(score.shape, dtype=bool)
    new_group[:, 1:] = sorted_score[:, 1:] != sorted_score[:, :-1]
    position = np.broadcast_to(np.arange(documents), score.shape)
    first = np.maximum.accumulate(np.where(new_group, position, 0), axis=1)
    ends = np.where(inside, np.roll(new_group, -1, axis=1), True)
    ends[:, -1:] = True
    ends |= position == length[:, None] - 1
    last = np.minimum.accumulate(np.where(ends, position, documents)[:, backwards], axis=1)[:, backwards]
    judged = there & ~np.isnan(grade)
    topic = np.nonzero(judged)[0]
    return Assessed.grid(
        ["run"],
        [str(q) for q in range(queries)],
        retrieved=length,
        missing=np.zeros(queries, dtype=bool),
        row=row,
        rank=column + 1,
        grade=sorted_grade[hit],
        tie_first=first[hit] + 1,
        tie_last=last[hit] + 1,
        judged=Judged.of(topic, grade[judged], queries),
        notes=("order: score",),
    ).replace(scores=ByRank(np.cumsum(length) - length, {"score": sorted_score[inside]}))
