"""The door for text: whatever a request brings is text that the database and files can hold, or the request is refused.

Half of a surrogate pair (which JSON can write, as in "\\ud800") has no UTF-8, and PostgreSQL holds no NUL character.
Every body and form is read here, and the address of every request is checked here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.types import Scope

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


def json_object(content: bytes) -> Mapping[str, Any]:
    """The object that the body of a request holds."""
    try:
        body = json.loads(content.decode())
    except (ValueError, RecursionError):
        raise UsageError("the request is not valid JSON in UTF-8") from None
    if not isinstance(body, dict):
        raise UsageError("the request must be a JSON object")
    need_text(body)
    return body


async def json_body(request: Request) -> Mapping[str, Any]:
    """The object in the body of a request."""
    return json_object(await request.body())


async def form_of(request: Request, *, files: int = 0, fields: int = 100) -> FormData:
    """The form that a request brings; more files or fields than these numbers are refused."""
    form = await request.form(max_files=files, max_fields=fields)
    for name, value in form.multi_items():
        need_text(name, "the name of a field")
        need_text(value if isinstance(value, str) else value.filename or "", name)
    return form


def address_problem(scope: Scope) -> str | None:
    """What is wrong with the address of a request; None if it is text."""
    try:
        need_text(scope["path"], "the address")
        need_text(unquote_to_bytes(scope.get("query_string", b"")).decode("utf-8", "replace"), "the address")
    except UsageError as error:
        return str(error)
    return None
