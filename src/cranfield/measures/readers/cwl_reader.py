"""C, W and L of one list as data, and the C/W/L forms of other measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import Measure
from cranfield.measures.readers.cwl import CWL, CWLMeasure
from cranfield.types import Array, Index
from cranfield.views.ties import Ties


@dataclass(frozen=True, eq=False)
class Reader:
    """C, W and L of one list: arrays with an entry per rank, and the five numbers that follow from them."""

    rank: Index
    gain: Array
    cost: Array
    C: Array
    W: Array
    L: Array
    EU: float
    ETU: float
    EC: float
    ETC: float
    ED: float

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        return {name: np.asarray(value).tolist() for name, value in vars(self).items()}


def cwl_vectors(measure: Measure, grades: Sequence[float | None] | Assessed, missed: Sequence[float] = ()) -> Reader:
    """C, W and L of one list at every rank, and the five numbers that follow from them.

    The list is given as its grades from the top (None: unjudged) and the grades of judged documents that it missed, or
    as assessed lists with a single list. RBP, P at a cutoff, RR and AP are turned into their C/W/L forms.

    >>> reader = cwl_vectors(CWL(continuation="RBP", p=0.5), [1, 0, 1])
    >>> reader.C[:3].tolist(), reader.W[:3].tolist(), reader.L[:3].tolist()
    ([0.5, 0.5, 0.5], [0.5, 0.25, 0.125], [0.5, 0.25, 0.125])
    >>> reader.EU, reader.ED
    (0.625, 2.0)
    """
    cwl = as_cwl(measure)
    lists = grades if isinstance(grades, Assessed) else Assessed.one(grades, missed)
    for view in cwl.split_views()[0]:  # views by intent do not apply
        if isinstance(view, Ties) and view.reading == "expected":
            raise UsageError(f"{measure}: a mean over many orders has no C, W and L; use [ties=best] or [ties=worst]")
        lists = view.apply(lists)
    if lists.rows != 1:
        raise UsageError(f"cwl_vectors takes one list, not {lists.rows}")
    (_, vectors), *_ = cwl.blocks(lists)
    tables = {"gain": vectors.seen.gain, "cost": vectors.seen.cost, "C": vectors.C, "W": vectors.W, "L": vectors.L}
    by_rank: dict[str, Any] = {
        name: np.array(np.broadcast_to(table, (1, cwl.reading_depth))[0]) for name, table in tables.items()
    }
    numbers: dict[str, Any] = {
        name: float(cwl.defined(lists, vectors.report(name))[0]) for name in ("EU", "ETU", "EC", "ETC", "ED")
    }
    return Reader(rank=np.arange(1, cwl.reading_depth + 1), **by_rank, **numbers)


def as_cwl(measure: Measure) -> CWLMeasure:
    """The C/W/L measure that gives the same numbers.

    >>> from cranfield.measures import RBP
    >>> as_cwl(RBP(p=0.5))
    CWL(p=0.5,gain=None)
    """
    if isinstance(measure, CWLMeasure):
        return measure
    settings = measure.cwl_settings()
    if settings is None:
        raise UsageError(f"{measure} is not a C/W/L measure; RBP, RR, AP, P at a cutoff and the C/W/L family are")
    return CWL(**settings, cutoff=measure.cutoff, views=measure.views)
