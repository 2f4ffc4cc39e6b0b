"""Simulated users, and their impressions: the lists of runs, interleaved for topics at random, with clicks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.check import nearest
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, evaluate
from cranfield.online.interleaving.attribution_log import LoggedList
from cranfield.online.interleaving.interleaved import Interleaver
from cranfield.online.interleaving.interleaved_batch import InterleavedBatch, QueryLists, interleave_many, list_seeds
from cranfield.online.interleaving.mixing_methods import MixingMethod
from cranfield.types import Array, Index64

Clicks = NDArray[np.bool_]
Table = tuple[tuple[float, ...], tuple[float, ...]]
"""For each grade from 0 on, the probability of a click; and of stopping after one."""

HIGHEST_GRADE = 1000
USERS: dict[str, dict[int, Table]] = {
    "perfect": {
        1: ((0.0, 1.0), (0.0, 0.0)),
        2: ((0.0, 0.5, 1.0), (0.0, 0.0, 0.0)),
        4: ((0.0, 0.2, 0.4, 0.8, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
    },
    "navigational": {
        1: ((0.05, 0.95), (0.2, 0.9)),
        2: ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        4: ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    },
    "informational": {
        1: ((0.4, 0.9), (0.1, 0.5)),
        2: ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        4: ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    },
    "random": {1: ((0.5, 0.5), (0.0, 0.0))},
}
"""For each kind of user, and for collections with this highest grade: the probabilities of clicks and of stopping."""


class ClickingUser(Protocol):
    """Anything that clicks on lists."""

    def simulate(self, grades: Array, rng: np.random.Generator) -> Clicks:
        """lists × places: the clicks on documents with these grades; NaN is not judged or no document."""
        ...


class FittedUser(Protocol):
    """A click model that knows documents, such as one that was fitted to a log."""

    def simulate(self, queries: Sequence[Any], docs: Any, rng: np.random.Generator) -> Clicks:
        """lists × places: the clicks on lists of documents, which end in "" if they are short."""
        ...


@dataclass(frozen=True)
class CascadeUser:
    """A user who reads from the top, clicks with a probability by grade, and may stop after a click.

    This is the dependent click model of Guo, Liu & Wang (WSDM 2009). The probabilities of `perfect`, `navigational` and
    `informational` users are those of Hofmann, Whiteson & de Rijke (TOIS 31(4), 2013, three grades) and of Schuth et
    al. and Oosterhuis & de Rijke (CIKM 2017, five grades); two grades take the ends. `random` users click each document
    with probability 0.5 and never stop. Documents without a judgment have grade 0.

    >>> user = CascadeUser.of("navigational", highest=2)
    >>> user.click, user.stop
    ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9))
    """

    name: str
    click: tuple[float, ...]
    """For each grade from 0 on, the probability of a click."""
    stop: tuple[float, ...]
    """For each grade from 0 on, the probability to stop after a click."""

    def __post_init__(self) -> None:
        for name, values in {"click": self.click, "stop": self.stop}.items():
            for value in values:
                check.between(f"user {self.name}", low=0, high=1, **{name: value})
        if len(self.click) != len(self.stop) or not self.click:
            raise check.wrong(f"user {self.name}", "stop", self.stop, f"as long as click: {len(self.click)} grades")

    @staticmethod
    def of(name: str, highest: float) -> CascadeUser:
        """The user with this name, for a collection with this highest grade.

        For other highest grades than 1, 2 and 4, the table of five grades is interpolated.

        >>> CascadeUser.of("perfect", highest=3).click
        (0.0, 0.2667, 0.6667, 1.0)
        """
        if name not in USERS:
            raise nearest(name, tuple(USERS), "user")
        tables = USERS[name]
        if not highest <= HIGHEST_GRADE:
            raise UsageError(f"the highest grade is {highest:g}; users are simulated for grades up to {HIGHEST_GRADE}")
        top = max(1, round(float(highest)))
        if top in tables:
            return CascadeUser(name, *tables[top])
        click, stop = tables[max(tables)]
        at, known = np.linspace(0, 1, top + 1), np.linspace(0, 1, len(click))
        values = (np.interp(at, known, table).round(4).tolist() for table in (click, stop))
        return CascadeUser(name, *(tuple(table) for table in values))

    def simulate(self, grades: Array, rng: np.random.Generator) -> Clicks:
        """lists × places: the clicks on documents with these grades; NaN is not judged."""
        level = np.clip(np.nan_to_num(grades, nan=0.0).round().astype(np.int64), 0, len(self.click) - 1)
        click = rng.random(level.shape) < np.array(self.click)[level]
        stops = click & (rng.random(level.shape) < np.array(self.stop)[level])
        stopped_above = np.cumsum(stops, axis=1) - stops > 0
        return np.asarray(click & ~stopped_above)

    def described(self) -> str:
        """The probabilities in words.

        >>> CascadeUser.of("navigational", highest=1).described()
        'navigational: clicks 0.05, 0.95 and stops 0.2, 0.9 for grades 0, 1'
        """
        grades = ", ".join(map(str, range(len(self.click))))
        click, stop = (", ".join(f"{value:g}" for value in values) for values in (self.click, self.stop))
        return f"{self.name}: clicks {click} and stops {stop} for grades {grades}"


def knows_documents(user: ClickingUser | FittedUser) -> bool:
    """Does `simulate` take documents (a fitted click model), or grades?

    >>> knows_documents(CascadeUser.of("perfect", highest=1))
    False
    """
    return "docs" in inspect.signature(user.simulate).parameters


def user_of(user: str | ClickingUser | FittedUser | Mapping[str, Any], highest: float) -> tuple[str, Any]:
    """A user by name, or any object with `simulate`; and a name for it."""
    if isinstance(user, str):
        made = CascadeUser.of(user, highest)
        return made.name, made
    if isinstance(user, Mapping):
        custom = CascadeUser(str(user.get("name", "custom")), tuple(user["click"]), tuple(user["stop"]))
        return custom.name, custom
    return str(getattr(user, "name", type(user).__name__)), user


@dataclass(frozen=True, eq=False)
class SimulatedImpressions:
    """The lists of all topics, the grades of their documents, and the topic and seed of every impression."""

    qrels: Qrels
    runs: Any
    pooled: PooledLists
    lists: QueryLists
    grades: Array
    """topics × documents of a topic; NaN is not judged."""
    query: Index64
    seed: int

    @staticmethod
    def of(
        qrels: Any, runs: Any, impressions: int, depth: int, seed: int, options: JoinOptions | None
    ) -> SimulatedImpressions:
        """Read the runs on the judged topics."""
        judged = Qrels.of(qrels)
        pooled = PooledLists.of(runs, depth=depth, topics=judged.topics, options=options)
        flat = pooled.grades(judged)
        sizes = np.diff(pooled.start)
        grades = np.full((len(pooled.topics), int(sizes.max(initial=0))), np.nan)
        grades[pooled.topic, np.arange(pooled.size) - pooled.start[pooled.topic]] = flat
        query = np.sort(np.random.default_rng([seed, 1]).integers(0, len(pooled.topics), size=impressions))
        return SimulatedImpressions(
            judged, runs, pooled, QueryLists.from_runs(pooled), grades, query.astype(np.int64), seed
        )

    @property
    def highest(self) -> float:
        """The highest grade of a judged document in the lists, at least 1."""
        return float(max(1.0, np.nanmax(self.grades, initial=1.0)))

    def truth(self, measure: MeasureLike, options: JoinOptions | None) -> list[float]:
        """The mean score of each run on the topics, negated for measures of which less is better."""
        from cranfield.measures.property_tables import lower_is_better

        names = ("order", "ties", "precision", "on_duplicate", "format", "split_tags")
        reading = {} if options is None else {name: getattr(options, name) for name in names}
        scores = evaluate(self.qrels, self.runs, measure, **reading)
        sign = -1.0 if lower_is_better(scores.measures[0]) else 1.0
        values = sign * scores.select(topics=self.lists.queries).means()[0]
        means = dict(zip(scores.runs, values.tolist(), strict=True))
        return [means[run] for run in self.lists.systems]

    def interleaved(self, maker: Interleaver) -> InterleavedBatch:
        """The list of every impression."""
        return interleave_many(self.lists, maker, self.query, list_seeds(self.seed, len(self.query)))

    def clicks(self, batch: InterleavedBatch, user: Any, stream: tuple[int, int]) -> Clicks:
        """lists × places: the clicks of a user on documents that are shown."""
        rng = np.random.default_rng([self.seed, 2, *stream])
        if knows_documents(user):
            clicks = np.asarray(user.simulate(*self.documents(batch), rng), dtype=bool)
        else:
            grades = np.where(batch.shown, self.grades[self.query[:, None], np.maximum(batch.document, 0)], np.nan)
            clicks = np.asarray(user.simulate(grades, rng), dtype=bool)
        if clicks.shape != batch.shown.shape:
            raise UsageError(
                f"simulate_interleaving: the user returned clicks of shape {clicks.shape}, expected {batch.shown.shape}"
            )
        return clicks & batch.shown

    def documents(self, batch: InterleavedBatch) -> tuple[list[str], NDArray[Any]]:
        """The query of each list, and lists × places: the ids of documents, "" where there is none."""
        names = np.full((len(self.lists.queries), self.grades.shape[1] + 1), "", dtype=object)
        for query, of_query in enumerate(self.lists.names):
            names[query, : len(of_query)] = of_query
        return [self.lists.queries[query] for query in self.query.tolist()], names[self.query[:, None], batch.document]


@dataclass(frozen=True, eq=False)
class SimulatedClicks:
    """Interleaved lists and the clicks of simulated users on them."""

    batch: InterleavedBatch
    clicks: Clicks
    seed: int

    def logged(self, users: int) -> Iterator[LoggedList]:
        """Attribution records with clicks, as a search engine would log them, of this number of users."""
        rng = np.random.default_rng([self.seed, 7])
        user = rng.integers(0, users, size=len(self.clicks)).tolist()
        for number in range(len(self.clicks)):
            query = self.batch.lists.queries[int(self.batch.query[number])]
            places = tuple(int(place) + 1 for place in np.flatnonzero(self.clicks[number] & self.batch.shown[number]))
            yield LoggedList(self.batch.record(number), f"i{number + 1}", f"u{user[number] + 1}", query, places)


def simulate_log(
    qrels: Any, runs: Any, method: str | MixingMethod, user: str | ClickingUser | FittedUser, *, impressions: int,
    length: int = 10, depth: int | None = None, seed: int = 0, options: JoinOptions | None = None,
) -> SimulatedClicks:  # fmt: skip
    """The lists and clicks that `simulate_interleaving` counts for its first method and kind of user."""
    setting = SimulatedImpressions.of(qrels, runs, impressions, depth or length, seed, options)
    batch = setting.interleaved(Interleaver(MixingMethod.of(method), length=length))
    return SimulatedClicks(batch, setting.clicks(batch, user_of(user, setting.highest)[1], (0, 0)), seed)
