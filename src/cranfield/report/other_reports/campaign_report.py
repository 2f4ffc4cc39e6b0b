"""The report of a campaign: teams, runs, phases, pool, judging, agreement, leaderboard, and a sheet for each team."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from cranfield.building.campaign.campaign_judgments import campaign_judgments
from cranfield.building.campaign.campaign_pool import counting_runs
from cranfield.building.campaign.campaign_results import NoResultsError, Results, score
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.check import nearest
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.report.other_reports.campaign_sections import (
    agreement_section,
    campaign_section,
    judging_section,
    pool_section,
    runs_section,
    summary_points,
    teams_section,
)
from cranfield.report.other_reports.team_sheets import sheets_section
from cranfield.report.pages.outline import Outline, Part, report_of
from cranfield.report.pages.report_parts import Report, Section
from cranfield.report.run_report.experiment import Experiment, ReportSettings
from cranfield.report.run_report.leaderboard_section import summary_section
from cranfield.report.run_report.make_report import SECTIONS as OF_RUNS
from cranfield.report.run_report.make_report import run_parts
from cranfield.text import counted

OWN = {
    "summary": "In short",
    "campaign": "The campaign",
    "teams": "Teams",
    "runs": "Submitted runs",
    "pool": "Pool",
    "judging": "Judging",
    "agreement": "Agreement of assessors",
}
SHARED = ("leaderboard", "pairs", "topics", "explain", "curves", "measures", "judgments")
"""Sections of the report of an evaluation, of the runs that count."""
SECTIONS = {
    **OWN,
    **{name: OF_RUNS[name][0] for name in SHARED},
    "sheets": "Sheets of teams",
    "methods": OF_RUNS["methods"][0],
}
"""{name: title} in the order of the page."""


@dataclass(frozen=True)
class Scored:
    """The results of a campaign, with what the report of an evaluation needs."""

    results: Results
    experiment: Experiment


class CampaignState:
    """A campaign, and its results if there are any; computed once for all sections."""

    def __init__(self, campaign: Campaign, measure: str | None = None, team: str | None = None) -> None:
        self.campaign = campaign
        self.measure = measure
        self.team = team
        names = [one.name for one in campaign.teams()]
        if team is not None and team not in names:
            raise nearest(team, names, "team")
        if measure is not None and measure not in campaign.config.measures:
            raise nearest(measure, list(campaign.config.measures), "measure")

    @cached_property
    def scored(self) -> Scored:
        """The results; an error if there are none yet."""
        results = score(self.campaign)
        scores = results.scores
        if self.measure is not None:
            first = [self.measure, *(name for name in scores.measures if name != self.measure)]
            scores = scores.select(measures=first)
            results = replace(results, scores=scores)
        qrels, runs = self._files()
        plan = self.campaign.config.pool
        whole = plan.method == "depth" and plan.per_topic is None and plan.budget is None
        experiment = Experiment(
            scores, qrels, runs, teams=dict(results.teams), topics=self.campaign.store.topics(), warnings=results.notes,
            settings=ReportSettings(pool_depth=plan.depth if whole else None),
        )  # fmt: skip
        return Scored(results, experiment)

    def _files(self) -> tuple[Qrels | None, Mapping[str, Run]]:
        """Judgments and runs, where lists can be read with grades alone."""
        config = self.campaign.config
        if config.mode != "graded" or config.pool.samples:
            return None, {}
        judged = campaign_judgments(self.campaign)
        return (None, {}) if judged is None else (judged.qrels, {run.name: run for run in counting_runs(self.campaign)})

    @cached_property
    def no_results(self) -> str:
        """Why there are no scores yet; empty if there are."""
        try:
            _ = self.scored
        except NoResultsError as error:
            return str(error)
        return ""


def campaign_report(
    campaign: Campaign, outline: Outline | None = None, *, measure: str | None = None, team: str | None = None
) -> Report:
    """The report of a campaign in any phase, ready for `report_page`; sections without data are left out.

    measure: the one that ranks the runs, by default the first; team: show only the sheet of this team.
    """
    state = CampaignState(campaign, measure, team)
    makers = {
        "summary": partial(_summary, state),
        "campaign": partial(campaign_section, campaign),
        "teams": partial(teams_section, campaign),
        "runs": partial(runs_section, campaign),
        "pool": partial(pool_section, campaign),
        "judging": partial(judging_section, campaign),
        "agreement": partial(agreement_section, campaign),
    }
    parts = {name: Part(OWN[name], make) for name, make in makers.items()}
    of_runs = run_parts(state.scored.experiment) if not state.no_results else {}
    for name in SECTIONS:
        if name in parts:
            continue
        if name == "sheets":
            parts[name] = Part(SECTIONS[name], partial(_sheets, state), not state.no_results)
        else:
            parts[name] = of_runs.get(name) or Part(SECTIONS[name], partial(_not_yet, state), usual=False)
    phase, teams = campaign.phase, counted(len(campaign.teams()), "team")
    lead = f"{teams}, {counted(len(campaign.submissions()), 'submitted run')}; phase: {phase}"
    return report_of(parts, campaign.config.name, lead, outline)


def _summary(state: CampaignState) -> Section:
    points = summary_points(state.campaign)
    if reason := state.no_results:
        points.append(f"{reason[0].upper()}{reason[1:]}.")
    else:
        points += summary_section(state.scored.experiment).points
    return Section("summary", OWN["summary"], (), tuple(points))


def _not_yet(state: CampaignState) -> Section:
    raise NoResultsError(state.no_results)


def _sheets(state: CampaignState) -> Section:
    return sheets_section(state.scored.results, state.team)
