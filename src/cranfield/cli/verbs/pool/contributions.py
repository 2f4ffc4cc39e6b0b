"""`cranfield pool contributions`: the documents that only one run or team found."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import option
from cranfield.cli.printing import Printing


class ContributionsVerb(options.Collection, Printing, of="building.pools.pool_coverage:pool_contributions"):
    """Count the judged and relevant documents that each run, or each team, found, and those that no other found."""

    summary = "find the documents that only one run or team found"
    examples = """
cranfield pool contributions qrels.txt runs/*.run --pool-depth 100
cranfield pool contributions qrels.txt runs/*.run --teams teams.txt --pool-depth 100
cranfield pool contributions --sample
"""

    teams: str | None = option("--teams FILE", "Lines of run, team: count by team; default: by run.", reads=True)

    def run(self) -> None:
        from cranfield.building.pools.pool_coverage import pool_contributions

        with self.progress("reading") as progress:
            result = pool_contributions(
                *self.read_whole(), teams=self.teams, options=self.joining(), progress=progress, **self.settings()
            )
        self.show(result.table())
