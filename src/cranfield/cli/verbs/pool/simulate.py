"""`cranfield pool simulate`: what pooling methods would have found, on judgments that exist."""

from __future__ import annotations

from cranfield import check
from cranfield.cli import options
from cranfield.cli.declare import option
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.cli.verbs.pool.build import METHODS
from cranfield.errors import UsageError

USUAL_METHODS = "depth,rrf,move-to-front,hedge,max-mean"


class SimulateVerb(options.Collection, Plotting, of="building.pools.pool_simulation:simulate_pools"):
    """Judge again with the grades of QRELS, in the order that each method chooses, and compare the methods.

    For each method and budget: the relevant documents found; Kendall's tau of the ranking of runs with the ranking by
    all judgments; of the pairs of runs that differ significantly with all judgments, those that are kept, lost or
    reversed, and new ones (Otero, Parapar and Ferro, CIKM 2023). With --teams, each team in turn is not pooled, and its
    runs are scored: the mean change of their scores, and the most ranks that one loses. --plot draws the share of
    relevant documents found against the number of judgments.

    Only judged documents can be chosen. json, csv and tsv hold all columns.
    """

    summary = "replay pooling methods on existing judgments"
    examples = """
cranfield pool simulate qrels.txt runs/*.run --methods depth,max-mean,hedge --budgets 50,100
cranfield pool simulate --sample --plot discovery.html
cranfield pool simulate qrels.txt runs/*.run --methods depth,mm-ns --budgets 100 --teams teams.txt -m AP,nDCG@10
cranfield pool simulate qrels.txt runs/*.run --total --budgets 5000,20000 --test tukey
"""

    methods: list[str] | None = option(
        "--methods METHOD,...", f"{{names}}; default: {USUAL_METHODS}. May be repeated.", names=METHODS
    )
    budgets: str = option("--budgets N,N,...", "Judgments of each topic.", default="20,50,100")
    depth: int = option("--depth N", "Pool the first N documents of each list.", default=100)
    measures: list[str] | None = options.measures()
    teams: str | None = option("--teams FILE", "Lines of run, team: also pool without one team at a time.", reads=True)
    leave_out: bool
    missing: str = options.missing()

    def check(self) -> None:
        super().check()
        check.whole("", **{"--depth": self.depth})
        if self.teams is not None and self.leave_out:
            raise UsageError("--teams and --leave-out-runs exclude each other; leave out one of them")
        self.numbers = options.whole_numbers("--budgets", self.budgets) or []

    def run(self) -> None:
        from cranfield.building.pools.pool_simulation import simulate_pools
        from cranfield.declared.registry import split_names

        names = [name for text in self.methods or [USUAL_METHODS] for name in split_names(text)]
        with self.progress("simulating") as progress:
            result = simulate_pools(
                *self.read_whole(), names, self.numbers, chosen(self.measures or ["AP"]), depth=self.depth,
                teams=self.teams,
                missing=self.missing, options=self.joining(), progress=progress, **self.settings(),
            )  # fmt: skip
        if self.for_programs:
            from cranfield.record import table_of

            self.show(table_of(result.columns(), notes=result.notes))
        else:
            self.show(result.table())
        self.save_plot(result)
