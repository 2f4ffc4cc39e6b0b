"""The rows that online measures add up, from one pass over a log: queries, sessions and users; also rows of users."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cranfield import check
from cranfield.check import nearest
from cranfield.online.expressions import col, indicator, lit, nw, where
from cranfield.online.log_measures.document_level import add_shown, clicks_on_shown
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
from cranfield.online.log_measures.log_stretches import FOLLOWING, NextQueries, Stretches, below
from cranfield.online.log_measures.online_measure import OnlineMeasure, parse_online_many
from cranfield.online.log_measures.query_level import TEXT_NUMBER, add_repeats, add_similarity, add_words
from cranfield.online.logs.check_log import BOT_EVENTS
from cranfield.online.logs.local_time import DAY, HOUR, UTC_ZONE, check_timezone, local_micros, local_time
from cranfield.online.logs.log import PAGE_SIZE, Log
from cranfield.online.logs.sessions import (
    SILENCE,
    WAYS,
    assign_sessions,
    mark_sessions,
    parts_of_sessions,
    whole_sessions,
    with_event_sessions,
)

OF_TIME = ("day", "hour")
"""Groups by time: the day, and the hour of the day."""
NONE = "(none)"
"""The group of queries that have no value in a column of the log."""
ALWAYS = (QUERIES, START, END, ASKED)
"""Signals of all rows, if they are counted."""
OF_STRETCHES = (QUERIES, START, END)
"""Signals of stretches and of sessions by silence."""
TEXTUAL = frozenset({"repeats", "words"})
"""Needs that the texts of queries answer; `similarity` needs the texts of few of them."""
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
    timezone: str = UTC_ZONE
    """The time zone of days and hours."""

    def __post_init__(self) -> None:
        check.positive("sessions", silence=self.silence)
        check.one_of("sessions", WAYS, by=self.sessions_by)
        if self.sessions_by == "continuity" and "sessions" in self.needs:
            object.__setattr__(self, "log", assign_sessions(self.log, by="continuity", silence=self.silence))
        elif self.sessions_by == "given" and "sessions" in self.needs:
            object.__setattr__(self, "log", with_event_sessions(self.log))
        check_timezone(self.timezone)
        known = (*OF_TIME, "arm", *self.log.segments)
        for name in self.by:
            if name not in known:
                raise nearest(name, known, "column of the log")

    @cached_property
    def needs(self) -> frozenset[str]:
        """What the measures need, all together."""
        return frozenset().union(*(measure.needs for measure in self.measures))

    @property
    def in_stretches(self) -> bool:
        """Whether queries are cut into stretches: for sessions, and for what users do on each day or in each hour."""
        of_users = any(measure.rows == "users" for measure in self.measures)
        return "sessions" in self.needs or (of_users and self._of_time)

    @property
    def _of_time(self) -> bool:
        return any(name in self.by for name in OF_TIME)

    @cached_property
    def signals(self) -> tuple[Signal, ...]:
        """What is counted in the pass over the events."""
        always = [QUERIES, START, ACTIONS]
        always += [END] if self.in_stretches or self.needs & {"history", "absence", "days"} else []
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
        needed = [each for measure in self.measures for each in measure.evidence()]
        evidence = tuple(dict.fromkeys(each.signal for each in needed if each.signal is not None))
        texts = any(each.signal is None for each in needed)
        return Stretches(
            self.log, self.signals, self._carried, self.silence, way, self.in_stretches, self.names_users, evidence,
            texts, "similarity" in self.needs,
        )  # fmt: skip

    @cached_property
    def whole(self) -> Any:
        """A row per user and query, with the signals and the groups."""
        return self._with_groups(self.passed.whole)

    @cached_property
    def stretches(self) -> Any:
        """A row per user, query and stretch, with the groups and the signals that need sessions; kept.

        If the log names sessions, rows have their `session`; or else, whether they are its first and last ones.
        """
        if not self.in_stretches:
            return self.whole
        measures = [measure for measure in self.measures if measure.rows != "queries" or "sessions" in measure.needs]
        groups = [name for name in self._carried if name != "text"]
        rows = self._with_groups(self.passed.with_sessions(self._signals_of(measures), groups), keep=False)
        if self.passed.named:
            return self.log.engine.keep(rows)
        numbers = [TEXT_NUMBER] if self.passed.text_numbers else []
        names = ["user", *(signal.name for signal in self._signals_of(measures, OF_STRETCHES)), *self.by, *numbers]
        following = FOLLOWING if self.passed.text_numbers else {}
        return mark_sessions(rows.select(*names), self.passed.micros, self.log.engine, following)

    def _with_groups(self, rows: Any, keep: bool = True) -> Any:
        """The rows with the columns of the groups; kept if there are any."""
        columns = {name: col(name) for name in self._carried if name != "text"}
        columns = {name: value.fill_null(value.min().over("user")).fill_null(NONE) for name, value in columns.items()}
        rows = self._with_times(rows.with_columns(**columns) if columns else rows)
        return self.log.engine.keep(rows) if keep and self.by else rows

    def _with_times(self, rows: Any) -> Any:
        """The rows with the day and the hour at which they start, if these are groups."""
        if not self._of_time:
            return rows
        time = local_time(col(START.name), self.timezone, *self.starts)
        of_time = {"day": time // DAY, "hour": time // HOUR % 24}
        return rows.with_columns(**{name: of_time[name] for name in OF_TIME if name in self.by})

    @cached_property
    def queries(self) -> Any:
        """A row per query, with its signals; events of no query of the log and queries without an id are left out."""
        return self._queries([measure for measure in self.measures if measure.rows == "queries"])

    def _queries(self, measures: Sequence[OnlineMeasure]) -> Any:
        """The queries with what these measures need."""
        needs = frozenset().union(*(measure.needs for measure in measures))
        rows = self._in_sessions(measures, needs) if "sessions" in needs else self.whole
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
            rows = add_shown(rows, self.log, cutoffs, clicks=self.clicks_on_shown if "expected" in needs else None)
        return rows

    @cached_property
    def clicks_on_shown(self) -> Any:
        """The clicks on documents that were shown; kept."""
        return clicks_on_shown(self.log)

    def _in_sessions(self, measures: Sequence[OnlineMeasure], needs: frozenset[str], users: Any = None) -> Any:
        """A row per user and query with its session, and rows of other events; of some users, or of all."""
        text = bool(needs & (TEXTUAL | {"similarity"}))
        groups = [name for name in self._carried if name != "text"]
        rows = self.passed.with_sessions(self._signals_of(measures), groups, users)
        rows = self.passed.texts_of(self.log.engine.keep(rows)) if text else rows
        rows = self._with_groups(rows, keep=False)
        if not self.passed.named:
            marked = mark_sessions(rows, self.passed.micros, self.log.engine)
            parts = parts_of_sessions(marked, self.log.engine)
            rows = below([whole_sessions(marked).select(*parts.columns), parts])
        rows = self.log.engine.keep(rows)
        session = where(col(QUERIES.name) > 0, col("session")).min().alias("session")
        torn = rows.filter(col("torn") & ~col("query_id").is_null())
        combined = [*self._combined(measures, text=text), *(col(name).min() for name in groups)]
        mended = self._with_times(torn.group_by("user", "query_id").agg(*combined, session))
        rows = below([rows.filter(~col("torn")).select(*mended.columns), mended])
        return rows.filter(~col("session").is_null()) if self.passed.named else rows

    def _compared(self, measures: Sequence[OnlineMeasure]) -> Any:
        """Queries with the similarity to the next one of their session: users, groups and what these measures need."""
        names = ["user", *self.by, *(signal.name for signal in self._signals_of(measures, OF_STRETCHES))]
        next_queries = NextQueries(self.passed, self.stretches)
        rows = next_queries.queries(names)
        users = next_queries.unsorted_users
        if users is None and not self.passed.without_user:
            return rows
        users = self.stretches.select("user").head(0) if users is None else users
        needs = frozenset({"sessions", "similarity"})
        others = self._in_sessions(measures, needs, users).filter(col(QUERIES.name) > 0, ~col("query_id").is_null())
        return below([rows, add_similarity(others, self.log.engine).select(*rows.columns)])

    @cached_property
    def sessions(self) -> Any:
        """A row per session, with its signals. Its groups are those of `_sessions_of`."""
        measures = [measure for measure in self.measures if measure.rows == "sessions"]
        combined = list(self._combined(measures, always=OF_STRETCHES))
        if self.passed.named:
            rows = self._sessions_of(self.stretches.filter(~col("session").is_null()), combined)
        else:  # most stretches are a session already
            parts = self._sessions_of(parts_of_sessions(self.stretches, self.log.engine), combined)
            rows = below([whole_sessions(self.stretches).select(*parts.columns), parts])
        rows = rows.with_columns(**{signal.name: signal.of_row() for signal in OF_SESSIONS})
        if "absence" in self.needs:
            before = col(END.name).shift(1).over("user", order_by=[START.name, "session"])
            rows = rows.with_columns(absence=col(START.name) - before)
        return rows

    @cached_property
    def _session_sums(self) -> Any:
        """A row per user and group: sums over sessions, of the terms of measures and of `OF_SESSIONS`."""
        terms = self._terms([measure for measure in self.measures if measure.rows == "sessions"])
        names = [signal.name for signal in OF_SESSIONS] if self._users_have_sessions else []
        rows = self.sessions.select("user", *self.by, *names, **terms).group_by("user", *self.by)
        rows = rows.agg(*(col(name).sum() for name in (*names, *terms)))
        return self.log.engine.keep(rows) if names and terms else rows

    def _sessions_of(self, stretches: Any, combined: Sequence[Any]) -> Any:
        """Stretches combined into sessions.

        A session is in one of the groups that its stretches have: of those at the day and hour at which it begins, the
        first in the alphabet. Day, arm and segments are not chosen one by one, or the user might not be in the group.
        """
        keys, chosen = ["user", "session"], lit(True)
        groups = sorted(name for name in self.by if name not in OF_TIME)
        order = [*groups]
        if groups and self._of_time:
            time = local_time(col(START.name), self.timezone, *self.starts)
            time = time // (HOUR if "hour" in self.by else DAY)
            stretches = stretches.with_columns(time.alias("moment of start"))
            order = ["moment of start", *groups]
        for name in order[:-1]:
            stretches = stretches.with_columns(where(chosen, col(name)).min().over(*keys).alias(f"first {name}"))
            chosen = chosen & (col(name) == col(f"first {name}"))
        first = [where(chosen, col(name)).min().alias(name) for name in groups]
        return self._with_times(stretches.group_by(*keys).agg(*combined, *first))

    @property
    def _users_have_sessions(self) -> bool:
        """Whether a measure of users counts their sessions."""
        return any(signal in OF_SESSIONS for measure in self.measures for signal in measure.signals())

    @property
    def _every_user_has_sessions(self) -> bool:
        """Whether each user of each group has a session in it; not so if rows have no user, or may have no session."""
        return "sessions" in self.needs and not self.by and not (self.passed.named or self.passed.without_user)

    @cached_property
    def users(self) -> Any:
        """A row per user and group, with its signals."""
        measures = [measure for measure in self.measures if measure.rows == "users"]
        signals = [signal.combined() for signal in self._signals_of(measures, ())]
        sums = [signal.name for signal in OF_SESSIONS]
        if self._users_have_sessions and not signals and self._every_user_has_sessions:
            rows = self._session_sums.select("user", *sums)
        else:
            rows = self.stretches.group_by("user", *self.by).agg(*signals, nw.len().alias("stretches"))
        if self._users_have_sessions and SESSIONS.name not in rows.columns:
            keys = ["user", *self.by]
            rows = self._beside(rows, self._session_sums.select(*keys, *sums), keys)
            rows = rows.with_columns(*(col(signal.name).fill_null(0) for signal in OF_SESSIONS))
        if "history" in self.needs:
            ends = self.stretches.group_by("user").agg(
                col(START.name).min().alias("user first"), col(END.name).max().alias("user last")
            )
            rows = self._beside(rows, ends, ["user"]).with_columns(lit(self.span[1]).alias("log end"))
        if "days" in self.needs:
            first, last = (local_micros(time, self.timezone) // DAY for time in self.span)
            days = 1 if "day" in self.by else last - first + 1
            rows = rows.with_columns(lit(days).alias("days"))
        return rows

    @cached_property
    def per_user(self) -> Any:
        """A row per user and group: the sums above and below the line of each measure (see `sum_names`)."""
        rows: Any = None
        parts: dict[tuple[str, bool], list[OnlineMeasure]] = {}
        for measure in self.measures:
            # Queries that need no sessions are not sorted into them
            in_sessions = measure.rows == "queries" and "sessions" in measure.needs
            parts.setdefault((measure.rows, in_sessions), []).append(measure)
        if not (("sessions", False) in parts and self._every_user_has_sessions):
            rows = self.stretches.group_by("user", *self.by).agg(nw.len().alias("stretches")).drop("stretches")
        # The users of sessions are all users
        for (kind, _), measures in sorted(parts.items(), key=lambda part: part[0][0] != "sessions"):
            terms = self._terms(measures)
            if kind == "sessions":
                totals = self._session_sums.select("user", *self.by, *terms)
            elif kind == "users":
                totals = self.users.select("user", *self.by, **terms)
            else:
                totals = self._rows_of_queries(measures).select("user", *self.by, **terms)
                totals = totals.group_by("user", *self.by).agg(*(col(name).sum() for name in terms))
            rows = totals if rows is None else self._beside(rows, totals, ["user", *self.by])
        names = [name for measure in self.measures for name in sum_names(measure)]
        return self.log.engine.keep(rows.select("user", *self.by, *(col(name).fill_null(0.0) for name in names)))

    def _beside(self, rows: Any, others: Any, on: list[str]) -> Any:
        """Rows with the columns of others that have the same user; rows without a user are one user, and join too."""
        if self.passed.without_user:
            return self.log.engine.full_join(rows, others, on)
        return rows.join(others, on=on, how="left")

    @staticmethod
    def _terms(measures: Iterable[OnlineMeasure]) -> dict[str, Any]:
        """What a row adds to the sums of some measures, by the name of the sum."""
        return {
            name: expression.cast(nw.Float64())
            for measure in measures
            for name, expression in zip(sum_names(measure), measure.terms(), strict=True)
        }

    def _rows_of_queries(self, measures: Sequence[OnlineMeasure]) -> Any:
        """The queries that some measures add up."""
        needs = frozenset().union(*(measure.needs for measure in measures))
        compares = needs == {"sessions", "similarity"} and not self.passed.named
        return self._compared(measures) if compares else self._queries(measures)

    @cached_property
    def starts(self) -> tuple[int, int]:
        """Times before and after which no query, stretch or session begins; UTC needs none."""
        if self.timezone == UTC_ZONE:
            return (0, 0)
        last = END if END in self.signals else START
        ends = self.passed.whole.select(col(START.name).min().alias("low"), col(last.name).max().alias("high"))
        row = self.log.engine.row(ends)
        return (row["low"], row["high"]) if row["low"] is not None else (0, 0)

    @cached_property
    def span(self) -> tuple[int, int]:
        """The times of the first and of the last action of the log, in microseconds; 0 and 0 if it is empty."""
        ends = self.stretches.select(col(START.name).min().alias("low"), col(END.name).max().alias("high"))
        row = self.log.engine.row(ends)
        return (row["low"], row["high"]) if row["low"] is not None else (0, 0)

    def _signals_of(self, measures: Sequence[OnlineMeasure], always: Sequence[Signal] = ALWAYS) -> tuple[Signal, ...]:
        """The signals that some measures need, and those that are always counted."""
        wanted = {signal for measure in measures for signal in measure.signals()} | set(self._pages(measures))
        return tuple(signal for signal in self.signals if signal in wanted or signal in always)

    def _combined(
        self, measures: Sequence[OnlineMeasure], *, text: bool = False, always: Sequence[Signal] = ALWAYS
    ) -> Iterable[Any]:
        """Signals of several stretches together, and the text."""
        yield from (signal.combined() for signal in self._signals_of(measures, always))
        if text:
            yield col("text").max()


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


def doubtful_rows(rows: LogRows, bot_events: int = BOT_EVENTS, leave_out: Sequence[str] = ()) -> list[str]:
    """Notes on users with too many actions to be people, on events without their query, and on missing ids.

    leave_out: what is not to be told: `bots`, `strays`, `nobody` or `nameless`.

    `check_log` looks for everything that can be wrong in a log; these can be counted without another scan of it.
    """
    actions = col(ACTIONS.name)
    strays = rows.whole.select(
        strays=where(~col("query_id").is_null() & (col(QUERIES.name) == 0), actions).sum(),
        nameless=where(col("query_id").is_null(), col(QUERIES.name)).sum(),
        nobody=where(col("user").is_null(), actions).sum(),
    )
    users = rows.whole.filter(~col("user").is_null()).group_by("user").agg(actions.sum())
    bots = users.select(bots=indicator(actions >= bot_events).sum())
    fetch = rows.log.engine.fetch
    numbers: dict[str, Any] = {**fetch(strays).to_pylist()[0], **fetch(bots).to_pylist()[0]}
    kinds = {
        "bots": f"users with {bot_events:,} queries and events or more, perhaps bots, are in these numbers",
        "strays": "events of queries that are not in the log, or that another user asked, count for no query",
        "nobody": "queries and events without a user count as those of one user",
        "nameless": "queries without an id are left out of measures of queries",
    }
    return [
        f"{meaning}: {int(numbers[kind]):,}"
        for kind, meaning in kinds.items()
        if kind not in leave_out and numbers[kind]
    ]


@dataclass(frozen=True, eq=False)
class UserSums:
    """A lazy frame with a row per user and group, and the columns of each measure in it."""

    frame: Any
    """The columns `user`, those of the groups, and two per measure; kept by the engine."""
    sums: dict[str, tuple[str, str]]
    """{measure: (column above the line, column below the line)}. The value is the ratio of the sums over users."""

    def ratio(self, measure: str) -> str:
        """A measure as `ab analyse` names a ratio of two columns: `above/below`."""
        return "/".join(self.sums[measure])


def per_user(
    log: Log,
    measures: Iterable[str | OnlineMeasure],
    *,
    by: str | Sequence[str] | None = "arm",
    sessions: str = "auto",
    silence: float = SILENCE,
    timezone: str = UTC_ZONE,
) -> UserSums:
    """The sums of each user above and below the line of each measure, with a row per user and arm.

    timezone: that of days and hours, if `by` has them.
    A user in two arms has two rows. An event without a query counts for the arm of the user's queries.

    >>> from cranfield.online.logs import simulate_log
    >>> users = per_user(simulate_log(users=20, days=2, seed=1), ["CTR@5", "revenue"])
    >>> users.sums["CTR@5"]
    ('CTR_5_numerator', 'CTR_5_denominator')
    >>> users.frame.collect_schema().names()[:2]
    ['user', 'arm']
    """
    rows = LogRows(log, parse_online_many(measures), check_by(by), sessions, silence, timezone=timezone)
    return UserSums(rows.per_user, {str(measure): sum_names(measure) for measure in rows.measures})
