"""Changes that an event loop makes in its own thread, those of one turn of the loop with one commit.

To hand a change to the thread of the database and its answer back costs more than the change: with every statement the
interpreter's lock goes from one thread to the other. So the loop makes changes itself as long as it need not wait. If
another thread or another program writes, or the database is on another machine, the thread of the database does it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from cranfield.building.serve.database.database import Connection, Database, HalfMade

T = TypeVar("T")
SHARE, SHORT, LONGEST = 0.25, 0.0005, 0.005
"""The share of the time of a commit that is spent waiting for others, so that slow disks are shared by more of them; in
seconds, what is not worth a timer, and the longest wait."""


class LoopReply:
    """Answers a coroutine. `failed` is called at once, before any other change is made."""

    def __init__(self, future: asyncio.Future[Any], failed: Callable[[BaseException], None]) -> None:
        self._future = future
        self._failed = failed

    def set_result(self, result: Any, /) -> None:
        if not self._future.done():
            self._future.set_result(result)

    def set_exception(self, exception: BaseException, /) -> None:
        self._failed(exception)
        if not self._future.done():
            self._future.set_exception(exception)

    def undone(self, error: BaseException) -> None:
        """The change was taken back together with another that failed, and is made again."""
        self._failed(error)

    def relay(self, loop: asyncio.AbstractEventLoop, database: Database, change: Callable[[Connection], Any]) -> None:
        """Let the thread of the database make the change."""

        def tell(submitted: Any) -> None:
            error = submitted.exception()
            if error is not None:
                self._failed(error)
            loop.call_soon_threadsafe(_copy, self._future, error, None if error else submitted.result())

        try:
            database.submit(change).add_done_callback(tell)
        except Exception as error:  # it is closed
            self.set_exception(error)


LoopJob = tuple[Callable[[Connection], Any], LoopReply]


def _copy(future: asyncio.Future[Any], error: BaseException | None, result: Any) -> None:
    if not future.done():
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


class LoopCommits:
    """Makes the changes of event loops. Each loop, in its own thread, commits what came in one of its turns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._of_thread = threading.local()
        self._pause = 0.0
        """Seconds to wait for others before a commit: a share of what the last commits took."""
        self._expected = 1
        """Changes that come together at the moment. When they are there, nobody else is waited for."""

    def submit(self, change: Callable[[Connection], T], failed: Callable[[BaseException], None]) -> asyncio.Future[T]:
        """Make a change; the future has its result as soon as it is on disk."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        mine = self._of_thread.__dict__
        waiting: list[LoopJob] = mine.setdefault("waiting", [])
        waiting.append((change, LoopReply(future, failed)))
        if len(waiting) == 1:
            mine["timer"] = None
            if self._pause < SHORT or self._expected == 1:
                loop.call_soon(loop.call_soon, self._commit, loop)  # what has arrived meanwhile is read first
            else:
                mine["timer"] = loop.call_later(self._pause, self._commit, loop)
        elif len(waiting) == self._expected and mine["timer"] is not None:
            mine["timer"].cancel()
            loop.call_soon(self._commit, loop)
        return future

    def _commit(self, loop: asyncio.AbstractEventLoop) -> None:
        batch: list[LoopJob] = self._of_thread.waiting
        self._of_thread.waiting = []
        self._expected = max(len(batch), self._expected * 3 // 4)
        try:
            made = self._database.commit_here(batch)
        except HalfMade as error:
            made = False
            for _, reply in batch:
                reply.undone(error)
        self._pause = 0.75 * self._pause + 0.25 * min(SHARE * self._database.commit_seconds, LONGEST)
        if not made:
            for change, reply in batch:
                reply.relay(loop, self._database, change)
