"""A campaign in its folder: the configuration, the database, the submitted runs named by their digest, and the pool."""

from __future__ import annotations

import hmac
import json
import os
import random
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cranfield.building.campaign.campaign_config import FILE, PHASES, Config, read_config
from cranfield.building.pools.pool_building import make_pool
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import Pooling
from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.database.schema import statements
from cranfield.building.serve.project import accounts
from cranfield.building.serve.project.judging_modes import PoolEntry
from cranfield.building.serve.project.judging_project import all_documents, pairs_of_lists, pool_entries
from cranfield.building.serve.project.proposals import Adaptive, Proposals
from cranfield.building.serve.project.store import Store, put_pool
from cranfield.check import one_of
from cranfield.collection.run import Run
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, shown

TABLES = """
CREATE TABLE IF NOT EXISTS team (
    number {serial}, name TEXT NOT NULL UNIQUE REFERENCES assessor (name), title TEXT NOT NULL, contact TEXT NOT NULL,
    joined_at DOUBLE PRECISION NOT NULL);

CREATE TABLE IF NOT EXISTS submission (
    number {serial}, digest TEXT NOT NULL UNIQUE, team TEXT NOT NULL REFERENCES team (name), tag TEXT NOT NULL,
    file TEXT NOT NULL, bytes BIGINT NOT NULL, lists BIGINT NOT NULL, documents BIGINT NOT NULL,
    counts INTEGER NOT NULL, findings TEXT NOT NULL, submitted_at DOUBLE PRECISION NOT NULL);

CREATE UNIQUE INDEX IF NOT EXISTS one_counting_run_with_a_tag ON submission (tag) WHERE counts = 1;

CREATE TABLE IF NOT EXISTS event (
    number {serial}, happened_at DOUBLE PRECISION NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, data TEXT NOT NULL);

CREATE TABLE IF NOT EXISTS known_document (id TEXT PRIMARY KEY);
"""
"""`number` is the order in which rows came; times are only shown, since two things can happen at the same time."""


TEAM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
LONGEST_TEXT = 200
CHUNK = 500
"""Ids in a query."""


class ClosedError(UsageError):
    """Something that is not possible in this phase."""


@dataclass(frozen=True)
class Team:
    """A team, with one account for all of its people."""

    number: int
    name: str
    title: str
    contact: str
    joined_at: float
    active: bool


@dataclass(frozen=True)
class Submission:
    """A run of a team. Its id is the SHA-256 digest of its bytes; `number` is the order of submission."""

    number: int
    digest: str
    team: str
    tag: str
    file: str
    bytes: int
    lists: int
    documents: int
    counts: bool
    findings: tuple[str, ...]
    submitted_at: float


@dataclass(frozen=True)
class Event:
    """Something that happened."""

    number: int
    happened_at: float
    who: str
    what: str
    data: dict[str, Any]


SUBMISSION = "number, digest, team, tag, file, bytes, lists, documents, counts, findings, submitted_at"


