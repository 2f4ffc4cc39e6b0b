"""A linter that reports everything that is wrong with a set of files.

Each file is checked in three ways: its bytes (line ends, encoding), its lines (those that cannot be read) and its
entries (ranks against scores, ties, odd grades). Then the files are compared: topics that only some of them have, tags
that two runs share.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.collection.file_formats import formats
from cranfield.collection.file_formats.structured import BASE_16
from cranfield.collection.grade_labels import levels_as_numbers, word_of_grade
from cranfield.collection.linting.file_findings import SEVERITIES, Finding, byte_findings
from cranfield.collection.qrels import NO_INTENT, intent_labels
from cranfield.collection.records import Reading, from_content, table_of
from cranfield.collection.run import several_tags
from cranfield.collection.source import Buffer, PathLike, load, shown_path
from cranfield.collection.topics import Topics
from cranfield.declared.operation import about, operation
from cranfield.errors import CranfieldError, CranfieldWarning, DataError
from cranfield.text import counted, listed
from cranfield.types import Progress

MOST_SHOWN = 1000
"""Faults of one file that are listed; the rest are counted."""
MOST_FAULTS = 10_000
"""Faults of one file that are counted: a file in which every line is wrong must not fill the memory with messages."""


@operation
def check_files(
    qrels: Iterable[PathLike] = (),
    runs: Iterable[PathLike] = (),
    topics: Iterable[PathLike] = (),
    *,
    split_tags: Annotated[bool, about("Read a run for each tag of a file of runs, not one for each file.")] = False,
    progress: Progress | None = None,
) -> list[Finding]:
    """Everything that is wrong with these files, in the order of files and lines.

    In a file with lines that cannot be read, the other lines are checked. A file of runs is one run, or with
    `split_tags` a run for each tag.
    """
    qrels, runs, topics = ([os.fspath(path) for path in paths] for paths in (qrels, runs, topics))
    findings: list[Finding] = []
    several = len(qrels) + len(runs) + len(topics)

    def each(paths: list[str], begin: int) -> Iterator[str]:
        for done, path in enumerate(paths, begin):
            if progress:
                progress(done, several)
            yield path

    qrels_files = [check_file(path, "qrels", findings) for path in each(qrels, 0)]
    run_files = [check_file(path, "run", findings, split_tags=split_tags) for path in each(runs, len(qrels))]
    topic_files = [_check_topics(path, findings) for path in each(topics, len(qrels) + len(runs))]
    if progress:
        progress(several, several)
    readable = ([file for file in files if file] for files in (qrels_files, run_files, topic_files))
    findings.extend(_compare_files(*readable))
    order = {path: place for place, path in enumerate([*qrels, *runs, *topics])}
    return sorted(findings, key=lambda f: (order[f.path], f.line or 0, SEVERITIES.index(f.severity), f.code))


@dataclass(frozen=True)
class File:
    """A file that could be read, at least in part."""

    path: str
    topics: tuple[str, ...]
    table: _core.Table | None = None


# ------------------------------------------------------------------------------------------------- one file


def check_file(path: str, kind: str, findings: list[Finding], *, split_tags: bool = False) -> File | None:
    """Add all findings about one run or qrels file; return what could be read."""
    try:
        if kind == "run" and os.path.isdir(path):
            table, _ = table_of(path, Reading(kind))
        else:
            table = _table_in(path, kind, findings, split_tags=split_tags)
    except CranfieldError as error:
        findings.append(_fault(path, error))
        return None
    if not len(table):
        return None
    findings.extend(entry_findings(path, kind, table))
    return File(path, tuple(table.topics), table)


def _table_in(path: str, kind: str, findings: list[Finding], *, split_tags: bool) -> _core.Table:
    """The entries of a file that can be read; add findings about its bytes and lines."""
    shown = shown_path(path)
    buffer = load(path, lambda head: formats.check_block(head, kind, None, shown, every_line=False))
    format = formats.detect(buffer, kind, path)
    if isinstance(format, formats.Layout) or not format.magic:
        findings.extend(byte_findings(path, buffer))
    if isinstance(format, formats.Layout):
        return _read(path, buffer, format, kind, findings, split_tags=split_tags)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CranfieldWarning)
        table = from_content(buffer, Reading(kind, split_tags=split_tags), path)
    findings.extend(_warnings(path, caught))
    return table


def _warnings(path: str, caught: list[warnings.WarningMessage]) -> Iterator[Finding]:
    """Findings about numbers in base 16; the entries show what else is odd."""
    for message in (str(warning.message) for warning in caught):
        if BASE_16 in message:
            place = re.match(r":(\d+): ", message.removeprefix(shown_path(path)))
            what = message[message.index("the ") :]
            yield Finding(path, int(place[1]) if place else None, "warning", "base-16", what)


def _fault(path: str, error: CranfieldError) -> Finding:
    message, line = (error.what, error.line) if isinstance(error, DataError) else (str(error), None)
    return Finding(path, line, "error", _code(message), message)


def _code(message: str) -> str:
    """A short name for a fault, from the words of its message."""
    words = {
        "not valid JSON": "not-json", "no such file": "missing-file", "is a directory": "directory",
        "cannot be read": "unreadable", "is empty": "empty", "empty, expected": "empty", "ends too early": "truncated",
        "is damaged": "damaged", "NUL byte": "binary", "with grades": "different-grades", "appears twice": "duplicate",
        "expected a number": "not-a-number", "not a number that can": "nan", "column": "columns",
        "bytes, at most": "long-id",
    }  # fmt: skip
    return next((code for text, code in words.items() if text in message), "format")


def _read(
    path: str, buffer: Buffer, layout: formats.Layout, kind: str, findings: list[Finding], *, split_tags: bool
) -> _core.Table:
    """Return the lines that can be read; add findings about the others."""
    if kind == "qrels":
        buffer, _ = levels_as_numbers(buffer)
    table, faults = layout.read(buffer, kind, most_faults=MOST_FAULTS, keep_lines=True, split_tags=split_tags)
    hinted = False
    for _, line, message in faults[:MOST_SHOWN]:
        words = word_of_grade(message)
        explain = layout.way_out if words and not hinted else formats.explained
        message, hinted = explain(message, buffer, line), hinted or words
        findings.append(Finding(path, line, "error", _code(message), message))
    for _, line, message in table.odd:
        if "base 16" in message:  # the entries show what else is odd
            findings.append(Finding(path, line or None, "warning", "base-16", message))
    rest = len(faults) - MOST_SHOWN
    if rest > 0:
        more = ("at least " if len(faults) == MOST_FAULTS else "") + counted(rest, "more fault")
        findings.append(Finding(path, faults[MOST_SHOWN][1], "error", "more", f"{more}, from this line on"))
    if not len(table) and not faults:
        findings.append(Finding(path, None, "error", "empty", f"is empty, expected lines of {layout.expected}"))
    return table


def _check_topics(path: str, findings: list[Finding]) -> File | None:
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CranfieldWarning)
            topics = Topics.read(path)
    except CranfieldError as error:
        findings.append(_fault(path, error))
        return None
    findings.extend(Finding(path, None, "warning", "topics", str(warning.message)) for warning in caught)
    empty = [topic.id for topic in topics.values() if not (topic.title or topic.description or topic.narrative)]
    if empty:
        findings.append(Finding(path, None, "warning", "no-text", f"topics without text: {listed(empty)}"))
    findings.extend(ids_alike(path, list(topics)))
    return File(path, tuple(topics))


# --------------------------------------------------------------------------------------------- files together


def _compare_files(qrels: Sequence[File], runs: Sequence[File], topics: Sequence[File]) -> Iterator[Finding]:
    judged = list(dict.fromkeys(topic for file in qrels for topic in file.topics))
    described = list(dict.fromkeys(topic for file in topics for topic in file.topics))
    yield from _judged_twice(qrels)
    yield from _same_tags(runs)
    if qrels:
        for run in runs:
            yield from _different_topics(run, judged, "judged", "the judgments")
        yield from _nothing_judged(runs, qrels)
    if topics:
        for file in qrels or runs:  # with qrels, runs have been compared with those
            yield from _different_topics(file, described, "in the topics", "the topics")


def _judged_twice(qrels: Sequence[File]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for file in qrels:
        again = [topic for topic in file.topics if topic in seen]
        if again:
            message = f"topics that {seen[again[0]]} also judges: {listed(again)}"
            yield Finding(file.path, None, "warning", "judged-twice", message)
        seen.update({topic: file.path for topic in file.topics if topic not in seen})


def _same_tags(runs: Sequence[File]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for file in runs:
        for tag in file.table.tags if file.table else ():
            if tag and tag in seen:
                yield Finding(file.path, None, "warning", "same-tag", f"{seen[tag]} has the same tag, {tag!r}")
            elif tag:
                seen[tag] = file.path


def _different_topics(file: File, known: Sequence[str], state: str, where: str) -> Iterator[Finding]:
    """Topics of a file that others lack, and topics of others that it lacks."""
    own, others = set(file.topics), set(known)
    extra = [topic for topic in file.topics if topic not in others]
    lacking = [topic for topic in known if topic not in own]
    if not own & others:
        message = f"no topic of this file is {state}: it has {listed(extra)}, {where} have {listed(known)}"
        yield Finding(file.path, None, "error", "no-common-topic", message)
    else:
        if extra:
            message = f"{counted(len(extra), 'topic is', 'topics are')} not {state}: {listed(extra)}"
            yield Finding(file.path, None, "warning", "unknown-topics", message)
        if lacking:
            message = f"{counted(len(lacking), 'topic')} of {where} missing: {listed(lacking)}"
            yield Finding(file.path, None, "warning", "missing-topics", message)
    spelled = {plain_id(topic): topic for topic in lacking}
    for topic in extra:
        if (other := spelled.get(plain_id(topic))) is not None:
            message = f"topic {topic!r} is {other!r} in {where}: they differ by leading zeros or case"
            yield Finding(file.path, None, "warning", "topic-ids", message)


def _nothing_judged(runs: Sequence[File], qrels: Sequence[File]) -> Iterator[Finding]:
    """A run without any judged document probably has other document ids than the judgments."""
    tables = [file.table for file in qrels if file.table is not None]
    judged = [_core.judged(table, "max") for table in tables]
    for run in runs:
        assert run.table is not None
        if all(set(each.topics) & set(run.topics) for each in judged) and not _any_judged(run.table, judged):
            here, there = run.table.docs(0, 1)[0], tables[0].docs(0, 1)[0]
            message = f"no retrieved document is judged: an id here is {here!r}, an id in the judgments is {there!r}"
            yield Finding(run.path, None, "warning", "no-judged-document", message)


def _any_judged(run: _core.Table, judged: Sequence[_core.Judged]) -> bool:
    """Whether a document of a run is judged; most often, the first ones tell."""
    first = run.take(np.arange(min(len(run), FIRST_ROWS)), "") if len(run) > FIRST_ROWS else run
    tables = [first] if first is run else [first, run]
    return any(len(_core.join_tables(each, [table], "score", False, 0)["row"]) for table in tables for each in judged)


FIRST_ROWS = 1000
LONG_LIST = 1000
"""The most documents per topic that evaluation campaigns accept; longer lists are reported."""
BLOCK = 1 << 16
"""The rows that are sorted at a time, or those of one list if there are more."""


class Entries:
    """The entries of a table as arrays, and findings about them: how many entries, and the line of the first."""

    def __init__(self, path: str, kind: str, table: _core.Table) -> None:
        self.path = path
        self.kind = kind
        self.table = table
        self.values = table.values
        self.ranks = table.ranks
        self.lines = table.lines
        self.starts = table.list_start
        self.sizes = np.diff(self.starts)
        names = table.topics
        self.topic_of_list = [names[topic] for topic in table.list_topic.tolist()]

    def first(self, rows: NDArray[np.int64]) -> int | None:
        """The lowest line number of these rows."""
        return int(self.lines[rows].min()) if len(self.lines) and len(rows) else None

    def list_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The lists of these rows."""
        return np.asarray(np.searchsorted(self.starts, rows, "right") - 1, dtype=np.int64)

    def lists(self, rows: NDArray[np.int64]) -> str:
        """The topics of these rows."""
        places = np.unique(self.list_of(rows)).tolist()
        topics = list(dict.fromkeys(self.topic_of_list[place] for place in places))
        return f"topic{'s' if len(topics) > 1 else ''} {listed(topics)}"

    def find(
        self, rows: NDArray[np.int64], severity: str, code: str, singular: str, plural: str, rest: str = ""
    ) -> Iterator[Finding]:
        """A finding about these rows, if there are any."""
        if len(rows):
            yield Finding(self.path, self.first(rows), severity, code, counted(len(rows), singular, plural) + rest)


