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
"""What a shell reports for a program that the end of its pipe has ended: 128 + SIGPIPE."""


SHOW_TRACEBACK = "CRANFIELD_TRACEBACK"
"""The environment variable that lets the traceback of a bug through."""


def guarded(work: Callable[[], int]) -> int:
    """Do the work; tell warnings and errors in a line each; give the exit code."""
    with warnings.catch_warnings():
        told: set[str] = set()

        def tell(message: Warning | str, category: type[Warning], *where: object, **more: object) -> None:
            if str(message) not in told:
                told.add(str(message))
                say(f"{'note' if issubclass(category, Note) else 'warning'}: {message}")

        warnings.showwarning = tell
        warnings.simplefilter("always", CranfieldWarning)
        try:
            code = work()
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
        except CranfieldError as error:
            say(f"error: {error}")
            return USAGE if isinstance(error, UsageError) else DATA
        except KeyboardInterrupt:
            say("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            _forget_output()
            return BROKEN_PIPE
        except OSError as error:
            _forget_output()
            named = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
            say(f"error: {named}{error.strerror or error}")
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
    """What happened, and in which line of which file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})" if trace else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{place}"


def say(text: str) -> None:
    """A line on standard error; control characters are spelled out, a message must not move the cursor."""
    from cranfield.table import printable

    if sys.stderr is not None:
        print(printable(text), file=sys.stderr)


def _forget_output() -> None:
    """Let what could not be written go, so that Python does not complain about it once more at its end."""
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
