"""Scores of sessions: measure × system × session, and how the score of one session comes about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield.answers.sessions.click_trails import sCost, sU
from cranfield.answers.sessions.session_files import Session, Sessions
from cranfield.answers.sessions.session_lists import ListSettings, SessionLists
from cranfield.answers.sessions.session_measures import SessionMeasure, as_session_measure
from cranfield.declared.operation import operation
from cranfield.errors import UsageError
from cranfield.measures.readers.time import Trailtext
from cranfield.notes import rewritten
from cranfield.record import Record
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed

Runs = Mapping[str, Sessions | Iterable[Session]]
DEFAULT = ("sDCG", "nsDCG", "sRBP", "esP@10", "esAP", "esNDCG")


@operation
def session_scores(
    runs: Runs,
    qrels: Mapping[str, Mapping[str, float]] | None = None,
    measures: Iterable[SessionMeasure | str] = DEFAULT,
    **settings: Unpack[ListSettings],
) -> Scores:
    """Score the sessions of each system; the session takes the place of the topic.

    settings: those of `SessionLists.of`, such as gains="clicks", cut="lowest-click", depth=10, lengths=.
    A session that another system has and this one lacks is missing, with score 0.

    >>> from cranfield.answers.sessions import Query
    >>> runs = {"mine": [Session("s1", "1", (Query(("a", "b")), Query(("c",))))]}
    >>> session_scores(runs, {"1": {"a": 1, "c": 1}}, ["sDCG", "esP@2"]).values.ravel().round(4).tolist()
    [1.4307, 0.5926]
    """
    wanted = list(dict.fromkeys(map(as_session_measure, measures)))
    if not wanted:
        raise UsageError("no measures of sessions are given")
    if not runs:
        raise UsageError("no sessions are given")
    laid: dict[str, SessionLists] = {}
    notes: list[str] = []
    for run, sessions in runs.items():
        every = sessions.sessions if isinstance(sessions, Sessions) else tuple(sessions)
        lists = laid[run] = SessionLists.of(every, qrels, **settings)
        before = f"{run}: " if len(runs) > 1 else ""
        left_out = lists.repeated if any(measure.reads_lists(lists) for measure in wanted) else ()
        notes += [
            rewritten(note, f"{before}{note}") for note in (*getattr(sessions, "notes", ()), *left_out, *lists.notes)
        ]
        if lists.undefined.all():
            topics = list(dict.fromkeys(session.topic for session in every if session.topic))
            if not topics:
                way_out = "give the topics of a file: with_topics(sessions, read_session_topics(file))"
                raise UsageError(f"{run}: no session names its topic, so none can be judged; {way_out}")
            raise UsageError(f"{run}: no session has a topic with judgments; its topics are {listed(topics)}")
    names = list(dict.fromkeys(session.name for lists in laid.values() for session in lists.sessions))
    place = {name: at for at, name in enumerate(names)}
    values = np.zeros((len(wanted), len(laid), len(names)))
    missing = np.ones((len(laid), len(names)), dtype=bool)
    for r, lists in enumerate(laid.values()):
        at = np.array([place[session.name] for session in lists.sessions])
        missing[r, at] = False
        for m, measure in enumerate(wanted):
            values[m, r, at] = measure.score(lists)
    for m, measure in enumerate(wanted):
        if measure.better == "lower":
            values[m][missing] = np.nan  # a session that was never run cost nothing
    return Scores(list(map(str, wanted)), list(laid), names, values, missing, "zero", notes)


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedSession(Record):
    """How a measure scores a session, document by document."""

    run: str
    session: str
    measure: str
    score: float
    rows: Mapping[str, NDArray[Any]]
    notes: tuple[str, ...] = ()

    facts: ClassVar[tuple[str, ...]] = ("run", "session", "measure", "score")

    def columns(self) -> dict[str, NDArray[Any]]:
        """A row per document of the lists end to end."""
        return dict(self.rows)


def explain_session(
    session: Session,
    qrels: Mapping[str, Mapping[str, float]] | None,
    measure: SessionMeasure | str,
    *,
    run: str = "",
    **settings: Unpack[ListSettings],
) -> ExplainedSession:
    """What each document of a session adds to a measure, with its discounts; for U and costs, what each step adds.

    >>> from cranfield.answers.sessions import Query
    >>> session = Session("s1", "1", (Query(("a", "b")), Query(("c",))))
    >>> print(explain_session(session, {"1": {"a": 1, "c": 1}}, "sDCG"))
    query  rank  position  document   grade    gain  query discount  rank discount    adds
        1     1         1  a         1.0000  1.0000          1.0000         1.0000  1.0000
        1     2         2  b              -  0.0000          1.0000         1.5850  0.0000
        2     1         3  c         1.0000  1.0000          1.1610         2.0000  0.4307
    sDCG of session s1: 1.4307
    """
    wanted = as_session_measure(measure)
    lists = SessionLists.of([session], qrels, **settings)
    score = float(wanted.score(lists)[0])
    rows = wanted.trail_rows(lists)
    if rows is None:
        rows = {
            "query": lists.query, "rank": lists.shown_rank, "position": lists.position,
            "document": np.array(lists.document, dtype=object), "grade": lists.grade,
        }  # fmt: skip
        if lists.clicked.any():
            rows["clicked"] = lists.clicked
        rows |= wanted.terms(lists) or {}
    left_out = lists.repeated if wanted.reads_lists(lists) else ()
    notes = [*left_out, *lists.notes]
    if isinstance(wanted, sCost) and (unread := len(session.queries) - int(rows["queries"].sum())):
        notes.append(f"{counted(unread, 'further query', 'further queries')}: {wanted.query * unread:g} s")
    notes.append(f"{wanted} of session {session.name}: {score:.4f}")
    return ExplainedSession(run, session.name, str(wanted), score, rows, tuple(notes))


def session_trailtext(measure: sU, lists: SessionLists) -> Trailtext:
    """The text that the user of the first session reads: snippets, and parts of the documents that are opened.

    `U.of_trailtext` gives it the same score.
    """
    rows = measure.trail_rows(lists)
    strings: list[tuple[float, float, str]] = []
    names = ("query", "rank", "document", "snippets", "snippet text", "document text", "gain")
    for query, rank, doc, snippets, text, read, gain in zip(*(rows[name].tolist() for name in names), strict=True):
        if snippets:
            first = int(rank) - int(snippets) + 1
            which = f"snippet {rank}" if snippets == 1 else f"snippets {first} to {rank}"
            strings.append((text, 0.0, f"query {query}: {which}"))
        if read > 0 or gain > 0:
            strings.append((read, gain, f"query {query}: document {rank} ({doc})"))
    if not strings:
        return Trailtext((), (), ())
    return Trailtext(*zip(*strings, strict=True))
