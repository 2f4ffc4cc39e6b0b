"""The report of a campaign in its phases: counts, contributions, and the sheets of teams."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from cranfield.building.campaign.campaign_results import score
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.errors import UsageError
from cranfield.report.pages.report_parts import Outline, Report, TableBlock
from cranfield.report.reports.campaign_report import SECTIONS, campaign_report
from tests.building.campaign.players import TEAMS, TOPICS, make_campaign
from tests.building.campaign.test_campaign_browser import played
from tests.cli.conftest import Cranfield

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Five teams with 14 runs, and all judgments."""
    return played(tmp_path_factory.mktemp("campaign"))


def table(report: Report, name: str) -> list[dict[str, str]]:
    (block,) = [block for section in report.sections for block in section.blocks if block.name == name]
    assert isinstance(block, TableBlock)
    return list(csv.DictReader(io.StringIO(block.csv())))


def test_every_section_is_made_and_counts_what_there_is(folder: str) -> None:
    with Campaign(folder) as campaign:
        report = campaign_report(campaign)
        submitted = len(campaign.submissions())
        pool = campaign.store.database.read("SELECT COUNT(*) FROM pool")[0][0]
    assert [section.key for section in report.sections] == list(SECTIONS)
    assert not [text for section in report.sections for text in section.text if text.startswith("Not computed")]
    assert [row["team"] for row in table(report, "teams")] == list(TEAMS)
    assert len(table(report, "runs")) == submitted == 14
    assert {len(row["SHA-256"]) for row in table(report, "runs")} == {64}
    assert [row["topic"] for row in table(report, "pool")] == TOPICS
    assert sum(int(row["documents"]) for row in table(report, "pool")) == pool
    assert [row["topic"] for row in table(report, "judging_topics")] == TOPICS
    assert {float(row["done"]) for row in table(report, "judging_topics")} == {1.0}


def test_a_sheet_has_the_scores_the_median_and_the_best(folder: str) -> None:
    with Campaign(folder) as campaign:
        report = campaign_report(campaign, Outline(sections=("sheets",)), team="pink", measure="P@5")
        scores = score(campaign).scores["P@5"]
    values = scores.values[0]
    rows = table(report, "sheet_pink")
    assert len(rows) == 2 * len(TOPICS)
    for row in rows:
        of_topic = values[:, scores.topics.index(row["topic"])]
        own = of_topic[scores.runs.index(row["run"])]
        assert float(row["score"]) == own
        assert float(row["median"]) == np.median(of_topic)
        assert float(row["best"]) == max(of_topic)
        assert int(row["place"]) == 1 + sum(other > own for other in of_topic.tolist())
    assert [block.name for block in report.sections[0].blocks] == ["sheet_pink"]


def test_contacts_of_teams_are_not_in_the_page(cranfield: Cranfield, folder: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert cranfield("campaign", "report", folder, "-o", str(path)).code == 0
    page = path.read_text("utf-8")
    assert "Team red" in page
    assert "example.org" not in page
    assert "scrypt" not in page


def test_before_there_are_runs_the_page_says_what_is_missing(tmp_path: Path) -> None:
    make_campaign(tmp_path)
    with Campaign(str(tmp_path / "notes")) as campaign:
        report = campaign_report(campaign)
        asked = campaign_report(campaign, Outline(sections=("leaderboard",)))
    texts = {section.key: (*section.text, *section.points) for section in report.sections}
    assert texts["summary"][-1] == "No run counts, so that there are no scores."
    assert texts["teams"] == ("No team has registered yet.",)
    assert "leaderboard" not in texts
    assert asked.sections[0].text == ("Not computed: no run counts, so that there are no scores.",)


def test_unknown_teams_and_measures_are_errors(folder: str) -> None:
    with Campaign(folder) as campaign:
        with pytest.raises(UsageError, match="no team 'rad'; did you mean 'red'"):
            campaign_report(campaign, team="rad")
        with pytest.raises(UsageError, match="no measure 'P@6'; did you mean 'P@5'"):
            campaign_report(campaign, measure="P@6")
