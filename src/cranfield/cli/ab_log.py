"""The options of verbs of `cranfield ab` whose table may also be a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import MORE, option
from cranfield.cli.engine_options import OnEngine
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.online.engines import Engine
    from cranfield.online.logs import Log


class FromLog(OnEngine):
    """Which measures of a log are compared, and how the log is read."""

    if TYPE_CHECKING:
        table: str  # which each verb declares

    measures: list[str] | None = option(
        "--measures, -m NAME", "TABLE is a log: compare online measures of it, such as CTR@5."
    )
    oec: str | None = option(
        "--oec FILE",
        "TABLE is a log: the weighted sum of measures in this TOML file decides.",
        reads=True,
    )
    events: str | None = option(
        "--events FILE", "Of a log: the events, if TABLE does not hold them.", reads=True, group=MORE, solves="events="
    )
    columns: str | None = option("--columns MAP", "Of a log: which column holds what.", group=MORE, solves="columns=")
    zone: str | None = option("--zone ZONE", "Of a log: the zone of times without one.", group=MORE, solves="zone=")
    first_position: int | None = option(
        "--first-position N",
        "Of a log: the position of the first document, 0 or 1.",
        group=MORE,
        solves="first_position=0",
    )
    application: str | None = option(
        "--application NAME",
        "Of a log: read only the rows that this application wrote.",
        group=MORE,
        solves="application=",
    )

    @property
    def from_log(self) -> bool:
        """Is the table a log?"""
        return bool(self.measures or self.oec)

    def check_log(self, of_table: Mapping[str, Any]) -> None:
        """Raise an error about options that do not go together; `of_table` are those that a log does not have."""
        of_log = {
            "--events": self.events, "--columns": self.columns, "--zone": self.zone,
            "--first-position": self.first_position, "--application": self.application,
        }  # fmt: skip
        given = of_table if self.from_log else of_log
        wrong = [name for name, value in given.items() if value or (value == 0 and value is not False)]
        if wrong and self.from_log:
            raise UsageError(f"{wrong[0]} does not go with {'--measures' if self.measures else '--oec'}")
        if wrong:
            raise UsageError(f"{wrong[0]} needs --measures or --oec")

    def read_log(self, engine: Engine) -> Log:
        """The log. Hashes of users do not leave the engine; they are the same in every run, as what a seed draws is."""
        from cranfield.online.engines.engine import without_skip
        from cranfield.online.logs import read_log

        with without_skip():
            options = self.values("events", "columns", "zone", "first_position", "application")
            return read_log(self.table, engine=engine, salt="ab", **options)

    def compared(self) -> dict[str, Any]:
        """The measures and the weighted sum."""
        from cranfield.cli.measure_names import measure_names
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
            raise UsageError("--timezone is for the days of a log: give --measures or --oec, and --day day")
        if self.from_log and self.day not in (None, "day"):
            raise UsageError(f"--day {self.day}: a log has its own days; write --day day")

    def days(self) -> dict[str, Any]:
        """Whether there are results by day, and where days begin."""
        return {"by_day": self.day is not None, "timezone": self.timezone or "UTC"}
