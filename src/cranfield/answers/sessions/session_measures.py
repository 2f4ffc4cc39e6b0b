"""Measures of sessions: what they have in common, sDCG, nsDCG, sRBP, sFreq and sMP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar

import numpy as np

from cranfield import check
from cranfield.answers.sessions.session_lists import SessionLists
from cranfield.measures.base import show
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.measures.readers.markov import MP, check_session_model, session_visits
from cranfield.types import Array, Index

SESSION_MEASURES: dict[str, type[SessionMeasure]] = {}
"""Measures of sessions by name; filled by `@session_measure`."""

T = TypeVar("T", bound="type[SessionMeasure]")


def session_measure(kind: T) -> T:
    """Register a measure of sessions."""
    SESSION_MEASURES[kind.name] = kind
    return kind


@dataclass(frozen=True, repr=False)
class SessionMeasure:
    """A measure of sessions is a value: its name shows the parameters that differ from the default."""

    cutoff: int | None = field(default=None, kw_only=True)

    name: ClassVar[str] = ""
    better: ClassVar[str] = "higher"
    highest: ClassVar[float] = float("inf")
    """The highest score that is possible."""
    takes_cutoff: ClassVar[bool] = True
    """Whether `@` is allowed: documents below this position count nothing."""

    def __post_init__(self) -> None:
        values = vars(self)
        if "gain" in values:
            object.__setattr__(self, "gain", Gain.of(values["gain"]))
        if self.cutoff is not None and not self.takes_cutoff:
            raise check.wrong(self.name, "cutoff", self.cutoff, "left out")
        check.whole(self.name, cutoff=self.cutoff)
        self.check()

    def check(self) -> None:
        """Raise an error if a parameter is out of range; subclasses override."""

    def reads_lists(self, lists: SessionLists) -> bool:
        """Whether documents that an earlier list shows are left out; not if the user's clicks are followed."""
        return True

    def score(self, lists: SessionLists) -> Array:
        """One number per session."""
        terms = self.terms(lists)
        assert terms is not None
        return lists.sum(terms["adds"])

    def terms(self, lists: SessionLists) -> dict[str, Array] | None:
        """Numbers per document that explain the score, with what it adds; None if the score is not a sum."""
        return None

    def trail_rows(self, lists: SessionLists) -> dict[str, np.ndarray[Any, Any]] | None:
        """Columns that explain the score step by step, if it follows what the user reads; otherwise None."""
        return None

    def within(self, lists: SessionLists) -> Array:
        """1 for documents that count, 0 for those below the cutoff."""
        if self.cutoff is None:
            return np.ones(len(lists.position))
        return (lists.position <= self.cutoff).astype(np.float64)

    def __str__(self) -> str:
        changed = [
            f"{parameter.name}={show(getattr(self, parameter.name))}"
            for parameter in fields(self)
            if parameter.name != "cutoff" and getattr(self, parameter.name) != parameter.default
        ]
        settings = f"({','.join(changed)})" if changed else ""
        return f"{self.name}{settings}{'' if self.cutoff is None else f'@{self.cutoff}'}"

    __repr__ = __str__


FORMS = ("concatenated", "original")
NORMS = ("single", "repeated")


