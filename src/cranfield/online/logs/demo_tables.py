"""The tables of a simulated log, in the layouts that real logs have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.online.logs import demo_world as world_of
from cranfield.online.logs.demo_users import ACTIONS, Batch
from cranfield.online.logs.demo_world import World
from cranfield.types import Index64


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
            "arm": _chosen(world.settings.arms, batch.arm),
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

        depth, count = self._world.settings.depth, len(self._batch.user)
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
        depth = self._world.settings.depth
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

        depth, count = self._world.settings.depth, len(self._batch.user)
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
        depth, count = self._world.settings.depth, len(self._batch.user)
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
