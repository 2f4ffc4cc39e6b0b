"""`cranfield log preferences`: preferences between documents from clicks, and the runs that they favour."""

from __future__ import annotations

from cranfield.cli.declare import argument, option
from cranfield.cli.options.log_options import LOG, LogReading, TopicTexts
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError


class PreferencesVerb(
    LogReading,
    TopicTexts,
    Printing,
    of="online.log_measures.click_preferences:click_preferences online.log_measures.click_preferences:run_agreement",
):
    """Count how often users preferred one document to another, and say which runs agree with them.

    A clicked document is preferred to those above it that were skipped (skip-above); --preference-rule names other
    rules. With runs, a table shows the share of preferences that each run agrees with, averaged over queries, and a
    test of all pairs of runs over queries. Preferences that go in circles are counted, with an example.
    """

    summary = "derive preferences between documents from clicks"
    examples = """
cranfield log preferences log/
cranfield log preferences log/ --preference-rule skip-above,no-click-next
cranfield log preferences log/ bm25.run dense.run --topics topics.tsv
"""

    log: str = argument("LOG", LOG, required=True, reads=True)
    runs: list[str] = argument("RUN", "Run files, to see which ones the preferences favour.", reads=True)
    top: int = option("--top N", "Show N pairs of documents.", default=20)

    def check(self) -> None:
        super().check()
        if self.topics and not self.runs:
            raise UsageError("--topics names the topics of runs, but there are no runs")

    def run(self) -> None:
        from cranfield.online.log_measures.click_preferences import click_preferences

        log = self.read_log()
        with log.engine:
            preferences = click_preferences(log, **self.settings("click_preferences"))
        if not self.runs:
            if self.for_programs:
                self.show_record(preferences)
            else:
                self.show(preferences.table(self.top))
            return
        from cranfield.assessed.given_runs import distinct_names
        from cranfield.collection.run import Run
        from cranfield.online.log_measures.click_preferences import run_agreement

        read = [Run.read(path) for path in self.runs]
        runs = dict(zip(distinct_names([run.name for run in read], self.runs), read, strict=True))
        settings = self.settings("run_agreement")
        agreement = run_agreement(preferences, runs, topics=self.topic_texts(), **settings)
        if self.for_programs:
            self.show_record(agreement)
        else:
            tables = [agreement.table(), *([agreement.comparison.table()] if agreement.comparison else [])]
            self.show(*tables)
