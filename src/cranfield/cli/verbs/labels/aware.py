"""`cranfield labels aware`: scores averaged over assessors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cranfield.cli import options
from cranfield.cli.options.label_options import LabelsAndRuns
from cranfield.cli.printing import Printing


class AwareVerb(LabelsAndRuns, Printing, of="building.effect.aware:aware_scores"):
    """Score runs with the labels of each assessor, and average the scores over assessors (AWARE).

    Weights are the same for all assessors, or learned without gold labels: the weight of an assessor is the distance of
    their scores to those of the nearest of some random assessors, who call a document relevant with probability 0.05,
    0.2 or 0.5. Distances: frobenius (all scores), rmse (mean scores of runs), kl (distribution of scores), tau and
    tau-ap (rankings of runs). --weighting FILE reads lines of assessor, weight.

    An assessor who labelled no document of a topic, or with whose labels a measure is undefined, does not count there.
    With -q -f csv the scores of topics are printed, which --scores of other verbs reads.
    """

    repeats_warnings = True
    summary = "average scores over assessors"
    examples = """
cranfield labels aware labels.csv runs/*.run -m AP
cranfield labels aware labels.csv runs/*.run -m AP --weighting frobenius --show weights
cranfield labels aware 'assessors/*.qrels' runs/*.run -m nDCG@10 -q -f csv -o scores.csv
"""

    shown: str = options.show("scores", "weights", help="What to print: {names}.")
    per_topic: bool = options.per_topic("Also print the scores of each topic; in json, csv and tsv only these.")

    def run(self) -> None:
        from cranfield.building.effect.aware import aware_scores
        from cranfield.report.tables import summary_table, topic_table
        from cranfield.table import safe_cell

        labels, runs = self.read()
        with self.progress("scoring by assessor") as progress:
            scores, weights = aware_scores(
                labels, runs, self.wanted(), missing=self.missing, options=self.joining(), progress=progress,
                **self.settings(),
            )  # fmt: skip
        if self.shown == "weights":
            self.show(weights.table())
        elif self.per_topic and self.format == "json":
            self.emit(scores.to_json())
        elif self.per_topic and self.for_programs:
            safe = partial(safe_cell, guard_formulas=self.guard_formulas)
            self.emit(scores.to_csv(sep="\t" if self.format == "tsv" else ",", change=safe))
        else:
            tables = [replace(topic_table(scores), notes=())] if self.per_topic else []
            self.show(*tables, summary_table(scores))
