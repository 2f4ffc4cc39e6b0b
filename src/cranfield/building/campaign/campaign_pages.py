"""The pages of organisers: phases, teams, submissions, the pool, and everything as files."""

from __future__ import annotations

import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import IO, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cranfield.building.campaign.campaign_config import PHASES
from cranfield.building.campaign.campaign_export import export_campaign
from cranfield.building.campaign.campaign_pool import build_pool
from cranfield.building.campaign.campaign_site import CampaignSite, campaign_site
from cranfield.building.campaign.campaign_status import campaign_status
from cranfield.building.campaign.page_text import event_text, when
from cranfield.building.serve.project.accounts import Session
from cranfield.building.serve.web.web_app import download_of, for_role
from cranfield.building.serve.web.web_security import form_of
from cranfield.errors import UsageError

ORGANISER = "organiser"
LAST_EVENTS = 50


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


ROUTES = [
    Route("/campaign", for_role(overview, ORGANISER)),
    Route("/campaign/phase", for_role(open_phase, ORGANISER), methods=["POST"]),
    Route("/campaign/pool", for_role(make_pool, ORGANISER), methods=["POST"]),
    Route("/campaign/team", for_role(switch_team, ORGANISER), methods=["POST"]),
    Route("/campaign/password", for_role(new_password, ORGANISER), methods=["POST"]),
    Route("/campaign/code", for_role(new_code, ORGANISER), methods=["POST"]),
    Route("/campaign/export", for_role(download, ORGANISER)),
]
