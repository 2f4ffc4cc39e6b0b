"""What a user sees when something is wrong: one line on standard error and an exit code, never a traceback."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import TextIO

from cranfield.cli.printing import Note
from cranfield.errors import CranfieldError, CranfieldWarning, UsageError

OK, DATA, USAGE = 0, 1, 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The exit code of a program whose reader closed the pipe: 128 + SIGPIPE."""
SHOW_TRACEBACK = "CRANFIELD_TRACEBACK"
"""The environment variable that shows the traceback of a bug."""


def guarded(work: Callable[[], int]) -> int:
    """Do the work, print warnings and errors in a line each, and return the exit code."""
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
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
        except CranfieldError as error:
            say("; ".join([f"error: {error}", *getattr(error, "__notes__", ())]))
            return USAGE if isinstance(error, UsageError) else DATA
        except KeyboardInterrupt:
            say("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            _discard_output()
            return BROKEN_PIPE
        except OSError as error:
            _discard_output()
            path = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
            say(f"error: {path}{error.strerror or error}")
            return DATA
        except MemoryError:
            say("error: not enough memory")
            return DATA
        except RecursionError:
            say("error: the data is nested too deep")
            return DATA
        except Exception as error:
            if os.environ.get(SHOW_TRACEBACK):
                raise
            say(f"error: {_where(error)}: this is a bug in cranfield, please report it; {SHOW_TRACEBACK}=1 shows more")
            return DATA


def _where(error: Exception) -> str:
    """The error, with the line and file that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})" if trace else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{place}"


def say(text: str) -> None:
    """Print a line on standard error, with control characters spelled out so that they cannot move the cursor."""
    from cranfield.table import printable

    if sys.stderr is not None:
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
