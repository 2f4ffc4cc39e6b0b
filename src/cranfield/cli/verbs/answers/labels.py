"""`cranfield answers labels`: classification, ordinal classification and clustering of items."""

from __future__ import annotations

from cranfield.cli.declare import argument
from cranfield.cli.options.text_options import measures
from cranfield.cli.score_printing import ScorePrinting, chosen_names


class LabelsVerb(ScorePrinting, of="answers.item_labels:label_scores"):
    """Score systems that give each item a label: a class, a grade on a scale, or the name of a cluster.

    Tables have the columns item and label. With a column topic, items of each topic are scored apart; with a column
    run, a table holds several systems, otherwise a system is named after its file.

    Classification: accuracy, and precision, recall and F, over all items (micro) and as means of classes (macro).
    Ordinal: mean absolute and squared error, and CEM, by which two classes are far apart if many items are between
    them. Clustering: purity, inverse purity, and BCubed precision, recall and F.
    """

    repeats_warnings = True
    summary = "score classes, grades or clusters that systems give to items"
    examples = """
cranfield answers labels gold.csv mine.csv other.csv
cranfield answers labels gold.csv mine.csv --task ordinal --class-order low,medium,high
cranfield answers labels gold.csv mine.csv --task clustering -m BCubed-F
"""

    gold: str = argument("GOLD", "Gold labels: item, label, and perhaps topic.", required=True, reads=True)
    systems: list[str] = argument("SYSTEM", "Labels of a system: item, label.", required=True, reads=True)
    measures: list[str] | None = measures("answers.item_labels:MEASURES")

    def run(self) -> None:
        from cranfield.answers.item_labels import (
            LOWER,
            MEASURES,
            MEASURES_OF,
            label_scores,
            read_gold_labels,
            read_item_labels,
        )

        settings = self.settings()
        names = chosen_names(self.measures, MEASURES, MEASURES_OF[settings["task"]])
        scores = label_scores(read_item_labels(self.systems), read_gold_labels(self.gold), names, **settings)
        self.show_scores(scores, LOWER)
