"""`cranfield meta correlate`: whether measures rank systems alike."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import RESULT, flag, option
from cranfield.cli.options.chosen_runs import TopRuns
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

D_RANK = "d-rank"
MEASURES = "AP,Q,nDCG@10,RR,P@10"


class CorrelateVerb(
    TopRuns, options.Source, Plotting, of="meta.agreement.correlation:correlate meta.agreement.gain_change:change_gains"
):
    """Show how alike measures rank the runs: rank correlations of all pairs of measures, with intervals over topics.

    A new measure should correlate with those we trust, but not so much that it is not needed. In tau-ap the row is the
    gold standard; d-rank is a distance that uses how scores vary together over topics.
    """

    repeats_warnings = True
    summary = "whether measures rank systems alike"
    examples = """
cranfield meta correlate qrels.txt runs/*.run -m AP,Q,nDCG
cranfield meta correlate --sample  # try it on the bundled sample collection
cranfield meta correlate qrels.txt runs/*.run -m AP,Q,nDCG@10 -c tau-b,tau-ap-symmetric --format latex
cranfield meta correlate qrels.txt runs/*.run -m P+,O --gains 30:20:10,1:1:1,10:5:1
cranfield meta correlate qrels.txt runs/*.run -m AP,Q,nDCG@10 --pairs
cranfield meta correlate --scores scores.csv -c d-rank --plot distances.html
"""

    coefficients: str = option(
        "--coefficient, -c NAME,...",
        "{names}; several separated by commas.",
        default="tau-b",
        names="meta.agreement.coefficients:COEFFICIENTS d-rank",
    )
    gains: str | None = option(
        "--gains W:W:...,...",
        "Correlate each measure with itself under other gains, highest grade first: 30:20:10,1:1:1.",
    )
    not_options = ("coefficient",)
    pairs: bool = flag("--pairs", "Print a row per pair, with intervals, as json, csv and tsv do.", group=RESULT)

    def check(self) -> None:
        super().check()
        from cranfield.check import nearest
        from cranfield.meta.agreement.coefficients import COEFFICIENTS

        self.names = self.coefficients.replace(",", " ").split()
        known = [*COEFFICIENTS, D_RANK]
        for name in self.names:
            if name not in known:
                raise nearest(name, known, "coefficient")
        if D_RANK in self.names and len(self.names) > 1:
            raise UsageError(f"-c {self.coefficients}: d-rank is a distance with a table of its own; give it alone")
        if self.gains is not None and self.scores:
            raise UsageError("--gains needs judgments and runs; leave out --scores")
        if self.gains is not None and (len(self.names) > 1 or D_RANK in self.names):
            raise UsageError(f"-c {self.coefficients}: --gains takes one rank correlation at a time")

    def run(self) -> None:
        if self.gains is not None:
            self._change_gains(self.gains.replace(",", " ").split())
            return
        scores = self.read_scores(MEASURES)
        with self.progress("resampling") as progress:
            if self.names == [D_RANK]:
                from cranfield.meta.agreement.correlation import rank_distances

                distances = rank_distances(scores, progress=progress)
                table = distances.table()
            else:
                from cranfield.meta.agreement.correlation import correlate

                settings = {**self.settings("correlate"), "coefficients": self.names}
                result = correlate(scores, **settings, progress=progress)
                table = result.pairs() if self.pairs or self.for_programs else result.table()
        self.show(table)
        self.save_plot(distances if self.names == [D_RANK] else result)

    def _change_gains(self, gains: list[str]) -> None:
        from cranfield.meta.agreement.gain_change import change_gains

        with self.progress("resampling") as progress:
            result = change_gains(
                *self.read(),
                chosen(self.measures or ["nDCG,Q"]),
                **{**self.settings("change_gains"), "gains": gains},
                coefficient=self.names[0],
                missing=self.missing,
                options=self.joining(),
                progress=progress,
            )
        self.show(result.table())
        self.save_plot(result)
