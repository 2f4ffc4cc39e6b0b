"""The pages of assessors: judge, undo, look back, search."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import takewhile
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from cranfield.building.serve.database.database import Connection, StoreError
from cranfield.building.serve.database.schema import phrases
from cranfield.building.serve.project.accounts import JUDGES, Session
from cranfield.building.serve.project.judging import Given
from cranfield.building.serve.project.judging_modes import Document, Facet, Settings, left_is_first, read_answer
from cranfield.building.serve.project.judging_project import image_type
from cranfield.building.serve.project.judgment_log import Entry
from cranfield.building.serve.project.offer_memory import Offer
from cranfield.building.serve.project.offers import REPEAT_AFTER, Offers, recent_documents
from cranfield.building.serve.project.store import Store
from cranfield.building.serve.web.web_app import JUDGE, LOG, OUR_FAULT, STATUS, STRANGER, Pages, Site, for_role, site_of
from cranfield.building.serve.web.web_security import DOCUMENT_POLICY, FORGED, Checks, has_token, json_body, json_object
from cranfield.errors import CranfieldError, UsageError
from cranfield.text import shown

MOST_HISTORY = 100
MOST_NUGGET = 500
SNIPPET = 160


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


async def judge_page(request: Request, session: Session) -> Response:
    """The page to judge on, with the first documents in it."""
    site = site_of(request)
    given = await asyncio.wrap_future(site.judging.offers(session.assessor))
    pages = site.pages()
    settings = pages.settings
    version, guidelines = site.store.guidelines()
    topics = [
        {"id": id, "title": json.loads(data)["title"]}
        for id, data in site.store.database.read("SELECT id, data FROM topic ORDER BY position, id")
    ]
    state = {
        "csrf": session.csrf,
        "me": session.assessor,
        "mode": settings.mode,
        "grades": [{"value": value, "label": label} for value, label in settings.grades],
        "search": settings.search and settings.mode in ("graded", "intents", "dimensions", "nuggets"),
        "project": project_id(site),
        **answer(pages, given, session.assessor, ()),
    }
    return site.render(
        "judge.html", session, state=state, settings=settings, guidelines=guidelines, version=version, topics=topics,
        marks=len(settings.grades),
    )  # fmt: skip


def project_id(site: Site) -> str:
    """A name for the project in the browser's memory."""
    import hashlib

    return hashlib.sha256(site.store.origin.encode()).hexdigest()[:12]


def answer(pages: Pages, given: Given, assessor: str, have: Iterable[object]) -> dict[str, Any]:
    """What the page needs after a change: new documents, the order of all, and how far the work is."""
    known = {id for id in have if isinstance(id, int)}
    return {
        "open": [offer.id for offer in given.offers],
        "items": [pages.item(offer, assessor) for offer in given.offers if offer.id not in known],
        "progress": {"mine": given.mine, "done": given.done, "total": given.expected},
    }


def _offer(store: Store, session: Session, id: object) -> Offer:
    """An offer of this assessor; nobody can look at, or judge, what was offered to others."""
    rows = (
        store.database.glance(
            "SELECT id, topic, doc, purpose FROM offer WHERE id = ? AND assessor = ?", id, session.assessor
        )
        if type(id) is int and 0 < id < 2**62
        else []
    )
    if not rows:
        raise UsageError(f"offer {shown(id)} is not one of yours; reload the page")
    return Offer(*rows[0])


def known_offers(body: Mapping[str, Any]) -> list[object]:
    """The offers whose documents the page has already."""
    value = body.get("have", [])
    return value[:1000] if isinstance(value, list) else []


def entry_of(pages: Pages, session: Session, body: Mapping[str, Any], offers: Offers) -> tuple[Entry, Offer]:
    """The judgment that a page sends, checked, and the offer that it answers."""
    id = body.get("offer")
    offer = offers.open_offer(session.assessor, id) or _offer(pages.store, session, id)
    state = body.get("state", "graded")
    grade, payload = None, None
    if state == "graded":
        grade, payload = _read(pages, offer, session.assessor, body)
    request_id, reason, spent = body.get("request"), body.get("reason", ""), body.get("milliseconds")
    if not isinstance(request_id, str) or not isinstance(reason, str) or not isinstance(state, str):
        raise UsageError("request, reason and state must be text")
    entry = Entry(
        request_id, offer.topic, offer.doc, session.assessor, state, grade, payload, reason.strip(),
        spent if type(spent) is int else None, offer=offer.id,
    )  # fmt: skip
    return entry, offer


