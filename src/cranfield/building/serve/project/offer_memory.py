"""What the server remembers of a project at work: who judged what, which documents are reserved, and how far it is.

When the server starts, it reads sums. The documents of a topic are read when somebody works on the topic, and only
those that still need judgments, so that a million judgments take neither time nor memory.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from cranfield.building.serve.database.database import Row
from cranfield.building.serve.project.judging_modes import Settings
from cranfield.building.serve.project.judgment_log import COUNTED, LogRow, standing_sums
from cranfield.building.serve.project.proposals import RECENT, InOrder, Item, Proposals, TopicBudgets

Read = Callable[..., list[Row]]
"""Runs a query with values, as of now: also on what a change has written that is not finished yet."""
AHEAD = 3
"""Documents that an assessor has at a time: one in view, the others fetched in advance."""
FEW = 20
"""New documents that are put into their places in an order; of more, everything is sorted again."""
RELEVANT = 1
"""The lowest grade that counts as relevant where topics share a budget."""
SEEN = ("graded", "cannot")
"""What an assessor says of a document that they need not see again."""
_NOBODY: dict[str, float] = {}
_COUNTS = "SELECT doc, COUNT(*) AS judged FROM current_qrels WHERE topic = ? GROUP BY doc"
_OPEN = f"""SELECT pool.doc, source, COALESCE(judged, 0) FROM pool LEFT JOIN ({_COUNTS}) AS counts
    ON counts.doc = pool.doc WHERE topic = ? AND COALESCE(judged, 0) < ? ORDER BY position"""
"""The documents of a topic that need judgments, and how many they have."""
_JUDGED = f"""SELECT j.doc, assessor, state FROM standing_judgment AS j LEFT JOIN ({_COUNTS}) AS counts
    ON counts.doc = j.doc WHERE topic = ? AND purpose <> 'repeat' AND COALESCE(judged, 0) < ?"""
"""What assessors said of these."""
_GOLD = """SELECT gold.doc, assessor, state FROM gold CROSS JOIN standing_judgment AS j
    WHERE gold.topic = ? AND j.topic = gold.topic AND j.doc = gold.doc AND purpose <> 'repeat'"""
_OF_DOCUMENT = """SELECT assessor, state FROM standing_judgment
    WHERE topic = ? AND doc = ? AND purpose <> 'repeat'"""
_GRADES = """SELECT doc, grade FROM standing_judgment WHERE topic = ? AND counted = 1 AND grade IS NOT NULL
    ORDER BY id"""
_LATER = """SELECT topic, doc, purpose FROM standing_judgment WHERE assessor = ? AND state = 'later'
    ORDER BY position"""


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
    judged: int = 0
    """Documents that were judged, or "cannot judge", gold and repeated ones included."""
    seen: set[Item] = field(default_factory=set)
    """Which of the documents that were read were judged, or "cannot judge"; and all repeats that were put off."""
    later: dict[Item, int] = field(default_factory=dict)
    """Put off, and how often. One that was judged before is a repeat that was put off."""
    leases: dict[Item, float] = field(default_factory=dict)
    """The documents that the assessor has, and until when they are reserved."""
    open: dict[Item, Offer] = field(default_factory=dict)
    """The offers of these documents, the oldest first."""
    offers: int = 0
    returned: dict[str, dict[str, str]] = field(default_factory=dict)
    """For each topic, the documents that the assessor had and gave back without a word, and why they had them, in
    order; only with checks. They come again, so that a check does not give itself away by staying away."""
    order: dict[str, list[Item]] = field(default_factory=dict)
    """The documents of each topic in the assessor's own order."""
    start: dict[str, int] = field(default_factory=dict)
    """Where to look in the documents of each topic: all before are seen or have enough judgments."""
    ahead: dict[str, tuple[int, float]] = field(default_factory=dict)
    """A later place for each topic, and a time: until then, others have the documents in between."""


