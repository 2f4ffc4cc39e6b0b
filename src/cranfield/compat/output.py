"""Output and exit codes of the replacements for other programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO

from cranfield.errors import CranfieldError, DataError, UsageError


def run_program(name: str, output: Callable[[], str], stdout: IO[str] | None, stderr: IO[str] | None) -> int:
    """Print the output, or an error with the name of the program; return the exit code: 2 for usage, 1 for data."""
    try:
        write(stdout or sys.stdout, output())
        return 0
    except CranfieldError as error:
        print(f"{name}: {error}", file=stderr or sys.stderr)
        return 2 if isinstance(error, UsageError) else 1


def write(stream: IO[str] | None, text: str) -> None:
    """Write text with topic and run names of any bytes, which a text stream could refuse."""
    if stream is None:
        raise DataError("standard output", None, "is closed")
    binary = getattr(stream, "buffer", None)
    if binary is None:
        stream.write(text)
        return
    stream.flush()
    binary.write(text.encode("utf-8", "surrogateescape"))
    binary.flush()
