"""`cranfield meta online`: which offline measure predicts the online winner?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import MORE, RESULT, declared, flag, option
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.online.clicks.click_model import ClickModel
    from cranfield.online.prediction import OnlineOutcomes


class OnlineVerb(options.Source, Plotting, of="online.prediction.online_agreement:online_agreement"):
    """Show how often the better system by each offline measure also wins online, with intervals over systems.

    --outcomes is a file with a line per pair of systems that were compared online: first, second, outcome (above 0 or
    `first` if the first won), and if known p and the kind of comparison (ab, interleaving). Without a log, --simulate
    makes the outcomes: simulated users click on the lists of the runs according to the judgments, in A/B tests and in
    interleaved lists. The last column is the number of topics that suffice. --plot draws agreement by topics.
    """

    repeats_warnings = True
    summary = "which offline measure predicts the online winner"
    examples = """
cranfield meta online qrels.txt runs/*.run -m AP,nDCG@10,ERR --outcomes outcomes.tsv
cranfield meta online --sample -m AP,nDCG@10,RR --simulate
cranfield meta online qrels.txt runs/*.run -m AP,P@10 --simulate --user informational --plot agreement.svg
cranfield meta online --scores scores.csv --outcomes outcomes.tsv
"""

    outcomes: str | None = option(
        "--outcomes FILE", "Online outcomes: lines of first, second, outcome, p, kind.", reads=True
    )
    simulate: bool = flag("--simulate", "Simulate the outcomes from judgments and runs.")
    user: str = option(
        "--user KIND",
        "With --simulate, how users click: {names}, or a file of a click model (cranfield clicks fit --save).",
        default="navigational",
        names="online.interleaving.simulated_impressions:USERS",
    )
    queries: int = option("--simulated-queries N", "With --simulate: queries per run and per pair.", default=2_000)
    metric: str = option(
        "--simulated-metric NAME",
        "With --simulate, what A/B tests compare: {names}.",
        default="reciprocal-rank",
        names="online.prediction.online_agreement:METRICS",
        group=MORE,
    )
    write: str | None = option("--write FILE", "With --simulate: write the outcomes.", group=RESULT)
    seed: int

    def check(self) -> None:
        super().check()
        if bool(self.outcomes) == self.simulate:
            raise UsageError("give the outcomes of online comparisons, --outcomes FILE, or simulate them: --simulate")
        if self.simulate and self.scores:
            raise UsageError("--simulate needs judgments and runs, not only --scores")
        if self.write and not self.simulate:
            raise UsageError("--write is for simulated outcomes: give --simulate")
        of_simulation = {parameter.name: parameter.default for parameter in declared(type(self))}
        for name, spelled in (("user", "--user"), ("queries", "--simulated-queries"), ("metric", "--simulated-metric")):
            if not self.simulate and getattr(self, name) != of_simulation[name]:
                raise UsageError(f"{spelled} is for simulated outcomes: give --simulate, or leave it out")

    def run(self) -> None:
        from cranfield.online.prediction import online_agreement, read_outcomes

        outcomes = self._simulated() if self.simulate else read_outcomes(self.outcomes or "")
        scores = self.read_scores("AP,nDCG@10,ERR,RR,P@10,RBP")
        with self.progress("resampling") as progress:
            result = online_agreement(scores, outcomes, **self.settings(), progress=progress)
        self.show_record(result)
        self.save_plot(result)

    def _user(self) -> str | ClickModel:
        """A kind of user, or a fitted click model."""
        import os

        if not os.path.exists(self.user):
            return self.user
        from cranfield.online.clicks.click_model import load_click_model

        return load_click_model(self.user)

    def _simulated(self) -> OnlineOutcomes:
        from cranfield.cli.printing import emit
        from cranfield.collection.run import read_runs
        from cranfield.online.prediction import simulate_outcomes

        qrels, files = self.read_whole()
        runs = read_runs(files, format=self.run_format, on_duplicate=self.on_duplicate, split_tags=self.split_tags)
        with self.progress("simulating") as progress:
            outcomes = simulate_outcomes(
                qrels, runs, self._user(), queries=self.queries, metric=self.metric, seed=self.seed, progress=progress
            )
        if self.write:
            emit(outcomes.text(), self.write)
        return outcomes
