"""The rules of a track: what a run must be like. The linter and these rules decide which runs are accepted."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield import _core, check
from cranfield.collection.config_files import entries_for, only_known, read_toml, typed_entry
from cranfield.collection.file_formats import formats
from cranfield.collection.linting.file_findings import SEVERITIES, Finding, blocks_of_lines
from cranfield.collection.linting.lint import check_file, plain_id
from cranfield.collection.source import PathLike, load, text_of
from cranfield.collection.topics import Topics
from cranfield.errors import DataError, UsageError
from cranfield.table import Column, Table
from cranfield.text import counted, cut, listed, shown

ARCHIVES = {
    b"PK\x03\x04": "a ZIP archive", b"PK\x05\x06": "an empty ZIP archive", b"\x1f\x8b": "compressed by gzip",
    b"BZh": "compressed by bzip2", b"\xfd7zXZ\x00": "compressed by xz", b"(\xb5/\xfd": "compressed by zstd",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive", b"Rar!": "a RAR archive",
}  # fmt: skip
"""{first bytes: what the file is}. None of them is unpacked: a small archive may hold a very large file."""
LONGEST_TAG = 100
MOST_LISTED = 20
"""Topics or documents of which each has a message; the others are counted."""
DOCS_AT_ONCE = 20_000
"""Documents of a run that are looked up together."""
MOST_TOPICS, MOST_TAGS = 10_000, 1_000
"""An upload with more topics (and ten times those of the track) or tags is not read: each of them takes memory."""
UnknownDocs = Callable[[Collection[str]], Collection[str]]
"""Which of these documents are not in the collection?"""


DOCUMENTS = ("any", "collection")


@dataclass(frozen=True)
class RunRules:
    """What a run must be like."""

    depth: int = 1000
    """The most documents of a topic."""
    least: int = 1
    """The fewest documents of a topic that the run has."""
    all_topics: bool = True
    documents: str = "any"
    """`collection`: only documents of the collection are allowed."""
    tag: str = "[A-Za-z0-9][A-Za-z0-9_.-]*"
    """What a tag may look like, as a regular expression."""


def check_rules(rules: RunRules) -> None:
    """Raise an error for rules that make no sense."""
    check.whole("rules", depth=rules.depth, least=rules.least)
    if rules.least > rules.depth:
        raise UsageError(f"rules: least == {rules.least:,}, must be at most depth == {rules.depth:,}")
    check.one_of("rules", DOCUMENTS, documents=rules.documents)
    try:
        re.compile(rules.tag)
    except re.error as error:
        raise UsageError(f"rules: tag == {shown(rules.tag)} is not a regular expression: {error}") from None


@dataclass(frozen=True)
class TrackRules:
    """The rules of a track, with its topics and documents; None if the file does not name them."""

    rules: RunRules
    topics: tuple[str, ...] | None = None
    docs: frozenset[str] | None = None

    @property
    def unknown_docs(self) -> UnknownDocs | None:
        """Which of some documents the collection does not have; None if the file does not name its documents."""
        return None if self.docs is None else lambda docs: set(docs) - (self.docs or frozenset())


def read_track_rules(path: PathLike) -> TrackRules:
    """The rules of a track from a TOML file, or from the `campaign.toml` of a campaign.

    The table [rules] has the entries of `RunRules`. `topics` names a file of topics, `document_ids` a file with the ids
    of all documents, one on each line; both are relative to the folder of the file.
    """
    folder = os.path.dirname(os.fspath(path))

    def made_of(data: Mapping[str, Any]) -> TrackRules:
        campaign = "rules" in data and "measures" in data
        if not campaign:
            only_known(data, ("rules", "topics", "document_ids"))
        table = typed_entry(data, "rules", dict, "", {})
        if campaign:
            table = {name: value for name, value in table.items() if name not in ("runs", "submissions", "bytes")}
        rules = RunRules(**entries_for(table, RunRules, "rules."))
        check_rules(rules)
        names = {name: typed_entry(data, name, str) for name in ("topics", "document_ids")}
        files = {name: os.path.join(folder, file) for name, file in names.items() if file is not None}
        topics = tuple(Topics.read(files["topics"])) if "topics" in files else None
        docs = (
            frozenset(text_of(load(files["document_ids"]), files["document_ids"]).split())
            if "document_ids" in files
            else None
        )
        if rules.documents == "collection" and docs is None:
            raise UsageError(
                'rules: documents == "collection" needs document_ids, a file with the ids of all documents'
            )
        return TrackRules(rules, topics, docs)

    return read_toml(path, made_of)


@dataclass(frozen=True)
class Checked:
    """The result of a check. Without an error, `tag` names the run."""

    findings: tuple[Finding, ...]
    tag: str = ""
    lists: int = 0
    documents: int = 0

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What must be mended before the run is accepted."""
        return tuple(finding for finding in self.findings if finding.severity == "error")


