"""The door for text: whatever a request brings is text that the database and files can hold, or the request is refused.

Every body and form is read here, and the address of every request is checked here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.types import Scope

from cranfield.building.serve.text_guard import need_text
from cranfield.errors import UsageError


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
