"""One pass over a log: what every user did with every query, cut into sessions.

The pass groups queries and events by user and query. Silence ends a session, and it may fall between two events of one
query; such queries are few, and only these are cut: into stretches of time that are as long as that silence, so that
all of a stretch belongs to one session. Then sessions are numbered over the stretches, which are far fewer than the
events, with the same result as over the events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cranfield.online.log_measures.expressions import col, indicator, lit, where
from cranfield.online.log_measures.log_signals import (
    ASKED,
    END,
    FROM_RANKED,
    QUERIES,
    QUERY,
    SECOND,
    START,
    UNRANKED_CLICKS,
    Signal,
)
from cranfield.online.log_measures.query_texts import NEXT_QUERY, NEXT_TEXT, normal_text
from cranfield.online.logs.log import PAGE_SIZE, Log
from cranfield.online.logs.sessions import SILENCE


@dataclass(frozen=True, eq=False)
class Stretches:
    """The pass over a log: the signals to count, and columns of queries to take along."""

    log: Log
    signals: tuple[Signal, ...]
    carried: tuple[str, ...]
    silence: float = SILENCE
    """Minutes after which a session ends."""
    way: str = "auto"
    """`auto`, `silence` or `given`."""
    in_sessions: bool = True
    """Whether sessions are needed at all."""
    names_users: bool = True
    """Whether users keep their names. If not, a user is a number of 64 bits, as long as the digest of a name."""
    evidence: tuple[Signal, ...] = ()
    """Signals of which only the sum over the log is needed."""

    @cached_property
    def unnamed(self) -> tuple[int, int]:
        """How many queries have no session in the log, and how many queries there are."""
        import narwhals as nw

        counts = self.log.queries.select(indicator(col("session").is_null()).sum().alias("without"), all=nw.len())
        row = self.log.engine.fetch(counts).to_pylist()[0]
        return int(row["without"] or 0), int(row["all"])

    @property
    def named(self) -> bool:
        """Are sessions those that the log names? By default, if it does so for every query."""
        return self.way == "given" or (self.way == "auto" and self.unnamed[0] == 0)

    @property
    def _silence(self) -> int:
        """The silence that ends a session, in microseconds."""
        return round(self.silence * 60 * SECOND)

    @cached_property
    def totals(self) -> dict[str, int]:
        """The signals of `evidence` over the whole log, how many queries have a text, and clicks without a rank."""
        signals = dict.fromkeys((*self.evidence, UNRANKED_CLICKS))
        texts = (col("text").count(),) if "text" in self.carried else ()
        rows = self._activity(self.carried).select(*(signal.counted() for signal in signals), *texts)
        return {name: int(number or 0) for name, number in self.log.engine.fetch(rows).to_pylist()[0].items()}

    @cached_property
    def whole(self) -> Any:
        """A row per user and query with the signals, and a row per user for events without a query; kept."""
        ends = (col("session").min().alias("session"), col("session").max().alias("last session"))
        sessions = ends if self.in_sessions and self.named else ()
        activity, derived = self._activity(self.carried), self._derived(self.signals)
        counted = [signal for signal in self.signals if signal not in derived]
        rows = self.log.engine.keep(self._grouped(activity, ["user", "query_id"], counted, self.carried, *sessions))
        return rows.with_columns(**{signal.name: value for signal, value in derived.items()}) if derived else rows

    def with_sessions(self, signals: Sequence[Signal], carried: Sequence[str]) -> Any:
        """A row per user, query and session with some signals; `torn` marks queries that are in several sessions.

        Each query also has the next one of its session, if all rows are queries in the order in which they were asked.
        """
        names = ["user", "query_id", *(signal.name for signal in signals), *carried]
        rows = self.whole.select(*names, *(("session", "last session") if self.named else ()))
        if self.named:
            torn = col("session") != col("last session")
        else:
            torn = col(END.name) - col(START.name) > self._silence
        torn = torn | col("query_id").is_null()
        unbroken = rows.filter(~torn).with_columns(torn=lit(False))
        parts = rows.filter(torn).select("user", "query_id")
        in_order = "text" in carried and ASKED in signals and not self.named
        early = (col(QUERIES.name) == 0) | (col(START.name) != col(ASKED.name)) if in_order else lit(True)
        counts = rows.select(torn=indicator(torn).sum(), odd=indicator(torn | early).sum())
        number = self.log.engine.fetch(counts).to_pylist()[0]
        if number["torn"]:
            columns = unbroken.collect_schema().names()
            unbroken = below([unbroken, self._cut(parts, columns, signals, carried)])
        if self.named:
            return unbroken.drop("last session")
        return number_sessions(unbroken, self._silence, self.log.engine, next_queries=not number["odd"])

    def _derived(self, signals: Sequence[Signal]) -> dict[Signal, Any]:
        """Signals that follow from others, as each click has a rank."""
        there = [signal for signal in signals if signal in FROM_RANKED and FROM_RANKED[signal][0] in signals]
        if not there or self.totals[UNRANKED_CLICKS.name]:
            return {}
        return {signal: FROM_RANKED[signal][1]() for signal in there}

    def _activity(self, carried: Sequence[str]) -> Any:
        """Queries and events below one another, with columns of queries to take along."""
        import narwhals as nw

        numbers = {"position": nw.Int64(), "value": nw.Float64(), "dwell": nw.Float64()}
        sizes = [PAGE_SIZE] if PAGE_SIZE in self.log.queries.collect_schema().names() else []
        queries = self.log.queries.select(
            "user", "query_id", "time", "session", *carried, *sizes,
            action=lit(QUERY),
            **{name: nw.lit(None, dtype=dtype) for name, dtype in numbers.items()},
        )  # fmt: skip
        events = self.log.events.select(
            "user", "query_id", "time", "session",
            *(nw.lit(None, dtype=nw.String()).alias(name) for name in carried),
            *(nw.lit(None, dtype=nw.Int64()).alias(name) for name in sizes),
            "action",
            *(col(name).cast(dtype) for name, dtype in numbers.items()),
        )  # fmt: skip
        return below([self._users(queries), self._users(events)])

    def _users(self, rows: Any) -> Any:
        """The rows with the names of users, or with their numbers."""
        if self.names_users:
            return rows
        engine = self.log.engine
        columns = {name: engine.quote(name) for name in rows.collect_schema().names()}
        return engine.select(rows, columns | {"user": engine.dialect.key(columns["user"])})

    def _cut(self, parts: Any, columns: Sequence[str], signals: Sequence[Signal], carried: Sequence[str]) -> Any:
        """Events without a query, and those of torn queries, by stretch or by session."""
        activity = self._activity(carried)
        of_parts = activity.join(parts.filter(~col("query_id").is_null()), on=["user", "query_id"], how="semi")
        chosen = below([activity.filter(col("query_id").is_null()), of_parts])
        if self.named:
            rows = self._grouped(chosen, ["user", "query_id", "session"], signals, carried)
            rows = rows.with_columns(col("session").alias("last session"))
        else:
            chosen = chosen.with_columns(stretch=col("time") // self._silence)
            rows = self._grouped(chosen, ["user", "query_id", "stretch"], signals, carried)
        return rows.with_columns(torn=lit(True)).select(*columns)

    @staticmethod
    def _grouped(
        activity: Any, keys: Sequence[str], signals: Sequence[Signal], carried: Sequence[str], *more: Any
    ) -> Any:
        """The signals of each group of rows; texts are made comparable."""
        counted = (signal.counted() for signal in signals)
        rows = activity.group_by(*keys).agg(*counted, *(col(name).max() for name in carried), *more)
        return rows.with_columns(text=normal_text("text")) if "text" in carried else rows


def number_sessions(rows: Any, silence: int, engine: Any, *, next_queries: bool = False) -> Any:
    """Stretches of activity with the number of the user's session: a new one begins after a longer silence.

    A stretch begins a session if all earlier ones of the user ended too long before. The order is total as far as it
    matters: stretches that begin and end together are in the same session.

    next_queries: also add the text and the id of the `next query` of the session, in the same sort, if all rows are
        queries that begin when they are asked, and no user asks two at the same time.
    """
    user, start, end, same = (engine.quote(name) for name in ("user", START.name, END.name, "same"))
    earlier = f"PARTITION BY {user} ORDER BY {start}, {end} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    rows = engine.select(rows, {"before": f"MAX({end}) OVER ({earlier})"}, add=True)
    rows = rows.with_columns(same=indicator(col(START.name) - col("before") <= silence)).drop("before")
    order = f"PARTITION BY {user} ORDER BY {start} NULLS FIRST, {end} NULLS FIRST, {same}"
    added = {"session": f"CAST(SUM(1 - {same}) OVER ({order} ROWS UNBOUNDED PRECEDING) AS BIGINT)"}
    if not next_queries:
        return engine.select(rows, added, add=True).drop("same")
    after = {"text": NEXT_TEXT, "query_id": NEXT_QUERY, "same": "goes on", START.name: "next start"}
    added |= {alias: f"LEAD({engine.quote(name)}) OVER ({order})" for name, alias in after.items()}
    rows = engine.keep(engine.select(rows, added, add=True))
    ties = rows.select(ties=indicator(col("next start") == col(START.name)).sum())
    rows = rows.drop("next start", "same")
    if engine.fetch(ties).to_pylist()[0]["ties"]:
        return rows.drop(NEXT_TEXT, NEXT_QUERY, "goes on")
    goes_on = col("goes on") == 1
    next_of = {name: where(goes_on, col(name)) for name in (NEXT_TEXT, NEXT_QUERY)}
    return rows.with_columns(**next_of).drop("goes on")


def below(frames: Sequence[Any]) -> Any:
    """Frames below one another."""
    import narwhals as nw

    return nw.concat(list(frames), how="vertical")
