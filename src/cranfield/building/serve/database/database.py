"""A database that acknowledges a change only after it is on disk: SQLite by path, PostgreSQL by URL.

Changes that wait are made together, all with one commit, and only then they are answered. So many clients share the
cost of a commit, a change that fails undoes nothing but itself, and no exception leaves a transaction open. A thread of
the database makes the changes, or the thread that asks (`loop_commits`), never two at a time.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

from cranfield.errors import DataError

T = TypeVar("T")
Row = tuple[Any, ...]
Job = tuple[Callable[["Connection"], Any], "Reply"]
"""A change, and who waits for it."""
MOST_TOGETHER = 64
"""The most changes in a commit."""


class StoreError(DataError):
    """The database cannot be read or written; nothing of the change was saved."""

    def __init__(self, origin: str, what: str, kind: str = "other") -> None:
        super().__init__(origin, None, what)
        self.kind = kind
        """`locked`, `full`, `damaged`, `readonly`, `closed`, `gone`, `text` (it cannot hold a value) or `other`."""


class HalfMade(Exception):
    """A change failed after it had written something, so that everything that shares its commit was taken back."""


class Reply(Protocol):
    """Who waits for a change: a future, or something like it."""

    def set_result(self, result: Any, /) -> None:
        """The change is on disk."""

    def set_exception(self, exception: BaseException, /) -> None:
        """The change was not made."""


class Connection(Protocol):
    """What the two databases have in common. Parameters of a statement are written `?`."""

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a query, a few at a time; the connection is used for nothing else in the meantime."""

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each row."""

    def begin(self, *, wait: bool = True) -> None:
        """Begin a transaction that no other writer can enter; with `wait`, after other programs that write."""

    def active(self) -> bool:
        """Is a transaction open? A full disk may end it."""

    def usable(self) -> bool:
        """Is the connection open, as far as one can tell without using it?"""

    def changes(self) -> int:
        """How many rows this connection has changed."""

    def close(self) -> None:
        """Close the connection."""


class Lock(Protocol):
    """Reserves a database for one server."""

    def again(self, connection: Connection) -> None:
        """The connection that writes was lost, and this is the new one: hold the lock, or raise a `StoreError`."""

    def close(self) -> None:
        """Let others have the database."""


class Engine(Protocol):
    """One kind of database: how to connect, and what its errors mean."""

    origin: str
    """The name of the database in messages."""
    words: Mapping[str, str]
    """Words of statements that differ: `serial` is the type of a number that counts by itself, `tables` the query for
    the names of tables, `counter` lets the numbers of judgments go on after those that were given, and `check` answers
    "ok" if the database is whole; the last two may be empty."""
    local: bool
    """Are statements so fast that an event loop can run them? Not if they go to another machine."""
    search_tables: Sequence[str]
    """The statements that make the index for search."""

    def connect(self, *, writes: bool) -> Connection:
        """Open a connection."""

    def explained(self, error: Exception) -> Exception:
        """An error of the database in words for users; other errors as they are."""

    def lock(self, connection: Connection) -> Lock:
        """Reserve the database for one server, as long as the connection lives; a `StoreError` if another has it."""

    def lost(self) -> str | None:
        """Why changes would be lost although the database takes them; None if all is well."""

    def rescue(self, connection: Connection) -> str:
        """Write a copy of a database that is lost, from a connection that still has it; says where it is."""

    def backup(self, path: str) -> None:
        """Write a copy while the database is in use."""

    def copying(self, path: str) -> str:
        """What to copy to keep everything, and how; `path` is the copy."""

    def index(self, connection: Connection, rows: Sequence[tuple[int, str, str]]) -> None:
        """Add documents (number, title, text) to the index for search."""

    def unindex(self, connection: Connection, number: int, title: str, text: str) -> None:
        """Remove a document from the index for search."""

    def search(self, query: str, limit: int) -> tuple[str, tuple[Any, ...]]:
        """The statement that searches for all words of a query, and its values; empty if the query has no word."""


class Database:
    """Reads by any thread, and changes one after another."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._idle: list[Connection] = []
        """Connections for reading that no thread uses. Threads of a server come and go, so that none owns one."""
        self._jobs: queue.SimpleQueue[tuple[Callable[[Connection], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._writer = self.connect(writes=True)
        self._turn = threading.Lock()
        """Held by the thread that uses the connection that writes."""
        self._owner: int | None = None
        """The thread that makes changes now."""
        self._thread_waits = False
        """The thread of the database wants the turn; others leave it to that thread."""
        self._rescued = ""
        """Where the copy of a lost database is."""
        self._lock: Lock | None = None
        """Held while this process serves the database."""
        self.reconnected: list[Callable[[], None]] = []
        """Called when the connection that writes was replaced: others may have written in the meantime."""
        self.commit_seconds = 0.0
        """What the last commit took."""
        self._closed = False
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="judgments", daemon=True)
        self._thread.start()

    def connect(self, *, writes: bool) -> Connection:
        """A new connection; errors are in words for users."""
        with self.translated():
            return self.engine.connect(writes=writes)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Replace errors of the database by messages for users."""
        try:
            yield
        except Exception as error:
            explained = self.engine.explained(error)
            if explained is error:
                raise
            raise explained from error

    # ---- reading

    def read(self, statement: str, *values: Any) -> list[Row]:
        """The rows of a query, as of the last commit."""
        if self._closed:
            raise self._is_closed()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self.connect(writes=False)
        try:
            with self.translated():
                rows = connection.run(statement, values)
        except Exception:
            lost = not connection.usable()
            connection.close()  # it may be broken; the next query has another one
            if not lost:
                raise
            self._close_idle()  # they were lost together, when the database was started again
            connection = self.connect(writes=False)
            with self.translated():
                rows = connection.run(statement, values)
        self._idle.append(connection)
        if self._closed:
            self._close_idle()
        return rows

    def stream(self, statement: str, *values: Any) -> Iterator[Row]:
        """As `read`, for rows that need not be in memory at once. They are all as of one moment."""
        connection = self.connect(writes=False)
        try:
            with self.translated():
                yield from connection.stream(statement, values)
        finally:
            connection.close()

    def glance(self, statement: str, *values: Any) -> list[Row]:
        """As `read`, for a few rows by key. It uses the connection that writes if nobody else does: it has them.

        Within a change, it reads what the change has written.
        """
        if self._owner == threading.get_ident():  # within a change
            return self._writer.run(statement, values)
        if not self._may_take_turn():
            return self.read(statement, *values)
        try:
            return self._writer.run(statement, values)
        except Exception:
            pass  # the connection may be broken
        finally:
            self._turn.release()
        return self.read(statement, *values)

    def _may_take_turn(self) -> bool:
        """Take the turn if that is possible at once; the caller has to release it."""
        if not self.engine.local or self._closed or self._thread_waits:
            return False
        return self._turn.acquire(blocking=False)

    def _close_idle(self) -> None:
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                self._idle.pop().close()

    # ---- writing

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other servers out; a `StoreError` if one is there. The lock is held by the connection that writes.

        So whatever this process writes, it writes as the only server: if the connection is lost, the lock is taken
        again before anything else.
        """
        if self._lock is not None:
            yield
            return
        with self._turn, self.translated():
            lock = self._lock = self.engine.lock(self._writer)
        try:
            yield
        finally:
            with self._turn, suppress(Exception):  # a lost connection has released it
                lock.close()
            self._lock = None

    def _reconnect(self) -> None:
        """Replace the connection that writes, which was lost."""
        fresh = self.engine.connect(writes=True)
        try:
            if self._lock is not None:
                self._lock.again(fresh)
        except BaseException:
            fresh.close()
            raise
        self._writer = fresh
        for forget in self.reconnected:
            forget()

    def submit(self, change: Callable[[Connection], T]) -> Future[T]:
        """Make a change; the future has its result as soon as it is on disk."""
        future: Future[T] = Future()
        with self._closing:
            if self._closed:
                raise self._is_closed()
            self._jobs.put((change, future))
        return future

    def write(self, change: Callable[[Connection], T]) -> T:
        """Make a change and wait until it is on disk."""
        return self.submit(change).result()

    def check(self) -> None:
        """Raise an error if changes would be lost, after what is there has been copied."""
        if self.engine.lost() is not None:
            self.write(lambda connection: None)

    def _lost(self, reason: str, *, rescue: bool) -> StoreError:
        """The error for a change that would be lost. What was saved before is copied once."""
        if rescue and not self._rescued:
            self._rescued = self.engine.rescue(self._writer)
        return StoreError(
            self.engine.origin, f"{reason}; nothing of this change was saved; {self._rescued}".rstrip("; "), "gone"
        )

    def _is_closed(self) -> StoreError:
        return StoreError(self.engine.origin, "is closed", "closed")

    def close(self) -> None:
        """Finish the changes that wait, and close all connections."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        self._close_idle()
        with self._turn:
            self._writer.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch = [job]
            last = False
            while len(batch) < MOST_TOGETHER and not self._jobs.empty():
                more = self._jobs.get()
                if more is None:
                    last = True
                    break
                batch.append(more)
            self._thread_waits = True
            with self._turn:
                self._thread_waits = False
                self._commit([job for job in batch if job[1].set_running_or_notify_cancel()])
            if last:
                return

    def commit_here(self, batch: Sequence[Job]) -> bool:
        """Make changes in the calling thread, if nobody else writes; False if they have to be submitted instead.

        A change that fails before it writes anything leaves the others alone. `HalfMade` is raised if one fails later:
        then none was made, and all have to be submitted.
        """
        if not self._may_take_turn():
            return False
        try:
            return self._commit(batch, wait=False)
        finally:
            self._turn.release()

    def _commit(self, batch: Sequence[Job], *, wait: bool = True) -> bool:
        """Make changes in one transaction, and answer after its commit. False: another program writes, nobody waits."""
        outcomes: list[tuple[Reply, Any, Exception | None]] = []
        try:
            try:
                if reason := self.engine.lost():
                    raise self._lost(reason, rescue=wait)
                self._rescued = ""
                connection = self._begin(wait)
            except Exception:
                if wait:
                    raise
                return False
            self._owner = threading.get_ident()
            if len(batch) == 1:  # if it fails, there is nothing else to keep
                outcomes.append((batch[0][1], batch[0][0](connection), None))
            else:
                attempt = _in_savepoint if wait else _attempt
                for change, reply in batch:
                    outcomes.append((reply, *attempt(connection, change)))
            began = time.perf_counter()
            connection.run("COMMIT")
            self.commit_seconds = time.perf_counter() - began
            if reason := self.engine.lost():
                raise self._lost(reason, rescue=False)
        except HalfMade:
            self._abandon()
            raise
        except BaseException as error:
            self._abandon()
            explained = self.engine.explained(error) if isinstance(error, Exception) else error
            for _, reply in batch:
                reply.set_exception(explained)
            return True
        finally:
            self._owner = None
        for reply, result, failure in outcomes:
            if failure is None:
                reply.set_result(result)
            else:
                reply.set_exception(self.engine.explained(failure))
        return True

    def _begin(self, wait: bool) -> Connection:
        """Begin a transaction, on a new connection if the old one was lost: nothing was changed yet."""
        try:
            self._writer.begin(wait=wait)
        except Exception:
            if self._writer.usable() or not wait:
                raise
            self._reconnect()
            self._writer.begin(wait=wait)
        return self._writer

    def _abandon(self) -> None:
        """Leave the connection without an open transaction; close it if it is broken."""
        try:
            if self._writer.active():
                self._writer.run("ROLLBACK")
        except Exception:
            with suppress(Exception):
                self._writer.close()


def _in_savepoint(connection: Connection, change: Callable[[Connection], Any]) -> tuple[Any, Exception | None]:
    """The result of a change or its error; a change that fails leaves nothing."""
    connection.run("SAVEPOINT change")
    try:
        result = change(connection)
    except Exception as error:
        if not connection.active():  # the database has rolled back everything: no change of this commit was made
            raise
        connection.run("ROLLBACK TO SAVEPOINT change")
        connection.run("RELEASE SAVEPOINT change")
        return None, error
    connection.run("RELEASE SAVEPOINT change")
    return result, None


def _attempt(connection: Connection, change: Callable[[Connection], Any]) -> tuple[Any, Exception | None]:
    """The result of a change, or its error if it has written nothing. A savepoint would cost more than most changes."""
    before = connection.changes()
    try:
        return change(connection), None
    except Exception as error:
        if connection.changes() != before or not connection.active():
            raise HalfMade from error
        return None, error


def open_database(where: str) -> Database:
    """The database at a path, which is created if needed, or at an URL that begins with `postgresql://`."""
    if where.startswith(("postgresql://", "postgres://")):
        from cranfield.building.serve.database.engines import Postgres

        return Database(Postgres(where))
    from cranfield.building.serve.database.engines import SQLite

    return Database(SQLite(where))
