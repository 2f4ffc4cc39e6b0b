"""The pages of results: the leaderboard, all comparisons, and the sheets of a team, topic by topic."""

from __future__ import annotations

import math
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cranfield.building.campaign.campaign_results import Results, Sheet
from cranfield.building.campaign.campaign_site import CampaignSite, campaign_site
from cranfield.building.campaign.page_text import number, p_value, signed
from cranfield.building.serve.project.accounts import ROLES, Session
from cranfield.building.serve.web.web_app import failure, for_role
from cranfield.comparison.leaderboard import Leaderboard
from cranfield.errors import CranfieldError, UsageError

WIDTH = 260
"""The width of a line that shows an interval or a topic."""


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
        measures=[str(one) for one in results.scores.measures], width=WIDTH,
        preview=site.campaign.phase != "results", compared=bool(results.comparisons),
        reason=results.not_compared.get(board.measure, ""),
    )  # fmt: skip


def _others(results: Results, measure: str) -> list[str]:
    return [str(one) for one in results.scores.measures if str(one) != measure]


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
        measures=[str(one) for one in results.scores.measures], signed=signed, p_value=p_value,
    )  # fmt: skip


async def sheets_page(request: Request, session: Session) -> Response:
    """The sheets of a team: its own, or for organisers any."""
    site = campaign_site(request)
    team = session.assessor if session.role == "team" else request.query_params.get("team", "")
    return await run_in_threadpool(_sheets, site, session, team, request.query_params.get("measure"))


def _sheets(site: CampaignSite, session: Session, team: str, measure: str | None) -> Response:
    _need_open(site, session)
    results = site.board.results()
    titles = {one.name: one.title for one in site.campaign.teams()}
    team = team or next(iter(results.teams.values()))
    if team not in titles:
        raise UsageError(f"there is no team {team!r}")
    name = results.measure_of(measure)
    sheets = results.sheets(team, name)
    return site.render(
        "sheets.html", session, team=team, titles=titles, measure=name, width=WIDTH,
        measures=[str(one) for one in results.scores.measures], sheets=[(sheet, _topics(sheet)) for sheet in sheets],
        runs=len(results.teams),
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
            "against": signed(score - median), "place": place or "–", "x_score": x(score), "x_median": x(median),
            "x_best": x(best), "below": score < median,
        }
        for topic, score, median, best, place in zip(
            sheet.topic, sheet.score.tolist(), sheet.median.tolist(), sheet.best.tolist(), sheet.place.tolist(),
            strict=True,
        )
    ]  # fmt: skip


ROUTES = [
    Route("/leaderboard", leaderboard_page),
    Route("/compare", for_role(compare_page, *ROLES)),
    Route("/sheets", for_role(sheets_page, "team", "organiser")),
]
