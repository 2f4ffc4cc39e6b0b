"""An event loop makes changes in its own thread, several with one commit, and never waits for a lock."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from typing import Any

import pytest

from cranfield.building.serve.database.database import Connection, HalfMade
from cranfield.building.serve.database.loop_commits import LoopCommits
from cranfield.building.serve.project.store import Store
from cranfield.building.serve.web.limits import JoinedTransport


def put(name: str, then: Exception | None = None) -> Any:
    def change(connection: Connection) -> int:
        connection.run("INSERT INTO setting (name, value) VALUES (?, '1')", (name,))
        if then is not None:
            raise then
        return threading.get_ident()

    return change


def names(store: Store) -> set[str]:
    return {name for (name,) in store.database.read("SELECT name FROM setting WHERE name LIKE 'x%'")}


def refuse(connection: Connection) -> int:
    connection.run("SELECT 1")
    raise ZeroDivisionError


def together(store: Store, changes: list[Any]) -> tuple[list[Any], list[BaseException], int]:
    """The answers to changes of one turn, the failures that were announced, and the number of commits."""
    commits: list[str] = []
    failures: list[BaseException] = []
    run = store.database._writer.run

    def counting(statement: str, values: Any = ()) -> Any:
        if statement == "COMMIT":
            commits.append(statement)
        return run(statement, values)

    store.database._writer.run = counting  # type: ignore[method-assign]

    async def main() -> list[Any]:
        made = LoopCommits(store.database)
        return await asyncio.gather(
            *(made.submit(change, failures.append) for change in changes), return_exceptions=True
        )

    return asyncio.run(main()), failures, len(commits)


def test_changes_of_one_turn_share_a_commit_and_are_refused_each_for_itself(store: Store) -> None:
    answers, failures, commits = together(store, [refuse if i % 3 == 0 else put(f"x{i}") for i in range(8)])
    assert names(store) == {f"x{i}" for i in range(8) if i % 3}
    assert [isinstance(answer, ZeroDivisionError) for answer in answers] == [i % 3 == 0 for i in range(8)]
    assert len(failures) == 3
    if store.database.engine.local:
        assert commits == 1
        assert {answer for answer in answers if isinstance(answer, int)} == {threading.get_ident()}


def test_a_change_that_fails_half_way_leaves_nothing_and_the_others_are_made(store: Store) -> None:
    failing = [put(f"x{i}", ZeroDivisionError() if i == 5 else None) for i in range(8)]
    answers, failures, _ = together(store, failing)
    assert names(store) == {f"x{i}" for i in range(8) if i != 5}
    assert [isinstance(answer, ZeroDivisionError) for answer in answers] == [i == 5 for i in range(8)]
    undone = [error for error in failures if isinstance(error, HalfMade)]
    assert len(undone) == (8 if store.database.engine.local else 0)  # all of them are made again
    assert len(failures) - len(undone) == 1


def test_a_loop_does_not_wait_for_another_program(sqlite_store: Store) -> None:
    other = sqlite3.connect(sqlite_store.origin, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    async def main() -> tuple[int, float]:
        made = LoopCommits(sqlite_store.database)
        future = made.submit(put("x1"), lambda error: None)
        began, turns = time.monotonic(), 0
        while turns < 100:  # the loop turns on while the change waits
            await asyncio.sleep(0)
            turns += 1
        spent = time.monotonic() - began
        assert not future.done()
        other.execute("ROLLBACK")
        return await future, spent

    thread, spent = asyncio.run(main())
    assert thread != threading.get_ident()
    assert spent < 4  # SQLite would have waited 5 seconds
    assert names(sqlite_store) == {"x1"}


def test_a_loop_leaves_the_turn_to_a_long_change_of_another_thread(sqlite_store: Store) -> None:
    begun, gate = threading.Event(), threading.Event()

    def long(connection: Connection) -> None:
        begun.set()
        gate.wait(20)

    first = sqlite_store.database.submit(long)
    assert begun.wait(20)

    async def main() -> int:
        future = LoopCommits(sqlite_store.database).submit(put("x1"), lambda error: None)
        for _ in range(10):  # it has tried by then
            await asyncio.sleep(0)
        gate.set()
        return await future

    assert asyncio.run(main()) != threading.get_ident()
    first.result(20)
    assert names(sqlite_store) == {"x1"}


def test_a_closed_database_fails_the_change(sqlite_store: Store) -> None:
    sqlite_store.close()
    failures: list[BaseException] = []

    async def main() -> None:
        await LoopCommits(sqlite_store.database).submit(put("x1"), failures.append)

    with pytest.raises(Exception, match="is closed"):
        asyncio.run(main())
    assert len(failures) == 1


def test_a_glance_within_a_change_sees_what_the_change_has_written(sqlite_store: Store) -> None:
    def change(connection: Connection) -> list[Any]:
        put("x1")(connection)
        return [
            reader("SELECT name FROM setting WHERE name = ?", "x1")
            for reader in (sqlite_store.database.glance, sqlite_store.database.read)
        ]

    assert sqlite_store.database.write(change) == [[("x1",)], []]
    assert sqlite_store.database.glance("SELECT name FROM setting WHERE name = ?", "x1") == [("x1",)]


class Pipe:
    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.written.append(b"closed")

    def is_closing(self) -> bool:
        return b"closed" in self.written


def test_head_and_body_of_an_answer_are_one_packet() -> None:
    async def main() -> list[bytes]:
        pipe = Pipe()
        joined = JoinedTransport(pipe, asyncio.get_running_loop())  # type: ignore[arg-type]
        joined.write(b"HTTP/1.1 200 OK\r\n\r\n")
        joined.write(b"body")
        joined.write(b"more")
        joined.write(b"HTTP/1.1 204 No Content\r\n\r\n")  # nothing follows
        await asyncio.sleep(0)
        joined.write(b"HTTP/1.1 303 See Other\r\n\r\n")
        joined.close()
        return pipe.written

    assert asyncio.run(main()) == [
        b"HTTP/1.1 200 OK\r\n\r\nbody", b"more", b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 303 See Other\r\n\r\n",
        b"closed",
    ]  # fmt: skip
