"""`cranfield simulate-time`: time-biased gain by the simulation of users."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import option
from cranfield.cli.options.option_values import chosen
from cranfield.cli.score_printing import TopicPrinting
from cranfield.errors import UsageError


class SimulateTimeVerb(options.Collection, TopicPrinting):
    """Simulate users who read ranked lists, and print their time-biased gain with an interval.

    TBG uses the expected time to each document. Here every user opens and saves documents by chance, and needs the time
    that this takes; with --spread, users also differ in their pace. The mean gain is printed beside TBG, with its
    interval and the standard deviation over users (Smucker and Clarke, CIKM 2012). The interval is that of the
    simulation and becomes narrower with --users; compare systems as usual, with the scores of each topic. Parameters
    of the users are those of the measure, as in -m 'TBG(h=300,click_rel=0.7)'.
    """

    summary = "compute time-biased gain (TBG) by simulated users"
    examples = """
cranfield simulate-time qrels.txt bm25.run --lengths lengths.tsv
cranfield simulate-time qrels.txt runs/*.run --lengths lengths.tsv --users 10000 --spread 0.5
cranfield simulate-time qrels.txt runs/*.run --lengths lengths.tsv -q --format csv -o scores.csv
"""

    measure: str = option("--measure, -m MEASURE", "TBG with its parameters and cutoff.", default="TBG")
    missing: str = options.missing()
    users: int = option("--users N", "Users to simulate for each list.", default=1000)
    spread: float = option(
        "--spread S", "How much users differ in pace: standard deviation of its logarithm.", default=0.0
    )
    level: float = options.level()
    seed: int = option("--seed N", "Seed of the random numbers.", default=0)

    def check(self) -> None:
        super().check()
        if self.lengths is None:
            raise UsageError("the time to read a document needs its length in words; give --lengths FILE")

    def run(self) -> None:
        from cranfield.evaluation.simulated_time_gain import simulate_time
        from cranfield.measures.readers.time import TBG

        (measure,) = chosen([self.measure])[:1]
        if not isinstance(measure, TBG) or measure.views:
            raise UsageError(f"-m {self.measure}: must be TBG without views, such as TBG(h=300)@100")
        lists = self.assessed()
        settings = self.values("users", "spread", "level", "seed", "missing")
        with self.progress("simulating") as progress:
            result = simulate_time(lists, measure, progress=progress, **settings)
        self.show_with_topics(result.scores, result)
