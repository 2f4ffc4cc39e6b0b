"""`cranfield ab aa`: how often random splits of the same users are significant."""

from __future__ import annotations

from cranfield.cli.declare import argument, option
from cranfield.cli.options import ab_options
from cranfield.cli.options.ab_options import FromLog
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError


class AaVerb(FromLog, Plotting, of="online.experiments.random_splits:aa_splits"):
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
    unit: str | None = option("--unit COLUMN", "The column of user ids, by which users are split.", solves="unit=")
    covariate: list[str] | None = ab_options.covariates()
    by_row: bool

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
            settings = {"progress": progress, **self.settings()}
            if self.from_log:
                for name in ("unit", "by_row"):
                    del settings[name]
                result = aa_from_log(self.read_log(engine), **self.compared(), **settings)
            else:
                result = aa_splits(
                    self.table, ab_options.split_metrics(self.metric), engine=engine, covariates=self.covariate,
                    **settings,
                )  # fmt: skip
        self.show_record(result)
        self.save_plot(result)
