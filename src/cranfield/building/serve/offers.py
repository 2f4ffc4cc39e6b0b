"""Which document an assessor gets next. An offer is a lease: it reserves the document for a while.

What is judged and leased is kept in memory, so that the next document is found without a scan, and is rebuilt from the
database when the server starts. Whether a judgment counts is decided by the database alone (`judgment_log.record`).
All methods that get a connection run in the thread that writes.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cranfield.building.serve.database import Connection, Row, StoreError
from cranfield.building.serve.judging_settings import Settings
from cranfield.building.serve.judgment_log import COUNTED, LogRow
from cranfield.building.serve.proposals import InOrder, Item, Proposals
from cranfield.building.serve.store import Store

Read = Callable[[str], list[Row]]
"""Runs a query."""
AHEAD = 3
"""Documents that an assessor has at a time: one in view, the others fetched in advance."""
RENEW_BELOW = 0.75
"""Leases are renewed when less than this share of their time is left, not with every judgment."""
_NOBODY: dict[str, float] = {}
REPEAT_AFTER = 5
"""A document is repeated at the earliest after this many other judgments."""


@dataclass(frozen=True)
class Offer:
    """A document for an assessor; only topic and document are shown, the purpose never is."""

    id: int
    topic: str
    doc: str
    purpose: str


@dataclass
class _Assessor:
    """What the server remembers of an assessor."""

    topic: str | None = None
    seen: set[Item] = field(default_factory=set)
    """Judged, or "cannot judge"."""
    later: dict[Item, int] = field(default_factory=dict)
    """Put off, and how often."""
    graded: list[Item] = field(default_factory=list)
    repeated: set[Item] = field(default_factory=set)
    leases: dict[Item, float] = field(default_factory=dict)
    """The documents that the assessor has, and until when they are reserved."""
    open: dict[Item, Offer] = field(default_factory=dict)
    """The offers of these documents, the oldest first."""
    offers: int = 0
    start: dict[str, int] = field(default_factory=dict)
    """Where to look in the documents of each topic: all before are seen or have enough judgments."""


class Offers:
    """Hands out the documents of a pool."""

    def __init__(self, read: Read, settings: Settings, proposals: Proposals | None = None) -> None:
        self.settings = settings
        self.topics = [id for (id,) in read("SELECT id FROM topic ORDER BY position, id")]
        self._docs: dict[str, list[str]] = {topic: [] for topic in self.topics}
        self._place: dict[Item, int] = {}
        pool = read("SELECT topic, doc, source FROM pool ORDER BY position")
        self.pool = {(topic, doc) for topic, doc, _ in pool}
        self.gold = {(topic, doc): grade for topic, doc, grade in read("SELECT topic, doc, grade FROM gold")}
        self._gold_of: dict[str, list[str]] = defaultdict(list)
        for topic, doc in self.gold:
            self._gold_of[topic].append(doc)
        self.proposals = proposals or InOrder([(topic, doc) for topic, doc, source in pool if source == "pool"])
        self._estimate: dict[Item, float] = {}
        self._count: dict[Item, int] = defaultdict(int)
        self._leases: dict[Item, dict[str, float]] = {}
        self._people: dict[str, _Assessor] = defaultdict(_Assessor)
        self.counted = 0
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
            docs = self._docs.setdefault(item[0], [])
            self._place[item] = len(docs)
            docs.append(item[1])

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
            person.graded.append(item)
        if counted:
            self._count[item] += 1
            self.counted += 1

    def _reopen(self, item: Item) -> None:
        """A document needs judgments again: start looking at it, not behind it."""
        place = self._place.get(item)
        if place is not None:
            for person in self._people.values():
                person.start[item[0]] = min(place, person.start.get(item[0], 0))

    def judged(self, connection: Connection, row: LogRow, before: LogRow | None) -> None:
        """Take a new row of the log into account; `before` is the row that it replaces."""
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
            if item in person.graded:
                person.graded.remove(item)
            if row.state == "later":
                person.later[item] = person.later.get(item, 0) + 1
            else:
                person.later.pop(item, None)
            self._reopen(item)
        else:
            if item not in person.seen or row.state == "graded":
                if item in person.graded:
                    person.graded.remove(item)
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
            connection.run(
                "UPDATE offer SET state = ? WHERE topic = ? AND doc = ? AND assessor = ? AND state = 'open'",
                ("judged" if row.state != "later" else "later", row.topic, row.doc, row.assessor),
            )

    # ---- offers

    def give(
        self, connection: Connection, assessor: str, now: float, *, most: int = AHEAD, topic: str | None = None
    ) -> list[Offer]:
        """The documents that an assessor has, filled up to `most`; leases are renewed."""
        expires = now + self.settings.lease
        person = self._people[assessor]
        kept = []
        for offer in list(person.open.values()):
            if offer.purpose in COUNTED and not self.has_room((offer.topic, offer.doc), assessor, now):
                self._release(connection, offer, assessor)  # it expired, and others have it now
            else:
                kept.append(offer)
        if min(person.leases.values(), default=expires) < now + self.settings.lease * RENEW_BELOW:
            for offer in kept:
                self._reserve(assessor, (offer.topic, offer.doc), expires)
            connection.run(
                "UPDATE offer SET expires_at = ? WHERE assessor = ? AND state = 'open'", (expires, assessor)
            )  # fmt: skip
        if topic is not None and topic != self._people[assessor].topic:
            self._people[assessor].topic = topic
            for offer in kept:
                self._release(connection, offer, assessor)
            kept = []
        while len(kept) < most:
            chosen = self._choose(assessor, now)
            if chosen is None:
                break
            kept.append(self._lease(connection, assessor, *chosen, now, expires))
        return kept

    def open_offers(self, assessor: str) -> list[Offer]:
        """The documents that an assessor has and has not judged, the oldest first."""
        return list(self._people[assessor].open.values())

    def offer_found(self, connection: Connection, assessor: str, item: Item, now: float) -> Offer:
        """Offer a document that the assessor found by search, or wants to judge again."""
        if item not in self.pool:
            self.pool.add(item)
            self._open(item)
        return self.lease(connection, assessor, item, "found", now)

    def lease(self, connection: Connection, assessor: str, item: Item, purpose: str, now: float) -> Offer:
        """Reserve a document for an assessor, who may have it already."""
        for offer in self.open_offers(assessor):
            if (offer.topic, offer.doc) == item:
                return offer
        return self._lease(connection, assessor, item, purpose, now, now + self.settings.lease)

    def release(self, connection: Connection, assessor: str) -> None:
        """Give back all documents that an assessor has not judged."""
        for offer in self.open_offers(assessor):
            self._release(connection, offer, assessor)

    def _release(self, connection: Connection, offer: Offer, assessor: str) -> None:
        self._unreserve(assessor, (offer.topic, offer.doc))
        self._reopen((offer.topic, offer.doc))
        connection.run("UPDATE offer SET state = 'released' WHERE id = ?", (offer.id,))

    def _lease(
        self, connection: Connection, assessor: str, item: Item, purpose: str, now: float, expires: float
    ) -> Offer:
        self._reserve(assessor, item, expires)
        person = self._people[assessor]
        person.offers += 1
        if person.topic is None:
            person.topic = item[0]
        ((id,),) = connection.run(
            """INSERT INTO offer (topic, doc, assessor, purpose, estimate, offered_at, expires_at, state)
            VALUES (?, ?, ?, ?, ?, ?, ?, 'open') RETURNING id""",
            (*item, assessor, purpose, self._estimate.get(item), now, expires),
        )
        offer = person.open[item] = Offer(id, *item, purpose)
        return offer

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

    def _choose(self, assessor: str, now: float) -> tuple[Item, str] | None:
        """The next document for an assessor, and why; None if nothing is left."""
        if self._spent(now):
            return None
        person = self._people[assessor]
        for topic in self._topics_for(assessor, now):
            item = self._of_topic(assessor, topic, now)
            if item is not None:
                if person.topic != item[0]:
                    person.topic = item[0]
                return self._check_item(assessor, item[0]) or (item, "pool")
        for item in person.later:
            if self._free(item, assessor, now):
                return item, "pool"
        return None

    def _topics_for(self, assessor: str, now: float) -> Iterator[str]:
        """The topics in the order in which an assessor gets them: the current one, then those with fewest people."""
        current = self._people[assessor].topic
        if current is not None:
            yield current
        busy: dict[str, int] = defaultdict(int)
        for name, person in self._people.items():
            if name != assessor and person.topic and any(expires > now for expires in person.leases.values()):
                busy[person.topic] += 1
        order = {topic: at for at, topic in enumerate(self.topics)}
        for topic in sorted(self._docs, key=lambda topic: (busy[topic], order.get(topic, len(order)))):
            if topic != current:
                yield topic

    def _of_topic(self, assessor: str, topic: str, now: float) -> Item | None:
        """The next document of a topic for an assessor, proposed before or now."""
        person, overlap = self._people[assessor], self.settings.overlap
        docs = self._docs.setdefault(topic, [])
        at = start = person.start.get(topic, 0)
        behind = True
        while True:
            if at == len(docs):
                proposal = self.proposals.next(topic)
                if proposal is None:
                    break
                item, estimate = proposal
                if estimate is not None:
                    self._estimate[item] = estimate
                self._open(item)
                continue
            item = (topic, docs[at])
            if item in person.seen or self._count[item] >= overlap:
                if behind:
                    start = at + 1
            else:
                behind = False
                if item not in person.later and self._free(item, assessor, now):
                    person.start[topic] = start
                    return item
            at += 1
        person.start[topic] = start
        once = (item for item, times in person.later.items() if times == 1 and item[0] == topic)
        return next((item for item in once if self._free(item, assessor, now)), None)

    def _free(self, item: Item, assessor: str, now: float) -> bool:
        person = self._people[assessor]
        return item not in person.seen and item not in person.leases and self.has_room(item, assessor, now)

    def _check_item(self, assessor: str, topic: str) -> tuple[Item, str] | None:
        """Now and then, a document whose grade is known, or one that the assessor has judged before."""
        settings, person = self.settings, self._people[assessor]
        if not settings.gold_rate and not settings.repeat_rate:
            return None
        rng = random.Random(f"{settings.seed}/{assessor}/{person.offers}")
        draw = rng.random()
        if draw < settings.gold_rate:
            unseen = [
                (topic, doc)
                for doc in self._gold_of.get(topic, ())
                if (topic, doc) not in person.seen and (topic, doc) not in person.leases
            ]
            return (rng.choice(unseen), "gold") if unseen else None
        if draw < settings.gold_rate + settings.repeat_rate:
            old = [
                item
                for item in person.graded[:-REPEAT_AFTER]
                if item[0] == topic and item not in person.repeated and item not in person.leases
            ]
            return (rng.choice(old), "repeat") if old else None
        return None

    # ---- progress

    def judged_by(self, assessor: str) -> int:
        """How many documents an assessor has judged, gold ones included: a difference would give them away."""
        return len(self._people[assessor].seen) + len(self._people[assessor].repeated)

    def total(self) -> int:
        """The judgments that are wanted in all: the budget, or the overlap times the pool."""
        wanted = self.settings.overlap * (len(self.pool) - len(self.pool & self.gold.keys()))
        return wanted if self.settings.budget is None else min(wanted, self.settings.budget)


def need_pool(store: Store) -> None:
    """Raise an error if there is nothing to judge."""
    if not store.pool_size():
        raise StoreError(store.origin, "has no documents to judge; add a pool")
