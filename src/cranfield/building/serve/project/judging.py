"""A project at work: judgments come in, documents go out. This is what the server calls; it knows nothing of HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.database.loop_commits import LoopCommits
from cranfield.building.serve.project.judging_modes import PoolEntry
from cranfield.building.serve.project.judgment_log import (
    COUNTED,
    Entry,
    LogRow,
    add,
    add_first,
    by_request,
    last_of_chain,
    repeated,
    row_of,
    undo,
)
from cranfield.building.serve.project.offer_memory import AHEAD, Offer
from cranfield.building.serve.project.offers import Offers
from cranfield.building.serve.project.proposals import Proposals
from cranfield.building.serve.project.store import Store, put_pool
from cranfield.errors import UsageError
from cranfield.text import shown

T = TypeVar("T")
MOST_UNDONE = 10_000
"""The most judgments that are taken back at once."""


@dataclass(frozen=True)
class Given:
    """The answer to an assessor: what was recorded, the next documents, and how far the work is."""

    row: LogRow | None
    offers: tuple[Offer, ...]
    mine: int
    """Judgments of the assessor that stand."""
    done: int
    """Grades of all assessors, checks included."""
    expected: int
    """Grades that are expected in all, checks included."""
    undone: int = 0


class Judging:
    """The judgments and offers of a project. Methods return futures, which are done when the change is on disk."""

    def __init__(
        self,
        store: Store,
        make_proposals: Callable[[], Proposals | None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.clock = clock
        self._make_proposals = make_proposals
        self._offers: Offers | None = None
        self._last = 0.0
        """The time of the last change."""
        self._in_loop = LoopCommits(store.database)
        store.database.reconnected.append(self.reload)

    def reload(self) -> None:
        """Read settings, pool and judgments again before the next change."""
        self._offers = None

    def _current(self) -> Offers:
        if self._offers is None:
            proposals = self._make_proposals() if self._make_proposals else None
            self._offers = Offers(self.store.database.glance, self.store.settings(), proposals)
        return self._offers

    def _work(self, change: Callable[[Connection, Offers], T]) -> Callable[[Connection], T]:
        """The change, after which the memory of offers is read again if it fails half-way."""

        def work(connection: Connection) -> T:
            self._bound_leases(connection)
            offers = self._current()
            offers.touched = False
            try:
                return change(connection, offers)
            except BaseException:
                if offers.touched:
                    self.reload()
                raise

        return work

    def _bound_leases(self, connection: Connection) -> None:
        """After a start, and if the clock of the machine went back: no lease ends later than one that begins now."""
        now = self.clock()
        if self._offers is None or now < self._last:
            latest = now + self.store.settings().lease
            late = "state = 'open' AND expires_at > ?"
            if connection.run(f"SELECT 1 FROM offer WHERE {late} LIMIT 1", (latest,)):
                connection.run(f"UPDATE offer SET expires_at = ? WHERE {late}", (latest, latest))
                self.reload()
        self._last = now

    def _failed(self, error: BaseException) -> None:
        """What a change did to the memory of offers is not on disk, unless it was refused before it did anything."""
        if not isinstance(error, UsageError):
            self.reload()

    def _submit(self, change: Callable[[Connection, Offers], T]) -> Future[T]:
        def check(future: Future[T]) -> None:
            if not future.cancelled() and (error := future.exception()) is not None:
                self._failed(error)

        future = self.store.database.submit(self._work(change))
        future.add_done_callback(check)
        return future

    def in_loop(self, change: Callable[[Connection, Offers], T]) -> asyncio.Future[T]:
        """Make a change in the running event loop."""
        return self._in_loop.submit(self._work(change), self._failed)

    def load(self) -> None:
        """Read the pool and the judgments now, not with the first request."""
        self._submit(lambda connection, offers: None).result()

    # ---- what assessors do

    def offers(self, assessor: str, *, topic: str | None = None, most: int = AHEAD) -> Future[Given]:
        """The next documents of an assessor, reserved; with `topic`, of that topic first."""

        def change(connection: Connection, offers: Offers) -> Given:
            if topic is not None and topic not in offers.topics:
                raise UsageError(f"there is no topic {shown(topic)}")
            given = offers.give(connection, assessor, self.clock(), most=most, topic=topic)
            return self._given(offers, assessor, None, given)

        return self._submit(change)

    def judge(self, entry: Entry, *, most: int = AHEAD) -> Future[Given]:
        """Record a judgment, and reserve the next document. The document must have been offered to the assessor."""
        return self._submit(lambda connection, offers: self.record(connection, offers, entry, most=most))

    def record(
        self, connection: Connection, offers: Offers, entry: Entry, offer: Offer | None = None, *, most: int = AHEAD
    ) -> Given:
        """Record a judgment within a change. `offer` is the offer that it answers, if it is known."""
        now = self.clock()
        overlap = offers.settings.overlap
        reserved = offers.reserved((entry.topic, entry.doc), entry.assessor, now)
        if offer is None:
            held = offers.open_offer(entry.assessor, entry.offer)
            offer = held if held and (held.topic, held.doc) == (entry.topic, entry.doc) else None
        row = None
        if offer is not None and reserved:
            row = add_first(connection, entry.of(offer.id, offer.purpose), overlap=overlap, now=now)
            if row is not None:
                offers.take(connection, row, None)
        if row is None:
            row = repeated(connection, entry)
        if row is None:
            placed = entry.of(offer.id, offer.purpose) if offer else self._placed(connection, entry)
            last = last_of_chain(connection, entry.topic, entry.doc, entry.assessor, placed.purpose)
            may = overlap if reserved or offers.may_start((entry.topic, entry.doc), now) else 0
            row = add(connection, placed, last, overlap=may, now=now, reserved=reserved)
            offers.take(connection, row, last)
        given = offers.give(connection, entry.assessor, now, most=most)
        return self._given(offers, entry.assessor, row, given)

    def _placed(self, connection: Connection, entry: Entry) -> Entry:
        """The entry with the purpose of its offer; a document that was never offered cannot be judged."""
        which, value = ("id = ?", (entry.offer,)) if entry.offer is not None else ("state <> ''", ())
        rows = connection.run(
            f"""SELECT id, purpose FROM offer WHERE topic = ? AND doc = ? AND assessor = ? AND {which}
            ORDER BY id DESC LIMIT 1""",
            (entry.topic, entry.doc, entry.assessor, *value),
        )
        if not rows:
            raise UsageError(f"document {shown(entry.doc)} of topic {shown(entry.topic)} was not offered to you")
        id, purpose = rows[0]
        return entry.of(id, purpose)

    def undo(self, assessor: str, request: str, *, times: int = 1, most: int = AHEAD) -> Future[Given]:
        """Take back the last judgments of an assessor, one after another."""

        def change(connection: Connection, offers: Offers) -> Given:
            now = self.clock()
            if not 1 <= times <= MOST_UNDONE:
                raise UsageError(f"times == {shown(times)}, must be between 1 and {MOST_UNDONE:,}")
            last, undone, overlap = None, 0, offers.settings.overlap
            allowed = partial(offers.may_start, now=now)
            for number in range(times):
                name = request if number == 0 else f"{request}/{number}"
                if by_request(connection, name) is not None:  # a retry
                    last = undo(connection, assessor, name, overlap=overlap, now=now)
                    undone += 1
                    continue
                row = undo(connection, assessor, name, overlap=overlap, now=now, may_count=allowed)
                if row is None:
                    break
                offers.take(connection, row, None if row.supersedes is None else row_of(connection, row.supersedes))
                last, undone = row, undone + 1
            if last is not None and last.state == "none":
                self._offer_again(connection, offers, last, now)
            given = offers.give(connection, assessor, now, most=most)
            return replace(self._given(offers, assessor, last, given), undone=undone)

        return self._submit(change)

    @staticmethod
    def _offer_again(connection: Connection, offers: Offers, row: LogRow, now: float) -> None:
        """After an undo, the assessor has the document back at once."""
        item = (row.topic, row.doc)
        open_now = {(offer.topic, offer.doc) for offer in offers.open_offers(row.assessor)}
        free = row.purpose not in COUNTED or (
            offers.has_room(item, row.assessor, now) and offers.may_start(item, now)
        )  # fmt: skip
        if item not in open_now and free:
            offers.lease(connection, row.assessor, item, row.purpose, now)

    def find(self, assessor: str, topic: str, doc: str, query: str) -> Future[Given]:
        """Let an assessor judge a document that a search found; it enters the pool, marked with the query."""

        def change(connection: Connection, offers: Offers) -> Given:
            now = self.clock()
            if topic not in offers.topics:
                raise UsageError(f"there is no topic {shown(topic)}")
            if not connection.run("SELECT 1 FROM document WHERE id = ?", (doc,)):
                raise UsageError(f"there is no document {shown(doc)}")
            gold = (topic, doc) in offers.gold
            judged = gold and connection.run(
                "SELECT 1 FROM standing_judgment WHERE topic = ? AND doc = ?", (topic, doc)
            )
            if not judged and not offers.may_start((topic, doc), now):  # for gold too, which would be known by it
                raise UsageError(f"the budget of topic {shown(topic)} is spent, so that no new document is judged")
            if gold:
                offer = offers.lease(connection, assessor, (topic, doc), "gold", now)
            else:
                new = put_pool(connection, [PoolEntry(topic, doc, {}, "found", query)], by=assessor)
                offer = offers.offer_found(connection, assessor, (topic, doc), now, new=bool(new))
            return self._given(offers, assessor, None, [offer])

        return self._submit(change)

    def release(self, assessor: str) -> Future[None]:
        """Give back the documents that an assessor has not judged."""
        return self._submit(lambda connection, offers: offers.release(connection, assessor))

    def _given(self, offers: Offers, assessor: str, row: LogRow | None, given: list[Offer]) -> Given:
        done, expected = offers.progress(finished=not given)
        return Given(row, tuple(given), offers.judged_by(assessor), done, expected)
