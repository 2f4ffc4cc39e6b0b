"""`cranfield meta meaningful`: which statements survive every permissible transformation of the scores."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.options.chosen_runs import Compared
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError


class MeaningfulVerb(Compared, options.BinaryGrades, Printing, of="meta.scale.meaningfulness:meaningfulness"):
    """Show which statements about runs survive every transformation of the scores that their scale permits.

    A statement is meaningful if it stays true when scores are replaced by others on the same scale. Most measures are
    not on an interval scale, so every increasing transformation is permitted. Three statements are examined: a run
    beats another by its mean, the runs differ by an analysis of variance, and two measures rank runs alike. Where a
    statement does not survive, a counter-example is shown: a transformation under which it is false.
    """

    repeats_warnings = True
    summary = "which conclusions survive a change of scale"
    examples = """
cranfield meta meaningful qrels.txt runs/*.run -m AP,P@10,nDCG@10
cranfield meta meaningful --sample -m AP,RR  # try it on the bundled sample collection
cranfield meta meaningful qrels.txt runs/*.run -m AP --show pairs  # each pair, with its counter-example
"""

    what: str = options.show(
        "statements",
        "pairs",
        "correlations",
        help="{names}: a row per measure, a row per pair of runs, or a row per pair of measures.",
    )

    def run(self) -> None:
        from cranfield.meta.scale.meaningfulness import meaningfulness
        from cranfield.record import table_of

        result = meaningfulness(self.read_scores(), **self.settings())
        if self.what == "correlations":
            if len(result.measures) < 2:
                raise UsageError("--show correlations compares measures; give two or more with -m")
            self.show(result.correlations())
        elif self.what == "pairs":
            self.show(table_of(result.columns(), notes=result.notes))
        else:
            tables = [result.table()]
            if len(result.measures) > 1 and not self.for_programs:
                tables.append(result.correlations())
            self.show(*tables)
