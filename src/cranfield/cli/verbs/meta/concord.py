"""`cranfield meta concord`: which of two measures agrees with a simpler measure, or with people."""

from __future__ import annotations

from dataclasses import replace

from cranfield.cli import options
from cranfield.cli.declare import RESULT, flag, option
from cranfield.cli.options.chosen_runs import TopRuns
from cranfield.cli.options.option_values import score_names
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

MEASURES = "AP,Q,nDCG@10,RR"


class ConcordVerb(
    TopRuns,
    options.Source,
    Plotting,
    of="meta.agreement.concordance:predictive_power meta.agreement.concordance:concord",
):
    """If two measures disagree on which of two lists is better, count which one agrees with the gold standard.

    With --preferences, count how often each measure prefers the list that people preferred. --plot draws either; with
    several gold standards, agreement with all at once. Beside runs, --scores has scores of the same runs, such as those
    that a track published; the measures that it lacks are computed.
    """

    repeats_warnings = True
    both = True
    summary = "which measure agrees with a simpler one"
    examples = """
cranfield meta concord q.txt *.run -m Q,RR --gold-measure P
cranfield meta concord --sample --gold-measure P@5  # try it on the bundled sample collection
cranfield meta concord qrels.txt runs/*.run -m Q,nDCG@10,RR --gold-measure P@10 --pairs --plot concordance.pdf
cranfield meta concord div.qrels runs/*.run -m D#-nDCG@10,ERR-IA@10 --gold-measure I-rec@10,P@10 --format latex
cranfield meta concord div.qrels runs/*.run --scores official.csv -m alpha-nDCG@10,D#-nDCG@10 --gold-measure I-rec@10
cranfield meta concord --scores scores.csv --preferences judged.csv --measure-ties wrong
"""

    gold: list[str] | None = option(
        "--gold-measure, -g MEASURE,...",
        "The gold standard: a simple measure of what is wanted. With several: each alone, and all at once.",
    )
    preferences: str | None = option(
        "--preferences FILE",
        "Instead of --gold-measure: lines of topic, run A, run B, preferred (A, B, tie or a run) and optionally "
        "assessor.",
        reads=True,
    )
    pairs: bool = flag("--pairs", "Print a row per pair, with wins and p, as json, csv and tsv do.", group=RESULT)

    def check(self) -> None:
        super().check()
        if (self.gold is None) == (self.preferences is None):
            raise UsageError(
                "give what to agree with: either --gold-measure MEASURE, such as P@10, or --preferences FILE"
            )

    def run(self) -> None:
        measures = self.measures if self.measures or self.scores else [MEASURES]
        if self.scores and (self.qrels is not None or self.sample):
            scores = self.read_both(score_names([*(self.measures or []), *(self.gold or [])]))
        else:
            scores = self.read_scores(wanted=[*measures, *(self.gold or [])] if measures else None)
        if self.preferences is not None:
            from cranfield.meta.agreement.concordance import predictive_power

            power = predictive_power(scores, **self.settings("predictive_power"))
            self.show(power.table())
            self.save_plot(power)
            return
        from cranfield.meta.agreement.concordance import concord

        wanted = score_names(self.measures) if self.measures else None
        with self.progress("counting") as progress:
            result = concord(scores, score_names(self.gold), wanted, progress=progress)
        if self.pairs or self.for_programs:
            self.show(result.pairs())
        else:
            *first, last = (result.table(gold) for gold in result.golds)
            self.show(*(replace(table, notes=()) for table in first), last)
        self.save_plot(result)
