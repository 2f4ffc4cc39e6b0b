"""Which document an assessor gets next. An offer is a lease: it reserves the document for a while.

What is judged and leased is kept in memory (`offer_memory`). Whether a judgment counts is decided by the database alone
(`judgment_log.add`). All methods that get a connection run within a transaction.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator

from cranfield.building.serve.database import Connection, StoreError
from cranfield.building.serve.judgment_log import COUNTED, LogRow
from cranfield.building.serve.offer_memory import AHEAD, Offer, OfferMemory
from cranfield.building.serve.proposals import Item
from cranfield.building.serve.store import Store

RENEW_BELOW = 0.75
"""Leases are renewed when less than this share of their time is left, not with every judgment."""
REPEAT_AFTER = 5
"""A document is repeated at the earliest after this many other judgments."""


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

    def open_offer(self, assessor: str, id: object) -> Offer | None:
        """The offer with a number, if the assessor has it and has not judged it."""
        for offer in self._people[assessor].open.values():
            if offer.id == id and type(id) is int:
                return offer
        return None

    def offer_found(self, connection: Connection, assessor: str, item: Item, now: float) -> Offer:
        """Offer a document that the assessor found by search, or wants to judge again."""
        self.touched = True
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
        self.touched = True
        self._unreserve(assessor, (offer.topic, offer.doc))
        self._reopen((offer.topic, offer.doc))
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
        for topic in sorted(self._items, key=lambda topic: (busy[topic], order.get(topic, len(order)))):
            if topic != current:
                yield topic

    def _of_topic(self, assessor: str, topic: str, now: float) -> Item | None:
        """The next document of a topic for an assessor, proposed before or now."""
        person, overlap = self._people[assessor], self.settings.overlap
        items, seen, count, leases = self._items.setdefault(topic, []), person.seen, self._count, self._leases
        start = person.start.get(topic, 0)
        place, until = person.ahead.get(topic, (0, 0.0))
        behind = place <= start or until <= now
        at, until = (start, math.inf) if behind else (place, until)
        while True:
            if at == len(items):
                proposal = self.proposals.next(topic)
                if proposal is None:
                    found = None
                    break
                item, estimate = proposal
                if estimate is not None:
                    self._estimate[item] = estimate
                self._open(item)
                continue
            item = items[at]
            at += 1
            taken = count.get(item, 0)
            if taken >= overlap or item in seen:
                if behind:
                    start = at
                continue
            behind = False
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
                found = item
                break
        person.start[topic], person.ahead[topic] = start, (at, until)
        if found is not None:
            return found
        once = (item for item, times in person.later.items() if times == 1 and item[0] == topic)
        return next((item for item in once if self._free(item, assessor, now)), None)

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
                for item in list(person.graded)[:-REPEAT_AFTER]
                if item[0] == topic and item not in person.repeated and item not in person.leases
            ]
            return (rng.choice(old), "repeat") if old else None
        return None


def need_pool(store: Store) -> None:
    """Raise an error if there is nothing to judge."""
    if not store.pool_size():
        raise StoreError(store.origin, "has no documents to judge; add a pool")
