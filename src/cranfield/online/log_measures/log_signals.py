"""Signals: what is counted in the events of a query, in one pass over the log.

Every signal is a sum, a minimum or a maximum. So the signals of a session follow from those of its queries, and those
of a user from those of the sessions, without another pass over the events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cranfield.online.expressions import col, lit, nw, where
from cranfield.online.logs.log import PAGE_SIZE

SECOND = 1_000_000
"""Times are whole microseconds."""
QUERY = "query"
"""The action of the row that stands for the query itself."""
RANKS = 4096
"""A click's time and rank share one whole number, to find the rank of the first click; lower ranks count as this."""
CLICK_EPOCH = 946_684_800 * SECOND
"""2000-01-01: times are counted from here in that number, so that it fits into 64 bits until 2071."""


@dataclass(frozen=True)
class Signal:
    """A number per query: the name of its column, how rows are combined, and what a row of the log adds.

    Two signals with the same name are the same signal.
    """

    name: str
    combine: str
    """`count` (rows with a value), `sum`, `min` or `max`. Counts of several groups are added up."""
    of_row: Callable[[], nw.Expr]
    of: str = "events"
    """The rows that it counts: `queries`, `events` or `both`."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signal) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def counted(self) -> nw.Expr:
        """The signal of a group of rows of the log."""
        combined: nw.Expr = getattr(self.of_row(), self.combine)()
        return combined.alias(self.name)

    def combined(self) -> nw.Expr:
        """The signal of several groups together, from the signal of each."""
        each = col(self.name)
        if self.combine == "count":
            return each.sum().cast(nw.Int64()).alias(self.name)
        combined: nw.Expr = getattr(each, self.combine)()
        return combined.alias(self.name)

    def joined(self, other: str) -> nw.Expr:
        """The signal of a query, from that of its rows in one table and, in the column `other`, in the other table."""
        first, second = col(self.name), col(other)
        if self.combine in ("count", "sum"):
            zero = 0 if self.combine == "count" else 0.0
            total = first.fill_null(zero)
            return (total + second.fill_null(zero) if self.of == "both" else total).alias(self.name)
        if self.of != "both":
            return first
        together = nw.min_horizontal if self.combine == "min" else nw.max_horizontal
        return together(first, second).alias(self.name)


def _action(name: str) -> nw.Expr:
    return col("action") == name


def _name(text: str) -> str:
    """The name of a column; Spark reads a dot in it as a path."""
    return text.replace(".", "_")


def count_of(action: str) -> Signal:
    """How many events of a kind there are."""
    of = "queries" if action == QUERY else "events"
    return Signal(_name(f"n {action}"), "count", lambda: where(_action(action), lit(1)), of)


def value_of(action: str) -> Signal:
    """The sum of the values of events of a kind, such as the revenue of conversions."""
    return Signal(_name(f"value {action}"), "sum", lambda: where(_action(action), col("value")))


def clicks_within(k: int) -> Signal:
    """Clicks at rank k or above."""
    return Signal(f"clicks @{k}", "count", lambda: where(_action("click") & (col("position") <= k), lit(1)))


def satisfied(seconds: float) -> Signal:
    """Clicks after which the user stayed with the document for at least this time."""
    return Signal(
        _name(f"satisfied {seconds}"), "count", lambda: where(_action("click") & (col("dwell") >= seconds), lit(1))
    )


def shown_within(k: int) -> Signal:
    """Documents shown at rank k or above, if the log has a list of documents per query."""
    return Signal(
        f"shown @{k}",
        "sum",
        lambda: where(~col("query_id").is_null(), where(col(PAGE_SIZE) > k, lit(k), col(PAGE_SIZE)) * 1.0),
        "queries",
    )


QUERIES = count_of(QUERY)
CLICKS = count_of("click")
HOVERS = count_of("hover")
CONVERSIONS = count_of("conversion")
REVENUE = value_of("conversion")
PRICED = Signal("priced", "count", lambda: where(_action("conversion") & ~col("value").is_null(), lit(1)))
"""Conversions with a value."""
ACTIONS = Signal("actions", "count", lambda: col("time"), "both")
START = Signal("start", "min", lambda: col("time"), "both")
END = Signal("end", "max", lambda: col("time"), "both")
ASKED = Signal("asked", "min", lambda: where(_action(QUERY), col("time")), "queries")
FIRST_CLICK = Signal("first click", "min", lambda: where(_action("click"), col("time")))
LAST_CLICK = Signal("last click", "max", lambda: where(_action("click"), col("time")))
DWELL = Signal("dwell", "sum", lambda: where(_action("click"), col("dwell")))
DWELLS = Signal("dwells", "count", lambda: where(_action("click") & ~col("dwell").is_null(), lit(1)))
RANKED_CLICKS = Signal("ranked clicks", "count", lambda: where(_action("click") & ~col("position").is_null(), lit(1)))
CLICK_RANKS = Signal("click ranks", "sum", lambda: where(_action("click"), col("position") * 1.0))
PAGES = Signal("shown", "sum", lambda: where(~col("query_id").is_null(), col(PAGE_SIZE) * 1.0), "queries")
"""Documents shown, if the log has a list of documents per query."""
SESSIONS = Signal("sessions", "sum", lambda: lit(1))
"""A signal of sessions, not of queries."""
SESSION_TIME = Signal("session time", "sum", lambda: col(END.name) - col(START.name))
"""A signal of sessions, not of queries: microseconds."""
FIRST_RANKED = Signal("first ranked", "min", lambda: _click_key())
LAST_RANKED = Signal("last ranked", "max", lambda: _click_key())

UNRANKED_CLICKS = Signal(
    "unranked clicks", "count", lambda: where(_action("click") & col("position").is_null(), lit(1))
)
FROM_RANKED: dict[Signal, tuple[Signal, Callable[[], nw.Expr]]] = {
    FIRST_CLICK: (FIRST_RANKED, lambda: time_in(FIRST_RANKED.name)),
    LAST_CLICK: (LAST_RANKED, lambda: time_in(LAST_RANKED.name)),
    RANKED_CLICKS: (CLICKS, lambda: col(CLICKS.name)),
}
"""If every click of a log has a rank, these signals follow from others and need not be counted: (from, how)."""


def _click_key() -> nw.Expr:
    """A number in which the time of a click comes before its rank, which orders clicks at the same time."""
    rank = where(col("position") < RANKS, col("position"), lit(RANKS - 1))
    known = _action("click") & ~col("position").is_null()
    return where(known, (col("time") - CLICK_EPOCH) * RANKS + rank)


def rank_in(key: str) -> nw.Expr:
    """The rank in the number of `FIRST_RANKED` or `LAST_RANKED`."""
    remainder = col(key) % RANKS
    return where(remainder < 0, remainder + RANKS, remainder)  # in SQL, it has the sign of the time


def time_in(key: str) -> nw.Expr:
    """The time in the number of `FIRST_RANKED` or `LAST_RANKED`."""
    # A multiple of 2^12 below 2^63 has at most 51 digits, so the division is exact, and cheaper than one that rounds
    return ((col(key) - rank_in(key)) / RANKS).cast(nw.Int64()) + CLICK_EPOCH
