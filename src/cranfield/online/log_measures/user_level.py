"""Online measures of users: whether they come back (loyalty), and what they are worth to a business."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield import check
from cranfield.online.expressions import col, indicator, lit, nw, where
from cranfield.online.log_measures.log_signals import (
    CLICKS,
    CONVERSIONS,
    END,
    HOVERS,
    QUERIES,
    REVENUE,
    SECOND,
    SESSION_TIME,
    SESSIONS,
    START,
    Signal,
    count_of,
)
from cranfield.online.log_measures.online_measure import (
    NO_CONVERSIONS,
    NO_HOVERS,
    NO_VALUES,
    Evidence,
    MeanOfRows,
    OnlineMeasure,
    online_measure,
)

DAY = 86_400 * SECOND


class _PerUser(OnlineMeasure):
    """The mean of a number per user."""

    level = "loyalty"
    rows = "users"
    better = "higher"


@online_measure
class QueriesPerUser(_PerUser):
    r"""Mean number of queries of a user.

    .. math:: \frac{\text{queries}}{\text{users}}

    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "queries-per-user"
    unit = "queries"
    counts = (QUERIES,)


@online_measure
class SessionsPerUser(_PerUser):
    r"""Mean number of sessions of a user.

    .. math:: \frac{\text{sessions}}{\text{users}}

    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "sessions-per-user"
    unit = "sessions"
    needs = frozenset({"sessions"})
    counts = (SESSIONS,)


class _PerDay(_PerUser):
    """The mean of a number per user and day."""

    needs = frozenset({"days"})

    def denominator(self) -> nw.Expr:
        return col("days")


@online_measure
class QueriesPerDay(_PerDay):
    r"""Mean number of queries of a user on a day.

    .. math:: \frac{\text{queries}}{\text{users} \times \text{days}}

    All days of the log count, also those on which a user does not come.
    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "queries-per-day"
    unit = "queries"
    counts = (QUERIES,)


