"""The rows that online measures add up: queries, sessions and users, from one pass over the events of a log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cranfield import check
from cranfield.check import nearest
from cranfield.online.log_measures.expressions import col, lit, where
from cranfield.online.log_measures.local_time import DAY, HOUR, UTC, check_timezone, local_micros, local_time
from cranfield.online.log_measures.log_signals import (
    ACTIONS,
    ASKED,
    END,
    PAGES,
    QUERIES,
    SESSION_TIME,
    SESSIONS,
    START,
    Signal,
    shown_within,
)
from cranfield.online.log_measures.log_stretches import Stretches
from cranfield.online.log_measures.online_measure import OnlineMeasure
from cranfield.online.log_measures.query_texts import NEXT_QUERY, add_repeats, add_similarity, add_words
from cranfield.online.log_measures.shown_documents import add_shown
from cranfield.online.logs.log import PAGE_SIZE, Log
from cranfield.online.logs.sessions import SILENCE, WAYS, assign_sessions

OF_TIME = ("day", "hour")
"""Groups by time: the day, and the hour of the day."""
NONE = "(none)"
"""The group of queries that have no value in a column of the log."""
SESSION_WAYS = ("auto", *WAYS)
"""How sessions are found; `auto`: as the log names them if it does so for every query, or else by silence."""
ALWAYS = (QUERIES, START, END, ASKED)
"""Signals of all rows, if they are counted."""
TEXTUAL = frozenset({"similarity", "repeats", "words"})
"""Needs that the texts of queries answer."""
OF_SESSIONS = (SESSIONS, SESSION_TIME)
"""Signals of sessions: those of a user come from the user's sessions."""


