"""What the server remembers of a project at work: who judged what, which documents are reserved, and how far it is.

It is rebuilt from the database when the server starts, so that the next document is found without a scan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from cranfield.building.serve.database import Row
from cranfield.building.serve.judging_settings import Settings
from cranfield.building.serve.judgment_log import COUNTED, LogRow
from cranfield.building.serve.proposals import InOrder, Item, Proposals

Read = Callable[[str], list[Row]]
"""Runs a query."""
AHEAD = 3
"""Documents that an assessor has at a time: one in view, the others fetched in advance."""
_NOBODY: dict[str, float] = {}


@dataclass(frozen=True)
class Offer:
    """A document for an assessor; only topic and document are shown, the purpose never is."""

    id: int
    topic: str
    doc: str
    purpose: str


@dataclass
class Assessor:
    """What the server remembers of an assessor."""

    topic: str | None = None
    seen: set[Item] = field(default_factory=set)
    """Judged, or "cannot judge"."""
    later: dict[Item, int] = field(default_factory=dict)
    """Put off, and how often."""
    graded: dict[Item, None] = field(default_factory=dict)
    """In the order of judging."""
    repeated: set[Item] = field(default_factory=set)
    leases: dict[Item, float] = field(default_factory=dict)
    """The documents that the assessor has, and until when they are reserved."""
    open: dict[Item, Offer] = field(default_factory=dict)
    """The offers of these documents, the oldest first."""
    offers: int = 0
    start: dict[str, int] = field(default_factory=dict)
    """Where to look in the documents of each topic: all before are seen or have enough judgments."""
    ahead: dict[str, tuple[int, float]] = field(default_factory=dict)
    """A later place for each topic, and a time: until then, others have the documents in between."""


class OfferMemory:
    """The state of the pool of a project, and of its assessors."""

    def __init__(self, read: Read, settings: Settings, proposals: Proposals | None = None) -> None:
        self.settings = settings
        self.topics = [id for (id,) in read("SELECT id FROM topic ORDER BY position, id")]
        self._items: dict[str, list[Item]] = {topic: [] for topic in self.topics}
        self._place: dict[Item, int] = {}
        pool = read("SELECT topic, doc, source FROM pool ORDER BY position")
        self.pool = {(topic, doc) for topic, doc, _ in pool}
        self.gold = {(topic, doc): grade for topic, doc, grade in read("SELECT topic, doc, grade FROM gold")}
        self._gold_in_pool = len(self.pool & self.gold.keys())
        self._gold_of: dict[str, list[str]] = defaultdict(list)
        for topic, doc in self.gold:
            self._gold_of[topic].append(doc)
        self.proposals = proposals or InOrder([(topic, doc) for topic, doc, source in pool if source == "pool"])
        self._estimate: dict[Item, float] = {}
        self._count: dict[Item, int] = defaultdict(int)
        self._leases: dict[Item, dict[str, float]] = {}
        self._people: dict[str, Assessor] = defaultdict(Assessor)
        self.counted = 0
        self.touched = False
        """Set by every change, so that a change that fails half-way is noticed."""
        rows = read(
            """SELECT topic, doc, assessor, state, purpose, counted, grade FROM standing_judgment
            WHERE state <> 'none' ORDER BY id"""
        )
        for topic, doc, assessor, state, purpose, counted, grade in rows:
            self._note(assessor, (topic, doc), state, purpose, counted)
            if counted and grade is not None:
                self.proposals.tell(topic, doc, grade)
        for topic, doc, source in pool:
            if source == "found":
                self._open((topic, doc))
        # What was proposed before the server stopped stays proposed, in its order.
        for id, topic, doc, purpose, assessor, expires in read(
            "SELECT id, topic, doc, purpose, assessor, expires_at FROM offer WHERE state = 'open' ORDER BY id"
        ):
            self._reserve(assessor, (topic, doc), expires)
            self._people[assessor].open[topic, doc] = Offer(id, topic, doc, purpose)
            if (topic, doc) in self.pool:
                self._open((topic, doc))
        for assessor, number in read("SELECT assessor, COUNT(*) FROM offer GROUP BY assessor"):
            self._people[assessor].offers = number
        for assessor, topic in read(
            """SELECT assessor, topic FROM judgment AS j WHERE position =
            (SELECT MAX(position) FROM judgment AS k WHERE k.assessor = j.assessor)"""
        ):
            self._people[assessor].topic = topic

    # ---- memory

    def _open(self, item: Item) -> None:
        """Let assessors find a document in the sequence of its topic."""
        if item not in self._place and item not in self.gold:
            items = self._items.setdefault(item[0], [])
            self._place[item] = len(items)
            items.append(item)

    def _reserve(self, assessor: str, item: Item, expires: float) -> None:
        self._leases.setdefault(item, {})[assessor] = expires
        self._people[assessor].leases[item] = expires

    def _unreserve(self, assessor: str, item: Item) -> None:
        self._people[assessor].leases.pop(item, None)
        self._people[assessor].open.pop(item, None)
        by = self._leases.get(item, {})
        by.pop(assessor, None)
        if not by:
            self._leases.pop(item, None)

    def _note(self, name: str, item: Item, state: str, purpose: str, counted: int) -> None:
        person = self._people[name]
        if purpose == "repeat":
            person.repeated.add(item)
            return
        if state == "later":
            person.later[item] = person.later.get(item, 0) + 1
        else:
            person.later.pop(item, None)
            person.seen.add(item)
        if state == "graded" and purpose in COUNTED:
            person.graded.pop(item, None)
            person.graded[item] = None
        if counted:
            self._count[item] += 1
            self.counted += 1

    def _reopen(self, item: Item) -> None:
        """A document needs judgments again: start looking at it, not behind it."""
        place = self._place.get(item)
        if place is not None:
            for person in self._people.values():
                person.start[item[0]] = min(place, person.start.get(item[0], 0))
                person.ahead.pop(item[0], None)

    def judged(self, row: LogRow, before: LogRow | None) -> None:
        """Take a new row of the log into account; `before` is the row that it replaces."""
        self.touched = True
        item, person = (row.topic, row.doc), self._people[row.assessor]
        if before is not None and before.counted:
            self._count[item] -= 1
            self.counted -= 1
            if not self._count[item]:
                self.proposals.forget(*item)
        if row.purpose == "repeat":
            (person.repeated.discard if row.state == "none" else person.repeated.add)(item)
        elif row.state in ("none", "later"):
            person.seen.discard(item)
            person.graded.pop(item, None)
            if row.state == "later":
                person.later[item] = person.later.get(item, 0) + 1
            else:
                person.later.pop(item, None)
            self._reopen(item)
        else:
            if item not in person.seen or row.state == "graded":
                person.graded.pop(item, None)
                self._note(row.assessor, item, row.state, row.purpose, 0)
            if before is not None and before.counted and not row.counted:
                self._reopen(item)
        if row.counted:
            self._count[item] += 1
            self.counted += 1
            if row.grade is not None:
                self.proposals.tell(row.topic, row.doc, row.grade)
        if row.action == "judge":
            person.topic = row.topic
            if item in person.open:
                self._unreserve(row.assessor, item)
                if not row.counted:
                    self._reopen(item)

    def reserved(self, item: Item, assessor: str, now: float) -> bool:
        """Does the assessor have the document now?"""
        return self._people[assessor].leases.get(item, 0.0) > now

    def has_room(self, item: Item, assessor: str, now: float) -> bool:
        """May this assessor still judge the document?"""
        taken = self._count.get(item, 0)
        for name, expires in self._leases.get(item, _NOBODY).items():
            if name != assessor and expires > now:
                taken += 1
        return taken < self.settings.overlap

    def _spent(self, now: float) -> bool:
        """Is the budget spent, counting the documents that assessors have in front of them?"""
        budget = self.settings.budget
        if budget is None or self.counted + AHEAD * len(self._people) < budget:
            return budget is not None and self.counted >= budget
        leased = sum(expires > now for item, by in self._leases.items() if item in self.pool for expires in by.values())
        return self.counted + leased >= budget

    def _free(self, item: Item, assessor: str, now: float) -> bool:
        person = self._people[assessor]
        return item not in person.seen and item not in person.leases and self.has_room(item, assessor, now)

    # ---- progress

    def judged_by(self, assessor: str) -> int:
        """How many documents an assessor has judged, gold ones included: a difference would give them away."""
        return len(self._people[assessor].seen) + len(self._people[assessor].repeated)

    def total(self) -> int:
        """The judgments that are wanted in all: the budget, or the overlap times the pool."""
        wanted = self.settings.overlap * (len(self.pool) - self._gold_in_pool)
        return wanted if self.settings.budget is None else min(wanted, self.settings.budget)
