"""The options of verbs that read the labels of assessors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import READING, argument, option
from cranfield.cli.options import Sized, columns_of
from cranfield.cli.printing import Quiet
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.building.assessor_labels import Labels

LABELS = (
    "The labels: a table with columns for the task (or topic and document), the worker and the label; or one file of "
    "judgments (qrels) for each assessor. - is standard input."
)


def relevant() -> Any:
    return option("--relevant, --rel GRADE", "The lowest grade that counts as relevant.", default=1.0)


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
        "Columns of a table of labels that have unusual names: task=frage,worker=person,label=antwort. Roles: topic, "
        "doc, task, worker, label, time, seconds, group and cost.",
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
        "Groups of assessors, such as experts and crowd, and what one of their labels costs: lines of worker, group "
        "and perhaps cost.",
        group=READING,
        reads=True,
        solves="assessors=",
    )

    def read_labels(self, paths: list[str]) -> Labels:
        """The labels in files."""
        from cranfield.building.assessor_labels import Labels

        labels = Labels.read(
            *paths, scale=split_scale(self.scale), columns=columns_of(self.columns),
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
