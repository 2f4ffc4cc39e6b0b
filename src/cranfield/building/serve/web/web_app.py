"""The application: routes, sessions, errors, downloads, and what a browser gets of a document.

Pages are in `judging_pages` and `organiser_pages`. They show the text and topic of a document, and nothing that tells
where it is from: runs, ranks, estimates, the purpose of an offer and the grades of others stay on the server.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import logging
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from cranfield.building.serve.database.database import StoreError
from cranfield.building.serve.database.schema import marked_words
from cranfield.building.serve.project import accounts
from cranfield.building.serve.project.accounts import JUDGES, Session
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.judging_modes import (
    LIST_DEPTH,
    Document,
    Facet,
    Settings,
    facet_kind,
    left_is_first,
    list_key,
    rows_to_grade,
)
from cranfield.building.serve.project.offer_memory import Offer
from cranfield.building.serve.project.store import Store
from cranfield.building.serve.web.limits import LoginLimit
from cranfield.building.serve.web.web_security import (
    FORGED,
    MOST_BODY,
    READS,
    Checks,
    Guard,
    cookie,
    form_of,
    has_token,
    page_policy,
    set_cookie,
)
from cranfield.errors import CranfieldError


@dataclass(frozen=True)
class Pages:
    """Makes the data of pages."""

    store: Store
    settings: Settings

    def topic(self, id: str) -> dict[str, Any]:
        """A topic as the page shows it."""
        data = self.store.topic_data(id)
        shown = {name: data[name] for name in ("id", "title", "description", "narrative")}
        return {**shown, "words": marked_words(shown["title"])}

    def item(self, offer: Offer, assessor: str) -> dict[str, Any]:
        """A document as the page shows it."""
        facets = self.facets(offer.topic)
        rows = [{"id": row.id, "label": row.label, "help": row.help} for row in rows_to_grade(self.settings, facets)]
        data: dict[str, Any] = {"offer": offer.id, "topic": self.topic(offer.topic), "rows": rows}
        if self.settings.mode == "nuggets":
            data["nuggets"] = [{"id": facet.id, "text": facet.text, "type": facet.type} for facet in facets]
        if self.settings.mode == "preferences":
            names = self.pair(offer)
            if not left_is_first(self.settings, assessor, offer.topic, offer.doc):
                names = names[::-1]
            sides = [self._side(offer.topic, name, offer.id, at) for at, name in enumerate(names)]
            return {**data, "doc": "", "sides": sides}
        return {**data, **self.document(offer.doc, f"offer={offer.id}")}

    def facets(self, topic: str) -> list[Facet]:
        """The intents or nuggets of a topic that the mode works with."""
        kind = facet_kind(self.settings.mode)
        return self.store.facets(kind, topic) if kind else []

    def pair(self, offer: Offer) -> tuple[str, str]:
        """The two documents or lists that an offer compares."""
        rows = self.store.database.glance("SELECT audit FROM pool WHERE topic = ? AND doc = ?", offer.topic, offer.doc)
        audit = json.loads(rows[0][0])
        return str(audit["first"]), str(audit["second"])

    def _side(self, topic: str, name: str, offer: int, at: int) -> dict[str, Any]:
        """One of two documents, or the first documents of one of two lists, whose name is not shown."""
        rows = self.store.database.glance("SELECT value FROM setting WHERE name = ?", list_key(topic, name))
        if not rows:
            return {"documents": [self.document(name, f"offer={offer}&side={at}")]}
        docs = json.loads(rows[0][0])[:LIST_DEPTH]
        return {"documents": [{**self.document(doc, ""), "rank": rank} for rank, doc in enumerate(docs, 1)]}

    def document(self, id: str, where: str) -> dict[str, Any]:
        """The text of a document, and the addresses of its page and image."""
        document = self.store.document(id) or Document(id, "", "", "missing")
        data: dict[str, Any] = {"doc": id, "title": document.title, "text": document.text, "kind": document.kind}
        extra = document.extra or {}
        if document.kind == "html" and where:
            data["page"] = f"/page?{where}"
        if document.kind == "image" and where:
            data["image"] = f"/image?{where}"
        if self.settings.url is not None:
            data["link"] = self.settings.url.replace("{doc}", quote(id, safe=""))
        elif str(extra.get("url", "")).startswith(("http://", "https://")):
            data["link"] = extra["url"]
        return data


HERE = Path(__file__).parent
Handler = Callable[[Request, Session], Awaitable[Response]]
JUDGE = "/api/judge"
STATUS = {"locked": 503, "full": 507, "damaged": 500, "closed": 503, "gone": 503, "text": 400}
"""{kind of trouble with the database: code of the answer}."""
STRANGER = "you are not logged in"
NOT_DONE = "This did not work"
NOT_SAVED = "Nothing of this change was saved."
OUR_FAULT = f"The server has a problem; its terminal shows more. {NOT_SAVED}"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a full disk answers: no space, a quota, or a limit of the size of files."""
LOG = logging.getLogger("cranfield.serve")
BLOCK = 1 << 16
"""Bytes of a download that are read at a time."""


