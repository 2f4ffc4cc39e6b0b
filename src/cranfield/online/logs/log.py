"""A log as three lazy frames, whatever it was read from; and what a query is: a user and an id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.online.engines.engine import Engine
from cranfield.online.expressions import nw
from cranfield.text import counted

QUERIES = ("query_id", "user", "session", "time", "text", "arm")
"""The columns of `Log.queries`, before its segments."""
PAGE_SIZE = "_page_size"
"""A further column of `Log.queries` if the log has a list of documents per query: the length of the list."""
USER_NUMBER = "_user_number"
"""A further column of `Log.queries` and `Log.events`, perhaps: a number of 64 bits per user (see `number_users`)."""
SHOWN = ("query_id", "position", "doc", "propensity")
EVENTS = ("query_id", "user", "session", "time", "action", "doc", "position", "value", "dwell")


@dataclass(frozen=True, eq=False)
class Log:
    """Queries, the documents shown for them, and what users did with them. Times are whole microseconds, in UTC.

    The frames are lazy (`narwhals.LazyFrame`); `engine.fetch` computes a small result.
    """

    engine: Engine
    queries: Any
    """A row per query: `query_id`, `user`, `session`, `time`, `text`, `arm`, and the segments as text; perhaps also
    `PAGE_SIZE`, so that documents can be counted without their rows."""
    shown: Any
    """A row per document shown: `query_id`, `position` (from 1), `doc`, `propensity`."""
    events: Any
    """A row per event: `query_id`, `user`, `session`, `time`, `action` ("click", "hover", "conversion", …), `doc`,
    `position`, `value` (such as revenue) and `dwell` (seconds)."""
    segments: tuple[str, ...] = ()
    """The names of the columns of `queries` that hold segments, such as `device`."""
    origin: str = ""
    """Where the log was read from."""
    notes: tuple[str, ...] = ()
    """What was assumed in reading, such as the unit of times."""
    truth: Any = None
    """What is known of a simulated log (`DemoTruth`)."""


def number_users(log: Log) -> Log:
    """The log with numbers as users: they are cheaper to group and to sort, and no digest has to be computed.

    A number has as many bits as a digest. It stays within the engine, and is another one on every engine.
    """
    frames = (log.queries, log.events)
    if all(USER_NUMBER in frame.collect_schema().names() for frame in frames):
        queries, events = (frame.with_columns(user=nw.col(USER_NUMBER)) for frame in frames)
    else:
        key = log.engine.dialect.key(log.engine.quote("user"))
        queries, events = (log.engine.select(frame, {"user": key}, add=True) for frame in frames)
    return replace(log, queries=queries, events=events)


KEYS = ("query_id", "user")
SHOWN_TOGETHER = ("query_id", "user", "position", "doc")
"""A document at a position of a query was shown once, however many rows say so."""


@dataclass(frozen=True, eq=False)
class WholeQueries:
    """The queries of a log with a row each, and how the ids of other tables are to be read."""

    engine: Engine
    queries: Any
    """A row per query; the id of a query that shares it with those of other users has the user in it."""
    rows: int = 0
    """Rows that are not the first one of their query."""
    shared: Any = None
    """The ids that several users have, a frame; None if there are none."""
    shared_ids: int = 0

    def documents(self, shown: Any) -> Any:
        """Rows of documents shown, which have the user of their query, each once and with the id of their query."""
        if self.rows:
            shown = self.engine.keep(shown.group_by(*SHOWN_TOGETHER).agg(nw.col("propensity").min()))
        return self.with_ids(shown)

    def with_ids(self, rows: Any) -> Any:
        """Rows of a table with the ids that the queries have."""
        return rows if self.shared is None else _with_users(rows, self.shared)

    @property
    def single_users(self) -> Any:
        """`query_id`, `_user` and `_session` of each query whose id no other user has."""
        queries = self.queries.select("query_id", nw.col("user").alias("_user"), nw.col("session").alias("_session"))
        return queries.filter(~nw.col("query_id").is_null())

    def notes(self, events_have_users: bool) -> list[str]:
        """What was taken together, and what was kept apart."""
        notes = []
        if self.rows:
            more = f"{counted(self.rows, 'row')} of queries" if self.rows > 1 else "1 row of queries"
            notes.append(
                f"queries: {more} with the user and the id of an earlier row: they are one query, with the time and "
                "the text of its first row and the documents of all rows"
            )
        if self.shared_ids:
            what = f"queries: several users have {counted(self.shared_ids, 'query id')}: each has a query of their own"
            notes.append(what if events_have_users else f"{what}, and events without a user count for none of them")
        return notes


def whole_queries(engine: Engine, rows: Any) -> WholeQueries:
    """Rows of queries as queries: those with the same user and id are one query."""
    known = rows.filter(~nw.col("query_id").is_null())
    ids = known.group_by("query_id").agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
    if not engine.count(ids):
        return WholeQueries(engine, rows)
    rows = rows.drop(PAGE_SIZE) if PAGE_SIZE in rows.columns else rows  # lists of several rows are counted together
    known, nameless = (
        rows.filter(condition) for condition in (~nw.col("query_id").is_null(), nw.col("query_id").is_null())
    )
    queries = engine.keep(_taken_together(known))
    extra = engine.count(known) - engine.count(queries)
    users = queries.group_by("query_id").agg(nw.len().alias("users")).filter(nw.col("users") > 1)
    shared = engine.keep(users.select("query_id"))
    count = engine.count(shared)
    whole = WholeQueries(engine, queries, extra, shared if count else None, count)
    together = nw.concat([whole.with_ids(queries).select(*rows.columns), nameless.select(*rows.columns)])
    return WholeQueries(engine, engine.keep(together), extra, whole.shared, count)


def _taken_together(rows: Any) -> Any:
    """A row per user and id: what the first row says in time, or else the first value in the alphabet."""
    others = [name for name in rows.columns if name not in (*KEYS, "time")]
    rows = rows.with_columns(nw.col("time").min().over(*KEYS).alias("_first"))
    of_first = [
        nw.when(nw.col("time") == nw.col("_first")).then(nw.col(name)).min().alias(f"_first {name}") for name in others
    ]
    groups = rows.group_by(*KEYS).agg(nw.col("time").min(), *of_first, *(nw.col(name).min() for name in others))
    return groups.select(*KEYS, "time", *(nw.coalesce(f"_first {name}", name).alias(name) for name in others))


def _with_users(rows: Any, shared: Any) -> Any:
    """Rows whose id has the user in it if several users have it; an id without a user stays as it is."""
    marked = rows.join(shared.with_columns(nw.lit(True).alias("_shared")), on="query_id", how="left")
    own = nw.concat_str(nw.col("query_id"), nw.lit("of user"), nw.col("user"), separator=" ")
    own = nw.when(nw.col("_shared") & ~nw.col("user").is_null()).then(own).otherwise(nw.col("query_id"))
    return marked.with_columns(own.alias("query_id")).drop("_shared")


CLICK = "click"
"""The action that counts as a click."""


def queries_by_topic(log: Log, topics: Mapping[str, str] | None = None) -> Any:
    """`query_id`, `user` and `topic` of every query.

    The topic is the one of `topics` {topic: text} with the text of the query (small and capital letters are the same);
    queries with another text are left out. Without `topics`, it is the text itself, or the query_id if there is none.
    """
    text = nw.col("text").cast(nw.String)
    if topics is None:
        return log.queries.select("query_id", "user", nw.coalesce(text, nw.col("query_id")).alias("topic"))
    if not topics:
        raise UsageError("topics is empty, must be {topic: text of the query}")
    keys: dict[str, str] = {}
    for topic, written in topics.items():
        key = _folded(written)
        if key in keys:
            raise UsageError(
                f"topics {keys[key]!r} and {topic!r} have the same text {written!r}, so queries are unclear"
            )
        keys[key] = topic
    table = log.engine.read(_table({"_text": list(keys), "topic": list(keys.values())}))
    queries = log.queries.select("query_id", "user", text.str.strip_chars().str.to_lowercase().alias("_text"))
    return queries.join(table, on="_text", how="inner").select("query_id", "user", "topic")


def shown_with_clicks(log: Log, queries: Any) -> Any:
    """Every document that was shown for these queries: `query_id`, `user`, `topic`, `position`, `doc`, `clicked`.

    `clicked` is 1 if there was at least one click on the document, or at its position if the log does not name the
    document of the click, else 0; further clicks do not count. `propensity` is that of the log.
    """
    clicks = log.events.filter((nw.col("action") == CLICK) & ~nw.col("query_id").is_null())
    shown = log.shown.join(queries, on="query_id", how="inner")
    for key, nameless in (("doc", False), ("position", True)):
        of_key = clicks.filter(nw.col("doc").is_null() if nameless else ~nw.col("doc").is_null())
        of_key = of_key.filter(~nw.col(key).is_null()).select("query_id", key).unique()
        shown = shown.join(of_key.with_columns(nw.lit(1.0).alias(f"by_{key}")), on=["query_id", key], how="left")
    clicked = nw.coalesce(nw.col("by_doc"), nw.col("by_position")).fill_null(0.0).alias("clicked")
    return shown.select("query_id", "user", "topic", "position", "doc", clicked, "propensity")


def run_table(log: Log, run: Run, depth: int) -> Any:
    """The first documents of each list of a run, as a frame of the engine: `topic`, `doc`, `rank`."""
    topics, docs, ranks = [], [], []
    for topic in run.topics:
        for ranked in run.ranking(topic)[:depth]:
            topics.append(topic)
            docs.append(ranked.doc)
            ranks.append(ranked.rank)
    return log.engine.read(_table({"topic": topics, "doc": docs, "rank": ranks}))


def grades_table(log: Log, qrels: Mapping[str, Mapping[str, float]]) -> Any:
    """The judgments as a frame of the engine: `topic`, `doc`, `grade`."""
    entries = [(topic, doc, float(grade)) for topic, docs in qrels.items() for doc, grade in docs.items()]
    columns = zip(*entries, strict=True) if entries else ((), (), ())
    return log.engine.read(_table(dict(zip(("topic", "doc", "grade"), map(list, columns), strict=True))))


def _table(columns: Mapping[str, list[Any]]) -> Any:
    return need("pyarrow", "reading a log").table(dict(columns))


def _folded(text: str) -> str:
    return text.strip().lower()
