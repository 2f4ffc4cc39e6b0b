"""The options that the verbs of `cranfield ab` share, also those for experiments in a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import MORE, option
from cranfield.cli.options.log_options import LOG_TABLES, LogTables, rarely
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.online.engines import Engine
    from cranfield.online.logs import Log


TABLE = "The table: CSV, JSON-lines or Parquet files, a directory or pattern of them, or database::table."


def metrics() -> Any:
    return option(
        "--metric METRIC",
        "A column (its mean), 'share(c)' of a column of 0 and 1, a/b (sum over sum), 'median(c)' or 'p95(c)'. May be "
        "repeated; the first one decides.",
    )


def covariates() -> Any:
    return option(
        "--covariate [METRIC=]C",
        "A column or ratio from before the experiment that reduces the variance of a metric, or of all (CUPED). May be "
        "repeated.",
    )


def by_name(label: str, texts: Iterable[str] | None) -> dict[str, str]:
    """{name: value} of texts such as `A=0.5`; commas separate several.

    >>> by_name("--share", ["A=0.9,B=0.1"])
    {'A': '0.9', 'B': '0.1'}
    """
    pairs: dict[str, str] = {}
    for text in texts or ():
        for part in text.split(","):
            name, sign, value = part.rpartition("=")
            if not (name and sign and value):
                raise UsageError(f"{label} {text}: expected NAME=VALUE")
            if name in pairs:
                raise UsageError(f"{label} {name}: given twice, as {pairs[name]} and {value}")
            pairs[name] = value
    return pairs


def shares(label: str, texts: Iterable[str] | None) -> dict[str, float] | None:
    """{arm: share} of texts such as `A=0.5`; None if the option was not given."""
    pairs = by_name(label, texts)
    try:
        return {name: float(value) for name, value in pairs.items()} or None
    except ValueError:
        raise UsageError(f"{label} {','.join(texts or ())}: expected ARM=SHARE, with numbers as shares") from None


def split_metrics(texts: Sequence[str] | None) -> list[str]:
    """The metrics, at least one; commas separate several."""
    names = [name.strip() for text in texts or () for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError("no metric; name one with --metric, such as --metric revenue or --metric clicks/impressions")
    return names


class FromLog(LogTables):
    """Which measures of a log are compared, and how the log is read."""

    if TYPE_CHECKING:
        table: str  # which each verb declares
        metric: list[str] | None

    events: str | None = rarely("events")
    columns: str | None = rarely("columns")
    zone: str | None = rarely("zone")
    measures: list[str] | None = option(
        "--measure, -m MEASURE",
        "An online measure, such as CTR@5, if TABLE is a log; else as --metric.",
    )
    oec: str | None = option(
        "--oec FILE",
        "TABLE is a log: the weighted sum of measures in this TOML file decides.",
        reads=True,
    )

    @property
    def from_log(self) -> bool:
        """Is the table a log?"""
        return bool(self.measures or self.oec)

    def tell_apart(self) -> None:
        """Let `-m` name metrics of a table, and `--metric` name online measures of a log."""
        import os

        from cranfield.cli.options.option_values import measure_names
        from cranfield.online.log_measures import parse_online

        def online(texts: list[str]) -> bool:
            try:
                return not self._has_columns(texts) and bool([parse_online(name) for name in measure_names(texts)])
            except UsageError:
                return False

        if self.measures and not self.oec and not os.path.isdir(self.table) and not online(self.measures):
            self.metric, self.measures = [*(self.metric or ()), *self.measures], None
        elif self.metric and not self.measures and os.path.isdir(self.table) and online(self.metric):
            self.metric, self.measures = None, self.metric

    def _columns(self) -> list[str]:
        """What the first line of the table names; nothing if the table is no file."""
        import os
        import re

        if not os.path.isfile(self.table):
            return []
        with open(self.table, "rb") as file:
            return re.split(r"[,;\t\"]+", file.readline(100_000).decode("utf-8", "replace").strip())

    def _has_columns(self, names: list[str]) -> bool:
        """Does the first line of the table name these columns? A measure of a log may be called as a column is."""
        return {part.strip() for name in names for part in name.split(",")} <= {*self._columns()}

    def _refuse_units(self) -> None:
        """Raise an error if measures of a log are wanted of a table of units."""
        from cranfield.collection.column_names import column_key
        from cranfield.online.experiments.unit_table import ARM_NAMES
        from cranfield.online.logs.column_map import QUERY_NAMES
        from cranfield.text import listed

        keys = {column_key(name) for name in self._columns()}
        if self.measures and keys & ARM_NAMES and not keys & {*QUERY_NAMES["query_id"]}:
            raise UsageError(
                f"{self.table} is a table of units, and {', '.join(self.measures)} is measured on a log of queries; "
                f"-m names columns here: {listed(self._columns())}"
            )

    def check_log(self, of_table: Mapping[str, Any]) -> None:
        """Raise an error about options that do not go together; `of_table` are those that a log does not have."""
        self.tell_apart()
        if of_table.get("--metric"):
            of_table = {**of_table, "--metric": self.metric}
        if not self.columns and not self.events:
            self._refuse_units()
        of_log = {f"--{name.replace('_', '-')}": getattr(self, name) for name in LOG_TABLES}
        given = of_table if self.from_log else of_log
        wrong = [name for name, value in given.items() if value or (value == 0 and value is not False)]
        if wrong and self.from_log:
            raise UsageError(f"{wrong[0]} does not go with {'-m' if self.measures else '--oec'}")
        if wrong:
            raise UsageError(f"{wrong[0]} needs -m CTR or another online measure, or --oec")

    def read_log(self, engine: Engine) -> Log:
        """The log. Hashes of users do not leave the engine; they are the same in every run, as what a seed draws is."""
        return self.read_tables(self.table, engine=engine, salt="ab")

    def compared(self) -> dict[str, Any]:
        """The measures and the weighted sum."""
        from cranfield.cli.options.option_values import measure_names
        from cranfield.online.log_measures import read_oec

        names = measure_names(self.measures) if self.measures else []
        return {"measures": names, "oec": read_oec(self.oec) if self.oec else None}


class DaysFromLog(FromLog):
    """As `FromLog`, for verbs that also have results by day."""

    day: str | None = option(
        "--day COLUMN", "The column of the day, for a table with a row per user and day; for a log: --day day."
    )
    timezone: str | None = option(
        "--timezone ZONE", "Of a log, with --day day: the time zone of days; default: UTC.", group=MORE
    )

    def check_log(self, of_table: Mapping[str, Any]) -> None:
        super().check_log(of_table)
        if self.timezone and not (self.from_log and self.day):
            raise UsageError(
                "--timezone is for the days of a log: give an online measure such as -m CTR, or --oec, and --day day"
            )
        if self.from_log and self.day not in (None, "day"):
            raise UsageError(f"--day {self.day}: a log has its own days; write --day day")

    def days(self) -> dict[str, Any]:
        """Whether there are results by day, and where days begin."""
        return {"by_day": self.day is not None, "timezone": self.timezone or "UTC"}
