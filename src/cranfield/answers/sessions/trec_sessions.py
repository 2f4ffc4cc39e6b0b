"""Sessions in the XML of the TREC Session tracks, and the files that give the topic of each session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from xml.etree import ElementTree

from cranfield.answers.sessions.session_files import (
    NO_TOPIC,
    REPEATED,
    TIMELESS,
    Click,
    Faults,
    Query,
    Session,
    Sessions,
    is_known,
    made_query,
    made_session,
)  # fmt: skip
from cranfield.answers.sessions.session_files import seconds as as_seconds
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import TOPIC, Schema, Words
from cranfield.errors import DataError
from cranfield.text import counted, listed, shown

IDS = ("clueweb12id", "clueweb09id", "docno", "docid", "url")
"""Elements that name a document, the first that is there is used."""
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|&#(?:x0*[0-8bcef]|x0*1[0-9a-f]|0*(?:[0-8]|1[124-9]|2[0-9]|3[01]));",
    re.IGNORECASE,
)
"""Characters that XML does not allow, which pages bring into titles and snippets; also as references, such as &#11;."""
DAY = 24 * 3600.0
SESSION_TOPICS = Schema(
    "session topic", layouts=["session topic" + " -" * more for more in range(98)], mixed=True, comments=True,
    session=Words(("session", "session_id", "sessionid", "session_num", "sessionnum", "session_number")),
    topic=replace(TOPIC, words=(*TOPIC.words, "topic_num", "topicnum", "topic_number")),
)  # fmt: skip


@dataclass(frozen=True)
class _Place:
    """Where an element is, for messages."""

    origin: str
    where: str
    began: float | None = None
    """The clock at which the session began; a clock of half a day before it is of the next day."""

    def fault(self, what: str) -> DataError:
        return DataError(self.origin, None, f"{self.where}: {what}")


def trec_sessions(text: str, origin: str) -> Sessions:
    """Sessions of the TREC Session tracks of 2011 to 2014: `session`, `topic`, `interaction`, `results`, `clicked`.

    An interaction of type `page` is a further page of the query above it, and its documents are added to the list of
    that query. A click says the name of its document, its rank, or both. The query that participants had to answer
    (`currentquery`) has no list and is left out, and so is a session that has nothing else. The files of 2011 and 2012
    do not name the topic, see `read_session_topics`. Times are seconds, or clocks, which may pass midnight; one that is
    NA is not known. Characters that XML does not allow become blanks. Entities that a file declares itself are not
    read.
    """
    if "<!ENTITY" in text:
        raise DataError(origin, None, "declares entities, which are not read; write the text in their place")
    text, forbidden = FORBIDDEN.subn(" ", text)
    try:
        root = ElementTree.fromstring(text)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise DataError(origin, line, "a byte that is not UTF-8; convert the file to UTF-8") from None
    except ElementTree.ParseError as error:
        raise DataError(origin, error.position[0], f"not valid XML: {error}") from None
    faults = Faults()
    made: dict[str, Session] = {}
    seen: set[str] = set()
    current, unasked = 0, []
    for element in root.iter("session"):
        name = (element.get("num") or element.get("id") or "").strip()
        if not name:
            raise DataError(origin, None, 'a session has no number; expected <session num="1">')
        if name in seen:
            raise DataError(origin, None, f"session {name!r} appears twice")
        seen.add(name)
        current += len(element.findall("currentquery"))
        if session := _session(element, name, origin, faults):
            made[name] = session
        else:
            unasked.append(f"session {name}")
    if not seen:
        raise DataError(origin, None, f"holds no sessions: the XML has <{root.tag}>, but no <session>")
    if not made:
        raise DataError(origin, None, f"holds no session with an interaction: {listed(unasked)}")
    notes = faults.notes()
    if forbidden:
        notes += (f"{forbidden:,} × character that XML does not allow, read as a blank",)
    if current:
        notes += (f"{current:,} × current query without a list, left out",)
    if unasked:
        notes += (f"{len(unasked):,} × session without an interaction, left out: {listed(unasked, 3)}",)
    return Sessions(tuple(made.values()), notes, origin)


def _session(element: ElementTree.Element, name: str, origin: str, faults: Faults) -> Session | None:
    topic_element = element.find("topic")
    topic = None
    if topic_element is not None:
        names = (topic_element.get("num"), topic_element.get("id"), topic_element.text)
        topic = next((text for name in names if (text := (name or "").strip())), None)
    began = next((clock for part in (element, element.find("interaction")) if (clock := _clock(part))), None)
    here = _Place(origin, f"session {name}", began)
    numbered: dict[int, ElementTree.Element] = {}
    for at, interaction in enumerate(element.findall("interaction"), 1):
        written = interaction.get("num") or str(at)
        if not _is_number(written):
            raise here.fault(f"an interaction has num {shown(written)}, expected a number")
        if int(written) in numbered:
            raise here.fault(f"interaction {written} appears twice")
        numbered[int(written)] = interaction
    pages: list[list[ElementTree.Element]] = []
    for at in sorted(numbered):
        if numbered[at].get("type") == "page" and pages:
            pages[-1].append(numbered[at])
        else:
            pages.append([numbered[at]])
    queries = [
        _query(parts, replace(here, where=f"session {name}, query {at}"), faults) for at, parts in enumerate(pages, 1)
    ]
    return made_session(name, topic, queries, here.where, faults) if queries else None


