"""`cranfield labels assessors`: rate assessors, and plan more labels."""

from __future__ import annotations

from cranfield.cli.declare import declared, option
from cranfield.cli.options.label_options import LabelSource, MergeOptions, figure_option, merged_figure
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

PLANNING = ("stop", "probability", "margin", "slack", "most_per_assessor")
"""The options that apply only to --next."""
OPERATIONS = (
    "building.merging.assessor_report:rate_assessors building.merging.next_labels:plan_labels "
    "building.merging.merge_labels:merge"
)


class AssessorsVerb(LabelSource, MergeOptions, Plotting, of=OPERATIONS):
    """Rate assessors by their labels; with --next, list the items that need more labels, and whom to ask.

    accuracy is the expected share of right labels, by the probabilities of merged labels. checks are labels that were
    compared with gold, or with the majority of the other assessors; share, low and high are the share of right checks
    and its interval. p is the probability of at least as many by chance, where chance deals the assessor's own
    labels to items at random. recall is the mean over the true labels of the share found: spam? marks a recall below
    a useful one even at its upper bound, not shown that there are too few checks to tell. bias above 0 is lenient.
    information is what a label tells about the true one, in bits.
    The spammer score is 0 if labels do not depend on items, and 1 if they are always right (Raykar & Yu 2012).

    --next N lists the N most uncertain items that need labels. --stop-rule posterior: an item is finished if its label
    has --probability. --stop-rule margin: if the two most frequent labels are --margin-factor·√t − --slack·t votes
    apart after t labels (Abraham et al. 2016). more is the expected number of labels that are missing; assessor has
    not labelled the item and is expected to tell most about it.
    """

    repeats_warnings = True
    summary = "rate assessors, and plan more labels"
    examples = """
cranfield labels assessors labels.csv
cranfield labels assessors labels.csv --gold gold.csv --plot accuracy.svg
cranfield labels assessors labels.csv --next 20 --probability 0.9 --most-per-assessor 5
cranfield labels assessors labels.csv --next 100 --stop-rule margin -f csv -o next.csv
"""

    count: int | None = option("--next N", "List the N items that need another label most, and whom to ask.")
    figure: str = figure_option("accuracy")

    def check(self) -> None:
        super().check()
        if self.count is None:
            for parameter in declared(type(self)):
                if parameter.name in PLANNING and getattr(self, parameter.name) != parameter.default:
                    raise UsageError(f"{parameter.label} applies only to --next N")

    def run(self) -> None:
        from cranfield.building.merging import merge, plan_labels, rate_assessors

        labels = self.labels()
        merging = {name: value for name, value in self.settings("merge").items() if name != "alpha"}
        with self.progress("merging") as progress:
            merged = merge(labels, gold=self.gold, progress=progress, **merging)
        if self.count is not None:
            self.show(plan_labels(labels, merged=merged, **self.settings("plan_labels")).table())
        else:
            self.show(rate_assessors(labels, gold=self.gold, merged=merged, **self.settings()).table())
        if self.plot:
            self.save_figure(merged_figure(merged, self.figure, self.gold))
