"""Folders that are complete: the files of a writer are somewhere else until all of them are there.

A process that somebody else ends does so cleanly: docker and systemd send SIGTERM, a closed terminal sends SIGHUP.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from cranfield.collection.source import PathLike, was_written
from cranfield.errors import DataError

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def ending_calls(stop: Callable[[int, object], None], *, replace: bool = False) -> Iterator[None]:
    """Within this block, call `stop` with a signal that would end the process.

    A signal that is ignored, as under nohup, stays ignored; one that already calls a function does so unless `replace`.
    """
    before = {number: signal.getsignal(number) for number in ENDING}
    kept = (signal.SIG_IGN, None) if replace else tuple(set(before.values()) - {signal.SIG_DFL})
    if threading.current_thread() is not threading.main_thread():
        before = {}  # only the main thread can handle signals
    before = {number: handler for number, handler in before.items() if handler not in kept}
    try:
        for number in before:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ends_cleanly() -> Iterator[None]:
    """Within this block, a signal that ends the process raises SystemExit first, so that everything open is closed."""
    received: list[int] = []

    def stop(number: int, frame: object) -> None:
        received.append(number)
        raise SystemExit(128 + number)

    try:
        with ending_calls(stop):
            yield
    finally:
        if received:
            signal.raise_signal(received[0])


INCOMPLETE = "INCOMPLETE"
"""The file that marks a folder whose files are not all there. It names the folder with the others, if there is one."""
SPARK_WRITES, SPARK_IS_DONE = "_temporary", "_SUCCESS"
"""What Spark has in a folder while it writes, and when it is done."""


@contextmanager
def whole_folder(folder: PathLike) -> Iterator[str]:
    """A folder to write into, with another name; what is in it appears in `folder` at the end, or not at all.

    A new folder is renamed. If `folder` exists, files are moved into it one by one, the others in it stay, and a file
    `INCOMPLETE` is in it meanwhile. What a killed writer left is removed, or moved if it was complete.
    """
    target = os.path.realpath(folder)
    parent, name = os.path.split(target)
    if os.path.exists(target) and not os.path.isdir(target):
        raise DataError(os.fspath(folder), None, "is a file; give a new folder")
    try:
        os.makedirs(parent, exist_ok=True)
        exists = os.path.isdir(target)
        _tidy(target)
        # In the folder itself if that exists, because it may be on a disk of its own.
        made = os.path.join(target if exists else parent, f".{'' if exists else name}.{os.urandom(8).hex()}.part")
        os.mkdir(made)
        with ends_cleanly():
            try:
                with _marked(made):
                    yield made
                    _flush(made)
                files = [os.path.join(where, name) for where, _, names in os.walk(made) for name in names]
                if exists:
                    _move(made, target)
                else:
                    os.rename(made, target)
                    os.unlink(os.path.join(target, INCOMPLETE))
                for file in sorted(files):
                    if os.path.basename(file) != INCOMPLETE:
                        was_written(os.path.join(folder, os.path.relpath(file, made)))
            finally:
                shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise DataError(os.fspath(folder), None, f"cannot be written: {error.strerror or error}") from None
    except DataError as error:
        if not error.path.startswith(made):
            raise
        raise DataError(os.fspath(folder) + error.path.removeprefix(made), error.line, error.what) from None


def check_whole(folder: str) -> None:
    """Raise an error for a folder whose writer, cranfield or Spark, was stopped or is still at work.

    Folders that others wrote say nothing about that.
    """
    if os.path.exists(os.path.join(folder, INCOMPLETE)):
        what = "is incomplete: its writer was stopped, or is at work (it has a file INCOMPLETE)"
        raise DataError(folder or ".", None, f"{what}; run the command that writes it again, to the end")
    if os.path.exists(os.path.join(folder, SPARK_WRITES)) and not os.path.exists(os.path.join(folder, SPARK_IS_DONE)):
        what = f"is incomplete: Spark was stopped, or is still writing (it has {SPARK_WRITES}, and no {SPARK_IS_DONE})"
        raise DataError(folder or ".", None, f"{what}; write it again")


@contextmanager
def _marked(folder: str) -> Iterator[None]:
    """Mark the folder, and hold a lock that ends with this process, so that others can tell what was left behind."""
    with open(os.path.join(folder, INCOMPLETE), "w", encoding="utf-8") as file:
        _lock(file)
        yield


def _lock(file: IO[Any]) -> bool:
    """Whether no other process has this lock; where there are no locks, one always may have."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _flush(folder: str) -> None:
    """Wait until all files are on the disk: else the new name may survive a power cut, and the content not."""
    for where, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(where, name), "r+b") as file:
                os.fsync(file.fileno())


def _move(made: str, target: str) -> None:
    """Move the complete files into a folder that exists, which is marked until all are there."""
    mark = os.path.join(target, INCOMPLETE)
    with open(mark, "w", encoding="utf-8") as file:
        file.write(os.path.basename(made))
        file.flush()
        os.fsync(file.fileno())
    for where, _, names in os.walk(made):
        place = os.path.join(target, os.path.relpath(where, made))
        os.makedirs(place, exist_ok=True)
        for name in sorted(set(names) - {INCOMPLETE}):
            os.replace(os.path.join(where, name), os.path.join(place, name))
    os.unlink(mark)


def _tidy(target: str) -> None:
    """Finish what a killed writer had begun to move into the folder, and remove what it had not completed."""
    parent, name = os.path.split(target)
    mark = os.path.join(target, INCOMPLETE)
    with suppress(FileNotFoundError), open(mark, encoding="utf-8") as file:
        left = os.path.join(target, os.path.basename(file.read()) or INCOMPLETE)
        if os.path.isdir(left) and _left_behind(left):
            _move(left, target)
            shutil.rmtree(left, ignore_errors=True)
    for where, begin in ((parent, f".{name}."), (target, "..")):
        for other in os.listdir(where) if os.path.isdir(where) else ():
            path = os.path.join(where, other)
            if other.startswith(begin) and other.endswith(".part") and _left_behind(path):
                shutil.rmtree(path, ignore_errors=True)


def _left_behind(made: str) -> bool:
    """Whether the writer of this folder has ended."""
    try:
        with open(os.path.join(made, INCOMPLETE), "r+", encoding="utf-8") as file:
            return _lock(file)
    except OSError:  # not a folder of a writer
        return False
