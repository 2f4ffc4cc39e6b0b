"""`cranfield meta predict`: how well predictors of query performance foretell scores."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError


class PredictVerb(ByClass, options.Source, Printing, of="meta.agreement.prediction:prediction_quality"):
    """Show how well predictors of query performance foretell the scores of a run, with intervals over topics.

    A predictor gives a number to each topic before it is judged; higher means that a higher score is expected. Its
    predictions are correlated with the scores (Pearson, Spearman, Kendall's tau-b); sMARE is the mean distance between
    the ranks of a topic by prediction and by score, as a share of the number of topics (Faggioli et al., ECIR 2021).
    """

    repeats_warnings = True
    summary = "how well predictors foretell the scores of topics"
    examples = """
cranfield meta predict qrels.txt bm25.run -m AP --predictors qpp.csv
cranfield meta predict qrels.txt bm25.run -m AP,nDCG@10 --predictors clarity.txt --predictors nqc.txt
cranfield meta predict qrels.txt bm25.run -m AP --predictors qpp.csv --show anova  # do predictors differ?
cranfield meta predict qrels.txt bm25.run -m AP --predictors qpp.csv --show topics -f csv -o errors.csv
cranfield meta predict --scores ap.csv --predictors qpp.csv -B 10000 --format latex
"""

    predictors: list[str] | None = option(
        "--predictors FILE",
        "Predictions: lines of topic and a number per predictor; a first line may name the predictors. May be "
        "repeated.",
        reads=True,
    )
    resamples: int
    what: str = options.show(
        "table",
        "anova",
        "topics",
        help="{names}: the coefficients of all predictors, an analysis of variance of their rank errors (sARE; over "
        "systems and measures too, if there are several), or the error of each topic.",
    )

    def check(self) -> None:
        super().check()
        if not self.predictors:
            raise UsageError("no predictions; give a file of topic and prediction: --predictors FILE")

    def run(self) -> None:
        from cranfield.meta.agreement.prediction import prediction_quality, read_predictors

        predictors = read_predictors(self.predictors or [])
        scores = self.read_scores("AP")
        if self.what == "topics":
            several = [
                f"{len(labels)} {noun}"
                for noun, labels in (("measures", scores.measures), ("runs", scores.runs))
                if len(labels) > 1
            ]
            if several:
                raise UsageError(f"--show {self.what} is for one measure of one run, not {' and '.join(several)}")
        self.resamples = self.resamples if self.what == "table" else 0
        with self.progress("resampling") as progress:
            result = prediction_quality(scores, predictors, **self.settings(), progress=progress)
        if self.what == "anova":
            self.show(result.anova().table())
        elif self.what == "topics":
            self.show(result.by_topic())
        else:
            self.show(result.table())