def archive_kind(head: bytes) -> str | None:
    """What kind of archive begins with these bytes; None if it is none.

    >>> archive_kind(b"PK\\x03\\x04..."), archive_kind(b"1 Q0 d1 1 2.5 tag")
    ('a ZIP archive', None)
    """
    if head[257:262] == b"ustar":
        return "a tar archive"
    return next((what for start, what in ARCHIVES.items() if head.startswith(start)), None)


def check_run(
    path: str,
    name: str,
    rules: RunRules,
    topics: Sequence[str] | None,
    unknown_docs: UnknownDocs | None,
) -> Checked:
    """Check an uploaded run, by the linter and by the rules. `name` stands for the file in messages.

    It takes at most about ten times the memory of the file, whatever the file holds.
    """
    if (refused := _not_read(path, topics)) is not None:
        return Checked((replace(refused, path=name),))
    findings: list[Finding] = []
    read = check_file(path, "run", findings, split_tags=True)
    checked = Checked(())
    if read is not None and read.table is not None:
        whole = not any(finding.severity == "error" for finding in findings)
        checked = table_findings(path, read.table, rules, topics, unknown_docs, whole=whole)
        findings += checked.findings
    findings = [_strict(finding) for finding in findings]
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), finding.line or 0))
    return replace(checked, findings=tuple(replace(finding, path=name) for finding in findings))


def _strict(finding: Finding) -> Finding:
    """A finding of the linter as an upload is judged: databases and pages hold only text."""
    message = finding.message.encode("utf-8", "backslashreplace").decode()
    if finding.code != "not-utf-8":
        return replace(finding, message=message)
    return replace(finding, severity="error", message=f"{message.partition(':')[0]}, expected text")


def _not_read(path: str, topics: Sequence[str] | None) -> Finding | None:
    """Why an upload is refused before it is read: it is not a run of lines, or would take too much memory."""

    def refusal(code: str, message: str, line: int | None = None) -> Finding:
        return Finding(path, line, "error", code, message)

    with open(path, "rb") as file:
        head = file.read(512)
    if kind := archive_kind(head):
        return refusal("archive", f"is {kind}; upload the run itself, as text")
    try:
        buffer = load(path)
        format, expected = formats.detect(buffer, "run", path), formats.RUNS["trec"].expected
    except DataError:
        return None  # which the linter explains
    if not isinstance(format, formats.Layout):
        return refusal("format", f"is in the format {format.name}, expected lines of {expected}")
    if "name" not in format.columns:
        return refusal("no-tag", f"the run has no tag; expected 6 columns: {expected}")
    most = {"topics": MOST_TOPICS + 10 * len(topics or ()), "tags": MOST_TAGS}
    seen: dict[str, set[bytes]] = {"topics": set(), "tags": set()}
    for block in blocks_of_lines(buffer):
        rows = [line.strip(b" \r") for line in set(block.replace(b"\t", b" ").split(b"\n"))]
        seen["topics"].update(row.partition(b" ")[0] for row in rows)
        seen["tags"].update(row.rpartition(b" ")[2] for row in rows)
        for what, names in seen.items():
            if len(names) > most[what]:
                return refusal(f"too-many-{what}", f"has more than {most[what]:,} {what}")
    return None


def rule_findings(
    path: str, rules: RunRules, topics: Sequence[str] | None, unknown_docs: UnknownDocs | None
) -> Checked:
    """The rules that the run in a file breaks. Without `topics`, any topics are allowed."""
    findings: list[Finding] = []
    read = check_file(path, "run", findings, split_tags=True)
    if read is None or read.table is None:
        return Checked(tuple(findings))
    return table_findings(path, read.table, rules, topics, unknown_docs)