def _read(pages: Pages, offer: Offer, assessor: str, body: Mapping[str, Any]) -> tuple[float | None, Any]:
    settings = pages.settings
    text = ""
    if settings.mode == "nuggets":
        document = pages.store.document(offer.doc)
        text = document.text if document else ""
    flipped = settings.mode == "preferences" and not left_is_first(settings, assessor, offer.topic, offer.doc)
    read = read_answer(settings, body, pages.facets(offer.topic), text=text, flipped=flipped)
    payload = read.payload
    if settings.mode == "preferences" and payload is not None:
        first, second = pages.pair(offer)
        payload = {**payload, "first": first, "second": second}
    return read.grade, payload


async def undo(request: Request, session: Session) -> Response:
    """Take back the last judgments."""
    site = site_of(request)
    body = await json_body(request)
    request_id, times = body.get("request"), body.get("times", 1)
    if not isinstance(request_id, str) or not 8 <= len(request_id) <= 80 or type(times) is not int:
        raise UsageError("request must be text of 8 to 80 characters, and times a whole number")
    given = await asyncio.wrap_future(site.judging.undo(session.assessor, request_id, times=times))
    pages, row = site.pages(), given.row
    back: dict[str, Any] = {"undone": given.undone}
    if row is not None:
        back |= {"doc": row.doc if pages.settings.mode != "preferences" else "", "state": row.state, "grade": row.grade}
        back["first"] = next((o.id for o in given.offers if (o.topic, o.doc) == (row.topic, row.doc)), None)
    return JSONResponse({**back, **answer(pages, given, session.assessor, known_offers(body))})


async def offers(request: Request, session: Session) -> Response:
    """The next documents, of a topic if one is chosen; also renews the leases of an open page."""
    site = site_of(request)
    body = await json_body(request)
    topic = body.get("topic")
    given = await asyncio.wrap_future(
        site.judging.offers(session.assessor, topic=topic if isinstance(topic, str) else None)
    )
    return JSONResponse(answer(site.pages(), given, session.assessor, known_offers(body)))


async def history(request: Request, session: Session) -> Response:
    """The last judgments of this assessor that stand, the newest first, and how many an undo back to each takes back.

    If documents are judged a second time, only judgments that are too new for that are shown. How many these are does
    not depend on what the assessor has in view: that would tell which document comes again.
    """
    site = site_of(request)
    settings, read = site.store.settings(), site.store.database.read
    rows = await run_in_threadpool(
        read,
        """SELECT j.topic, j.doc, j.state, j.grade, j.reason, COALESCE(j.offer, r.offer)
        FROM standing_judgment AS j LEFT JOIN judgment AS r ON r.id = j.restores
        WHERE j.assessor = ? ORDER BY COALESCE(r.position, j.position) DESC LIMIT ?""",  # as they are taken back
        session.assessor,
        REPEAT_AFTER if settings.repeat_rate else MOST_HISTORY,
    )
    if settings.repeat_rate:
        recent = await run_in_threadpool(recent_documents, read, session.assessor)
        rows = list(takewhile(lambda row: row[:2] in recent, rows))
    blind = settings.mode == "preferences"
    entries = [
        {
            "topic": topic, "doc": "" if blind else doc, "state": state, "grade": grade, "reason": reason, "offer": id,
            "times": times,
        }
        for times, (topic, doc, state, grade, reason, id) in enumerate(rows, 1)
        if id is not None
    ]  # fmt: skip
    return JSONResponse({"judgments": entries})


