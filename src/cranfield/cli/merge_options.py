"""The options of verbs that merge labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import MORE, Verb, option
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.building.merging.merged import Merged
    from cranfield.report.figures import Figure
    from cranfield.table import Table

METHODS = "building.merging.merging_registry:MERGING_METHODS"
FIGURES = ("entropy", "confusion", "accuracy")


class MergeOptions(Verb):
    """How labels are merged."""

    gold: str | None = option(
        "--gold FILE",
        "True labels of some items: judgments (qrels), or a table with the columns task and label. They are kept, and "
        "methods learn from them.",
        reads=True,
    )
    ties: str = option(
        "--ties RULE",
        "An item on which several labels are equally probable: {names}.",
        default="lowest",
        choices=("lowest", "highest", "random", "undecided"),
    )
    seed: int = option("--seed N", "Seed of the random numbers.", default=0)
    steps: int | None = option(
        "--steps N", "The largest number of steps; default: 1000.", group=MORE, solves="allow more steps"
    )
    tolerance: float | None = option(
        "--tolerance T",
        "Stop if a step adds less to the log-likelihood per label, and labels have settled; default: 1e-7.",
        group=MORE,
    )
    class_prior: str | None = option(
        "--class-prior P",
        "Probabilities of labels: estimated, uniform, or numbers separated by commas; default: that of the method.",
        group=MORE,
    )
    class_counts: float | None = option(
        "--class-counts N", "Imaginary items of each label, if probabilities are estimated; default: 0.", group=MORE
    )
    worker_prior: str | None = option(
        "--worker-prior RIGHT,WRONG",
        "Imaginary right and wrong labels of each assessor, such as 2,1; default: that of the method.",
        group=MORE,
    )
    weight: str | None = option("--weight NAME", "For weighted: log-odds or accuracy; default: log-odds.", group=MORE)
    inference: str | None = option(
        "--inference NAME", "For mace: vb (variational Bayes) or em (maximum likelihood); default: vb.", group=MORE
    )
    restarts: int | None = option(
        "--restarts N", "For mace: random starts in addition to the one from the votes.", group=MORE
    )
    window: int | None = option(
        "--window N", "For gp: labels in a row with the same accuracy; default: 10.", group=MORE
    )
    length: float | None = option(
        "--length-scale N", "For gp: windows over which the accuracy changes; default: 5.", group=MORE
    )

    def merge_settings(self) -> dict[str, Any]:
        """The settings, for `merge`."""
        settings = self.values(
            "gold", "ties", "seed", "steps", "tolerance", "class_counts", "weight", "inference", "restarts", "window",
            "length",
        )  # fmt: skip
        classes: Any = self.class_prior
        if classes not in (None, "estimated", "uniform"):
            classes = number_list("--class-prior", classes)
        workers = None if self.worker_prior is None else number_list("--worker-prior", self.worker_prior)
        return {**settings, "class_prior": classes, "worker_prior": workers}


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
