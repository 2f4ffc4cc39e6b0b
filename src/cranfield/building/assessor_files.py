"""Read a file about assessors: the group of each, such as experts or crowd, and the cost of a label."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from cranfield.collection.source import PathLike
from cranfield.collection.table_schema import Numbers, Schema, Words


class Assessor(NamedTuple):
    """What is known about an assessor."""

    group: str
    cost: float | None = None
    """The cost of one label; None if it is unknown."""


Assessors = Mapping[str, Assessor | tuple[str, float] | str] | PathLike
"""{worker: group}, {worker: (group, cost of a label)}, or a file with lines of worker, group and perhaps cost."""


ASSESSORS = Schema(
    "worker group [cost]",
    key=("worker",),
    same=True,
    worker=Words(("worker", "worker_id", "assessor", "annotator", "name"), "assessor"),
    group=Words(),
    cost=Numbers(("cost", "price"), "cost of a label", least=0, default=None, blank=math.nan),
)


def assessors_of(thing: Assessors) -> dict[str, Assessor]:
    """Groups and costs of assessors, from a dict or a file.

    >>> assessors_of({"anna": "experts", "ben": ("crowd", 0.1)})
    {'anna': Assessor(group='experts', cost=None), 'ben': Assessor(group='crowd', cost=0.1)}
    """
    costs = ASSESSORS.read(thing, "assessors")
    return {name: Assessor(group, None if math.isnan(cost) else float(cost)) for name, group, cost in costs}
