"""`cranfield clicks simulate`: sessions with clicks of a model on the lists of runs."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, option
from cranfield.cli.options.log_options import MODEL
from cranfield.cli.printing import Quiet, warn_of_notes
from cranfield.errors import UsageError


class SimulateVerb(options.Ranked, Quiet, of="online.clicks.click_simulation:simulate_clicks"):
    """Simulate sessions: the lists of runs, with clicks of a model.

    Each session draws a topic and a run that has it, all equally likely. -o is a Parquet or CSV table with a row per
    impression (session, run, query, position, doc, clicked), which cranfield clicks fit reads; or a directory, which
    gets a table of impressions and one of clicks, a log that cranfield log reads, with the runs as arms.

    If the model knows queries by their texts, and the runs have ids of topics, --topics says which is which.
    """

    summary = "simulate sessions with clicks of a model"
    examples = """
cranfield clicks simulate pbm.json bm25.run dense.run --simulated-sessions 100000 -o simulated.parquet
cranfield clicks simulate dbn.json bm25.run --topics topics.tsv --simulated-sessions 5000 --seed 7 -o simulated.csv
"""

    model: str = argument("MODEL", MODEL, required=True, reads=True)
    runs: list[str] | None = argument("RUN...", options.RUNS, reads=True)
    topics: str | None = option(
        "--topics FILE", "The topics: their titles are the queries of the model.", reads=True, solves="give the topics"
    )
    output: str | None = option(
        "--output, -o FILE",
        "Write the sessions to this file (.parquet, .csv) or directory.",
        group=RESULT,
        endings=(".parquet", ".csv"),
    )

    def check(self) -> None:
        super().check()
        if not self.runs:
            raise UsageError("no runs to show; give one or more after the model")
        if self.output is None:
            raise UsageError("no file for the sessions; name one that ends in .parquet or .csv: --output FILE")

    def run(self) -> None:
        from cranfield.collection.topics import Topics
        from cranfield.online.clicks import load_click_model, simulate_clicks

        fitted = load_click_model(self.model)
        queries = None if self.topics is None else Topics.read(self.topics).queries()
        runs = list(self.read_runs(self.runs or []).values())
        with self.progress("simulating") as progress:
            result = simulate_clicks(
                fitted, runs, self.output or "", order=self.order or "score", ties=self.ties, queries=queries,
                progress=progress, **self.settings(),
            )  # fmt: skip
        warn_of_notes(result.notes, "trec")
        print(result.sentence())
