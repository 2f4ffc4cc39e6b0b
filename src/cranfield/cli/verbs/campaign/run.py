"""`cranfield campaign run`: evaluation as a service."""

from __future__ import annotations

from cranfield.cli.declare import argument, option
from cranfield.cli.printing import Quiet
from cranfield.cli.verbs.campaign.init import FOLDER
from cranfield.errors import UsageError


class RunVerb(Quiet, of="building.campaign.running:run_submission"):
    """Run a team's command on the topics of a campaign, inside limits, and take in what it prints as a submitted run.

    The command gets lines of topic id, tab and title on standard input, and prints a run. It runs on this machine in a
    new, empty folder, without the network unless --network, and all its processes are killed at the end. It can read
    what you can read: run it as a user who cannot read judgments, or in a container.
    """

    summary = "run a team's command on the topics, inside limits"
    examples = """
cranfield campaign run notes2027 --team aardvark --command '/srv/aardvark/search --index /srv/index'
cranfield campaign run notes2027 --team aardvark --command '/srv/ask https://example.org/search' --network
"""

    folder: str = argument("DIR", FOLDER, required=True)
    team: str | None = option("--team NAME", "The team whose run it is.")
    command: str | None = option("--command WORDS", "The command, in quotes; no shell reads it.")

    def check(self) -> None:
        super().check()
        if self.team is None or self.command is None:
            raise UsageError("name the team and its command: --team NAME --command WORDS")

    def run(self) -> None:
        from cranfield.building.campaign.campaign_store import Campaign
        from cranfield.building.campaign.running import run_submission, words_of
        from cranfield.errors import DataError
        from cranfield.text import counted

        with Campaign(self.folder) as campaign:
            receipt = run_submission(campaign, self.team or "", words_of(self.command or ""), **self.settings())
        for finding in receipt.findings:
            print(finding)
        if receipt.submission is None:
            raise DataError(self.command or "", None, "printed a run that the rules refuse; see above")
        own = receipt.submission
        print(f"accepted: {own.tag} of {own.team}, {counted(own.lists, 'topic')}, {counted(own.documents, 'document')}")
        for note in receipt.notes:
            print(note)
