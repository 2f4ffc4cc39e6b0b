"""Which document an assessor gets next. An offer is a lease: it reserves the document for a while.

What is judged and leased is kept in memory (`offer_memory`). Whether a judgment counts is decided by the database alone
(`judgment_log.add`). All methods that get a connection run within a transaction.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial

from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.project.judgment_log import COUNTED, LogRow
from cranfield.building.serve.project.offer_memory import AHEAD, Offer, OfferMemory, Read
from cranfield.building.serve.project.proposals import Item, TopicBudgets

RENEW_BELOW = 0.75
"""Leases are renewed when less than this share of their time is left, not with every judgment."""
REPEAT_AFTER = 5
"""A document is repeated at the earliest after this many other judgments."""
_GRADED = "FROM standing_judgment WHERE assessor = ? AND state = 'graded' AND purpose IN ('pool', 'found')"
_REPEATED = "SELECT doc FROM standing_judgment WHERE assessor = ? AND topic = ? AND purpose = 'repeat'"


class Offers(OfferMemory):
    """Hands out the documents of a pool."""

    def take(self, connection: Connection, row: LogRow, before: LogRow | None) -> None:
        """Take a new row of the log into account, and close its offer; `before` is the row that it replaces."""
        offer = self._people[row.assessor].open.get((row.topic, row.doc))
        self.judged(row, before)
        if row.action == "judge" and offer is not None:
            state = "judged" if row.state != "later" else "later"
            connection.run("UPDATE offer SET state = ? WHERE id = ?", (state, offer.id))

    def give(
        self, connection: Connection, assessor: str, now: float, *, most: int = AHEAD, topic: str | None = None
    ) -> list[Offer]:
        """The documents that an assessor has, filled up to `most`; leases are renewed."""
        self.touched = True
        expires = now + self.settings.lease
        person = self._people[assessor]
        kept = []
        renew = min(person.leases.values(), default=expires) < now + self.settings.lease * RENEW_BELOW
        for offer in list(person.open.values()):
            item = (offer.topic, offer.doc)
            if offer.purpose in COUNTED and not (self.has_room(item, assessor, now) and self.may_start(item, now)):
                self._release(connection, offer, assessor)  # it expired, and others have it or its place in the budget
            else:
                kept.append(offer)
                if renew:  # before the next one is looked at, because both may be in the same budget
                    self._reserve(assessor, item, expires)
        if renew:
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

    def open_offer(self, assessor: str, id: object) -> Offer | None:
        """The offer with a number, if the assessor has it and has not judged it."""
        for offer in self._people[assessor].open.values():
            if offer.id == id and type(id) is int:
                return offer
        return None

    def offer_found(self, connection: Connection, assessor: str, item: Item, now: float, *, new: bool) -> Offer:
        """Offer a document that the assessor found by search, or wants to judge again; `new`: it enters the pool."""
        self.touched = True
        if new:
            self._sizes[item[0]] += 1
            self.budgets = TopicBudgets.of(self.settings, self._sizes)
            if item[0] in self._known:  # else it is read with its topic
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
        self.touched = True
        self._unreserve(assessor, (offer.topic, offer.doc))
        self._reopen((offer.topic, offer.doc))
        if self.with_checks:
            self._give_back(assessor, (offer.topic, offer.doc), offer.purpose)
        connection.run("UPDATE offer SET state = 'released' WHERE id = ?", (offer.id,))

    def _lease(
        self, connection: Connection, assessor: str, item: Item, purpose: str, now: float, expires: float
    ) -> Offer:
        self.touched = True
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

    def _choose(self, assessor: str, now: float) -> tuple[Item, str] | None:
        """The next document for an assessor, and why; None if nothing is left."""
        person = self._people[assessor]
        for topic, left in self._topics_for(assessor, now):
            chosen = self._again(assessor, topic, left, now)
            if chosen is None and (chosen := self._of_topic(assessor, topic, left, now)) is not None:
                chosen = self._check_item(assessor, topic) or chosen
            if chosen is not None:
                person.topic = topic
                return chosen
        may_start = self._left(now)
        for item in person.later:
            purpose = self._put_off(assessor, item, may_start(item[0]), now)
            if purpose is not None:
                return item, purpose
        return None

    def _left(self, now: float) -> Callable[[str], int | None]:
        """How many more documents of a topic may be started; None: as many as there are."""
        if self.budgets is None:
            return lambda topic: None
        return partial(self.budgets.left, started=self.started(now))

    def _topics_for(self, assessor: str, now: float) -> Iterator[tuple[str, int | None]]:
        """The topics in the order in which an assessor gets them, and how many more of their documents may be started.

        First the current topic, then those with fewest people; last those that get a further part of the budget.
        """
        left = self._left(now)
        current = self._people[assessor].topic
        if current is not None:
            yield current, left(current)
        busy: dict[str, int] = defaultdict(int)
        for name, person in self._people.items():
            if name != assessor and person.topic and any(expires > now for expires in person.leases.values()):
                busy[person.topic] += 1
        order = {topic: at for at, topic in enumerate(self.topics)}
        for topic in sorted(self._items, key=lambda topic: (busy[topic], order.get(topic, len(order)))):
            if topic != current:
                yield topic, left(topic)
        if self.budgets is not None:
            yield from self.budgets.further(self.started(now), self._recently)

    def _again(self, assessor: str, topic: str, left: int | None, now: float) -> tuple[Item, str] | None:
        """The next of the documents of a topic that an assessor had and gave back, for the same purpose as before."""
        person = self._people[assessor]
        if not person.returned.get(topic):
            return None
        self._know(topic)
        for doc, purpose in person.returned[topic].items():
            item = (topic, doc)
            if item in person.leases or item in person.later:
                continue
            if purpose == "repeat":
                first = self._read(f"SELECT 1 {_GRADED} AND topic = ? AND doc = ?", assessor, *item)
                if first and (doc,) not in self._read(_REPEATED, assessor, topic):
                    return item, purpose
            elif item not in person.seen:
                if purpose == "gold" and item in self.gold:
                    return item, purpose
                begun = left != 0 or self._begun(item, now)
                if purpose in COUNTED and begun and item not in self.gold and self.has_room(item, assessor, now):
                    return item, "pool"
        return None

    def _of_topic(self, assessor: str, topic: str, left: int | None, now: float) -> tuple[Item, str] | None:
        """The next document of a topic for an assessor, proposed before or now, and why."""
        person, overlap = self._people[assessor], self.settings.overlap
        if left == 0 and overlap == 1:
            return None
        self._know(topic)
        items, seen, count, leases = self._in_order(assessor, topic), person.seen, self._count, self._leases
        start = person.start.get(topic, 0)
        place, until = person.ahead.get(topic, (0, 0.0))
        behind = place <= start or until <= now
        at, until = (start, math.inf) if behind else (place, until)
        chosen, passed = None, False
        while True:
            if at == len(items):
                if left == 0 or not self._open_more(topic, left):
                    break
                person.start[topic] = start
                items = self._in_order(assessor, topic)
                if self.settings.order != "pool":  # the new documents may be anywhere
                    at = start = person.start[topic]
                    behind, until = True, math.inf
                continue
            item = items[at]
            at += 1
            taken = count[item]
            if taken >= overlap or item in seen:
                if behind:
                    start = at
                continue
            behind = False
            if left == 0 and not self._begun(item, now):  # the budget is spent, except for what is begun
                passed = True
                continue
            if item in leases:  # nearly all of these belong to others who judge now
                for name, expires in leases[item].items():
                    if name == assessor:
                        taken = overlap
                    elif expires > now:
                        taken += 1
                        until = min(until, expires)
                if taken >= overlap:
                    continue
            if item not in person.later:
                at -= 1
                chosen = item
                break
        person.start[topic] = start
        if not passed:
            person.ahead[topic] = (at, until)
        if chosen is not None:
            return chosen, "pool"
        for item, times in person.later.items():
            if times == 1 and item[0] == topic:
                purpose = self._put_off(assessor, item, left, now)
                if purpose is not None:
                    return item, purpose
        return None

    def _check_item(self, assessor: str, topic: str) -> tuple[Item, str] | None:
        """Now and then, a document whose grade is known, or one that the assessor has judged before."""
        settings, person = self.settings, self._people[assessor]
        if not self.with_checks:
            return None
        rng = random.Random(f"{settings.seed}/{assessor}/{person.offers}")
        draw = rng.random()
        if draw < settings.gold_rate:
            unseen = [
                (topic, doc)
                for doc in self._gold_of.get(topic, ())
                if not any((topic, doc) in others for others in (person.seen, person.leases, person.later))
            ]
            return (rng.choice(unseen), "gold") if unseen else None
        if draw < settings.gold_rate + settings.repeat_rate:
            again = {doc for (doc,) in self._read(_REPEATED, assessor, topic)}
            recent = set(
                self._read(f"SELECT topic, doc {_GRADED} ORDER BY position DESC LIMIT ?", assessor, REPEAT_AFTER)
            )
            recent |= recent_documents(self._read, assessor)
            graded = self._read(f"SELECT topic, doc {_GRADED} AND topic = ? ORDER BY position", assessor, topic)
            old = [
                item
                for item in graded
                if item[1] not in again and not any(item in others for others in (recent, person.leases, person.later))
            ]
            return (rng.choice(old), "repeat") if old else None
        return None


def recent_documents(read: Read, assessor: str) -> set[Item]:
    """The documents that an assessor judged last, which are too new for a repeat, also if that was taken back."""
    rows: list[tuple[str, str]] = read(
        "SELECT topic, doc FROM judgment WHERE assessor = ? AND action = 'judge' ORDER BY position DESC LIMIT ?",
        assessor,
        10 * REPEAT_AFTER,
    )
    return set(list(dict.fromkeys(rows))[:REPEAT_AFTER])