def table_findings(
    path: str,
    table: _core.Table,
    rules: RunRules,
    topics: Sequence[str] | None,
    unknown_docs: UnknownDocs | None,
    *,
    whole: bool = True,
) -> Checked:
    """The rules that a run breaks. `unknown_docs` finds ids outside the collection; None if nobody knows them.

    If the table is not the `whole` file, since some lines could not be read, nothing is said of what is missing.
    """
    tags = [tag for tag in table.tags if tag]
    found: list[Finding] = []

    def add(code: str, message: str, line: int | None = None, severity: str = "error") -> None:
        found.append(Finding(path, line, severity, code, message))

    if len(tags) > 1:
        names = listed(tags)
        add("several-tags", f"the file has {counted(len(tags), 'tag')}: {names}; expected one run in a file")
    elif not tags:
        add("no-tag", "the run has no tag; expected 6 columns: topic Q0 doc rank score tag")
    elif len(tags[0]) > LONGEST_TAG or not re.fullmatch(rules.tag, tags[0]):
        add("tag", f"the tag is {shown(tags[0])}, must match {rules.tag}")
    lines = _Lines(table)
    if len(tags) <= 1:
        _check_lengths(lines, rules, add, whole=whole)
    if topics is not None:
        _check_topics(lines, rules, topics, add, whole=whole)
    if unknown_docs is not None:
        severity = "error" if rules.documents == "collection" else "warning"
        _check_documents(lines, unknown_docs, lambda message, line: add("unknown-documents", message, line, severity))
    return Checked(tuple(found), tags[0] if tags else "", len(table.topics), len(table))


class _Lines:
    """The rows of a table and where they are in the file; None if it does not have lines, as Parquet."""

    def __init__(self, table: _core.Table) -> None:
        self.table = table
        self.starts = table.list_start
        self.sizes = np.diff(table.list_start)
        self.lines = table.lines
        names = table.topics
        self.topic_of_list = [names[topic] for topic in table.list_topic.tolist()]

    def of(self, place: int, nth: int = 0) -> int | None:
        """The line of the `nth` document of a list, in the order of the file."""
        if not len(self.lines):
            return None
        return int(np.partition(self.lines[self.starts[place] : self.starts[place + 1]], nth)[nth])


def _check_lengths(lines: _Lines, rules: RunRules, add: Callable[..., None], *, whole: bool) -> None:
    for code, wrong, nth, allowed in (
        ("too-long", lines.sizes > rules.depth, rules.depth, f"at most {rules.depth:,} are allowed"),
        ("too-short", whole & (lines.sizes < rules.least), 0, f"at least {rules.least:,} are needed"),
    ):
        places = np.flatnonzero(wrong).tolist()
        for at in places[:MOST_LISTED]:
            what = f"topic {lines.topic_of_list[at]!r} has {counted(int(lines.sizes[at]), 'document')}"
            add(code, f"{what}, {allowed}", lines.of(at, nth))
        if len(places) > MOST_LISTED:
            more = counted(len(places) - MOST_LISTED, "more topic is", "more topics are")
            add(code, f"{more} {code.replace('-', ' ')}", lines.of(places[MOST_LISTED], nth))


def _check_topics(
    lines: _Lines, rules: RunRules, topics: Sequence[str], add: Callable[..., None], *, whole: bool
) -> None:
    known, own = set(topics), set(lines.topic_of_list)
    first = {topic: at for at, topic in reversed(list(enumerate(lines.topic_of_list))) if topic not in known}
    extra = sorted(first, key=first.__getitem__)
    missing = [topic for topic in topics if topic not in own]
    spelled = {plain_id(topic): topic for topic in missing}
    for topic in extra[:MOST_LISTED]:
        other = spelled.get(plain_id(topic))
        hint = f"; did you mean {other!r}?" if other is not None else ""
        add("unknown-topics", f"topic {topic!r} is unknown{hint}", lines.of(first[topic]))
    if len(extra) > MOST_LISTED:
        more = counted(len(extra) - MOST_LISTED, "more topic is unknown", "more topics are unknown")
        add("unknown-topics", more, lines.of(first[extra[MOST_LISTED]]))
    if missing and whole:
        message = f"{counted(len(missing), 'topic is', 'topics are')} missing: {listed(missing)}"
        add("missing-topics", message, None, "error" if rules.all_topics else "info")


