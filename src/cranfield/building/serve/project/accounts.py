"""People: names, roles, passwords and sessions.

Passwords are kept as scrypt hashes, and session tokens as SHA-256 digests, so that a copy of the database lets nobody
in. Without any password, the project has one local user, who comes in by a secret key in the address.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cranfield import check
from cranfield.building.serve.database.database import Connection, Row
from cranfield.building.serve.project.store import Store
from cranfield.errors import UsageError
from cranfield.text import shown

ROLES = ("assessor", "organiser", "team")
JUDGES = ("assessor", "organiser")
"""The roles that see documents to judge; a team takes part in a campaign, and sees only its own runs."""
SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 1_000
SESSION_SECONDS = 30 * 24 * 3600.0
_NAME = re.compile(r"[^\s\x00-\x1f\x7f/\\<>\"'&]{1,60}")
Also = Callable[[Connection], None]
"""What else is done in a transaction."""
_COST, _BLOCK, _PARALLEL = 2**14, 8, 1


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


def add_account(
    store: Store, name: str, role: str | None = None, password: str | None = None, *, new: bool = False
) -> None:
    """Add a person, or change role and password of one who is there; None leaves each as it is.

    A new person is an assessor unless the role is given. With `new`, a person who is there is an error.
    """
    if role is not None:
        check.one_of("", ROLES, role=role)
    _check_name(name)
    kept = None if password is None else _checked_hash(password)

    def change(connection: Connection) -> None:
        before = connection.run("SELECT role FROM assessor WHERE name = ?", (name,))
        if new or not before:
            need_free_name(connection.run, name)
        now = role or (before[0][0] if before else "assessor")
        if before and (before[0][0] == "team") != (now == "team"):
            raise UsageError(
                f"{shown(name)} has the role {before[0][0]}, which cannot become {now}; choose another name"
            )
        connection.run(
            """INSERT INTO assessor (name, role, password, active, created_at) VALUES (?, ?, ?, 1, ?)
            ON CONFLICT (name) DO UPDATE SET role = excluded.role, active = 1,
            password = COALESCE(excluded.password, assessor.password)""",
            (name, now, kept, time.time()),
        )
        if password is not None:
            connection.run("DELETE FROM session WHERE assessor = ?", (name,))

    _change(store, change)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"name == {shown(name)}, must be 1 to 60 characters without blanks, quotes, slashes and <, >, &"
        )


def need_free_name(run: Callable[..., list[Row]], name: str) -> None:
    """Raise an error, within a transaction, if somebody has this name, or one that people would take for it."""
    for (other,) in run("SELECT name FROM assessor"):
        if _folded(other) == _folded(name):
            same = "has an account already" if other == name else f"is too much like {shown(other)}, who has an account"
            how = "" if other == name else "; names must differ in more than case or the form of their letters"
            raise UsageError(f"name == {shown(name)} {same}{how}")


def _folded(name: str) -> str:
    """What two names have in common that look alike: case, and the forms in which Unicode writes a letter.

    >>> _folded("OLGA") == _folded("olga"), _folded("Andr\u00e9") == _folded("Andre\u0301")
    (True, True)
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def put_assessor(run: Callable[..., list[Row]], name: str) -> None:
    """Add an assessor without a password, within a transaction."""
    _check_name(name)
    need_free_name(run, name)
    statement = "INSERT INTO assessor (name, role, active, created_at) VALUES (?, 'assessor', 1, ?)"
    run(statement, (name, time.time()))


def set_password(
    store: Store, name: str, password: str, also: Also = lambda connection: None, *, before: str | None = None
) -> str:
    """Change the password of a person; all sessions of the person end. Returns the hash that is kept.

    `also` is done in the same transaction; `before` is the hash that the password now must have.
    """
    kept = _checked_hash(password)

    def change(connection: Connection) -> None:
        if before is not None:
            _need_password(connection, name, before)
        _update(connection, name, "password", kept)
        connection.run("DELETE FROM session WHERE assessor = ?", (name,))
        also(connection)

    _change(store, change)
    return kept


