"""`simulate_log`: a realistic log with a known truth, in memory or as files of any size."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Annotated, Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.whole_folder import whole_folder
from cranfield.declared.operation import about, operation
from cranfield.online.engines.engine import need_logs, open_engine
from cranfield.online.logs import demo_world as world_of
from cranfield.online.logs.demo_world import (
    ACTIONS,
    SATISFIED_SECONDS,
    USERS_PER_BATCH,
    Batch,
    DemoSettings,
    World,
    make_world,
    simulate_batch,
)
from cranfield.online.logs.log import Log
from cranfield.record import Record
from cranfield.types import Index64, Progress


class BatchTables:
    """The Arrow tables of a batch, made when they are asked for."""

    def __init__(self, world: World, batch: Batch) -> None:
        self._world = world
        self._batch = batch
        self.query_id = _named("q", batch.first_query + np.arange(len(batch.user)))
        self.user = _named("u", batch.user)
        self.session = _named("s", batch.session)
        self._documents: Any = None

    def queries(self) -> dict[str, Any]:
        """The columns of `Log.queries`."""
        import pyarrow

        batch, world = self._batch, self._world
        return {
            "query_id": self.query_id,
            "user": self.user,
            "session": self.session,
            "time": pyarrow.array(batch.time),
            "text": _chosen(world.texts, batch.topic * len(world_of.VARIANTS) + batch.variant),
            "arm": _chosen(world.settings["arms"], batch.arm),
            "device": _chosen(tuple(world_of.DEVICES), batch.device),
            "country": _chosen(tuple(world_of.COUNTRIES), batch.country),
        }

    def documents(self) -> Any:
        """The documents shown for each query, one list after the other."""
        import pyarrow

        if self._documents is None:
            batch = self._batch
            numbers = self._world.documents[batch.arm, batch.variant, batch.topic].ravel()
            names = _named("d", np.arange(int(self._world.documents.max()) + 1))
            self._documents = names.take(pyarrow.array(numbers))
        return self._documents

    def shown(self) -> dict[str, Any]:
        """The columns of `Log.shown`."""
        import pyarrow

        depth, count = self._world.settings["depth"], len(self._batch.user)
        return {
            "query_id": self.query_id.take(pyarrow.array(np.repeat(np.arange(count), depth))),
            "position": pyarrow.array(np.tile(np.arange(1, depth + 1), count)),
            "doc": self.documents(),
            "propensity": pyarrow.nulls(count * depth, pyarrow.float64()),
        }

    def events(self) -> dict[str, Any]:
        """The columns of `Log.events`."""
        import pyarrow

        batch = self._batch
        rows = pyarrow.array(batch.event_query)
        depth = self._world.settings["depth"]
        return {
            "query_id": self.query_id.take(rows),
            "user": self.user.take(rows),
            "session": self.session.take(rows),
            "time": pyarrow.array(batch.event_time),
            "action": _chosen(ACTIONS, batch.action),
            "doc": self.documents().take(pyarrow.array(batch.event_query * depth + batch.position - 1)),
            "position": pyarrow.array(batch.position),
            "value": pyarrow.array(batch.value, mask=np.isnan(batch.value)),
            "dwell": pyarrow.array(batch.dwell, mask=np.isnan(batch.dwell)),
        }

    def impressions(self) -> dict[str, Any]:
        """A row per document shown, with all columns of its query."""
        import pyarrow

        depth, count = self._world.settings["depth"], len(self._batch.user)
        rows = pyarrow.array(np.repeat(np.arange(count), depth))
        columns = {name: column.take(rows) for name, column in self._with_times(self.queries()).items()}
        shown = self.shown()
        return columns | {"position": shown["position"], "doc": shown["doc"]}

    def clicks(self) -> dict[str, Any]:
        """The events with times as Arrow has them."""
        return self._with_times(self.events())

    def ubi_queries(self) -> dict[str, Any]:
        """Queries as User Behavior Insights has them."""
        import pyarrow

        columns = self.queries()
        depth, count = self._world.settings["depth"], len(self._batch.user)
        attributes = {name: columns[name] for name in ("session", "arm", "device", "country")}
        attributes["session_id"] = attributes.pop("session")
        return {
            "application": pyarrow.repeat("cranfield-demo", count),
            "query_id": columns["query_id"],
            "client_id": columns["user"],
            "timestamp": _iso(columns["time"]),
            "user_query": columns["text"],
            "query_response_hit_ids": pyarrow.ListArray.from_arrays(
                pyarrow.array(np.arange(0, count * depth + 1, depth), pyarrow.int32()), self.documents()
            ),
            "query_attributes": _struct(attributes),
        }

    def ubi_events(self) -> dict[str, Any]:
        """Events as User Behavior Insights has them."""
        import pyarrow

        columns = self.events()
        return {
            "application": pyarrow.repeat("cranfield-demo", len(columns["user"])),
            "action_name": columns["action"],
            "query_id": columns["query_id"],
            "session_id": columns["session"],
            "client_id": columns["user"],
            "timestamp": _iso(columns["time"]),
            "event_attributes": _struct(
                {
                    "object": _struct({"object_id": columns["doc"], "object_id_field": columns["doc"]}),
                    "position": _struct({"ordinal": columns["position"]}),
                    "value": columns["value"],
                    "dwell": columns["dwell"],
                }
            ),
        }

    @staticmethod
    def _with_times(columns: dict[str, Any]) -> dict[str, Any]:
        import pyarrow

        return columns | {"time": columns["time"].cast(pyarrow.timestamp("us", tz="UTC"))}


def _named(letter: str, numbers: Index64) -> Any:
    """Names such as `u12`."""
    import pyarrow
    import pyarrow.compute

    texts = pyarrow.array(numbers).cast(pyarrow.string())
    return pyarrow.compute.binary_join_element_wise(letter, texts, "")


def _chosen(names: Sequence[str], numbers: Index64) -> Any:
    import pyarrow

    return pyarrow.array(names, pyarrow.string()).take(pyarrow.array(numbers))


def _iso(times: Any) -> Any:
    """Times as text, to the millisecond, such as 2026-01-05T10:00:00.000Z."""
    import pyarrow
    import pyarrow.compute

    text = times.cast(pyarrow.timestamp("us")).cast(pyarrow.timestamp("ms")).cast(pyarrow.string())
    with_t = pyarrow.compute.replace_substring(text, " ", "T", max_replacements=1)
    return pyarrow.compute.binary_join_element_wise(with_t, "Z", "")


def _struct(columns: dict[str, Any]) -> Any:
    import pyarrow

    return pyarrow.StructArray.from_arrays(list(columns.values()), names=list(columns))


LAYOUTS = {"ubi": ("ubi_queries", "ubi_events"), "tables": ("impressions", "clicks")}
"""The tables of each layout."""
FILES = ("jsonl", "csv", "parquet")
TRUTH = "truth.json"
COLUMNS = "columns.toml"
UBI_COLUMNS = """# Where the columns of this log are, beyond those of User Behavior Insights
[queries]
session = "query_attributes.session_id"
arm = "query_attributes.arm"

