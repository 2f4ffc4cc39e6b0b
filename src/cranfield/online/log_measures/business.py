"""Online measures of a business: conversion, revenue, time spent, and attention without clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.online.expressions import col, indicator, lit, where
from cranfield.online.log_measures.log_signals import (
    CONVERSIONS,
    END,
    HOVERS,
    REVENUE,
    SECOND,
    SESSION_TIME,
    START,
    Signal,
    count_of,
)
from cranfield.online.log_measures.online_measure import (
    NO_CONVERSIONS,
    NO_HOVERS,
    NO_VALUES,
    Evidence,
    OnlineMeasure,
    online_measure,
)

if TYPE_CHECKING:
    import narwhals as nw


class _Business(OnlineMeasure):
    """A number per user."""

    level = "business"
    rows = "users"
    better = "higher"

    def denominator(self) -> nw.Expr:
        return lit(1)


@online_measure
class Conversion(_Business):
    r"""Share of users who take a desired action, such as a purchase, at least once.

    .. math:: \frac{\text{users with a conversion}}{\text{users}}

    Reference: Ferro & Maistro 2024, §6.2, footnote 29
    """

    name = "conversion"
    unit = "share of users"

    def signals(self) -> tuple[Signal, ...]:
        return (CONVERSIONS,)

    def evidence(self) -> tuple[Evidence, ...]:
        return (NO_CONVERSIONS,)

    def numerator(self) -> nw.Expr:
        return indicator(col(CONVERSIONS.name) > 0)


@online_measure
class ConversionsPerQuery(OnlineMeasure):
    r"""Mean number of conversions after a query.

    .. math:: \frac{\text{conversions}}{|Q|}

    Conversions whose query is unknown do not count.
    Reference: Ferro & Maistro 2024, §6.2
    """

    name = "conversions-per-query"
    level = "business"
    unit = "conversions"
    better = "higher"

    def signals(self) -> tuple[Signal, ...]:
        return (CONVERSIONS,)

    def evidence(self) -> tuple[Evidence, ...]:
        return (NO_CONVERSIONS,)

    def numerator(self) -> nw.Expr:
        return col(CONVERSIONS.name)

    def denominator(self) -> nw.Expr:
        return lit(1)


@online_measure
class Revenue(_Business):
    r"""Mean revenue of a user: the sum of the values of conversions.

    .. math:: \frac{\text{revenue}}{\text{users}}

    A conversion without a value adds nothing.
    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "revenue"
    unit = "revenue per user"

    def signals(self) -> tuple[Signal, ...]:
        return (REVENUE,)

    def evidence(self) -> tuple[Evidence, ...]:
        return NO_CONVERSIONS, NO_VALUES

    def numerator(self) -> nw.Expr:
        return where(col(REVENUE.name).is_null(), lit(0.0), col(REVENUE.name))


@online_measure
class TotalTime(_Business):
    r"""Mean time that a user spends with the system: the length of all sessions.

    .. math:: \frac{\sum_s (t_{\text{end}}(s) - t_{\text{start}}(s))}{\text{users}}

    Reference: Ferro & Maistro 2024, §6.2
    """

    name = "total-time"
    unit = "seconds per user"
    needs = frozenset({"sessions"})

    def signals(self) -> tuple[Signal, ...]:
        return START, END, SESSION_TIME

    def numerator(self) -> nw.Expr:
        return col(SESSION_TIME.name) / SECOND


@online_measure
class Hover(OnlineMeasure):
    r"""Share of queries with a mouse hover over a result.

    .. math:: \frac{\text{queries with a hover}}{|Q|}

    Reference: Ferro & Maistro 2024, §6.1
    """

    name = "hover"
    level = "business"
    unit = "share of queries"

    def signals(self) -> tuple[Signal, ...]:
        return (HOVERS,)

    def evidence(self) -> tuple[Evidence, ...]:
        return (NO_HOVERS,)

    def numerator(self) -> nw.Expr:
        return indicator(col(HOVERS.name) > 0)

    def denominator(self) -> nw.Expr:
        return lit(1)


@online_measure
class Referral(_Business):
    r"""Share of users with an action that brings others, such as sharing a result.

    .. math:: \frac{\text{users with the action}}{\text{users}}

    `action` names this action as the log has it.
    Reference: McClure, Startup Metrics for Pirates, 2007 (the second R of AARRR)
    """

    name = "referral"
    unit = "share of users"

    action: str = "share"

    def signals(self) -> tuple[Signal, ...]:
        return (count_of(self.action),)

    def evidence(self) -> tuple[Evidence, ...]:
        return (Evidence(count_of(self.action), f"no event has the action {self.action!r}"),)

    def numerator(self) -> nw.Expr:
        return indicator(col(count_of(self.action).name) > 0)
