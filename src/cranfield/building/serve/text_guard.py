"""Text that the database and files can hold.

Half of a surrogate pair (which JSON can write, as in "\\ud800") has no UTF-8, and PostgreSQL holds no NUL character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cranfield.errors import UsageError

_WRONG = re.compile("[\0\ud800-\udfff]")


def need_text(value: Any, name: str = "") -> None:
    """Raise an error for text, also within lists and mappings, that holds something other than characters.

    >>> need_text({"reason": "half \\ud83d of a pair"})
    Traceback (most recent call last):
    ...
    cranfield.errors.UsageError: reason has U+D83D at character 6, which is not a character; take it out and try again
    """
    waiting = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str):
            found = _WRONG.search(value)
            if found:
                code, place = f"U+{ord(found[0]):04X}", found.start() + 1
                raise UsageError(
                    f"{name} has {code} at character {place:,}, which is not a character; take it out and try again"
                )
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                waiting += [("a name", key), (str(key) if isinstance(inner, str) else name or str(key), inner)]
        elif isinstance(value, list | tuple):
            waiting += [(name, inner) for inner in value]
