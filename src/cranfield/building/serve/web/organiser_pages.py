"""The pages of organisers: progress, pace and agreement, who judged what, guidelines, people, intents, downloads."""

from __future__ import annotations

import math
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import IO, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cranfield import check
from cranfield.building.serve.project import accounts
from cranfield.building.serve.project.accounts import Session
from cranfield.building.serve.project.exporting import EXPORTS, export_lines
from cranfield.building.serve.project.judging_modes import SHARES, Facet, facet_kind
from cranfield.building.serve.project.judging_status import live_agreement, pace, status
from cranfield.building.serve.web.web_app import Site, download_of, for_role, site_of
from cranfield.building.serve.web.web_security import form_of
from cranfield.errors import UsageError
from cranfield.record import rows_of
from cranfield.text import shown

ROWS = 50
"""Judgments on a page of the log."""
WIDTH, HEIGHT = 560, 150
"""The size of a chart."""


async def overview(request: Request, session: Session) -> Response:
    """Progress, people, agreement."""
    site = site_of(request)
    values = await run_in_threadpool(_overview, site)
    return site.render("organise.html", session, **values, new_password=None)


def _overview(site: Site) -> dict[str, Any]:
    state = status(site.store)
    version, guidelines = site.store.guidelines()
    names = ("name", "judgments", "cannot", "later", "checks", "seconds", "gold", "again")
    people = rows_of(dict(zip(names, state.columns().values(), strict=True)))
    return {
        "state": state,
        "people": people,
        "topics": state.by_topic().rows,
        "agreement": live_agreement(site.store),
        "charts": [chart for name in state.assessors if (chart := _chart(site, name))],
        "guidelines": guidelines,
        "version": version,
        "accounts": accounts.accounts(site.store),
        "local": site.open_to_key is not None,
        "settings": site.store.settings(),
        "shares": SHARES,
        "exports": EXPORTS,
        "copying": site.copying(),
        "facets": site.store.facets(facet_kind(site.store.settings().mode) or ""),
        "kind": facet_kind(site.store.settings().mode),
        "number": _number,
    }


