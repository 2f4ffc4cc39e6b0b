"""`cranfield interleave simulate`: bias, fidelity and sensitivity of interleaving, with simulated clicks."""

from __future__ import annotations

from cranfield import check
from cranfield.cli import options
from cranfield.cli.declare import option
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

USUAL_METHODS = "team-draft,probabilistic,optimised,pairwise"


class SimulateVerb(
    options.Collection, Plotting, of="online.interleaving.interleaving_simulation:simulate_interleaving"
):
    """Show interleaved lists of runs to simulated users, and compare what their clicks say with what QRELS says.

    Bias: users who click at random (--user random) must not favour a run; a small p is a sign of bias. Fidelity: do
    clicks prefer the run with the better mean score? Sensitivity: the impressions after which a sign test finds the
    difference. With more than two runs, all are interleaved in one list, and each row counts pairs of runs.

    Users read from the top, click with a probability that depends on the grade, and may stop after a click. The notes
    show the probabilities. perfect users click all relevant documents, navigational ones stop at the first good one,
    informational ones click much and stop rarely.

    --plot draws how the power of the sign test grows with impressions. --write-log writes the lists and clicks of one
    method as records for cranfield interleave analyse.
    """

    summary = "measure bias and sensitivity with simulated clicks"
    examples = """
cranfield interleave simulate qrels.txt bm25.run dense.run
cranfield interleave simulate qrels.txt bm25.run dense.run --methods balanced,team-draft --user random
cranfield interleave simulate --sample --methods team-draft --user navigational,informational -m AP
cranfield interleave simulate qrels.txt bm25.run dense.run --methods team-draft --write-log log.jsonl
"""

    methods: list[str] | None = option(
        "--methods METHOD,...",
        f"{{names}}; default: {USUAL_METHODS}. May be repeated.",
        names="online.interleaving.mixing_methods:MIXING_METHODS",
    )
    clicks: str = option(
        "--user KIND,...",
        "How users click: {names}.",
        default="navigational",
        names="online.interleaving.simulated_impressions:USERS",
    )
    measure: str = option("--measure, -m MEASURE", "The measure that says which run is better.", default="nDCG@10")
    log: str | None = option(
        "--write-log FILE", "Also write the lists and clicks of one method, as JSON-lines.", writes=True
    )
    users: int = option("--users N", "The number of users in the file of --write-log.", default=1000)

    def check(self) -> None:
        super().check()
        check.whole("", **{"--users": self.users})
        self.kinds = [name.strip() for name in self.clicks.split(",") if name.strip()]
        if not self.kinds:
            raise UsageError("--user is empty; give one of perfect, navigational, informational, random")

    def run(self) -> None:
        from cranfield.cli.options.option_values import imported
        from cranfield.declared.registry import split_names
        from cranfield.online.interleaving.interleaving_simulation import simulate_interleaving
        from cranfield.online.interleaving.simulated_impressions import simulate_log

        names = [name for text in self.methods or [USUAL_METHODS] for name in split_names(text)]
        if self.log is not None and (len(names) > 1 or len(self.kinds) > 1):
            raise UsageError(
                "--write-log writes one experiment; choose one method with --methods, and one kind of --user"
            )
        qrels, runs = self.read_whole()
        setting = self.values("impressions", "length", "depth", "seed") | {"options": self.joining()}
        with self.progress("simulating") as progress:
            result = simulate_interleaving(
                qrels, runs, names, self.kinds, measure=imported(self.measure), options=setting["options"],
                progress=progress, **self.settings(),
            )  # fmt: skip
        self.show_record(result)
        if self.log is not None:
            from cranfield.online.interleaving.attribution_log import write_records

            write_records(self.log, simulate_log(qrels, runs, names[0], self.kinds[0], **setting).logged(self.users))
        self.save_plot(result)
