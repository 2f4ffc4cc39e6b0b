"""`cranfield log satisfaction`: learn from labels which queries satisfied their users."""

from __future__ import annotations

from cranfield.cli.declare import option
from cranfield.cli.options.log_options import LogReading
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError


class SatisfactionVerb(
    LogReading, Plotting, of="online.log_measures.satisfaction.learned_satisfaction:learn_satisfaction"
):
    """Learn from labels which queries satisfied their users, from clicks, dwell time, ranks and reformulations.

    The classifier is a logistic regression. Its quality is measured in cross-validation, with all queries of a user in
    one fold: area under the ROC curve, and the Brier score with its parts. --plot draws the calibration: predicted
    probabilities beside the share of satisfied queries. --by applies the classifier to all queries of the log, and
    shows the mean prediction by day, arm or segment.
    """

    summary = "learn which queries satisfied their users"
    examples = """
cranfield log satisfaction log/ --labels labels.csv
cranfield log satisfaction log/ --labels labels.csv --plot calibration.svg
cranfield log satisfaction log/ --labels labels.csv --by arm
"""

    labels: str | None = option(
        "--labels FILE",
        "A file with columns query_id and label (0 or 1), or the name of a column of the queries.",
        reads=True,
    )
    signals: str | None = option(
        "--signals NAMES", "The signals to use, separated by commas: {names}; default: all.",
        names="online.log_measures.satisfaction.learned_satisfaction:SIGNALS",
    )  # fmt: skip
    by: list[str] | None = option("--by COLUMN", "Show the mean prediction for each day, arm or segment.")
    least: int = option("--least N", "Leave out groups with fewer than N users.", default=10, solves="least=")

    def check(self) -> None:
        super().check()
        if self.labels is None:
            raise UsageError("no labels; give a file with columns query_id and label: --labels FILE")

    def run(self) -> None:
        from cranfield.online.log_measures import measure_log
        from cranfield.online.log_measures.satisfaction import learn_satisfaction

        wanted = [name.strip() for name in self.signals.split(",")] if self.signals else None
        by = [name for text in self.by or [] for name in text.split(",")]
        log = self.read_log()
        with log.engine:
            result = learn_satisfaction(log, self.labels, signals=wanted, **self.settings())
            groups = None
            if by:
                options = self.values("least", "sessions", "silence")
                groups = measure_log(log, [result.measure()], by=by, **options)
        if groups is None:
            self.show_record(result)
        elif self.for_programs:
            self.show_record(groups)
        else:
            self.show(result.table(), groups.table())
        self.save_plot(result)
