"""Sessions in the XML of the TREC Session tracks."""

from __future__ import annotations

from xml.etree import ElementTree

from cranfield.answers.sessions.session_files import Click, Faults, Query, Session, Sessions, made_query, made_session
from cranfield.answers.sessions.session_files import seconds as as_seconds
from cranfield.errors import DataError
from cranfield.text import shown

IDS = ("clueweb12id", "clueweb09id", "docno", "docid", "url")
"""Elements that name a document, the first that is there is used."""


def trec_sessions(text: str, origin: str) -> Sessions:
    """Sessions of the TREC Session tracks of 2011 to 2014: `session`, `topic`, `interaction`, `results`, `clicked`.

    The query that participants had to answer (`currentquery`) has no list, and is left out. A click says the rank of
    its document, or its name. Entities that a file declares itself are not read.
    """
    if "<!ENTITY" in text:
        raise DataError(origin, None, "declares entities, which are not read; write the text in their place")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise DataError(origin, error.position[0], f"not valid XML: {error}") from None
    faults = Faults()
    made: dict[str, Session] = {}
    left_out = 0
    for element in root.iter("session"):
        name = element.get("num") or element.get("id")
        if not name:
            raise DataError(origin, None, 'a session has no number; expected <session num="1">')
        if name in made:
            raise DataError(origin, None, f"session {name!r} appears twice")
        made[name] = _session(element, name, origin, faults)
        left_out += len(element.findall("currentquery"))
    if not made:
        raise DataError(origin, None, f"holds no sessions: the XML has <{root.tag}>, but no <session>")
    notes = faults.notes()
    if left_out:
        notes += (f"{left_out:,} × current query without a list, left out",)
    return Sessions(tuple(made.values()), notes, origin)


def _session(element: ElementTree.Element, name: str, origin: str, faults: Faults) -> Session:
    topic_element = element.find("topic")
    topic = None
    if topic_element is not None:
        topic = topic_element.get("num") or topic_element.get("id") or (topic_element.text or "").strip() or None
    numbered: dict[int, Query] = {}
    for at, interaction in enumerate(element.findall("interaction"), 1):
        written = interaction.get("num") or str(at)
        if not written.isdigit():
            raise DataError(origin, None, f"session {name}: an interaction has num {shown(written)}, expected a number")
        if int(written) in numbered:
            raise DataError(origin, None, f"session {name}: interaction {written} appears twice")
        numbered[int(written)] = _query(interaction, f"session {name}, query {written}", origin, faults)
    if not numbered:
        raise DataError(origin, None, f"session {name} has no interaction")
    return made_session(name, topic, [numbered[at] for at in sorted(numbered)], f"session {name}", faults)


def _query(interaction: ElementTree.Element, place: str, origin: str, faults: Faults) -> Query:
    shown_at: dict[int, str] = {}
    for at, result in enumerate(interaction.findall("results/result"), 1):
        rank = result.get("rank") or str(at)
        name = _document(result)
        if not rank.isdigit() or int(rank) < 1:
            raise DataError(origin, None, f"{place}: a result has rank {shown(rank)}, expected a number, 1 or above")
        if name is None:
            raise DataError(origin, None, f"{place}: result {rank} has no document; expected one of {', '.join(IDS)}")
        if int(rank) in shown_at:
            raise DataError(origin, None, f"{place}: rank {rank} appears twice")
        if name in shown_at.values():
            raise DataError(origin, None, f"{place}: document {name!r} appears twice in one list")
        shown_at[int(rank)] = name
    ranks = sorted(shown_at)
    documents = [shown_at[rank] for rank in ranks]
    place_of = {rank: number for number, rank in enumerate(ranks, 1)}  # a second page begins at rank 11
    clicks: list[tuple[int, Click]] = []
    for at, click in enumerate(interaction.findall("clicked/click"), 1):
        number, rank = click.get("num") or str(at), (click.findtext("rank") or click.get("rank") or "").strip()
        document = _document(click)
        position = place_of.get(int(rank), 0) if rank.isdigit() else 0
        if not rank and document in documents:
            position = documents.index(document) + 1
        order = int(number) if number.isdigit() else at
        clicks.append((order, Click(position, *(_time(click, key, place, origin) for key in ("starttime", "endtime")))))
    clicks.sort(key=lambda entry: entry[0])
    text = (interaction.findtext("query") or "").strip()
    made = [click for _, click in clicks]
    return made_query(documents, made, text, _time(interaction, "starttime", place, origin), place, faults)


def _document(element: ElementTree.Element) -> str | None:
    for name in IDS:
        if text := (element.findtext(name) or "").strip():
            return text
    return None


def _time(element: ElementTree.Element, key: str, place: str, origin: str) -> float | None:
    written = element.get(key)
    if not written:
        return None
    time = as_seconds(written)
    if time is None:
        message = f"{place}: {key} is {shown(written)}, expected seconds or a clock such as 10:20:55"
        raise DataError(origin, None, message)
    return time