class OfferMemory:
    """The state of the pool of a project, and of its assessors."""

    def __init__(self, read: Read, settings: Settings, proposals: Proposals | None = None) -> None:
        self._read = read
        self.settings = settings
        self.topics = [id for (id,) in read("SELECT id FROM topic ORDER BY position, id")]
        self._known: set[str] = set()
        """The topics whose documents were read."""
        self._items: dict[str, list[Item]] = {topic: [] for topic in self.topics}
        self._place: dict[Item, int] = {}
        self._batches: dict[str, list[int]] = {}
        """For each topic, the places at which the documents begin that were proposed together."""
        self.gold = {(topic, doc): grade for topic, doc, grade in read("SELECT topic, doc, grade FROM gold")}
        self._sizes: Counter[str] = Counter(dict(read("SELECT topic, COUNT(*) FROM pool GROUP BY topic")))
        """The documents of each topic that are to be judged: those of the pool without gold."""
        self._sizes.subtract(item[0] for item in self.gold if self._in_pool(item))
        self.budgets = TopicBudgets.of(settings, self._sizes)
        self._started: dict[str, int] = defaultdict(int)
        """For each topic, the documents with a judgment that counts; only for a budget."""
        if self.budgets is not None:
            self._started.update(read("SELECT topic, COUNT(DISTINCT doc) FROM current_qrels GROUP BY topic"))
        self._recent: dict[str, list[bool]] = {}
        """Which of the last judged documents of a topic are relevant, if that was asked; for an adaptive share."""
        self._gold_of: dict[str, list[str]] = defaultdict(list)
        for topic, doc in self.gold:
            self._gold_of[topic].append(doc)
        self.proposals = proposals or InOrder()
        self._estimate: dict[Item, float] = {}
        self._count: dict[Item, int] = {}
        """The judgments that count, of the documents that were read; the others have enough."""
        self._leases: dict[Item, dict[str, float]] = {}
        self._people: dict[str, Assessor] = defaultdict(Assessor)
        self.counted = 0
        self.checked = 0
        """Grades of gold and repeated documents."""
        self.touched = False
        """Set by every change, so that a change that fails half-way is noticed."""
        self._read_people()
        for id, topic, doc, purpose, assessor, expires in read(
            "SELECT id, topic, doc, purpose, assessor, expires_at FROM offer WHERE state = 'open' ORDER BY id"
        ):
            self._reserve(assessor, (topic, doc), expires)
            self._people[assessor].open[topic, doc] = Offer(id, topic, doc, purpose)
            self._people[assessor].topic = topic

    def _read_people(self) -> None:
        put_off = set()
        for (assessor, _, state, purpose, counted), number in standing_sums(self._read).items():
            self.counted += number if counted else 0
            self.checked += number * _is_check(state, purpose)
            self._people[assessor].judged += number * (state in SEEN)
            if state == "later":
                put_off.add(assessor)
        for name, person in self._people.items():
            ((person.topic,),) = self._read(
                "SELECT topic FROM judgment WHERE assessor = ? ORDER BY position DESC LIMIT 1", name
            )
            if name in put_off:
                for topic, doc, purpose in self._read(_LATER, name):
                    person.later[topic, doc] = 1
                    if purpose == "repeat":
                        person.seen.add((topic, doc))
        if self.with_checks:  # only these depend on the offers of before
            for name, number in self._read("SELECT assessor, COUNT(*) FROM offer GROUP BY assessor"):
                self._people[name].offers = number
            for name, topic, doc, purpose in self._read(
                "SELECT assessor, topic, doc, purpose FROM offer WHERE state = 'released' ORDER BY id"
            ):
                self._give_back(name, (topic, doc), purpose)

    # ---- memory

    def _know(self, topic: str) -> None:
        """Read the documents of a topic that need judgments, when somebody works on it for the first time."""
        if topic in self._known:
            return
        overlap = self.settings.overlap
        rows = self._read(_OPEN, topic, topic, overlap)
        judged = self._read(_JUDGED, topic, topic, overlap) if rows else []
        judged += self._read(_GOLD, topic) if topic in self._gold_of else []
        if not self.proposals.remembers:
            self.proposals.begin(topic, self._read(_GRADES, topic))
        leased = [item for item in self._leases if item[0] == topic and self._in_pool(item)]
        for doc, assessor, state in judged:
            if state in SEEN:
                self._people[assessor].seen.add((topic, doc))
        for doc, source, count in rows:
            self._count[topic, doc] = count
            if source == "found" or (count and not self.proposals.remembers):  # others may have to judge it too
                self._open((topic, doc))
        if isinstance(self.proposals, InOrder):
            self.proposals.put(topic, [doc for doc, source, _ in rows if source == "pool"])
        for item in leased:  # what was proposed before the server stopped stays proposed, in its order
            self._open(item)
        self._known.add(topic)

    def _in_pool(self, item: Item) -> bool:
        return bool(self._read("SELECT 1 FROM pool WHERE topic = ? AND doc = ?", *item))

    def _taken(self, item: Item) -> int:
        """The judgments of a document that count."""
        count = self._count.get(item)
        if count is None:
            ((count,),) = self._read("SELECT COUNT(*) FROM current_qrels WHERE topic = ? AND doc = ?", *item)
        return count or 0

    def _open(self, item: Item) -> None:
        """Let assessors find a document in the sequence of its topic."""
        if item not in self._place and item not in self.gold:
            self._count[item] = self._taken(item)
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

    @property
    def with_checks(self) -> bool:
        """Do assessors get gold or repeated documents?"""
        return bool(self.settings.gold_rate or self.settings.repeat_rate)

    def _give_back(self, assessor: str, item: Item, purpose: str) -> None:
        """Remember that an assessor had a document, and why; one that was given back before is now the last."""
        given_back = self._people[assessor].returned.setdefault(item[0], {})
        given_back.pop(item[1], None)
        given_back[item[1]] = purpose

    def _open_more(self, topic: str, left: int | None) -> bool:
        """Propose further documents of a topic, of which `left` may still be judged; False if there are none.

        In the order of the pool, one at a time. Otherwise all that will be judged, or as many as a policy chooses
        together, so that their order can be that of each assessor.
        """
        items = self._items.setdefault(topic, [])
        bounds = [bound for bound in (self.proposals.batch, left) if bound is not None]
        wanted = 1 if self.settings.order == "pool" else min(bounds, default=None)
        begin, new = len(items), 0
        while wanted is None or new < wanted:
            proposal = self.proposals.next(topic)
            if proposal is None:
                break
            item, estimate = proposal
            if estimate is not None:
                self._estimate[item] = estimate
            before = len(items)
            self._open(item)
            new += len(items) > before and not self._count[item]
        if len(items) == begin:
            return False
        batches = self._batches.setdefault(topic, [])
        batches.append(begin if batches else 0)
        return True

    def _in_order(self, assessor: str, topic: str) -> list[Item]:
        """The documents of a topic that are open, in the order in which an assessor gets them."""
        items = self._items.setdefault(topic, [])
        if self.settings.order == "pool":
            return items
        person, key = self._people[assessor], partial(self._key, assessor)
        own = person.order.setdefault(topic, [])
        new = items[len(own) :]
        if len(new) > FEW:
            own[:] = sorted(items, key=key)
            person.start[topic] = 0
        else:
            for item in new:
                at = bisect_left(own, key(item), key=key)
                own.insert(at, item)
                person.start[topic] = min(at, person.start.get(topic, 0))
        if new:
            person.ahead.pop(topic, None)
        return own

    def _key(self, assessor: str, item: Item) -> tuple[int, bytes]:
        """By this, an assessor's documents of a topic are ordered: as good as random, and the same after a restart."""
        name = "\0".join((str(self.settings.seed), assessor, *item)).encode("utf-8", "surrogatepass")
        batch = bisect_right(self._batches.get(item[0], ()), self._place[item])
        return max(batch, 1), hashlib.blake2b(name, digest_size=8).digest()

    def _tell(self, item: Item, grade: float) -> None:
        """The first judgment of a document counts; of other topics, it is read when somebody works on them."""
        topic, doc = item
        if topic in self._known:
            self.proposals.tell(topic, doc, grade)

    def _forget(self, item: Item) -> None:
        if item[0] in self._known:
            self.proposals.forget(*item)

    def _recently(self, topic: str) -> Sequence[bool]:
        """Which of the last judged documents of a topic are relevant, in the order of their first judgments."""
        if topic not in self._recent:
            first: dict[str, float] = {}
            for doc, grade in self._read(_GRADES, topic):
                first.setdefault(doc, grade)
            self._recent[topic] = [grade >= RELEVANT for grade in list(first.values())[-RECENT:]]
        return self._recent[topic]

    def _add_count(self, item: Item, number: int) -> int:
        """Count judgments of a document, which are in the database already; returns how many it has now."""
        if item in self._count:
            self._count[item] += number
        now = self._taken(item)
        self.counted += number
        self._started[item[0]] += bool(now) - bool(now - number)
        return now

    def _reopen(self, item: Item) -> None:
        """A document needs judgments again: start looking at it, not behind it."""
        topic = item[0]
        if topic in self._known and item not in self._count and item not in self.gold:
            self._read_again(item)
        place = self._place.get(item)
        if place is not None:
            for name, person in self._people.items():
                if self.settings.order != "pool":
                    key = partial(self._key, name)
                    place = bisect_left(person.order.get(topic, ()), key(item), key=key)
                person.start[topic] = min(place, person.start.get(topic, 0))
                person.ahead.pop(topic, None)

    def _read_again(self, item: Item) -> None:
        """Read a document that had enough judgments when its topic was read."""
        if self._taken(item) < self.settings.overlap:
            self._open(item)
            for assessor, state in self._read(_OF_DOCUMENT, *item):
                if state in SEEN:
                    self._people[assessor].seen.add(item)

    def judged(self, row: LogRow, before: LogRow | None) -> None:
        """Take a new row of the log into account; `before` is the row that it replaces."""
        self.touched = True
        item, person = (row.topic, row.doc), self._people[row.assessor]
        lost = before.counted if before is not None else 0
        by_others = self._add_count(item, row.counted - lost) - row.counted
        if lost and not by_others:
            self._forget(item)
        if row.counted and row.grade is not None:
            self._tell(item, row.grade)
        if lost:
            self._recent.pop(item[0], None)
        elif row.counted and row.grade is not None and not by_others and item[0] in self._recent:
            self._recent[item[0]] = [*self._recent[item[0]], row.grade >= RELEVANT][-RECENT:]
        for said, sign in ((row, 1), (before, -1)):
            if said is not None:
                self.checked += sign * _is_check(said.state, said.purpose)
                person.judged += sign * (said.state in SEEN)
        if row.state == "later":
            person.later[item] = person.later.get(item, 0) + 1
        else:
            person.later.pop(item, None)
        if row.purpose == "repeat" or row.state in SEEN:
            person.seen.add(item)
        else:
            person.seen.discard(item)
        if row.purpose != "repeat" and (row.state not in SEEN or lost > row.counted):
            self._reopen(item)
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
        taken = self._taken(item)
        for name, expires in self._leases.get(item, _NOBODY).items():
            if name != assessor and expires > now:
                taken += 1
        return taken < self.settings.overlap

    def started(self, now: float) -> Mapping[str, int]:
        """For each topic, the documents that have a judgment, or that somebody has in front of them."""
        started = Counter(self._started)
        for item, by in self._leases.items():
            if item not in self.gold and max(by.values()) > now and not self._taken(item):
                started[item[0]] += 1
        return started

    def _begun(self, item: Item, now: float) -> bool:
        """Has a document a judgment, or has somebody got it?"""
        return self._taken(item) > 0 or max(self._leases.get(item, _NOBODY).values(), default=now) > now

    def may_start(self, item: Item, now: float) -> bool:
        """Does the budget allow a judgment of a document, which may be new to the pool?"""
        if self.budgets is None or self._begun(item, now):
            return True
        sizes = self._sizes if self._in_pool(item) else self._sizes + Counter({item[0]: 1})
        budgets, started = TopicBudgets.of(self.settings, sizes), self.started(now)
        assert budgets is not None
        return budgets.left(item[0], started) > 0 or any(
            t == item[0] for t, _ in budgets.further(started, self._recently)
        )

    def _put_off(self, assessor: str, item: Item, left: int | None, now: float) -> str | None:
        """For what a document that an assessor put off can be offered again; None if it cannot."""
        person = self._people[assessor]
        if item in person.leases:
            return None
        if item in person.seen:
            return "repeat"
        if item in self.gold:
            return "gold"
        spent = left == 0 and not self._begun(item, now)
        return None if spent or not self.has_room(item, assessor, now) else "pool"

    # ---- progress

    def judged_by(self, assessor: str) -> int:
        """How many documents an assessor has judged, gold ones included: a difference would give them away."""
        return self._people[assessor].judged

    def total(self) -> int:
        """The judgments that are wanted in all: the budget, or the overlap times the pool."""
        documents = self._sizes.total() if self.budgets is None else self.budgets.total
        return self.settings.overlap * documents

    def progress(self, *, finished: bool) -> tuple[int, int]:
        """How far the work is, as assessors see it: grades, and how many are expected in all, checks included.

        Both grow alike with a check and with any other document, so that neither tells which of them is a check.
        `finished`: the assessor has no document any more.
        """
        settings, total = self.settings, self.total()
        checks = settings.repeat_rate + (settings.gold_rate if self.gold else 0.0)
        expected = round(total / (1 - checks)) if checks < 1 else total
        done = expected if finished and self.counted >= total else self.counted + self.checked
        return min(done, expected), expected


def _is_check(state: str, purpose: str) -> bool:
    """Is this the grade of a gold or repeated document?"""
    return state == "graded" and purpose not in COUNTED
