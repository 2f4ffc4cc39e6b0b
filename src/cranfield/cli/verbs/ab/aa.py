"""`cranfield ab aa`: how often random splits of the same users are significant."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import MORE, argument, flag, option
from cranfield.cli.options import ab_options
from cranfield.cli.options.ab_options import FromLog
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError


class AaVerb(FromLog, Plotting):
    """Split the users of a table at random many times, and count how often the halves differ significantly.

    There is no effect, so a share of about α of the splits should be significant, and p-values should be uniform. If
    not, the metric, its distribution or the unit of analysis makes the test wrong: --by-row, for a table with several
    rows per user, shows what happens if rows are analysed but users are assigned. With -m or --oec, TABLE is a log.
    """

    summary = "check the set-up with random splits of the same users"
    examples = """
cranfield ab aa past.csv --unit user --metric revenue
cranfield ab aa sessions.parquet --unit user --metric clicks/impressions --splits 10000 --plot p.svg
cranfield ab aa sessions.parquet --unit user --metric clicks --by-row
cranfield ab aa log/ -m CTR@5,abandonment
"""

    table: str = argument("TABLE", ab_options.TABLE, required=True, reads=True)
    metric: list[str] | None = ab_options.metrics()
    unit: str | None = ab_options.unit("The column of user ids, by which users are split.")
    covariate: list[str] | None = ab_options.covariates()
    by_row: bool = flag("--by-row", "Analyse rows instead of users.")
    splits: int = option("--splits N", "Number of random splits.", default=1_000)
    alpha: float = options.alpha()
    seed: int = options.seed()
    buckets: int = option("--buckets N", "Users are split in this many buckets.", default=5_000, group=MORE)

    def check(self) -> None:
        super().check()
        self.check_log(
            {"--metric": self.metric, "--unit": self.unit, "--covariate": self.covariate, "--by-row": self.by_row}
        )
        if self.unit is None and not self.from_log:
            raise UsageError("no column of user ids; name it with --unit")

    def run(self) -> None:
        from cranfield.online.experiments.log_analysis import aa_from_log
        from cranfield.online.experiments.random_splits import aa_splits

        with self.open_engine() as engine, self.progress("splitting") as progress:
            settings = {"progress": progress, **self.values("splits", "alpha", "seed", "buckets")}
            if self.from_log:
                result = aa_from_log(self.read_log(engine), **self.compared(), **settings)
            else:
                result = aa_splits(
                    self.table, ab_options.split_metrics(self.metric), unit=self.unit or "", engine=engine,
                    covariates=self.covariate, by_row=self.by_row, **settings,
                )  # fmt: skip
        self.show_record(result)
        if self.plot:
            result.plot().save(self.plot)
