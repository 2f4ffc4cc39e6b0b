"""The server of a campaign: the judging server, with pages for teams, phases and results."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from starlette.requests import Request

from cranfield.building.campaign.campaign_config import FILE
from cranfield.building.campaign.campaign_results import Scoreboard
from cranfield.building.campaign.campaign_store import Campaign, campaign_proposals
from cranfield.building.campaign.submitting import sweep
from cranfield.building.serve.project.accounts import Session
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.store import Store
from cranfield.building.serve.web.serving import Address, serve
from cranfield.building.serve.web.web_app import HERE as SERVE
from cranfield.building.serve.web.web_app import Site, make_app
from cranfield.building.serve.web.web_security import MOST_BODY

HERE = Path(__file__).parent
FORM = 100_000
"""Bytes of a form without its file."""
CHECKED_AT_ONCE = 2
"""Uploads that are checked at the same time. The check of a run takes up to twelve times the size of its file."""
FOR_JUDGES = ("/judge", "/api/", "/page", "/image")
"""Where the addresses of pages begin that are open only while documents are judged."""


@dataclass
class CampaignSite(Site):
    """What all pages of a campaign share."""

    campaign: Campaign = field(kw_only=True)
    folders: tuple[Path, ...] = (SERVE, HERE)
    checking: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CHECKED_AT_ONCE))
    """Who uploads a run waits for it until it is checked."""

    @cached_property
    def board(self) -> Scoreboard:
        """The results."""
        return Scoreboard(self.campaign)

    def links(self, session: Session | None) -> Sequence[tuple[str, str]]:
        phase = self.campaign.phase
        results = [("/leaderboard", "Leaderboard")] if phase == "results" else []
        if session is None:
            entry = [("/login", "Log in")]
            entry += [("/register", "Register a team")] if phase == "submission" else []
            return [*(results if self.campaign.config.public else []), *entry]
        if session.role == "team":
            return [("/team", "My runs"), *results, *([("/sheets", "My sheets")] if results else [])]
        if session.role == "organiser":
            judge = [("/judge", "Judge")] if phase == "judging" else []
            return [("/campaign", "Campaign"), *judge, ("/organise", "Judging"), ("/leaderboard", "Leaderboard")]
        return [("/judge", "Judge"), *results]

    def copying(self) -> str:
        runs, config = (os.path.join(self.campaign.folder, name) for name in ("runs", FILE))
        return f"{super().copying()} The runs are in {runs}, the settings in {config}: copy these afterwards."

    def refusal(self, path: str) -> str | None:
        if not path.startswith(FOR_JUDGES):
            return None
        return self.campaign.closed("judging")


def campaign_site(request: Request) -> CampaignSite:
    """What all pages of a campaign share."""
    site: CampaignSite = request.app.state.site
    return site


def campaign_app(campaign: Campaign, *, hosts: Sequence[str] = (), secure: bool = False) -> Any:
    """The server as an ASGI application."""
    from cranfield.building.campaign.campaign_pages import ROUTES

    sweep(campaign)
    judging = Judging(campaign.store, lambda: campaign_proposals(campaign))
    judging.load()
    site = CampaignSite(campaign.store, judging, secure=secure, campaign=campaign)
    uploads = {"/team/runs": max(campaign.config.rules.bytes + FORM, MOST_BODY)}
    return make_app(site, hosts=hosts, routes=ROUTES, uploads=uploads)


def serve_campaign(campaign: Campaign, address: Address, ready: Callable[[str], None]) -> None:
    """Serve a campaign until it is interrupted. `ready` is called with the address to open."""

    def make(store: Store, address: Address) -> tuple[Any, str | None]:
        return campaign_app(campaign, hosts=address.hosts(), secure=address.secure), None

    serve(campaign.store, address, ready, make=make)
