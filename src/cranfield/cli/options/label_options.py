"""The options of verbs that read the labels of assessors: alone or with runs, to merge them or as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import READING, Verb, argument, option
from cranfield.cli.options import Sized, roles_of
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Quiet
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.assessed.join_options import JoinOptions
    from cranfield.building.assessor_labels import Labels
    from cranfield.building.merging.merged import Merged
    from cranfield.report.figures import Figure
    from cranfield.table import Table

LABELS = (
    "The labels: a table with columns for the task (or topic and document), the assessor and the label; or one file of "
    "judgments (qrels) for each assessor. - is standard input."
)
METHODS = "building.merging.label_problem:MERGING_METHODS"
FIGURES = ("entropy", "confusion", "accuracy")
LABELS_AND_RUNS = (
    "The labels: a table with columns for topic, document, assessor and label; or a pattern in quotes, such as "
    "'assessors/*.qrels', with a file of judgments for each assessor."
)


def relevant() -> Any:
    return option("--rel GRADE", "The lowest grade that counts as relevant.", default=1.0)


class LabelReading(Sized):
    """How labels are read."""

    scale: str | None = option(
        "--scale LABELS",
        "All labels that are allowed, lowest first, separated by commas; default: those that occur, numbers in their "
        "order, words without an order.",
        solves="(scale=|pass them as a scale, lowest first)",
    )
    separator: str | None = option(
        "--separator TEXT",
        "The text between topic and document in the name of a task, such as : in 401:doc7.",
        group=READING,
        solves="say what separates them in the name",
    )
    columns: str | None = option(
        "--columns ROLE=NAME,...",
        "Columns of a table of labels that have unusual names: task=frage,assessor=person,label=antwort. Roles: topic, "
        "doc, task, assessor, label, time, seconds, group and cost.",
        group=READING,
        solves="columns=",
    )
    on_duplicate: str = option(
        "--on-duplicate RULE",
        "An assessor who gives an item two different labels: {names} (stop with an error, use the first or the last "
        "label, or keep all: models such as Dawid and Skene's count every label).",
        default="error",
        choices=("error", "first", "last", "keep"),
        group=READING,
        solves="on_duplicate=",
    )
    assessors: str | None = option(
        "--assessors FILE",
        "Groups of assessors, such as experts and crowd, and what one of their labels costs: lines of assessor, group "
        "and perhaps cost.",
        group=READING,
        reads=True,
        solves="assessors=",
    )

    def read_labels(self, paths: list[str]) -> Labels:
        """The labels in files."""
        from cranfield.building.assessor_labels import Labels

        labels = Labels.read(
            *paths, scale=split_scale(self.scale), columns=roles_of(self.columns),
            **self.values("separator", "on_duplicate"),
        )  # fmt: skip
        return labels if self.assessors is None else labels.with_assessors(self.assessors)


class LabelSource(LabelReading, Quiet):
    """Labels as the only input: all words without a name are files of labels."""

    paths: list[str] | None = argument("LABELS", LABELS, reads=True)

    def given(self) -> bool:
        return bool(self.paths)

    def labels(self) -> Labels:
        """The labels that the verb works on."""
        if not self.paths:
            raise UsageError("no labels; give a table of labels, or one file of judgments for each assessor")
        return self.read_labels(self.paths)


def split_scale(text: str | None) -> list[str] | None:
    """The value of `--scale`.

    >>> split_scale("no, maybe, yes")
    ['no', 'maybe', 'yes']
    """
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise UsageError(f"--scale {text}: expected labels separated by commas, lowest first, such as 0,1,2")
    return words


class MergeOptions(Verb, of="building.merging.merge_labels:merge"):
    """How labels are merged."""

    gold: str | None = option(
        "--gold FILE",
        "True labels of some items: judgments (qrels), or a table with the columns task and label. They are kept, and "
        "methods learn from them.",
        reads=True,
    )


def figure_option(default: str) -> Any:
    return option(
        "--figure NAME",
        "What --plot draws: {names} (how uncertain items are, what assessors confuse, how accurate they are).",
        default=default,
        choices=FIGURES,
    )


def merged_figure(merged: Merged, name: str, gold: str | None) -> Figure:
    """The figure of merged labels with this name."""
    from cranfield.report.figures import (
        describe_assessor_accuracy,
        describe_assessor_confusion,
        describe_posterior_entropy,
    )

    if name == "entropy":
        return describe_posterior_entropy(merged)
    if name == "confusion":
        return describe_assessor_confusion(merged)
    from cranfield.building.merging import rate_assessors

    return describe_assessor_accuracy(rate_assessors(merged.labels, gold=gold, merged=merged))


def write_table(table: Table, path: str) -> None:
    """Write a table to a file, in the format of its ending, otherwise CSV."""
    from cranfield.cli.printing import FORMATS, SHEETS, emit, emit_sheet, ending_of

    ending = ending_of(path)
    format = FORMATS.get(ending, "csv")
    if ending in SHEETS:
        emit_sheet(table.csv(), path, table.text_columns)
    else:
        emit(table.render(format), path, format=format)


class LabelsAndRuns(LabelReading, Quiet):
    """Labels of assessors, and runs to score with them."""

    labels: str | None = argument("LABELS", LABELS_AND_RUNS, reads=True)
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
