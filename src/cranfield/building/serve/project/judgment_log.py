"""The log of judgments: record one, take one back, read what stands.

The functions run inside a transaction and get its connection. A judgment that a client sends again, with the same
request, is not recorded again: the answer is the same as the first time.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cranfield.building.serve.database.database import Connection, Row
from cranfield.errors import UsageError
from cranfield.text import shown

STATES = ("graded", "cannot", "later")
"""What an assessor says of a document: a grade, "cannot judge", or "later"."""
COUNTED = ("pool", "found")
"""The purposes of offers that count; gold and repeated documents only check the assessor."""
LONGEST_REASON = 10_000
LONGEST_PAYLOAD = 200_000
LONGEST_REQUEST = 100
FIELDS = (
    "id", "request", "topic", "doc", "assessor", "action", "state", "grade", "payload", "reason", "milliseconds",
    "position", "judged_at", "purpose", "counted", "supersedes", "restores", "guideline", "offer",
)  # fmt: skip
_COLUMNS = ", ".join(FIELDS)
_GIVEN = tuple(name for name in FIELDS[1:] if name not in ("position", "guideline"))
_INSERT = f"""INSERT INTO judgment ({", ".join(_GIVEN)}, position, guideline) VALUES ({", ".join("?" * len(_GIVEN))},
    (SELECT COALESCE(MAX(position), 0) + 1 FROM judgment WHERE assessor = ?), (SELECT MAX(version) FROM guideline))
    RETURNING id, position, guideline"""
_FIRST_GIVEN = tuple(name for name in _GIVEN if name not in ("counted", "supersedes", "restores"))
_NUMBERS = {"grade": "DOUBLE PRECISION", "judged_at": "DOUBLE PRECISION", "milliseconds": "INTEGER", "offer": "BIGINT"}
"""The types of values that PostgreSQL would take for text."""
_FIRST = f"""INSERT INTO judgment ({", ".join(_FIRST_GIVEN)}, counted, position, guideline)
    SELECT {", ".join(f"CAST(? AS {_NUMBERS[name]})" if name in _NUMBERS else "?" for name in _FIRST_GIVEN)},
    CASE WHEN (SELECT COUNT(*) FROM current_qrels WHERE topic = ? AND doc = ? AND assessor <> ?) < ? THEN 1 ELSE 0 END,
    (SELECT COALESCE(MAX(position), 0) + 1 FROM judgment WHERE assessor = ?), (SELECT MAX(version) FROM guideline)
    WHERE NOT EXISTS (SELECT 1 FROM judgment WHERE topic = ? AND doc = ? AND assessor = ?)
    ON CONFLICT (request) DO NOTHING RETURNING id, position, guideline, counted"""
_BY_REQUEST = f"SELECT {_COLUMNS} FROM judgment WHERE request = ?"
_LAST, _LAST_REPEAT = (
    f"""SELECT {_COLUMNS} FROM judgment AS j WHERE topic = ? AND doc = ? AND assessor = ? AND purpose {same} 'repeat'
    AND NOT EXISTS (SELECT 1 FROM judgment AS later WHERE later.supersedes = j.id)"""
    for same in ("<>", "=")
)
_JUDGED_BY_OTHERS = "SELECT COUNT(*) FROM current_qrels WHERE topic = ? AND doc = ? AND assessor <> ?"
_MINE = "SELECT 1 FROM offer WHERE topic = ? AND doc = ? AND assessor = ? AND state = 'open' AND expires_at > ?"
_LEASED_BY_OTHERS = """SELECT COUNT(*) FROM offer WHERE topic = ? AND doc = ? AND assessor <> ? AND state = 'open'
    AND expires_at > ? AND purpose IN ('pool', 'found')"""


class Entry(NamedTuple):
    """A judgment as an assessor sends it."""

    request: str
    """Made by the client, and the same when it tries again."""
    topic: str
    doc: str
    assessor: str
    state: str = "graded"
    grade: float | None = None
    payload: Mapping[str, Any] | None = None
    """What a mode of judging has beyond one grade: grades by intent or dimension, spans, a preference."""
    reason: str = ""
    milliseconds: int | None = None
    purpose: str = "pool"
    offer: int | None = None

    def of(self, offer: int, purpose: str) -> Entry:
        """The entry as the answer to an offer."""
        return self._replace(offer=offer, purpose=purpose)

    def check(self) -> None:
        """Raise an error for an entry that cannot be recorded."""
        if not (isinstance(self.request, str) and 8 <= len(self.request) <= LONGEST_REQUEST):
            raise UsageError(f"request == {shown(self.request)}, must be text of 8 to {LONGEST_REQUEST} characters")
        if self.state not in STATES:
            raise UsageError(f"state == {shown(self.state)}, must be one of {', '.join(STATES)}")
        if (self.state == "graded") != (self.grade is not None or self.payload is not None):
            raise UsageError("a judgment must have a grade, or say that the document cannot be judged")
        if len(self.reason) > LONGEST_REASON:
            raise UsageError(f"the reason has {len(self.reason):,} characters, at most {LONGEST_REASON:,} are allowed")
        if len(self.payload_text or "") > LONGEST_PAYLOAD:
            raise UsageError(f"the judgment is too long: more than {LONGEST_PAYLOAD:,} characters")
        if self.milliseconds is not None and not 0 <= self.milliseconds < 2**31:
            raise UsageError(f"milliseconds == {shown(self.milliseconds)}, must be 0 or more, and below 2^31")

    @property
    def payload_text(self) -> str | None:
        """The payload as JSON, the same text for the same content."""
        return None if self.payload is None else json.dumps(self.payload, ensure_ascii=False, sort_keys=True)


class LogRow(NamedTuple):
    """A row of the log; `schema` describes the columns."""

    id: int
    request: str
    topic: str
    doc: str
    assessor: str
    action: str
    state: str
    grade: float | None
    payload: str | None
    reason: str
    milliseconds: int | None
    position: int
    judged_at: float
    purpose: str
    counted: int
    supersedes: int | None
    restores: int | None
    guideline: int | None
    offer: int | None

    @property
    def contents(self) -> tuple[Any, ...]:
        """What the assessor said, without when and in which order."""
        return self.topic, self.doc, self.assessor, self.state, self.grade, self.payload, self.reason


def add_first(connection: Connection, entry: Entry, *, overlap: int, now: float) -> LogRow | None:
    """Add a judgment of a document that the assessor has; None if they judged it before, or the request is known.

    This is what nearly every judgment is, in one statement; `add` does the others.
    """
    entry.check()
    most = overlap if entry.purpose in COUNTED and entry.state == "graded" else 0
    values = (
        entry.request, entry.topic, entry.doc, entry.assessor, "judge", entry.state, entry.grade, entry.payload_text,
        entry.reason, entry.milliseconds, now, entry.purpose, entry.offer,
    )  # fmt: skip
    place = (entry.topic, entry.doc, entry.assessor)
    rows = connection.run(_FIRST, (*values, *place, most, entry.assessor, *place))
    if not rows:
        return None
    ((id, position, guideline, counted),) = rows
    return LogRow(id, *values[:10], position, now, entry.purpose, counted, None, None, guideline, entry.offer)


def record(connection: Connection, entry: Entry, *, overlap: int, now: float) -> LogRow:
    """Add a judgment, unless its request is known. See `add`."""
    known = repeated(connection, entry)
    if known is not None:
        return known
    last = last_of_chain(connection, entry.topic, entry.doc, entry.assessor, entry.purpose)
    return add(connection, entry, last, overlap=overlap, now=now)


def repeated(connection: Connection, entry: Entry) -> LogRow | None:
    """The row of a judgment that is sent again; an error if its request was used for something else."""
    entry.check()
    before = by_request(connection, entry.request)
    wanted = entry.topic, entry.doc, entry.assessor, entry.state, entry.grade, entry.payload_text, entry.reason
    if before is not None and before.contents != wanted:
        raise UsageError(f"request {shown(entry.request)} was used for another judgment; a new one needs a new id")
    return before


def add(
    connection: Connection, entry: Entry, last: LogRow | None, *, overlap: int, now: float, reserved: bool = False
) -> LogRow:
    """Add a judgment. It counts unless the document already has `overlap` judgments of others, or checks the assessor.

    last: the last row about the document by the same assessor, which the judgment replaces.
    reserved: the assessor has the document; otherwise the table of offers says whether this is so.
    """
    counted = (
        entry.purpose in COUNTED
        and entry.state == "graded"
        and (
            bool(last and last.counted and last.state == "graded")
            or has_room(connection, entry, overlap, now, reserved)
        )
    )
    return _insert(connection, entry, "judge", int(counted), now, supersedes=last.id if last else None, restores=None)


def undo(
    connection: Connection,
    assessor: str,
    request: str,
    *,
    overlap: int,
    now: float,
    may_count: Callable[[tuple[str, str]], bool] = lambda item: True,
) -> LogRow | None:
    """Take back the last judgment of an assessor, and restore what it replaced; None if there is nothing to undo.

    may_count: does the budget allow that a judgment of a document counts which did not count before?
    """
    repeated = by_request(connection, request)
    if repeated is not None:
        if repeated.assessor != assessor or repeated.action != "undo":
            raise UsageError(f"request {shown(request)} was used for a judgment; an undo needs a new id")
        return repeated
    rows = connection.run(
        f"""SELECT {_COLUMNS} FROM standing_judgment AS j WHERE assessor = ?
        ORDER BY COALESCE((SELECT r.position FROM judgment AS r WHERE r.id = j.restores), position) DESC LIMIT 1""",
        (assessor,),
    )
    if not rows:
        return None
    last = LogRow(*rows[0])
    origin = last if last.restores is None else row_of(connection, last.restores)
    earlier = None if origin.supersedes is None else row_of(connection, origin.supersedes)
    while earlier is not None and earlier.action == "undo":  # an undo is not a judgment to return to; what it left is
        earlier = None if earlier.restores is None else row_of(connection, earlier.restores)
    if earlier is None:
        back = Entry(request, last.topic, last.doc, assessor, "none", purpose=last.purpose)
        return _insert(connection, back, "undo", 0, now, supersedes=last.id, restores=None)
    payload = None if earlier.payload is None else json.loads(earlier.payload)
    back = Entry(
        request, last.topic, last.doc, assessor, earlier.state, earlier.grade, payload, earlier.reason,
        purpose=last.purpose,
    )  # fmt: skip
    counted = (
        last.purpose in COUNTED
        and earlier.state == "graded"
        and (
            bool(last.counted and last.state == "graded")
            or (may_count((last.topic, last.doc)) and has_room(connection, back, overlap, now))
        )
    )
    return _insert(connection, back, "undo", int(counted), now, supersedes=last.id, restores=earlier.id)


def _insert(
    connection: Connection, entry: Entry, action: str, counted: int, now: float, *, supersedes: int | None,
    restores: int | None,
) -> LogRow:  # fmt: skip
    values = (
        entry.request, entry.topic, entry.doc, entry.assessor, action, entry.state, entry.grade, entry.payload_text,
        entry.reason, entry.milliseconds, now, entry.purpose, counted, supersedes, restores, entry.offer,
    )  # fmt: skip
    ((id, position, guideline),) = connection.run(_INSERT, (*values, entry.assessor))
    by_name: dict[str, Any] = dict(zip(_GIVEN, values, strict=True))
    return LogRow(id=id, position=position, guideline=guideline, **by_name)


def has_room(connection: Connection, entry: Entry, overlap: int, now: float, reserved: bool = False) -> bool:
    """May one more assessor judge the document? Judgments of others count, and so do their open offers.

    An assessor with an open offer has a place already, so that offers of others do not matter then.
    """
    place = (entry.topic, entry.doc, entry.assessor)
    ((judged,),) = connection.run(_JUDGED_BY_OTHERS, place)
    if judged >= overlap or reserved or connection.run(_MINE, (*place, now)):
        return bool(judged < overlap)
    ((leased,),) = connection.run(_LEASED_BY_OTHERS, (*place, now))
    return bool(judged + leased < overlap)


def by_request(connection: Connection, request: str) -> LogRow | None:
    """The row that a request made."""
    rows = connection.run(_BY_REQUEST, (request,))
    return LogRow(*rows[0]) if rows else None


def last_of_chain(connection: Connection, topic: str, doc: str, assessor: str, purpose: str) -> LogRow | None:
    """The last row about a document by an assessor. Repeated judgments are a chain of their own."""
    rows = connection.run(_LAST_REPEAT if purpose == "repeat" else _LAST, (topic, doc, assessor))
    return LogRow(*rows[0]) if rows else None


def row_of(connection: Connection, id: int) -> LogRow:
    """A row by its number."""
    (row,) = connection.run(f"SELECT {_COLUMNS} FROM judgment WHERE id = ?", (id,))
    return LogRow(*row)


def select(where: str = "", source: str = "judgment") -> str:
    """A query of all columns of the log."""
    return f"SELECT {_COLUMNS} FROM {source} {where}"


def standing_sums(read: Callable[[str], list[Row]]) -> dict[tuple[str, str, str, str, int], int]:
    """{(assessor, topic, state, purpose, counted): how many stand}: all rows, less those that were replaced."""
    sums: dict[tuple[str, str, str, str, int], int] = defaultdict(int)
    groups = "assessor, topic, state, purpose, counted"
    for *key, number in read(f"SELECT {groups}, COUNT(*) FROM judgment GROUP BY {groups}"):
        sums[tuple(key)] += number
    old = ", ".join(f"old.{name}" for name in groups.split(", "))
    for *key, number in read(
        f"""SELECT {old}, COUNT(*) FROM judgment AS newer CROSS JOIN judgment AS old
        WHERE newer.supersedes > 0 AND old.id = newer.supersedes GROUP BY {old}"""
    ):
        sums[tuple(key)] -= number
    return {key: number for key, number in sums.items() if number and key[2] != "none"}