@session_measure
@dataclass(frozen=True, repr=False)
class sDCG(SessionMeasure):
    r"""Session DCG: gains fall with the rank in the lists end to end, and with the number of the query.

    .. math:: \sum_r \frac{g(r)}{\log_{b_q}(q(r) + b_q - 1)\,\log_b(r + b - 1)}, \qquad
        \text{original:}\ \sum_r \frac{g(r)}{(1 + \log_{b_q} q(r))\,\max(1, \log_b \text{rank}(r))}

    With `bq` 4 and `b` 2, the first is (35) of Sakai 2014: r is the rank in the lists end to end. `form="original"` is
    that of Järvelin et al.: the rank is that in the list of the query, nothing above rank b is discounted, and the
    query discounts by 1 + log_bq q. A session of one list has its DCG.
    No relevant documents: 0.
    Reference: Järvelin, Price, Delcambre & Nielsen, ECIR 2008, 4-15; Kanoulas et al., SIGIR 2011, 1053-1062

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> lists = SessionLists.of([Session("s", "1", (Query(("a", "b")), Query(("c",))))], {"1": {"a": 1, "c": 1}})
    >>> sDCG().score(lists).round(4).tolist()  # 1/(1 · 1) + 1/(log4(5) · log2(4))
    [1.4307]
    """

    bq: float = 4.0
    b: float = 2.0
    gain: GainLike = LINEAR
    form: str = "concatenated"

    name = "sDCG"

    def check(self) -> None:
        check.one_of(self.name, FORMS, form=self.form)
        for parameter in ("bq", "b"):
            value = getattr(self, parameter)
            check.finite(self.name, **{parameter: value})
            if not value > 1:
                raise check.wrong(self.name, parameter, value, "above 1")

    def discounts(self, query: Index, rank: Index, position: Index) -> tuple[Array, Array]:
        """The discounts by query and by rank."""
        if self.form == "original":
            return 1.0 + np.log(query) / np.log(self.bq), np.maximum(1.0, np.log(rank) / np.log(self.b))
        by_query = np.log(query + self.bq - 1.0) / np.log(self.bq)
        return by_query, np.log(position + self.b - 1.0) / np.log(self.b)

    def terms(self, lists: SessionLists) -> dict[str, Array]:
        gains = lists.gain(Gain.of(self.gain)) * self.within(lists)
        by_query, by_rank = self.discounts(lists.query, lists.rank, lists.position)
        return {
            "gain": gains, "query discount": by_query, "rank discount": by_rank, "adds": gains / (by_query * by_rank),
        }  # fmt: skip


@session_measure
@dataclass(frozen=True, repr=False)
class nsDCG(sDCG):
    r"""Normalised session DCG: sDCG divided by that of an ideal session.

    .. math:: \frac{\text{sDCG}}{\text{sDCG of the ideal session}}

    `norm="single"`: the ideal session has one query, whose list has all relevant documents, best first (Sakai 2014
    §3.2). `norm="repeated"`: it has as many queries as the session, and each list is the top of that ideal list, as
    long as the list that the session shows (Järvelin et al.); documents count again in every list, so that it belongs
    to duplicates that are kept. Only then can a score be above 1 with `norm="single"`.
    No relevant documents: undefined.
    Reference: Järvelin, Price, Delcambre & Nielsen, ECIR 2008, 4-15; Kanoulas et al., SIGIR 2011, 1053-1062

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> lists = SessionLists.of([Session("s", "1", (Query(("a", "b")), Query(("c",))))], {"1": {"a": 1, "c": 1}})
    >>> nsDCG().score(lists).round(4).tolist()  # 1.4307 / (1 + 1/log2(3))
    [0.8772]
    """

    norm: str = "single"

    name = "nsDCG"
    highest = 1.0

    def check(self) -> None:
        super().check()
        check.one_of(self.name, NORMS, norm=self.norm)

    def terms(self, lists: SessionLists) -> dict[str, Array]:
        parts = super().terms(lists)
        ideal = self.ideal(lists)[lists.session]
        parts["ideal sDCG"] = ideal
        parts["adds"] = parts["adds"] / np.where(ideal > 0, ideal, np.nan)
        return parts

    def score(self, lists: SessionLists) -> Array:
        ideal = self.ideal(lists)
        total = lists.sum(sDCG.terms(self, lists)["adds"])
        return np.asarray(total / np.where(ideal > 0, ideal, np.nan))

    def ideal(self, lists: SessionLists) -> Array:
        """The sDCG of the ideal session of each session."""
        known: dict[tuple[bytes, tuple[int, ...]], float] = {}
        values = np.zeros(len(lists))
        for number, gains in enumerate(lists.ideal_gains(Gain.of(self.gain))):
            sizes = (len(gains),) if self.norm == "single" else lists.sizes[number]
            key = (gains.tobytes(), sizes)
            if key not in known:
                known[key] = self._ideal_of(gains, sizes)
            values[number] = known[key]
        return values

    def _ideal_of(self, gains: Array, sizes: tuple[int, ...]) -> float:
        total, position = 0.0, 0
        for asked, size in enumerate(sizes, 1):
            top = gains[:size]
            rank = np.arange(1, len(top) + 1)
            kept = top if self.cutoff is None else np.where(position + rank <= self.cutoff, top, 0.0)
            by_query, by_rank = self.discounts(np.full(len(top), asked), rank, position + rank)
            total += float(np.sum(kept / (by_query * by_rank)))
            position += size
        return total


