"""Start a campaign: a folder with a configuration, topics and a database, made anew or from the files of an export.

Passwords are not exported: people get new ones.
"""

from __future__ import annotations

import csv
import json
import os
import secrets
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Annotated, Any, TextIO

from cranfield.building.campaign.campaign_config import (
    FILE,
    PHASES,
    WINS,
    config_of,
    name_database,
    read_config,
    starter,
)
from cranfield.building.campaign.campaign_export import ASSESSOR_FIELDS, FACET_FIELDS, SUBMISSION_FIELDS, TEAM_FIELDS
from cranfield.building.campaign.campaign_store import FACT, SAMPLE, TEAM_NAME, Campaign, add_event
from cranfield.building.campaign.submitting import copy_hashed
from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.project.accounts import JUDGES, add_account, need_free_name
from cranfield.building.serve.project.importing import import_log
from cranfield.building.serve.project.judging_modes import Document, Facet, PoolEntry
from cranfield.building.serve.project.judging_project import pairs_of_lists, read_documents, read_facets
from cranfield.building.serve.project.store import Store, put_pool
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.source import load, text_of
from cranfield.collection.topics import Topics
from cranfield.collection.whole_folder import whole_folder
from cranfield.declared.operation import about, operation
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, shown, unguarded

MEASURES = ("nDCG@10", "AP")
NOT_AUDIT = ("topic", "doc", "source", "query", "added_by")
"""Columns of `pool.tsv` that are not part of the audit trail."""
NEEDED = (
    FILE, "topics.jsonl", "teams.csv", "assessors.csv", "submissions.csv", "findings.jsonl", "pool.tsv",
    "judgments.jsonl", "guidelines.jsonl", "log.jsonl", "state.json",
)  # fmt: skip
"""The files that every export has."""
DOCUMENT = {"id": str, "title": str, "text": str, "kind": str, "extra": dict}
FACET = {**dict.fromkeys(FACET_FIELDS, str), "weight": float | int | None, "by": str | None}
FINDING = {"digest": str, "finding": str}
GUIDELINES = {"text": str, "at": str, "by": str}
EVENT = {"at": str, "who": str, "what": str, "data": dict}
"""The entries of objects, and their types."""


@contextmanager
def new_folder(folder: str) -> Iterator[str]:
    """A new folder that appears complete or not at all."""
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise DataError(folder, None, "already exists and is not empty; give a new folder")
    parent = os.path.dirname(os.path.abspath(folder))
    if not os.path.isdir(parent):
        raise DataError(folder, None, f"cannot be created: there is no folder {parent}")
    with whole_folder(folder) as made:
        yield made