def set_role(store: Store, name: str, role: str) -> None:
    """Make a person who judges an assessor or an organiser."""
    check.one_of("", JUDGES, role=role)

    def change(connection: Connection) -> None:
        if connection.run("SELECT 1 FROM assessor WHERE name = ? AND role = 'team'", (name,)):
            raise UsageError(f"{shown(name)} is a team, which cannot become an {role}")
        _update(connection, name, "role", role)

    _change(store, change)


def set_active(store: Store, name: str, active: bool, also: Also | None = None) -> None:
    """Let a person in, or keep a person out; the judgments stay. `also` is done in the same transaction.

    The runs of a team that is off do not count, so that a campaign has to note it: only with `also`.
    """

    def change(connection: Connection) -> None:
        if also is None and connection.run("SELECT 1 FROM assessor WHERE name = ? AND role = 'team'", (name,)):
            raise UsageError(f"{shown(name)} is a team; switch it on or off on the page Campaign")
        _update(connection, name, "active", int(active))
        if not active:
            connection.run("DELETE FROM session WHERE assessor = ?", (name,))
        if also is not None:
            also(connection)

    _change(store, change)


def _update(connection: Connection, name: str, column: str, value: Any) -> None:
    if not connection.run(f"UPDATE assessor SET {column} = ? WHERE name = ? RETURNING name", (value, name)):
        raise UsageError(f"there is no account {shown(name)}")


def _change(store: Store, change: Callable[[Connection], None]) -> None:
    """Change accounts; refuse what would leave a project without an organiser, or without one who can log in."""

    def checked(connection: Connection) -> None:
        before = _organisers(connection)
        change(connection)
        for some, left in zip(before, _organisers(connection), strict=True):
            if some and not left:
                raise UsageError(f"{shown(min(some))} is the last organiser; make somebody else an organiser first")

    store.database.write(checked)


def _organisers(connection: Connection) -> tuple[set[str], set[str]]:
    """The active organisers, and those of them who have a password."""
    rows = connection.run("SELECT name, password FROM assessor WHERE role = 'organiser' AND active = 1")
    return {name for name, _ in rows}, {name for name, password in rows if password}


def _checked_hash(password: str) -> str:
    """A password as it is kept, if its length is right."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise UsageError(
            f"the password has {len(password)} characters, must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,}"
        )
    return hashed(password)


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


# ---- browsers


def browser_token(store: Store, name: str) -> str:
    """What a browser keeps after a person has logged in with it: a random number, signed for this person."""
    number = secrets.token_urlsafe(9)
    return f"{number}.{_signed(store, number, name)}"


def known_browser(store: Store, name: str, token: str) -> str | None:
    """The number of a browser with which this person has logged in before; None for all others."""
    number, _, signature = token.partition(".")
    right = hmac.compare_digest(signature.encode(), _signed(store, number, name).encode())
    return number if number and right else None


def _signed(store: Store, number: str, name: str) -> str:
    key = store.fact("browser key")
    if key is None:
        key = secrets.token_urlsafe(32)
        store.keep_fact("browser key", key)
    return hmac.new(key.encode(), f"{number} {name}".encode("utf-8", "replace"), "sha256").hexdigest()


# ---- sessions


def matching_hash(store: Store, name: str, password: str) -> str | None:
    """The hash of the password of an active person, if this is the password; else None.

    The answer takes as long for a name that nobody has. Who goes on with it passes it on, because the password may be
    changed in the meantime.
    """
    rows = store.database.read("SELECT password FROM assessor WHERE name = ? AND active = 1", name)
    kept = rows[0][0] if rows and rows[0][0] else None
    right = matches(password[: LONGEST_PASSWORD + 1], kept or NOBODY)
    return kept if right else None


def _need_password(connection: Connection, name: str, kept: str) -> None:
    """Raise an error, within a transaction, if the password that was right is not the password any longer."""
    statement = "SELECT 1 FROM assessor WHERE name = ? AND active = 1 AND password = ?"
    if not connection.run(statement, (name, kept)):
        raise UsageError("your password was changed in the meantime; log in again")


def start_session(store: Store, name: str, kept: str | None = None) -> str:
    """The token of a new session. Sessions that have ended are removed.

    `kept` is the hash with which a password was compared, if it was.
    """
    token, now = secrets.token_urlsafe(32), time.time()

    def change(connection: Connection) -> None:
        if kept is not None:
            _need_password(connection, name, kept)
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