@session_measure
@dataclass(frozen=True, repr=False)
class sRBP(SessionMeasure):
    r"""Session RBP: a reader who goes on with probability p, down the list (b) or to the next query (1 − b).

    .. math:: (1 - p) \sum_q \left(\frac{p - bp}{1 - bp}\right)^{q-1} \sum_r (bp)^{r-1}\,g(q, r)

    `b` balances reading on against a new query; with b = 1 the reader stays in the first list, and the score is its
    RBP. Documents of grade `rel` or above count 1. The defaults of `p` and `b` are ours.
    No relevant documents: 0.
    Reference: Lipani, Carterette & Yilmaz, ICTIR 2019: From a User Model for Query Sessions to Session Rank
    Biased Precision

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> lists = SessionLists.of([Session("s", "1", (Query(("a", "b")), Query(("c",))))], {"1": {"a": 1, "c": 1}})
    >>> sRBP(p=0.8, b=0.5).score(lists).round(4).tolist()  # 0.2 · (1 + 0.4/0.6)
    [0.3333]
    """

    p: float = 0.8
    b: float = 0.8
    rel: float = 1

    name = "sRBP"
    highest = 1.0

    def check(self) -> None:
        check.finite(self.name, p=self.p, b=self.b, rel=self.rel)
        check.between(self.name, low=0, high=1, p=self.p, b=self.b)
        if self.p == 1:
            raise check.wrong(self.name, "p", self.p, "below 1")

    def terms(self, lists: SessionLists) -> dict[str, Array]:
        onward = self.p * self.b
        to_query = np.power((self.p - onward) / (1.0 - onward), lists.query - 1.0)
        to_rank = np.power(onward, lists.rank - 1.0)
        relevant = lists.relevant(self.rel) * self.within(lists)
        return {
            "gain": relevant, "reaches query": to_query, "reaches rank": to_rank,
            "adds": (1.0 - self.p) * to_query * to_rank * relevant,
        }  # fmt: skip


@session_measure
@dataclass(frozen=True, repr=False)
class sFreq(SessionMeasure):
    r"""The frequency of observing a relevant document: the share of the documents that a user observes.

    .. math:: \frac{|\{\text{relevant documents observed}\}|}{|\{\text{documents observed}\}|}

    The session is a stream of documents: those of its lists, end to end, whatever the query. Lists that are cut at the
    lowest click (`cut="lowest-click"`) hold what the user probably saw. Documents of grade `rel` or above are
    relevant. A session of one list has its precision. The paper was not at hand: the definition follows the name that
    Sakai 2014 §3.2 gives.
    No relevant documents, or nothing observed: 0.
    Reference: Azzopardi, Usage Based Effectiveness Measures, CIKM 2009, 631-640

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> lists = SessionLists.of([Session("s", "1", (Query(("a", "b")), Query(("c",))))], {"1": {"a": 1, "c": 1}})
    >>> sFreq().score(lists).round(4).tolist()
    [0.6667]
    """

    rel: float = 1

    name = "sFreq"
    highest = 1.0

    def terms(self, lists: SessionLists) -> dict[str, Array]:
        observed = self.within(lists)
        relevant = lists.relevant(self.rel) * observed
        seen = lists.sum(observed)[lists.session]
        return {"observed": observed, "relevant": relevant, "adds": relevant / np.maximum(seen, 1.0)}


