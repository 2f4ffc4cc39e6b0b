"""The world of a simulated log and its users: topics, documents, rankings; sessions, queries, clicks, conversions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield.declared.operation import about, with_defaults
from cranfield.errors import UsageError
from cranfield.online.engines.dialect import BUCKETS, bucket
from cranfield.types import Array, Index64

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


USERS_PER_BATCH = 20_000
MOST_SESSIONS = 5_000_000
"""The most sessions of these users."""
MOST_SHOWN = 10_000_000
"""The most documents that all topics show."""


class DemoSettings(TypedDict, total=False):
    """What a simulated log is like."""

    users: Annotated[int, about("The number of users.", 1000, least=1)]
    days: Annotated[int, about("The number of days.", 14, least=1)]
    seed: Annotated[int, about("Seed of the random numbers.", 0, least=0, below=2**64)]
    arms: Annotated[
        Sequence[str], about("The arms of an experiment, separated by commas.", ["A", "B"], spelled="--arms NAME,...")
    ]
    effect: Annotated[
        float,
        about(
            "How much less noise the ranker of each further arm has, from 0 to 1.",
            0.4,
            least=0,
            most=1,
            spelled="--advantage SHARE",
        ),
    ]
    novelty: Annotated[
        float,
        about(
            "How much more users of further arms click on the first day; it fades.",
            0.0,
            least=0,
            rare=True,
            spelled="--novelty SHARE",
        ),
    ]
    sessions_per_day: Annotated[
        float,
        about("The mean number of sessions per user and day.", 0.5, above=0, rare=True, spelled="--sessions-per-day N"),
    ]
    depth: Annotated[int, about("The number of documents shown for a query.", 10, least=1, rare=True)]
    topics: Annotated[
        int,
        about(
            "The number of information needs; their popularity follows Zipf's law.",
            500,
            least=1,
            spelled="--needs N",
            rare=True,
        ),
    ]


def check_demo(settings: DemoSettings) -> None:
    """Raise an error for a log that does not fit into memory, and for arms without different names."""
    sessions = min(settings["users"], USERS_PER_BATCH) * settings["days"] * settings["sessions_per_day"]
    if not sessions <= MOST_SESSIONS:
        raise UsageError(
            f"simulate_log: {sessions:,.0f} sessions in memory at a time (users × days × sessions), "
            f"must be at most {MOST_SESSIONS:,}"
        )
    shown, arms = settings["topics"] * settings["depth"], settings["arms"]
    if shown > MOST_SHOWN:
        raise UsageError(f"simulate_log: topics × depth == {shown:,}, must be at most {MOST_SHOWN:,}")
    if not arms or len(set(arms)) < len(arms) or not all(arms):
        raise UsageError(f"simulate_log: arms == {arms!r}, must be different names, one or more")


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


def make_world(**chosen: Unpack[DemoSettings]) -> World:
    """Topics, documents and the rankings of each arm."""
    settings = with_defaults(DemoSettings, chosen)
    check_demo(settings)
    rng = np.random.default_rng([settings["seed"], 0])
    topics, pool = settings["topics"], settings["depth"] * 3
    grade = rng.choice(len(GRADES), size=(topics, pool), p=GRADES).astype(np.int8)
    arms = len(settings["arms"])
    noise = np.array([2.0 * (1 - settings["effect"]) ** arm for arm in range(arms)])
    score = grade + noise[:, None, None, None] * rng.normal(size=(arms, len(VARIANTS), topics, pool))
    order = np.argsort(-score, axis=-1, kind="stable")[..., : settings["depth"]]
    weight = 1 / np.arange(1, topics + 1)
    return World(
        settings, np.take_along_axis(np.broadcast_to(grade, score.shape), order, axis=-1),
        order + pool * np.arange(topics)[:, None], np.cumsum(weight) / weight.sum(), rng.random(topics) < ANSWERED,
        1 / np.arange(1.0, settings["depth"] + 1),
        tuple(f"{_text(topic)} {variant}".strip() for topic in range(topics) for variant in VARIANTS),
    )  # fmt: skip


def _text(topic: int) -> str:
    """The words of a topic; different topics have different words."""
    adjective, rest = ADJECTIVES[topic % len(ADJECTIVES)], topic // len(ADJECTIVES)
    noun, number = NOUNS[rest % len(NOUNS)], rest // len(NOUNS)
    return f"{adjective} {noun}" + (f" {number + 1}" if number else "")


LONGEST_SESSION = 6
"""The most queries of a session."""
SECOND = 1_000_000
ACTIONS = ("click", "hover", "conversion")
SATISFIED_SECONDS = 30.0


@dataclass(frozen=True, eq=False)
class Batch:
    """The simulated traffic of some users, in order of time. Numbers count from 0 over the whole log."""

    user: Index64
    """Of the queries."""
    session: Index64
    time: Index64
    """In microseconds."""
    arm: Index64
    device: Index64
    country: Index64
    topic: Index64
    variant: Index64
    left_with_answer: NDArray[np.bool_]
    first_query: int
    """The number of the first query."""
    event_query: Index64
    """Of the events: the place of their query in this batch."""
    event_time: Index64
    action: Index64
    """As in `ACTIONS`."""
    position: Index64
    value: Array
    """The revenue of a conversion; NaN for other events."""
    dwell: Array
    """The seconds on a clicked document; NaN for other events."""
    users: int = 0
    users_by_arm: Index64 = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def simulate_batch(world: World, first_user: int, users: int, first_session: int, first_query: int) -> Batch:
    """The traffic of `users` users; the numbers of sessions and queries go on from those given."""
    settings = world.settings
    rng = np.random.default_rng([settings["seed"], 1, first_user])
    seed = settings["seed"]
    share = np.array([bucket(f"u{n}", f"demo-{seed}") for n in range(first_user, first_user + users)]) / BUCKETS
    arm = (share * len(settings["arms"])).astype(np.int64)
    device = rng.choice(len(DEVICES), size=users, p=list(DEVICES.values()))
    country = rng.choice(len(COUNTRIES), size=users, p=list(COUNTRIES.values()))
    rate = rng.gamma(0.8, settings["sessions_per_day"] / 0.8, size=users)
    weekday = WEEKDAY[np.arange(settings["days"]) % 7]
    counts = rng.poisson(rate[:, None] * weekday)
    user, day = (np.repeat(index, counts.ravel()) for index in np.indices(counts.shape).reshape(2, -1))
    hour = rng.choice(24, size=len(user), p=HOURS / HOURS.sum())
    start = day * 86_400 + hour * 3600 + rng.random(len(user)) * 3600
    order = np.lexsort((start, user))
    user, start = user[order], start[order]
    steps = _sessions(world, rng, user, start, arm, device)
    return _in_time_order(steps, user, arm, device, country, first_user, first_session, first_query)


def _sessions(
    world: World, rng: np.random.Generator, user: Index64, start: Array, arm: Index64, device: Index64
) -> list[dict[str, NDArray[np.generic]]]:
    """The queries of all sessions, first queries first, each step with its events."""
    session = np.arange(len(user))
    time, topic = start, np.searchsorted(world.popularity, rng.random(len(user)))
    variant = np.zeros(len(user), dtype=np.int64)
    steps = []
    for _ in range(LONGEST_SESSION):
        if not len(session):
            break
        step, satisfied, end = _query(
            world, rng, session, time, topic, variant, arm[user[session]], device[user[session]]
        )
        steps.append(step)
        goes_on = rng.random(len(session)) < np.where(satisfied, 0.25, 0.55)
        new_topic = satisfied | (variant + 1 >= len(VARIANTS))
        drawn = np.searchsorted(world.popularity, rng.random(len(session)))
        time = end + 3 + rng.exponential(15, size=len(session))
        topic, variant = np.where(new_topic, drawn, topic), np.where(new_topic, 0, variant + 1)
        session, time, topic, variant = session[goes_on], time[goes_on], topic[goes_on], variant[goes_on]
    return steps


def _query(
    world: World, rng: np.random.Generator, session: Index64, time: Array, topic: Index64, variant: Index64,
    arm: Index64, device: Index64,
) -> tuple[dict[str, NDArray[np.generic]], NDArray[np.bool_], Array]:  # fmt: skip
    """One query of each session: the query and its events; whether the user is satisfied; when the user is done."""
    settings = world.settings
    grade = world.grades[arm, variant, topic]
    size = grade.shape
    novelty = 1 + settings["novelty"] * np.exp(-(time / 86_400) / NOVELTY_DAYS) * (arm > 0)
    appeal = ATTRACTION[grade] * (novelty * np.where(device == 0, 0.9, 1.0))[:, None]
    left = world.answered[topic] & (rng.random(len(topic)) < LEAVES_WITH_ANSWER)
    clicked = (rng.random(size) < np.minimum(world.examination * appeal, 1)) & ~left[:, None]
    hovered = ~clicked & (rng.random(size) < 0.12 * world.examination)
    seconds = np.where(clicked, DWELL[grade] * rng.lognormal(0, 0.6, size=size), 0)
    reading = 2 + 1.5 * np.arange(size[1]) + rng.random(size)
    at = time[:, None] + reading + np.cumsum(seconds, axis=1) - seconds  # documents above are read first
    bought = clicked & (rng.random(size) < CONVERSION[grade])
    satisfied = left | ((seconds >= SATISFIED_SECONDS) & (grade >= 2)).any(axis=1)
    end = np.where(clicked.any(axis=1), np.where(clicked, at + seconds, 0).max(axis=1), time + 8)
    rows, columns, actions, values, dwells, times = [], [], [], [], [], []
    for action, mask in enumerate((clicked, hovered, bought)):
        row, column = np.nonzero(mask)
        rows.append(row)
        columns.append(column)
        actions.append(np.full(len(row), action))
        values.append(rng.lognormal(3, 0.8, size=len(row)).round(2) if action == 2 else np.full(len(row), np.nan))
        dwells.append(seconds[row, column].round(3) if action == 0 else np.full(len(row), np.nan))
        times.append(at[row, column] + (seconds[row, column] if action == 2 else 0))
    step: dict[str, NDArray[np.generic]] = {
        "session": session, "time": time, "topic": topic, "variant": variant, "left": left,
        "event_row": np.concatenate(rows), "event_time": np.concatenate(times), "action": np.concatenate(actions),
        "position": np.concatenate(columns) + 1, "value": np.concatenate(values), "dwell": np.concatenate(dwells),
    }  # fmt: skip
    return step, satisfied, end


def _in_time_order(
    steps: list[dict[str, NDArray[np.generic]]], user: Index64, arm: Index64, device: Index64, country: Index64,
    first_user: int, first_session: int, first_query: int,
) -> Batch:  # fmt: skip
    """All queries and events of the steps, sorted by time."""
    sizes = np.cumsum([0, *(len(step["session"]) for step in steps)])
    joined = {name: np.concatenate([step[name] for step in steps]) for name in steps[0]} if steps else _NO_STEPS
    rows = [step["event_row"].astype(np.int64) + size for step, size in zip(steps, sizes, strict=False)]
    query_of_event = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
    order = np.argsort(joined["time"], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    by_time = np.argsort(joined["event_time"], kind="stable")
    session = joined["session"][order].astype(np.int64)
    of_user = user[session]
    return Batch(
        user=of_user + first_user,
        session=session + first_session,
        time=_microseconds(joined["time"][order]),
        arm=arm[of_user],
        device=device[of_user],
        country=country[of_user],
        topic=joined["topic"][order].astype(np.int64),
        variant=joined["variant"][order].astype(np.int64),
        left_with_answer=joined["left"][order].astype(np.bool_),
        first_query=first_query,
        event_query=place[query_of_event[by_time]],
        event_time=_microseconds(joined["event_time"][by_time]),
        action=joined["action"][by_time].astype(np.int64),
        position=joined["position"][by_time].astype(np.int64),
        value=joined["value"][by_time].astype(np.float64),
        dwell=joined["dwell"][by_time].astype(np.float64),
        users=len(arm),
        users_by_arm=np.bincount(arm).astype(np.int64),
    )


def _microseconds(seconds: NDArray[np.generic]) -> Index64:
    return ((START + seconds.astype(np.float64)) * 1000).astype(np.int64) * (SECOND // 1000)


_NO_STEPS = {
    name: np.zeros(0)
    for name in ("session", "time", "topic", "variant", "left", "event_time", "action", "position", "value", "dwell")
}
