"""`cranfield meta gtheory`: how well scores generalise to other topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import MORE, RESULT, flag, option
from cranfield.cli.options.chosen_runs import Compared
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.stability.generalisability import GStudies
    from cranfield.table import Table


class GtheoryVerb(Compared, Plotting, of="meta.stability.generalisability:g_studies"):
    """Show what systems, topics and both together add to the variance of scores, and how reliable an evaluation is.

    Eρ² is how well differences between systems generalise to other topics, Φ how well scores do; both are at most 1.
    --plot draws the shares of variance.
    """

    repeats_warnings = True
    summary = "how well scores generalise to other topics"
    examples = """
cranfield meta gtheory qrels.txt runs/*.run -m AP
cranfield meta gtheory --sample -m AP,nDCG@10  # try it on the bundled sample collection
cranfield meta gtheory qrels.txt runs/*.run -m AP --size 25,50,100,200
cranfield meta gtheory --scores ap.csv --drop 0.25 --wanted-coefficient 0.9
cranfield meta gtheory --scores shard1.csv --scores shard2.csv --facet shard
"""

    size: str | None = option("--size, -n N,N,...", "Print both coefficients for these numbers of topics.")
    target: float
    drop: float
    level: float
    facet: str | None = option(
        "--facet NAME", "Each file of --scores is a level of this further facet, such as shard or assessor.", group=MORE
    )
    components: bool = flag(
        "--components", "Print variance components with degrees of freedom and mean squares.", group=RESULT
    )

    def check(self) -> None:
        super().check()
        self.numbers = options.whole_numbers("--size", self.size)
        if self.facet is not None and len(self.scores or []) < 2:
            raise UsageError("--facet needs a file of scores for each level; give --scores FILE two times or more")

    def run(self) -> None:
        from cranfield.meta.stability.generalisability import GStudies, g_studies, g_study

        if self.facet is not None:
            parts = {path: options.read_score_files([path], self.measures) for path in self.scores or []}
            names = options.shared_measures(parts)
            studies = (g_study(parts, name, facet=self.facet, drop=self.drop, level=self.level) for name in names)
            result = GStudies(tuple(studies), self.target)
        else:
            result = g_studies(self.read_scores(), **self.settings())
        self.show(self._table(result))
        self.save_plot(result)

    def _table(self, result: GStudies) -> Table:
        from cranfield.record import table_of
        from cranfield.table import Column, Table

        if self.components:
            columns = {name.replace("_", " "): column for name, column in result.columns().items()}
            return table_of(columns, notes=result.table().notes)
        if self.numbers:
            first = result.studies[0].d_study(self.numbers)
            rows = tuple((study.measure, *row) for study in result for row in study.d_study(self.numbers).rows)
            return Table((Column("measure"), *first.columns), rows, notes=first.notes)
        return result.table()
