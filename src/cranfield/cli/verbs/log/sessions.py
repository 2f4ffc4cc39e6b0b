"""`cranfield log sessions`: find the sessions of a log."""

from __future__ import annotations

from cranfield.cli.declare import option
from cranfield.cli.log_options import LogReading
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError


class SessionsVerb(LogReading, Plotting):
    """Find the sessions of a log: how many there are, how long they are, how many queries they have.

    A session ends where a user does nothing for 30 minutes. With --by continuity, it also ends where a query has no
    word in common with the query before. With --by given, sessions are those that the log names. --rows writes a row
    per session: user, session, start, end (microseconds since 1970), queries, clicks, events.
    """

    summary = "find the sessions of a log"
    examples = """
cranfield log sessions log/
cranfield log sessions log/ --silence 15 --by continuity
cranfield log sessions log/ --rows sessions.parquet
"""

    by: str = option(
        "--by HOW",
        "How sessions end: {names}.",
        default="silence",
        choices=("silence", "continuity", "given"),
    )
    silence: float = option("--silence MINUTES", "The silence that ends a session.", default=30.0)
    rows: str | None = option("--rows FILE", "Also write a row per session to this .parquet or .csv file.")
    least: int = option(
        "--least N",
        "Leave out rows of the table with fewer than N sessions, so that they show no single user.",
        default=1,
    )

    def check(self) -> None:
        super().check()
        if self.rows is not None and not self.rows.endswith((".parquet", ".csv")):
            raise UsageError(f"--rows == {self.rows!r}, must end in .parquet or .csv")

    def run(self) -> None:
        from cranfield.online.logs.sessions import session_rows, summarise_sessions

        log = self.read_log()
        with log.engine as engine:
            rows = engine.keep(session_rows(log, by=self.by, silence=self.silence))
            result = summarise_sessions(log, by=self.by, silence=self.silence, least=self.least, rows=rows)
            self.show_record(result)
            if self.rows:
                engine.write(rows.sort("user", "start", "session"), self.rows)
        if self.plot:
            from cranfield.report.figures import describe_sessions

            describe_sessions(result).save(self.plot)
