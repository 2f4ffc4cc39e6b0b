"""Online measures of sessions: how long they are, how often users rephrase, and whether they succeed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield import check
from cranfield.online.expressions import col, indicator, lit
from cranfield.online.log_measures.log_signals import (
    ACTIONS,
    CLICKS,
    END,
    FIRST_CLICK,
    QUERIES,
    SECOND,
    START,
    Signal,
    satisfied,
)
from cranfield.online.log_measures.online_measure import NO_DWELL, NO_TEXTS, Evidence, OnlineMeasure, online_measure
from cranfield.online.log_measures.ranking_level import reformulated

if TYPE_CHECKING:
    import narwhals as nw


class _PerSession(OnlineMeasure):
    """The mean of a number per session."""

    level = "session"
    rows = "sessions"
    needs = frozenset({"sessions"})
    counts = QUERIES

    def signals(self) -> tuple[Signal, ...]:
        return (self.counts,)

    def numerator(self) -> nw.Expr:
        return col(self.counts.name)

    def denominator(self) -> nw.Expr:
        return indicator(~self.numerator().is_null())


@online_measure
class QueriesPerSession(_PerSession):
    r"""Mean number of queries in a session.

    .. math:: \frac{\text{queries}}{\text{sessions}}

    Many queries can mean interest or trouble; read it beside `session-success`.
    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "queries-per-session"
    unit = "queries"


@online_measure
class ClicksPerSession(_PerSession):
    r"""Mean number of clicks in a session.

    .. math:: \frac{\text{clicks}}{\text{sessions}}

    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "clicks-per-session"
    unit = "clicks"
    counts = CLICKS


@online_measure
class SessionActions(_PerSession):
    r"""Mean length of a session in actions: queries, clicks and all other events.

    .. math:: \frac{\text{queries and events}}{\text{sessions}}

    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "session-actions"
    unit = "actions"
    counts = ACTIONS


@online_measure
class SessionLength(_PerSession):
    r"""Mean time from the first to the last action of a session.

    .. math:: \frac{\sum_s (t_{\text{end}}(s) - t_{\text{start}}(s))}{\text{sessions}}

    The time spent on the last document is not part of it.
    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "session-length"
    unit = "seconds"

    def signals(self) -> tuple[Signal, ...]:
        return START, END

    def numerator(self) -> nw.Expr:
        return (col(END.name) - col(START.name)) / SECOND


@online_measure
class SessionTimeToClick(_PerSession):
    r"""Mean time from the start of a session to its first click, over sessions with a click.

    .. math:: \frac{\sum_s (t_1(s) - t_{\text{start}}(s))}{\text{sessions with a click}}

    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "session-time-to-click"
    unit = "seconds"
    better = "lower"

    def signals(self) -> tuple[Signal, ...]:
        return START, FIRST_CLICK

    def numerator(self) -> nw.Expr:
        return (col(FIRST_CLICK.name) - col(START.name)) / SECOND


@online_measure
class SessionSuccess(_PerSession):
    r"""Share of sessions with a satisfied click.

    .. math:: \frac{\text{sessions with a satisfied click}}{\text{sessions}}

    A click is satisfied if its dwell time is at least `seconds`. With `seconds=0`, any click with a known dwell time
    is. See `cranfield log satisfaction` for a measure that is learned from labels.
    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "session-success"
    unit = "share of sessions"
    better = "higher"

    seconds: float = 30

    def __post_init__(self) -> None:
        check.not_negative(self.name, seconds=self.seconds)

    def signals(self) -> tuple[Signal, ...]:
        return (satisfied(self.seconds),)

    def evidence(self) -> tuple[Evidence, ...]:
        return (NO_DWELL,)

    def numerator(self) -> nw.Expr:
        return indicator(col(satisfied(self.seconds).name) > 0)


@online_measure
class Reformulation(OnlineMeasure):
    r"""Share of queries that the user rephrases with the next query of the session.

    .. math:: \frac{\text{queries whose next query in the session is similar, but not the same}}{|Q|}

    Two queries are similar if the Jaccard coefficient of their sets of words (lower case) is at least `similarity`.
    With 0.3, one word of two may change. The same set of words is a repetition.
    Reference: Ferro & Maistro 2024, §6.1
    """

    name = "reformulation"
    level = "session"
    unit = "share of queries"
    better = "lower"
    needs = frozenset({"sessions", "similarity"})

    similarity: float = 0.3

    def __post_init__(self) -> None:
        check.between(self.name, low=0, high=1, similarity=self.similarity)

    def evidence(self) -> tuple[Evidence, ...]:
        return (NO_TEXTS,)

    def numerator(self) -> nw.Expr:
        return indicator(reformulated(self.similarity))

    def denominator(self) -> nw.Expr:
        return lit(1)
