"""A database that acknowledges a change only after it is on disk: SQLite by path, PostgreSQL by URL.

All changes go through one thread. It takes the changes that wait, runs each in a savepoint, commits them together, and
only then answers. So many clients share the cost of a commit, a change that fails undoes nothing but itself, and no
exception leaves a transaction open.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

from cranfield.errors import DataError

T = TypeVar("T")
Row = tuple[Any, ...]
MOST_TOGETHER = 64
"""The most changes in a commit."""


class StoreError(DataError):
    """The database cannot be read or written; nothing of the change was saved."""

    def __init__(self, origin: str, what: str, kind: str = "other") -> None:
        super().__init__(origin, None, what)
        self.kind = kind
        """`locked`, `full`, `damaged`, `readonly`, `closed` or `other`."""


class Connection(Protocol):
    """What the two databases have in common. Parameters of a statement are written `?`."""

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each row."""

    def begin(self) -> None:
        """Begin a transaction that no other writer can enter."""

    def active(self) -> bool:
        """Is a transaction open? A full disk may end it."""

    def close(self) -> None:
        """Close the connection."""


class Engine(Protocol):
    """One kind of database: how to connect, and what its errors mean."""

    origin: str
    """The name of the database in messages."""
    words: Mapping[str, str]
    """Words of statements that differ: `serial` is the type of a number that counts by itself, and `tables`
    the query for the names of tables."""
    search_tables: Sequence[str]
    """The statements that make the index for search."""

    def connect(self, *, writes: bool) -> Connection:
        """Open a connection."""

    def explained(self, error: Exception) -> Exception:
        """An error of the database in words for users; other errors as they are."""

    def lock(self) -> Any:
        """Reserve the database for one server; raise a `StoreError` if another has it. Released by its `close`."""

    def backup(self, path: str) -> None:
        """Write a copy while the database is in use."""

    def index(self, connection: Connection, rows: Sequence[tuple[int, str, str]]) -> None:
        """Add documents (number, title, text) to the index for search."""

    def unindex(self, connection: Connection, number: int, title: str, text: str) -> None:
        """Remove a document from the index for search."""

    def search(self, query: str, limit: int) -> tuple[str, tuple[Any, ...]]:
        """The statement that searches for all words of a query, and its values; empty if the query has no word."""


class Database:
    """Reads by any thread, and changes one after another by a thread of its own."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._idle: list[Connection] = []
        """Connections for reading that no thread uses. Threads of a server come and go, so that none owns one."""
        self._jobs: queue.SimpleQueue[tuple[Callable[[Connection], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._writer = self.connect(writes=True)
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
        except BaseException:
            connection.close()  # it may be broken; the next query has another one
            raise
        self._idle.append(connection)
        if self._closed:
            self._close_idle()
        return rows

    def _close_idle(self) -> None:
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                self._idle.pop().close()

    # ---- writing

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
            self._commit([job for job in batch if job[1].set_running_or_notify_cancel()])
            if last:
                return

    def _commit(self, batch: list[tuple[Callable[[Connection], Any], Future[Any]]]) -> None:
        """Make changes in one transaction, and answer after its commit."""
        connection = self._writer
        outcomes: list[tuple[Future[Any], Any, Exception | None]] = []
        try:
            connection.begin()
            if len(batch) == 1:  # if it fails, there is nothing else to keep
                outcomes.append((batch[0][1], batch[0][0](connection), None))
            else:
                for change, future in batch:
                    outcomes.append((future, *_in_savepoint(connection, change)))
            connection.run("COMMIT")
        except BaseException as error:
            self._abandon()
            explained = self.engine.explained(error) if isinstance(error, Exception) else error
            for _, future in batch:
                future.set_exception(explained)
            return
        for future, result, failure in outcomes:
            if failure is None:
                future.set_result(result)
            else:
                future.set_exception(self.engine.explained(failure))

    def _abandon(self) -> None:
        """Leave the connection without an open transaction; replace it if it is broken."""
        try:
            if self._writer.active():
                self._writer.run("ROLLBACK")
            return
        except Exception:
            pass
        try:
            self._writer.close()
            self._writer = self.engine.connect(writes=True)
        except Exception:
            pass  # the next change tries again, and its error is reported


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


def open_database(where: str) -> Database:
    """The database at a path, which is created if needed, or at an URL that begins with `postgresql://`."""
    if where.startswith(("postgresql://", "postgres://")):
        from cranfield.building.serve.postgres import Postgres

        return Database(Postgres(where))
    from cranfield.building.serve.sqlite import SQLite

    return Database(SQLite(where))
