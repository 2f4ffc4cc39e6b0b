"""The options of verbs that read a log of live traffic, or the clicks in one."""

from __future__ import annotations

import re
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import MORE, READING, Verb, argument, declared, flag, option
from cranfield.cli.options.engine_options import OnEngine
from cranfield.notes import rewritten

if TYPE_CHECKING:
    from cranfield.online.logs import Log


LOG = (
    "The log: a directory or a database with queries and events, or the file of the queries or impressions "
    "(JSON-lines, CSV or Parquet)."
)


class LogColumns(OnEngine):
    """Where the events of a log are, and which column holds what."""

    events: str | None = option(
        "--events FILE", "The events or clicks of a log that has them elsewhere.", reads=True, solves="events="
    )
    columns: str | None = option(
        "--columns MAP",
        "Which column holds what: entries such as query_id=qid,events.time=when; for a log, also a TOML file. Columns "
        "with usual names are found without it.",
        solves="columns=",
    )
    zone: str | None = option(
        "--zone ZONE", "The time zone of times without one, such as Europe/Berlin.", solves="zone="
    )
    first_position: int | None = option(
        "--first-position N", "The position of the first document, 0 or 1.", group=READING, solves="first_position=0"
    )


class LogTables(LogColumns):
    """The tables of a log, and which of their rows are read."""

    application: str | None = option(
        "--application NAME",
        "Read only the rows that this application wrote, if several write into the log.",
        group=READING,
        solves="application=",
    )

    def read_tables(self, path: str, **more: Any) -> Log:
        """The log at a path, for a verb that cannot leave out wrong rows."""
        from cranfield.online.engines.engine import without_skip
        from cranfield.online.logs import read_log

        with without_skip():
            return read_log(path, **self.values(*LOG_TABLES), **more)


LOG_TABLES = ("events", "columns", "zone", "first_position", "application")


def rarely(name: str) -> Any:
    """An option of `LogTables` that only `--help-all` shows, for verbs that read logs among other things."""
    (own,) = (each for each in fields(LogTables) if each.name == name)
    return field(default=own.default, metadata={"parameter": replace(own.metadata["parameter"], group=MORE)})


class TopicTexts(Verb):
    """The topics that queries belong to."""

    topics: str | None = option(
        "--topics FILE",
        "The topics; queries belong to the topic with the same text. Default: topics are the texts of queries.",
        reads=True,
        solves="topics=",
    )

    def topic_texts(self) -> dict[str, str] | None:
        """{topic: text}, if there is a file of topics."""
        if self.topics is None:
            return None
        from cranfield.collection.topics import Topics

        return Topics.read(self.topics).queries()


class LogOfTopics(LogTables, TopicTexts):
    """A log whose queries belong to topics."""


class LogChecking(LogTables):
    """The log itself, and how its users are hashed."""

    log: str = argument("LOG", LOG, required=True, reads=True)
    salt: str | None = option(
        "--salt TEXT",
        "Hash users with this salt; default: the environment variable CRANFIELD_SALT, or a new salt.",
        group=READING,
        solves="salt=",
    )

    def with_options(self, record: Any) -> Any:
        """A result whose notes and remedies name options of the command line instead of parameters."""
        notes = tuple(map(self._with_options, record.notes))
        if not hasattr(record, "findings"):
            return replace(record, notes=notes)
        findings = tuple(replace(finding, remedy=self._with_options(finding.remedy)) for finding in record.findings)
        return replace(record, notes=notes, findings=findings)

    def _with_options(self, text: str) -> str:
        names = {parameter.name: parameter.label for parameter in declared(type(self)) if parameter.spellings}
        named = rf"\b({'|'.join(names)})=(?=(\w?))"
        return rewritten(text, re.sub(named, lambda match: names[match[1]] + (" " if match[2] else ""), text))

    def log_tables(self) -> dict[str, Any]:
        """The parameters that `read_log` and `check_log` have in common, the source apart."""
        return {**self.values(*LOG_TABLES, "salt"), "engine": self.open_engine()}


class LogReading(LogChecking):
    """As `LogChecking`, for verbs that use the log."""

    keep_users: bool = flag("--keep-users", "Do not hash the users.", group=READING)
    no_texts: bool = flag("--no-texts", "Do not read the texts of queries.", group=READING)
    skip_bad: bool = flag(
        "--skip-bad", "Leave out rows that cannot be read, and count them.", group=READING, solves="skip="
    )

    def read_log(self) -> Log:
        """The log that the options name."""
        from cranfield.online.logs import read_log

        tables = self.log_tables()
        log = read_log(self.log, **tables, hashed=not self.keep_users, texts=not self.no_texts, skip=self.skip_bad)
        return replace(log, notes=tuple(map(self._with_options, log.notes)))


MODELS = "online.clicks.click_kinds:CLICK_MODELS"
CLICK_LOG = (
    "The log: a table with a row per impression and the columns session, query, position, doc and clicked (Parquet, "
    "CSV or JSON lines), or a log that cranfield log check reads."
)
MODEL = "A click model, written by cranfield clicks fit."


class ClickReading(LogTables):
    """How a log is read."""

    depth: int | None = option(
        "--depth N", "Use only the first N documents of each list.", group=READING, solves="set the depth"
    )

    def click_reading(self) -> dict[str, Any]:
        """The parameters of `click_rows`."""
        names = ("events", "columns", "zone", "first_position", "application", "depth")
        return {**self.values(*names), "engine": self.open_engine()}
