"""`cranfield pool holes`: unjudged documents at the top of new runs."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, option
from cranfield.cli.printing import Printing, emit


class HolesVerb(options.Ranked, Printing, of="building.pools.pool_coverage:pool_holes"):
    """Count the documents in the first N of new runs that nobody has judged, and write them as a pool."""

    output_is_result = False
    summary = "find unjudged documents at the top of new runs"
    examples = """
cranfield pool holes qrels.txt new.run -k 10
cranfield pool holes qrels.txt new/*.run -k 20 -o to-judge.tsv
cranfield pool holes qrels.txt new.run -k 10 --per-topic -f csv
"""

    qrels: str = argument("QRELS", "The judgments.", required=True, reads=True)
    runs: list[str] = argument("RUN", options.RUNS, required=True, reads=True)
    per_topic: bool = options.per_topic("Print a row per run and topic instead.")
    output: str | None = option(
        "--output, -o FILE",
        "Also write the unjudged documents to this file, as a pool.",
        group=RESULT,
        endings=(".tsv",),
    )

    def emit(self, text: str) -> None:
        emit(text, format=self.format)  # the file is for the pool

    def run(self) -> None:
        from cranfield.assessed.join_options import JoinOptions
        from cranfield.building.pools.pool_coverage import pool_holes

        reading = JoinOptions(format=self.run_format, **self.ranking_rules())
        with self.progress("reading") as progress:
            result = pool_holes(
                self.read_qrels(self.qrels), self.runs, **self.settings(), options=reading, progress=progress
            )
        self.show(result.topic_table() if self.per_topic else result.table())
        if self.output is not None:
            result.pool.write(self.output)
