"""`cranfield meta ranks`: how far down the first relevant document is, and the first of the best."""

from __future__ import annotations

from cranfield.cli.declare import RESULT, flag
from cranfield.cli.options.chosen_runs import TopRuns
from cranfield.cli.printing import Printing


class RanksVerb(TopRuns, Printing, of="meta.agreement.preferred_rank:preferred_ranks"):
    """Print the ranks of the first relevant document (r1) and of the first one with the highest grade (rp).

    RR, O and NWRR stop at r1, P-measure and P+ at rp. For each topic, the table gives the largest rp of any run, and
    how many documents of each grade that run has down to there (of how many there are).
    """

    summary = "how deep the first and the best relevant document are"
    examples = """
cranfield meta ranks qrels.txt runs/*.run  # for each topic, the run in which a reader must go deepest
cranfield meta ranks --sample  # try it on the bundled sample collection
cranfield meta ranks qrels.txt runs/*.run --format latex
cranfield meta ranks qrels.txt runs/*.run --by-run --rel 2
"""

    by_run: bool = flag("--by-run", "Print a row per run: means, medians and maxima over topics.", group=RESULT)

    def run(self) -> None:
        from cranfield.meta.agreement.preferred_rank import preferred_ranks

        result = preferred_ranks(self.assessed(), **self.settings())
        self.show(result.by_run() if self.by_run else result.table())
