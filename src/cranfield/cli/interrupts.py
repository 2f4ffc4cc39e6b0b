"""Ctrl-C while a verb works: it ends with the exit code 130, and no result passes for complete that is not.

`cranfield._start` says what Ctrl-C does before and after.
"""

from __future__ import annotations

import _thread
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cranfield._start import quit_at_once
from cranfield.cli import progress
from cranfield.text import INTERRUPTED_AFTER

pressed: list[int] = []
"""Has an entry for every Ctrl-C since the work began."""


@contextmanager
def noted() -> Iterator[None]:
    """Note every Ctrl-C, since libraries may lose the exception.

    An import turns it into an ImportError, C code clears it, and Python ignores it in the callbacks of its garbage
    collector. What is lost there is raised again; what is lost elsewhere is noticed when the work is done.
    """
    pressed.clear()
    usual = signal.getsignal(signal.SIGINT)
    if usual not in (signal.default_int_handler, quit_at_once):
        yield
        return

    def note(number: int, frame: object) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    def again() -> None:
        time.sleep(0.01)
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(main, signal.SIGINT)  # a signal to this thread would not wake the other one
        else:
            signal.raise_signal(signal.SIGINT)

    def ignored(event: sys.UnraisableHookArgs) -> None:
        if event.exc_type is KeyboardInterrupt:
            _thread.start_new_thread(again, ())  # after this function, in which it would be ignored once more
        else:
            before(event)

    before, main = sys.unraisablehook, _thread.get_ident()
    try:
        signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread, which gets Ctrl-C
        yield
        return
    sys.unraisablehook = ignored
    try:
        yield
    finally:
        sys.unraisablehook = before
        signal.signal(signal.SIGINT, usual)


def check_not_interrupted() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed."""
    if pressed:
        raise KeyboardInterrupt


def expected() -> None:
    """Forget Ctrl-C: it is how this work is ended, or the result says so itself."""
    pressed.clear()


@contextmanager
def printing(text: str) -> Iterator[None]:
    """Print a result: after Ctrl-C only if it says itself that it is not complete, and then nothing more.

    So a table has a note and JSON too; CSV, which has no place for a note, is not written, and neither are figures.
    """
    if INTERRUPTED_AFTER not in text:
        check_not_interrupted()
    with progress.hidden():
        yield
    check_not_interrupted()
