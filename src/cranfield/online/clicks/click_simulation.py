"""Simulated sessions: the lists of runs, with clicks of a model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.online.clicks.click_model import ClickModel
from cranfield.online.clicks.click_pages import Pages
from cranfield.online.clicks.click_placement import Placement
from cranfield.online.clicks.click_walks import drawn_clicks
from cranfield.record import OneRow
from cranfield.text import counted, listed
from cranfield.types import Index64, Progress

BATCH = 100_000
"""Sessions that are simulated at a time."""
SUFFIXES = (".parquet", ".csv")
COLUMNS = ("session", "run", "query", "position", "doc", "clicked")


@dataclass(frozen=True, eq=False)
class SimulatedBatch:
    """Some simulated sessions: a list each, and sessions × ranks of clicks."""

    first: int
    """The number of the first session."""
    list: Index64
    clicked: NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class SimulatedClicks(OneRow):
    """What was simulated."""

    model: str
    sessions: int
    impressions: int
    clicks: int
    lists: int
    unseen: int
    """Documents of lists that the model has not seen for the query."""
    seed: int
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """model, sessions, impressions, clicks, lists, unseen, seed."""
        from cranfield.record import one_row

        names = ("model", "sessions", "impressions", "clicks", "lists", "unseen", "seed")
        return one_row({name: getattr(self, name) for name in names})


class ClickSimulation:
    """Sessions on the lists of runs. Each session draws a topic and a run that has it, all equally likely.

    queries: {topic: query} if the model knows queries by their texts and the runs have ids of topics.
    """

    def __init__(
        self, model: ClickModel, runs: Sequence[Run], *, depth: int = 10, queries: Mapping[str, str] | None = None
    ) -> None:
        check.whole("simulation", depth=depth)
        if not runs:
            raise UsageError("no runs to simulate sessions on")
        self.model = model
        lists: list[tuple[str, str, list[str]]] = []
        unknown = set()
        for run in runs:
            for topic in run.topics:
                if queries is not None and topic not in queries:
                    unknown.add(topic)
                    continue
                docs = [place.doc for place in run.ranked_at(topic, np.arange(min(depth, len(run.ranking(topic)))))]
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


def simulate_clicks(
    model: ClickModel,
    runs: Sequence[Run],
    path: str,
    *,
    sessions: int = 1000,
    seed: int = 0,
    depth: int = 10,
    queries: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SimulatedClicks:
    """Simulate sessions and write a table with a row per impression, which `fit_clicks` reads: Parquet or CSV.

    The columns are session, run, query, position, doc and clicked. See `ClickSimulation` for the other parameters.
    """
    arrow = need("pyarrow", "a simulated log")
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: a simulated log ends in {' or '.join(SUFFIXES)}")
    simulation = ClickSimulation(model, runs, depth=depth, queries=queries)
    kinds = (arrow.string(), arrow.string(), arrow.string(), arrow.int64(), arrow.string(), arrow.int64())
    schema = arrow.schema(list(zip(COLUMNS, kinds, strict=True)))
    writer = need("pyarrow.parquet" if suffix == ".parquet" else "pyarrow.csv", "a simulated log")
    opened = writer.ParquetWriter if suffix == ".parquet" else writer.CSVWriter
    partial, impressions, clicks = f"{path}.partial", 0, 0
    try:
        with opened(partial, schema) as file:
            for batch in simulation.batches(sessions, seed):
                columns = simulation.rows(batch)
                file.write_table(arrow.table(columns, schema=schema))
                impressions += len(columns["position"])
                clicks += int(batch.clicked.sum())
                if progress is not None:
                    progress(batch.first + len(batch.list), sessions)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    return SimulatedClicks(
        model.model,
        sessions,
        impressions,
        clicks,
        len(simulation.query),
        simulation.unseen,
        seed,
        tuple(simulation.notes),
    )
