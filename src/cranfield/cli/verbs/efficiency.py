"""`cranfield efficiency`: effectiveness beside seconds per query."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.by_class import ByClass
from cranfield.cli.declare import option
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError


class EfficiencyVerb(ByClass, options.Source, Plotting):
    """Show the mean scores of runs beside their seconds per query, and which runs no other run beats in both.

    Runs on the Pareto front are marked: no other run is at least as effective and at least as fast, and better in one
    of the two. --plot draws the runs and the front.
    """

    repeats_warnings = True
    summary = "effectiveness beside seconds per query"
    examples = """
cranfield efficiency qrels.txt runs/*.run -m nDCG@10 --times times.tsv
cranfield efficiency qrels.txt runs/*.run -m nDCG@10,RR --times times.tsv --time p95
cranfield efficiency --scores scores.csv -m AP --times times.tsv --plot front.svg
"""

    times: str | None = option("--times FILE", "The times: lines of run, topic, seconds.", reads=True)
    time: str = option(
        "--time NAME",
        "The statistic of seconds that the front is found by: {names} (p95 is the 95th percentile).",
        default="mean",
        choices=("mean", "median", "p95"),
    )

    def check(self) -> None:
        super().check()
        if self.times is None:
            raise UsageError("no times; give a file with lines of run, topic, seconds: --times FILE")

    def run(self) -> None:
        from cranfield.scores.efficiency import efficiency, read_times

        times = read_times(self.times or "")
        result = efficiency(self.read_scores(), times, time=self.time)
        if self.plot and len(result.measures) > 1:
            raise UsageError(f"--plot draws one measure, but there are {len(result.measures)}; choose one with -m")
        self.show(result.table())
        if self.plot:
            from cranfield.report.figures import describe_efficiency

            describe_efficiency(result, time=self.time).save(self.plot)
