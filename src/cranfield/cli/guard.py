"""What a user sees when something is wrong: one line on standard error and an exit code, never a traceback."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from collections.abc import Callable
from typing import NoReturn, TextIO

from cranfield._start import INTERRUPTED
from cranfield.cli import interrupts, progress
from cranfield.cli.printing import Note
from cranfield.errors import CranfieldError, CranfieldWarning, UsageError
from cranfield.text import printable

OK, DATA, USAGE = 0, 1, 2
BROKEN_PIPE = 141
"""The exit code of a program whose reader closed the pipe: 128 + SIGPIPE."""
NO_MEMORY = "not enough memory; raise the limit (such as ulimit -v), or use smaller files"
OUT_OF_MEMORY = f"error: {NO_MEMORY}\n".encode()
MEMORY_REFUSED = (
    "cannot allocate memory",
    "can't start new thread",
    "failed to map segment",
    "std::bad_alloc",
    "unable to allocate",
    "out of memory",
)
"""How the system and libraries say that something does not fit into memory."""
OPEN_ENDED = ("duckdb", "pyspark", "sqlite3", "psycopg", "uvicorn", "multiprocessing")
"""Modules with connections, servers or processes, which Python has to end in its own way."""
OWN_ERRORS = ("builtins", "cranfield", "numpy", "scipy")
"""Packages whose errors our own mistakes raise."""
SHOW_TRACEBACK = "CRANFIELD_TRACEBACK"
"""The environment variable that shows the traceback of a bug."""


def guarded(work: Callable[[], int]) -> int:
    """Do the work, print warnings and errors in a line each, and return the exit code.

    Nothing is imported to print an error: there may be no memory left, or Ctrl-C may interrupt the import.
    """
    try:
        with interrupts.noted():
            return _with_messages(work)
    except KeyboardInterrupt:  # a second one, while a message was printed
        return INTERRUPTED
    except MemoryError:  # not even enough for a message
        os.write(2, OUT_OF_MEMORY)
        return DATA


def leave(code: int) -> NoReturn:
    """End the process. Python takes all modules apart before it ends, which takes longer than to read a small file."""
    threads = sys.modules.get("threading")
    if any(name in sys.modules for name in OPEN_ENDED) or (threads is not None and threads.active_count() > 1):
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # nobody reads it any more
            code = code or DATA
    os._exit(code)


def _with_messages(work: Callable[[], int]) -> int:
    with warnings.catch_warnings():
        printed: set[str] = set()

        def show(message: Warning | str, category: type[Warning], *where: object, **more: object) -> None:
            if str(message) not in printed:
                printed.add(str(message))
                say(f"{'note' if issubclass(category, Note) else 'warning'}: {message}")

        warnings.showwarning = show
        warnings.simplefilter("always", CranfieldWarning)
        try:
            code = work()
            interrupts.check_not_interrupted()  # a library may have lost the exception
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
        except CranfieldError as error:
            say(f"error: {message_of(error)}")
            return USAGE if isinstance(error, UsageError) else _code(error)
        except KeyboardInterrupt:
            say("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            _discard_output()
            return BROKEN_PIPE
        except OSError as error:
            _discard_output()
            say(f"error: {message_of(error)}")
            return _code(error)
        except (MemoryError, RecursionError) as error:
            say(f"error: {message_of(error)}")
            return _code(error)
        except Exception as error:
            if os.environ.get(SHOW_TRACEBACK):
                raise
            if interrupts.pressed:
                say("interrupted")
                return INTERRUPTED
            say(f"error: {message_of(error)}")
            return _code(error)


def _code(error: BaseException) -> int:
    """The exit code; a verb may have set another one on the error than that of wrong data."""
    return int(getattr(error, "exit_code", DATA))


def message_of(error: BaseException) -> str:
    """What is printed about an error."""
    if isinstance(error, CranfieldError):
        return "; ".join([str(error), *getattr(error, "__notes__", ())])
    if _no_memory(error):
        return NO_MEMORY
    if isinstance(error, RecursionError):
        return "the data is nested too deep"
    if isinstance(error, OSError):
        path = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        return f"{path}{error.strerror or error}"
    if package := _outside(error):
        return f"{package}: {_where(error)}; {SHOW_TRACEBACK}=1 shows more"
    return f"{_where(error)}: this is a bug in cranfield, please report it; {SHOW_TRACEBACK}=1 shows more"


def _no_memory(error: BaseException | None) -> bool:
    """Whether the lack of memory made an import fail: libraries replace the error by an ImportError of theirs."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        if isinstance(error, ImportError | RuntimeError | OSError) and _refused(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _refused(error: BaseException) -> bool:
    return any(words in str(error).lower() for words in MEMORY_REFUSED)


def _outside(error: BaseException) -> str:
    """The package that defines an error, such as duckdb or requests: its failure is not a bug here. Else empty."""
    package = type(error).__module__.partition(".")[0].lstrip("_")
    return "" if package in OWN_ERRORS else package


def _where(error: BaseException) -> str:
    """The error, with the line and file that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})" if trace else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{place}"


def say(text: str) -> None:
    """Print a line on standard error, with control characters spelled out so that they cannot move the cursor."""
    if sys.stderr is not None:
        with progress.hidden():
            print(printable(text), file=sys.stderr)


def _discard_output() -> None:
    """Drop text that could not be written, so that Python does not complain about it again when it exits."""
    for stream in (sys.stdout, sys.stderr):
        if _lost(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _lost(stream: TextIO | None) -> bool:
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        return True
    return False
