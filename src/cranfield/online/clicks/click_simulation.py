"""Simulated sessions: the lists of runs with clicks of a model, as one table or as a log of two tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.run import Run
from cranfield.collection.whole_folder import ends_cleanly, whole_folder
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import DataError, UsageError
from cranfield.frames import need
from cranfield.notes import caution_note
from cranfield.online.clicks.click_kinds import BROWSING, RANK, drawn_clicks
from cranfield.online.clicks.click_model import ClickModel, Placement
from cranfield.online.clicks.click_pages import Pages
from cranfield.record import OneRow
from cranfield.text import counted, listed
from cranfield.types import Index64, Progress

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
                caution_note(
                    f"{counted(len(new), 'query', 'queries')} that the model has not seen: {listed(new, most=3)}"
                )
            )
        if model.converged is False:
            self.notes.append(caution_note(f"{model.model} did not converge when it was fitted"))
        deeper = int((self.pages.present.sum(axis=1) > model.ranks).sum())
        if deeper and set(model.kind.parameters.values()) & {RANK, BROWSING}:
            self.notes.append(
                caution_note(
                    f"{counted(deeper, 'list')} longer than the {counted(model.ranks, 'rank')} that the model "
                    "has seen; "
                    f"the ranks below get the parameters of rank {model.ranks}"
                )
            )
        if self.unseen:
            self.notes.append(
                caution_note(
                    f"{counted(self.unseen, 'document')} of queries that the model has not seen; they get the "
                    "mean of its "
                    "prior"
                )
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


SUFFIXES = (".parquet", ".csv")
FIRST_TIME, MINUTE = 1_767_225_600_000_000, 60_000_000
"""Sessions of a log begin on 1 January 2026, a minute apart; times are microseconds."""

Columns = dict[str, NDArray[Any]]


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

    def sentence(self) -> str:
        """What was simulated, in words."""
        impressions, clicks = counted(self.impressions, "impression"), counted(self.clicks, "click")
        lists = counted(self.lists, "list")
        return f"{counted(self.sessions, 'session')} of {self.model} on {lists}: {impressions}, {clicks}"


@operation
def simulate_clicks(
    model: ClickModel,
    runs: Sequence[Run],
    path: str,
    *,
    sessions: Annotated[int, about("The number of sessions.", least=1, spelled="--simulated-sessions N")] = 1000,
    seed: Seed = 0,
    depth: Annotated[int, about("Show the first N documents of each list.", least=1, rare=True)] = 10,
    order: str = "score",
    ties: str = "z-a",
    queries: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SimulatedClicks:
    """Simulate sessions and write them. See `ClickSimulation` for the other parameters.

    path: a Parquet or CSV file, which gets a row per impression, with the columns session, run, query, position, doc
        and clicked; or a directory, which gets the tables `impressions.parquet` and `clicks.parquet` of a log, with the
        run as arm, a user per session, and made-up times.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix and suffix not in SUFFIXES:
        raise UsageError(f"{path}: a simulated log is a file that ends in {' or '.join(SUFFIXES)}, or a directory")
    simulation = ClickSimulation(model, runs, depth=depth, order=order, ties=ties, queries=queries)
    impressions = clicks = 0
    with whole_folder(path) if not suffix else _whole_file(path) as partial, _Writer(partial, suffix) as writer:
        for batch in simulation.batches(sessions, seed):
            columns = simulation.rows(batch)
            writer.write({"": columns} if suffix else log_tables(columns, batch.first))
            impressions += len(columns["position"])
            clicks += int(columns["clicked"].sum())
            if progress is not None:
                progress(batch.first + len(batch.list), sessions)
    return SimulatedClicks(
        model.model, sessions, impressions, clicks, len(simulation.query), simulation.unseen, seed,
        tuple(simulation.notes),
    )  # fmt: skip


def log_tables(columns: Columns, first: int) -> dict[str, Columns]:
    """The tables of a log: impressions with the columns of their query, and clicks a second and more later."""
    changes = np.flatnonzero(np.append(True, columns["session"][1:] != columns["session"][:-1]))
    number = np.repeat(np.arange(len(changes)), np.diff(np.append(changes, len(columns["session"]))))
    time = FIRST_TIME + (first + number) * MINUTE
    query_id = columns["session"]
    user = np.char.add("u", (first + 1 + number).astype(str)).astype(object)
    shown = {
        "query_id": query_id, "user": user, "session": query_id, "time": time, "text": columns["query"],
        "arm": columns["run"], "position": columns["position"], "doc": columns["doc"],
    }  # fmt: skip
    clicked = columns["clicked"] > 0
    done = {name: shown[name][clicked] for name in ("query_id", "user", "session", "doc", "position")}
    done["time"] = time[clicked] + 1_000_000 * columns["position"][clicked]
    done["action"] = np.full(int(clicked.sum()), "click", dtype=object)
    return {"impressions": shown, "clicks": done}


class _Writer:
    """Writes tables, batch after batch: one file, or a directory with a Parquet file per table."""

    def __init__(self, path: str, suffix: str) -> None:
        self._path, self._suffix = path, suffix
        self._arrow = need("pyarrow", "a simulated log")
        self._files: dict[str, Any] = {}
        self._open = ExitStack()

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def write(self, tables: Mapping[str, Columns]) -> None:
        """Add rows to tables by name; the name of the only table of a file is empty."""
        for name, columns in tables.items():
            kinds = {key: self._arrow.string() if column.dtype == object else self._arrow.int64()
                     for key, column in columns.items()}  # fmt: skip
            schema = self._arrow.schema(list(kinds.items()))
            if name not in self._files:
                path = os.path.join(self._path, f"{name}.parquet") if name else self._path
                writer = need("pyarrow.csv" if self._suffix == ".csv" else "pyarrow.parquet", "a simulated log")
                opened = writer.CSVWriter if self._suffix == ".csv" else writer.ParquetWriter
                self._files[name] = self._open.enter_context(opened(path, schema))
            self._files[name].write_table(self._arrow.table(columns, schema=schema))


@contextmanager
def _whole_file(path: str) -> Iterator[str]:
    """Another name for a file, which gets its own when it is complete."""
    partial = os.path.join(os.path.dirname(path), f".{os.urandom(8).hex()}.part")
    try:
        with ends_cleanly():
            try:
                yield partial
                os.replace(partial, path)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(partial)
    except OSError as error:
        raise DataError(path, None, f"cannot be written: {error.strerror or error}") from None