@operation
def init_campaign(
    folder: str,
    *,
    name: str,
    topics: str,
    docs: Sequence[str] = (),
    doc_ids: str | None = None,
    gold: str | None = None,
    measures: Sequence[str] | None = None,
    mode: Annotated[
        str,
        about(
            "What assessors judge: {names}.", names="building.campaign.campaign_config:JUDGED", spelled="--mode MODE"
        ),
    ] = "graded",
    dimensions: Sequence[str] = (),
    intents: str | None = None,
    nuggets: str | None = None,
    database: Annotated[
        str, about("A file in the folder, or postgresql://USER@HOST/NAME.", spelled="--database DB", rare=True)
    ] = "campaign.db",
    progress: Callable[[int], None] | None = None,
) -> list[str]:
    """Make a campaign in a new folder; returns notes, a sentence each.

    With documents or a file of document ids, runs may contain only these; the file of the campaign says so, and can be
    changed before the server starts. Intents are the subtopics of the topics, or those of the file `intents`; of
    `nuggets`, assessors may add more while they judge. The measures depend on the mode if they are not given.
    """
    chosen = list(measures or ([WINS] if mode == "preferences" else MEASURES))
    known = "collection" if docs or doc_ids else "any"
    text = starter(name, chosen, documents=known, database=database, mode=mode, dimensions=dimensions)
    config_of(tomllib.loads(text))
    asked = Topics.read(topics)
    notes = [counted(len(asked), "topic")]
    with new_folder(folder) as made:
        with open(os.path.join(made, FILE), "w", encoding="utf-8") as out:
            out.write(text)
        with Campaign(made, create=True) as campaign:
            if campaign.store.database.read("SELECT 1 FROM topic LIMIT 1"):
                raise DataError(campaign.store.origin, None, "already holds a campaign; name another database")
            campaign.store.add_topics(asked)
            for kind, file in (("intent", intents), ("nugget", nuggets)):
                if file is not None:
                    facets = read_facets(file, kind)
                    campaign.store.add_facets(facets)
                    notes.append(f"{counted(len(facets), kind)} from {file}")
            for path in docs:
                count = campaign.store.add_documents(read_documents(path), progress)
                notes.append(f"{counted(count, 'document')} from {path}")
            if doc_ids is not None:
                lines = text_of(load(doc_ids), doc_ids).split("\n")
                ids = [line.strip() for line in lines if line.strip()]
                notes.append(f"{counted(campaign.add_known_documents(ids), 'document id')} from {doc_ids}")
            if gold is not None:
                graded = [(entry.topic, entry.doc, entry.grade) for entry in Qrels.read(gold)]
                notes.append(f"{counted(campaign.store.add_gold(graded), 'gold document')} from {gold}")
            campaign.store.database.write(
                lambda connection: add_event(connection, "", "init", {"name": name, "topics": len(asked)})
            )
    return notes


def add_organiser(campaign: Campaign, name: str) -> str:
    """Give an organiser a new password, and return it."""
    password = secrets.token_urlsafe(9)
    add_account(campaign.store, name, "organiser", password)
    return password


# ---- from an export


@operation
def import_campaign(
    folder: str,
    source: str,
    *,
    database: Annotated[
        str | None,
        about(
            "A file in the folder, or postgresql://USER@HOST/NAME; default: as in the exported campaign.toml.",
            spelled="--database DB",
            rare=True,
        ),
    ] = None,
) -> Campaign:
    """Make a campaign in a new folder from an export; the caller closes it.

    The files that an export computes (qrels, labels, leaderboard, scores, comparisons, sheets) are not read.
    """
    for name in NEEDED:
        if not os.path.isfile(os.path.join(source, name)):
            raise DataError(os.path.join(source, name), None, "the file does not exist, expected an exported campaign")
    read_config(source)
    with new_folder(folder) as made:
        shutil.copyfile(os.path.join(source, FILE), os.path.join(made, FILE))
        if database is not None:
            name_database(os.path.join(made, FILE), database)
        with Campaign(made, create=True) as campaign:
            _read(campaign, source)
    return Campaign(folder)