@dataclass
class Site:
    """What all pages share."""

    store: Store
    judging: Judging
    open_to_key: str | None = None
    """The secret of the local user, if the project has no passwords."""
    local_user: str = "me"
    secure: bool = False
    limit: LoginLimit = field(default_factory=LoginLimit)
    hashing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    """Hashing a password takes 16 MB: only a few at a time."""
    folders: tuple[Path, ...] = (HERE,)
    """Where templates and static files are, in this order."""

    def links(self, session: Session | None) -> Sequence[tuple[str, str]]:
        """The address and text of the links at the top of every page."""
        return (("/judge", "Judge"), ("/organise", "Organise")) if session and session.role == "organiser" else ()

    def refusal(self, path: str) -> str | None:
        """Why a page is closed to everybody at the moment; None if it is open."""
        return None

    def copying(self) -> str:
        """What to copy to keep everything, and how."""
        return self.store.database.engine.copying("COPY.db")

    @cached_property
    def templates(self) -> Environment:
        """The pages."""
        made = Environment(
            loader=FileSystemLoader([folder / "templates" for folder in self.folders]), autoescape=True,
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        made.globals["static"] = self._static
        return made

    @cached_property
    def _digests(self) -> dict[str, str]:
        paths = [path for folder in self.folders for path in (folder / "static").iterdir()]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in paths}

    def _static(self, name: str) -> str:
        """The address of a file, which changes with its content, so that browsers may keep it."""
        return f"/static/{name}?v={self._digests[name]}"

    def pages(self) -> Pages:
        """What pages show, with the settings of now."""
        return Pages(self.store, self.store.settings())

    def session(self, headers: Mapping[str, str]) -> Session | None:
        """Who sends a request with these headers."""
        token = cookie(headers, secure=self.secure)
        return accounts.session(self.store, token) if token else None

    async def entered(self, request: Request, name: str, page: str = "/", *, kept: str | None = None) -> Response:
        """Log a person in, and lead to a page. `kept` is the hash of the password that was right, if it was asked."""
        token = await run_in_threadpool(accounts.start_session, self.store, name, kept)
        response = RedirectResponse(page, 303)
        seconds = accounts.SESSION_SECONDS
        set_cookie(response, request.headers, token, secure=self.secure, seconds=seconds)
        return response

    def denial(self, session: Session, roles: Sequence[str], path: str) -> str | None:
        """Why somebody may not see a page that is for some roles; None if it is open."""
        if session.role not in roles:
            return f"only an {' or '.join(roles)} may do this"
        return self.refusal(path)

    def render(self, template: str, session: Session | None, status: int = 200, **values: Any) -> HTMLResponse:
        """A page."""
        title = values.pop("title", None) or self.store.settings().title
        page = self.templates.get_template(template).render(
            session=session,
            csrf=session.csrf if session else "",
            project=title,
            links=self.links(session),
            local_user=self.open_to_key is not None,
            **values,
        )
        return HTMLResponse(page.encode("utf-8", "backslashreplace"), status)  # a name may hold other bytes

    def problem(self, status: int, message: str) -> HTMLResponse:
        """The page that says what did not work, also if that is the database."""
        try:
            return self.render("message.html", None, status, heading=NOT_DONE, message=message)
        except StoreError:
            return HTMLResponse(f"<!doctype html><title>{NOT_DONE}</title><p>{escape(message)}</p>", status)


def site_of(request: Request) -> Site:
    """What all pages share."""
    site: Site = request.app.state.site
    return site


def for_role(handler: Handler, *roles: str, files: int = 0) -> Callable[[Request], Awaitable[Response]]:
    """Let only people with one of the roles in, by default those who judge, and check that changes are really theirs.

    `files` is the number of files that a form may have.
    """
    allowed = roles or JUDGES

    async def endpoint(request: Request) -> Response:
        site = site_of(request)
        api = request.url.path.startswith("/api/")
        session = site.session(request.headers)
        if session is None:
            if api:
                return JSONResponse({"error": STRANGER}, 401)
            return RedirectResponse("/login", 303)
        if denial := site.denial(session, allowed, request.url.path):
            return failure(request, 403, denial)
        if request.method not in READS:
            token: object = request.headers.get("x-csrf-token")
            if token is None and not api:
                token = (await form_of(request, files=files)).get("csrf")
            if not has_token(session, token):
                return failure(request, 403, FORGED)
        return await handler(request, session)

    return endpoint


