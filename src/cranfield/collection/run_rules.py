"""The rules of a track: what a run must be like. A run is checked by the linter, and by these rules."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield import check
from cranfield.collection.lint import check_files
from cranfield.collection.lint_findings import Finding
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import PathLike, load, text_of
from cranfield.collection.toml_files import entries_for, only_known, read_toml, typed_entry
from cranfield.collection.topics import Topics
from cranfield.errors import CranfieldError, UsageError
from cranfield.text import counted, listed, shown

ARCHIVES = {
    b"PK\x03\x04": "a ZIP archive", b"PK\x05\x06": "an empty ZIP archive", b"\x1f\x8b": "compressed by gzip",
    b"BZh": "compressed by bzip2", b"\xfd7zXZ\x00": "compressed by xz", b"(\xb5/\xfd": "compressed by zstd",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive", b"Rar!": "a RAR archive",
}  # fmt: skip
"""{first bytes: what the file is}. None of them is unpacked: a small archive may hold a very large file."""
LONGEST_TAG = 100
MOST_LENGTHS = 20
"""Lists that are too long of which each has a message; the others are counted."""


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

    def unknown(self, docs: Collection[str]) -> list[str]:
        """The documents that the collection does not have."""
        return sorted(set(docs) - (self.docs or frozenset()))


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
    unknown_docs: Callable[[Collection[str]], list[str]],
) -> Checked:
    """Check an uploaded run. `name` stands for the file in messages, `unknown_docs` finds ids outside the collection.

    A file that cannot be read has the linter's errors, each with its line; otherwise the rules are checked.
    """
    with open(path, "rb") as file:
        head = file.read(512)
    if kind := archive_kind(head):
        message = f"is {kind}; upload the run itself, as text"
        return Checked((Finding(name, None, "error", "archive", message),))
    findings = [replace(finding, path=name) for finding in check_files(runs=[path])]
    if any(finding.severity == "error" for finding in findings):
        return Checked(tuple(findings))
    checked = rule_findings(path, rules, topics, unknown_docs)
    broken = (replace(one, path=name, message=one.message.replace(path, name)) for one in checked.findings)
    return replace(checked, findings=(*findings, *broken))


def rule_findings(
    path: str,
    rules: RunRules,
    topics: Sequence[str] | None,
    unknown_docs: Callable[[Collection[str]], list[str]],
) -> Checked:
    """The rules that the run in a file breaks. Without `topics`, any topics are allowed."""
    try:
        runs = runs_of(path, split_tags=True)
    except CranfieldError as error:
        return Checked((Finding(path, None, "error", "format", str(error)),))
    tags, run = [tag for run in runs for tag in run.table.tags if tag], runs[0]
    if len(runs) > 1:
        names = listed(run.name for run in runs)
        message = f"the file has {counted(len(runs), 'tag')}: {names}; expected one run in a file"
        return Checked((Finding(path, None, "error", "several-tags", message),))
    findings = [Finding(path, None, "error", code, message) for code, message in _broken(run, rules, tags, topics)]
    if rules.documents == "collection":
        unknown = unknown_docs(set(map(str, run.columns().docs)))
        if unknown:
            what = counted(len(unknown), "document is", "documents are")
            message = f"{what} not in the collection: {listed(unknown)}"
            findings.append(Finding(path, None, "error", "unknown-documents", message))
    return Checked(tuple(findings), tags[0] if tags else "", len(run.topics), len(run))


def _broken(run: Run, rules: RunRules, tags: Sequence[str], topics: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """(code, message) for every rule that a run breaks."""
    if not tags:
        yield "no-tag", "the run has no tag; expected 6 columns: topic Q0 doc rank score tag"
    elif len(tags[0]) > LONGEST_TAG or not re.fullmatch(rules.tag, tags[0]):
        yield "tag", f"the tag is {shown(tags[0])}, must match {rules.tag}"
    lengths = np.diff(run.starts)
    for code, wrong, allowed in (
        ("too-long", lengths > rules.depth, f"at most {rules.depth:,} are allowed"),
        ("too-short", lengths < rules.least, f"at least {rules.least:,} are needed"),
    ):
        places = np.flatnonzero(wrong)
        for at in places[:MOST_LENGTHS].tolist():
            what = f"topic {run.topics[at]!r} has {counted(int(lengths[at]), 'document')}"
            yield code, f"{what}, {allowed}"
        if len(places) > MOST_LENGTHS:
            more = counted(len(places) - MOST_LENGTHS, "more topic is", "more topics are")
            yield code, f"{more} {code.replace('-', ' ')}"
    if topics is None:
        return
    known, own = set(topics), set(run.topics)
    extra = [topic for topic in run.topics if topic not in known]
    if extra:
        yield "unknown-topics", f"{counted(len(extra), 'topic is', 'topics are')} unknown: {listed(extra)}"
    missing = [topic for topic in topics if topic not in own]
    if missing and rules.all_topics:
        yield "missing-topics", f"{counted(len(missing), 'topic is', 'topics are')} missing: {listed(missing)}"