class Campaign:
    """A campaign: its configuration and its database."""

    def __init__(self, folder: str, *, create: bool = False) -> None:
        self.folder = folder
        self.config: Config = read_config(folder)
        where = self.config.database
        where = where if "://" in where else os.path.join(folder, where)
        if not create and "://" not in where:
            named = os.path.join(folder, FILE)
            if not os.path.exists(where):
                raise DataError(where, None, f"the database that {named} names does not exist")
            if not os.path.getsize(where):
                raise DataError(where, None, f"is empty, expected the database that {named} names")
        os.makedirs(os.path.join(folder, "runs"), exist_ok=True)
        self.store = Store(where)
        try:
            self.store.database.write(self._make)
            settings = self.config.settings(self.store.settings())
            if settings != self.store.settings():
                self.store.set_settings(settings)
        except BaseException:
            self.store.close()
            raise

    def _make(self, connection: Connection) -> None:
        for statement in statements(TABLES, self.store.database.engine.words):
            connection.run(statement)

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.store.__exit__(kind, error, trace)

    def path_of(self, digest: str) -> str:
        """The file of a submission."""
        return os.path.join(self.folder, "runs", f"{digest}.run")

    # ---- phases and the log

    @property
    def phase(self) -> str:
        """The phase that is open."""
        return self.store.fact("phase") or PHASES[0]

    def closed(self, phase: str, connection: Connection | None = None) -> str | None:
        """Why a phase is closed now, or within a transaction; None if it is open."""
        now = self.phase if connection is None else Store._get(connection, "phase") or PHASES[0]
        if now != phase:
            return f"this is possible only in the phase {phase}; now is the phase {now}"
        return self.config.closed(phase)

    def need(self, phase: str, connection: Connection | None = None) -> None:
        """Raise an error unless a phase is open."""
        if reason := self.closed(phase, connection):
            raise ClosedError(reason)

    def _need_texts(self) -> None:
        """Raise an error if passages are to be marked in documents without a text."""
        if self.config.mode == "nuggets" and not self.store.database.read("SELECT 1 FROM document LIMIT 1"):
            raise UsageError("mode nuggets: there are no texts in which passages could be marked; init with documents")

    def open_phase(self, phase: str, who: str) -> None:
        """Open a phase, which closes the one that is open."""
        one_of("", PHASES, phase=phase)
        if phase == "judging":
            self.store.need_facets()
            self._need_texts()

        def change(connection: Connection) -> None:
            if phase == "judging" and not connection.run("SELECT 1 FROM pool LIMIT 1"):
                raise UsageError("there is nothing to judge; make the pool first, in the phase pooling")
            before = Store._get(connection, "phase") or PHASES[0]
            if before != phase:
                Store._set(connection, "phase", phase)
                add_event(connection, who, "phase", {"from": before, "to": phase})

        self.store.database.write(change)

    def events(self) -> list[Event]:
        """What happened, the oldest first."""
        rows = self.store.database.read("SELECT number, happened_at, who, what, data FROM event ORDER BY number")
        return [Event(number, at, who, what, json.loads(data)) for number, at, who, what, data in rows]

    def last_event(self) -> int:
        """The number of the last event; it changes with everything that teams and organisers do."""
        return int(self.store.database.read("SELECT COALESCE(MAX(number), 0) FROM event")[0][0])

    # ---- teams

    @property
    def join_code(self) -> str:
        """The code that a team needs to register."""
        code = self.store.fact("join code")
        return code if code is not None else self.new_join_code("")

    def new_join_code(self, who: str) -> str:
        """Make another code; the one before is no longer valid."""
        code = secrets.token_urlsafe(9)

        def change(connection: Connection) -> None:
            Store._set(connection, "join code", code)
            if who:
                add_event(connection, who, "join code", {})

        self.store.database.write(change)
        return code

    def register(self, name: str, title: str, contact: str, password: str, code: str) -> None:
        """A new team, with an account. The code must be that of the campaign."""
        self.need("submission")
        _check_code(code, self.join_code)
        if not TEAM_NAME.fullmatch(name):
            raise UsageError(
                f"name == {shown(name)}, must be 1 to 40 letters, digits, '-' and '_', and begin with a letter or digit"
            )
        title, contact = title.strip() or name, contact.strip()
        for what, text in {"title": title, "contact": contact}.items():
            if len(text) > LONGEST_TEXT or not text.isprintable():
                raise UsageError(f"{what} == {shown(text)}, must be a line of at most {LONGEST_TEXT} characters")
        if not contact:
            raise UsageError("contact is empty, must be an address by which the organisers can reach the team")
        shortest, longest = accounts.SHORTEST_PASSWORD, accounts.LONGEST_PASSWORD
        if not shortest <= len(password) <= longest:
            raise UsageError(f"the password has {len(password)} characters, must have {shortest} to {longest:,}")

        def still_open(connection: Connection) -> None:  # the hash takes a while
            self.need("submission", connection)
            _check_code(code, Store._get(connection, "join code") or "")

        self.add_team(name, title, contact, accounts.hashed(password), time.time(), log=True, check=still_open)

    def add_team(
        self,
        name: str,
        title: str,
        contact: str,
        password: str | None,
        at: float,
        *,
        active: bool = True,
        log: bool,
        check: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        """Add a team whose name nobody has, whatever the case of its letters. `check` is in the same transaction."""

        def change(connection: Connection) -> None:
            check(connection)
            accounts.need_free_name(connection.run, name)
            connection.run(
                "INSERT INTO assessor (name, role, password, active, created_at) VALUES (?, 'team', ?, ?, ?)",
                (name, password, int(active), at),
            )
            connection.run(
                "INSERT INTO team (name, title, contact, joined_at) VALUES (?, ?, ?, ?)", (name, title, contact, at)
            )
            if log:
                add_event(connection, name, "register", {"title": title})

        self.store.database.write(change)

    def teams(self) -> list[Team]:
        """All teams, in the order of registration."""
        rows = self.store.database.read(
            """SELECT number, team.name, title, contact, joined_at, active FROM team
            JOIN assessor ON assessor.name = team.name ORDER BY number"""
        )
        return [
            Team(number, name, title, contact, at, bool(active)) for number, name, title, contact, at, active in rows
        ]

    def new_password(self, team: str, who: str) -> str:
        """Make a password for a team that has lost its own."""
        if not self.store.database.read("SELECT 1 FROM team WHERE name = ?", team):
            raise UsageError(f"there is no team {shown(team)}")
        password = secrets.token_urlsafe(9)
        event = partial(add_event, who=who, what="new password", data={"team": team})
        accounts.set_password(self.store, team, password, event)
        return password

    def switch_team(self, team: str, active: bool, who: str) -> None:
        """Keep a team out, or let it in again. The runs of a team that is off do not count."""
        event = partial(add_event, who=who, what="switch", data={"team": team, "active": active})
        accounts.set_active(self.store, team, active, event)

    # ---- submissions

    def submissions(self, team: str | None = None, *, counting: bool = False) -> list[Submission]:
        """The submissions, of a team or of all, in their order; or only those that count, of active teams."""
        where, values = ("WHERE team = ?", (team,)) if team is not None else ("", ())
        rows = self.store.database.read(f"SELECT {SUBMISSION} FROM submission {where} ORDER BY number", *values)
        active = {team.name for team in self.teams() if team.active} if counting else set()
        made = [submission_of(row) for row in rows]
        return [submission for submission in made if not counting or (submission.counts and submission.team in active)]

    def submission(self, digest: str) -> Submission | None:
        """The submission with a digest."""
        rows = self.store.database.read(f"SELECT {SUBMISSION} FROM submission WHERE digest = ?", digest)
        return submission_of(rows[0]) if rows else None

    # ---- documents

    def add_known_documents(self, ids: Iterable[str]) -> int:
        """Add ids of the collection whose texts the database does not have. Returns how many were given."""
        rows = [(id,) for id in ids]
        self.store.database.write(
            lambda connection: connection.run_many(
                "INSERT INTO known_document (id) VALUES (?) ON CONFLICT (id) DO NOTHING", rows
            )
        )
        return len(rows)

    def knows_documents(self) -> bool:
        """Does the database have the documents of the collection, or their ids?"""
        tables = ("document", "known_document")
        return any(self.store.database.read(f"SELECT 1 FROM {table} LIMIT 1") for table in tables)

    def unknown_documents(self, ids: Collection[str]) -> list[str]:
        """Which ids are not in the collection, sorted."""
        wanted, known = sorted(id for id in ids if is_text(id)), set()
        for start in range(0, len(wanted), CHUNK):
            chunk = wanted[start : start + CHUNK]
            marks = ", ".join("?" * len(chunk))
            rows = self.store.database.read(
                f"""SELECT id FROM document WHERE id IN ({marks})
                UNION SELECT id FROM known_document WHERE id IN ({marks})""",
                *chunk,
                *chunk,
            )
            known |= {id for (id,) in rows}
        return [id for id in sorted(ids) if id not in known]


def is_text(id: str) -> bool:
    """Whether a database can hold an id: not if it comes from bytes that are not UTF-8.

    >>> is_text("d1"), is_text(b"d\\xff".decode("utf-8", "surrogateescape"))
    (True, False)
    """
    return id.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in id)