Wrong = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]


def _followers(entries: Entries, key: NDArray[np.float64], *wrong: Wrong) -> list[NDArray[np.int64]]:
    """For each condition, the rows that fulfil it with the row before them, when each list is sorted by a key.

    Lists that the file has in this order, or in the opposite one, are not sorted. Of the others, some are sorted at a
    time, so that a large file needs little memory.
    """
    found: list[list[NDArray[np.int64]]] = [[np.empty(0, dtype=np.int64)] for _ in wrong]

    def look(row: NDArray[np.int64], following: NDArray[np.int64]) -> None:
        for condition, rows in zip(wrong, found, strict=True):
            rows.append(following[condition(row, following)])

    for begin, end in _blocks(entries):
        lists = entries.list_of(np.arange(begin, end))
        row, inside = np.arange(begin, end - 1), lists[1:] == lists[:-1]
        with np.errstate(invalid="ignore"):
            steps = np.diff(key[begin:end])
        falls, rises = steps < 0, steps > 0
        sorted_lists = _all_of_list(rises, inside, lists), _all_of_list(falls, inside, lists)
        for known, (before, after) in zip(sorted_lists, ((0, 1), (1, 0)), strict=True):
            pairs = row[inside & known[lists[1:] - lists[0]]]
            look(pairs + before, pairs + after)
        rest = np.flatnonzero(~(sorted_lists[0] | sorted_lists[1])[lists - lists[0]])
        if len(rest):
            order = rest[np.lexsort((key[begin:end][rest], lists[rest]))]
            same = lists[order[:-1]] == lists[order[1:]]
            look(order[:-1][same] + begin, order[1:][same] + begin)
    return [np.concatenate(rows) for rows in found]


