"""What a terminal shows while a verb works: a bar for work that can be counted, else the seconds so far."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TextIO

PATIENCE = 0.5
"""Seconds of work before a progress bar appears."""
SILENCE = 1.0
"""Seconds of work before a line says that the verb works, if there is no bar."""
PAUSE = 0.25
"""Seconds between two looks at the clock."""
LONGEST = len("working: 100000 s")


def on_terminal() -> bool:
    """Does standard error go to a terminal?"""
    return sys.stderr is not None and sys.stderr.isatty()


class Progress:
    """A bar on standard error, if the work takes a while.

    It is called with how much is done and how much there is to do.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._began = time.monotonic()
        self._bar: Any = None
        self._id: Any = None
        self._hidden = hidden()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._hidden.__exit__(None, None, None)

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._began < PATIENCE:
                return
            self._start()
        self._bar.update(self._id, completed=done, total=total)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        self._hidden.__enter__()
        self._bar = Bar(console=Console(stderr=True), transient=True)
        self._id = self._bar.add_task(self._task, total=None)
        self._bar.start()


class _Clock:
    """A line with the seconds so far, which a thread writes while nothing else is on the terminal."""

    def __init__(self, stream: TextIO) -> None:
        import threading

        self.hidden = 0
        self.lock = threading.Lock()
        self._stream = stream
        self._began = time.monotonic()
        self._drawn = ""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin; without memory for a thread, the work goes on without the line."""
        try:
            self._thread.start()
        except RuntimeError:
            self._done.set()

    def stop(self) -> None:
        """End, and remove the line."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()
        self.erase()

    def erase(self) -> None:
        """Remove the line."""
        if self._drawn:
            self._drawn = ""
            self._write(" " * LONGEST)

    def _run(self) -> None:
        while not self._done.wait(PAUSE):
            seconds = time.monotonic() - self._began
            text = f"working: {seconds:.0f} s"
            with self.lock:
                if seconds >= SILENCE and not self.hidden and text != self._drawn:
                    self._drawn = text
                    self._write(text)

    def _write(self, text: str) -> None:
        """Write a line, and go back to its beginning: what is printed next takes its place."""
        try:
            self._stream.write(f"{text}\r")
            self._stream.flush()
        except (OSError, ValueError):  # the terminal was closed
            self._done.set()


_clocks: list[_Clock] = []


@contextmanager
def shown(quiet: bool = False) -> Iterator[None]:
    """While this block works for more than a second, say so on standard error if that is a terminal."""
    if quiet or not on_terminal() or os.environ.get("TERM") == "dumb":
        yield
        return
    clock = _Clock(sys.stderr)
    _clocks.append(clock)
    clock.start()
    try:
        yield
    finally:
        _clocks.remove(clock)
        clock.stop()


def end() -> None:
    """Remove the line for good: from now on a server waits for people."""
    for clock in _clocks:
        clock.stop()


@contextmanager
def hidden() -> Iterator[None]:
    """Remove the line, and write none in this block, because something else is on the terminal."""
    clocks = list(_clocks)
    for clock in clocks:
        with clock.lock:
            clock.hidden += 1
            clock.erase()
    try:
        yield
    finally:
        for clock in clocks:
            clock.hidden -= 1
