"""The two kinds of databases: SQLite in a file, and PostgreSQL, where many assessors judge or a server is there.

SQLite is in WAL mode with `synchronous=FULL`: a commit is on disk when it returns.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from cranfield.building.serve.database.database import Connection, Row, StoreError
from cranfield.building.serve.database.schema import phrases, spaced
from cranfield.frames import need

WAIT = 5.0
"""Seconds to wait for another program that writes."""
CACHE = 64_000
"""Kilobytes of the database that are kept in memory at most."""


class SQLiteConnection:
    """A connection without implicit transactions."""

    def __init__(self, path: str, *, writes: bool) -> None:
        where = f"{Path(path).absolute().as_uri()}?mode=rw"  # a file that was deleted is not made again, empty
        self.raw = sqlite3.connect(where, timeout=WAIT, isolation_level=None, check_same_thread=False, uri=True)
        self._waits = True
        self._closed = False
        self._writes = writes
        """Closing this connection moves everything from the write-ahead log into the file of the database."""
        try:
            self.raw.execute("PRAGMA foreign_keys = ON")
            self.raw.execute("PRAGMA synchronous = FULL")
            if writes:
                self.raw.execute("PRAGMA journal_mode = WAL")
                self.raw.execute(f"PRAGMA cache_size = {-CACHE}")
                self.raw.execute("SELECT 1 FROM sqlite_master").fetchone()  # the write-ahead log is there now
            else:
                self.raw.execute("PRAGMA query_only = ON")
        except (sqlite3.Error, UnicodeDecodeError):
            self.raw.close()
            raise

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        return self.raw.execute(statement, values).fetchall()

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        yield from self.raw.execute(statement, values)

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self.raw.executemany(statement, rows)

    def begin(self, *, wait: bool = True) -> None:
        if wait is not self._waits:
            self.raw.execute(f"PRAGMA busy_timeout = {round(1000 * WAIT) if wait else 0}")
            self._waits = wait
        self.raw.execute("BEGIN IMMEDIATE")

    def active(self) -> bool:
        return self.raw.in_transaction

    def usable(self) -> bool:
        return not self._closed

    def changes(self) -> int:
        return self.raw.total_changes

    def close(self) -> None:
        if self._writes:
            with suppress(sqlite3.Error):  # a full disk, say; the next one who opens the database does it
                self.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._closed = True
        self.raw.close()


def _identity(path: str) -> tuple[int, int] | None:
    """Which file a path names at the moment."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


