"""`cranfield campaign import`: make a campaign from exported files."""

from __future__ import annotations

from cranfield.cli.declare import argument, option
from cranfield.cli.printing import Quiet


class ImportVerb(Quiet, of="building.campaign.campaign_setup:import_campaign"):
    """Make a campaign from the files of an export. Its content is equal, except that nobody has a password.

    An organiser gets a new password, which is printed once, and can make new ones for teams and assessors in the
    browser.
    """

    summary = "make a campaign from exported files"
    examples = """
cranfield campaign import notes2027-copy notes2027-files
cranfield campaign import notes2027-copy notes2027-files --database postgresql://me@localhost/copy
"""

    folder: str = argument("DIR", "A new folder for the campaign.", required=True)
    source: str = argument("FOLDER", "The folder of an export.", required=True)
    organiser: str = option("--organiser NAME", "The organiser who gets a password.", default="organiser")

    def run(self) -> None:
        from cranfield.building.campaign.campaign_setup import add_organiser, import_campaign
        from cranfield.text import counted

        with import_campaign(self.folder, self.source, **self.settings()) as campaign:
            password = add_organiser(campaign, self.organiser)
            teams, runs = len(campaign.teams()), len(campaign.submissions())
        print(f"{counted(teams, 'team')}, {counted(runs, 'submission')} in {self.folder}")
        print(f"{self.organiser} (organiser): the password is {password}")