def failure(request: Request, status: int, message: str) -> Response:
    """An error as the page or the script that asked can show it."""
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": message}, status)
    return site_of(request).problem(status, message)


async def download_of(write: Callable[[IO[bytes]], None], name: str, kind: str) -> Response:
    """The answer with what `write` writes, as a file with this name.

    It is written to a temporary file first: so an error is a page and not half a file, and a slow reader does not keep
    a transaction of the database open.
    """

    def written() -> IO[bytes]:
        file = tempfile.TemporaryFile()  # noqa: SIM115  (closed when it is sent)
        try:
            write(file)
        except BaseException:
            file.close()
            raise
        return file

    file = await run_in_threadpool(written)
    headers = {"content-disposition": f'attachment; filename="{name}"', "content-length": str(file.tell())}
    file.seek(0)
    return StreamingResponse(_blocks(file), media_type=kind, headers=headers)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while block := file.read(BLOCK):
            yield block


async def home(request: Request, session: Session) -> Response:
    """The first page: judging, or the overview for organisers of a project with several people."""
    return RedirectResponse("/judge", 303)


async def not_possible(request: Request, error: Exception) -> Response:
    """The answer to a request that cannot be fulfilled, with the reason."""
    if isinstance(error, StoreError):
        LOG.error("%s", error)
        return failure(request, STATUS.get(error.kind, 503), str(error))
    return failure(request, 400, str(error))


async def no_file(request: Request, error: Exception) -> Response:
    """The answer if a file cannot be kept, because the disk is full."""
    if not isinstance(error, OSError) or error.errno not in FULL:
        raise error
    LOG.error("%s", error)
    return failure(request, STATUS["full"], f"The server cannot keep the file: {error.strerror}. {NOT_SAVED}")


async def no_page(request: Request, error: Exception) -> Response:
    """The answer to an unknown address or method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 400 and isinstance(error, HTTPException):
        return failure(request, status, f"The request cannot be read: {error.detail}")
    return failure(request, status, {404: "There is no such page.", 405: "This is not possible."}.get(status, "Error"))


async def nobody_there(request: Request, error: Exception) -> Response:
    """The answer if the other side left in the middle of a request: nobody reads it."""
    return Response(status_code=400)


async def our_fault(request: Request, error: Exception) -> Response:
    """The answer to a bug: no details go out, they are in the log of the server."""
    LOG.exception("%s %s", request.method, request.url.path)
    return failure(request, 500, OUR_FAULT)


class KeptFiles(StaticFiles):
    """Files that a browser may keep, since their address changes with their content."""

    def __init__(self, folders: Sequence[Path]) -> None:
        super().__init__(directory=folders[0])
        self.all_directories = list(folders)

    def file_response(self, *args: Any, **more: Any) -> Response:
        response = super().file_response(*args, **more)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


def make_app(
    site: Site,
    *,
    hosts: Sequence[str] = (),
    routes: Sequence[BaseRoute] = (),
    most_body: int = MOST_BODY,
    uploads: Mapping[str, int] = MappingProxyType({}),
) -> Starlette:
    """The server as an ASGI application. `hosts` are the names by which it may be called; none: any name.

    `routes` come before those of judging. `uploads` has the most bytes of a request to pages that take files.
    """
    from cranfield.building.serve.web.account_pages import ROUTES as ENTERING
    from cranfield.building.serve.web.judging_pages import ROUTES as JUDGING
    from cranfield.building.serve.web.judging_pages import JudgmentCall
    from cranfield.building.serve.web.organiser_pages import ROUTES as ORGANISING

    url = site.store.settings().url
    frames = "{0.scheme}://{0.netloc}".format(urlsplit(url)) if url else ""
    checks = Checks(
        hosts=frozenset(name.lower() for name in hosts),
        policy=page_policy(frames),
        secure=site.secure,
        most_body=most_body,
        uploads=uploads,
        page=site.problem,
    )
    judge = JudgmentCall(site, checks)
    handlers: Mapping[Any, Any] = {
        404: no_page, 405: no_page, HTTPException: no_page, CranfieldError: not_possible, OSError: no_file,
        ClientDisconnect: nobody_there, Exception: our_fault,
    }  # fmt: skip
    app = JudgingApp(
        routes=[
            *routes,
            Route("/", for_role(home)),
            *ENTERING,
            Route(JUDGE, judge, methods=["POST"]),
            *JUDGING,
            *ORGANISING,
            Mount("/static", KeptFiles([folder / "static" for folder in site.folders])),
        ],
        middleware=[Middleware(Guard, checks)],
        exception_handlers=handlers,
    )
    app.state.site = site
    app.judge = judge
    return app


class JudgingApp(Starlette):
    """The application. The call that people wait for with every key does not go through its layers."""

    judge: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == JUDGE and scope["method"] == "POST":
            await self.judge(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)
