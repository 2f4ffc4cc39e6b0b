"""`cranfield labels merge`: merge the labels of several assessors."""

from __future__ import annotations

from cranfield.cli.declare import RESULT, flag, option
from cranfield.cli.options.label_options import LabelSource, MergeOptions, figure_option, merged_figure, write_table
from cranfield.cli.printing import TABLE_FORMATS, Plotting, warn_of_notes
from cranfield.errors import UsageError


def named_qrels(path: str | None) -> bool:
    """Does the name of a file say that it holds judgments?"""
    return path is not None and any(part.lower() in ("qrels", "qrel") for part in path.split(".")[1:])


class MergeVerb(LabelSource, MergeOptions, Plotting):
    """Merge the labels of several assessors into one label per item.

    The result is a file of judgments (qrels) if topics and documents are known, otherwise a table with a row per task.
    Notes say how many steps the method took, whether it converged, how many ties there are, and how many items have a
    single label.

    majority counts votes. weighted gives accurate assessors more weight. dawid-skene estimates a table of confusion for
    each assessor, one-coin an accuracy, glad abilities and difficulties, mace who guesses, ordinal bias and noise on an
    ordered scale, and gp accuracies that change with time. bmv reads a label as the result of a binomial variable.
    """

    repeats_warnings = True
    summary = "merge the labels of several assessors"
    examples = """
cranfield labels merge labels.csv -o merged.qrels
cranfield labels merge labels.csv --method dawid-skene --gold gold.qrels -o merged.qrels
cranfield labels merge anna.qrels ben.qrels cleo.qrels --method one-coin --expected -o expected.qrels
cranfield labels merge labels.csv --method mace --posteriors posteriors.csv --write-assessors assessors.csv -f table
cranfield labels merge labels.csv --method dawid-skene --plot confusion.svg --figure confusion -o merged.qrels
"""

    expected: bool = flag("--expected", "Write expected grades, such as 1.37, instead of the most probable label.")
    posteriors: str | None = option("--posteriors FILE", "Also write the probability of each label.", group=RESULT)
    workers: str | None = option("--write-assessors FILE", "Also write what is known of each assessor.", group=RESULT)
    figure: str = figure_option("entropy")
    format: str = option(
        "--format, -f FORMAT",
        "{names}; auto is qrels if the topics are known, else table, unless --output names another.",
        choices=("auto", "qrels", *TABLE_FORMATS),
        default="auto",
        group=RESULT,
    )

    def format_of(self, path: str) -> str | None:
        return None if named_qrels(path) else super().format_of(path)

    def check(self) -> None:
        super().check()
        if self.expected and self.format not in ("auto", "qrels"):
            raise UsageError("--expected is for qrels; tables have a column with the expected grade")

    def run(self) -> None:
        from cranfield.building.merging import merge, rate_assessors

        labels = self.labels()
        with self.progress("merging") as progress:
            merged = merge(labels, gold=self.gold, progress=progress, **self.settings())
        if self.format == "auto":
            if self.expected or named_qrels(self.output):
                labels.need_topics()
            self.format = "qrels" if labels.topics else "table"
        if self.format == "qrels":
            warn_of_notes(merged.notes, "trec")
            merged.to_qrels(self.expected).write(self.output or "-")
        else:
            self.show(merged.table())
        if self.posteriors:
            write_table(merged.posterior_table(), self.posteriors)
        if self.workers:
            write_table(rate_assessors(labels, gold=self.gold, merged=merged).table(), self.workers)
        if self.plot:
            self.save_figure(merged_figure(merged, self.figure, self.gold))