async def item(request: Request, session: Session) -> Response:
    """A document that the assessor had before, with what was said of it."""
    site = site_of(request)
    offer = _offer(site.store, session, _number(request, "offer"))
    pages = site.pages()
    rows = site.store.database.read(
        """SELECT j.state, j.grade, j.payload, j.reason
        FROM standing_judgment AS j LEFT JOIN judgment AS r ON r.id = j.restores
        WHERE COALESCE(j.offer, r.offer) = ? AND j.assessor = ?""",
        offer.id,
        session.assessor,
    )
    data = pages.item(offer, session.assessor)
    if rows:
        state, grade, payload, reason = rows[0]
        data["given"] = {
            "state": state,
            "grade": grade,
            "reason": reason,
            **_shown(pages.settings, payload, offer, session),
        }
    return JSONResponse({"item": data})


def _shown(settings: Settings, payload: str | None, offer: Offer, session: Session) -> dict[str, Any]:
    """What was said, in the words of the page: left and right, not first and second."""
    said: dict[str, Any] = json.loads(payload) if payload else {}
    if settings.mode == "preferences" and said:
        straight = left_is_first(settings, session.assessor, offer.topic, offer.doc)
        sides = {"first": "left" if straight else "right", "second": "right" if straight else "left", "tie": "tie"}
        return {"preferred": sides[said["preferred"]]}
    return said


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


# ---- search


async def search(request: Request, session: Session) -> Response:
    """Documents of the collection that contain all words of a query."""
    site = site_of(request)
    if not site.store.settings().search:
        raise UsageError("the organiser has switched search off")
    query = request.query_params.get("q", "")[:500]
    documents = await run_in_threadpool(site.store.search, query, 20)
    results = [
        {"doc": document.id, "title": document.title, "snippet": snippet(document, query)} for document in documents
    ]
    return JSONResponse({"results": results})


