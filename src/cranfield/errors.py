"""Errors and warnings. A message says where the problem is, what is wrong and what was expected."""

from __future__ import annotations

import sys
import warnings


class CranfieldError(Exception):
    """The base class of all errors of this package. The message is written for users; no traceback is needed."""


class UsageError(CranfieldError, ValueError):
    """A wrong call: an unknown measure, or a parameter out of range. The command line exits with 2."""


class DataError(CranfieldError, ValueError):
    """Wrong data: a file that cannot be read, a short line, a duplicate. The command line exits with 1.

    >>> str(DataError("robust.qrels", 1412, "3 columns, expected topic iteration doc grade"))
    'robust.qrels:1412: 3 columns, expected topic iteration doc grade'
    """

    def __init__(self, path: str, line: int | None, what: str) -> None:
        self.path = path
        self.line = line
        self.what = what
        super().__init__(f"{path}:{line}: {what}" if line else f"{path}: {what}")


class CranfieldWarning(UserWarning):
    """Some data was ignored or changed; the message says how much and which."""


class NotedWarning(CranfieldWarning):
    """A warning that the notes of the scores repeat; the command line prints it only where these are not shown."""


class SameRunWarning(CranfieldWarning):
    """Two runs cannot be told apart: perhaps one run is given twice."""


def warn_caller(message: str, category: type[Warning] = CranfieldWarning) -> None:
    """Warn, and point at the line outside this package that called it, however deep the warning arises."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level + 1 if frame is not None else 2)
