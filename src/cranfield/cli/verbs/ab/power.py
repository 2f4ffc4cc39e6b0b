"""`cranfield ab power`: what an experiment can find, and how long it has to run."""

from __future__ import annotations

from cranfield.cli import ab_options, options
from cranfield.cli.declare import argument, option
from cranfield.cli.engine_options import OnEngine
from cranfield.cli.printing import Plotting


class PowerVerb(OnEngine, Plotting):
    """Show the smallest effect that an experiment finds, from past data of users, and how many users or days it needs.

    Means, variances and the effect of covariates (CUPED) come from the table; ratios have the variance of the delta
    method. With --unit and --day, for a table with a row per user and day, the table has a row for
    each number of days, with the users who came during that time. --effect 0.02 prints how long an experiment must run
    to find a change of 2%.
    """

    summary = "how many users or days an experiment needs"
    examples = """
cranfield ab power past.csv --metric revenue --effect 0.02
cranfield ab power days.parquet --unit user --day day --metric clicks/impressions --plot power.svg
cranfield ab power past.csv --metric revenue --covariate revenue=revenue_before --shares 8,1,1
"""

    table: str = argument("TABLE", ab_options.TABLE, required=True, reads=True)
    metric: list[str] | None = ab_options.metrics()
    unit: str | None = ab_options.unit()
    day: str | None = option("--day COLUMN", "The column of the day, for a table with a row per user and day.")
    covariate: list[str] | None = ab_options.covariates()
    effect: float | None = option("--effect E", "A wanted relative effect, such as 0.02.")
    users: str | None = option("--users N", "Numbers of users, all arms together; several, separated by commas.")
    traffic: float = option("--traffic SHARE", "The share of users that take part.", default=1.0)
    shares: str = option("--shares SHARES", "Shares of the arms, the control first.", default="1,1")
    power: float = option("--power P", "Power: the probability of finding the effect.", default=0.8)
    alpha: float = options.alpha()

    def run(self) -> None:
        from cranfield.online.experiments.experiment_power import ab_power

        with self.open_engine() as engine:
            result = ab_power(
                self.table, ab_options.split_metrics(self.metric), covariates=self.covariate,
                users=options.whole_numbers("--users", self.users), engine=engine,
                shares=options.numbers("--shares", self.shares) or (),
                **self.values("unit", "day", "effect", "traffic", "alpha", "power"),
            )  # fmt: skip
        self.show_record(result)
        if self.plot:
            from cranfield.report.figures import describe_detectable

            describe_detectable(result).save(self.plot)
