"""`cranfield topics`: runs topic by topic: which topics are hard, and which decide."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import RESULT, option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.printing import Plotting, check_page
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.scores.scores import Scores


class TopicsVerb(ByClass, options.Rescaled, Plotting):
    """List topics with the best, median and worst score of all runs, hardest topics first.

    With --run, also that run's score, its difference from the median and its rank, as in TREC's sheets of results; the
    topics where it is furthest below the median come first. With --pair A,B, the topics that decide between two runs.
    --sheets writes such a sheet for every run, a page each with all measures, to send to the teams.
    """

    repeats_warnings = True
    summary = "which topics are hard, where a run fails, which topics decide"
    examples = """
cranfield topics qrels.txt runs/*.run -m nDCG@10
cranfield topics --sample  # try it on the bundled sample collection
cranfield topics qrels.txt runs/*.run --run bm25 --topics topics.xml
cranfield topics qrels.txt runs/*.run --pair dense,bm25 --plot topics.svg
cranfield topics qrels.txt runs/*.run -m nDCG@10,AP --sheets sheets/  # a page for each run
cranfield topics --scores scores.csv -m AP --sort spread --format csv
"""

    of_run: str | None = option("--run RUN", "Compare this run with the median of all runs.")
    pair: str | None = option("--pair A,B", "List the topics that decide between two runs, A − B.")
    sort: str | None = option(
        "--sort ORDER",
        "Order of topics, {names}: lowest median first, where the run is furthest below the median first, largest "
        "best − worst first, or as they are read; default: difference with --run, else hardest.",
        names="evaluation.topic_sheet:SORTS",
        group=RESULT,
    )
    topics: str | None = options.topic_texts()
    sheets: str | None = option("--sheets DIR", "Write a page for each run to this folder.", group=RESULT, writes=True)

    def check(self) -> None:
        super().check()
        if self.sheets is not None:
            named = {"--run": self.of_run, "--pair": self.pair, "--sort": self.sort, "--plot": self.plot}
            for name, value in named.items():
                if value is not None:
                    raise UsageError(f"--sheets writes a page for each run; leave out {name}")
            check_page(f"{self.sheets.rstrip('/')}/run.html" if os.path.isdir(self.sheets) else "run.html", "--sheets")
        if self.pair is not None:
            if self.of_run is not None or self.sort is not None:
                raise UsageError("--pair goes without --run and --sort; it lists the largest differences first")
            if len(self.pair.split(",")) != 2:
                raise UsageError(f"--pair {self.pair}: expected two names of runs, such as dense,bm25")

    def _write_sheets(self, scores: Scores, folder: str) -> None:
        """Write the page of each run."""
        from cranfield.cli.options.report_options import write_page
        from cranfield.collection.topics import Topics
        from cranfield.report.reports.run_sheet import run_sheet, sheet_files

        texts = None if self.topics is None else Topics.read(self.topics)
        os.makedirs(folder, exist_ok=True)
        files = sheet_files(scores.runs)
        with self.progress("drawing") as progress:
            for number, (run, file) in enumerate(files.items(), 1):
                write_page(run_sheet(scores, run, texts), os.path.join(folder, file))
                if progress is not None:
                    progress(number, len(files))

    def run(self) -> None:
        from cranfield.evaluation.topic_sheet import deciding_topics, topic_sheet

        scores = self.read_scores()
        if self.plot and len(scores.measures) > 1:
            raise UsageError(f"--plot draws one measure, but there are {len(scores.measures)}; choose one with -m")
        if self.sheets is not None:
            self._write_sheets(scores, self.sheets)
            return
        if self.pair is not None:
            first, second = (self.run_named(name.strip(), scores) for name in self.pair.split(","))
            decide = deciding_topics(scores, first, second, topics=self.topics)
            self.show_record(decide)
            self.save_plot(decide)
            return
        of_run = None if self.of_run is None else self.run_named(self.of_run, scores)
        sheet = topic_sheet(scores, run=of_run, sort=self.sort, topics=self.topics)
        self.show_record(sheet)
        self.save_plot(sheet)
