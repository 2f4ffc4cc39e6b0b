"""`cranfield meta axioms`: what a measure rewards."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import RESULT, flag
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting


class AxiomsVerb(Plotting, of="meta.axioms.axioms:axioms"):
    """Test on all short lists which axioms a measure satisfies, and show lists that violate one.

    The axioms are swap and replacement monotonicity, top-heaviness, and whether the measure is graded, normalised,
    recall-free, diminishing, additive, and counts lengths; for measures of diversity the same by intent.
    """

    summary = "what a measure rewards, with counter-examples"
    examples = """
cranfield meta axioms -m nDCG@10
cranfield meta axioms -m nDCG,AP,Q,P+,ERR,RBP,TBG,U --plot axioms.pdf  # as Fig. 6 of Sakai's Metrics, Statistics, Tests
cranfield meta axioms -m P+ --only swap,replacement --examples
cranfield meta axioms -m alpha-nDCG,D#-nDCG,ERR-IA -f latex
"""

    measures: list[str] | None = options.measures()
    lists: bool = flag("--examples", "Show the lists behind each finding, as for a single measure.", group=RESULT)

    def given(self) -> bool:
        return bool(self.measures)

    def run(self) -> None:
        from cranfield.meta.axioms.axioms import axioms

        measures = chosen(self.measures)
        result = axioms(measures, **self.settings())
        if self.lists or len(measures) == 1:
            both = len(measures) > 1 and not self.for_programs
            self.show(*([result.table()] if both else []), result.examples())
        else:
            self.show(result.table())
        self.save_plot(result)
