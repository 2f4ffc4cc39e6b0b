"""A linter that reports everything that is wrong with a set of files.

Each file is checked in three ways: its bytes (line ends, encoding), its lines (those that cannot be read) and its
entries (ranks against scores, ties, odd grades). Then the files are compared: topics that only some of them have, tags
that two runs share.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cranfield import _core
from cranfield.collection import formats
from cranfield.collection.grade_labels import levels_as_numbers
from cranfield.collection.lint_bytes import byte_findings
from cranfield.collection.lint_entries import entry_findings, ids_alike, plain_id
from cranfield.collection.lint_findings import SEVERITIES, Finding
from cranfield.collection.records import Reading, from_content
from cranfield.collection.source import Buffer, PathLike, load, shown_path
from cranfield.collection.structured import BASE_16
from cranfield.collection.topics import Topics
from cranfield.errors import CranfieldError, CranfieldWarning, DataError
from cranfield.text import counted, listed

MOST_SHOWN = 1000
"""Faults of one file that are listed; the rest are counted."""
MOST_FAULTS = 10_000
"""Faults of one file that are counted: a file in which every line is wrong must not fill the memory with messages."""


def check_files(
    qrels: Iterable[PathLike] = (),
    runs: Iterable[PathLike] = (),
    topics: Iterable[PathLike] = (),
    *,
    split_tags: bool = False,
) -> list[Finding]:
    """Everything that is wrong with these files, in the order of files and lines.

    In a file with lines that cannot be read, the other lines are checked. A file of runs is one run, or with
    `split_tags` a run for each tag.
    """
    qrels, runs, topics = ([os.fspath(path) for path in paths] for paths in (qrels, runs, topics))
    findings: list[Finding] = []
    qrels_files = [check_file(path, "qrels", findings) for path in qrels]
    run_files = [check_file(path, "run", findings, split_tags=split_tags) for path in runs]
    topic_files = [_check_topics(path, findings) for path in topics]
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
        shown = shown_path(path)
        buffer = load(path, lambda head: formats.check_block(head, kind, None, shown, every_line=False))
        format = formats.detect(buffer, kind, path)
        if isinstance(format, formats.Layout) or not format.magic:
            findings.extend(byte_findings(path, buffer))
        if isinstance(format, formats.Layout):
            table = _read(path, buffer, format, kind, findings, split_tags=split_tags)
        else:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", CranfieldWarning)
                table = from_content(buffer, Reading(kind, split_tags=split_tags), path)
            findings.extend(_warnings(path, caught))
    except CranfieldError as error:
        findings.append(_fault(path, error))
        return None
    if not len(table):
        return None
    findings.extend(entry_findings(path, kind, table))
    return File(path, tuple(table.topics), table)


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
    for _, line, message in faults[:MOST_SHOWN]:
        message = formats.explained(message, buffer, line)
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
            yield from _nothing_judged(run, qrels)
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


def _nothing_judged(run: File, qrels: Sequence[File]) -> Iterator[Finding]:
    """A run without any judged document probably has other document ids than the judgments."""
    assert run.table is not None
    tables = [file.table for file in qrels if file.table is not None]
    hits = 0
    for table in tables:
        judged = _core.judged(table, "max")
        if not set(judged.topics) & set(run.topics):
            return
        hits += len(_core.join_tables(judged, [run.table], "score", False, 0)["row"])
    if not hits:
        here, there = run.table.docs(0, 1)[0], tables[0].docs(0, 1)[0]
        message = f"no retrieved document is judged: an id here is {here!r}, an id in the judgments is {there!r}"
        yield Finding(run.path, None, "warning", "no-judged-document", message)