[queries.segments]
device = "query_attributes.device"
country = "query_attributes.country"

[events]
value = "event_attributes.value"
dwell = "event_attributes.dwell"
"""
TABLE_COLUMNS = """# The columns of this log that divide its traffic
[queries.segments]
device = "device"
country = "country"
"""


@dataclass(frozen=True, repr=False)
class DemoTruth(Record):
    """What a simulated log holds, by arm, and the probabilities behind it.

    A click has the probability examination × attraction of the grade (0.9 times that on phones).
    """

    facts: ClassVar[tuple[str, ...]] = ("settings", "examination", "attraction")

    arms: tuple[str, ...]
    counts: dict[str, NDArray[np.generic]]
    """Per arm: users, sessions, queries, clicks, satisfied clicks (30 seconds and more), hovers, conversions, revenue,
    and queries that were abandoned with an answer on the result page."""
    settings: dict[str, Any]
    examination: tuple[float, ...]
    """The probability that a position is examined, from position 1 on."""
    attraction: tuple[float, ...]
    """The probability of a click on an examined document, by grade."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """A row per arm."""
        return {"arm": np.array(self.arms, dtype=object), **self.counts}


@operation
def simulate_log(engine: Any = None, **settings: Unpack[DemoSettings]) -> Log:
    """A simulated log in memory.

    `Log.truth` holds the counts and probabilities behind it.

    >>> log = simulate_log(users=50, days=2, seed=1)
    >>> log.truth.counts["users"].sum()
    np.int64(50)
    """
    import pyarrow

    world = make_world(**settings)
    tables: dict[str, list[Any]] = {"queries": [], "shown": [], "events": []}
    truth = _Count(world)
    for batch in _batches(world):
        truth.add(batch)
        made = BatchTables(world, batch)
        for name, parts in tables.items():
            parts.append(pyarrow.table(getattr(made, name)()))
    opened = open_engine(engine)
    frames = {name: opened.read(pyarrow.concat_tables(parts)) for name, parts in tables.items()}
    return Log(opened, **frames, segments=("device", "country"), origin="simulation", truth=truth.record())


@operation
def write_demo(
    folder: str | os.PathLike[str],
    *,
    layout: Annotated[
        str, about("The tables: {names} (User Behavior Insights, or impressions and clicks).", choices=tuple(LAYOUTS))
    ] = "ubi",
    files: Annotated[
        str | None,
        about(
            "The type of the files: {names}; default: jsonl for ubi, parquet for tables.",
            choices=FILES,
            spelled="--files TYPE",
        ),
    ] = None,
    progress: Progress | None = None,
    **settings: Unpack[DemoSettings],
) -> DemoTruth:
    """Write a simulated log to a directory, which is made; its memory does not depend on the number of users.

    All files appear at the end, or none does. The directory also holds `columns.toml`, the column map that `read_log`
    finds, and `truth.json`.
    """
    files = files or {"ubi": "jsonl", "tables": "parquet"}[layout]
    need_logs("pyarrow", "a simulated log")
    world = make_world(**settings)
    with whole_folder(folder) as path:
        truth = _write_tables(world, path, layout, files, progress)
        with open(os.path.join(path, COLUMNS), "w", encoding="utf-8") as file:
            file.write(UBI_COLUMNS if layout == "ubi" else TABLE_COLUMNS)
        with open(os.path.join(path, TRUTH), "w", encoding="utf-8") as file:
            file.write(truth.to_json() + "\n")
    return truth


def _write_tables(world: World, path: str, layout: str, files: str, progress: Progress | None) -> DemoTruth:
    truth = _Count(world)
    writers = {name: _TableWriter(os.path.join(path, f"{name}.{files}"), files) for name in LAYOUTS[layout]}
    try:
        for batch in _batches(world):
            truth.add(batch)
            made = BatchTables(world, batch)
            for name, writer in writers.items():
                writer.add(getattr(made, name)())
            if progress:
                progress(truth.users_done, world.settings["users"])
    finally:
        for writer in writers.values():
            writer.close()
    return truth.record()


def _batches(world: World) -> Iterator[Batch]:
    sessions = queries = 0
    for first in range(0, world.settings["users"], USERS_PER_BATCH):
        users = min(USERS_PER_BATCH, world.settings["users"] - first)
        batch = simulate_batch(world, first, users, sessions, queries)
        sessions += int(batch.session.max(initial=sessions - 1)) + 1 - sessions
        queries += len(batch.user)
        yield batch


class _Count:
    """Counts by arm, batch by batch."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.users_done = 0
        names = ("users", "sessions", "queries", "clicks", "satisfied clicks", "hovers", "conversions")
        self._counts = {name: np.zeros(len(world.settings["arms"]), dtype=np.int64) for name in names}
        self._left = np.zeros(len(world.settings["arms"]), dtype=np.int64)
        self._revenue = np.zeros(len(world.settings["arms"]))

    def add(self, batch: Batch) -> None:
        arms = len(self._world.settings["arms"])
        first_of_session = np.unique(batch.session, return_index=True)[1]
        arm = batch.arm[batch.event_query]
        kinds = {name: batch.action == number for number, name in enumerate(ACTIONS)}
        parts = {
            "sessions": batch.arm[first_of_session],
            "queries": batch.arm,
            "clicks": arm[kinds["click"]],
            "satisfied clicks": arm[kinds["click"] & (batch.dwell >= SATISFIED_SECONDS)],
            "hovers": arm[kinds["hover"]],
            "conversions": arm[kinds["conversion"]],
        }
        self._counts["users"][: len(batch.users_by_arm)] += batch.users_by_arm
        for name, of_arm in parts.items():
            self._counts[name] += np.bincount(of_arm, minlength=arms)
        bought = kinds["conversion"]
        self._revenue += np.bincount(arm[bought], weights=batch.value[bought], minlength=arms)
        self._left += np.bincount(batch.arm[batch.left_with_answer], minlength=arms)
        self.users_done += batch.users

    def record(self) -> DemoTruth:
        world = self._world
        counts: dict[str, NDArray[np.generic]] = {
            **self._counts, "revenue": self._revenue.round(2), "left with answer": self._left
        }  # fmt: skip
        settings = {**world.settings, "arms": list(world.settings["arms"])}
        attraction = tuple(world_of.ATTRACTION.tolist())
        return DemoTruth(tuple(world.settings["arms"]), counts, settings, tuple(world.examination.tolist()), attraction)


