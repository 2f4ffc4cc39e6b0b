"""`cranfield log sessions`: find the sessions of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli.declare import option
from cranfield.cli.options.log_options import LogReading
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.online.logs import Log


class SessionsVerb(LogReading, Plotting, of="online.logs.sessions:summarise_sessions"):
    """Find the sessions of a log: how many there are, how long they are, how many queries they have.

    If the log names a session for every query, these are its sessions, as for cranfield log measures. Otherwise, or
    with --sessions silence, a session ends where a user does nothing for 30 minutes. With --sessions continuity, it
    also ends where a query has no word in common with the query before. With --sessions given, sessions are those
    that the log names, in the row of a query or in its events; what belongs to none is counted. A query is a user
    and an id: rows that have both in common are one query. --rows writes a row per session: user, session, start,
    end (microseconds since 1970), queries, clicks, events. --write writes the sessions with their queries, lists
    and clicks, which cranfield answers sessions reads.
    """

    summary = "find the sessions of a log"
    examples = """
cranfield log sessions log/
cranfield log sessions log/ --sessions silence --silence 15
cranfield log sessions log/ --sessions continuity
cranfield log sessions log/ --rows sessions.parquet
cranfield log sessions log/ --write sessions.jsonl
"""

    by: str
    silence: float
    rows: str | None = option("--rows FILE", "Also write a row per session to this .parquet or .csv file.", writes=True)
    write: str | None = option(
        "--write FILE",
        "Also write the sessions, with lists and clicks, as cranfield answers sessions reads them.",
        writes=True,
    )

    def check(self) -> None:
        super().check()
        if self.rows is not None and not self.rows.endswith((".parquet", ".csv")):
            raise UsageError(f"--rows == {self.rows!r}, must end in .parquet or .csv")

        if self.output is not None and self.output.endswith(".jsonl"):
            raise UsageError(f"-o {self.output} writes the table; --write {self.output} writes the sessions")

    def run(self) -> None:
        from cranfield.online.logs.sessions import session_rows, summarise_sessions

        log = self.read_log()
        with log.engine as engine:
            rows = engine.keep(session_rows(log, by=self.by, silence=self.silence)) if self.rows else None
            result = summarise_sessions(log, rows=rows, **self.settings())
            self.show_record(result)
            if self.rows and rows is not None:
                engine.write(rows.sort("user", "start", "session"), self.rows)
            if self.write:
                self._write(log)
        self.save_plot(result)

    def _write(self, log: Log) -> None:
        import warnings

        from cranfield.answers.sessions import write_sessions
        from cranfield.answers.sessions.log_sessions import sessions_of_log
        from cranfield.answers.sessions.session_files import summary_note
        from cranfield.cli.printing import Note

        sessions = sessions_of_log(log, by=self.by, silence=self.silence)
        write_sessions(self.write or "-", sessions)
        own = [note for note in sessions.notes if note not in log.notes]
        for note in (*own, f"wrote {summary_note(sessions)} to {self.write}"):
            warnings.warn(note, Note, stacklevel=2)
