"""`cranfield meta scale`: whether a measure is on an interval scale, and what that does to significance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.options.chosen_runs import TopRuns
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.scale.conclusions import Conclusions
    from cranfield.meta.scale.scale import Scales
    from cranfield.report.figures import Figure
    from cranfield.table import Table

CONCLUSIONS = ("conclusions", "changed")


class ScaleVerb(
    TopRuns, options.BinaryGrades, Plotting, of="meta.scale.scale:scales meta.scale.conclusions:conclusions"
):
    """Test on all lists of a length whether a measure orders and spaces them as an interval scale does.

    A scale is relative to an order of lists: a measure is on an ordinal scale if it keeps the order, and on an interval
    scale if its scores are also equally spaced.

    With runs or scores: how many pairs of systems differ by a test of ranks, which needs only an order, and by a test
    of means, which needs an interval scale. With --show conclusions, which pairs change their order or significance if
    scores are put on an interval scale (the rank of each list among all lists up to the cutoff, in the order of the
    measure; Ferrante, Ferro & Fuhr 2021) or replaced by ranks, and which keep their order on any scale.
    """

    repeats_warnings = True
    summary = "whether a measure is on an interval scale"
    examples = """
cranfield meta scale -m AP --length 4
cranfield meta scale -m "RBP(p=0.5)" --length 4 --show lists --plot spacing.html
cranfield meta scale -m nDCG --length 40 --draw 100000
cranfield meta scale qrels.txt runs/*.run -m AP,P@10  # pairs that differ by ranks and by means
cranfield meta scale qrels.txt runs/*.run -m AP@10 --show conclusions  # do they survive a change of scale?
cranfield meta scale qrels.txt runs/*.run -m P@10,RBP --binary 2  # grades of 2 or more are relevant
cranfield meta scale -m AP,RR,P --length 4 --show steps
cranfield meta scale --show theory
"""

    alpha: float
    not_options = ("correction", "resamples", "threads")
    what: str = options.show(
        "scales",
        "lists",
        "steps",
        "theory",
        "conclusions",
        "changed",
        help="{names}: a row per measure, all scores with their lists, how much its steps are sure to say if only the "
        "order of lists is known (Abelson & Tukey), results from the literature; or, with runs or "
        "scores, conclusions that change with the scale, counted or pair by pair.",
    )

    def given(self) -> bool:
        return super().given() or bool(self.measures) or self.what == "theory"

    def check(self) -> None:
        super().check()
        self.with_runs = super().given()
        if self.what in CONCLUSIONS and not self.with_runs:
            raise UsageError(f"--show {self.what} needs judgments and runs, or --scores")
        if self.by is not None and not self.with_runs:
            raise UsageError("--by needs topics; give QRELS RUN..., or --scores FILE")
        if self.with_runs and self.plot:
            raise UsageError("--plot draws the spacing of lists; leave out runs and scores")

    def run(self) -> None:
        if self.what in CONCLUSIONS:
            conclusions = self._conclusions()
            self.show(conclusions.changed() if self.what == "changed" else conclusions.table())
        elif self.with_runs:
            from cranfield.meta.scale.conclusions import scale_tests

            self.show(scale_tests(self.read_scores(), alpha=self.alpha).table())
        elif self.what == "theory":
            from cranfield.meta.scale.scale import proved_scales

            self.show(proved_scales(chosen(self.measures) if self.measures else None))
        else:
            from cranfield.meta.scale.scale import scales

            result = scales(chosen(self.measures), **self.settings("scales"))
            drawn = self._drawn(result) if self.plot else None
            self.show(*self._tables(result))
            if drawn is not None:
                self.save_figure(drawn)

    def _drawn(self, result: Scales) -> Figure:
        from cranfield.report.figures.result_figures import spacing_figure

        try:
            return spacing_figure(result)
        except UsageError as error:
            raise UsageError(f"--plot: {error}") from None

    def _conclusions(self) -> Conclusions:
        from cranfield.meta.scale.conclusions import conclusions

        scores, interval, notes = self.read_scores(), None, []
        if self.scores:
            notes.append("no interval scale: it needs judgments and runs")
        else:
            try:
                interval = self.read_interval_scores()
            except UsageError as error:
                notes.append(f"no interval scale: {error}")
        result = conclusions(scores, interval, **self.settings("conclusions"))
        return replace(result, notes=(*result.notes, *notes))

    def _tables(self, result: Scales) -> list[Table]:
        if self.what == "scales":
            return [result.table()]
        if self.what == "steps":
            from cranfield.meta.scale.maximin import guaranteed

            return [guaranteed(result).table()]
        if not self.for_programs:
            return [scale.spacing() for scale in result]
        from cranfield.record import table_of

        return [table_of(result.columns())]
