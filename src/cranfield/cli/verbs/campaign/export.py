"""`cranfield campaign export`: write a campaign as plain files."""

from __future__ import annotations

from cranfield.cli.declare import argument
from cranfield.cli.printing import Quiet
from cranfield.cli.verbs.campaign.init import FOLDER


class ExportVerb(Quiet, of="building.campaign.campaign_export:export_campaign"):
    """Write everything of a campaign as plain files: rules, topics, teams, runs, pool, qrels, leaderboard, sheets, log.

    `cranfield campaign import` makes an equal campaign of them. Passwords are not written. The server may be running.
    """

    summary = "write everything as plain files"
    examples = """
cranfield campaign export notes2027 notes2027-files
"""

    folder: str = argument("DIR", FOLDER, required=True)
    target: str = argument("FOLDER", "A new folder for the files.", required=True)

    def run(self) -> None:
        from cranfield.building.campaign.campaign_export import export_campaign
        from cranfield.building.campaign.campaign_store import Campaign
        from cranfield.text import counted

        with Campaign(self.folder) as campaign:
            written = export_campaign(campaign, self.target)
        print(f"{counted(len(written), 'file')} in {self.target}")