def _blocks(entries: Entries) -> Iterator[tuple[int, int]]:
    """Whole lists at a time, of about `BLOCK` rows."""
    cuts = np.searchsorted(entries.starts, np.arange(0, len(entries.values) + BLOCK, BLOCK))
    ends = np.unique(entries.starts[np.minimum(cuts, len(entries.starts) - 1)])
    yield from zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)


def _all_of_list(step: NDArray[np.bool_], inside: NDArray[np.bool_], lists: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each list of a block, whether all of its steps are such."""
    known = np.ones(lists[-1] - lists[0] + 1, dtype=bool)
    known[lists[1:][inside & ~step] - lists[0]] = False
    return known


def _infinite(entries: Entries) -> Iterator[Finding]:
    rows = np.flatnonzero(np.isinf(entries.values))
    noun = "score" if entries.kind == "run" else "grade"
    yield from entries.find(rows, "warning", "infinite", f"{noun} is infinite", f"{noun}s are infinite")


def _scattered(entries: Entries) -> Iterator[Finding]:
    if not len(entries.lines):
        return
    if not (entries.lines[1:] < entries.lines[:-1]).any():
        return  # rows are grouped by list, and in the order of the file
    in_file = np.argsort(entries.lines, kind="stable")
    lists = entries.list_of(in_file)
    changes = np.flatnonzero(np.append(True, lists[1:] != lists[:-1]))
    if len(changes) > len(entries.sizes):
        _, first = np.unique(lists[changes], return_index=True)
        rows = in_file[np.delete(changes, first)]
        message = f"the lines of a topic are not together: {entries.lists(rows)}"
        yield Finding(entries.path, entries.first(rows), "info", "scattered", message)


def ids_alike(path: str, topics: Sequence[str]) -> Iterator[Finding]:
    """Topic ids that differ only by leading zeros or case."""
    seen: dict[str, str] = {}
    for topic in topics:
        other = seen.setdefault(plain_id(topic), topic)
        if other != topic:
            message = f"topics {other!r} and {topic!r} differ only by leading zeros or case"
            yield Finding(path, None, "warning", "topic-ids", message)


def plain_id(topic: str) -> str:
    """A topic id without leading zeros and case.

    >>> plain_id("MB051"), plain_id("051"), plain_id("0")
    ('mb51', '51', '0')
    """
    digits = len(topic) - len(topic.lstrip("0123456789"))
    if digits:
        return (topic.lstrip("0") if topic.strip("0") else "0").casefold()
    head = topic.rstrip("0123456789")
    return head.casefold() + (topic[len(head) :].lstrip("0") or ("0" if len(head) < len(topic) else ""))


# ---- qrels


def _negative(entries: Entries) -> Iterator[Finding]:
    rows = np.flatnonzero(entries.values < 0)
    yield from entries.find(rows, "info", "negative-grades", "grade is negative", "grades are negative")


def _fractional(entries: Entries) -> Iterator[Finding]:
    finite = np.isfinite(entries.values)
    rows = np.flatnonzero(finite & (entries.values != np.rint(entries.values)))
    words = ("grade is not an integer", "grades are not integers", "; trec_eval reads the part before the point")
    yield from entries.find(rows, "info", "fractional-grades", *words)


def _irrelevant(entries: Entries) -> Iterator[Finding]:
    relevant = np.bincount(entries.list_of(np.flatnonzero(entries.values > 0)), minlength=len(entries.sizes))
    without = [entries.topic_of_list[place] for place in np.flatnonzero(relevant == 0).tolist()]
    if len(without) == len(entries.sizes):
        yield Finding(entries.path, None, "warning", "nothing-relevant", "no document is judged relevant")
    elif without:
        message = f"topics without a relevant document: {listed(without)}"
        yield Finding(entries.path, None, "warning", "topic-without-relevant", message)


def _judged_by_intent(entries: Entries) -> Iterator[Finding]:
    label = entries.table.label
    if not len(label) or len(entries.table.ranks):  # in a sample, it is the stratum
        return
    first = np.repeat(label[entries.table.list_start[:-1]], entries.sizes)
    varies = np.flatnonzero(label != first)
    if not len(varies):
        return
    labels, again = listed(entries.table.labels), _core.judged(entries.table, "max").dropped
    if again:
        intents = intent_labels(entries.table)
        none = "" if len(intents) == len(entries.table.labels) else f"; {NO_INTENT}: relevant to none of them"
        message = f"documents have several labels in column 2: these are judgments by intent ({listed(intents)}{none})"
        yield Finding(entries.path, entries.first(varies), "info", "intents", message)
    else:
        message = f"column 2 varies within topics ({labels}), but no document has two labels: it is ignored"
        yield Finding(entries.path, entries.first(varies), "info", "iterations", message)


# ---- runs


def _tags(entries: Entries) -> Iterator[Finding]:
    names = entries.table.names
    if len(names) > 1:
        yield Finding(entries.path, None, "info", "several-tags", f"{len(names)} runs in one file: {listed(names)}")
    elif len(entries.table.tags) > 1:
        yield Finding(entries.path, None, "warning", "several-tags", several_tags(entries.table.tags))


def _long_lists(entries: Entries) -> Iterator[Finding]:
    long = np.flatnonzero(entries.sizes > LONG_LIST)
    if len(long):
        message = f"{counted(len(long), 'list has', 'lists have')} more than {LONG_LIST:,} documents"
        longest = int(entries.sizes.max())
        yield Finding(entries.path, None, "info", "long-list", f"{message}, the longest {longest:,}")


def _equal_scores(entries: Entries) -> Iterator[Finding]:
    """Ties, and scores that are equal in 32 bits only."""
    values = entries.values

    def only_in_32_bits(row: NDArray[np.int64], following: NDArray[np.int64]) -> NDArray[np.bool_]:
        one, other = values[row], values[following]
        with np.errstate(over="ignore"):
            return np.asarray((one != other) & (one.astype(np.float32) == other.astype(np.float32)))

    tied, near = _followers(entries, values, lambda row, following: values[row] == values[following], only_in_32_bits)
    if len(tied):
        share = len(np.unique(entries.list_of(tied))) / len(entries.sizes)
        rest = f" the score of another ({share:.0%} of the lists); tied documents are ordered by id"
        yield from entries.find(tied, "info", "ties", "document has", "documents have", rest)
    yield from entries.find(
        near, "warning", "single-precision", "score differs", "scores differ",
        " from another in 64 bits but not in 32: trec_eval up to version 9 compares 32 bits and treats them as ties",
    )  # fmt: skip


def _ranks(entries: Entries) -> Iterator[Finding]:
    """Check the rank column for gaps and repeats, and against the scores."""
    if not len(entries.ranks):
        return
    bad = np.flatnonzero(np.isnan(entries.ranks))
    if len(bad):
        yield from entries.find(bad, "warning", "rank-not-a-number", "rank is not a number", "ranks are not numbers")
        return
    starts = entries.table.list_start[:-1]
    lowest = np.minimum.reduceat(entries.ranks, starts)
    for wrong, code, place in (
        (lowest == 0, "rank-from-0", "at rank 0"),
        ((lowest != 0) & (lowest != 1), "rank-start", "at another rank than 1"),
    ):
        lists = np.flatnonzero(wrong)
        if len(lists):
            begins = counted(len(lists), "list begins", "lists begin")
            message = f"{begins} {place}: {entries.lists(starts[lists])}"
            yield Finding(entries.path, entries.first(starts[lists]), "warning", code, message)
    values, ranks = entries.values, entries.ranks

    def step(row: NDArray[np.int64], following: NDArray[np.int64]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):
            return np.asarray(ranks[following] - ranks[row])

    repeated, gaps, against = _followers(
        entries,
        ranks,
        lambda row, following: step(row, following) == 0,
        lambda row, following: (step(row, following) != 0) & (step(row, following) != 1),
        lambda row, following: (values[following] > values[row]) & (step(row, following) > 0),
    )
    for rows, code, singular, plural in (
        (repeated, "repeated-rank", "rank appears twice", "ranks appear twice"),
        (gaps, "rank-gap", "gap between ranks", "gaps between ranks"),
        (against, "rank-against-score", "score is higher than that of the previous rank",
         "scores are higher than those of the previous ranks"),
    ):  # fmt: skip
        yield from entries.find(rows, "warning", code, singular, plural, f": {entries.lists(rows)}")


Check = Callable[[Entries], Iterator[Finding]]
_BOTH: tuple[Check, ...] = (_infinite, _scattered, lambda entries: ids_alike(entries.path, entries.table.topics))
_QRELS: tuple[Check, ...] = (_negative, _fractional, _irrelevant, _judged_by_intent)
_RUN: tuple[Check, ...] = (_tags, _long_lists, _equal_scores, _ranks)


def entry_findings(path: str, kind: str, table: _core.Table) -> Iterator[Finding]:
    """Everything odd about the entries of a run or of qrels."""
    entries = Entries(path, kind, table)
    for check in (*_BOTH, *(_RUN if kind == "run" else _QRELS)):
        yield from check(entries)
