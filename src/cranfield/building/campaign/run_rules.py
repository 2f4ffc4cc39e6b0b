"""Check an uploaded file at once: the linter's findings, and the rules of the campaign."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.building.campaign.campaign_config import Rules
from cranfield.collection.lint import check_files
from cranfield.collection.lint_findings import Finding
from cranfield.collection.run import Run, runs_of
from cranfield.errors import CranfieldError
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
    rules: Rules,
    topics: Sequence[str],
    unknown_docs: Callable[[Collection[str]], list[str]],
) -> Checked:
    """Check the run in a file. `name` stands for the file in messages, `unknown_docs` finds ids outside the collection.

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
    try:
        runs = runs_of(path, split_tags=True)
    except CranfieldError as error:
        message = str(error).replace(path, name)
        return Checked((*findings, Finding(name, None, "error", "format", message)))
    tags, run = [tag for run in runs for tag in run.table.tags if tag], runs[0]
    if len(runs) > 1:
        message = (
            f"the file has {counted(len(runs), 'tag')}: {listed(run.name for run in runs)}; upload one run at a time"
        )
        return Checked((*findings, Finding(name, None, "error", "several-tags", message)))
    findings += [Finding(name, None, "error", code, message) for code, message in _broken(run, rules, tags, topics)]
    if rules.documents == "collection":
        unknown = unknown_docs(set(map(str, run.columns().docs)))
        if unknown:
            message = (
                f"{counted(len(unknown), 'document is', 'documents are')} not in the collection: {listed(unknown)}"
            )
            findings.append(Finding(name, None, "error", "unknown-documents", message))
    return Checked(tuple(findings), tags[0] if tags else "", len(run.topics), len(run))


def _broken(run: Run, rules: Rules, tags: Sequence[str], topics: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(code, message) for every rule that a run breaks."""
    if not tags:
        yield "no-tag", "the run has no tag; expected 6 columns: topic Q0 doc rank score tag"
    elif len(tags[0]) > LONGEST_TAG or not re.fullmatch(rules.tag, tags[0]):
        yield "tag", f"the tag is {shown(tags[0])}, must match {rules.tag}"
    lengths = np.diff(run.starts)
    long = np.flatnonzero(lengths > rules.depth)
    for at in long[:MOST_LENGTHS].tolist():
        what = f"topic {run.topics[at]!r} has {counted(int(lengths[at]), 'document')}"
        yield "too-long", f"{what}, at most {rules.depth:,} are allowed"
    if len(long) > MOST_LENGTHS:
        yield (
            "too-long",
            f"{counted(len(long) - MOST_LENGTHS, 'more topic has', 'more topics have')} too many documents",
        )
    known, own = set(topics), set(run.topics)
    extra = [topic for topic in run.topics if topic not in known]
    if extra:
        yield "unknown-topics", f"{counted(len(extra), 'topic is', 'topics are')} not of this campaign: {listed(extra)}"
    missing = [topic for topic in topics if topic not in own]
    if missing and rules.all_topics:
        yield "missing-topics", f"{counted(len(missing), 'topic is', 'topics are')} missing: {listed(missing)}"
