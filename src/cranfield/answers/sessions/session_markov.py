"""Markov Precision of sessions, all at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield import check
from cranfield.answers.sessions.session_lists import SessionLists
from cranfield.answers.sessions.session_measures import SessionMeasure, session_measure
from cranfield.measures.markov import MP
from cranfield.measures.markov_sessions import check_session_model, session_visits
from cranfield.types import Array


@session_measure
@dataclass(frozen=True, repr=False)
class sMP(SessionMeasure):
    r"""Session Markov Precision: precision at relevant documents, weighted by how often a reader is there.

    .. math:: \sum_{(q,i) \in \mathcal{R}} \pi_{qi}\,\frac{C_q(i)}{i}

    Within a list the reader moves up and down, and asks the next query with probability `reformulate` after each
    document; the formula of the chain is in `cranfield.measures.markov_sessions`. `moves` and `distance` are those of
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