@session_measure
@dataclass(frozen=True, repr=False)
class sMP(SessionMeasure):
    r"""Session Markov Precision: precision at relevant documents, weighted by how often a reader is there.

    .. math:: \sum_{(q,i) \in \mathcal{R}} \pi_{qi}\,\frac{C_q(i)}{i}

    Within a list the reader moves up and down, and asks the next query with probability `reformulate` after each
    document; the formula of the chain is in `cranfield.measures.readers.markov`. `moves` and `distance` are those of
    MP. π is restricted to relevant documents, and C_q(i) counts relevant documents in the document's own list.
    No relevant documents: 0.
    Reference: van Dijk, Ferrante, Ferro & Kanoulas, ECIR 2019, 621-635 (the idea; the formula is ours)

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> session = Session("s", "1", (Query(("a", "b")), Query(("c", "d"))))
    >>> lists = SessionLists.of([session], {"1": {"b": 1, "c": 1}})
    >>> sMP(reformulate=0.5, moves="adjacent").score(lists).round(4).tolist()
    [0.8333]
    """

    reformulate: float = 0.2
    moves: str = "global"
    distance: str = "inverse"
    rel: float = 1

    name = "sMP"
    highest = 1.0
    takes_cutoff = False

    def check(self) -> None:
        check_session_model(self.model(), self.reformulate, self.name)
        if self.reformulate == 1:  # nobody would read the second document of a list
            raise check.wrong(self.name, "reformulate", self.reformulate, "above 0 and below 1")

    def model(self) -> MP:
        """How the reader moves within a list."""
        return MP(moves=self.moves, distance=self.distance, rel=self.rel)

    def terms(self, lists: SessionLists) -> dict[str, Array]:
        relevant = lists.relevant(self.rel)
        so_far = np.cumsum(relevant)
        top = np.arange(len(relevant)) - lists.rank + 1  # where the list of each document begins
        precision = (so_far - so_far[top] + relevant[top]) / lists.rank
        visits = np.zeros(len(relevant))
        for sizes, sessions in lists.shapes.items():
            kept = tuple(size for size in sizes if size)
            if kept:
                at = lists.start[sessions][:, None] + np.arange(sum(kept))[None, :]
                visits[at] = session_visits(kept, self.model(), self.reformulate)
        total = np.bincount(lists.session, visits * relevant, len(lists))
        share = visits * relevant / np.where(total > 0, total, 1.0)[lists.session]
        return {"gain": relevant, "precision": precision, "share of visits": share, "adds": share * precision}


def as_session_measure(thing: SessionMeasure | str) -> SessionMeasure:
    """The measure of sessions with this name, such as `nsDCG(norm="repeated")@10`.

    >>> as_session_measure("sRBP(p=0.9)"), as_session_measure("sDCG@10")
    (sRBP(p=0.9), sDCG@10)
    """
    from cranfield.measures.naming.spelling import split_name

    if isinstance(thing, SessionMeasure):
        return thing
    parts = split_name(str(thing))
    kind = SESSION_MEASURES.get(parts.name)
    if kind is None:
        folded = {name.casefold(): known for name, known in SESSION_MEASURES.items()}
        kind = folded.get(parts.name.casefold())
    if kind is None or parts.views or parts.module:
        raise check.nearest(str(thing), list(SESSION_MEASURES), "measure of sessions")
    settings: Mapping[str, Any] = parts.parameters or {}
    known = [parameter.name for parameter in fields(kind) if parameter.name != "cutoff"]
    for parameter in settings:
        if parameter not in known:
            raise check.nearest(parameter, known, f"parameter of {kind.name}")
    if parts.cutoff is not None and parts.cutoff != int(parts.cutoff):
        raise check.wrong(kind.name, "cutoff", parts.cutoff, "a whole number, 1 or more")
    return kind(**settings, cutoff=None if parts.cutoff is None else int(parts.cutoff))