class WrongCodeError(UsageError):
    """A wrong join code."""


def _check_code(code: str, right: str) -> None:
    if not hmac.compare_digest(code.strip().encode(), right.encode()):
        raise WrongCodeError("the join code is wrong; ask the organisers for it")


def submission_of(row: tuple[Any, ...]) -> Submission:
    """A submission from its row."""
    number, digest, team, tag, file, size, lists, documents, counts, findings, at = row
    said = tuple(json.loads(findings))
    return Submission(number, digest, team, tag, file, size, lists, documents, bool(counts), said, at)


def add_event(connection: Connection, who: str, what: str, data: dict[str, Any], at: float | None = None) -> None:
    """Add a line to the log of the campaign."""
    connection.run(
        "INSERT INTO event (happened_at, who, what, data) VALUES (?, ?, ?, ?)",
        (time.time() if at is None else at, who, what, json.dumps(data, ensure_ascii=False, sort_keys=True)),
    )


FACT = "campaign pool"
SAMPLE = "campaign sample"
"""Where the database has the sample that was drawn, with the documents that were not."""


def counting_runs(campaign: Campaign, submissions: Sequence[Submission] | None = None) -> list[Run]:
    """The runs that count, or those given, in the order of submission, each named by its tag."""
    chosen = campaign.submissions(counting=True) if submissions is None else submissions
    return [Run.read(campaign.path_of(submission.digest), submission.tag) for submission in chosen]


