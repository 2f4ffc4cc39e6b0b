"""`cranfield interleave reuse`: compare new systems on the clicks of old interleaved lists."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import argument, option
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError


class ReuseVerb(options.Ranked, Printing, of="online.interleaving.history_reuse:reuse_logged"):
    """Compare two new runs on lists that probabilistic interleaving showed for other runs.

    LOG holds attribution records with clicks, as for cranfield interleave analyse; the query of a record is the topic
    of the runs. --old names the runs that were mixed then, in any order; their lists must be those of the records. Each
    impression is weighted by how likely the two new runs would have made its list, relative to the old ones (Hofmann,
    Whiteson & de Rijke, CIKM 2012). Read the effective impressions first: if they are few, the old lists say little.
    """

    summary = "compare new runs on the clicks of old interleaved lists"
    examples = """
cranfield interleave reuse log.jsonl tuned.run bm25.run --old bm25.run --old dense.run
cranfield interleave reuse lists.jsonl new.run bm25.run --old bm25.run --old dense.run --clicks clicks.csv
"""

    log: str = argument("LOG", "Attribution records of probabilistic interleaving.", required=True, reads=True)
    runs: list[str] = argument("RUN", "The two new runs.", required=True, reads=True)
    old: list[str] | None = option("--old RUN", "A run that was mixed in the log. Give all of them.", reads=True)
    clicks: str | None = option(
        "--clicks FILE", "Clicks: query_id, and doc or position (JSON-lines, CSV).", reads=True, solves="clicks="
    )

    def check(self) -> None:
        super().check()
        if len(self.runs) != 2:
            raise UsageError(f"{len(self.runs)} new runs, must be two; name those of the log with --old")
        if len(self.old or []) < 2:
            raise UsageError("name the runs that were mixed in the log: --old RUN --old RUN")

    def run(self) -> None:
        from cranfield.collection.run import read_runs
        from cranfield.online.interleaving.history_reuse import reuse_logged

        reading = {"format": self.run_format, **self.values("on_duplicate", "split_tags")}
        old, new = (read_runs(files, **reading) for files in (self.old or [], self.runs))
        setting = {**self.values("ties", "precision"), **self.settings()}
        self.show_record(reuse_logged(self.log, old, new, self.clicks, order=self.order or "score", **setting))
