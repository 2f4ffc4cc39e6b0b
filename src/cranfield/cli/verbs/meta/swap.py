"""`cranfield meta swap`: how often another topic set would reverse a difference."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import option
from cranfield.cli.options.chosen_runs import Compared
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError


class SwapVerb(Compared, Plotting, of="meta.stability.swap:swap_rates"):
    """Use the swap method: do two sets of topics agree on which of two runs is better?

    For each measure, it gives the difference between two runs above which a second set of topics reverses at most 5% of
    the comparisons, and the share of comparisons that reach it, which is the measure's discriminative power. Swap rates
    are smoothed so that they do not rise with the difference; the interval draws the pairs of topic sets again, and a
    caution says where few comparisons decide. --plot draws the rates as they are.
    """

    repeats_warnings = True
    summary = "how often another topic set would reverse a difference"
    examples = """
cranfield meta swap qrels.txt runs/*.run -m AP
cranfield meta swap --sample -m AP,nDCG,RR  # try it on the bundled sample collection
cranfield meta swap qrels.txt runs/*.run -m AP,Q,P+,NWRR,RR --plot swap.pdf
cranfield meta swap qrels.txt runs/*.run -m AP --disjoint --size 5,10,15,20,25
cranfield meta swap qrels.txt runs/*.run -m AP,P@10 --disjoint --size 5,10,20 --show errors
cranfield meta swap --sample -m AP,RR --disjoint --size 4,6,8,10,11 --extrapolate 50
cranfield meta swap --scores scores.csv --show curves -f csv -o curves.csv
"""

    what: str = options.show(
        "measures",
        "curves",
        "errors",
        help="{names}: the difference needed, a row per bin, or error rates (Buckley & Voorhees).",
    )

    extrapolate: int | None = option(
        "--extrapolate N", "Fit the rates of several --size, and extrapolate the difference needed to N topics."
    )

    def check(self) -> None:
        super().check()
        if self.extrapolate is not None and self.extrapolate < 2:
            raise UsageError(f"--extrapolate {self.extrapolate}: must be 2 or more")

    def run(self) -> None:
        from cranfield.meta.stability.swap import swap_rates

        scores = self.read_scores()
        with self.progress("drawing topics") as progress:
            result = swap_rates(scores, **self.settings(), progress=progress)
        if self.extrapolate is not None:
            from cranfield.meta.stability.swap_extrapolation import extrapolate_swaps

            further = extrapolate_swaps(result, self.extrapolate)
            self.show(further.curves() if self.what == "curves" else further.table())
            self.save_plot(further)
            return
        if self.what == "curves":
            self.show(result.curves())
        elif self.what == "errors":
            self.show(result.error_table())
        else:
            self.show(result.data() if self.for_programs else result.table(self.digits))
        self.save_plot(result)
