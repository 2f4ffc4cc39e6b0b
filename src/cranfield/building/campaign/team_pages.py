"""The pages of teams: register, upload runs, choose which of them count."""

from __future__ import annotations

import math
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from cranfield.building.campaign.campaign_site import CampaignSite, campaign_site
from cranfield.building.campaign.campaign_store import ClosedError, WrongCodeError
from cranfield.building.campaign.page_text import when
from cranfield.building.campaign.submitting import MOST_FINDINGS, Receipt, mark, submit
from cranfield.building.serve.project.accounts import ROLES, Session
from cranfield.building.serve.web.login_limit import network
from cranfield.building.serve.web.web_app import failure, for_role
from cranfield.building.serve.web.web_security import form_of
from cranfield.errors import CranfieldError, UsageError

TEAM = "team"
FIELDS = ("name", "title", "contact")


async def home(request: Request, session: Session) -> Response:
    """The first page of each role."""
    return RedirectResponse({"team": "/team", "organiser": "/campaign"}.get(session.role, "/judge"), 303)


async def register_page(request: Request) -> Response:
    """The form to register a team."""
    site = campaign_site(request)
    closed = site.campaign.closed("submission")
    return site.render(
        "register.html", None, message=closed or "", closed=bool(closed), given=dict.fromkeys(FIELDS, "")
    )


async def register(request: Request) -> Response:
    """Register a team that knows the join code, and log it in."""
    site = campaign_site(request)
    form = await form_of(request, fields=10)
    values = {name: str(form.get(name, "")) for name in (*FIELDS, "password", "code")}
    given = {name: values[name][:200] for name in FIELDS}
    key = ("join code", network(request.client.host if request.client else ""))

    def again(message: str, status: int) -> Response:
        return site.render("register.html", None, status, message=message, closed=False, given=given)

    if wait := site.limit.take(key):
        return again(f"Too many wrong join codes. Try again in {math.ceil(wait)} seconds.", 429)
    try:
        async with site.hashing:
            await run_in_threadpool(lambda: site.campaign.register(**values))
    except WrongCodeError as error:
        return again(str(error), 403)
    except UsageError as error:
        site.limit.right(key)
        return again(str(error), 403 if isinstance(error, ClosedError) else 400)
    site.limit.right(key)
    return await site.entered(request, values["name"], "/team")


def team_page(site: CampaignSite, session: Session, status: int = 200, **values: Any) -> Response:
    """The runs of a team, and the form to upload another one."""
    campaign = site.campaign
    dates = campaign.config.dates.get("submission")
    more: dict[str, Any] = {"receipt": None, "problem": "", "file": "", **values}
    return site.render(
        "team.html", session, status, submissions=campaign.submissions(session.assessor)[::-1],
        rules=campaign.config.rules, closed=campaign.closed("submission"), phase=campaign.phase, when=when,
        closes=dates.closes if dates else None, most=MOST_FINDINGS,
        topics=campaign.store.database.read("SELECT COUNT(*) FROM topic")[0][0], **more,
    )  # fmt: skip


async def team_home(request: Request, session: Session) -> Response:
    """The runs of a team."""
    site = campaign_site(request)
    digest = request.query_params.get("new", "")
    submission = await run_in_threadpool(site.campaign.submission, digest) if digest else None
    known = request.query_params.get("known") == "1"
    if submission is None or submission.team != session.assessor:
        return await run_in_threadpool(team_page, site, session)
    receipt = Receipt(submission, (), known=known)
    return await run_in_threadpool(lambda: team_page(site, session, receipt=receipt))


async def upload(request: Request, session: Session) -> Response:
    """Take in a run, or say what is wrong with it."""
    site = campaign_site(request)
    form = await form_of(request, files=1)
    file = form.get("run")
    if not isinstance(file, UploadFile) or not file.filename:
        return await run_in_threadpool(lambda: team_page(site, session, 400, problem="Choose a file first."))
    name, data = file.filename, file.file
    try:
        async with site.checking:
            receipt = await run_in_threadpool(submit, site.campaign, session.assessor, name, data)
    except ClosedError as error:
        problem = str(error)
        return await run_in_threadpool(lambda: team_page(site, session, 403, problem=problem, file=name))
    except UsageError as error:
        problem = str(error)
        return await run_in_threadpool(lambda: team_page(site, session, 409, problem=problem, file=name))
    if receipt.submission is None:
        return await run_in_threadpool(lambda: team_page(site, session, 422, receipt=receipt, file=name))
    if receipt.notes:
        return await run_in_threadpool(lambda: team_page(site, session, receipt=receipt))
    again = "&known=1" if receipt.known else ""
    return RedirectResponse(f"/team?new={receipt.submission.digest}{again}", 303)


async def mark_run(request: Request, session: Session) -> Response:
    """Let a run count, or not."""
    site = campaign_site(request)
    form = await form_of(request)
    digest, counts = str(form.get("digest", "")), form.get("counts") == "1"
    try:
        await run_in_threadpool(mark, site.campaign, session.assessor, digest, counts)
    except CranfieldError as error:
        problem, status = str(error), 403 if isinstance(error, ClosedError) else 409
        return await run_in_threadpool(lambda: team_page(site, session, status, problem=problem))
    return RedirectResponse("/team", 303)


async def download_run(request: Request, session: Session) -> Response:
    """The file of a run, for its own team and for organisers. For others it does not exist."""
    site = campaign_site(request)
    submission = await run_in_threadpool(site.campaign.submission, request.path_params["digest"])
    if submission is None or (session.role != "organiser" and submission.team != session.assessor):
        return failure(request, 404, "There is no such run.")
    path, name = site.campaign.path_of(submission.digest), f"{submission.digest[:12]}.run"
    return FileResponse(path, media_type="text/plain; charset=utf-8", filename=name)


ROUTES = [
    Route("/", for_role(home, *ROLES)),
    Route("/register", register_page),
    Route("/register", register, methods=["POST"]),
    Route("/team", for_role(team_home, TEAM)),
    Route("/team/runs", for_role(upload, TEAM, files=1), methods=["POST"]),
    Route("/team/mark", for_role(mark_run, TEAM), methods=["POST"]),
    Route("/runs/{digest}", for_role(download_run, TEAM, "organiser")),
]
