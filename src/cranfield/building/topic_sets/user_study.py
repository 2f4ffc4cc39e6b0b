"""Who searches for which topic with which system, and in which order: the design of a user study."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.doors import reads
from cranfield.collection.source import PathLike, load, shown_path
from cranfield.collection.tables.table_schema import TOPIC, Schema
from cranfield.collection.topics import Topics
from cranfield.declared.operation import Seed, operation
from cranfield.errors import UsageError
from cranfield.record import Record
from cranfield.table import Column, Table
from cranfield.text import counted, listed
from cranfield.types import Index64

MOST_ROWS = 10_000_000
"""The largest number of users times topics."""
TOPIC_IDS = Schema("topic", header=False, comments=True, key=("topic",), topic=TOPIC)


@dataclass(frozen=True, eq=False, repr=False)
class UserStudy(Record):
    """The order of topics and systems for every user.

    >>> print(user_study(["a", "b"], ["t1", "t2"], 2))
    user   place  block  topic  system
    user1      1      1  t1     a
    user1      2      2  t2     b
    user2      1      1  t1     b
    user2      2      2  t2     a
    every topic is used 1 time with every system
    every system is used 1 time in every block
    2 more notes: .notes
    """

    facts = ("systems", "topics", "users", "seed")

    systems: tuple[str, ...]
    topics: tuple[str, ...]
    users: tuple[str, ...]
    order: Index64
    """users × blocks: the index of the system that a user works with in each block."""
    schedule: Index64
    """users × topics: the index of the topic at each place."""
    blocks: Index64
    """users × topics: the block of each place, from 0."""
    seed: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """user, place, block, topic, system; places and blocks are numbered from 1."""
        users, places = self.schedule.shape
        systems = np.take_along_axis(self.order, self.blocks, axis=1)
        return {
            "user": np.repeat(np.array(self.users, dtype=object), places),
            "place": np.tile(np.arange(1, places + 1), users),
            "block": self.blocks.ravel() + 1,
            "topic": np.array(self.topics, dtype=object)[self.schedule.ravel()],
            "system": np.array(self.systems, dtype=object)[systems.ravel()],
        }

    def orders(self) -> Table:
        """A row per user: the systems and the topics of each block."""
        heads = [Column("user")]
        for block in range(1, len(self.systems) + 1):
            heads += [Column("system", group=f"block {block}"), Column("topics", group=f"block {block}")]
        rows = []
        for u, user in enumerate(self.users):
            cells = [user]
            for block, system in enumerate(self.order[u].tolist()):
                names = [self.topics[t] for t in self.schedule[u][self.blocks[u] == block].tolist()]
                cells += [self.systems[system], " ".join(names)]
            rows.append(tuple(cells))
        return Table(tuple(heads), tuple(rows), notes=self.notes)


@operation
def user_study(
    systems: Iterable[str], topics: Iterable[str] | Topics, users: int | Sequence[str], *, seed: Seed = 0
) -> UserStudy:
    r"""A balanced plan for users who search for topics with several systems, each user with all systems.

    The topics are cut at random into as many groups as there are systems. Every user works on each group with one
    system, so that nobody sees a topic twice, and which system has which group rotates from user to user (a Latin
    square). The order of the systems is that of a Williams design: every system is equally often in each place, and
    follows every other system equally often, so effects of practice, fatigue and of the system before cancel out. With
    k systems this takes k users, or 2k if k is odd. The topics of a group are in random order.

    Users are planned in order of arrival, so a study that stops early is as balanced as it can be. Notes say how often
    each topic met each system, and so on, and which number of users would balance what is not.

    systems: the names of the systems, 2 or more.
    topics: ids of topics, at least as many as systems.
    users: how many users, or their names.
    Reference: Williams, Experimental Designs Balanced for the Estimation of Residual Effects of Treatments, Australian
    Journal of Scientific Research A 2(2), 1949, doi:10.1071/CH9490149; Kelly, Methods for Evaluating Interactive
    Information Retrieval Systems with Users, FnTIR 3(1–2), 2009, doi:10.1561/1500000012

    >>> study = user_study("abc", ["t1", "t2", "t3", "t4", "t5", "t6"], 6)
    >>> [" ".join(study.systems[i] for i in row) for row in study.order.tolist()]
    ['a b c', 'b c a', 'c a b', 'c b a', 'a c b', 'b a c']
    """
    names, ids = _distinct("system", systems), _distinct("topic", topics)
    if isinstance(users, int | np.integer) and not isinstance(users, bool):
        check.whole("user_study", users=users)
        if users * len(ids) <= MOST_ROWS:
            width = len(str(users))
            people = tuple(f"user{u:0{width}}" for u in range(1, int(users) + 1))
    elif isinstance(users, str | bool | float):
        raise UsageError(f"user_study: users == {users!r}, must be a number of users or a list of names")
    else:
        people, users = _distinct("user", users), len(users)
    if len(names) < 2:
        raise UsageError(f"user_study: {counted(len(names), 'system')}, must be 2 or more")
    if len(ids) < len(names):
        raise UsageError(
            f"user_study: {counted(len(ids), 'topic')} for {len(names)} systems; a user needs a topic for each system"
        )
    if users * len(ids) > MOST_ROWS:
        raise UsageError(f"user_study: {users:,} users × {len(ids):,} topics, must be at most {MOST_ROWS:,} together")
    check.not_negative("user_study", seed=seed)
    rng = np.random.default_rng(seed)
    k, n = len(names), len(people)
    groups = np.array_split(rng.permutation(len(ids)), k)
    name_of = rng.permutation(k)  # which system has which letter of the square is random too
    number = np.arange(n)
    letters = williams(k)[number % (2 * k if k % 2 else k)]
    group = (letters + (number + number // k)[:, None]) % k
    schedule = np.empty((n, len(ids)), dtype=np.int64)
    blocks = np.empty_like(schedule)
    for u in range(n):
        parts = [rng.permutation(groups[g]) for g in group[u].tolist()]
        schedule[u] = np.concatenate(parts)
        blocks[u] = np.repeat(np.arange(k), [len(part) for part in parts])
    order = name_of[letters]
    notes = _balance(order, group, k)
    sizes = sorted({len(part) for part in groups})
    if len(sizes) > 1:
        notes.append(f"groups of {sizes[0]} or {sizes[1]} topics, because {len(ids)} topics are not a multiple of {k}")
    return UserStudy(names, ids, people, order, schedule, blocks, int(seed), tuple(notes))


def williams(k: int) -> Index64:
    """The orders of k treatments in a Williams design: k rows, or 2k if k is odd, with an entry per place.

    >>> williams(4).tolist()
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    """
    first = np.array([(i + 1) // 2 if i % 2 else -(i // 2) for i in range(k)])
    rows = (first + np.arange(k)[:, None]) % k
    return np.concatenate([rows, rows[:, ::-1]]) if k % 2 else rows


def _balance(order: Index64, group: Index64, k: int) -> list[str]:
    """A sentence about each kind of balance: how often each combination occurs."""
    place = np.broadcast_to(np.arange(k), order.shape)
    successions = _counts(order[:, :-1], order[:, 1:], k)[~np.eye(k, dtype=bool)]
    rows = 2 * k if k % 2 else k
    cases = (
        ("every topic is used {} with every system", _counts(group, order, k), k),
        ("every system is used {} in every block", _counts(order, place, k), k),
        ("every system follows every other system {}", successions, rows),
        ("every topic is used {} in every block", _counts(group, place, k), k if k % 2 else k * k),
    )
    notes = []
    for sentence, counts, multiple in cases:
        low, high = int(counts.min()), int(counts.max())
        if low == high:
            notes.append(sentence.format(counted(low, "time")))
        else:
            enough = multiple * math.ceil(len(order) / multiple)
            notes.append(f"{sentence.format(f'{low} to {high} times')}; {enough} users would balance this")
    return notes


def _counts(first: Index64, second: NDArray[Any], k: int) -> Index64:
    return np.bincount((first * k + second).ravel(), minlength=k * k).reshape(k, k)


def _distinct(noun: str, names: Iterable[Any]) -> tuple[str, ...]:
    """Names as texts, none of them twice or empty."""
    if isinstance(names, Topics):
        return tuple(names)
    texts = tuple(str(name) for name in names)
    if "" in texts:
        raise UsageError(f"user_study: a {noun} has an empty name")
    twice = [name for name, count in Counter(texts).items() if count > 1]
    if twice:
        raise UsageError(f"user_study: {noun}s must differ, but {listed(map(repr, twice))} appear twice or more")
    return texts


@reads
def read_topic_ids(path: PathLike) -> tuple[str, ...]:
    """The ids of the topics in a file of topics in any format, or in a file with an id in each line."""
    data = load(path)
    first = next((line for line in bytes(data).splitlines() if line.strip() and not line.startswith(b"#")), b"")
    if len(first.split()) != 1 or first.lstrip()[:1] in (b"<", b"{", b"["):
        return tuple(Topics.read(path))
    return tuple(TOPIC_IDS.read_content(data, shown_path(os.fspath(path)))["topic"])
