"""People: names, roles, passwords and sessions.

Passwords are kept as scrypt hashes, and session tokens as SHA-256 digests, so that a copy of the database lets nobody
in. Without any password, the project has one local user, who comes in by a secret key in the address.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from cranfield import check
from cranfield.building.serve.database import Connection
from cranfield.building.serve.store import Store
from cranfield.errors import UsageError
from cranfield.text import shown

ROLES = ("assessor", "organiser", "team")
JUDGES = ("assessor", "organiser")
"""The roles that see documents to judge; a team takes part in a campaign, and sees only its own runs."""
SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 1_000
SESSION_SECONDS = 30 * 24 * 3600.0
_NAME = re.compile(r"[^\s\x00-\x1f\x7f/\\<>\"'&]{1,60}")
_COST, _BLOCK, _PARALLEL = 2**14, 8, 1
TRIES = 5
"""Wrong passwords that are allowed in a row."""
FIRST_WAIT, LONGEST_WAIT = 2.0, 900.0
"""Seconds to wait after that; doubled with every further wrong password."""


@dataclass(frozen=True)
class Account:
    """A person who may use the project."""

    name: str
    role: str
    active: bool
    has_password: bool


@dataclass(frozen=True)
class Session:
    """Somebody who is logged in; `csrf` is the secret that forms of this session carry."""

    assessor: str
    role: str
    csrf: str


def hashed(password: str) -> str:
    """A password as it is kept: the cost, a random salt and the scrypt hash."""
    salt = secrets.token_bytes(16)
    digest = hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=_BLOCK, p=_PARALLEL)
    return f"scrypt${_COST}${_BLOCK}${_PARALLEL}${salt.hex()}${digest.hex()}"


def matches(password: str, kept: str) -> bool:
    """Is this the password that was kept?

    >>> kept = hashed("correct horse")
    >>> matches("correct horse", kept), matches("correct house", kept)
    (True, False)
    """
    _, cost, block, parallel, salt, digest = kept.split("$")
    tried = hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), n=int(cost), r=int(block), p=int(parallel))
    return hmac.compare_digest(tried.hex(), digest)


NOBODY = f"scrypt${_COST}${_BLOCK}${_PARALLEL}${'00' * 16}${'00' * 64}"
"""A hash that no password has, so that an unknown name takes as long as a known one."""


def add_account(store: Store, name: str, role: str = "assessor", password: str | None = None) -> None:
    """Add a person, or change the role and password of one who is there; None leaves the password as it is."""
    check.one_of("", ROLES, role=role)
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"name == {shown(name)}, must be 1 to 60 characters without blanks, quotes, slashes and <, >, &"
        )
    if password is not None and not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise UsageError(
            f"the password has {len(password)} characters, must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,}"
        )
    kept = None if password is None else hashed(password)

    def change(connection: Connection) -> None:
        before = connection.run("SELECT role FROM assessor WHERE name = ?", (name,))
        if before and (before[0][0] == "team") != (role == "team"):
            raise UsageError(
                f"{shown(name)} has the role {before[0][0]}, which cannot become {role}; choose another name"
            )
        connection.run(
            """INSERT INTO assessor (name, role, password, active, created_at) VALUES (?, ?, ?, 1, ?)
            ON CONFLICT (name) DO UPDATE SET role = excluded.role, active = 1,
            password = COALESCE(excluded.password, assessor.password)""",
            (name, role, kept, time.time()),
        )
        if password is not None:
            connection.run("DELETE FROM session WHERE assessor = ?", (name,))

    store.database.write(change)


def set_active(store: Store, name: str, active: bool) -> None:
    """Let a person in, or keep a person out; the judgments stay."""

    def change(connection: Connection) -> None:
        if not connection.run("UPDATE assessor SET active = ? WHERE name = ? RETURNING name", (int(active), name)):
            raise UsageError(f"there is no account {shown(name)}")
        if not active:
            connection.run("DELETE FROM session WHERE assessor = ?", (name,))

    store.database.write(change)


def accounts(store: Store) -> list[Account]:
    """All people, by name."""
    rows = store.database.read("SELECT name, role, active, password IS NOT NULL FROM assessor ORDER BY name")
    return [Account(name, role, bool(active), bool(has)) for name, role, active, has in rows]


def has_passwords(store: Store) -> bool:
    """Do people have to log in?"""
    return any(account.has_password and account.active for account in accounts(store))


def local_key(store: Store) -> str:
    """The secret in the address of a project without passwords; the same every time the server starts."""
    key = store.fact("key")
    if key is None:
        key = secrets.token_urlsafe(18)
        store.keep_fact("key", key)
    return key


# ---- sessions


def is_right(store: Store, name: str, password: str) -> bool:
    """Is this the password of an active person? The answer takes as long for a name that nobody has."""
    rows = store.database.read("SELECT password FROM assessor WHERE name = ? AND active = 1", name)
    kept = rows[0][0] if rows and rows[0][0] else None
    right = matches(password[: LONGEST_PASSWORD + 1], kept or NOBODY)
    return right and kept is not None


def start_session(store: Store, name: str) -> str:
    """The token of a new session. Sessions that have ended are removed."""
    token, now = secrets.token_urlsafe(32), time.time()

    def change(connection: Connection) -> None:
        connection.run("DELETE FROM session WHERE expires_at < ?", (now,))
        connection.run(
            "INSERT INTO session (token, assessor, csrf, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
            (_digest(token), name, secrets.token_urlsafe(24), now, now + SESSION_SECONDS),
        )

    store.database.write(change)
    return token


def session(store: Store, token: str) -> Session | None:
    """The session of a token, if it has not ended."""
    rows = store.database.glance(
        """SELECT assessor.name, assessor.role, csrf FROM session JOIN assessor ON assessor.name = session.assessor
        WHERE token = ? AND expires_at > ? AND active = 1""",
        _digest(token),
        time.time(),
    )
    return Session(*rows[0]) if rows else None


def end_session(store: Store, token: str) -> None:
    """End a session."""
    store.database.write(lambda connection: connection.run("DELETE FROM session WHERE token = ?", (_digest(token),)))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class LoginLimit:
    """How long to wait after wrong passwords: nothing for a few, then twice as long with each.

    >>> now = [0.0]
    >>> limit = LoginLimit(lambda: now[0])
    >>> for _ in range(TRIES):
    ...     limit.failed("anna")
    >>> limit.wait("anna")
    2.0
    >>> now[0] = 2.0
    >>> limit.wait("anna")
    0.0
    """

    MOST = 10_000
    """Names and addresses that are remembered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def wait(self, *who: str) -> float:
        """Seconds until the next try of any of these names and addresses."""
        with self._lock:
            until = [self._failed[name][1] for name in who if name in self._failed]
            return max(0.0, max(until, default=0.0) - self._clock())

    def failed(self, *who: str) -> None:
        """Count a wrong password."""
        with self._lock:
            for name in who:
                times = self._failed.pop(name, (0, 0.0))[0] + 1
                wait = min(FIRST_WAIT * 2.0 ** min(times - TRIES, 20), LONGEST_WAIT) if times >= TRIES else 0.0
                self._failed[name] = times, self._clock() + wait
            while len(self._failed) > self.MOST:
                del self._failed[next(iter(self._failed))]

    def succeeded(self, *who: str) -> None:
        """Forget wrong passwords."""
        with self._lock:
            for name in who:
                self._failed.pop(name, None)