def _need_same(connection: Connection, submissions: Sequence[Submission]) -> None:
    """Raise an error, within a transaction, if other runs count now: a team was switched off, or submitted again."""
    rows = connection.run(
        """SELECT digest FROM submission JOIN assessor ON assessor.name = submission.team
        WHERE counts = 1 AND active = 1"""
    )
    if {digest for (digest,) in rows} != {submission.digest for submission in submissions}:
        raise UsageError("other runs count since the pool was begun, so that it was not kept; make it again")


def build_pool(campaign: Campaign, who: str) -> list[str]:
    """Make the pool from the runs that count; returns notes, a sentence each.

    As long as nothing is judged or offered, a new pool replaces the one before; after that, documents are only added.
    """
    campaign.need("pooling")
    submissions = campaign.submissions(counting=True)
    runs = counting_runs(campaign, submissions)
    if not runs:
        raise UsageError("no run counts, so that there is nothing to make a pool from")
    plan = campaign.config.pool
    topics = campaign.store.topic_ids()
    sample: str | None = None
    notes: tuple[str, ...] = ()
    lists = PooledLists.of(runs, depth=plan.depth, topics=topics)
    if campaign.config.mode == "preferences":
        entries = _pairs(campaign, runs)
    elif plan.adaptive:
        entries = all_documents(lists, plan.method, set(topics))
        notes = (f"{plan.method} chooses the next document while people judge",)
    else:
        pool = make_pool(lists, plan.method, budget=plan.budget, most_per_topic=plan.most_per_topic, seed=plan.seed)
        entries, notes = pool_entries(pool), pool.notes
        sample = pool.to_tsv() if plan.samples else None
    place = {topic: at for at, topic in enumerate(topics)}
    entries.sort(key=lambda entry: place[entry.topic])
    kept = {"method": plan.method, "depth": plan.depth, "seed": plan.seed, "runs": [run.name for run in runs]}

    def change(connection: Connection) -> int:
        campaign.need("pooling", connection)  # making the pool takes a while
        _need_same(connection, submissions)
        used = connection.run("SELECT 1 FROM judgment LIMIT 1") or connection.run("SELECT 1 FROM offer LIMIT 1")
        if used and sample is not None:
            raise UsageError("documents of the sample are judged or offered already, so that no other can be drawn")
        if not used:
            connection.run("DELETE FROM pool")
        if sample is not None:
            Store._set(connection, SAMPLE, sample)
        new = put_pool(connection, entries, by=who)
        Store._set(connection, FACT, json.dumps(kept))
        add_event(connection, who, "pool", {**kept, "documents": len(entries), "new": new})
        return new

    new = campaign.store.database.write(change)
    what = ("pair of lists", "pairs of lists") if campaign.config.mode == "preferences" else ("document", "documents")
    some = "" if new == len(entries) else f", {new:,} of them new"
    return [f"{counted(len(entries), *what)} of {counted(len(runs), 'run')} are in the pool{some}", *notes]


def _pairs(campaign: Campaign, runs: list[Run]) -> list[PoolEntry]:
    """Pairs of lists in a random order; with limits, of each topic as many as of the others."""
    plan = campaign.config.pool
    by_topic: dict[str, list[PoolEntry]] = {}
    for pair in pairs_of_lists(campaign.store, runs):
        by_topic.setdefault(pair.topic, []).append(pair)
    chosen = []
    for topic, pairs in by_topic.items():
        random.Random(f"{plan.seed}/{topic}").shuffle(pairs)
        chosen += list(enumerate(pairs[: plan.most_per_topic]))
    chosen.sort(key=lambda numbered: numbered[0])
    return [pair for _, pair in chosen[: plan.budget]]


def campaign_proposals(campaign: Campaign) -> Proposals | None:
    """What chooses the documents: an adaptive method over the runs that count, or None: the order of the pool."""
    plan = campaign.config.pool
    if not plan.adaptive or campaign.store.fact(FACT) is None:
        return None
    lists = PooledLists.of(counting_runs(campaign), depth=plan.depth)
    return Adaptive(lambda: Pooling(lists, plan.method, seed=plan.seed))
