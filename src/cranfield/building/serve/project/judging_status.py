"""How far a project is: judgments by assessor and topic, pace, and agreement with known grades."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cranfield.building.agreement.pairs_and_groups import PairAgreement, pair_agreement
from cranfield.building.serve.project.judgment_log import standing_sums
from cranfield.building.serve.project.proposals import TopicBudgets
from cranfield.building.serve.project.store import Store
from cranfield.declared.operation import operation
from cranfield.record import Record, column, table_of
from cranfield.table import Table
from cranfield.types import Array, Index64

WINDOW = 25
"""Judgments in a step of the pace."""
MOST_STEPS = 40
RECENT = 1_000
"""The last judgments of an assessor, for the median of seconds."""


@dataclass(frozen=True, eq=False, repr=False)
class Status(Record):
    """The state of a project, with a row per assessor."""

    facts = ("title", "mode", "overlap", "documents", "wanted", "counted", "budget")

    title: str
    mode: str
    overlap: int
    documents: int
    """Documents to judge."""
    wanted: int
    """Judgments that are wanted in all: documents × overlap, or the budget."""
    counted: int
    """Judgments that count."""
    budget: int | None
    assessors: Annotated[tuple[str, ...], column("assessor")]
    judgments: Annotated[Index64, column()]
    """By assessor: grades that stand, of documents of the pool and documents found by search."""
    cannot: Annotated[Index64, column("cannot judge")]
    later: Annotated[Index64, column()]
    checks: Annotated[Index64, column()]
    """Judgments of gold and repeated documents."""
    seconds: Annotated[Array, column("median s")]
    """The median time of the last judgments; NaN if unknown."""
    gold: Annotated[Array, column("agrees with gold")]
    """The share of judgments of gold documents that give the known grade; NaN without any."""
    self_agreement: Annotated[Array, column("agrees with self")]
    """The share of repeated documents that got the same grade again; NaN without any."""
    topics: tuple[str, ...]
    topic_documents: Index64
    topic_counted: Index64
    topic_wanted: Index64
    """By topic: the judgments that are wanted, or that a topic has if the budget follows relevance."""
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """A row per assessor, and a line about the whole."""
        table = super().table()
        share = self.counted / self.wanted if self.wanted else 0.0
        of = f"{self.counted:,} of {self.wanted:,} judgments ({share:.0%}) of {self.documents:,} documents"
        return Table(
            table.columns, table.rows, self.title, (of, f"mode: {self.mode}, overlap {self.overlap}", *self.notes)
        )

    def by_topic(self) -> Table:
        """A row per topic: documents, judgments that count, and the share of the wanted ones that is done."""
        done = np.divide(
            self.topic_counted, self.topic_wanted, out=np.zeros(len(self.topics)), where=self.topic_wanted > 0
        )
        return table_of(
            {
                "topic": np.array(self.topics, dtype=object),
                "documents": self.topic_documents,
                "judgments": self.topic_counted,
                "done": done,
            }
        )


@operation
def status(store: Store) -> Status:
    """The state of a project. It reads sums, not judgments, so that a million of them take less than a second.

    `CROSS JOIN` makes SQLite begin with the small table.
    """
    settings, read = store.settings(), store.database.read
    pool: dict[str, int] = dict(read("SELECT topic, COUNT(*) FROM pool GROUP BY topic"))
    gold_in_pool: dict[str, int] = dict(
        read(
            """SELECT pool.topic, COUNT(*) FROM gold CROSS JOIN pool
            WHERE pool.topic = gold.topic AND pool.doc = gold.doc GROUP BY pool.topic"""
        )
    )
    documents = {topic: count - gold_in_pool.get(topic, 0) for topic, count in pool.items()}
    sums = standing_sums(read)
    counted: dict[str, int] = defaultdict(int)
    people: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (assessor, topic, state, purpose, counts), number in sums.items():
        if purpose in ("gold", "repeat"):
            people[assessor]["checks"] += number if state == "graded" else 0
        else:
            people[assessor][state] += number
        counted[topic] += number if counts else 0
    roles: dict[str, str] = dict(read("SELECT name, role FROM assessor WHERE active = 1"))
    names = tuple(sorted(people.keys() | {name for name, role in roles.items() if role == "assessor"}))
    gold, again = agreement_with_gold(store), agreement_with_self(store)
    topics = tuple(topic for topic in store.topic_ids() if topic in pool)
    budgets = TopicBudgets.of(settings, documents)
    total, sure = (sum(documents.values()), documents) if budgets is None else (budgets.total, budgets.sure)

    rows = [
        (name, *(people[name][what] for what in ("graded", "cannot", "later", "checks")), _median_seconds(store, name),
         _share(gold.get(name, ())), _share(again.get(name, ())))
        for name in names
    ]  # fmt: skip
    overlap = settings.overlap
    wanted = [max(overlap * sure[topic], counted[topic]) for topic in topics]
    return Status.of_rows(
        rows, title=settings.title, mode=settings.mode, overlap=overlap, documents=sum(pool.values()),
        wanted=overlap * total, counted=sum(counted.values()), budget=settings.budget, topics=topics,
        topic_documents=np.array([documents[topic] for topic in topics], dtype=np.int64),
        topic_counted=np.array([counted[topic] for topic in topics], dtype=np.int64),
        topic_wanted=np.array(wanted, dtype=np.int64),
    )  # fmt: skip


def _median_seconds(store: Store, name: str) -> float:
    rows = store.database.read(
        f"""SELECT milliseconds FROM judgment WHERE assessor = ? AND action = 'judge' AND milliseconds IS NOT NULL
        ORDER BY position DESC LIMIT {RECENT}""",
        name,
    )
    return float(np.median([ms for (ms,) in rows])) / 1000 if rows else float("nan")


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else float("nan")


def agreement_with_gold(store: Store) -> dict[str, list[bool]]:
    """{assessor: for each judgment of a gold document, whether it gives the known grade}, in order."""
    agrees: dict[str, list[bool]] = defaultdict(list)
    for assessor, grade, known in store.database.read(
        """SELECT assessor, j.grade, gold.grade FROM gold CROSS JOIN standing_judgment AS j
        WHERE j.topic = gold.topic AND j.doc = gold.doc AND j.state = 'graded' AND purpose <> 'repeat'
        ORDER BY position"""
    ):
        agrees[assessor].append(grade == known)
    return agrees


def agreement_with_self(store: Store) -> dict[str, list[bool]]:
    """{assessor: for each repeated document, whether it got the same grade again}."""
    agrees: dict[str, list[bool]] = defaultdict(list)
    for assessor, again, first in store.database.read(
        """SELECT r.assessor, r.grade, j.grade FROM standing_judgment AS r CROSS JOIN standing_judgment AS j
        WHERE r.purpose = 'repeat' AND r.state = 'graded' AND j.topic = r.topic AND j.doc = r.doc
        AND j.assessor = r.assessor AND j.purpose <> 'repeat' AND j.state = 'graded' ORDER BY r.position"""
    ):
        agrees[assessor].append(again == first)
    return agrees


@dataclass(frozen=True)
class Step:
    """A stretch of the work of an assessor."""

    first: int
    """The number of its first judgment."""
    seconds: float
    """The median time of a judgment."""
    gold: float | None
    """The share of gold documents with the known grade; None if there was none."""


def pace(store: Store, assessor: str, window: int = WINDOW) -> list[Step]:
    """The last work of an assessor in steps of `window` judgments: is it getting slower, or worse?"""
    rows = store.database.read(
        f"""SELECT position, milliseconds, j.grade, gold.grade FROM judgment AS j
        LEFT JOIN gold ON gold.topic = j.topic AND gold.doc = j.doc
        WHERE assessor = ? AND action = 'judge' AND state = 'graded'
        ORDER BY position DESC LIMIT {window * MOST_STEPS}""",
        assessor,
    )[::-1]
    steps = []
    for start in range(0, len(rows), window):
        part = rows[start : start + window]
        times = [ms / 1000 for _, ms, _, _ in part if ms is not None]
        known = [grade == gold for _, _, grade, gold in part if gold is not None]
        median = float(np.median(times)) if times else float("nan")
        steps.append(Step(int(part[0][0]), median, sum(known) / len(known) if known else None))
    return steps


def live_agreement(store: Store, most: int = 50_000) -> PairAgreement | None:
    """Agreement of each pair of assessors on the last documents that both judged; None if there are none yet.

    Gold documents, which all assessors get, count as well.
    """
    rows = store.database.read(
        """SELECT topic, doc, assessor, grade FROM standing_judgment
        WHERE state = 'graded' AND grade IS NOT NULL AND purpose <> 'repeat' ORDER BY id DESC LIMIT ?""",
        most,
    )
    judged = Counter((topic, doc) for topic, doc, _, _ in rows)
    shared = sorted((row for row in rows if judged[row[0], row[1]] > 1), key=lambda row: row[2])
    return pair_agreement(shared) if shared else None