def _read(campaign: Campaign, source: str) -> None:
    store = campaign.store
    if store.database.read("SELECT 1 FROM topic LIMIT 1"):
        raise DataError(store.origin, None, "already holds a campaign; name another database in the file")
    path = partial(os.path.join, source)
    store.add_topics(Topics.read(path("topics.jsonl")))
    if os.path.exists(path("documents.jsonl")):
        store.add_documents(
            Document(*(row[name] for name in DOCUMENT)) for _, row in _objects(path("documents.jsonl"), DOCUMENT)
        )
    if os.path.exists(path("document-ids.txt")):
        with _opened(path("document-ids.txt")) as file:
            campaign.add_known_documents(line.rstrip("\n") for line in file)
    if os.path.exists(path("facets.jsonl")):
        for _, row in _objects(path("facets.jsonl"), FACET):
            values = [row[name] for name in FACET_FIELDS]
            store.add_facets([Facet(*values[:-1])], by=values[-1])
    people = list(_rows(path("assessors.csv"), ASSESSOR_FIELDS))
    guidelines = list(_objects(path("guidelines.jsonl"), GUIDELINES))
    pool = list(_pool(path("pool.tsv")))
    if os.path.exists(path("gold.qrels")) and os.path.getsize(path("gold.qrels")):
        store.add_gold((entry.topic, entry.doc, entry.grade) for entry in Qrels.read(path("gold.qrels")))
    if os.path.exists(path("sample.tsv")):
        with _opened(path("sample.tsv"), "surrogateescape", "") as file:
            store.keep_fact(SAMPLE, file.read())

    def change(connection: Connection) -> None:
        for line, row in people:
            if row["role"] not in JUDGES:
                raise DataError(path("assessors.csv"), line, f"the role is {shown(row['role'])}")
            try:
                need_free_name(connection.run, row["name"])
            except UsageError as error:
                raise DataError(path("assessors.csv"), line, str(error)) from None
            connection.run(
                "INSERT INTO assessor (name, role, password, active, created_at) VALUES (?, ?, NULL, ?, ?)",
                (row["name"], row["role"], int(row["state"] == "active"), _seconds(row["created"])),
            )
        for _, row in guidelines:
            connection.run(
                "INSERT INTO guideline (text, written_at, written_by) VALUES (?, ?, ?)",
                (row["text"], _seconds(row["at"]), row["by"]),
            )
        for by in dict.fromkeys(by for by, _ in pool):
            put_pool(connection, [entry for other, entry in pool if other == by], by=by or None)
        for at, (_, entry) in enumerate(pool, 1):  # in the order of the file
            connection.run("UPDATE pool SET position = ? WHERE topic = ? AND doc = ?", (at, entry.topic, entry.doc))

    store.database.write(change)
    for line, row in _rows(path("teams.csv"), TEAM_FIELDS):
        if not TEAM_NAME.fullmatch(row["team"]):
            raise DataError(path("teams.csv"), line, f"the name of the team is {shown(row['team'])}")
        at, active = _seconds(row["joined"]), row["state"] == "active"
        campaign.add_team(row["team"], row["title"], row["contact"], None, at, active=active, log=False)
    _submissions(campaign, source)
    if campaign.config.mode == "preferences" and pool:
        _lists(campaign, [entry for _, entry in pool])
    if os.path.getsize(path("judgments.jsonl")):
        import_log(store, path("judgments.jsonl"))
    _log_and_state(campaign, source)