@online_measure
class SessionsPerDay(_PerDay):
    r"""Mean number of sessions of a user on a day.

    .. math:: \frac{\text{sessions}}{\text{users} \times \text{days}}

    All days of the log count, also those on which a user does not come.
    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "sessions-per-day"
    unit = "sessions"
    needs = frozenset({"sessions", "days"})
    counts = (SESSIONS,)


@online_measure
class PageViews(_PerDay):
    r"""Mean number of pages that a user sees on a day: result pages, and results that are opened.

    .. math:: \frac{\text{queries} + \text{clicks}}{\text{users} \times \text{days}}

    All days of the log count, also those on which a user does not come.
    Reference: Rodden, Hutchinson & Fu, CHI 2010, 2395-2398, doi:10.1145/1753326.1753687 (the P of PULSE)
    """

    name = "page-views"
    unit = "pages"
    counts = (QUERIES, CLICKS)

    def numerator(self) -> nw.Expr:
        return col(QUERIES.name) + col(CLICKS.name)


@online_measure
class AbsenceTime(MeanOfRows):
    r"""Mean time between the end of a session and the user's next session.

    .. math:: \frac{\sum (t_{\text{start}}(s_{i+1}) - t_{\text{end}}(s_i))}{\text{sessions after a user's first one}}

    The time counts for the later session. Users who never come back have no absence time, so read it beside
    `retention`.
    Reference: Ferro & Maistro 2024, §6.5, after Dupret & Lalmas, WSDM 2013, 173-182, doi:10.1145/2433396.2433418
    """

    name = "absence-time"
    level = "loyalty"
    unit = "hours"
    better = "lower"
    rows = "sessions"
    needs = frozenset({"sessions", "absence"})

    def numerator(self) -> nw.Expr:
        return col("absence") / (3600 * SECOND)


@dataclass(frozen=True, repr=False)
class _OfDays(_PerUser):
    """A share of users, by the time between their actions and the end of the log."""

    unit = "share of users"
    needs = frozenset({"history"})

    days: int = 7

    def __post_init__(self) -> None:
        check.whole(self.name, days=self.days)


@online_measure
class Retention(_OfDays):
    r"""Share of users who come back `days` days after their first visit, or later.

    .. math:: \frac{\text{users whose last action is at least } d \text{ days after their first}}
        {\text{users whose first action is at least } d \text{ days before the end of the log}}

    Users whose first visit is too late to be seen again do not count. A log begins somewhere: the first visit is the
    first one in the log.
    Reference: Rodden, Hutchinson & Fu, CHI 2010, 2395-2398, doi:10.1145/1753326.1753687 (the R of HEART)
    """

    name = "retention"

    def numerator(self) -> nw.Expr:
        span = self.days * DAY
        return indicator((col("user first") + span <= col("log end")) & (col("user last") - col("user first") >= span))

    def denominator(self) -> nw.Expr:
        return indicator(col("user first") + self.days * DAY <= col("log end"))


@online_measure
class Adoption(_OfDays):
    r"""Share of users who are new: their first action in the log is in its last `days` days.

    .. math:: \frac{\text{users whose first action is in the last } d \text{ days}}
        {\text{users with an action in the last } d \text{ days}}

    A log begins somewhere: in a log that is not much longer than `days`, most users seem new.
    Reference: Rodden, Hutchinson & Fu, CHI 2010, 2395-2398, doi:10.1145/1753326.1753687 (the A of HEART)
    """

    name = "adoption"

    def numerator(self) -> nw.Expr:
        return indicator(col("user first") + self.days * DAY > col("log end"))

    def denominator(self) -> nw.Expr:
        return indicator(col("user last") + self.days * DAY > col("log end"))


@online_measure
class ActiveUsers(_OfDays):
    r"""Share of the users of the log who are active in its last `days` days.

    .. math:: \frac{\text{users with an action in the last } d \text{ days}}{\text{users}}

    PULSE counts these users; their number is this share times the number of users in the table.
    Reference: Rodden, Hutchinson & Fu, CHI 2010, 2395-2398, doi:10.1145/1753326.1753687 (the S of PULSE)
    """

    name = "active-users"

    def numerator(self) -> nw.Expr:
        return indicator(col("user last") + self.days * DAY > col("log end"))


@online_measure
class Activation(OnlineMeasure):
    r"""Share of users whose first session has a click.

    .. math:: \frac{\text{users with a click in their first session}}{\text{users}}

    Reference: McClure, Startup Metrics for Pirates, 2007 (the second A of AARRR)
    """

    name = "activation"
    level = "loyalty"
    unit = "share of users"
    better = "higher"
    rows = "sessions"
    needs = frozenset({"sessions", "absence"})
    counts = (CLICKS,)

    def numerator(self) -> nw.Expr:
        return indicator(col("absence").is_null() & (col(CLICKS.name) > 0))

    def denominator(self) -> nw.Expr:
        return indicator(col("absence").is_null())


class _Business(_PerUser):
    """A number per user."""

    level = "business"


@online_measure
class Conversion(_Business):
    r"""Share of users who take a desired action, such as a purchase, at least once.

    .. math:: \frac{\text{users with a conversion}}{\text{users}}

    Reference: Ferro & Maistro 2024, §6.2, footnote 29
    """

    name = "conversion"
    unit = "share of users"
    counts = (CONVERSIONS,)
    requires = (NO_CONVERSIONS,)

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
    counts = (CONVERSIONS,)
    requires = (NO_CONVERSIONS,)


@online_measure
class Revenue(_Business):
    r"""Mean revenue of a user: the sum of the values of conversions.

    .. math:: \frac{\text{revenue}}{\text{users}}

    A conversion without a value adds nothing.
    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "revenue"
    unit = "revenue per user"
    counts = (REVENUE,)
    requires = (NO_CONVERSIONS, NO_VALUES)

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
    counts = (START, END, SESSION_TIME)

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
    counts = (HOVERS,)
    requires = (NO_HOVERS,)

    def numerator(self) -> nw.Expr:
        return indicator(col(HOVERS.name) > 0)


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
