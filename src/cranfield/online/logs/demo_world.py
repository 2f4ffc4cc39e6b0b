"""The world of a simulated log: topics, documents with grades, rankings of each arm, and how users behave."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.types import Array

START = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
"""The first second of every simulated log, a Monday."""
VARIANTS = ("", "cheap", "review")
"""What a user adds to a query to reformulate it, first, second and third time."""
GRADES = (0.6, 0.2, 0.13, 0.07)
"""The share of documents with grade 0, 1, 2 and 3."""
ATTRACTION = np.array([0.08, 0.25, 0.5, 0.75])
"""The probability of a click on an examined document, by grade."""
DWELL = np.array([9.0, 20.0, 60.0, 110.0])
"""The median seconds on a document, by grade."""
CONVERSION = np.array([0.0, 0.01, 0.06, 0.12])
"""The probability that a click leads to a conversion, by grade."""
WEEKDAY = np.array([1.1, 1.15, 1.15, 1.1, 1.0, 0.7, 0.6])
"""The traffic of each day of the week, from Monday on, relative to the mean."""
HOURS = np.array([2, 1, 1, 1, 1, 2, 4, 7, 9, 10, 10, 10, 11, 10, 9, 9, 9, 10, 11, 12, 12, 10, 7, 4], dtype=float)
"""The traffic of each hour of a day."""
DEVICES = {"phone": 0.55, "desktop": 0.35, "tablet": 0.1}
COUNTRIES = {"DE": 0.4, "FR": 0.25, "IT": 0.2, "ES": 0.15}
ANSWERED = 0.2
"""The share of topics whose answer is on the result page itself."""
LEAVES_WITH_ANSWER = 0.5
"""The probability that a user reads such an answer and leaves without a click: a good abandonment."""
NOVELTY_DAYS = 4.0
"""The days after which a novelty effect has fallen to 1 / e."""
ADJECTIVES = (
    "red", "blue", "small", "large", "new", "old", "warm", "light", "fast", "quiet", "local", "green", "simple", "dry",
)  # fmt: skip
NOUNS = (
    "shoes", "lamp", "bicycle", "recipe", "hotel", "camera", "table", "jacket", "garden", "novel", "train", "phone",
    "guitar", "tent", "printer", "soup",
)  # fmt: skip


@dataclass(frozen=True)
class DemoSettings:
    """What a simulated log is like."""

    users: int = 1000
    days: int = 14
    seed: int = 0
    arms: tuple[str, ...] = ("A", "B")
    effect: float = 0.4
    """How much less noise the ranker of each further arm has than that of the arm before, from 0 to 1."""
    novelty: float = 0.0
    """By how much users of all arms but the first click more on the first day, as a share; it fades over days."""
    sessions_per_day: float = 0.5
    """The mean number of sessions that a user has per day."""
    depth: int = 10
    """The number of documents shown for a query."""
    topics: int = 500
    """The number of different information needs; their popularity follows Zipf's law."""

    def __post_init__(self) -> None:
        names = ("users", "days", "depth", "topics")
        check.whole("simulate_log", **{name: getattr(self, name) for name in names})
        check.between("simulate_log", low=0, high=1, effect=self.effect)
        check.not_negative("simulate_log", novelty=self.novelty)
        check.positive("simulate_log", sessions_per_day=self.sessions_per_day)
        if not self.arms or len(set(self.arms)) < len(self.arms) or not all(self.arms):
            raise UsageError(f"simulate_log: arms == {self.arms!r}, must be different names, one or more")


@dataclass(frozen=True, eq=False)
class World:
    """Everything that does not depend on the users."""

    settings: DemoSettings
    grades: NDArray[np.int8]
    """The grades of the documents shown: arm × variant × topic × position."""
    documents: NDArray[np.int64]
    """The documents shown, by number: arm × variant × topic × position."""
    popularity: Array
    """The cumulative popularity of the topics."""
    answered: NDArray[np.bool_]
    """Is the answer to a topic on the result page?"""
    examination: Array
    """The probability that a position is examined: 1 / position."""
    texts: tuple[str, ...]
    """The text of each topic × variant."""


def make_world(settings: DemoSettings) -> World:
    """Topics, documents and the rankings of each arm."""
    rng = np.random.default_rng([settings.seed, 0])
    topics, pool = settings.topics, settings.depth * 3
    grade = rng.choice(len(GRADES), size=(topics, pool), p=GRADES).astype(np.int8)
    arms = len(settings.arms)
    noise = np.array([2.0 * (1 - settings.effect) ** arm for arm in range(arms)])
    score = grade + noise[:, None, None, None] * rng.normal(size=(arms, len(VARIANTS), topics, pool))
    order = np.argsort(-score, axis=-1, kind="stable")[..., : settings.depth]
    weight = 1 / np.arange(1, topics + 1)
    return World(
        settings,
        np.take_along_axis(np.broadcast_to(grade, score.shape), order, axis=-1),
        order + pool * np.arange(topics)[:, None],
        np.cumsum(weight) / weight.sum(),
        rng.random(topics) < ANSWERED,
        1 / np.arange(1.0, settings.depth + 1),
        tuple(f"{_text(topic)} {variant}".strip() for topic in range(topics) for variant in VARIANTS),
    )


def _text(topic: int) -> str:
    """The words of a topic; different topics have different words."""
    adjective, rest = ADJECTIVES[topic % len(ADJECTIVES)], topic // len(ADJECTIVES)
    noun, number = NOUNS[rest % len(NOUNS)], rest // len(NOUNS)
    return f"{adjective} {noun}" + (f" {number + 1}" if number else "")
