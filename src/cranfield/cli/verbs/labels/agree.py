"""`cranfield labels agree`: how well assessors agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import flag, option
from cranfield.cli.options.label_options import LabelSource
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.building.assessor_labels import Labels
    from cranfield.table import Table

BY = {
    "topic": "topic_agreement", "assessor": "agreement_with_others", "time": "agreement_over_time",
    "group": "group_agreement",
}  # fmt: skip
"""The functions of the breakdowns."""
OPERATIONS = """
building.agreement.assessor_agreement:agreement building.agreement.assessor_agreement:topic_agreement
building.agreement.pairs_and_groups:pair_agreement building.agreement.pairs_and_groups:group_agreement
building.agreement.against_the_others:agreement_with_others building.agreement.against_the_others:agreement_over_time
"""


class AgreeVerb(LabelSource, Plotting, of=OPERATIONS):
    """Measure how well assessors agree: Cohen, Fleiss, Gwet, Krippendorff, overlap, each with an interval.

    Items may have labels of some assessors only. The notes below the table say how such items count. With --by topic,
    the coefficients are computed for each topic; with --by assessor, each assessor is compared with the others; with
    --by time, in windows over the order of labels, by the column time if there is one; with --by group, within and
    between groups such as experts and crowd, which are in a column group or in the file of --assessors. With
    --on-duplicate keep, items that an assessor labelled twice give the agreement with the first label.

    --plot draws the coefficients, the pairs or confusions as a heat map, or the agreement over time.
    """

    summary = "how well assessors agree"
    examples = """
cranfield labels agree labels.csv
cranfield labels agree anna.qrels ben.qrels --rel 2  # judgments of each assessor
cranfield labels agree labels.csv --coefficient alpha-ordinal,overlap --by topic
cranfield labels agree labels.csv --by assessor --label-weights quadratic
cranfield labels agree labels.csv --by time --windows 10 --plot fatigue.svg
cranfield labels agree labels.csv --by group --assessors assessors.tsv
cranfield labels agree labels.csv --confused --pairs
"""

    coefficients: list[str] | None = option(
        "--coefficient, -c NAME",
        "A coefficient, or several separated by commas: {names}; default: all that fit the labels. May be repeated.",
        names="building.agreement.chance_corrected:COEFFICIENTS",
    )
    by: str | None = option("--by WHAT", "Break agreement down by {names}.", choices=tuple(BY))
    pairs: bool = flag("--pairs", "Print the agreement of each pair of assessors.")
    confusion: bool = flag(
        "--confused", "Print which labels assessors confuse, of all pairs together; with --pairs, of each pair."
    )
    weights: str
    windows: int
    relevant: float
    unit: str | None
    interval: str
    resamples: int
    level: float
    seed: int

    def check(self) -> None:
        super().check()
        if self.by and (self.pairs or self.confusion):
            other = "--pairs" if self.pairs else "--confused"
            raise UsageError(f"--by {self.by} and {other} print different tables; leave one of them out")
        if self.coefficients and (self.by not in (None, "topic") or self.pairs or self.confusion):
            raise UsageError("--coefficient applies to the table of all labels and to --by topic")
        if self.weights != "identity" and self.by != "assessor":
            raise UsageError("--label-weights applies only to --by assessor; other tables have weighted coefficients")
        if self.windows != 5 and self.by != "time":
            raise UsageError("--windows applies only to --by time")
        if (self.unit or self.interval != "bootstrap") and (self.by or self.pairs or self.confusion):
            raise UsageError("--resampled and --intervals apply only to the table of all labels")
        if (self.resamples != 1000 or self.seed) and (self.by == "time" or self.pairs or self.confusion):
            raise UsageError("--resamples and --seed do not apply: this table has no resampled intervals")
        if self.plot and self.confusion and self.pairs:
            raise UsageError("--plot draws one matrix; leave out --pairs, or leave out --confused")

    def run(self) -> None:
        result = self._measured(self.labels())
        self.show(*self._tables(result))
        self.save_plot(result)

    def _measured(self, labels: Labels) -> Any:
        """The result that was asked for."""
        from cranfield.building import agreement as measured

        if self.confusion:
            return measured.confusion(labels, by_pair=self.pairs)
        function = "pair_agreement" if self.pairs else BY.get(self.by or "", "agreement")
        settings = self.settings(function)
        if self.coefficients:
            settings["coefficients"] = [name for text in self.coefficients for name in text.split(",")]
        with self.progress("resampling") as progress:
            resampled = {"progress": progress} if "resamples" in settings else {}
            return getattr(measured, function)(labels, **settings, **resampled)

    def _tables(self, result: Any) -> list[Table]:
        """The tables of a result; formats for programs get one table."""
        from cranfield.building.agreement import Confusion, GroupAgreement
        from cranfield.record import table_of

        if isinstance(result, Confusion):
            single = [table_of(result.columns(), notes=result.notes)]
            return single if self.for_programs else list(result.tables())
        if isinstance(result, GroupAgreement) and not self.for_programs:
            return [result.costs(), result.table()]
        return [result.table()]