def snippet(document: Document, query: str) -> str:
    """The beginning of a text, or the place where a word of the query is.

    >>> snippet(Document("d", "", "The wing of an aircraft flutters."), "aircraft")
    'The wing of an aircraft flutters.'
    """
    text = " ".join(document.text.split())
    low = text.casefold()
    places = [low.find(word.replace(" ", "").casefold()) for word in phrases(query)]
    start = max(0, min([place for place in places if place >= 0], default=0) - SNIPPET // 3)
    start = text.find(" ", start) + 1 if start and " " in text[start:] else start
    cut = text[start : start + SNIPPET]
    return f"{'…' if start else ''}{cut}{'…' if start + SNIPPET < len(text) else ''}"


async def find(request: Request, session: Session) -> Response:
    """Judge a document that the search found."""
    site = site_of(request)
    if not site.store.settings().search:
        raise UsageError("the organiser has switched search off")
    body = await json_body(request)
    topic, doc, query = (body.get(name) for name in ("topic", "doc", "query"))
    if not (isinstance(topic, str) and isinstance(doc, str) and isinstance(query, str)):
        raise UsageError("topic, doc and query must be text")
    given = await asyncio.wrap_future(site.judging.find(session.assessor, topic, doc, query[:500]))
    return JSONResponse({"item": site.pages().item(given.offers[0], session.assessor)})


async def add_nugget(request: Request, session: Session) -> Response:
    """A nugget that an assessor found missing."""
    site = site_of(request)
    body = await json_body(request)
    offer = _offer(site.store, session, body.get("offer"))
    text = body.get("text")
    if site.store.settings().mode != "nuggets":
        raise UsageError("nuggets are added only in the mode nuggets")
    if not isinstance(text, str) or not text.strip() or len(text) > MOST_NUGGET:
        raise UsageError(f"the text of a nugget must have 1 to {MOST_NUGGET} characters")
    facets = site.store.facets("nugget", offer.topic)
    same = [facet for facet in facets if facet.text == text.strip()]
    if not same:
        taken = {facet.id for facet in facets}
        id = next(f"n{number}" for number in range(1, len(taken) + 2) if f"n{number}" not in taken)
        facet = Facet(offer.topic, "nugget", id, text.strip())
        await run_in_threadpool(site.store.add_facets, [facet], by=session.assessor, keep=True)
    return JSONResponse(
        {
            "nuggets": [
                {"id": facet.id, "text": facet.text, "type": facet.type} for facet in site.pages().facets(offer.topic)
            ]
        }
    )


# ---- documents that are not text


def _document(site: Site, request: Request, session: Session) -> Document:
    offer = _offer(site.store, session, _number(request, "offer"))
    pages = site.pages()
    name = offer.doc
    if pages.settings.mode == "preferences":
        sides = pages.pair(offer)
        straight = left_is_first(pages.settings, session.assessor, offer.topic, offer.doc)
        name = sides[(_number(request, "side") or 0) != (0 if straight else 1)]
    document = site.store.document(name)
    if document is None:
        raise UsageError("there is no such document")
    return document


async def page(request: Request, session: Session) -> Response:
    """A page of the collection, for a frame in which nothing runs."""
    document = _document(site_of(request), request, session)
    html = str((document.extra or {}).get("html", ""))
    return HTMLResponse(html, headers={"content-security-policy": DOCUMENT_POLICY})


async def image(request: Request, session: Session) -> Response:
    """An image of the collection."""
    document = _document(site_of(request), request, session)
    path = str((document.extra or {}).get("image", ""))
    kind = image_type(path) if path else None
    if kind is None:
        raise UsageError("this document has no image")
    return FileResponse(path, media_type=kind)


# ---- judgments


class Refusal(UsageError):
    """A request that is refused, with the code of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class JudgmentCall:
    """`POST /api/judge`: record a judgment. The answer comes when it is on disk, with the next document.

    This is the call that people wait for with every key, so it is an ASGI application of its own, without the layers of
    a web framework. It makes the same checks as every other page (`Checks`, `Site.session`, `Site.denial`,
    `has_token`), and adds the same headers.
    """

    def __init__(self, site: Site, checks: Checks) -> None:
        self.site = site
        self.checks = checks
        self.most = checks.most(JUDGE)
        self.headers = [(name.encode(), value.encode()) for name, value in checks.headers.items()]
        self.headers.append((b"content-type", b"application/json"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}
        refusal = self.checks.refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > self.most:
                await self.checks.too_large(JUDGE)(scope, receive, send)
                return
            if not message.get("more_body"):
                break
        status, content = await self._answer(headers, body)
        data = _ENCODER.encode(content).encode()
        length = (b"content-length", str(len(data)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [*self.headers, length]})
        await send({"type": "http.response.body", "body": data})

    async def _answer(self, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        """The code and content of the answer."""
        try:
            return 200, await self.site.judging.in_loop(partial(self._change, headers, body))
        except Refusal as refusal:
            return refusal.status, {"error": str(refusal)}
        except StoreError as error:
            LOG.error("%s", error)
            return STATUS.get(error.kind, 503), {"error": str(error)}
        except CranfieldError as error:
            return 400, {"error": str(error)}
        except Exception:
            LOG.exception("POST %s", JUDGE)
            return 500, {"error": OUR_FAULT}

    def _change(self, headers: dict[str, str], body: bytes, connection: Connection, offers: Offers) -> dict[str, Any]:
        """Check who sends what, and record it, all in one transaction."""
        site = self.site
        session = site.session(headers)
        if session is None:
            raise Refusal(401, STRANGER)
        if denial := site.denial(session, JUDGES, JUDGE):
            raise Refusal(403, denial)
        if not has_token(session, headers.get("x-csrf-token")):
            raise Refusal(403, FORGED)
        sent, pages = json_object(body), site.pages()
        entry, offer = entry_of(pages, session, sent, offers)
        given = site.judging.record(connection, offers, entry, offer)
        return {"saved": True, **answer(pages, given, session.assessor, known_offers(sent))}


ROUTES = [
    Route("/judge", for_role(judge_page)),
    Route("/api/undo", for_role(undo), methods=["POST"]),
    Route("/api/offers", for_role(offers), methods=["POST"]),
    Route("/api/history", for_role(history)),
    Route("/api/item", for_role(item)),
    Route("/api/search", for_role(search)),
    Route("/api/find", for_role(find), methods=["POST"]),
    Route("/api/nugget", for_role(add_nugget), methods=["POST"]),
    Route("/page", for_role(page)),
    Route("/image", for_role(image)),
]
