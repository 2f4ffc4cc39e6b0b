"""`cranfield pool contributions`: the documents that only one run or team found."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import option
from cranfield.cli.printing import Printing


class ContributionsVerb(options.Collection, Printing):
    """Count the judged and relevant documents that each run, or each team, found, and those that no other found."""

    summary = "the documents that only one run or team found"
    examples = """
cranfield pool contributions qrels.txt runs/*.run --pool-depth 100
cranfield pool contributions qrels.txt runs/*.run --teams teams.txt --pool-depth 100
cranfield pool contributions --sample
"""

    teams: str | None = option("--teams FILE", "Lines of run, team: count by team; default: by run.", reads=True)
    pool_depth: int | None = options.pool_depth("The first N documents of each list; default: whole lists.")
    rel: float = options.rel()

    def run(self) -> None:
        from cranfield.building.pools.pool_coverage import pool_contributions

        with self.progress("reading") as progress:
            result = pool_contributions(
                *self.read_whole(), teams=self.teams, depth=self.pool_depth, rel=self.rel, options=self.joining(),
                progress=progress,
            )  # fmt: skip
        self.show(result.table())
