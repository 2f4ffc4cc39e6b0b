"""The options of verbs that merge labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import Verb, option
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.building.merging.merged import Merged
    from cranfield.report.figures import Figure
    from cranfield.table import Table

METHODS = "building.merging.label_problem:MERGING_METHODS"
FIGURES = ("entropy", "confusion", "accuracy")


class MergeOptions(Verb, of="building.merging.merge_labels:merge"):
    """How labels are merged."""

    gold: str | None = option(
        "--gold FILE",
        "True labels of some items: judgments (qrels), or a table with the columns task and label. They are kept, and "
        "methods learn from them.",
        reads=True,
    )


def number_list(name: str, text: str) -> list[float]:
    """Numbers separated by commas.

    >>> number_list("--worker-prior", "2, 0.5")
    [2.0, 0.5]
    """
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"{name} {text}: expected numbers separated by commas, such as 2,1") from None


def figure_option(default: str) -> Any:
    return option(
        "--figure NAME",
        "What --plot draws: {names} (how uncertain items are, what assessors confuse, how accurate they are).",
        default=default,
        choices=FIGURES,
    )


def merged_figure(merged: Merged, name: str, gold: str | None) -> Figure:
    """The figure of merged labels with this name."""
    from cranfield.report.figures import describe_posterior_entropy, describe_worker_accuracy, describe_worker_confusion

    if name == "entropy":
        return describe_posterior_entropy(merged)
    if name == "confusion":
        return describe_worker_confusion(merged)
    from cranfield.building.merging import rate_workers

    return describe_worker_accuracy(rate_workers(merged.labels, gold=gold, merged=merged))


def write_table(table: Table, path: str) -> None:
    """Write a table to a file, in the format of its ending: .json, .tsv, .md, .tex, .html, otherwise CSV."""
    import os

    from cranfield.cli.printing import FORMATS, emit

    format = FORMATS.get(os.path.splitext(path)[1].lower(), "csv")
    emit(table.render(format), path, format=format)