@dataclass(frozen=True, eq=False)
class LogRows:
    """The rows of a log for some measures, as lazy frames. `by` are the columns of the groups."""

    log: Log
    measures: tuple[OnlineMeasure, ...]
    by: tuple[str, ...] = ()
    sessions_by: str = "auto"
    silence: float = SILENCE
    names_users: bool = True
    """Whether users keep their names; numbers are faster."""
    timezone: str = UTC
    """The time zone of days and hours."""

    def __post_init__(self) -> None:
        check.positive("sessions", silence=self.silence)
        check.one_of("sessions", SESSION_WAYS, by=self.sessions_by)
        if self.sessions_by == "continuity" and "sessions" in self.needs:
            object.__setattr__(self, "log", assign_sessions(self.log, by="continuity", silence=self.silence))
        check_timezone(self.timezone)
        known = (*OF_TIME, "arm", *self.log.segments)
        for name in self.by:
            if name not in known:
                raise nearest(name, known, "column of the log")

    @cached_property
    def needs(self) -> frozenset[str]:
        """What the measures need, all together."""
        return frozenset().union(*(measure.needs for measure in self.measures))

    @cached_property
    def signals(self) -> tuple[Signal, ...]:
        """What is counted in the pass over the events."""
        always = [QUERIES, START, ACTIONS]
        always += [END] if self.needs & {"sessions", "history", "absence", "days"} else []
        always += [ASKED] if self.needs & {"similarity", "repeats"} else []
        wanted = [signal for measure in self.measures for signal in measure.signals()]
        wanted += self._pages(self.measures)
        return tuple(dict.fromkeys(signal for signal in (*always, *wanted) if signal not in OF_SESSIONS))

    def _pages(self, measures: Iterable[OnlineMeasure]) -> list[Signal]:
        """How many documents are shown, counted with the events, if the length of each list is known."""
        if "expected" in self.needs or PAGE_SIZE not in self.log.queries.collect_schema().names():
            return []
        cutoffs = [getattr(measure, "k", None) for measure in measures if "shown" in measure.needs]
        return [PAGES if k is None else shown_within(k) for k in cutoffs]

    @property
    def _carried(self) -> tuple[str, ...]:
        """Columns of queries that are taken along: groups, and the text if it matters."""
        texts = ("text",) if self.needs & TEXTUAL else ()
        return (*(name for name in self.by if name not in OF_TIME), *texts)

    @cached_property
    def passed(self) -> Stretches:
        """The pass over the log."""
        way = "given" if self.sessions_by == "continuity" else self.sessions_by
        in_sessions = "sessions" in self.needs
        needed = [each.signal for measure in self.measures for each in measure.evidence()]
        evidence = tuple(dict.fromkeys(signal for signal in needed if signal is not None))
        return Stretches(
            self.log, self.signals, self._carried, self.silence, way, in_sessions, self.names_users, evidence
        )

    @cached_property
    def whole(self) -> Any:
        """A row per user and query, with the signals and the groups."""
        return self._with_groups(self.passed.whole)

    @cached_property
    def stretches(self) -> Any:
        """A row per user, query and session, with the groups and the signals that need sessions."""
        if "sessions" not in self.needs:
            return self.whole
        measures = [measure for measure in self.measures if measure.rows != "queries" or "sessions" in measure.needs]
        signals = self._signals_of(measures)
        texts = ("text",) if any(measure.needs & TEXTUAL for measure in measures) else ()
        carried = tuple(name for name in self._carried if name != "text") + texts
        rows = self._with_groups(self.passed.with_sessions(signals, carried), keep=False)
        # Rows with their next queries are kept already
        return rows if NEXT_QUERY in rows.collect_schema().names() and not self.by else self.log.engine.keep(rows)

    def _with_groups(self, rows: Any, keep: bool = True) -> Any:
        """The rows with the columns of the groups; kept if there are any."""
        columns = {name: col(name) for name in self._carried if name != "text"}
        columns = {name: value.fill_null(value.min().over("user")).fill_null(NONE) for name, value in columns.items()}
        if any(name in self.by for name in OF_TIME):
            time = local_time(col(START.name), self.timezone, *self.starts)
            of_time = {"day": time // DAY, "hour": time // HOUR % 24}
            columns |= {name: of_time[name] for name in OF_TIME if name in self.by}
        if not columns:
            return rows
        rows = rows.with_columns(**columns)
        return self.log.engine.keep(rows) if keep else rows

    @cached_property
    def queries(self) -> Any:
        """A row per query, with its signals; events of no query of the log and queries without an id are left out."""
        return self._queries([measure for measure in self.measures if measure.rows == "queries"])

    def _queries(self, measures: Sequence[OnlineMeasure]) -> Any:
        """The queries with what these measures need."""
        import narwhals as nw

        needs = frozenset().union(*(measure.needs for measure in measures))
        rows = self.whole
        if "sessions" in needs:
            rows = self.stretches
        if "sessions" in needs and NEXT_QUERY not in rows.collect_schema().names():  # else no query is torn
            session = where(col(QUERIES.name) > 0, col("session")).min().alias("session")
            torn = rows.filter(col("torn") & ~col("query_id").is_null())
            combined = self._combined(measures, text=bool(needs & TEXTUAL), of_query=True)
            mended = torn.group_by("user", "query_id").agg(*combined, session)
            names = mended.collect_schema().names()
            rows = nw.concat([rows.filter(~col("torn")).select(*names), mended], how="vertical")
        rows = rows.filter(col(QUERIES.name) > 0, ~col("query_id").is_null())
        if "similarity" in needs:
            rows = add_similarity(rows, self.log.engine)
        if "repeats" in needs:
            rows = add_repeats(rows)
        if "words" in needs:
            rows = add_words(rows, self.log.engine)
        if pages := self._pages(measures):
            rows = rows.with_columns(*(col(signal.name).fill_null(0.0) for signal in pages))
        elif "shown" in needs:
            cutoffs = sorted({k for measure in measures if (k := getattr(measure, "k", None))})
            rows = add_shown(rows, self.log, cutoffs, expected="expected" in needs)
        return rows

    @cached_property
    def sessions(self) -> Any:
        """A row per session, with its signals. Its groups are those of its first day, and of its lowest arm."""
        measures = [measure for measure in self.measures if measure.rows == "sessions"]
        rows = self.stretches.group_by("user", "session").agg(*self._combined(measures))
        rows = rows.with_columns(**{signal.name: signal.of_row() for signal in OF_SESSIONS})
        if "absence" in self.needs:
            before = col(END.name).shift(1).over("user", order_by=[START.name, "session"])
            rows = rows.with_columns(absence=col(START.name) - before)
        return self.log.engine.keep(rows) if measures and self._users_have_sessions else rows

    @property
    def _users_have_sessions(self) -> bool:
        """Whether a measure of users counts their sessions."""
        return any(signal in OF_SESSIONS for measure in self.measures for signal in measure.signals())

    @cached_property
    def users(self) -> Any:
        """A row per user and group, with its signals."""
        measures = [measure for measure in self.measures if measure.rows == "users"]
        signals = (signal.combined() for signal in self._signals_of(measures))
        rows = self.stretches.group_by("user", *self.by).agg(*signals)
        if self._users_have_sessions:
            sums = (signal.combined() for signal in OF_SESSIONS)
            rows = rows.join(self.sessions.group_by("user", *self.by).agg(*sums), on=["user", *self.by], how="left")
            rows = rows.with_columns(*(col(signal.name).fill_null(0) for signal in OF_SESSIONS))
        if "history" in self.needs:
            ends = self.stretches.group_by("user").agg(
                col(START.name).min().alias("user first"), col(END.name).max().alias("user last")
            )
            rows = rows.join(ends, on="user", how="left").with_columns(lit(self.span[1]).alias("log end"))
        if "days" in self.needs:
            first, last = (local_micros(time, self.timezone) // DAY for time in self.span)
            days = 1 if "day" in self.by else last - first + 1
            rows = rows.with_columns(lit(days).alias("days"))
        return rows

    @cached_property
    def per_user(self) -> Any:
        """A row per user and group: the sums above and below the line of each measure (see `sum_names`)."""
        import narwhals as nw

        rows = self.stretches.group_by("user", *self.by).agg(nw.len().alias("stretches")).drop("stretches")
        parts: dict[tuple[str, bool], list[OnlineMeasure]] = {}
        for measure in self.measures:
            # Queries that need no sessions are not sorted into them
            in_sessions = measure.rows == "queries" and "sessions" in measure.needs
            parts.setdefault((measure.rows, in_sessions), []).append(measure)
        for (kind, _), measures in parts.items():
            terms = {
                name: expression.cast(nw.Float64())
                for measure in measures
                for name, expression in zip(sum_names(measure), measure.terms(), strict=True)
            }
            frame = self._queries(measures) if kind == "queries" else getattr(self, kind)
            sums = (col(name).sum() for name in terms)
            totals = frame.select("user", *self.by, **terms).group_by("user", *self.by).agg(*sums)
            rows = rows.join(totals, on=["user", *self.by], how="left")
        names = [name for measure in self.measures for name in sum_names(measure)]
        return self.log.engine.keep(rows.with_columns(*(col(name).fill_null(0.0) for name in names)))

    @cached_property
    def starts(self) -> tuple[int, int]:
        """The earliest and the latest time at which a query or an event without a query begins; UTC needs none."""
        if self.timezone == UTC:
            return (0, 0)
        start = col(START.name)
        ends = self.passed.whole.select(start.min().alias("low"), start.max().alias("high"))
        row = self.log.engine.fetch(ends).to_pylist()[0]
        return (row["low"], row["high"]) if row["low"] is not None else (0, 0)

    @cached_property
    def span(self) -> tuple[int, int]:
        """The times of the first and of the last action of the log, in microseconds; 0 and 0 if it is empty."""
        ends = self.stretches.select(col(START.name).min().alias("low"), col(END.name).max().alias("high"))
        row = self.log.engine.fetch(ends).to_pylist()[0]
        return (row["low"], row["high"]) if row["low"] is not None else (0, 0)

    def _signals_of(self, measures: Sequence[OnlineMeasure]) -> tuple[Signal, ...]:
        """The signals that some measures need."""
        wanted = {signal for measure in measures for signal in measure.signals()} | set(self._pages(measures))
        return tuple(signal for signal in self.signals if signal in wanted or signal in ALWAYS)

    def _combined(
        self, measures: Sequence[OnlineMeasure], *, text: bool = False, of_query: bool = False
    ) -> Iterable[Any]:
        """Signals and groups of several stretches together; those of a query have the groups in which it was asked."""
        yield from (signal.combined() for signal in self._signals_of(measures))
        if text:
            yield col("text").max()
        for name in self.by:
            value = col(name)
            yield (where(col(QUERIES.name) > 0, value) if of_query and name != "day" else value).min().alias(name)


def sum_names(measure: OnlineMeasure) -> tuple[str, str]:
    """The columns of `LogRows.per_user` that hold the sums of a measure above and below the line.

    Spark reads a dot in a name as a path, so names have only letters, digits, hyphens and underscores.

    >>> from cranfield.online.log_measures import parse_online
    >>> sum_names(parse_online("CTR@5"))
    ('CTR_5_numerator', 'CTR_5_denominator')
    """
    name = re.sub(r"[^\w-]+", "_", str(measure)).strip("_")
    return f"{name}_numerator", f"{name}_denominator"


def check_by(by: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns to group by, each once."""
    names = (by,) if isinstance(by, str) else tuple(by or ())
    return tuple(dict.fromkeys(names))
