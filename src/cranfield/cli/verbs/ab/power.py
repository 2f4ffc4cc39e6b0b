"""`cranfield ab power`: what an experiment can find, and how long it has to run."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import argument, option
from cranfield.cli.options import ab_options
from cranfield.cli.options.ab_options import DaysFromLog
from cranfield.cli.printing import Plotting


class PowerVerb(DaysFromLog, Plotting, of="online.experiments.experiment_power:ab_power"):
    """Show the smallest effect that an experiment finds, from past data of users, and how many users or days it needs.

    Means, variances and the effect of covariates (CUPED) come from the table; ratios have the variance of the delta
    method. With --unit and --day, for a table with a row per user and day, the table has a row for
    each number of days, with the users who came during that time. --effect 0.02 prints how long an experiment must run
    to find a change of 2%. With -m or --oec, TABLE is a log.
    """

    summary = "how many users or days an experiment needs"
    examples = """
cranfield ab power past.csv --metric revenue --effect 0.02
cranfield ab power days.parquet --unit user --day day --metric clicks/impressions --plot power.svg
cranfield ab power past.csv --metric revenue --covariate revenue=revenue_before --shares 8,1,1
cranfield ab power log/ -m CTR@5 --day day --effect 0.02
"""

    table: str = argument("TABLE", ab_options.TABLE, required=True, reads=True)
    metric: list[str] | None = ab_options.metrics()
    unit: str | None
    covariate: list[str] | None = ab_options.covariates()
    shares: str = option("--shares SHARES", "Shares of the arms, the control first.", default="1,1")

    def check(self) -> None:
        super().check()
        self.check_log({"--metric": self.metric, "--unit": self.unit, "--covariate": self.covariate})

    def run(self) -> None:
        from cranfield.online.experiments.experiment_power import ab_power
        from cranfield.online.experiments.log_analysis import power_from_log

        settings = {**self.settings(), "shares": options.numbers("--shares", self.shares) or ()}
        unit = settings.pop("unit")
        with self.open_engine() as engine:
            if self.from_log:
                result = power_from_log(self.read_log(engine), **self.compared(), **self.days(), **settings)
            else:
                result = ab_power(
                    self.table, ab_options.split_metrics(self.metric), covariates=self.covariate, engine=engine,
                    unit=unit, day=self.day, **settings,
                )  # fmt: skip
        self.show_record(result)
        self.save_plot(result)