def _query(pages: list[ElementTree.Element], place: _Place, faults: Faults) -> Query:
    """A query with all pages of its list."""
    documents: dict[str, int] = {}
    clicks: list[Click] = []
    for page in pages:
        at_rank = _results(page, place)
        names = [at_rank[rank] for rank in sorted(at_rank)]
        for _ in range(len(names) - len(set(names))):
            faults.add(REPEATED, place.where)
        for name in names:
            documents.setdefault(name, len(documents) + 1)
        numbered = [
            (int(number) if _is_number(number := click.get("num") or "") else at, click)
            for at, click in enumerate(page.findall("clicked/click"), 1)
        ]
        for _, click in sorted(numbered, key=lambda entry: entry[0]):
            clicks.append(_click(click, at_rank, documents, place, faults))
    text = (pages[0].findtext("query") or "").strip()
    return made_query(list(documents), clicks, text, _time(pages[0], "starttime", place, faults), place.where, faults)


def _results(page: ElementTree.Element, place: _Place) -> dict[int, str]:
    """The document at each rank of a page; a second page begins at rank 11."""
    at_rank: dict[int, str] = {}
    for at, result in enumerate(page.findall("results/result"), 1):
        rank = result.get("rank") or str(at)
        name = _document(result)
        if not _is_number(rank) or int(rank) < 1:
            raise place.fault(f"a result has rank {shown(rank)}, expected a number, 1 or above")
        if name is None:
            raise place.fault(f"result {rank} has no document; expected one of {', '.join(IDS)}")
        if int(rank) in at_rank:
            raise place.fault(f"rank {rank} appears twice")
        at_rank[int(rank)] = name
    return at_rank


def _click(
    click: ElementTree.Element, at_rank: Mapping[int, str], documents: Mapping[str, int], place: _Place, faults: Faults
) -> Click:
    """A click by the name of its document, or else by the rank that its page shows."""
    rank = (click.findtext("rank") or click.get("rank") or "").strip()
    named = _document(click) or ""
    if named not in at_rank.values():
        named = at_rank.get(int(rank), "") if _is_number(rank) else ""
    times = [_time(click, key, place, faults) for key in ("starttime", "endtime")]
    return Click(documents.get(named, 0), *times)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _document(element: ElementTree.Element) -> str | None:
    for name in IDS:
        if text := (element.findtext(name) or "").strip():
            return text
    return None


def _time(element: ElementTree.Element, key: str, place: _Place, faults: Faults) -> float | None:
    written = element.get(key) or ""
    if not is_known(written):
        if written:
            faults.add(TIMELESS.format(key, written.strip()), place.where)
        return None
    time = as_seconds(written)
    if time is None:
        raise place.fault(f"{key} is {shown(written)}, expected seconds or a clock such as 10:20:55")
    midnight_passed = ":" in written and place.began is not None and time < place.began - DAY / 2
    return time + DAY if midnight_passed else time


def _clock(element: ElementTree.Element | None) -> float | None:
    """When an element starts, if it gives a clock."""
    written = "" if element is None else element.get("starttime") or ""
    return as_seconds(written) if ":" in written else None


def read_session_topics(path: PathLike) -> dict[str, str]:
    """The topic of each session: lines that begin with session and topic, as the TREC Session tracks give them.

    Further columns, such as a subtopic, are not used. The first line may name the columns.
    """
    topics: dict[str, str] = {}
    rows = SESSION_TOPICS.read(path)
    for row, (session, topic) in enumerate(rows):
        if topics.setdefault(session, topic) != topic:
            message = f"session {session!r} has topic {topic!r} here, but {topics[session]!r} above"
            raise rows.fault(row, f"{message}; a session has one topic")
    return topics


def with_topics(sessions: Sessions, topics: Mapping[str, str]) -> Sessions:
    """Sessions with the topics that a table gives; those that it lacks keep their own.

    >>> with_topics(Sessions((Session("s", None, ()),)), {"s": "301"}).sessions[0].topic
    '301'
    """
    named = tuple(replace(session, topic=topics.get(session.name, session.topic)) for session in sessions.sessions)
    known = {session.name for session in named}
    if not known & set(topics):
        message = f"no session of {sessions.origin} is among those with a topic"
        raise DataError(sessions.origin, None, f"{message}: {listed(topics)}")
    lacking = [f"session {session.name}" for session in named if session.topic is None]
    notes = [note for note in sessions.notes if NO_TOPIC not in note]
    if lacking:
        notes.append(f"{len(lacking):,} × {NO_TOPIC}: {listed(lacking, 3)}")
    if more := len(set(topics) - known):
        notes.append(f"{counted(more, 'session')} with a topic, but not among the sessions")
    return Sessions(named, tuple(notes), sessions.origin)