class _TableWriter:
    """Writes a table to a file, batch by batch."""

    def __init__(self, path: str, files: str) -> None:
        self._path = path
        self._files = files
        self._parquet: Any = None
        self._text: IO[bytes] | None = None
        self._engine: Any = None

    def add(self, columns: dict[str, Any]) -> None:
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table(columns)
        if self._files == "parquet":
            if self._parquet is None:
                self._parquet = pyarrow.parquet.ParquetWriter(self._path, table.schema, compression="zstd")
            self._parquet.write_table(table)
            return
        if self._text is None:
            self._text = open(self._path, "wb")  # noqa: SIM115  # closed in `close`
            self._engine = open_engine("duckdb")
        first = self._text.tell() == 0
        with tempfile.NamedTemporaryFile(prefix="cranfield-", suffix=f".{self._files}") as part:
            self._engine.write_text(
                self._engine.read(_flat(table) if self._files == "csv" else table), part.name, first
            )
            with open(part.name, "rb") as written:
                shutil.copyfileobj(written, self._text, 1 << 20)

    def close(self) -> None:
        for opened in (self._parquet, self._text, self._engine):
            if opened is not None:
                opened.close()


def _flat(table: Any) -> Any:
    """A table without structures: `event_attributes.position.ordinal` is a column, and a list is JSON text."""
    import pyarrow

    while any(pyarrow.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    for at, field in enumerate(table.schema):
        if pyarrow.types.is_list(field.type):
            texts = [json.dumps(items) for items in table[field.name].to_pylist()]
            table = table.set_column(at, field.name, pyarrow.array(texts, pyarrow.string()))
    return table
