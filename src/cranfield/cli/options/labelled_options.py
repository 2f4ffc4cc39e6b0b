"""The options of verbs that read labels of assessors and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import READING, argument, option
from cranfield.cli.measure_names import chosen
from cranfield.cli.options.label_options import LabelReading
from cranfield.cli.printing import Quiet
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.assessed.join_options import JoinOptions
    from cranfield.building.assessor_labels import Labels

LABELS = (
    "The labels: a table with columns for topic, document, worker and label; or a pattern in quotes, such as "
    "'assessors/*.qrels', with a file of judgments for each assessor."
)


class LabelledOptions(LabelReading, Quiet):
    """Labels of assessors, and runs to score with them."""

    labels: str | None = argument("LABELS", LABELS, reads=True)
    runs: list[str] | None = argument("RUN", options.RUNS, reads=True)
    measures: list[str] | None = options.measures()
    missing: str = options.missing()
    run_format: str | None = option(
        "--input-format, --run-format FORMAT",
        "Format of the runs: {names}; default: detected.",
        group=READING,
        names=options.RUN_FORMATS,
    )
    split_tags: bool = options.split_tags()
    order: str | None = options.order()
    ties: str = options.ties()

    def given(self) -> bool:
        return self.labels is not None

    def read(self) -> tuple[Labels, list[str]]:
        """The labels, and the files of runs."""
        from cranfield.collection.source import expand

        if self.labels is None or not self.runs:
            raise UsageError("no runs to score; give labels and one or more files of runs: LABELS RUN...")
        return self.read_labels(expand([self.labels])), self.runs

    def wanted(self) -> list[Any]:
        """The measures."""
        return chosen(self.measures or [options.USUAL])

    def joining(self) -> JoinOptions:
        """How runs are read and ranked."""
        from cranfield.assessed.join_options import JoinOptions

        return JoinOptions(order=self.order, ties=self.ties, format=self.run_format, split_tags=self.split_tags)
