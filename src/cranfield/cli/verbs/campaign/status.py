"""`cranfield campaign status`: how far a campaign is."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import argument, option
from cranfield.cli.printing import Printing
from cranfield.cli.verbs.campaign.init import FOLDER


class StatusVerb(Printing, of="building.campaign.campaign_results:campaign_status"):
    """Show the phase of a campaign and its teams, or the leaderboard of now. The server may be running."""

    summary = "show the progress of a campaign"
    examples = """
cranfield campaign status notes2027
cranfield campaign status notes2027 --show leaderboard -m AP
cranfield campaign status notes2027 -f json
"""

    folder: str = argument("DIR", FOLDER, required=True)
    what: str = options.show("teams", "leaderboard", help="{names}.")
    measure: str | None = option("--measure, -m MEASURE", "The measure of the leaderboard; default: the first.")

    def run(self) -> None:
        from cranfield.building.campaign.campaign_results import campaign_status, score
        from cranfield.building.campaign.campaign_store import Campaign
        from cranfield.errors import UsageError

        if self.measure is not None and self.what != "leaderboard":
            raise UsageError("--measure applies only to --show leaderboard")
        with Campaign(self.folder) as campaign:
            result = (
                score(campaign).leaderboard(self.measure) if self.what == "leaderboard" else campaign_status(campaign)
            )
        if self.format == "json":
            self.emit(result.to_json())
        else:
            self.show(result.table())
