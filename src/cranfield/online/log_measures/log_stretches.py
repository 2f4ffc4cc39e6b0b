"""One pass over a log: what every user did with every query, cut into sessions.

The pass groups queries and events by user and query. Silence ends a session, and it may fall between two events of one
query; such queries are few, and only these are cut: into stretches of time that are as long as that silence, so that
all of a stretch belongs to one session. Then sessions are found from the stretches, which are far fewer than the
events, with the same result as from the events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cranfield.online.expressions import col, indicator, lit, nw, where
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
from cranfield.online.log_measures.query_level import NEXT_NUMBER, NEXT_TEXT, TEXT_NUMBER, compare_texts, normal_text
from cranfield.online.logs.log import PAGE_SIZE, Log, number_users
from cranfield.online.logs.sessions import FIRST, LAST, SILENCE

FEW = 1000
"""Queries whose ids are looked for one by one when the log is scanned."""
TWICE = " of events"
"""The end of the names of columns that both tables of a log have, in the events."""


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
    texts: bool = False
    """Whether the sums also need the number of queries with a text."""
    text_numbers: bool = False
    """Whether queries have the number of their text, `TEXT_NUMBER`."""

    @cached_property
    def unnamed(self) -> tuple[int, int]:
        """How many queries have no session in the log, and how many queries there are."""
        counts = self.log.queries.select(indicator(col("session").is_null()).sum().alias("without"), all=nw.len())
        row = self.log.engine.row(counts)
        return int(row["without"] or 0), int(row["all"])

    @property
    def named(self) -> bool:
        """Are sessions those that the log names? By default, if it does so for every query."""
        return self.way == "given" or (self.way == "auto" and self.unnamed[0] == 0)

    @property
    def micros(self) -> int:
        """The silence that ends a session, in microseconds."""
        return round(self.silence * 60 * SECOND)

    @cached_property
    def totals(self) -> dict[str, int]:
        """The signals of `evidence` over the whole log, how many queries have a text, and clicks without a rank."""
        signals = dict.fromkeys((*self.evidence, UNRANKED_CLICKS))
        done = [signal.counted() for signal in signals if signal.of == "events"]
        totals = self._fetched(self._events().select(*done))
        asked = [signal.counted() for signal in signals if signal.of == "queries"]
        asked += [col("text").count()] if self.texts else []
        return totals | (self._fetched(self._queries(("text",)).select(*asked)) if asked else {})

    def _fetched(self, rows: Any) -> dict[str, int]:
        return {name: int(number or 0) for name, number in self.log.engine.row(rows).items()}

    @cached_property
    def whole(self) -> Any:
        """A row per user and query with the signals, and a row per user for events without a query; kept."""
        derived = self._derived(self.signals)
        counted = [signal for signal in self.signals if signal not in derived]
        ends = {"session": "min", "last session": "max"} if self.in_sessions and self.named else {}
        texts = {TEXT_NUMBER: "max"} if self.text_numbers else {}
        of_queries = [getattr(col(name), way)().alias(name) for name, way in texts.items()]
        of_queries += [getattr(col("session"), way)().alias(name) for name, way in ends.items()]
        of_events = [getattr(col("session"), way)().alias(name + TWICE) for name, way in ends.items()]
        of_events += [signal.counted().alias(signal.name + TWICE) for signal in counted if signal.of == "both"]
        keys = ["user", "query_id"]
        asked = [signal for signal in counted if signal.of != "events" and not (signal == START and ASKED in counted)]
        queries = self._grouped(self._queries(self.carried, number=bool(texts)), keys, asked, self.carried, *of_queries)
        if ASKED in counted:  # a query begins when it is asked
            queries = queries.with_columns(col(ASKED.name).alias(START.name))
        done = [signal for signal in counted if signal.of == "events"]
        events = self._grouped(self._events(), keys, done, (), *of_events)
        rows = self.log.engine.full_join(queries, events, keys)
        columns = [signal.joined(signal.name + TWICE) for signal in counted]
        columns += [Signal(name, way, lambda: lit(0), "both").joined(name + TWICE) for name, way in ends.items()]
        rows = self.log.engine.keep(rows.select(*keys, *columns, *self.carried, *texts))
        return rows.with_columns(**{signal.name: value for signal, value in derived.items()}) if derived else rows

    def with_sessions(self, signals: Sequence[Signal], carried: Sequence[str], users: Any = None) -> Any:
        """A row per user, query and stretch with some signals; `torn` marks queries that are cut.

        If the log names sessions, a row has its `session`.

        users: only the rows of these users, a frame.
        """
        texts = [TEXT_NUMBER] if self.text_numbers else []
        carried = [*carried]
        names = ["user", "query_id", *(signal.name for signal in signals), *carried, *texts]
        rows = self.whole if users is None else self.of_users(self.whole, users)
        rows = rows.select(*names, *(("session", "last session") if self.named else ()))
        torn = self.torn()
        unbroken = rows.filter(~torn).with_columns(torn=lit(False))
        if self._fetched(rows.select(torn=indicator(torn).sum()))["torn"]:
            columns = unbroken.collect_schema().names()
            unbroken = below([unbroken, self._cut(columns, signals, carried, users)])
        return unbroken.drop("last session") if self.named else unbroken

    def torn(self) -> Any:
        """Whether a row of `whole` may be in several sessions."""
        several = col("session") != col("last session") if self.named else col(END.name) - col(START.name) > self.micros
        return several.fill_null(False) | col("query_id").is_null()  # a query without a session is in one piece

    def texts_of(self, rows: Any) -> Any:
        """Rows of stretches with the text of their query; kept rows."""
        if self.text_numbers and not self._fetched(self.whole.filter(col(QUERIES.name) > 1).select(n=nw.len()))["n"]:
            return rows.join(self.numbered_texts, on=TEXT_NUMBER, how="left")
        # A query that was logged twice has the last text in the order of the alphabet
        asked = self._with_ids(self._queries(("text",)), self._ids(rows))
        texts = self._grouped(asked, ["user", "query_id"], (), ("text",))
        return self.log.engine.full_join(rows, texts, ["user", "query_id"]).filter(~col("torn").is_null())

    def of_users(self, rows: Any, keys: Any, on: Sequence[str] = ("user",)) -> Any:
        """The rows of some users, or of other keys, and those without a user: SQL does not join nulls."""
        known = rows.join(keys, on=[*on], how="semi")
        if not self.without_user:
            return known
        nobody, others = rows.filter(col("user").is_null()), [name for name in on if name != "user"]
        if others:
            nobody = nobody.join(keys.filter(col("user").is_null()).select(*others), on=others, how="semi")
        return below([known, nobody])

    @cached_property
    def without_user(self) -> int:
        """How many rows of `whole` have no user."""
        return self._fetched(self.whole.select(nobody=indicator(col("user").is_null()).sum()))["nobody"]

    def _ids(self, rows: Any) -> list[str] | None:
        """The ids of the queries in some rows; None if they are not few.

        Few ids can be looked for when the log is scanned, before times are read.
        """
        known = rows.filter(~col("query_id").is_null()).select("query_id").unique().head(FEW + 1)
        ids = self.log.engine.fetch(known)["query_id"].to_pylist()
        return ids if len(ids) <= FEW else None

    @cached_property
    def numbered_texts(self) -> Any:
        """The numbers of all texts of queries, and the texts, made comparable; kept."""
        rows = self._queries(("text",), number=True).select(TEXT_NUMBER, "text").filter(~col("text").is_null())
        texts = rows.group_by(TEXT_NUMBER).agg(col("text").max()).with_columns(text=normal_text("text"))
        return self.log.engine.keep(texts)

    def _derived(self, signals: Sequence[Signal]) -> dict[Signal, Any]:
        """Signals that follow from others, as each click has a rank."""
        there = [signal for signal in signals if signal in FROM_RANKED and FROM_RANKED[signal][0] in signals]
        if not there or self.totals[UNRANKED_CLICKS.name]:
            return {}
        return {signal: FROM_RANKED[signal][1]() for signal in there}

    @cached_property
    def _log(self) -> Log:
        return self.log if self.names_users else number_users(self.log)

    @property
    def _sizes(self) -> list[str]:
        return [PAGE_SIZE] if PAGE_SIZE in self.log.queries.columns else []

    def _queries(self, carried: Sequence[str], *, number: bool = False) -> Any:
        """The queries as activity, with columns to take along, and perhaps the number of their text."""
        names = ["user", "query_id", "time", "session", *carried, *self._sizes]
        rows = self._log.queries.with_columns(action=lit(QUERY)).select(*names, "action", *(["text"] if number else []))
        if not number:
            return rows
        engine = self.log.engine
        return engine.select(rows, {TEXT_NUMBER: engine.dialect.key(engine.quote("text"))}, add=True)

    def _events(self) -> Any:
        """The events as activity."""
        numbers = {"position": nw.Int64(), "value": nw.Float64(), "dwell": nw.Float64()}
        columns = (col(name).cast(dtype) for name, dtype in numbers.items())
        return self._log.events.select("user", "query_id", "time", "session", "action", *columns)

    def _activity(self, carried: Sequence[str], ids: Sequence[str] | None) -> Any:
        """Queries and events below one another, with columns of queries to take along; of some queries, or of all."""
        numbers = {"position": nw.Int64(), "value": nw.Float64(), "dwell": nw.Float64()}
        lacking = {name: nw.String() for name in carried} | {name: nw.Int64() for name in self._sizes}
        queries = self._queries(carried, number=self.text_numbers)
        queries = self._with_ids(queries, ids).with_columns(*_nulls(numbers))
        lacking |= {name: queries.collect_schema()[name] for name in queries.columns if name in ("text", TEXT_NUMBER)}
        events = self._with_ids(self._events(), ids)
        events = events.select(*events.columns, *_nulls(lacking))
        return below([queries, events.select(*queries.columns)])

    def _with_ids(self, activity: Any, ids: Sequence[str] | None) -> Any:
        """The activity without a query, and that of the queries with some ids; all of it without ids."""
        return activity if ids is None else self.log.engine.rows_with(activity, "query_id", ids)

    @cached_property
    def _torn_activity(self) -> Any:
        """Events without a query, and the activity of torn queries; kept."""
        parts = self.whole.filter(self.torn()).select("user", "query_id")
        ids = self._ids(parts)
        activity = self._activity([name for name in self.carried if name != "text"], ids)
        activity = activity if ids is None else self.log.engine.keep(activity)
        of_parts = self.of_users(activity, parts.filter(~col("query_id").is_null()), ["user", "query_id"])
        return self.log.engine.keep(below([activity.filter(col("query_id").is_null()), of_parts]))

    def _cut(self, columns: Sequence[str], signals: Sequence[Signal], carried: Sequence[str], users: Any) -> Any:
        """Events without a query, and those of torn queries, by stretch or by session."""
        chosen = self._torn_activity if users is None else self.of_users(self._torn_activity, users)
        texts = [col(TEXT_NUMBER).max()] if self.text_numbers else []
        stretch = col("time") // self.micros
        if self.named:
            chosen = chosen.with_columns(stretch=where(col("session").is_null(), stretch))
            rows = self._grouped(chosen, ["user", "query_id", "session", "stretch"], signals, carried, *texts)
            rows = rows.with_columns(col("session").alias("last session"))
        else:
            chosen = chosen.with_columns(stretch=stretch)
            rows = self._grouped(chosen, ["user", "query_id", "stretch"], signals, carried, *texts)
        if carried:  # all stretches of a query have the arm and the segments of the query
            rows = rows.with_columns(*(col(name).max().over("user", "query_id") for name in carried))
        return rows.with_columns(torn=lit(True)).select(*columns)

    @staticmethod
    def _grouped(
        activity: Any, keys: Sequence[str], signals: Sequence[Signal], carried: Sequence[str], *more: Any
    ) -> Any:
        """The signals of each group of rows; texts are made comparable."""
        counted = [signal.counted() for signal in signals]
        rows = activity.group_by(*keys).agg(*counted, *(col(name).max() for name in carried), *more)
        return rows.with_columns(text=normal_text("text")) if "text" in carried else rows


def _nulls(types: Mapping[str, Any]) -> Iterator[Any]:
    """Columns without a value."""
    return (nw.lit(None, dtype=dtype).alias(name) for name, dtype in types.items())


def below(frames: Sequence[Any]) -> Any:
    """Frames below one another."""
    return nw.concat(list(frames), how="vertical")


NEXT_START = "next start"
FOLLOWING = {TEXT_NUMBER: NEXT_NUMBER, START.name: NEXT_START}
"""What is needed of the next stretch of a session, for `mark_sessions`."""


@dataclass(frozen=True, eq=False)
class NextQueries:
    """The stretches of sessions by silence, each beside the next one of its session."""

    passed: Stretches
    marked: Any
    """Stretches, as `mark_sessions` returns them with what is `FOLLOWING`."""

    @cached_property
    def unsorted_users(self) -> Any:
        """The users whose rows are not in order, without the one that stands for rows without a user; None if none."""
        single = (col(QUERIES.name) == 1) & (col(START.name) == col(ASKED.name)) & ~self.passed.torn()
        odd = self.passed.whole.filter(~single).select("user")
        ties = self.marked.filter(col(NEXT_START) == col(START.name)).select("user")
        users = self.passed.log.engine.keep(below([odd, ties]).filter(~col("user").is_null()).unique())
        count = self.passed.log.engine.count(users)
        return users if count else None

    def queries(self, names: Sequence[str]) -> Any:
        """The queries of users whose rows are in order: some columns, the similarity, and which are first or last."""
        pair = [TEXT_NUMBER, NEXT_NUMBER]
        similarities = self._similarities(self.marked.filter(~col(NEXT_NUMBER).is_null()).select(*pair).unique())
        rows = self._in_order(self.marked.join(similarities, on=pair, how="left"))
        ends = {"first query": col(FIRST), "last query": col(LAST)}
        return rows.select(*names, "next similarity", **ends)

    def _in_order(self, rows: Any) -> Any:
        known = rows.filter(~col("user").is_null())
        return known if self.unsorted_users is None else known.join(self.unsorted_users, on="user", how="anti")

    def _similarities(self, pairs: Any) -> Any:
        """Pairs of numbers of texts with the similarity of the texts; kept."""
        texts, engine = self.passed.numbered_texts, self.passed.log.engine
        following = texts.select(col(TEXT_NUMBER).alias(NEXT_NUMBER), col("text").alias(NEXT_TEXT))
        rows = pairs.join(texts, on=TEXT_NUMBER, how="left").join(following, on=NEXT_NUMBER, how="left")
        return engine.keep(compare_texts(rows, engine).select(TEXT_NUMBER, NEXT_NUMBER, "next similarity"))
