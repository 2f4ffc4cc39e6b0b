"""Impressions of simulated users: the lists of runs, interleaved for topics at random, and clicks on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.join_options import JoinOptions
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, evaluate
from cranfield.online.interleaving.attribution_log import LoggedList
from cranfield.online.interleaving.interleaved import Interleaver
from cranfield.online.interleaving.interleaved_batch import InterleavedBatch, QueryLists, interleave_many, list_seeds
from cranfield.online.interleaving.mixing_methods import MixingMethod
from cranfield.online.interleaving.simulated_users import ClickingUser, Clicks, FittedUser, knows_documents, user_of
from cranfield.text import counted, listed
from cranfield.types import Array, Index64


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


def biased_policies(batch: InterleavedBatch) -> list[str]:
    """A note if optimised interleaving could not be made fair for some queries."""
    if batch.maker.core or batch.maker.method.name != "optimised":
        return []
    used = np.unique(batch.query).tolist()
    biased = [batch.lists.queries[query] for query in used if batch.maker.policy(batch.lists.numbers(query)).bias]
    if not biased:
        return []
    number = counted(len(biased), "query", "queries")
    which = f"{number} of {len(used)} without fair probabilities, random clicks favour a system"
    return [f"{batch.maker.method}: {which}: {listed(biased)}"]
