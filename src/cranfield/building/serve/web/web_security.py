"""Who may call the server, and what browsers may do with its pages.

Every page has a Content-Security-Policy that allows only our own scripts and styles. `Checks` looks at every request
before any page does: one that may change something must come from our own pages, and all must name the server by one of
its own names, so that no other site can reach a local server through a name that it controls (DNS rebinding). A change
by somebody who is logged in needs the secret of the session (CSRF token) too. Every body and form is read here.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cranfield.building.serve.database.schema import need_text
from cranfield.building.serve.project.accounts import Session
from cranfield.errors import UsageError

MOST_BODY = 1_000_000
"""The most bytes of a request to a page of this server."""
READS = ("GET", "HEAD")
"""The methods that change nothing."""
FORGED = "this does not come from a page of this server; reload the page and try again"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
DOCUMENT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""For a page of the collection, which is hostile: no scripts, no forms, no network."""


def page_policy(frames: str = "") -> str:
    """The Content-Security-Policy of our own pages; `frames` is another server whose documents are shown."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        f"frame-src 'self'{' ' + frames if frames else ''}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


SINGLE = frozenset({b"host", b"origin", b"referer", b"sec-fetch-site", b"x-csrf-token", b"content-type"})
"""Headers that say where a request goes, and from where it comes."""


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
        page: Callable[[int, str], Response],
    ) -> None:
        """`page` makes the page that shows a status and a message, for people; scripts get JSON."""
        self.hosts = hosts
        self.secure = secure
        self.page = page
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

    def refusal(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        """The answer to a request that names another server, comes from another site, or is too long; else None."""
        method, path = scope["method"], scope["path"]
        single = [name for name, _ in scope["headers"] if name in SINGLE]
        if len(single) != len(set(single)):  # which of them is true?
            return self.bad_request(path, "a header that may come once comes twice")
        host = headers.get("host", "").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if self.hosts and name not in self.hosts and host not in self.hosts:
            return self._with_headers(PlainTextResponse(f"this server is not called {host[:100]!r}", 421))
        if method not in READS and not same_origin(headers, secure=self.secure):
            return self._with_headers(self.refused(path, 403, FORGED))
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.most(path):
            return self._with_headers(self.too_large(path))
        return None

    def refused(self, path: str, status: int, message: str) -> Response:
        """An error as the page or the script that asked can show it."""
        return JSONResponse({"error": message}, status) if path.startswith("/api/") else self.page(status, message)

    def too_large(self, path: str) -> Response:
        """The answer to a request that is too long."""
        return self.refused(path, 413, f"the request is too long: at most {self.most(path):,} bytes are allowed")

    def bad_request(self, path: str, problem: str) -> Response:
        """The answer to a request that cannot be read."""
        return self._with_headers(self.refused(path, 400, f"The request cannot be read: {problem}"))

    def _with_headers(self, response: Response) -> Response:
        response.headers.update(self.headers)
        return response


class Guard:
    """ASGI middleware: checks the host, bounds the body, adds headers, and turns nothing into a traceback."""

    def __init__(self, app: ASGIApp, checks: Checks) -> None:
        self.app = app
        self.checks = checks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self.checks.refusal(scope, Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        problem = address_problem(scope)
        if problem is not None:
            await self.checks.bad_request(scope["path"], problem)(scope, receive, send)
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
            await self.checks.too_large(scope["path"])(scope, receive, with_headers)


class BodyTooLarge(Exception):
    """More bytes than a request may have."""


def same_origin(headers: Mapping[str, str], *, secure: bool = False) -> bool:
    """Does a request come from our own pages? Browsers say where a request that changes something comes from.

    `secure`: our own pages come over TLS. Otherwise they may too, from a proxy. Without an origin, the page that the
    request comes from is looked at; without both, it comes from a program, not from another site.

    >>> [same_origin({"host": "a.org", "origin": f"{scheme}://a.org"}, secure=True) for scheme in ("http", "https")]
    [False, True]
    """
    origin = headers.get("origin", headers.get("referer"))
    if origin is not None:
        try:
            from_ = urlsplit(origin)
        except ValueError:  # no address at all
            return False
        if from_.scheme not in (("https",) if secure else ("http", "https")):
            return False
        if from_.netloc.lower() != headers.get("host", "").lower():
            return False
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def has_token(session: Session, token: object) -> bool:
    """Is this the secret of the session?"""
    return isinstance(token, str) and hmac.compare_digest(token.encode(), session.csrf.encode())


# ---- cookies


def cookie_name(headers: Mapping[str, str], kind: str = "session", *, secure: bool) -> str:
    """The name of a cookie. Servers on several ports of a host share their cookies, so the name carries the port.

    >>> cookie_name({"host": "localhost:8500"}, secure=False)
    'cranfield_session_8500'
    """
    port = headers.get("host", "").rpartition(":")[2]
    name = f"cranfield_{kind}_{port}" if port.isascii() and port.isdigit() else f"cranfield_{kind}"
    return f"__Host-{name}" if secure else name


def cookie(headers: Mapping[str, str], kind: str = "session", *, secure: bool) -> str | None:
    """The content of a cookie of this server."""
    return cookie_parser(headers.get("cookie", "")).get(cookie_name(headers, kind, secure=secure))


def set_cookie(
    response: Response, headers: Mapping[str, str], content: str, kind: str = "session", *, secure: bool, seconds: float
) -> None:
    """Keep something in the browser that sent a request with these headers, out of reach of scripts and other sites."""
    name = cookie_name(headers, kind, secure=secure)
    response.set_cookie(name, content, max_age=int(seconds), httponly=True, samesite="strict", secure=secure, path="/")


# ---- text: whatever a request brings can be held by the database and files, or the request is refused


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
