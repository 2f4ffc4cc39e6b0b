"""Take in a run: check it, keep its bytes in a file, and record it. It is on disk before it is acknowledged."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO

from cranfield.building.campaign.campaign_store import SUBMISSION, Campaign, Submission, add_event, submission_of
from cranfield.building.serve.database.database import Connection, StoreError
from cranfield.collection.linting.file_findings import Finding
from cranfield.collection.linting.run_rules import Checked, check_run
from cranfield.errors import UsageError
from cranfield.text import counted, shown

SHOWN_NAME = 100
PARTIAL = ".part"
"""How the name of a file ends that is not checked yet."""
BLOCK = 1 << 20
MOST_FINDINGS = 100
"""Findings that are kept with a submission, and shown."""


@dataclass(frozen=True)
class Receipt:
    """The answer to an upload. `submission` is None if the run was refused; `findings` say why."""

    submission: Submission | None
    findings: tuple[Finding, ...]
    known: bool = False
    """The team had submitted the same content before; nothing changed."""
    notes: tuple[str, ...] = ()


def submit(campaign: Campaign, team: str, name: str, data: bytes | BinaryIO) -> Receipt:
    """Take in a run of a team. The same content again changes nothing, so that an upload can be repeated.

    A file is read from its beginning, a block at a time.
    """
    campaign.need("submission")
    rules = campaign.config.rules
    name = "".join(letter for letter in os.path.basename(name.replace("\\", "/")) if letter.isprintable())[:SHOWN_NAME]
    name = name or "run"
    path = os.path.join(campaign.folder, "runs", f".{secrets.token_hex(8)}{PARTIAL}")
    try:
        digest, size = copy_hashed(BytesIO(data) if isinstance(data, bytes) else data, path)
        before = campaign.submission(digest)
        if before is not None and before.team == team:
            return Receipt(before, (), known=True)
        if before is None and size > rules.bytes:
            message = f"has {size:,} bytes, at most {rules.bytes:,} are allowed"
            return _refuse(campaign, team, name, Checked((Finding(name, None, "error", "too-large", message),)))
        if len(campaign.submissions(team)) >= rules.submissions:
            raise UsageError(_too_many(rules.submissions))
        topics = campaign.store.topic_ids()
        known = rules.documents == "collection" or campaign.knows_documents()
        checked = check_run(path, name, rules, topics, campaign.unknown_documents if known else None)
        if checked.errors:
            return _refuse(campaign, team, name, checked)
        return _keep(campaign, team, name, digest, path, size, checked)
    except OSError as error:
        message = (
            f"a file cannot be written: {error.strerror}; the run was not submitted; free some space and try again"
        )
        raise StoreError(campaign.folder, message, "full") from None
    finally:
        if os.path.exists(path):
            os.unlink(path)


def _too_many(most: int) -> str:
    return f"the team has submitted {most:,} files, which is the most that is allowed; ask the organisers"


def copy_hashed(source: BinaryIO, path: str) -> tuple[str, int]:
    """Copy a file to disk, a block at a time; returns its SHA-256 digest and its size."""
    digest, size = hashlib.sha256(), 0
    source.seek(0)
    with open(path, "wb") as file:
        while block := source.read(BLOCK):
            digest.update(block)
            file.write(block)
            size += len(block)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), size


def sweep(campaign: Campaign) -> int:
    """Remove what a server that was killed had received in part; returns how many files. No other server may run."""
    left = glob.glob(os.path.join(glob.escape(campaign.folder), "runs", f".*{PARTIAL}"))
    for path in left:
        with suppress(OSError):  # it takes space, and does no other harm
            os.unlink(path)
    return len(left)


def _refuse(campaign: Campaign, team: str, name: str, checked: Checked) -> Receipt:
    """Log that a file was refused, and why."""
    first = checked.errors[0]
    data = {"file": name, "errors": len(checked.errors), "first": first.message, "line": first.line}
    campaign.store.database.write(lambda connection: add_event(connection, team, "refused", data))
    return Receipt(None, checked.findings)


def _keep(campaign: Campaign, team: str, name: str, digest: str, path: str, size: int, checked: Checked) -> Receipt:
    """Give the file its name and record it, in one step for others. What must hold together is checked again here."""
    rules, final = campaign.config.rules, campaign.path_of(digest)
    findings = [str(finding) for finding in checked.findings[:MOST_FINDINGS]]

    def change(connection: Connection) -> Receipt:
        campaign.need("submission", connection)
        rows = connection.run(f"SELECT {SUBMISSION} FROM submission WHERE digest = ?", (digest,))
        if rows and submission_of(rows[0]).team == team:
            return Receipt(submission_of(rows[0]), (), known=True)
        if rows:
            raise UsageError("another team has submitted exactly this content; ask the organisers")
        own = [
            submission_of(row)
            for row in connection.run(f"SELECT {SUBMISSION} FROM submission WHERE team = ? ORDER BY number", (team,))
        ]
        if len(own) >= rules.submissions:
            raise UsageError(_too_many(rules.submissions))
        need_free_tag(connection, team, checked.tag)
        notes, same_tag = [], [submission for submission in own if submission.tag == checked.tag and submission.counts]
        for submission in same_tag:
            connection.run("UPDATE submission SET counts = 0 WHERE digest = ?", (submission.digest,))
            notes.append(f"it takes the place of {submission.digest[:12]}, which has the same tag")
        counting = sum(submission.counts for submission in own) - len(same_tag)
        counts = counting < rules.runs
        if not counts:
            which = counted(rules.runs, "other run already counts", "other runs already count")
            notes.append(f"it does not count, because {which}; choose which of them do")
        ((number,),) = connection.run(
            """INSERT INTO submission (digest, team, tag, file, bytes, lists, documents, counts, findings, submitted_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number""",
            (
                digest, team, checked.tag, name, size, checked.lists, checked.documents, int(counts),
                json.dumps(findings), time.time(),
            ),
        )  # fmt: skip
        add_event(connection, team, "submit", {"digest": digest, "tag": checked.tag, "counts": counts})
        os.replace(path, final)
        _sync_folder(os.path.dirname(final))
        rows = connection.run(f"SELECT {SUBMISSION} FROM submission WHERE number = ?", (number,))
        return Receipt(submission_of(rows[0]), checked.findings, notes=tuple(notes))

    try:
        return campaign.store.database.write(change)
    except Exception:
        with suppress(Exception):  # what is wrong with the database was noticed above
            if campaign.submission(digest) is None and os.path.exists(final):
                os.unlink(final)
        raise


def need_free_tag(connection: Connection, team: str, tag: str) -> None:
    """Raise an error if another team uses a tag, whatever the case of its letters."""
    if connection.run("SELECT 1 FROM submission WHERE lower(tag) = ? AND team <> ?", (tag.lower(), team)):
        raise UsageError(f"the tag {shown(tag)} is used by another team; choose another one, such as {team}-{tag}")


def _sync_folder(folder: str) -> None:
    """Make sure that the name of a new file is on disk."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def mark(campaign: Campaign, team: str, digest: str, counts: bool) -> Submission:
    """Say whether a run counts. Only the team that submitted it can, while submissions are open."""
    rules = campaign.config.rules

    def change(connection: Connection) -> Submission:
        campaign.need("submission", connection)
        rows = connection.run(f"SELECT {SUBMISSION} FROM submission WHERE digest = ? AND team = ?", (digest, team))
        if not rows:
            raise UsageError(f"the team has no submission {shown(digest)}")
        before = submission_of(rows[0])
        if counts and not before.counts:
            own = connection.run("SELECT digest, tag FROM submission WHERE team = ? AND counts = 1", (team,))
            same = [other for other, tag in own if tag == before.tag]
            if same:
                raise UsageError(f"{same[0][:12]} has the same tag and counts; let it not count first")
            if len(own) >= rules.runs:
                other = counted(rules.runs, "run already counts", "runs already count")
                raise UsageError(f"{other}, which is the most that is allowed; let another one not count first")
        if counts != before.counts:
            connection.run("UPDATE submission SET counts = ? WHERE digest = ?", (int(counts), digest))
            add_event(connection, team, "mark", {"digest": digest, "tag": before.tag, "counts": counts})
        rows = connection.run(f"SELECT {SUBMISSION} FROM submission WHERE digest = ?", (digest,))
        return submission_of(rows[0])

    return campaign.store.database.write(change)
