"""`cranfield machine ppi`: intervals from few human and many machine judgments."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from cranfield import check
from cranfield.cli import options
from cranfield.cli.declare import argument, option
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.text import listed

if TYPE_CHECKING:
    from cranfield.collection.accepted_inputs import QrelsLike
    from cranfield.collection.qrels import Qrels
    from cranfield.scores.scores import Scores


class PpiVerb(options.Lists, Plotting, of="building.machine.powered_intervals:powered_intervals"):
    """Estimate mean scores over all topics from human judgments of some topics and machine judgments of all.

    The topics with both judgments show how far the machine is off, and correct its scores on the other topics
    (prediction-powered inference). The intervals hold for good and bad machines if the topics with human judgments
    are a random sample of all topics; the better the machine, the narrower they are. Where few human topics carry the
    spread (runs that differ on few topics, scores that are mostly 0), the interval comes from the human scores and the
    range of the measure, with a note. The weight of the machine, λ, is tuned for each run. The classical
    interval, from human judgments alone, is printed beside.

    effective topics is the number of topics with human judgments that would give an interval as narrow without the
    machine. --half-width prints how many topics need human judgments instead.
    """

    summary = "compute intervals from few human and many machine judgments"
    examples = """
cranfield machine ppi human.qrels machine.qrels runs/*.run -m nDCG@10
cranfield machine ppi human.qrels machine.qrels runs/*.run -m nDCG@10 --baseline bm25 --plot intervals.svg
cranfield machine ppi human.qrels machine.qrels runs/*.run -m AP --half-width 0.02  # how many topics to judge
"""

    qrels: str = argument("HUMAN", "The human judgments, of some topics.", required=True, reads=True)
    machine: str = argument(
        "MACHINE",
        "The machine judgments of all topics: qrels, or the log of cranfield machine label.",
        required=True,
        reads=True,
    )
    runs: list[str] = argument("RUN", options.RUNS, required=True, reads=True)
    judge: str | None = option("--judge NAME", "The judge to use, if MACHINE is a log of labels of several.")
    measures: list[str] | None = options.measures()
    missing: str = options.missing()
    baseline: str | None
    pairs: bool
    level: float
    tuning: float | None
    interval: str
    half_width: float | None = option(
        "--half-width W", "Print how many topics need human judgments for intervals of ± W."
    )
    machine_topics: int | None = option(
        "--machine-topics N",
        "With --half-width: the number of topics that the machine will judge; default: those it has judged.",
    )

    def check(self) -> None:
        super().check()
        if self.baseline is not None and self.pairs:
            raise UsageError("--baseline and --pairs exclude each other; leave out one of them")
        if self.machine_topics is not None and self.half_width is None:
            raise UsageError("--machine-topics applies only to --half-width; add it, or leave out --machine-topics")
        if self.half_width is not None:
            check.positive("", **{"--half-width": self.half_width})
            if self.plot:
                raise UsageError("--plot draws intervals; leave out --half-width")
            if self.tuning is not None or self.interval != "t":
                raise UsageError("--half-width tunes λ and uses Student's t; leave out --lambda and --intervals")

    def run(self) -> None:
        from cranfield.building.machine.powered_intervals import powered_intervals, topics_needed

        human, machine = self.read_qrels(self.qrels), self.read_machine()
        with warnings.catch_warnings():  # people judge some topics only, and the runs have all of them
            warnings.filterwarnings("ignore", ".*without judgments ignored", CranfieldWarning)
            by_human = self.scored(human)
        by_machine = self.scored(machine)
        if self.half_width is not None:
            per_topic = len(human) / len(human.topics) if len(human.topics) else math.nan
            needed = topics_needed(
                by_human,
                by_machine,
                self.half_width,
                machine_topics=self.machine_topics,
                judgments_per_topic=per_topic,
                **self.values("baseline", "pairs", "level"),
            )
            self.show_record(needed)
            return
        result = powered_intervals(by_human, by_machine, **self.settings())
        self.show_record(result)
        if self.plot and len(by_human.measures) > 1:
            raise UsageError(f"--plot draws one measure, but there are {len(by_human.measures)}; choose one with -m")
        self.save_plot(result)

    def read_machine(self) -> Qrels:
        """The machine judgments; of a log of labels, those of one judge."""
        from cranfield.building.machine.machine_audit import read_judges
        from cranfield.check import nearest

        judges = read_judges({"machine": self.machine}, format=self.qrels_format, on_duplicate=self.on_duplicate)
        if self.judge is None and len(judges) > 1:
            raise UsageError(f"{self.machine} has {len(judges)} judges: {listed(judges)}; choose one with --judge")
        judge = next(iter(judges)) if self.judge is None else self.judge
        if judge not in judges:
            raise nearest(judge, list(judges), "judge")
        return judges[judge]

    def scored(self, qrels: QrelsLike) -> Scores:
        from cranfield.evaluation.evaluator import evaluate

        with self.progress("reading") as progress:
            return evaluate(
                qrels, self.runs, chosen(self.measures or [options.USUAL]), missing=self.missing, progress=progress,
                **self.join_options(),
            )  # fmt: skip
