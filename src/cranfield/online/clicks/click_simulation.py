"""Simulated sessions: the lists of runs, with clicks of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.online.clicks.click_kinds import BROWSING, RANK
from cranfield.online.clicks.click_model import ClickModel
from cranfield.online.clicks.click_pages import Pages
from cranfield.online.clicks.click_placement import Placement
from cranfield.online.clicks.click_walks import drawn_clicks
from cranfield.text import counted, listed
from cranfield.types import Index64

BATCH = 100_000
"""Sessions that are simulated at a time."""


@dataclass(frozen=True, eq=False)
class SimulatedBatch:
    """Some simulated sessions: a list each, and sessions × ranks of clicks."""

    first: int
    """The number of the first session."""
    list: Index64
    clicked: NDArray[np.bool_]


class ClickSimulation:
    """Sessions on the lists of runs. Each session draws a topic and a run that has it, all equally likely.

    depth, order, ties: the first documents of each list, in the order of `Run.ranking`.
    queries: {topic: query} if the model knows queries by their texts and the runs have ids of topics.
    """

    def __init__(
        self,
        model: ClickModel,
        runs: Sequence[Run],
        *,
        depth: int = 10,
        order: str = "score",
        ties: str = "z-a",
        queries: Mapping[str, str] | None = None,
    ) -> None:
        check.whole("simulation", depth=depth)
        if not runs:
            raise UsageError("no runs to simulate sessions on")
        self.model = model
        lists: list[tuple[str, str, list[str]]] = []
        unknown = set()
        for run in runs:
            top = run.top(depth, order, ties)
            for topic in top.topics:
                if queries is not None and topic not in queries:
                    unknown.add(topic)
                    continue
                docs = [place.doc for place in top.ranking(topic, order, ties=ties)]
                lists.append((run.name, topic if queries is None else queries[topic], docs))
        if not lists:
            raise UsageError(f"no topic of the runs is among the topics: {listed(sorted(unknown))}")
        self.notes: list[str] = []
        if unknown:
            self.notes.append(f"{counted(len(unknown), 'topic')} without a query, left out: {listed(sorted(unknown))}")
        self.run = np.array([name for name, _, _ in lists], dtype=object)
        self.query = np.array([query for _, query, _ in lists], dtype=object)
        self.pages = Pages.lists(self.query.tolist(), [docs for _, _, docs in lists])
        self.docs = np.array([*self.pages.names.doc.tolist(), None], dtype=object)[self.pages.pair]
        placement = model.placement(self.pages)
        self.unseen = len(np.unique(self.pages.pair[placement.unseen]))
        known = set(model.names.queries)
        new = sorted(set(self.query.tolist()) - known)
        if len(new) == len(set(self.query.tolist())):
            raise UsageError(
                f"the model has seen none of the queries of the runs, such as {new[0]!r}; it has seen queries such as "
                f"{model.names.queries[0]!r}. If the runs have ids of topics, give the topics"
            )
        if new:
            self.notes.append(
                f"{counted(len(new), 'query', 'queries')} that the model has not seen: {listed(new, most=3)}"
            )
        if model.converged is False:
            self.notes.append(f"{model.model} did not converge when it was fitted")
        deeper = int((self.pages.present.sum(axis=1) > model.ranks).sum())
        if deeper and set(model.kind.parameters.values()) & {RANK, BROWSING}:
            self.notes.append(
                f"{counted(deeper, 'list')} longer than the {counted(model.ranks, 'rank')} that the model has seen; "
                f"the ranks below get the parameters of rank {model.ranks}"
            )
        if self.unseen:
            self.notes.append(
                f"{counted(self.unseen, 'document')} of queries that the model has not seen; they get the mean of its "
                "prior"
            )

    def batches(self, sessions: int, seed: int = 0) -> Iterator[SimulatedBatch]:
        """The sessions, some at a time; the same seed gives the same sessions."""
        check.whole("simulation", sessions=sessions)
        rng = np.random.default_rng(seed)
        topics, of_list = np.unique(self.query, return_inverse=True)
        order = np.argsort(of_list, kind="stable")
        start = np.searchsorted(of_list[order], np.arange(len(topics) + 1))
        for first in range(0, sessions, BATCH):
            size = min(BATCH, sessions - first)
            topic = rng.integers(0, len(topics), size)
            each = start[topic + 1] - start[topic]
            chosen = order[start[topic] + (rng.random(size) * each).astype(np.int64)]
            model = self.model
            placement = Placement(
                dict(model.values), model.names, model.shown, model.prior, model.ranks,
                (self.pages.names, self.pages.pair[chosen]),
            )  # fmt: skip
            clicked = drawn_clicks(model.kind.walk(placement), size, self.pages.ranks, rng)
            yield SimulatedBatch(first, chosen, clicked)

    def rows(self, batch: SimulatedBatch) -> dict[str, NDArray[Any]]:
        """A batch as columns with a row per impression: session, run, query, position, doc, clicked."""
        session, column = np.nonzero(self.pages.present[batch.list])
        at = batch.list[session]
        numbers = np.char.add("s", (batch.first + 1 + np.arange(len(batch.list))).astype(str)).astype(object)
        return {
            "session": numbers[session],
            "run": self.run[at],
            "query": self.query[at],
            "position": column + 1,
            "doc": self.docs[at, column],
            "clicked": batch.clicked[session, column].astype(np.int64),
        }
