"""The pages of a campaign: of teams (register, upload runs), of organisers (phases, pool, files), and of results."""

from __future__ import annotations

import math
import tempfile
import zipfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from cranfield.building.campaign.campaign_config import PHASES
from cranfield.building.campaign.campaign_export import export_campaign
from cranfield.building.campaign.campaign_results import Results, Sheet, campaign_status
from cranfield.building.campaign.campaign_site import CampaignSite, campaign_site
from cranfield.building.campaign.campaign_store import ClosedError, Event, WrongCodeError, build_pool
from cranfield.building.campaign.submitting import MOST_FINDINGS, Receipt, mark, submit
from cranfield.building.serve.project.accounts import ROLES, Session
from cranfield.building.serve.web.limits import network
from cranfield.building.serve.web.web_app import download_of, failure, for_role
from cranfield.building.serve.web.web_security import form_of
from cranfield.comparison.leaderboard import Leaderboard
from cranfield.errors import CranfieldError, UsageError
from cranfield.text import listed

TEAM = "team"
ORGANISER = "organiser"
FIELDS = ("name", "title", "contact")
LAST_EVENTS = 50
WIDTH = 260
"""The width of a line that shows an interval or a topic."""


# ---- dates and numbers


def when(seconds: float) -> str:
    """A time for people.

    >>> when(0.0)
    '1970-01-01 00:00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def number(value: float, digits: int = 4) -> str:
    """A score for a table; a dash if it is undefined.

    >>> number(0.25), number(float("nan"))
    ('0.2500', '–')
    """
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def p_value(value: float) -> str:
    """A p-value for a table, which is never 0.

    >>> p_value(0.0312), p_value(0.00000002)
    ('0.0312', '< 0.0001')
    """
    return "< 0.0001" if value < 0.0001 else number(value)


def signed(value: float) -> str:
    """A difference for a table, with a real minus sign.

    >>> signed(0.125), signed(-0.5), signed(0.0)
    ('+0.1250', '−0.5000', '0.0000')
    """
    if math.isnan(value):
        return "–"
    return f"{value:+.4f}".replace("-", "−") if abs(value) >= 0.00005 else "0.0000"


def event_text(event: Event) -> str:
    """What a line of the log says, for people.

    >>> event_text(Event(1, 0.0, "red", "submit", {"counts": True, "digest": "0123456789abcdef", "tag": "red-1"}))
    'tag: red-1, counts: yes, digest: 0123456789ab'
    """
    shown = {
        name: {True: "yes", False: "no"}[value] if isinstance(value, bool) else listed(value) if isinstance(value, list)
        else value[:12] if name == "digest" else value
        for name, value in event.data.items()
        if value is not None
    }  # fmt: skip
    names = sorted(shown, key=lambda name: (name == "digest", name != "tag", name))
    return ", ".join(f"{name}: {shown[name]}" for name in names)


# ---- teams


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
    filled = {name: values[name][:200] for name in FIELDS}
    key = ("join code", network(request.client.host if request.client else ""))

    def again(message: str, status: int) -> Response:
        return site.render("register.html", None, status, message=message, closed=False, given=filled)

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
    except UsageError as error:
        problem, status = str(error), 403 if isinstance(error, ClosedError) else 409
        return await run_in_threadpool(lambda: team_page(site, session, status, problem=problem, file=name))
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


# ---- organisers


async def overview(request: Request, session: Session) -> Response:
    """The phase, the teams and their runs, the pool, the log."""
    return await run_in_threadpool(_page, campaign_site(request), session)


def _page(site: CampaignSite, session: Session, **values: Any) -> Response:
    campaign = site.campaign
    more: dict[str, Any] = {"notes": (), "new_password": None, **values}
    return site.render(
        "campaign.html", session, state=campaign_status(campaign), phases=PHASES, phase=campaign.phase,
        teams=campaign.teams(), submissions=campaign.submissions(), code=campaign.join_code, when=when,
        closed=campaign.config.closed(campaign.phase), dates=campaign.config.dates, plan=campaign.config.pool,
        events=[(event, event_text(event)) for event in campaign.events()[-LAST_EVENTS:][::-1]],
        **more,
    )  # fmt: skip


async def open_phase(request: Request, session: Session) -> Response:
    """Open a phase."""
    site = campaign_site(request)
    phase = str((await form_of(request)).get("phase", ""))
    await run_in_threadpool(site.campaign.open_phase, phase, session.assessor)
    return RedirectResponse("/campaign", 303)


async def make_pool(request: Request, session: Session) -> Response:
    """Make the pool from the runs that count."""
    site = campaign_site(request)
    notes = await run_in_threadpool(build_pool, site.campaign, session.assessor)
    site.judging.reload()
    return await run_in_threadpool(lambda: _page(site, session, notes=notes))


async def switch_team(request: Request, session: Session) -> Response:
    """Keep a team out, or let it in again. The runs of a team that is off do not count."""
    site = campaign_site(request)
    form = await form_of(request)
    name, active = str(form.get("team", "")), form.get("active") == "1"
    if name not in [team.name for team in site.campaign.teams()]:
        raise UsageError(f"there is no team {name!r}")
    await run_in_threadpool(site.campaign.switch_team, name, active, session.assessor)
    return RedirectResponse("/campaign#teams", 303)


async def new_password(request: Request, session: Session) -> Response:
    """A new password for a team, shown once."""
    site = campaign_site(request)
    name = str((await form_of(request)).get("team", ""))
    password = await run_in_threadpool(site.campaign.new_password, name, session.assessor)
    return await run_in_threadpool(lambda: _page(site, session, new_password=(name, password)))


async def new_code(request: Request, session: Session) -> Response:
    """Another join code."""
    await run_in_threadpool(campaign_site(request).campaign.new_join_code, session.assessor)
    return RedirectResponse("/campaign#teams", 303)


async def download(request: Request, session: Session) -> Response:
    """Everything as plain files, in a ZIP archive."""
    write = partial(_write_archive, campaign_site(request))
    return await download_of(write, "campaign.zip", "application/zip")


def _write_archive(site: CampaignSite, file: IO[bytes]) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "campaign"
        export_campaign(site.campaign, str(folder))
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(folder.parent))


# ---- results


def _need_open(site: CampaignSite, session: Session | None) -> None:
    """Before the phase results, only organisers see scores."""
    if (session is None or session.role != "organiser") and (closed := site.campaign.closed("results")):
        raise UsageError(closed)


async def leaderboard_page(request: Request) -> Response:
    """The leaderboard; for everybody if the campaign says so."""
    site = campaign_site(request)
    session = site.session(request.headers)
    if session is None and not site.campaign.config.public:
        return RedirectResponse("/login", 303)
    try:
        return await run_in_threadpool(_leaderboard, site, session, request.query_params.get("measure"))
    except CranfieldError as error:
        return failure(request, 403 if site.campaign.closed("results") else 400, str(error))


def _leaderboard(site: CampaignSite, session: Session | None, measure: str | None) -> Response:
    _need_open(site, session)
    results = site.board.results()
    board = results.leaderboard(measure)
    means = results.scores.mean()
    rows = [
        {
            "rank": board.rank[at], "ranks": f"{board.rank_low[at]}–{board.rank_high[at]}", "run": board.run[at],
            "team": board.team[at], "mean": number(board.mean[at]),
            "low": number(board.low[at]), "high": number(board.high[at]), "groups": board.groups[at],
            "others": [number(means[board.run[at]][name]) for name in _others(results, board.measure)],
            **_bar(board, at),
        }
        for at in range(len(board.run))
    ]  # fmt: skip
    titles = {team.name: team.title for team in site.campaign.teams()}
    return site.render(
        "leaderboard.html", session, board=board, rows=rows, titles=titles, others=_others(results, board.measure),
        measures=[str(other) for other in results.scores.measures], width=WIDTH,
        preview=site.campaign.phase != "results", compared=bool(results.comparisons),
        reason=results.not_compared.get(board.measure, ""),
    )  # fmt: skip


def _others(results: Results, measure: str) -> list[str]:
    return [str(other) for other in results.scores.measures if str(other) != measure]


def _bar(board: Leaderboard, at: int) -> dict[str, str]:
    """Where the mean and its interval are on a line from the lowest to the highest end of all intervals."""
    ends = [value for array in (board.low, board.high, board.mean) for value in array.tolist() if not math.isnan(value)]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0
    x = {name: 6 + (WIDTH - 12) * (float(getattr(board, name)[at]) - low) / span for name in ("low", "mean", "high")}
    return {f"x_{name}": f"{x['mean'] if math.isnan(value) else value:.1f}" for name, value in x.items()}


async def compare_page(request: Request, session: Session) -> Response:
    """All pairs of runs: by how much they differ, and whether that is significant."""
    return await run_in_threadpool(_compare, campaign_site(request), session, request.query_params.get("measure"))


def _compare(site: CampaignSite, session: Session, measure: str | None) -> Response:
    _need_open(site, session)
    results = site.board.results()
    name = results.measure_of(measure)
    comparison = results.comparisons.get(name)
    own = {run for run, team in results.teams.items() if team == session.assessor}
    pairs = comparison.rows() if comparison else ()
    rows = sorted(pairs, key=lambda row: (row["p adjusted"], -abs(row["difference"])))
    return site.render(
        "compare.html", session, measure=name, rows=rows, own=own, notes=comparison.notes if comparison else (),
        reason=results.not_compared.get(name, ""),
        measures=[str(other) for other in results.scores.measures], signed=signed, p_value=p_value,
    )  # fmt: skip


async def sheets_page(request: Request, session: Session) -> Response:
    """The sheets of a team: its own, or for organisers any."""
    site = campaign_site(request)
    team = session.assessor if session.role == "team" else request.query_params.get("team", "")
    return await run_in_threadpool(_sheets, site, session, team, request.query_params.get("measure"))


def _sheets(site: CampaignSite, session: Session, team: str, measure: str | None) -> Response:
    _need_open(site, session)
    results = site.board.results()
    titles = {team.name: team.title for team in site.campaign.teams()}
    team = team or next(iter(results.teams.values()))
    if team not in titles:
        raise UsageError(f"there is no team {team!r}")
    name = results.measure_of(measure)
    sheets = results.sheets(team, name)
    return site.render(
        "sheets.html", session, team=team, titles=titles, measure=name, width=WIDTH,
        measures=[str(other) for other in results.scores.measures],
        sheets=[(sheet, _topics(sheet)) for sheet in sheets], runs=len(results.teams),
    )  # fmt: skip


def _topics(sheet: Sheet) -> list[dict[str, Any]]:
    """A row per topic, with places on a line from 0, or the lowest score, to the highest."""
    values = [value for array in (sheet.score, sheet.median, sheet.best) for value in array.tolist() if value == value]
    low = min([0.0, *values])
    span = (max([1e-12, *values]) - low) or 1.0

    def x(value: float) -> str:
        return "" if math.isnan(value) else f"{6 + (WIDTH - 12) * (value - low) / span:.1f}"

    return [
        {
            "topic": topic, "score": number(score), "median": number(median), "best": number(best),
            "against": signed(against), "place": place or "–", "x_score": x(score), "x_median": x(median),
            "x_best": x(best), "below": score < median,
        }
        for topic, score, median, best, against, place in zip(
            *(column.tolist() for column in sheet.columns().values()), strict=True
        )
    ]  # fmt: skip


ROUTES = [
    Route("/", for_role(home, *ROLES)),
    Route("/register", register_page),
    Route("/register", register, methods=["POST"]),
    Route("/team", for_role(team_home, TEAM)),
    Route("/team/runs", for_role(upload, TEAM, files=1), methods=["POST"]),
    Route("/team/mark", for_role(mark_run, TEAM), methods=["POST"]),
    Route("/runs/{digest}", for_role(download_run, TEAM, "organiser")),
    Route("/campaign", for_role(overview, ORGANISER)),
    Route("/campaign/phase", for_role(open_phase, ORGANISER), methods=["POST"]),
    Route("/campaign/pool", for_role(make_pool, ORGANISER), methods=["POST"]),
    Route("/campaign/team", for_role(switch_team, ORGANISER), methods=["POST"]),
    Route("/campaign/password", for_role(new_password, ORGANISER), methods=["POST"]),
    Route("/campaign/code", for_role(new_code, ORGANISER), methods=["POST"]),
    Route("/campaign/export", for_role(download, ORGANISER)),
    Route("/leaderboard", leaderboard_page),
    Route("/compare", for_role(compare_page, *ROLES)),
    Route("/sheets", for_role(sheets_page, "team", "organiser")),
]
