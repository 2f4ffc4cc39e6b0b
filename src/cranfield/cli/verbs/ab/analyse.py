"""`cranfield ab analyse`: compare the arms of an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import MORE, argument, option
from cranfield.cli.options import ab_options, report_options
from cranfield.cli.options.ab_options import DaysFromLog
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.online.engines import Engine
    from cranfield.online.experiments.ab_record import Analysis


class AnalyseVerb(DaysFromLog, Plotting, report_options.Reporting, of="online.experiments.ab_analysis:analyse"):
    """Compare the arms of an experiment with the control, metric by metric.

    First, the numbers of users are compared with the design. If they disagree (sample-ratio mismatch), the result is
    not to be trusted, and the exit code is 1. Means are compared by Welch's test, shares by a z test or Fisher's exact
    test, ratios by the delta method (by the jackknife if few users carry them), quantiles by order statistics. A
    covariate from before the experiment makes intervals narrower (CUPED). p-values are adjusted for the number of
    metrics and arms.

    --sequential always-valid allows looking at the result at any time; obrien-fleming, pocock, lan-demets-of and
    lan-demets-pocock allow planned looks, and need --look. --segment also shows the effect in parts of the users, --day
    by days since a user's first day. docs/experiments.md explains all of this.
    """

    summary = "compare the arms of an experiment"
    examples = """
cranfield ab analyse users.csv --metric revenue --metric clicks/impressions
cranfield ab analyse users.parquet --metric revenue --covariate revenue=revenue_before --plot effects.svg
cranfield ab analyse days.csv --unit user --day day --metric revenue --segment country
cranfield ab analyse log/ -m CTR@5,click-RR --report report.html
cranfield ab analyse log/ --oec oec.toml -m CTR@5
cranfield ab analyse users.csv --metric 'share(bought)' --sequential lan-demets-of --looks 5 --look 2
"""

    table: str = argument("TABLE", ab_options.TABLE, required=True, reads=True)
    metric: list[str] | None = ab_options.metrics()
    covariate: list[str] | None = ab_options.covariates()
    share: list[str] | None = option(
        "--share ARM=SHARE", "The share of users that an arm should have; default: equal. May be repeated."
    )
    lower: list[str] | None = option("--lower METRIC", "Lower values of this metric are better. May be repeated.")
    cap: list[str] | None = option(
        "--cap COLUMN=MAX", "Set higher values to MAX, a number or a quantile such as p99. May be repeated.", group=MORE
    )
    segment: list[str] | None = option(
        "--segment COLUMN", "Also show the effects for each value of this column. May be repeated."
    )
    day: str | None = option(
        "--day COLUMN", "The column of the day: also show the effects by days since exposure; for a log: --day day."
    )
    unit: str | None
    sequential: str
    method: str
    resamples: int | None
    seed: int | None
    tuned_for: float
    looks: str = option(
        "--looks LOOKS",
        "Planned looks: their number, or shares of the planned users such as 0.2,0.5,1.",
        default="5",
        group=MORE,
    )
    what: str = option(
        "--show WHAT",
        "{names}: the arms compared, or with --oec the weight of each measure at which another arm wins.",
        choices=("effects", "turning-weights"),
        default="effects",
        group=MORE,
    )
    sections: str | None = report_options.sections("report.reports.ab_report:SECTIONS")

    def check(self) -> None:
        super().check()
        if self.report is not None:
            from cranfield.report.reports.ab_report import SECTIONS

            self._outline = self.read_outline(SECTIONS)
        self.check_log({"--metric": self.metric, "--unit": self.unit, "--covariate": self.covariate, "--cap": self.cap})
        if self.method != "bootstrap" and (self.resamples is not None or self.seed is not None):
            raise UsageError("--resamples and --seed are for --method bootstrap; nothing else is drawn at random")
        if self.looks != "5" and self.sequential in ("once", "always-valid"):
            raise UsageError(
                f"--looks {self.looks} needs a group-sequential design, such as --sequential lan-demets-of"
            )
        if self.tuned_for != 10_000 and self.sequential != "always-valid":
            raise UsageError(f"--tuned-for {self.tuned_for:g} needs --sequential always-valid")

    def run(self) -> int:
        if self.what != "effects":
            return self.show_turning()
        with self.open_engine() as engine:
            result = self.of_log(engine) if self.from_log else self.of_table(engine)
        if self.for_programs:
            self.show_record(result)
        else:
            parts = [part for part in (result, result.by_segment, result.by_day) if part is not None]
            self.show(*(part.table() for part in parts))
        self.save_plot(result)
        if self.report is not None:
            from cranfield.report.reports.ab_report import ab_report

            self.write_report(ab_report(result, self._outline))
        return 1 if result.mismatch else 0

    def show_turning(self) -> int:
        """The weights of the OEC at which another arm wins."""
        from cranfield.online.experiments.turning_weights import turning_weights

        if self.oec is None:
            raise UsageError(f"--show {self.what} is for a weighted sum of measures; give it: --oec FILE")
        if self.plot or self.report:
            raise UsageError(f"--show {self.what} is a table; leave out --plot and --report")
        with self.open_engine() as engine:
            self.show_record(turning_weights(self.read_log(engine), self.compared()["oec"], **self.of_log_settings()))
        return 0

    def of_log_settings(self) -> dict[str, Any]:
        """The options that do not name columns, which a log has itself."""
        return {name: value for name, value in self.analysis().items() if name not in ("arm", "unit", "cuped")}

    def analysis(self) -> dict[str, Any]:
        """The options for tables and logs."""
        return {
            **self.settings(),
            "shares": ab_options.shares("--share", self.share),
            "lower": self.lower or (),
            "segments": self.segment or (),
            "looks": self.read_looks(),
        }

    def of_table(self, engine: Engine) -> Analysis:
        """The analysis of a table of users."""
        from cranfield.online.experiments.ab_analysis import analyse

        caps = dict(ab_options.by_name("--cap", self.cap))
        return analyse(
            self.table, ab_options.split_metrics(self.metric), covariates=self.covariate, caps=caps, day=self.day,
            engine=engine, **self.analysis(),
        )  # fmt: skip

    def of_log(self, engine: Engine) -> Analysis:
        """The analysis of a log."""
        from cranfield.online.experiments.log_analysis import analyse_log

        return analyse_log(self.read_log(engine), **self.compared(), **self.days(), **self.of_log_settings())

    def read_looks(self) -> Any:
        """A number of looks, or the fractions of the planned users."""
        if self.looks.isdigit():
            return int(self.looks)
        fractions = options.numbers("--looks", self.looks) or []
        if not all(0 < fraction <= 1 for fraction in fractions):
            raise UsageError(f"--looks {self.looks}: expected a number of looks, or shares such as 0.2,0.5,1")
        return fractions
