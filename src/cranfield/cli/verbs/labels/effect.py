"""`cranfield labels effect`: what the choice of a merging method does to the ranking of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import RESULT, option
from cranfield.cli.options.label_options import METHODS, LabelsAndRuns
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.building.assessor_labels import Labels

USUAL = "majority,dawid-skene,aware"
OPERATIONS = "building.effect.merge_effect:merge_effect building.effect.label_errors:label_errors"


class EffectVerb(LabelsAndRuns, Plotting, of=OPERATIONS):
    """Score runs with labels merged by several methods, and compare the rankings of runs.

    For each method: τ and τ_ap of the ranking of runs and that of the reference; how many pairs of runs differ
    significantly; how many of those of the reference are kept, lost, or reversed, and how many are new. The reference
    is the first method, or the judgments of --gold.

    Assessors are resampled with replacement for intervals; one who is drawn twice counts as two. Stability is the mean
    τ of the rankings with resampled assessors and the ranking with all of them.

    Methods are those of cranfield labels merge; NAME:expected for expected grades; aware, aware:frobenius and so on.
    With --scales, methods are also applied to labels on a coarser scale: 0/123 makes grades 1, 2 and 3 one grade, >=50
    makes magnitudes from 50 on relevant.

    With --show documents, how far each document that is mislabelled by --gold moves the score of each run: upstream,
    where labels are merged by the first method, and downstream, where the scores of all assessors are averaged (aware).
    --show moved has a row per run.
    """

    repeats_warnings = True
    summary = "how merging methods change the ranking of runs"
    examples = """
cranfield labels effect labels.csv runs/*.run -m AP --methods majority,dawid-skene,aware
cranfield labels effect labels.csv runs/*.run -m nDCG@10 --methods majority --scales 0/123,01/23 --show runs
cranfield labels effect labels.csv runs/*.run -m AP,RR --gold gold.qrels --show documents --plot changes.svg
"""

    not_options = ("method", "weights")
    methods: str | None = option(
        "--methods METHOD,...",
        f"Methods, separated by commas: {{names}}, aware; default: {USUAL}.",
        names=METHODS,
    )
    scales: str | None = option("--scales SCALES", "Coarser scales, separated by commas, such as 0/123,01/23 or >=50.")
    gold: str | None = option("--gold FILE", "Judgments to compare rankings with.", reads=True)
    shown: str = options.show(
        "methods",
        "runs",
        "documents",
        "moved",
        help="A row for each of the {names} (runs that mislabelled documents move).",
    )
    ranked_by: str | None = option(
        "--plot-measure MEASURE", "The measure whose ranks --plot draws; default: the first.", group=RESULT
    )

    def run(self) -> None:
        from cranfield.building.effect.merge_effect import merge_effect

        labels, runs = self.read()
        if self.shown in ("documents", "moved"):
            self._show_errors(labels, runs)
            return
        with self.progress("merging") as progress:
            effect = merge_effect(
                labels, runs, self.wanted(), options=self.joining(), progress=progress,
                methods=[word.strip() for word in (self.methods or USUAL).split(",") if word.strip()],
                scales=[word.strip() for word in (self.scales or "").split(",") if word.strip()],
                gold=self.gold, missing=self.missing, **self.settings("merge_effect"),
            )  # fmt: skip
        self.show(effect.table() if self.shown == "methods" else effect.runs_table())
        if self.plot:
            self.save_plot(effect, measure=self._drawn(effect.measures))

    def _drawn(self, measures: Sequence[str]) -> str:
        measure = measures[0] if self.ranked_by is None else str(chosen([self.ranked_by])[0])
        if measure not in measures:
            raise UsageError(f"--plot-measure {measure}: the measures are {', '.join(measures)}")
        return measure

    def _show_errors(self, labels: Labels, runs: list[str]) -> None:
        """The changes by mislabelled documents, with the first method upstream and the first of AWARE downstream."""
        from cranfield.building.effect.label_errors import label_errors

        names = [word.strip() for word in (self.methods or USUAL).split(",") if word.strip()]
        upstream = next((name for name in names if not name.startswith("aware")), "majority")
        downstream = next((name for name in names if name.startswith("aware:")), "aware:uniform")
        if self.gold is None:
            raise UsageError(f"--show {self.shown} needs gold labels, to know what is mislabelled: --gold FILE")
        with self.progress("scoring") as progress:
            errors = label_errors(
                labels, runs, self.wanted(), gold=self.gold, missing=self.missing, options=self.joining(),
                progress=progress, **self.settings("label_errors") | {
                    "method": upstream.removesuffix(":expected"), "weights": downstream.partition(":")[2],
                },
            )  # fmt: skip
        if self.shown == "moved":
            self.show(errors.runs_table())
        else:
            self.show_record(errors)
        if self.plot:
            self.save_plot(errors, measure=self._drawn(list(dict.fromkeys(errors.measure.tolist()))))
