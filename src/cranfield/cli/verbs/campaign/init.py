"""`cranfield campaign init`: start a campaign."""

from __future__ import annotations

import sys

from cranfield.cli.declare import MORE, argument, option
from cranfield.cli.printing import Quiet

FOLDER = "The folder of the campaign."


class InitVerb(Quiet, of="building.campaign.campaign_setup:init_campaign"):
    """Make the folder of a new campaign: its rules in campaign.toml, and a database with topics and documents.

    An account for an organiser is made, and its password is printed once. Edit campaign.toml (measures, rules for runs,
    pool, dates), then start the server with `cranfield campaign serve`. Organisers add assessors in the browser; teams
    register themselves with a join code, which the page of the campaign shows to organisers.

    With --docs or --doc-ids, runs may contain only these documents.
    """

    summary = "start a campaign in a new folder"
    examples = """
cranfield campaign init notes2027 --topics topics.xml --docs docs.jsonl
cranfield campaign init notes2027 --topics topics.tsv --doc-ids ids.txt --title 'Notes 2027' -m nDCG@10 -m AP
cranfield campaign init notes2027 --topics topics.xml --mode intents -m D#-nDCG@10 -m I-rec@10
cranfield campaign init notes2027 --topics topics.xml --mode dimensions --dimension relevance --dimension credibility
cranfield campaign init notes2027 --topics topics.xml --database postgresql://me@localhost/notes
"""

    folder: str = argument("DIR", "A new folder.", required=True)
    topics: str | None = option("--topics FILE", "The topics; they are needed.", reads=True)
    docs: list[str] = option(
        "--docs FILE",
        "The documents: JSON-lines or a table with id, title, text; a folder; or irds:NAME. May be repeated.",
    )
    doc_ids: str | None = option(
        "--doc-ids FILE", "The ids of all documents, one on a line, if their texts are elsewhere.", reads=True
    )
    gold: str | None = option(
        "--gold FILE", "Documents with known grades (qrels), shown now and then to check assessors.", reads=True
    )
    dimension: list[str] = option(
        "--dimension NAME", "With --mode dimensions: one of them; relevance must be among them. May be repeated."
    )
    intents: str | None = option(
        "--intents FILE",
        "Lines of topic, intent, text, and optionally type and probability, between tabs; default: the subtopics.",
        reads=True,
        group=MORE,
    )
    nuggets: str | None = option(
        "--nuggets FILE",
        "Lines of topic, nugget, text, and optionally type and weight, between tabs; assessors may add others.",
        reads=True,
        group=MORE,
    )
    title: str | None = option("--title TEXT", "The name of the campaign; default: that of the folder.")
    measure: list[str] = option(
        "--measure, -m MEASURE",
        "A measure; the first one ranks the leaderboard. May be repeated. Default: nDCG@10,AP.",
    )
    organiser: str = option("--organiser NAME", "The account of the organiser.", default="organiser")

    def check(self) -> None:
        super().check()
        from cranfield.errors import UsageError

        if not self.topics:
            raise UsageError("a campaign needs topics; give --topics FILE")

    def run(self) -> None:
        import os

        from cranfield.building.campaign.campaign_setup import add_organiser, init_campaign
        from cranfield.building.campaign.campaign_store import Campaign

        name = self.title or os.path.basename(os.path.abspath(self.folder))
        with self.progress("reading documents") as progress:
            notes = init_campaign(
                self.folder,
                name=name,
                docs=tuple(self.docs or ()),
                measures=tuple(self.measure or ()),
                dimensions=tuple(self.dimension or ()),
                progress=(lambda done: progress(done, 0)) if progress else None,
                **self.values("topics", "doc_ids", "gold", "intents", "nuggets"),
                **self.settings(),
            )
        if not self.quiet:
            for note in notes:
                print(f"note: {note}", file=sys.stderr)
        with Campaign(self.folder) as campaign:
            password = add_organiser(campaign, self.organiser)
            print(f"{self.organiser} (organiser): the password is {password}")
            print(f"Teams register with the join code {campaign.join_code}")
        print(f"Edit {os.path.join(self.folder, 'campaign.toml')}, then run: cranfield campaign serve {self.folder}")
