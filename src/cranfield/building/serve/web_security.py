"""Who may call the server, and what browsers may do with its pages.

Every page has a Content-Security-Policy that allows only our own scripts and styles. A change needs the secret of the
session (CSRF token) and must come from our own pages. A request must name the server by one of its own names, so that
no other site can reach a local server through a name that it controls (DNS rebinding).
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cranfield.building.serve.accounts import Session
from cranfield.errors import UsageError

COOKIE = "cranfield_session"
MOST_BODY = 1_000_000
"""The most bytes of a request to a page of this server."""
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
DOCUMENT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""For a page of the collection, which is hostile: no scripts, no forms, no network."""


def page_policy(frames: str = "") -> str:
    """The Content-Security-Policy of our own pages; `frames` is another server whose documents are shown."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        f"frame-src 'self'{' ' + frames if frames else ''}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


class Checks:
    """What every request must be like, and the headers of every answer."""

    def __init__(
        self,
        *,
        hosts: frozenset[str],
        policy: str,
        secure: bool,
        most_body: int,
        uploads: Mapping[str, int],
    ) -> None:
        self.hosts = hosts
        self.most_body = most_body
        self.uploads = uploads
        self.headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",  # with no-referrer, browsers do not say that our own forms are ours
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), microphone=(), geolocation=()",
            "cache-control": "no-store",
        }
        if secure:
            self.headers["strict-transport-security"] = "max-age=31536000"

    def most(self, path: str) -> int:
        """The most bytes of a request to a page."""
        return self.uploads.get(path, self.most_body)

    def refusal(self, headers: Mapping[str, str], path: str) -> Response | None:
        """The answer to a request that calls the server by another name, or is too long; None if it is neither."""
        host = headers.get("host", "").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if self.hosts and name not in self.hosts and host not in self.hosts:
            return PlainTextResponse(f"this server is not called {host[:100]!r}", 421)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.most(path):
            return too_large(self.most(path))
        return None


class Guard:
    """ASGI middleware: checks the host, bounds the body, adds headers, and turns nothing into a traceback."""

    def __init__(self, app: ASGIApp, checks: Checks) -> None:
        self.app = app
        self.checks = checks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self.checks.refusal(Headers(scope=scope), scope["path"])
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        most, received = self.checks.most(scope["path"]), 0

        async def bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise BodyTooLarge
            return message

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                out = MutableHeaders(scope=message)
                for key, value in self.checks.headers.items():
                    out.setdefault(key, value)
            await send(message)

        try:
            await self.app(scope, bounded, with_headers)
        except BodyTooLarge:
            await too_large(most)(scope, receive, with_headers)


class BodyTooLarge(Exception):
    """More bytes than a request may have."""


def too_large(most: int) -> Response:
    """The answer to a request that is too long."""
    return JSONResponse({"error": f"the request is too long: at most {most:,} bytes are allowed"}, 413)


def same_origin(headers: Mapping[str, str]) -> bool:
    """Does a request come from our own pages? Browsers say where a request that changes something comes from."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        return False
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def has_token(session: Session, token: object) -> bool:
    """Is this the secret of the session?"""
    return isinstance(token, str) and hmac.compare_digest(token.encode(), session.csrf.encode())


async def json_body(request: Request) -> Mapping[str, Any]:
    """The object in the body of a request."""
    return json_object(await request.body())


def json_object(text: bytes) -> Mapping[str, Any]:
    """The object that the body of a request holds."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError("the request is not valid JSON") from None
    if not isinstance(body, dict):
        raise UsageError("the request must be a JSON object")
    return body


def set_cookie(response: Response, token: str, *, secure: bool, seconds: float) -> None:
    """Keep the session in the browser, out of reach of scripts and of other sites."""
    response.set_cookie(COOKIE, token, max_age=int(seconds), httponly=True, samesite="strict", secure=secure, path="/")