def _submissions(campaign: Campaign, source: str) -> None:
    """Copy the runs; a file whose bytes do not have the digest is an error."""
    path = partial(os.path.join, source)
    findings: dict[str, list[str]] = {}
    for _, row in _objects(path("findings.jsonl"), FINDING):
        findings.setdefault(row["digest"], []).append(row["finding"])
    rows = []
    for line, row in _rows(path("submissions.csv"), SUBMISSION_FIELDS):
        file = path(row["file"])
        if os.path.relpath(os.path.realpath(file), os.path.realpath(source)).startswith(".."):
            raise DataError(path("submissions.csv"), line, f"the file {shown(row['file'])} is outside the export")
        made = campaign.path_of(f"import-{line}")
        try:
            with open(file, "rb") as opened:
                digest, _ = copy_hashed(opened, made)
        except OSError as error:
            raise DataError(file, None, f"cannot be copied: {error.strerror}") from None
        if digest != row["digest"]:
            raise DataError(file, None, f"has the digest {digest}, but line {line} of submissions.csv says another")
        os.replace(made, campaign.path_of(digest))
        try:
            numbers = [int(row[name]) for name in ("order", "bytes", "lists", "documents")]
        except ValueError as error:
            raise DataError(path("submissions.csv"), line, str(error)) from None
        order, *sizes = numbers
        rows.append(
            (
                order, digest, row["team"], row["tag"], row["name"], *sizes, int(row["counts"] == "yes"),
                json.dumps(findings.get(digest, [])), _seconds(row["submitted"]),
            )
        )  # fmt: skip

    def change(connection: Connection) -> None:
        connection.run_many(
            """INSERT INTO submission (number, digest, team, tag, file, bytes, lists, documents, counts, findings,
            submitted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            rows,
        )

    campaign.store.database.write(change)


def _lists(campaign: Campaign, pool: Sequence[PoolEntry]) -> None:
    """Keep the lists that the pairs of the pool compare, to be shown again."""
    compared = {str(entry.audit[side]) for entry in pool for side in ("first", "second")}
    digests = {submission.tag: submission.digest for submission in campaign.submissions() if submission.tag in compared}
    pairs_of_lists(campaign.store, [Run.read(campaign.path_of(digest), tag) for tag, digest in digests.items()])


def _log_and_state(campaign: Campaign, source: str) -> None:
    path = partial(os.path.join, source)
    events = list(_objects(path("log.jsonl"), EVENT))
    with _opened(path("state.json")) as file:
        try:
            state = json.loads(file.read())
        except json.JSONDecodeError as error:
            raise DataError(path("state.json"), error.lineno, f"not valid JSON: {error.msg}") from None
    if not isinstance(state, dict):
        raise DataError(path("state.json"), None, "must hold an object with the phase and the pool")
    if state.get("phase") not in PHASES:
        raise DataError(path("state.json"), None, f"the phase is {shown(state.get('phase'))}")

    def change(connection: Connection) -> None:
        for _, row in events:
            add_event(connection, row["who"], row["what"], row["data"], _seconds(row["at"]))
        Store._set(connection, "phase", state["phase"])
        if state.get("pool") is not None:
            Store._set(connection, FACT, json.dumps(state["pool"]))

    campaign.store.database.write(change)


@contextmanager
def _opened(path: str, errors: str = "strict", newline: str | None = None) -> Iterator[TextIO]:
    """A file as text; what cannot be read is an error that names it."""
    try:
        with open(path, encoding="utf-8", errors=errors, newline=newline) as file:
            yield file
    except UnicodeDecodeError as error:
        raise DataError(path, None, f"byte 0x{error.object[error.start]:02x} is not UTF-8, expected text") from None
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {error.strerror}") from None


def _objects(path: str, entries: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    """The objects on the lines of a file, which must have these entries of these types."""
    with _opened(path, "surrogateescape", "\n") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(path, number, f"not valid JSON: {error}") from None
            for name, kind in entries.items():
                if not isinstance(row, dict) or name not in row:
                    raise DataError(path, number, f"no {name}, expected an object with {', '.join(entries)}")
                if not isinstance(row[name], kind):
                    raise DataError(path, number, f"{name} is {shown(row[name])}")
            yield number, row


def _rows(path: str, names: Sequence[str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows of a table, each with its line."""
    with _opened(path, newline="") as file:
        reader = csv.DictReader(file)
        absent = [name for name in names if name not in (reader.fieldnames or ())]
        if absent:
            raise DataError(path, 1, f"no column {absent[0]}, expected {', '.join(names)}")
        for row in reader:
            if None in row or None in row.values():
                raise DataError(path, reader.line_num, f"expected {counted(len(reader.fieldnames or ()), 'column')}")
            yield reader.line_num, {name: unguarded(cell) for name, cell in row.items()}


def _pool(path: str) -> Iterator[tuple[str, PoolEntry]]:
    """(who added it, entry) for each line of the pool."""
    with _opened(path, newline="\n") as file:
        names = file.readline().rstrip("\n").split("\t")
        absent = [name for name in NOT_AUDIT if name not in names]
        if absent:
            raise DataError(path, 1, f"no column {absent[0]}, expected {', '.join(NOT_AUDIT)}")
        for number, line in enumerate(file, 2):
            cells = line.rstrip("\n").split("\t")
            if len(cells) != len(names):
                raise DataError(path, number, f"{counted(len(cells), 'column')}, expected {len(names)}")
            row = dict(zip(names, cells, strict=True))
            audit = {name: text for name, text in row.items() if name not in NOT_AUDIT}
            query = unguarded(row["query"]) or None
            yield row["added_by"], PoolEntry(row["topic"], row["doc"], audit, row["source"], query)


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        raise DataError(
            "import", None, f"the time is {shown(text)}, expected one such as 2027-01-10T12:00:00Z"
        ) from None
