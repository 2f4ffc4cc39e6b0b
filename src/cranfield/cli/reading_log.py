"""The options of verbs that read a log of live traffic and know its topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli.declare import READING, option
from cranfield.cli.engine_options import OnEngine

if TYPE_CHECKING:
    from cranfield.online.logs.log import Log

LOG = "The log: queries (or impressions), or a directory or database that also holds the events."


class ReadsLog(OnEngine):
    """Where the log's events, columns and topics are."""

    events: str | None = option(
        "--events FILE", "The events or clicks, if LOG does not hold them.", reads=True, solves="events="
    )
    topics: str | None = option(
        "--topics FILE",
        "The topics; queries belong to the topic with the same text. Default: topics are the texts of queries.",
        reads=True,
        solves="topics=",
    )
    columns: str | None = option(
        "--columns MAP",
        "Names of the log's columns: a TOML file, or pairs such as query_id=qid,events.time=when.",
        group=READING,
        solves="columns=",
    )
    zone: str | None = option(
        "--zone NAME", "The time zone of times without one, such as Europe/Berlin.", group=READING, solves="zone="
    )
    first_position: int | None = option(
        "--first-position N",
        "The position of the log's first document, 0 or 1.",
        group=READING,
        solves="first_position=0",
    )
    application: str | None = option(
        "--application NAME",
        "Read only the rows that this application wrote, if several write into the log.",
        group=READING,
        solves="application=",
    )

    def read_log(self, path: str) -> Log:
        """The log."""
        from cranfield.online.engines.engine import without_skip
        from cranfield.online.logs.read_log import read_log

        with without_skip():
            options = self.values("events", "columns", "zone", "first_position", "application")
            return read_log(path, engine=self.open_engine(), **options)

    def topic_texts(self) -> dict[str, str] | None:
        """{topic: text}, if there is a file of topics."""
        if self.topics is None:
            return None
        from cranfield.collection.topics import Topics

        return Topics.read(self.topics).queries()
