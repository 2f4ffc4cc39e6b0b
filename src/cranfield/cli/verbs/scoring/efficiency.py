"""`cranfield efficiency`: effectiveness beside seconds per query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import MORE, option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.scores.scores import Scores
    from cranfield.table import Table


class EfficiencyVerb(ByClass, options.Source, Plotting):
    """Show the mean scores of runs beside their seconds per query, and which runs no other run beats in both.

    Runs on the Pareto front are marked: no other run is at least as effective and at least as fast, and better in one
    of the two. --plot draws the runs and the front. --show intervals resamples topics: intervals of scores and seconds,
    and how often each run is on the front. --show pairs compares the times of all pairs of runs on a logarithmic scale:
    how many times as long the slower run takes.
    """

    repeats_warnings = True
    summary = "show effectiveness beside seconds per query"
    examples = """
cranfield efficiency qrels.txt runs/*.run -m nDCG@10 --times times.tsv
cranfield efficiency qrels.txt runs/*.run -m nDCG@10,RR --times times.tsv --time p95
cranfield efficiency qrels.txt runs/*.run -m nDCG@10 --times times.tsv --show intervals
cranfield efficiency qrels.txt runs/*.run --times times.tsv --show pairs --test wilcoxon
cranfield efficiency --scores scores.csv -m AP --times times.tsv --plot front.svg
"""

    times: str | None = option("--times FILE", "The times: lines of run, topic, seconds.", reads=True)
    time: str = option(
        "--time NAME",
        "The statistic of seconds that the front is found by: {names} (p95 is the 95th percentile).",
        default="mean",
        choices=("mean", "median", "p95"),
    )
    what: str = options.show(
        "runs",
        "intervals",
        "pairs",
        help="{names}: a row per run, the same with intervals over topics, or tests of the times of all pairs of runs.",
    )
    test: str = option(
        "--test, -t TEST", "With --show pairs: the significance test, {names}.", default="t", names=options.TESTS,
        group=MORE,
    )  # fmt: skip
    correction: str | None = option(
        "--correction NAME",
        "With --show pairs: the correction for several comparisons, {names}; default: holm.",
        names="comparison.corrections:CORRECTIONS",
        group=MORE,
    )
    baseline: str | None = option(
        "--baseline, -b RUN", "With --show pairs: compare all other runs with this one.", group=MORE
    )
    alpha: float = options.alpha(help="Significance level; intervals have level 1 - A.")
    resamples: int | None = options.resamples(
        None, "With --show intervals: resamples of topics, 1000 by default; pairs: of tests that resample, 10000."
    )
    seed: int = options.seed()

    def check(self) -> None:
        super().check()
        if self.times is None:
            raise UsageError("no times; give a file with lines of run, topic, seconds: --times FILE")
        if self.plot and self.what != "runs":
            raise UsageError(f"--plot draws the runs and the front; leave out --show {self.what}")

    def run(self) -> None:
        from cranfield.scores.efficiency import efficiency, read_times

        times = read_times(self.times or "")
        scores = self.read_scores()
        if self.what != "runs":
            self.show(self._intervals(scores, times) if self.what == "intervals" else self._pairs(scores, times))
            return
        result = efficiency(scores, times, time=self.time)
        if self.plot and len(result.measures) > 1:
            raise UsageError(f"--plot draws one measure, but there are {len(result.measures)}; choose one with -m")
        self.show(result.table())
        self.save_plot(result, time=self.time)

    def _intervals(self, scores: Scores, times: dict[str, dict[str, float]]) -> Table:
        from cranfield.scores.efficiency import front_stability

        return front_stability(
            scores, times, time=self.time, level=1 - self.alpha, resamples=self.resamples or 1_000, seed=self.seed
        ).table()

    def _pairs(self, scores: Scores, times: dict[str, dict[str, float]]) -> Table:
        from cranfield.comparison.time_tests import compare_times

        return compare_times(
            times, scores.runs, topics=scores.topics, resamples=self.resamples or 10_000,
            **self.values("baseline", "test", "correction", "alpha", "seed"),
        ).table()  # fmt: skip
