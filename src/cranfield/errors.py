"""What can go wrong, told as `path:line: what is wrong, and what was expected`."""

from __future__ import annotations


class CranfieldError(Exception):
    """Anything this package complains about; the message is meant for the user, not for a traceback."""


class UsageError(CranfieldError, ValueError):
    """The call is wrong: an unknown measure, a parameter out of range. The command line exits with 2."""


class DataError(CranfieldError, ValueError):
    """The data is wrong: a file that cannot be read, a short line, a duplicate. The command line exits with 1.

    >>> str(DataError("robust.qrels", 1412, "3 columns, expected topic iteration doc grade"))
    'robust.qrels:1412: 3 columns, expected topic iteration doc grade'
    """

    def __init__(self, path: str, line: int | None, what: str) -> None:
        self.path = path
        self.line = line
        self.what = what
        super().__init__(f"{path}:{line}: {what}" if line else f"{path}: {what}")


class CranfieldWarning(UserWarning):
    """Something was passed over; the message says how many and which."""