def _check_documents(lines: _Lines, unknown_docs: UnknownDocs, add: Callable[..., None]) -> None:
    """List the first documents that are not in the collection, and count the rest; a part of the run at a time."""
    seen: set[str] = set()
    more: list[int | None] = []
    count = 0
    for begin in range(0, len(lines.table), DOCS_AT_ONCE):
        docs = lines.table.docs(begin, min(begin + DOCS_AT_ONCE, len(lines.table)))
        unknown = set(unknown_docs(set(docs))) - seen
        for row, doc in enumerate(docs, begin) if unknown else ():
            if doc not in unknown:
                continue
            line = int(lines.lines[row]) if len(lines.lines) else None
            if len(seen) < MOST_LISTED:
                seen.add(doc)
                unknown.remove(doc)
                add(f"document {shown(doc)} is not in the collection", line)
            else:
                more = more or [line]
                count += 1
    if count:
        entries = counted(count, "more entry has a document that is", "more entries have documents that are")
        add(f"{entries} not in the collection", more[0])


LONGEST_REASON = 120
MOST_REASONS = 3


@dataclass(frozen=True)
class Verdict:
    """A file of a run: is it accepted, and if not, why."""

    path: str
    accepted: bool
    errors: int
    warnings: int
    why: str
    """The first error of each kind, or of an accepted run the first warnings."""


def verdicts(
    paths: Sequence[str], findings: Iterable[Finding], *, strict: bool = False, lowest: str = "warning"
) -> list[Verdict]:
    """A verdict for each file: it is accepted if it has no error, and with `strict` no warning.

    Findings below the severity `lowest` are counted and not named, except warnings for which a run is rejected.

    >>> verdicts(["a.run"], [Finding("a.run", 3, "error", "nan", "the score is 'x'")])[0].why
    "line 3: the score is 'x'"
    """
    by_path: dict[str, list[Finding]] = {path: [] for path in paths}
    for finding in findings:
        if finding.path in by_path and finding.severity != "info":
            by_path[finding.path].append(finding)
    out = []
    for path, of_file in by_path.items():
        counts = Counter(finding.severity for finding in of_file)
        accepted = not counts["error"] and not (strict and counts["warning"])
        named = (
            [finding for finding in of_file if finding.severity == "error"]
            if lowest == "error" and accepted
            else of_file
        )
        out.append(Verdict(path, accepted, counts["error"], counts["warning"], _why(named)))
    return out


def _why(findings: list[Finding]) -> str:
    """The first finding of each kind, of errors if there are any."""
    worst = [finding for finding in findings if finding.severity == "error"] or findings
    kinds: dict[str, list[Finding]] = {}
    for finding in worst:
        kinds.setdefault(finding.code, []).append(finding)
    reasons = []
    for first, *more in list(kinds.values())[:MOST_REASONS]:
        place = f"line {first.line}: " if first.line else ""
        others = f" (and {len(more):,} more)" if more else ""
        reasons.append(f"{place}{cut(first.message, LONGEST_REASON)}{others}")
    if len(kinds) > MOST_REASONS:
        reasons.append(counted(len(kinds) - MOST_REASONS, "more kind"))
    return "; ".join(reasons)


def verdict_table(rows: Sequence[Verdict]) -> Table:
    """Rejected runs first; files are named by as little of their paths as tells them apart."""
    names = _short_names([row.path for row in rows])
    columns = (Column("run"), Column("verdict"), Column("errors", "count"), Column("warnings", "count"), Column("why"))
    order = sorted(range(len(rows)), key=lambda at: rows[at].accepted)
    cells = [
        (names[at], "accepted" if rows[at].accepted else "rejected", rows[at].errors, rows[at].warnings, rows[at].why)
        for at in order
    ]
    rejected = sum(not row.accepted for row in rows)
    note = f"{counted(len(rows), 'run')}: {len(rows) - rejected:,} accepted, {rejected:,} rejected"
    return Table(columns, tuple(cells), notes=(note,))


def _short_names(paths: Sequence[str]) -> list[str]:
    """The paths without the folder that all of them are in."""
    folders = {os.path.dirname(path) for path in paths}
    if len(folders) > 1:
        try:
            common = os.path.commonpath(folders)
        except ValueError:  # some are absolute
            return list(paths)
        return [os.path.relpath(path, common) if common else path for path in paths]
    return [os.path.basename(path) for path in paths]
