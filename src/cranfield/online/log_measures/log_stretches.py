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

from cranfield.online.log_measures.expressions import col, indicator, lit
from cranfield.online.log_measures.log_signals import END, QUERY, SECOND, START, Signal
from cranfield.online.logs.log import Log
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

    def without_sessions(self) -> Any:
        """A row per user and query with the signals, and a row per user for events without a query."""
        return self._grouped(self._activity(), ["user", "query_id"])

    def with_sessions(self) -> Any:
        """A row per user, query and session with the signals; `torn` marks queries that are in several sessions."""
        import narwhals as nw

        activity = self._activity()
        ends = (col("session").min().alias("session"), col("session").max().alias("last session"))
        rows = self.log.engine.keep(self._grouped(activity, ["user", "query_id"], *(ends if self.named else ())))
        if self.named:
            torn = col("session") != col("last session")
        else:
            torn = col(END.name) - col(START.name) > self._silence
        torn = torn | col("query_id").is_null()
        whole = rows.filter(~torn).with_columns(torn=lit(False))
        parts = rows.filter(torn).select("user", "query_id")
        if self.log.engine.fetch(parts.select(nw.len().alias("n"))).to_pylist()[0]["n"]:
            whole = nw.concat([whole, self._cut(activity, parts, whole.collect_schema().names())], how="vertical")
        if self.named:
            return whole.drop("last session")
        return number_sessions(whole, self._silence, self.log.engine)

    def _activity(self) -> Any:
        """Queries and events below one another."""
        import narwhals as nw

        numbers = {"position": nw.Int64(), "value": nw.Float64(), "dwell": nw.Float64()}
        queries = self.log.queries.select(
            "user", "query_id", "time", "session", *self.carried,
            action=lit(QUERY),
            **{name: nw.lit(None, dtype=dtype) for name, dtype in numbers.items()},
        )  # fmt: skip
        events = self.log.events.select(
            "user", "query_id", "time", "session",
            *(nw.lit(None, dtype=nw.String()).alias(name) for name in self.carried),
            "action",
            *(col(name).cast(dtype) for name, dtype in numbers.items()),
        )  # fmt: skip
        return nw.concat([queries, events], how="vertical")

    def _cut(self, activity: Any, parts: Any, columns: Sequence[str]) -> Any:
        """Events without a query, and those of torn queries, by stretch or by session."""
        import narwhals as nw

        of_parts = activity.join(parts.filter(~col("query_id").is_null()), on=["user", "query_id"], how="semi")
        chosen = nw.concat([activity.filter(col("query_id").is_null()), of_parts], how="vertical")
        if self.named:
            rows = self._grouped(chosen, ["user", "query_id", "session"])
            rows = rows.with_columns(col("session").alias("last session"))
        else:
            chosen = chosen.with_columns(stretch=col("time") // self._silence)
            rows = self._grouped(chosen, ["user", "query_id", "stretch"])
        return rows.with_columns(torn=lit(True)).select(*columns)

    def _grouped(self, activity: Any, keys: Sequence[str], *more: Any) -> Any:
        signals = (signal.counted() for signal in self.signals)
        return activity.group_by(*keys).agg(*signals, *(col(name).max() for name in self.carried), *more)


def number_sessions(rows: Any, silence: int, engine: Any) -> Any:
    """Stretches of activity with the number of the user's session: a new one begins after a longer silence.

    A stretch begins a session if all earlier ones of the user ended too long before. The order is total as far as it
    matters: stretches that begin and end together are in the same session.
    """
    user, start, end = (engine.quote(name) for name in ("user", START.name, END.name))
    earlier = f"PARTITION BY {user} ORDER BY {start}, {end} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    rows = engine.select(rows, {"before": f"MAX({end}) OVER ({earlier})"}, add=True)
    rows = rows.with_columns(same=indicator(col(START.name) - col("before") <= silence))
    order = [START.name, END.name, "same"]
    return rows.with_columns(session=(1 - col("same")).cum_sum().over("user", order_by=order)).drop("before", "same")
