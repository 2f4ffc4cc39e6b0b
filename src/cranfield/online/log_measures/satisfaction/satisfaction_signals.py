"""The signals of a query from which satisfaction is learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cranfield.online.log_measures.expressions import col, indicator, lit, where
from cranfield.online.log_measures.log_signals import (
    ASKED,
    CLICKS,
    DWELL,
    FIRST_CLICK,
    FIRST_RANKED,
    HOVERS,
    LAST_RANKED,
    SECOND,
    Signal,
    rank_in,
    satisfied,
)
from cranfield.online.log_measures.ranking_level import reformulated

if TYPE_CHECKING:
    import narwhals as nw

SATISFIED = satisfied(30)
COUNTED: tuple[Signal, ...] = (
    ASKED, CLICKS, DWELL, FIRST_CLICK, FIRST_RANKED, HOVERS, LAST_RANKED, SATISFIED,
)  # fmt: skip
"""What is counted in the log for the signals below."""
NEEDS = frozenset({"sessions", "similarity"})


def _known(value: nw.Expr, otherwise: float = 0.0) -> nw.Expr:
    return where(value.is_null(), lit(otherwise), value)


def _logarithm(value: nw.Expr) -> nw.Expr:
    """log(1 + x) of a number of seconds, for the few long times; a time below 0 counts as 0."""
    return (where(value > 0, value, lit(0.0)) + 1.0).log()


SIGNALS: dict[str, Callable[[], nw.Expr]] = {
    "clicks": lambda: col(CLICKS.name) * 1.0,
    "abandoned": lambda: indicator(col(CLICKS.name) == 0) * 1.0,
    "satisfied clicks": lambda: col(SATISFIED.name) * 1.0,
    "log dwell": lambda: _logarithm(_known(col(DWELL.name))),
    "first click RR": lambda: _known(1.0 / rank_in(FIRST_RANKED.name)),
    "last click RR": lambda: _known(1.0 / rank_in(LAST_RANKED.name)),
    "log seconds to click": lambda: _logarithm(_known((col(FIRST_CLICK.name) - col(ASKED.name)) / SECOND)),
    "hovers": lambda: _known(col(HOVERS.name) * 1.0),
    "reformulated": lambda: indicator(reformulated(0.3)) * 1.0,
    "last query": lambda: indicator(col("last query")) * 1.0,
}
"""{name: expression on the row of a query}. Dwell is the sum over clicks, in seconds; RR is 0 without a click."""