def _number(value: float | None, digits: int = 2) -> str:
    """A number for a table; a dash if it is undefined."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _chart(site: Site, name: str) -> dict[str, Any] | None:
    """The pace of an assessor as points of a line; seconds from the top of the chart down, gold beside."""
    steps = [step for step in pace(site.store, name) if not math.isnan(step.seconds)]
    if len(steps) < 2:
        return None
    top = max(step.seconds for step in steps) or 1.0
    across = (WIDTH - 60) / (len(steps) - 1)
    points = [(40 + at * across, HEIGHT - 25 - (HEIGHT - 45) * step.seconds / top) for at, step in enumerate(steps)]
    gold = [
        (40 + at * across, HEIGHT - 25 - (HEIGHT - 45) * step.gold)
        for at, step in enumerate(steps)
        if step.gold is not None
    ]
    return {
        "name": name,
        "top": f"{top:.1f} s",
        "line": " ".join(f"{x:.1f},{y:.1f}" for x, y in points),
        "gold": [(f"{x:.1f}", f"{y:.1f}") for x, y in gold],
        "steps": steps,
        "width": WIDTH,
        "height": HEIGHT,
    }


async def log_page(request: Request, session: Session) -> Response:
    """Who judged what, when, how long, in which order."""
    site = site_of(request)
    name = request.query_params.get("assessor", "")
    before = request.query_params.get("before", "")
    last = int(before) if before.isascii() and before.isdigit() and len(before) < 18 else 2**62
    rows = await run_in_threadpool(
        site.store.database.read,
        f"""SELECT id, judged_at, assessor, position, topic, doc, action, state, grade, milliseconds, purpose, counted,
        reason, guideline FROM judgment WHERE id < ? AND (assessor = ? OR ? = '') ORDER BY id DESC LIMIT {ROWS}""",
        last,
        name,
        name,
    )
    entries = [
        {
            "id": id, "when": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S"), "assessor": who,
            "order": order, "topic": topic, "doc": doc, "what": state if action == "judge" else f"undo to {state}",
            "grade": "" if grade is None else f"{grade:g}", "seconds": "" if ms is None else f"{ms / 1000:.1f}",
            "purpose": purpose, "counts": "yes" if counts else "", "reason": reason, "guideline": guideline or "",
        }
        for id, at, who, order, topic, doc, action, state, grade, ms, purpose, counts, reason, guideline in rows
    ]  # fmt: skip
    names = [account.name for account in accounts.accounts(site.store)]
    older = entries[-1]["id"] if len(entries) == ROWS else None
    return site.render("log.html", session, entries=entries, names=names, chosen=name, older=older)


async def write_guidelines(request: Request, session: Session) -> Response:
    """A new version of the guidelines."""
    site = site_of(request)
    text = str((await form_of(request)).get("text", "")).replace("\r\n", "\n").strip()
    await run_in_threadpool(site.store.write_guidelines, text, session.assessor)
    return RedirectResponse("/organise#guidelines", 303)


async def add_account(request: Request, session: Session) -> Response:
    """A new person; the password is made here and shown once."""
    site = site_of(request)
    if site.open_to_key is not None:
        raise UsageError("this project has no passwords; stop the server and add accounts in the terminal first")
    form = await form_of(request)
    name, role = str(form.get("name", "")).strip(), str(form.get("role", "assessor"))
    check.one_of("", accounts.JUDGES, role=role)
    password = secrets.token_urlsafe(9)
    await run_in_threadpool(partial(accounts.add_account, new=True), site.store, name, role, password)
    return await _with_password(site, session, name, password)


async def new_password(request: Request, session: Session) -> Response:
    """A new password for somebody who has lost theirs; the role stays."""
    site = site_of(request)
    name = str((await form_of(request)).get("name", ""))
    if name == session.assessor:
        raise UsageError("change your own password at /password")
    if any(account.name == name and account.role == "team" for account in accounts.accounts(site.store)):
        raise UsageError(f"{shown(name)} is a team; make its password on the page Campaign")
    password = secrets.token_urlsafe(9)
    await run_in_threadpool(accounts.set_password, site.store, name, password)
    return await _with_password(site, session, name, password)


async def _with_password(site: Site, session: Session, name: str, password: str) -> Response:
    """The overview, with a password that is shown once."""
    values = await run_in_threadpool(_overview, site)
    return site.render("organise.html", session, **values, new_password=(name, password))


async def change_role(request: Request, session: Session) -> Response:
    """Make somebody an assessor or an organiser."""
    form = await form_of(request)
    name, role = str(form.get("name", "")), str(form.get("role", ""))
    await run_in_threadpool(accounts.set_role, site_of(request).store, name, role)
    return RedirectResponse("/" if name == session.assessor else "/organise#accounts", 303)


async def switch_account(request: Request, session: Session) -> Response:
    """Keep a person out, or let a person in again."""
    form = await form_of(request)
    name = str(form.get("name", ""))
    if name == session.assessor:
        raise UsageError("you cannot switch off your own account")
    await run_in_threadpool(accounts.set_active, site_of(request).store, name, form.get("active") == "1")
    return RedirectResponse("/organise#accounts", 303)


async def change_facet(request: Request, session: Session) -> Response:
    """Change the text, type and probability of an intent or nugget."""
    site = site_of(request)
    kind = facet_kind(site.store.settings().mode)
    if kind is None:
        raise UsageError("this mode has neither intents nor nuggets")
    form = await form_of(request)
    topic, id, text, type_ = (str(form.get(name, "")).strip()[:500] for name in ("topic", "id", "text", "type"))
    if not site.store.database.read("SELECT 1 FROM topic WHERE id = ?", topic):
        raise UsageError(f"there is no topic {shown(topic)}")
    if not id or any(character.isspace() for character in id):
        raise UsageError(f"the id of an {kind} is {shown(id)}, must be a word without blanks")
    weight = str(form.get("weight", "")).strip()
    facet = Facet(topic, kind, id, text, type_)
    if weight:
        try:
            facet = replace(facet, weight=float(weight))
        except ValueError:
            raise UsageError(f"the weight is {shown(weight)}, must be a number") from None
    if facet.weight is not None and not 0 <= facet.weight <= (1 if kind == "intent" else math.inf):
        raise UsageError(
            f"the weight is {facet.weight:g}, must be {'between 0 and 1' if kind == 'intent' else '0 or more'}"
        )
    await run_in_threadpool(site.store.add_facets, [facet], by=session.assessor)
    return RedirectResponse("/organise#facets", 303)


async def download(request: Request, session: Session) -> Response:
    """A file of the export."""
    name = request.path_params["name"]
    if name not in EXPORTS:
        raise UsageError(f"there is no export {shown(name)}; there are {', '.join(EXPORTS)}")
    store = site_of(request).store

    def write(file: IO[bytes]) -> None:
        file.writelines(line.encode("utf-8", "surrogateescape") for line in export_lines(store, name))

    return await download_of(write, EXPORTS[name].file, "text/plain; charset=utf-8")


ORGANISER = "organiser"
ROUTES = [
    Route("/organise", for_role(overview, ORGANISER)),
    Route("/organise/log", for_role(log_page, ORGANISER)),
    Route("/organise/guidelines", for_role(write_guidelines, ORGANISER), methods=["POST"]),
    Route("/organise/accounts", for_role(add_account, ORGANISER), methods=["POST"]),
    Route("/organise/accounts/password", for_role(new_password, ORGANISER), methods=["POST"]),
    Route("/organise/accounts/role", for_role(change_role, ORGANISER), methods=["POST"]),
    Route("/organise/accounts/switch", for_role(switch_account, ORGANISER), methods=["POST"]),
    Route("/organise/facets", for_role(change_facet, ORGANISER), methods=["POST"]),
    Route("/organise/export/{name}", for_role(download, ORGANISER)),
]