class FileLock:
    """A locked file beside the database; it does not depend on connections."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def again(self, connection: Connection) -> None:
        """The file is still locked."""

    def close(self) -> None:
        self._file.close()


class SQLite:
    """A database in a file."""

    words: Mapping[str, str] = MappingProxyType(
        {
            "serial": "INTEGER PRIMARY KEY",
            "counter": "",
            "check": "PRAGMA quick_check(1)",
            "tables": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        }
    )
    local = True
    search_tables: Sequence[str] = (
        "CREATE VIRTUAL TABLE document_index USING fts5"
        " (title, text, content='', tokenize='unicode61 remove_diacritics 2')",
    )

    def __init__(self, path: str) -> None:
        self.path = path
        self.origin = path
        if os.path.isdir(path):
            raise StoreError(path, "is a folder, expected the file of a database")
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise StoreError(path, f"cannot be created: there is no folder {folder}")
        if not os.path.exists(path):
            try:
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # passwords and names are in it
            except OSError as error:
                raise StoreError(path, f"cannot be created: {error.strerror}", "readonly") from None

        self._files = {path: _identity(path)}
        """{path: which file it is}, for the database and its write-ahead log."""

    def connect(self, *, writes: bool) -> SQLiteConnection:
        made = SQLiteConnection(self.path, writes=writes)
        if writes:
            log = f"{self.path}-wal"
            self._files[log] = _identity(log)
        return made

    def lost(self) -> str | None:
        for path, file in self._files.items():
            if file is not None and _identity(path) != file:
                what = "is another file now" if os.path.exists(path) else "is gone"
                return f"{path} {what}: somebody deleted, moved or replaced it while it was in use"
        return None

    def rescue(self, connection: Connection) -> str:
        for number in range(1, 1000):
            path = f"{self.path}.rescued{number}"
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                break
            except FileExistsError:
                continue
            except OSError as error:
                return f"what was saved before is lost when the server stops: no copy can be written ({error.strerror})"
        try:
            with closing(sqlite3.connect(path)) as target:
                assert isinstance(connection, SQLiteConnection)
                connection.raw.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            os.unlink(path)
            return f"what was saved before is lost when the server stops: no copy can be written ({error})"
        return f"what was saved before is in {path}: stop the server, and start it with this file"

    def lock(self, connection: Connection) -> FileLock:
        file = open(f"{self.path}-serving", "w")  # noqa: SIM115  (closed when the server stops)
        try:
            import fcntl
        except ImportError:  # Windows, where SQLite itself still keeps writers apart
            return FileLock(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise StoreError(
                self.path, "another server has this database open; stop it first, or open its address instead", "locked"
            ) from None
        return FileLock(file)

    def backup(self, path: str) -> None:
        """Copy the database page by page while others use it; the copy appears complete or not at all."""
        import secrets

        if os.path.exists(path) and os.path.samefile(path, self.path):
            raise StoreError(path, "is the database itself; give another file for the backup")
        partial = f"{path}.{secrets.token_hex(4)}.part"
        source = self.connect(writes=False)
        try:
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            target = sqlite3.connect(partial)
            try:
                source.raw.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
                intact = target.execute("PRAGMA integrity_check(1)").fetchone()[0]
            finally:
                target.close()
            if intact != "ok":
                raise StoreError(self.path, f"the database is damaged: {intact}", "damaged")
            os.replace(partial, path)
        except OSError as error:
            raise StoreError(path, f"cannot be written: {error.strerror}") from None
        except sqlite3.Error as error:
            raise self.explained(error) from None
        finally:
            source.close()
            if os.path.exists(partial):
                os.unlink(partial)

    def copying(self, path: str) -> str:
        return (
            f"Everything is in {self.path}. Copy it with: cranfield judge backup {self.path} {path}. After Ctrl-C or "
            "SIGTERM, copy the file itself; after a crash, also the file whose name ends in -wal."
        )

    def index(self, connection: Connection, rows: Sequence[tuple[int, str, str]]) -> None:
        connection.run_many(
            "INSERT INTO document_index (rowid, title, text) VALUES (?, ?, ?)",
            [(number, spaced(title), spaced(text)) for number, title, text in rows],
        )

    def unindex(self, connection: Connection, number: int, title: str, text: str) -> None:
        connection.run(
            "INSERT INTO document_index (document_index, rowid, title, text) VALUES ('delete', ?, ?, ?)",
            (number, spaced(title), spaced(text)),
        )

    def search(self, query: str, limit: int) -> tuple[str, tuple[Any, ...]]:
        words = " ".join(f'"{phrase}"' for phrase in phrases(query))
        if not words:
            return "", ()
        return (
            """SELECT id, document.title, document.text, kind, extra FROM document_index
            JOIN document ON document.number = document_index.rowid
            WHERE document_index MATCH ? ORDER BY bm25(document_index, 4.0, 1.0), number LIMIT ?""",
            (words, limit),
        )

    def explained(self, error: Exception) -> Exception:
        if isinstance(error, UnicodeEncodeError):
            return StoreError(self.path, f"text holds {error.object[error.start]!r}, which is not a character", "text")
        if isinstance(error, UnicodeDecodeError) or "Could not decode" in str(error):  # names, columns
            what = "the database is damaged (text that is not UTF-8); restore a backup"
            return StoreError(self.path, what, "damaged")
        if not isinstance(error, sqlite3.Error):
            return error
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        unsaved = "nothing of this change was saved"
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreError(
                self.path, f"another program has locked the database for {WAIT:g} s; close it; {unsaved}", "locked"
            )
        if code == sqlite3.SQLITE_FULL:
            return StoreError(self.path, f"the disk is full; {unsaved}; free some space and try again", "full")
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return StoreError(
                self.path, f"the database is damaged, or not a database ({error}); restore a backup", "damaged"
            )
        if (reason := self.lost()) is not None:
            return StoreError(self.path, f"{reason}; {unsaved}", "gone")
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return StoreError(self.path, f"cannot be written ({error}); {unsaved}", "readonly")
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.InterfaceError):
            return error
        return StoreError(self.path, f"{error}; {unsaved}")


WRITER, SERVER = 7_274_001, 7_274_002
"""Numbers of advisory locks: one writer at a time, one server at a time."""
LONGEST_INDEXED = 500_000
"""Characters of a document that are indexed; PostgreSQL refuses more than a megabyte of words."""


class PostgresConnection:
    """A connection without implicit transactions. Parameters are written `?`."""

    def __init__(self, url: str, *, writes: bool) -> None:
        psycopg = need("psycopg", "PostgreSQL")
        self.raw = psycopg.connect(url, autocommit=True, connect_timeout=10)
        self._idle = psycopg.pq.TransactionStatus.IDLE
        self._changes = 0
        self.raw.execute("SET synchronous_commit = on")
        self.raw.execute("SET lock_timeout = '5s'")
        if not writes:
            self.raw.execute("SET default_transaction_read_only = on")

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self.raw.execute(_marked(statement) if values else statement, values or None)
        self._count(cursor)
        return list(cursor.fetchall()) if cursor.description else []

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        with self.raw.transaction(), self.raw.cursor(name="stream") as cursor:
            cursor.itersize = 2_000
            yield from cursor.execute(_marked(statement) if values else statement, values or None)

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self.raw.cursor() as cursor:
            cursor.executemany(_marked(statement), rows)
            self._count(cursor)

    def _count(self, cursor: Any) -> None:
        """Count the rows that a statement changed."""
        if (cursor.statusmessage or "").startswith(("INSERT", "UPDATE", "DELETE")):
            self._changes += max(0, cursor.rowcount)

    def begin(self, *, wait: bool = True) -> None:
        self.raw.execute("BEGIN")
        self.raw.execute(f"SELECT pg_advisory_xact_lock({WRITER})")

    def active(self) -> bool:
        return bool(self.raw.info.transaction_status != self._idle)

    def usable(self) -> bool:
        return not self.raw.closed

    def changes(self) -> int:
        return self._changes

    def close(self) -> None:
        self.raw.close()


def _marked(statement: str) -> str:
    return statement.replace("%", "%%").replace("?", "%s")


class SessionLock:
    """An advisory lock of the session that writes: it ends with the session, so that who can write has it."""

    def __init__(self, origin: str, connection: Connection) -> None:
        self._origin = origin
        self._take(connection, "another server has this database open; stop it first, or open its address")

    def _take(self, connection: Connection, otherwise: str) -> None:
        ((free,),) = connection.run(f"SELECT pg_try_advisory_lock({SERVER})")
        if not free:
            raise StoreError(self._origin, otherwise, "locked")
        self._connection = connection

    def again(self, connection: Connection) -> None:
        self._take(
            connection,
            "the connection was lost, and another server has this database now; nothing of this change was saved; stop "
            "one of the two servers",
        )

    def close(self) -> None:
        self._connection.run(f"SELECT pg_advisory_unlock({SERVER})")


class Postgres:
    """A database at an URL such as `postgresql://user@host/name`."""

    words: Mapping[str, str] = MappingProxyType(
        {
            "serial": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
            "counter": "SELECT setval(pg_get_serial_sequence('judgment', 'id'), (SELECT MAX(id) FROM judgment))",
            "check": "",
            "tables": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
        }
    )
    local = False
    search_tables: Sequence[str] = (
        "CREATE TABLE document_index (number BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
        "CREATE INDEX document_words ON document_index USING gin (words)",
    )

    def __init__(self, url: str) -> None:
        self.url = url
        self.origin = re.sub(r"(://[^:/@]*):[^@]*@", r"\1@", url).partition("?")[0]  # without the password

    def connect(self, *, writes: bool) -> PostgresConnection:
        return PostgresConnection(self.url, writes=writes)

    def lock(self, connection: Connection) -> SessionLock:
        return SessionLock(self.origin, connection)

    def lost(self) -> str | None:
        return None  # a server that has lost its database refuses the commit

    def rescue(self, connection: Connection) -> str:
        return ""

    def backup(self, path: str) -> None:
        raise StoreError(self.origin, self.copying(path))

    def copying(self, path: str) -> str:
        return f"PostgreSQL makes copies with its own program: pg_dump --format=custom --file={path} {self.origin}"

    def index(self, connection: Connection, rows: Sequence[tuple[int, str, str]]) -> None:
        connection.run_many(
            """INSERT INTO document_index (number, words) VALUES
            (?, setweight(to_tsvector('simple', ?), 'A') || to_tsvector('simple', ?))""",
            [(number, spaced(title), spaced(text)[:LONGEST_INDEXED]) for number, title, text in rows],
        )

    def unindex(self, connection: Connection, number: int, title: str, text: str) -> None:
        connection.run("DELETE FROM document_index WHERE number = ?", (number,))

    def search(self, query: str, limit: int) -> tuple[str, tuple[Any, ...]]:
        words = phrases(query)
        if not words:
            return "", ()
        wanted = " && ".join(["phraseto_tsquery('simple', ?)"] * len(words))
        return (
            f"""SELECT id, title, text, kind, extra FROM document_index JOIN document USING (number)
            WHERE words @@ ({wanted}) ORDER BY ts_rank(words, {wanted}) DESC, number LIMIT ?""",
            (*words, *words, limit),
        )

    def explained(self, error: Exception) -> Exception:
        psycopg = need("psycopg", "PostgreSQL")
        if isinstance(error, UnicodeEncodeError):
            return StoreError(
                self.origin, f"text holds {error.object[error.start]!r}, which is not a character", "text"
            )
        if isinstance(error, psycopg.DataError):
            return StoreError(self.origin, f"cannot hold a value: {str(error).strip().splitlines()[0]}", "text")
        if not isinstance(error, psycopg.Error):
            return error
        unsaved = "nothing of this change was saved"
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if isinstance(error, psycopg.errors.LockNotAvailable):
            return StoreError(self.origin, f"another program has locked the database; {unsaved}", "locked")
        if isinstance(error, psycopg.errors.DiskFull):
            return StoreError(self.origin, f"the disk of the database server is full; {unsaved}", "full")
        kept = isinstance(error, psycopg.IntegrityError | psycopg.ProgrammingError)
        return error if kept else StoreError(self.origin, f"{first}; {unsaved}")
