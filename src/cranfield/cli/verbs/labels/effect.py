"""`cranfield labels effect`: what the choice of a merging method does to the ranking of runs."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import RESULT, option
from cranfield.cli.options.label_options import METHODS, LabelsAndRuns
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

USUAL = "majority,dawid-skene,aware"


class EffectVerb(LabelsAndRuns, Plotting, of="building.effect.merge_effect:merge_effect"):
    """Score runs with labels merged by several methods, and compare the rankings of runs.

    For each method: τ and τ_ap of the ranking of runs and that of the reference; how many pairs of runs differ
    significantly; how many of those of the reference are kept, lost, or reversed, and how many are new. The reference
    is the first method, or the judgments of --gold.

    Assessors are resampled with replacement for intervals; one who is drawn twice counts as two. Stability is the mean
    τ of the rankings with resampled assessors and the ranking with all of them.

    Methods are those of cranfield labels merge; NAME:expected for expected grades; aware, aware:frobenius and so on.
    With --scales, methods are also applied to labels on a coarser scale: 0/123 makes grades 1, 2 and 3 one grade, >=50
    makes magnitudes from 50 on relevant.
    """

    repeats_warnings = True
    summary = "how merging methods change the ranking of runs"
    examples = """
cranfield labels effect labels.csv runs/*.run -m AP --methods majority,dawid-skene,aware
cranfield labels effect labels.csv runs/*.run -m AP --gold gold.qrels --resamples 500 --plot ranks.svg
cranfield labels effect labels.csv runs/*.run -m nDCG@10 --methods majority --scales 0/123,01/23 --show runs
"""

    methods: str | None = option(
        "--methods METHOD,...",
        f"Methods, separated by commas: {{names}}, aware; default: {USUAL}.",
        names=METHODS,
    )
    scales: str | None = option("--scales SCALES", "Coarser scales, separated by commas, such as 0/123,01/23 or >=50.")
    gold: str | None = option("--gold FILE", "Judgments to compare rankings with.", reads=True)
    shown: str = options.show("methods", "runs", help="What to print: a row for each of the {names}.")
    ranked_by: str | None = option(
        "--plot-measure MEASURE", "The measure whose ranks --plot draws; default: the first.", group=RESULT
    )

    def run(self) -> None:
        from cranfield.building.effect.merge_effect import merge_effect

        labels, runs = self.read()
        with self.progress("merging") as progress:
            effect = merge_effect(
                labels, runs, self.wanted(), options=self.joining(), progress=progress,
                methods=[word.strip() for word in (self.methods or USUAL).split(",") if word.strip()],
                scales=[word.strip() for word in (self.scales or "").split(",") if word.strip()],
                gold=self.gold, missing=self.missing, **self.settings(),
            )  # fmt: skip
        self.show(effect.table() if self.shown == "methods" else effect.runs_table())
        if self.plot:
            measure = effect.measures[0] if self.ranked_by is None else str(chosen([self.ranked_by])[0])
            if measure not in effect.measures:
                raise UsageError(f"--plot-measure {measure}: the measures are {', '.join(effect.measures)}")
            self.save_plot(effect, measure=measure)
