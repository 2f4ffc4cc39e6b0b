"""The pages of a campaign in a real browser: a team uploads runs, an organiser opens phases, everybody sees results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.campaign.campaign_site import campaign_app
from cranfield.building.campaign.campaign_store import Campaign, build_pool
from cranfield.building.campaign.submitting import submit
from cranfield.building.serve.project.accounts import add_account, hashed
from tests.building.campaign.players import PASSWORD, TEAMS, judge_all, make_campaign, run_text
from tests.building.serve.accessible import looks
from tests.building.serve.browsing import CHROMIUM, browser
from tests.building.serve.live import Server

__all__ = ["browser"]
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
    pytest.mark.xdist_group("browser"),
]


def played(folder: Path) -> str:
    """A campaign with five teams, 14 runs and all judgments, back in the phase submission; returns its folder."""
    make_campaign(folder)
    where = str(folder / "notes")
    with Campaign(where) as campaign:
        for team in TEAMS:
            campaign.add_team(team, f"Team {team}", f"{team}@example.org", hashed(PASSWORD), 0.0, log=False)
            for run in range(2 if team == "pink" else 3):
                assert submit(campaign, team, f"{team}-{run}.txt", run_text(team, run).encode()).submission
        add_account(campaign.store, "olga", "organiser", PASSWORD)
        add_account(campaign.store, "anna", "assessor", PASSWORD)
        campaign.open_phase("pooling", "olga")
        build_pool(campaign, "olga")
        campaign.open_phase("judging", "olga")
        assert judge_all(campaign_app(campaign, hosts=("localhost",)), "anna", PASSWORD)
        campaign.open_phase("submission", "olga")
    return where


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(played(tmp_path_factory.mktemp("campaign")), group="campaign") as running:
        yield running


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page, logged in if there is a name; errors of scripts fail the test."""
    contexts: list[Any] = []
    errors: list[str] = []

    def open_page(server: Server, name: str = "", **options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if "Content Security" in message.text else None)
        page.goto(f"{server.base}/login")
        if name:
            page.fill("[name=name]", name)
            page.fill("[name=password]", PASSWORD)
            page.keyboard.press("Enter")
            page.wait_for_url(lambda url: "/login" not in url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not errors


def upload(page: Any, name: str, text: str) -> None:
    page.set_input_files("[name=run]", {"name": name, "mimeType": "text/plain", "buffer": text.encode()})
    page.click("text=Upload and check")


def open_phase(page: Any, server: Server, phase: str) -> None:
    page.goto(f"{server.base}/campaign")
    button = page.locator(f'form[action="/campaign/phase"]:has(input[value="{phase}"]) button')
    if button.count():
        button.first.click()
    page.wait_for_selector(f'[aria-current="step"]:has-text("{phase}")')


def test_a_team_mends_a_run_and_submits_it(server: Server, visit: Any) -> None:
    page = visit(server, "pink")
    page.goto(f"{server.base}/team")
    lines = run_text("pink", 2).splitlines()
    upload(page, "bad.txt", "\n".join([*lines[:6], "1 Q0 d5 7", *lines[7:]]) + "\n")
    page.wait_for_selector("text=bad.txt was not submitted")
    assert "line 7 4 columns, expected 6" in page.inner_text(".findings")
    upload(page, "good.txt", run_text("pink", 2))
    page.wait_for_selector("text=pink-2 is submitted")
    upload(page, "again.txt", run_text("pink", 2))
    page.wait_for_selector("text=nothing has changed")


def test_pages_of_a_campaign_are_accessible(server: Server, visit: Any) -> None:
    """And no page is wider than a phone."""
    problems: dict[str, Any] = {}

    def check(page: Any, name: str, address: str = "") -> None:
        if address:
            page.goto(f"{server.base}{address}")
        for look, found in looks(page):
            if found:
                problems[f"{name}, {look}"] = found
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if wide > 0:
                problems[f"{name}, {look}: too wide"] = wide

    olga, red, stranger = visit(server, "olga"), visit(server, "red"), visit(server)
    open_phase(olga, server, "submission")
    check(stranger, "login")
    check(stranger, "register", "/register")
    check(red, "team", "/team")
    upload(red, "bad.txt", "not a run\n")
    red.wait_for_selector("text=bad.txt was not submitted")
    check(red, "a refused run")
    check(olga, "campaign", "/campaign")
    check(olga, "judging", "/organise")
    open_phase(olga, server, "results")
    check(olga, "sheets of all teams", "/sheets")
    for name, page in {"organiser": olga, "team": red}.items():
        check(page, f"leaderboard, {name}", "/leaderboard")
        check(page, f"compare, {name}", "/compare")
    check(red, "sheets", "/sheets")
    check(red, "an error", "/sheets?measure=none")
    open_phase(olga, server, "submission")
    assert not problems
