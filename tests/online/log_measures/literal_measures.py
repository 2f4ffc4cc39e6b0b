"""Every online measure again, slowly and literally: what each row of Python adds above and below the line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from tests.online.log_measures.small_logs import MINUTE, Row, Rows

DAY = 24 * 60 * MINUTE
Term = tuple[Row, float, float]
"""The query, or another row that has the groups; what it adds above; what it adds below."""


class Literal:
    """A log whose queries know their clicks and events, and whose users know their sessions."""

    def __init__(self, rows: Rows, gap_minutes: float = 30, *, named: bool = False) -> None:
        self.rows = rows
        self.queries = rows.queries
        self.events = rows.events
        self.shown: dict[str, list[Row]] = defaultdict(list)
        for row in rows.shown:
            self.shown[row["query_id"]].append(row)
        self.of_query: dict[str, list[Row]] = defaultdict(list)
        for event in rows.events:
            if event["query_id"] is not None:
                self.of_query[event["query_id"]].append(event)
        self.by_user: dict[str, list[Row]] = defaultdict(list)
        for query in self.queries:
            self.by_user[query["user"]].append({**query, "action": "query"})
        for event in self.events:
            self.by_user[event["user"]].append(event)
        self.sessions: list[list[Row]] = []
        for actions in self.by_user.values():
            actions.sort(key=lambda row: row["time"])
            if named:
                parts: dict[str, list[Row]] = defaultdict(list)
                for row in actions:
                    parts[row["session"]].append(row)
                self.sessions += sorted(parts.values(), key=lambda part: part[0]["time"])
                continue
            current = [actions[0]]
            for before, row in pairwise(actions):
                if row["time"] - before["time"] > gap_minutes * MINUTE:
                    self.sessions.append(current)
                    current = []
                current.append(row)
            self.sessions.append(current)
        self.session_of = {
            row["query_id"]: i for i, session in enumerate(self.sessions) for row in session if row["action"] == "query"
        }
        self.end = max(row["time"] for actions in self.by_user.values() for row in actions)
        start = min(row["time"] for actions in self.by_user.values() for row in actions)
        self.days = self.end // DAY - start // DAY + 1

    def clicks(self, query: Row) -> list[Row]:
        return [event for event in self.of_query[query["query_id"]] if event["action"] == "click"]

    def ranked(self, query: Row) -> list[Row]:
        clicks = [click for click in self.clicks(query) if click["position"] is not None]
        return sorted(clicks, key=lambda click: (click["time"], click["position"]))

    def next_query(self, query: Row) -> Row | None:
        """The next query of the user in the session."""
        session = self.sessions[self.session_of[query["query_id"]]]
        order = sorted((r for r in session if r["action"] == "query"), key=lambda r: (r["time"], r["query_id"]))
        ids = [row["query_id"] for row in order]
        place = ids.index(query["query_id"]) + 1
        return order[place] if place < len(order) else None

    def similarity(self, query: Row) -> float | None:
        after = self.next_query(query)
        if after is None or not words(query) or not words(after):
            return None
        return len(words(query) & words(after)) / len(words(query) | words(after))


def words(query: Row) -> set[str]:
    return set((query["text"] or "").lower().split())


def text(query: Row) -> str:
    return " ".join((query["text"] or "").lower().split())


LITERAL: dict[str, Callable[[Literal], Iterator[Term]]] = {}


def literal(name: str) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        LITERAL[name] = function
        return function

    return add


@literal("CTR")
def ctr(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        shown = len(log.shown[query["query_id"]])
        yield query, len(log.clicks(query)) if shown else 0, shown


@literal("CTR@3")
def ctr_at_3(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        shown = sum(row["position"] <= 3 for row in log.shown[query["query_id"]])
        clicks = sum(1 for click in log.ranked(query) if click["position"] <= 3)
        yield query, clicks if shown else 0, shown


@literal("dwell")
def dwell(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        known = [click["dwell"] for click in log.clicks(query) if click["dwell"] is not None]
        yield query, sum(known), len(known)


@literal("satisfied-clicks(seconds=20)")
def satisfied_clicks(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        known = [click["dwell"] for click in log.clicks(query) if click["dwell"] is not None]
        yield query, sum(seconds >= 20 for seconds in known), len(known)


@literal("COEC")
def coec(log: Literal) -> Iterator[Term]:
    impressions: dict[int, int] = defaultdict(int)
    clicks: dict[int, int] = defaultdict(int)
    for row in log.rows.shown:
        impressions[row["position"]] += 1
    on_lists = {query["query_id"]: list(_clicked_ranks(log, query)) for query in log.queries}
    for ranks in on_lists.values():
        for rank in ranks:
            clicks[rank] += 1
    for query in log.queries:
        shown = log.shown[query["query_id"]]
        expected = sum(clicks[row["position"]] / impressions[row["position"]] for row in shown)
        yield query, len(on_lists[query["query_id"]]), expected


def _clicked_ranks(log: Literal, query: Row) -> Iterator[int]:
    """The ranks in the list of a query of the documents that were clicked."""
    for click in log.clicks(query):
        key = "position" if click["doc"] is None else "doc"
        ranks = [row["position"] for row in log.shown[query["query_id"]] if row[key] == click[key]]
        if ranks:
            yield min(ranks)


@literal("click-rank")
def click_rank(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        if ranked := log.ranked(query):
            yield query, ranked[0]["position"], 1


@literal("last-click-rank")
def last_click_rank(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        if ranked := log.ranked(query):
            yield query, ranked[-1]["position"], 1


@literal("mean-click-rank")
def mean_click_rank(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        for click in log.ranked(query):
            yield query, click["position"], 1


@literal("click-RR")
def click_rr(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        if not log.clicks(query):
            yield query, 0, 1
        elif ranked := log.ranked(query):
            yield query, 1 / ranked[0]["position"], 1


@literal("time-to-first-click")
def time_to_first_click(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        if clicks := log.clicks(query):
            yield query, (min(click["time"] for click in clicks) - query["time"]) / 1e6, 1


@literal("time-to-last-click")
def time_to_last_click(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        if clicks := log.clicks(query):
            yield query, (max(click["time"] for click in clicks) - query["time"]) / 1e6, 1


@literal("clicks-per-query")
def clicks_per_query(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        yield query, len(log.clicks(query)), 1


@literal("abandonment")
def abandonment(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        yield query, not log.clicks(query), 1


@literal("good-abandonment")
def good_abandonment(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        session = log.sessions[log.session_of[query["query_id"]]]
        alone = sum(row["action"] == "query" for row in session) == 1
        yield query, not log.clicks(query) and alone, 1


@literal("good-abandonment(rule=no-reformulation)")
def good_abandonment_no_reformulation(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        near = log.similarity(query)
        yield query, not log.clicks(query) and not (near is not None and 0.3 <= near < 1), 1


@literal("good-abandonment(rule=last)")
def good_abandonment_last(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        yield query, not log.clicks(query) and log.next_query(query) is None, 1


@literal("good-abandonment(rule=hover)")
def good_abandonment_hover(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        hovers = [event for event in log.of_query[query["query_id"]] if event["action"] == "hover"]
        yield query, not log.clicks(query) and bool(hovers), 1


@literal("reformulation(similarity=0.2)")
def reformulation(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        near = log.similarity(query)
        yield query, near is not None and 0.2 <= near < 1, 1


def per_session(count: Callable[[list[Row]], float | None]) -> Callable[[Literal], Iterator[Term]]:
    def terms(log: Literal) -> Iterator[Term]:
        for session in log.sessions:
            value = count(session)
            if value is not None:
                yield first_of(session), value, 1

    return terms


def first_of(session: list[Row]) -> Row:
    """The user and the time of a session, for its groups."""
    return {"user": session[0]["user"], "time": session[0]["time"], "rows": session}


def count(session: list[Row], action: str) -> int:
    return sum(row["action"] == action for row in session)


def seconds_to_click(session: list[Row]) -> float | None:
    clicks = [row["time"] for row in session if row["action"] == "click"]
    return (min(clicks) - session[0]["time"]) / 1e6 if clicks else None


LITERAL["queries-per-session"] = per_session(lambda session: count(session, "query"))
LITERAL["clicks-per-session"] = per_session(lambda session: count(session, "click"))
LITERAL["session-actions"] = per_session(len)
LITERAL["session-length"] = per_session(lambda session: (session[-1]["time"] - session[0]["time"]) / 1e6)
LITERAL["session-time-to-click"] = per_session(seconds_to_click)
LITERAL["session-success"] = per_session(
    lambda session: any(row["action"] == "click" and (row["dwell"] or 0) >= 30 for row in session)
)


@literal("absence-time")
def absence_time(log: Literal) -> Iterator[Term]:
    for before, session in pairwise(log.sessions):
        if before[0]["user"] == session[0]["user"]:
            yield first_of(session), (session[0]["time"] - before[-1]["time"]) / 3.6e9, 1


@literal("activation")
def activation(log: Literal) -> Iterator[Term]:
    seen = set()
    for session in log.sessions:
        if session[0]["user"] not in seen:
            yield first_of(session), count(session, "click") > 0, 1
        seen.add(session[0]["user"])


def per_user(value: Callable[[Literal, list[Row]], float], below: str = "") -> Callable[[Literal], Iterator[Term]]:
    def terms(log: Literal) -> Iterator[Term]:
        for user, actions in log.by_user.items():
            yield {"user": user, "rows": actions}, value(log, actions), log.days if below else 1

    return terms


def sessions_of(log: Literal, actions: list[Row]) -> list[list[Row]]:
    return [session for session in log.sessions if session[0]["user"] == actions[0]["user"]]


LITERAL["queries-per-user"] = per_user(lambda log, rows: count(rows, "query"))
LITERAL["queries-per-day"] = per_user(lambda log, rows: count(rows, "query"), "days")
LITERAL["page-views"] = per_user(lambda log, rows: count(rows, "query") + count(rows, "click"), "days")
LITERAL["sessions-per-user"] = per_user(lambda log, rows: len(sessions_of(log, rows)))
LITERAL["sessions-per-day"] = per_user(lambda log, rows: len(sessions_of(log, rows)), "days")
LITERAL["conversion"] = per_user(lambda log, rows: count(rows, "conversion") > 0)
LITERAL["referral"] = per_user(lambda log, rows: count(rows, "share") > 0)
LITERAL["revenue"] = per_user(lambda log, rows: sum(r["value"] or 0 for r in rows if r["action"] == "conversion"))
LITERAL["total-time"] = per_user(
    lambda log, rows: sum((one[-1]["time"] - one[0]["time"]) / 1e6 for one in sessions_of(log, rows))
)
LITERAL["active-users(days=2)"] = per_user(lambda log, rows: rows[-1]["time"] > log.end - 2 * DAY)


@literal("adoption(days=2)")
def adoption(log: Literal) -> Iterator[Term]:
    for user, actions in log.by_user.items():
        new = actions[0]["time"] > log.end - 2 * DAY
        yield {"user": user, "rows": actions}, new, actions[-1]["time"] > log.end - 2 * DAY


@literal("retention(days=1)")
def retention(log: Literal) -> Iterator[Term]:
    for user, actions in log.by_user.items():
        early = actions[0]["time"] <= log.end - DAY
        yield {"user": user, "rows": actions}, early and actions[-1]["time"] - actions[0]["time"] >= DAY, early


@literal("conversions-per-query")
def conversions_per_query(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        yield query, count(log.of_query[query["query_id"]], "conversion"), 1


@literal("hover")
def hover(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        yield query, count(log.of_query[query["query_id"]], "hover") > 0, 1


def before(log: Literal, query: Row) -> list[Row]:
    """Earlier queries with the same text."""
    place = (query["time"], query["query_id"])
    return [q for q in log.queries if text(q) == text(query) and (q["time"], q["query_id"]) < place]


@literal("repetition")
def repetition(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        if text(query):
            yield query, bool(before(log, query)), 1


@literal("self-repetition")
def self_repetition(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        if text(query):
            yield query, any(q["user"] == query["user"] for q in before(log, query)), 1


@literal("query-similarity")
def query_similarity(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        near = log.similarity(query)
        if near is not None:
            yield query, near, 1


@literal("words-per-query")
def words_per_query(log: Literal) -> Iterator[Term]:
    for query in log.queries:
        if words(query):
            yield query, len(words(query)), 1


def estimate(sums: np.ndarray) -> tuple[float, float]:
    """The ratio of the sums of two columns, with a row per user, and its error by the delta method."""
    a, b = sums.T.astype(float)
    n, ratio = len(a), a.sum() / b.sum() if b.sum() else np.nan
    residual = a - ratio * b  # the variance of the linearised ratio is that of these
    return ratio, float(
        np.sqrt(((residual - residual.mean()) ** 2).sum() / (n - 1) / n) / b.mean()
    ) if n > 1 else np.nan


def wilson_of_users(sums: np.ndarray, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a share, with a row per user: Wilson's formula is solved as a quadratic equation.

    The variance is that of the shares without one user each, the degrees of freedom come from their kurtosis.
    """
    a, b = sums.T.astype(float)
    n, share = len(a), a.sum() / b.sum()
    without = np.array([np.delete(a, u).sum() / np.delete(b, u).sum() for u in range(n)])
    variance = (n - 1) / n * ((without - share) ** 2).sum()
    q, effective = stats.norm.ppf((1 + confidence) / 2), b.sum()
    if not ((b == 1).all() and np.isin(a, (0, 1)).all()):
        df = 2.0
        if variance > 1e-18:
            effective = share * (1 - share) / variance
            kurtosis = ((without - share) ** 4).mean() / ((without - share) ** 2).mean() ** 2
            df = min(n - 1, max(2.0, 2 * n / (kurtosis - (n - 3) / (n - 1))))
        q = stats.t.ppf((1 + confidence) / 2, df)
    # (share − x)² = q² x (1 − x) / effective
    roots = np.roots([1 + q**2 / effective, -2 * share - q**2 / effective, share**2]).real
    return float(max(0.0, roots.min())), float(min(1.0, roots.max()))


def literal_estimate(log: Literal, name: str, users: list[str] | None = None) -> tuple[float, float]:
    """The value of a measure over users, and its standard error."""
    chosen = sorted(log.by_user) if users is None else users
    sums = {user: np.zeros(2) for user in chosen}
    for row, above, below in LITERAL[name](log):
        if row["user"] in sums:
            sums[row["user"]] += (above, below)
    return estimate(np.array(list(sums.values())))
