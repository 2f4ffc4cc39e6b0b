"""`cranfield labels workers`: rate assessors, and plan more labels."""

from __future__ import annotations

from cranfield.cli.declare import option
from cranfield.cli.options import alpha
from cranfield.cli.options.label_options import METHODS, LabelSource, MergeOptions, figure_option, merged_figure
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

PLANNING = {"stop": "posterior", "probability": 0.95, "margin": 2.0, "slack": 0.1, "per_worker": None}
"""The options that apply only to --next, with their defaults."""


class WorkersVerb(LabelSource, MergeOptions, Plotting):
    """Rate assessors by their labels; with --next, list the items that need more labels, and whom to ask.

    accuracy is the expected share of right labels, by the probabilities of merged labels. checks are labels that were
    compared with gold, or with the majority of the other assessors; share, low and high are the share of right checks
    and its interval. p is the probability of at least as many by chance, where chance deals the assessor's own
    labels to items at random. recall is the mean over the true labels of the share found: spam? marks a recall below
    a useful one even at its upper bound, not shown that there are too few checks to tell. bias above 0 is lenient.
    information is what a label tells about the true one, in bits.
    The spammer score is 0 if labels do not depend on items, and 1 if they are always right (Raykar & Yu 2012).

    --next N lists the N most uncertain items that need labels. --stop posterior: an item is finished if its label has
    --probability. --stop margin: if the two most frequent labels are --margin·√t − --slack·t votes apart after t labels
    (Abraham et al. 2016). more is the expected number of labels that are missing; worker has not labelled the item and
    is expected to tell most about it.
    """

    not_options = ("alpha",)
    repeats_warnings = True
    summary = "rate assessors, and plan more labels"
    examples = """
cranfield labels workers labels.csv
cranfield labels workers labels.csv --gold gold.csv --plot accuracy.svg
cranfield labels workers labels.csv --next 20 --probability 0.9 --per-worker 5
cranfield labels workers labels.csv --next 100 --stop margin -f csv -o next.csv
"""

    method: str = option("--method NAME", "How labels are merged: {names}.", default="dawid-skene", names=METHODS)
    next: int | None = option("--next N", "List the N items that need another label most, and whom to ask.")
    stop: str = option(
        "--stop RULE",
        "When an item is finished: {names}.",
        default="posterior",
        choices=("posterior", "margin"),
        solves="stop=",
    )
    probability: float = option("--probability P", "For --stop posterior: the least probability.", default=0.95)
    margin: float = option("--margin C", "For --stop margin: the factor of √t.", default=2.0)
    slack: float = option("--slack E", "For --stop margin: the advantage that does not matter.", default=0.1)
    per_worker: int | None = option("--per-worker N", "For --next: the largest number of items for one assessor.")
    alpha: float = alpha(0.05, "The level of the test for spam, and 1 - the level of intervals.")
    figure: str = figure_option("accuracy")

    def check(self) -> None:
        super().check()
        if self.next is None:
            given = [name for name, default in PLANNING.items() if getattr(self, name) != default]
            if given:
                raise UsageError(f"--{given[0].replace('_', '-')} applies only to --next N")

    def run(self) -> None:
        from cranfield.building.merging import merge, plan_labels, rate_workers

        labels = self.labels()
        with self.progress("merging") as progress:
            merged = merge(labels, gold=self.gold, progress=progress, **self.settings())
        if self.next is not None:
            plan = self.values("stop", "probability", "margin", "slack", "per_worker")
            self.show(plan_labels(labels, count=self.next, merged=merged, **plan).table())
        else:
            self.show(rate_workers(labels, gold=self.gold, alpha=self.alpha, merged=merged).table())
        if self.plot:
            merged_figure(merged, self.figure, self.gold).save(self.plot)
