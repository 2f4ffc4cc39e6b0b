"""`cranfield campaign report`: a page about a campaign, for its organisers and teams."""

from __future__ import annotations

from cranfield.cli.declare import RESULT, argument, option
from cranfield.cli.options import report_options
from cranfield.cli.printing import Quiet, check_page
from cranfield.cli.verbs.campaign.init import FOLDER


class ReportVerb(Quiet, report_options.Outlined):
    """Write a report of a campaign: one HTML file that makes no request, with tables that sort and figures.

    It has the teams, the submitted runs, the phases and rules, the pool, how far judging is, the agreement of
    assessors, the leaderboard, all pairs of runs, topics, measures, and a sheet for each team: its runs topic by topic
    against the median and the best. Sections that need scores are left out before there are judgments. Contacts of
    teams and passwords are not in it; names of assessors are. The server may be running.

    --sections and --outline choose what it has, as in cranfield report. --team makes a page to send to one team.
    """

    summary = "write one page with everything about a campaign"
    examples = """
cranfield campaign report notes2027 -o report.html
cranfield campaign report notes2027 --sections summary,teams,judging,agreement -o progress.html
cranfield campaign report notes2027 --team red --sections leaderboard,topics,sheets -o red.html
"""

    folder: str = argument("DIR", FOLDER, required=True)
    output: str = option(
        "--output, -o FILE",
        "The HTML file to write; - is standard output.",
        required=True,
        group=RESULT,
        endings=(".html", ".htm"),
    )
    sections: str | None = report_options.sections("report.reports.campaign_report:SECTIONS", RESULT)
    measure: str | None = option("--measure, -m MEASURE", "The measure that ranks the runs; default: the first.")
    team: str | None = option("--team NAME", "Show the sheet of this team only.")

    def check(self) -> None:
        super().check()
        from cranfield.report.reports.campaign_report import SECTIONS

        self._outline = self.read_outline(SECTIONS)
        check_page(self.output)

    def run(self) -> None:
        from cranfield.building.campaign.campaign_store import Campaign
        from cranfield.report.reports.campaign_report import campaign_report

        with Campaign(self.folder) as campaign:
            report = campaign_report(campaign, self._outline, measure=self.measure, team=self.team)
        report_options.write_page(report, self.output)
