"""Trails: what the user of a session reads, in order; session U over the text, action costs over the time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield import check
from cranfield.answers.sessions.session_lists import SessionLists
from cranfield.answers.sessions.session_measures import SessionMeasure, session_measure
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.types import Array, Index


@dataclass(frozen=True, eq=False)
class Trail:
    """What the users of all sessions read: an entry for each document that is opened or passed, session by session."""

    session: Index
    query: Index
    rank: Index
    snippets: Array
    """How many snippets are read for the first time on the way to the document, with its own."""
    opened: np.ndarray[Any, np.dtype[np.bool_]]
    gain: Array
    document: tuple[str, ...]

    def running(self, values: Array) -> Array:
        """Sums from the beginning of the session to each entry."""
        total = np.cumsum(values)
        begin = np.searchsorted(self.session, self.session)
        return total - (total[begin] - values[begin] if len(values) else 0.0)

    def places(self) -> dict[str, np.ndarray[Any, Any]]:
        """Where each entry is, as columns: query, rank, document and the number of snippets."""
        return {
            "query": self.query, "rank": self.rank, "document": np.array(self.document, dtype=object),
            "snippets": self.snippets.astype(np.int64),
        }  # fmt: skip


@lru_cache(maxsize=4)
def trail_of(lists: SessionLists, gain: Gain, again: bool) -> Trail:
    """The trail of each session.

    With gains from judgments, every list is read from the top to its end, and documents with a gain are opened. With
    gains from clicks, clicked documents are opened in the order of clicks, and before each click the snippets above it
    are read, once in each list (Sakai 2014 Fig. 9). A second click on a document gains nothing and reads nothing again,
    unless `again`. A click counts in whichever list it is, since documents that two lists show are left out only where
    lists are put end to end.
    """
    if lists.gains == "judgments":
        gains = lists.gain(gain)
        ones = np.ones(len(gains))
        return Trail(lists.session, lists.query, lists.shown_rank, ones, gains > 0, gains, lists.document)
    rows: list[tuple[int, int, int, int]] = []
    names: list[str] = []
    for number, session in enumerate(lists.sessions):
        clicks = [(asked, click) for asked, query in enumerate(session.queries, 1) for click in query.clicks]
        if all(click.time is not None for _, click in clicks):
            clicks.sort(key=lambda entry: entry[1].time or 0.0)  # a user may go back to the list of an earlier query
        deepest: dict[int, int] = {}
        opened: set[str] = set()
        for asked, click in clicks:
            doc = session.queries[asked - 1].documents[click.rank - 1]
            if (doc in opened and not again) or click.rank > lists.sizes[number][asked - 1]:
                continue
            new = max(0, click.rank - deepest.get(asked, 0))
            deepest[asked] = max(click.rank, deepest.get(asked, 0))
            rows.append((number, asked, click.rank, new))
            names.append(doc)
            opened.add(doc)
    session_of, query_of, rank_of, new_snippets = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    gains = np.full(len(names), lists.click_gain)
    if lists.gains == "both":
        places = zip(lists.session.tolist(), lists.document, lists.gain_of_grade(gain).tolist(), strict=True)
        worth = {(number, doc): value for number, doc, value in places}
        gains = np.array([worth[key] for key in zip(session_of.tolist(), names, strict=True)])
    is_open = np.ones(len(names), dtype=bool)
    return Trail(session_of, query_of, rank_of, new_snippets.astype(np.float64), is_open, gains, tuple(names))


@session_measure
@dataclass(frozen=True, repr=False)
class sU(SessionMeasure):
    r"""Session U: documents count less the more text the user has read in the session by the end of them.

    .. math:: \sum_k g_k \max\left(0, 1 - \frac{pos_k}{L}\right), \quad pos_k = \sum_{j \le k} s\,n_j + F\,len_j

    n_j are the snippets that are read for the first time before document j is opened, `snippet` (s) characters each;
    of an opened document, a fraction `F` is read. With gains from clicks this is Sakai 2014 Fig. 9, with g = 0.5 for a
    click, in the order of clicks by time, so that the user may go up a list and back to an earlier query. With gains
    from judgments, all lists are read from the top. A second click on a document does not count, unless `again`. Needs
    the lengths of documents in characters, unless F is 0. A session of one list, with judgments, has its U.
    No relevant documents: 0.
    Reference: Sakai & Dou, SIGIR 2013, doi:10.1145/2484028.2484031

    >>> from cranfield.answers.sessions import Click, Query, Session, SessionLists
    >>> session = Session("s", "1", (Query(("a", "b", "c", "d"), (Click(4, 1.0), Click(2, 2.0))),))
    >>> lists = SessionLists.of([session], gains="clicks", lengths={"b": 1000, "d": 500})
    >>> sU(L=2000).score(lists).tolist()  # 0.5 · (1 − 900/2000) + 0.5 · (1 − 1100/2000)
    [0.5]
    """

    L: float = 132000.0
    F: float = 0.2
    snippet: float = 200.0
    gain: GainLike = LINEAR
    again: bool = False

    name = "sU"
    takes_cutoff = False

    def reads_lists(self, lists: SessionLists) -> bool:
        return lists.gains == "judgments"

    def check(self) -> None:
        check.finite(self.name, L=self.L, F=self.F, snippet=self.snippet)
        check.positive(self.name, L=self.L)
        check.between(self.name, low=0, high=1, F=self.F)
        check.not_negative(self.name, snippet=self.snippet)

    def score(self, lists: SessionLists) -> Array:
        trail, offset = self.read(lists)
        total = np.bincount(trail.session, trail.gain * self.left_at(offset), len(lists))
        return np.where(lists.undefined, np.nan, total)

    def read(self, lists: SessionLists) -> tuple[Trail, Array]:
        """The trail, and the characters read by the end of each entry."""
        trail = trail_of(lists, Gain.of(self.gain), self.again)
        return trail, trail.running(self.snippet * trail.snippets + self.read_of_documents(lists, trail))

    def read_of_documents(self, lists: SessionLists, trail: Trail) -> Array:
        """How many characters of each document are read."""
        read = np.zeros(len(trail.session))
        at = np.flatnonzero(trail.opened)
        if self.F > 0 and len(at):
            read[at] = self.F * lists.length_of([trail.document[i] for i in at.tolist()], self.name)
        return read

    def left_at(self, offset: Array) -> Array:
        """The fraction of a gain that is left at an offset in the text."""
        return np.maximum(0.0, 1.0 - offset / self.L)

    def trail_rows(self, lists: SessionLists) -> dict[str, np.ndarray[Any, Any]]:
        trail, end = self.read(lists)
        left = self.left_at(end)
        return {
            **trail.places(), "snippet text": self.snippet * trail.snippets,
            "document text": self.read_of_documents(lists, trail), "offset": end, "gain": trail.gain, "decay": left,
            "adds": trail.gain * left,
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class _Costs(SessionMeasure, ABC):
    """Seconds that each action of the user takes."""

    query: float = 15.0
    page: float = 3.0
    snippet: float = 4.5
    document: float = 30.0
    page_size: int = 10
    gain: GainLike = LINEAR

    takes_cutoff = False

    def reads_lists(self, lists: SessionLists) -> bool:
        return lists.gains == "judgments"

    def check(self) -> None:
        for name in ("query", "page", "snippet", "document"):
            check.finite(self.name, **{name: getattr(self, name)})
            check.not_negative(self.name, **{name: getattr(self, name)})
        check.whole(self.name, page_size=self.page_size)

    def reading(self, trail: Trail) -> Array:
        """The seconds that each entry takes, without those for queries."""
        return np.asarray(
            self.snippet * trail.snippets + self.page * self._new_pages(trail) + self.document * trail.opened
        )

    def spent(self, lists: SessionLists) -> tuple[Trail, Array]:
        """The trail, and the seconds at the end of each entry, from the beginning of the session."""
        trail = trail_of(lists, Gain.of(self.gain), False)
        return trail, trail.running(self.reading(trail)) + self.query * self._queries_so_far(trail)

    def trail_rows(self, lists: SessionLists) -> dict[str, np.ndarray[Any, Any]]:
        trail, end = self.spent(lists)
        asked = self._queries_so_far(trail)
        first = np.searchsorted(trail.session, trail.session) == np.arange(len(asked))
        new = asked - np.where(first, 0.0, np.concatenate(([0.0], asked[:-1])) if len(asked) else asked)
        seconds = self.reading(trail) + self.query * new
        return {
            **trail.places(), "queries": new.astype(np.int64), "next pages": self._new_pages(trail).astype(np.int64),
            "opened": trail.opened, "seconds": seconds, "ends at": end, **self.added(trail, seconds, end),
        }  # fmt: skip

    @abstractmethod
    def added(self, trail: Trail, seconds: Array, end: Array) -> dict[str, Array]:
        """What each entry adds to the score, and why."""

    def _new_pages(self, trail: Trail) -> Array:
        """How many times the user turns to a next page on the way to each entry, once for each page of a list."""
        turned = (trail.rank - 1) // self.page_size
        pages = np.zeros(len(turned))
        known: dict[tuple[int, int], int] = {}
        for at in np.flatnonzero(turned > 0).tolist():
            key = (int(trail.session[at]), int(trail.query[at]))
            pages[at] = max(0, int(turned[at]) - known.get(key, 0))
            known[key] = max(int(turned[at]), known.get(key, 0))
        return pages

    def _queries_so_far(self, trail: Trail) -> Array:
        """How many queries the user has asked by each entry: going back to an earlier list asks nothing."""
        lift = trail.session * (int(trail.query.max(initial=0)) + 1)
        return np.asarray(np.maximum.accumulate(trail.query + lift) - lift, dtype=np.float64)


@session_measure
@dataclass(frozen=True, repr=False)
class sCost(_Costs):
    r"""The time that a session takes, as the sum of the costs of its actions, in seconds; less is better.

    .. math:: c_q\,|\text{queries}| + c_p\,|\text{next pages}| + c_s\,|\text{snippets}| + c_d\,|\text{documents}|

    The user asks a query (`query` seconds), reads snippets (`snippet`), turns to the next page after every `page_size`
    documents (`page`) and opens documents (`document`, with the time to judge them). Which snippets are read and which
    documents are opened follows from clicks or from judgments, as for sU. The defaults are ours: give those of your
    users.
    Reference: Baskaya, Keskustalo & Järvelin, SIGIR 2012, 105-114

    >>> from cranfield.answers.sessions import Click, Query, Session, SessionLists
    >>> session = Session("s", "1", (Query(("a", "b"), (Click(2),)), Query(("c",))))
    >>> sCost(query=10, snippet=2, document=20).score(SessionLists.of([session], gains="clicks")).tolist()
    [44.0]
    """

    name = "sCost"
    better = "lower"

    def score(self, lists: SessionLists) -> Array:
        trail = trail_of(lists, Gain.of(self.gain), False)
        queries = np.array([len(session.queries) for session in lists.sessions], dtype=np.float64)
        total = np.bincount(trail.session, self.reading(trail), len(lists)) + self.query * queries
        return np.where(lists.undefined, np.nan, total)

    def added(self, trail: Trail, seconds: Array, end: Array) -> dict[str, Array]:
        return {"adds": seconds}


@session_measure
@dataclass(frozen=True, repr=False)
class sCG(_Costs):
    r"""The gains of the documents that the user has finished within `time` seconds of the session.

    .. math:: \sum_{k:\,T(k) \le t} g_k

    T(k) adds up the costs of all actions up to the end of document k: queries, next pages, snippets and documents, as
    in sCost.
    No relevant documents: 0.
    Reference: Baskaya, Keskustalo & Järvelin, SIGIR 2012, 105-114

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> lists = SessionLists.of([Session("s", "1", (Query(("a", "b")), Query(("c",))))], {"1": {"a": 1, "c": 2}})
    >>> costs = {"query": 10, "snippet": 2, "document": 20}
    >>> sCG(time=65, **costs).score(lists).tolist(), sCG(time=66, **costs).score(lists).tolist()
    ([1.0], [3.0])
    """

    time: float = 300.0

    name = "sCG"

    def check(self) -> None:
        super().check()
        check.finite(self.name, time=self.time)
        check.positive(self.name, time=self.time)

    def score(self, lists: SessionLists) -> Array:
        trail, seconds = self.spent(lists)
        in_time = self.added(trail, seconds, seconds)["adds"]
        return np.where(lists.undefined, np.nan, np.bincount(trail.session, in_time, len(lists)))

    def added(self, trail: Trail, seconds: Array, end: Array) -> dict[str, Array]:
        return {"gain": trail.gain, "adds": np.where(end <= self.time, trail.gain, 0.0)}
