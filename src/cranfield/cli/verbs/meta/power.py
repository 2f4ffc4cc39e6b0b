"""`cranfield meta power`: how many pairs of systems each measure distinguishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.stability.discrimination import DiscriminativePower
    from cranfield.table import Table


class PowerVerb(ByClass, options.Source, Plotting, of="meta.stability.discrimination:discriminative_power"):
    """Show the discriminative power: the share of pairs of runs that a measure finds significantly different.

    Also shown is the difference between two means that a significant result needs. A measure of high discriminative
    power is consistent over topics, but that does not make it the right one. --plot draws the p-values in ascending
    order (ASL curves): the closer to the origin, the more a measure discriminates. docs/tests.md describes the tests.
    """

    repeats_warnings = True
    summary = "how many pairs of systems a measure distinguishes"
    examples = """
cranfield meta power qrels.txt runs/*.run -m AP,Q
cranfield meta power --sample -m AP,nDCG,RR  # try it on the bundled sample collection
cranfield meta power qrels.txt runs/*.run -m AP,Q,P+,NWRR,RR --plot asl.pdf
cranfield meta power qrels.txt runs/*.run -m AP,Q,RR --test randomised-tukey --show overlap -f latex
cranfield meta power --scores scores.csv --test wilcoxon --show pairs -f csv -o pairs.csv
cranfield meta power qrels.txt runs/*.run -m AP,Q --statistic gmean  # by the geometric mean
"""

    test: str | None
    statistic: str
    threads: int | None
    what: str = options.show(
        "power",
        "overlap",
        "asl",
        "pairs",
        help="{names}: a row per measure, pairs that measures have in common, p-values in ascending order, or a row "
        "per measure and pair.",
    )
    zoom: float | None = option(
        "--zoom P",
        "--plot: show p-values up to P only, such as 0.15, where curves near alpha are easier to tell apart.",
    )

    def check(self) -> None:
        super().check()
        from cranfield.comparison.pair_tests import TESTS
        from cranfield.comparison.test_result import check_alpha

        if self.zoom is not None:
            check_alpha("", self.zoom, "--zoom")
            if self.plot is None:
                raise UsageError(f"--zoom {self.zoom:g} is for the figure; add --plot FILE")
        if self.test is not None and self.statistic == "mean":
            TESTS.find(self.test)

    def run(self) -> None:
        from cranfield.meta.stability.discrimination import discriminative_power

        scores = self.read_scores(threads=self.threads)
        with self.progress("resampling") as progress:
            result = discriminative_power(scores, **self.settings(), progress=progress)
        self.show(self._table(result))
        self.save_plot(result, zoom=self.zoom)

    def _table(self, result: DiscriminativePower) -> Table:
        if self.what == "power":
            return result.data() if self.for_programs else result.table(self.digits)
        if self.what == "overlap":
            if len(result.measures) < 2:
                raise UsageError("--show overlap compares measures; give two or more with -m")
            return result.overlap_data() if self.for_programs else result.overlap()
        return result.asl_table() if self.what == "asl" else result.pair_table()
