"""The report of a campaign: teams, runs, phases, pool, judging, agreement, leaderboard, and a sheet for each team."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from cranfield.building.campaign.campaign_config import PHASES, Dates
from cranfield.building.campaign.campaign_results import (
    NoResultsError,
    Results,
    Sheet,
    campaign_judgments,
    campaign_status,
    score,
)
from cranfield.building.campaign.campaign_store import FACT, Campaign, counting_runs
from cranfield.building.pools.pool_coverage import pool_contributions
from cranfield.building.serve.project.judging_status import Status, live_agreement, status
from cranfield.check import nearest
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.errors import CranfieldError, UsageError
from cranfield.measures.property_tables import better_of
from cranfield.record import table_of
from cranfield.report.figures.figure import Axis, Figure, names
from cranfield.report.pages.report_parts import (
    MADE_WITH,
    Block,
    Content,
    FigureBlock,
    Outline,
    Part,
    Report,
    TableBlock,
    report_of,
)
from cranfield.report.pages.sortable_table import (
    BAR_WIDTH,
    MARGIN,
    HtmlCell,
    HtmlColumn,
    number_column,
    text_column,
)
from cranfield.report.reports.experiment import Experiment, ReportSettings
from cranfield.report.reports.run_report import SECTIONS as OF_RUNS
from cranfield.report.reports.run_sections import summary_section
from cranfield.table import DIGITS, Cell, Column, Table
from cranfield.text import counted

FEW_ROWS = 20
MOST_FINDINGS = 3
"""Findings of a run that the page shows; the rest are counted."""
MOST_PRINTED = 1_000
"""With more rows in all, long sheets are cut on paper."""


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
        names = [registered.name for registered in campaign.teams()]
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
        whole = plan.method == "depth" and plan.most_per_topic is None and plan.budget is None
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
    phase, teams = campaign.phase, counted(len(campaign.teams()), "team")
    lead = f"{teams}, {counted(len(campaign.submissions()), 'submitted run')}; phase: {phase}"
    return report_of(SECTIONS, state, campaign.config.name, lead, outline)


def _summary(state: CampaignState) -> Content:
    points = summary_points(state.campaign)
    if reason := state.no_results:
        points.append(f"{reason[0].upper()}{reason[1:]}.")
    else:
        points += summary_section(state.scored.experiment).points
    return Content(points=points)


def summary_points(campaign: Campaign) -> list[str]:
    """The phase, the teams and their runs, and how far judging is."""
    state = campaign_status(campaign)
    runs = campaign.submissions()
    counting = len(campaign.submissions(counting=True))
    points = [
        f"{counted(len(state.team), 'team')} submitted {counted(len(runs), 'run')}, of which {counting} "
        f"{'counts' if counting == 1 else 'count'}. The phase {state.phase} is open."
    ]
    if not state.pool:
        return [*points, "There is no pool yet."]
    share = state.judged / state.wanted if state.wanted else 0.0
    what = "pair of lists" if campaign.config.mode == "preferences" else "document"
    points.append(
        f"{state.judged:,} of {counted(state.wanted, 'judgment')} are made ({share:.0%}), of "
        f"{counted(state.pool, what, 'pairs of lists' if what.startswith('pair') else '')} in the pool."
    )
    return points


def campaign_section(campaign: Campaign) -> Content:
    """Phases with their dates, and the rules."""
    config = campaign.config
    opened = {str(event.data["to"]): event.happened_at for event in campaign.events() if event.what == "phase"}
    rows: list[tuple[Cell, ...]] = []
    for phase in PHASES:
        dates = config.dates.get(phase, Dates())
        planned = [f"{word} {_day(at)}" for word, at in (("from", dates.opens), ("to", dates.closes)) if at]
        since = _day(datetime.fromtimestamp(opened[phase], UTC)) if phase in opened else ""
        rows.append((phase, "open" if phase == campaign.phase else "", since, " ".join(planned)))
    heads = (Column("phase"), Column("state"), Column("last opened (UTC)"), Column("dates in the rules"))
    rules = config.rules
    facts: list[tuple[Cell, ...]] = [
        ("judging", config.mode + (f" ({', '.join(config.dimensions)})" if config.dimensions else "")),
        ("grades", ", ".join(f"{grade:g}: {label}" for grade, label in config.grades)),
        ("assessors of each document", f"{config.overlap}"),
        ("measures", f"{', '.join(config.measures)}; the first one ranks the runs"),
        ("runs of a team that count", f"{rules.runs}"),
        ("documents of a topic in a run", f"{rules.least:,} to {rules.depth:,}"),
        ("every topic in a run", "required" if rules.all_topics else "not required"),
        ("made with", MADE_WITH),
    ]
    blocks = (
        TableBlock("phases", Table(heads, tuple(rows)), "Phases"),
        TableBlock("rules", Table((Column("rule"), Column("value")), tuple(facts)), "Rules"),
    )
    return Content(blocks=blocks)


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def teams_section(campaign: Campaign) -> Content:
    """A row per team; contacts and accounts are left out, because the page may be sent to others."""
    state = campaign_status(campaign)
    if not state.team:
        return Content(("No team has registered yet.",))
    titles = {team.name: team.title for team in campaign.teams()}
    columns = state.columns()
    columns = {"team": columns.pop("team"), "name": names(titles[team] for team in state.team), **columns}
    return Content(blocks=(TableBlock("teams", table_of(columns), tools=len(titles) > FEW_ROWS),))


def runs_section(campaign: Campaign) -> Content:
    """A row per submission, with the digest of its file and what the check of it found."""
    submissions = campaign.submissions()
    if not submissions:
        return Content(("No run is submitted yet.",))
    counts = {submission.digest for submission in campaign.submissions(counting=True)}
    heads = (
        Column("run"), Column("team"), Column("counts"), Column("submitted (UTC)"), Column("topics", "count"),
        Column("documents", "count"), Column("bytes", "count"), Column("SHA-256"), Column("findings"),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for submission in submissions:
        when = _day(datetime.fromtimestamp(submission.submitted_at, UTC))
        more = len(submission.findings) - MOST_FINDINGS
        said = "; ".join(submission.findings[:MOST_FINDINGS]) + (f"; {more} more" if more > 0 else "")
        rows.append(
            (submission.tag, submission.team, "yes" if submission.digest in counts else "", when, submission.lists,
             submission.documents, submission.bytes, submission.digest, said)
        )  # fmt: skip
    shown = tuple((*row[:7], str(row[7])[:12], row[8]) for row in rows)
    note = ("the first 12 hexadecimal digits of digests; the CSV file has all 64",)
    block = TableBlock("runs", Table(heads, shown, notes=note), data=Table(heads, tuple(rows)), tools=True)
    refused = sum(event.what == "refused" for event in campaign.events())
    text = (f"{counted(refused, 'file was', 'files were')} refused, because they broke a rule.",) if refused else ()
    return Content(text, blocks=(block,))


def pool_section(campaign: Campaign) -> Content:
    """How the pool was made, its size by topic, and what each team contributed."""
    read = campaign.store.database.read
    pooled: dict[str, int] = dict(read("SELECT topic, COUNT(*) FROM pool GROUP BY topic"))
    topics = campaign.store.topic_ids()
    sizes = {topic: pooled[topic] for topic in topics if topic in pooled}
    if not sizes:
        raise UsageError("there is no pool yet")
    plan = campaign.config.pool
    fact = campaign.store.fact(FACT)
    made = json.loads(fact) if fact is not None else {}
    limits = [f"at most {plan.most_per_topic} of a topic"] if plan.most_per_topic else []
    limits += [f"at most {plan.budget} in all"] if plan.budget else []
    what = ("pair of lists", "pairs of lists") if campaign.config.mode == "preferences" else ("document", "documents")
    text = [
        f"{counted(sum(sizes.values()), *what)} of {counted(len(sizes), 'topic')}, made by the method "
        f"{made.get('method', plan.method)} from the first {made.get('depth', plan.depth)} documents of each list"
        + (f" of {counted(len(made['runs']), 'run')}" if "runs" in made else "")
        + (f"; {', '.join(limits)}" if limits else "")
        + "."
    ]
    blocks: list[Block] = []
    judged = campaign_judgments(campaign) if campaign.config.mode == "graded" else None
    if judged is not None:
        relevant = Counter(topic for topic, grades in judged.qrels.to_dict().items() for g in grades.values() if g > 0)
        graded = {topic: len(grades) for topic, grades in judged.qrels.to_dict().items()}
        rows = tuple((topic, size, graded.get(topic, 0), relevant[topic]) for topic, size in sizes.items())
        counts = ("documents", "judged", "relevant")
        table = Table((Column("topic"), *(Column(name, "count") for name in counts)), rows)
        blocks.append(TableBlock("pool", table, "Documents by topic", tools=len(rows) > FEW_ROWS))
        with suppress(CranfieldError):  # no run counts any more
            teams = {run.tag: run.team for run in campaign.submissions(counting=True)}
            runs = {run.name: run for run in counting_runs(campaign)}
            result = pool_contributions(judged.qrels, runs, teams=teams, depth=plan.depth)
            title = "What each team contributed"
            notes = (*result.notes, "unique: judged documents that no other team has")
            blocks.append(TableBlock("contributions", replace(result.table(), notes=notes), title))
    else:
        heads = (Column("topic"), Column(what[1], "count"))
        block = TableBlock("pool", Table(heads, tuple(sizes.items())), "Size by topic", tools=len(sizes) > FEW_ROWS)
        blocks.append(block)
    return Content(text, blocks=blocks)


def judging_section(campaign: Campaign) -> Content:
    """How far judging is, by topic and by assessor."""
    state = status(campaign.store)
    if not state.documents:
        raise UsageError("there is nothing to judge yet")
    share = state.counted / state.wanted if state.wanted else 0.0
    text = f"{state.counted:,} of {counted(state.wanted, 'judgment')} are made ({share:.0%})."
    blocks: list[Block] = [FigureBlock("progress", describe_progress(state))]
    by_topic = state.by_topic()
    blocks.append(TableBlock("judging_topics", by_topic, "By topic", tools=len(by_topic.rows) > FEW_ROWS))
    if state.assessors:
        blocks.append(TableBlock("assessors", table_of(state.columns()), "By assessor"))
    return Content((text,), blocks=blocks)


def describe_progress(state: Status) -> Figure:
    """The share of judgments that are made, a bar per topic; those that are left count to the full length."""
    wanted = np.maximum(state.topic_documents * state.overlap, 1)
    done = np.minimum(state.topic_counted / wanted, 1.0)
    parts = np.stack([done, 1 - done], axis=1)
    end = np.cumsum(parts, axis=1)
    return Figure(
        "stacked_bars",
        {
            "measure": np.repeat(names(state.topics), 2),
            "component": np.tile(names(["judged", "left"]), len(state.topics)),
            "variance": (parts * wanted[:, None]).ravel(),
            "share": parts.ravel(),
            "begin": (end - parts).ravel(),
            "end": end.ravel(),
        },
        x=Axis("share", "share of judgments", "share", low=0, high=1),
        y=Axis("measure", "topic", "category"),
        by=Axis("component", "state", "category"),
        title="Judgments by topic",
        subtitle=f"{state.counted:,} of {state.wanted:,} judgments",
    )


def agreement_section(campaign: Campaign) -> Content:
    """Agreement of pairs of assessors, with known grades, and with themselves."""
    state = status(campaign.store)
    blocks: list[Block] = []
    text: list[str] = []
    pairs = live_agreement(campaign.store)
    if pairs is None:
        text.append("No document is judged by two assessors, so that their agreement is not known.")
    else:
        if len(pairs.first) > 1:
            with suppress(UsageError):  # κ of all pairs is undefined
                blocks.append(FigureBlock("pairs_of_assessors", pairs.plot()))
        block = TableBlock("assessor_pairs", pairs.table(), "Pairs of assessors", data=table_of(pairs.columns()))
        blocks.append(block)
    checks = {"agrees with gold": state.gold, "agrees with self": state.self_agreement}
    known = {name: values for name, values in checks.items() if not np.isnan(values).all()}
    if known:
        table = table_of({"assessor": names(state.assessors), "checks": state.checks, **known})
        blocks.append(TableBlock("checks", table, "Documents with known grades, and documents judged twice"))
    else:
        text.append("No document has a known grade or was judged twice by the same assessor.")
    return Content(text, blocks=blocks)


def sheets_section(results: Results, team: str | None = None) -> Content:
    """A table per team, with all of its runs; or only that of one team."""
    measure = results.measure_of(None)
    teams = [team] if team is not None else list(dict.fromkeys(results.teams.values()))
    sheets = {name: results.sheets(name, measure) for name in teams}
    rows = sum(len(sheet.topic) for of_team in sheets.values() for sheet in of_team)
    text = [
        f"{measure} of each run on each topic, against the median and the best of "
        f"{counted(len(results.teams), 'run')}. In the picture, the dot is the run, the line leads from the median to "
        "it, and the tick is the best run."
    ]
    blocks: list[Block] = []
    for name, of_team in sheets.items():
        if not of_team:
            text.append(f"No run of {name} counts.")
            continue
        table = sheet_table(of_team)
        printed = None if rows <= MOST_PRINTED else 40
        columns = sheet_columns(of_team)
        blocks.append(TableBlock(f"sheet_{name}", table, f"Team {name}", columns, tools=True, printed=printed))
    return Content(text, blocks=blocks)


def sheet_table(sheets: Sequence[Sheet]) -> Table:
    """The sheets of the runs of a team, one below the other."""
    better = better_of(sheets[0].measure)
    heads = (
        Column("topic"), Column("run"), Column("score", "number", better), Column("median", "number"),
        Column("best", "number"), Column("against median", "difference"), Column("place", "count"),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for sheet in sheets:
        numbers = (sheet.score, sheet.median, sheet.best, sheet.score - sheet.median, sheet.place)
        for topic, *values, place in zip(sheet.topic, *(column.tolist() for column in numbers), strict=True):
            rows.append((topic, sheet.run, *values, place or None))
    return Table(heads, tuple(rows))


def sheet_columns(sheets: Sequence[Sheet]) -> list[HtmlColumn]:
    """The columns of a sheet as the page shows them, with a picture of each row."""
    score, median, best = (
        [value for sheet in sheets for value in getattr(sheet, name).tolist()] for name in ("score", "median", "best")
    )
    against = [own - middle for own, middle in zip(score, median, strict=True)]
    place = [float(rank) if rank else math.nan for sheet in sheets for rank in sheet.place.tolist()]
    return [
        text_column("Topic", [topic for sheet in sheets for topic in sheet.topic], name=True),
        text_column("Run", [sheet.run for sheet in sheets for _ in sheet.topic], chosen=len(sheets) > 1),
        number_column("Score", score, better="neither"),
        number_column("Median", median, better="neither"),
        number_column("Best", best, better="neither"),
        number_column("Against median", against, shown=[_signed(value) for value in against], better="neither"),
        _pictures(score, median, best),
        number_column("Place", place, better="neither", shown=[f"{rank:g}" for rank in place]),
    ]


def _signed(value: float) -> str:
    """A difference with its sign; 0 has none.

    >>> _signed(0.25), _signed(-0.00001)
    ('+0.2500', '0.0000')
    """
    text = f"{value:+.{DIGITS}f}"
    return text if float(text) else text[1:]


def _pictures(score: Sequence[float], median: Sequence[float], best: Sequence[float]) -> HtmlColumn:
    """A line per row, on one scale for all: from the median to the run, and a tick at the best run."""
    ends = [value for column in (score, median, best) for value in column if value == value]
    low = min([0.0, *ends])
    span = (max([low, *ends]) - low) or 1.0

    def x(value: float) -> str:
        return f"{MARGIN + (BAR_WIDTH - 2 * MARGIN) * (value - low) / span:.1f}"

    cells = []
    for own, middle, top in zip(score, median, best, strict=True):
        if own != own or middle != middle:
            cells.append(HtmlCell("", ""))
            continue
        size = f'viewBox="0 0 {BAR_WIDTH} 16" width="{BAR_WIDTH}" height="16"'
        marks = (
            f'<path class="axis" d="M0 8H{BAR_WIDTH}"/><path class="line" d="M{x(middle)} 8H{x(own)}"/>'
            f'<path class="tick" d="M{x(top)} 2V14"/><circle class="dot" cx="{x(own)}" cy="8" r="4"/>'
        )
        cells.append(HtmlCell(f'<svg class="bar" {size} aria-hidden="true">{marks}</svg>', own - middle))
    return HtmlColumn("Run, median and best as a picture", cells, "picture")


def _has_results(state: CampaignState) -> bool:
    return not state.no_results


def _of_runs(name: str) -> Part[CampaignState]:
    """A section of the report of an evaluation, of the runs that count."""
    part = OF_RUNS[name]
    return Part(
        part.title,
        lambda state: part.make(state.scored.experiment),
        lambda state: _has_results(state) and part.usual(state.scored.experiment),
    )


SECTIONS = {
    "summary": Part("In short", _summary),
    "campaign": Part("The campaign", lambda state: campaign_section(state.campaign)),
    "teams": Part("Teams", lambda state: teams_section(state.campaign)),
    "runs": Part("Submitted runs", lambda state: runs_section(state.campaign)),
    "pool": Part("Pool", lambda state: pool_section(state.campaign)),
    "judging": Part("Judging", lambda state: judging_section(state.campaign)),
    "agreement": Part("Agreement of assessors", lambda state: agreement_section(state.campaign)),
    **{
        name: _of_runs(name)
        for name in ("leaderboard", "pairs", "topics", "explain", "curves", "measures", "judgments")
    },
    "sheets": Part("Sheets of teams", lambda state: sheets_section(state.scored.results, state.team), _has_results),
    "methods": _of_runs("methods"),
}
"""The sections, in the order of the page."""
