"""C, W and L of one list as data, and which measures of others are C/W/L measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import Measure
from cranfield.measures.cwl import CWL, CWLMeasure
from cranfield.measures.first import RR
from cranfield.measures.ranked import AP, RBP
from cranfield.measures.sets import P
from cranfield.types import Array, Index
from cranfield.views.ties import Ties


@dataclass(frozen=True, eq=False)
class Reader:
    """One list as a C/W/L measure reads it: an entry per rank, and what comes of it."""

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

    The list is given as its grades from the top (None: unjudged), with the grades of judged documents that it missed,
    or as assessed lists of which there is one. RBP, P at a cutoff, RR and AP are read as the C/W/L measures they are.

    >>> read = cwl_vectors(CWL(continuation="RBP", p=0.5), [1, 0, 1])
    >>> read.C[:3].tolist(), read.W[:3].tolist(), read.L[:3].tolist()
    ([0.5, 0.5, 0.5], [0.5, 0.25, 0.125], [0.5, 0.25, 0.125])
    >>> read.EU, read.ED
    (0.625, 2.0)
    """
    reading = as_cwl(measure)
    lists = grades if isinstance(grades, Assessed) else Assessed.one(grades, missed)
    for view in reading.split_views()[0]:  # there are none by intent
        if isinstance(view, Ties) and view.reading == "expected":
            raise UsageError(f"{measure}: a mean over many orders has no C, W and L; take [ties=best] or [ties=worst]")
        lists = view.apply(lists)
    if lists.rows != 1:
        raise UsageError(f"cwl_vectors takes one list, not {lists.rows}")
    (_, found), *_ = reading.blocks(lists)

    def along(table: Array) -> Array:
        return np.array(np.broadcast_to(table, (1, reading.reading_depth))[0])

    def number(name: str) -> float:
        return float(reading.defined(lists, found.report(name))[0])

    return Reader(
        rank=np.arange(1, reading.reading_depth + 1),
        gain=along(found.seen.gain),
        cost=along(found.seen.cost),
        C=along(found.C),
        W=along(found.W),
        L=along(found.L),
        EU=number("EU"),
        ETU=number("ETU"),
        EC=number("EC"),
        ETC=number("ETC"),
        ED=number("ED"),
    )


def as_cwl(measure: Measure) -> CWLMeasure:
    """The C/W/L measure that gives the same numbers.

    >>> as_cwl(RBP(p=0.5))
    CWL(p=0.5,gain=None)
    """
    if isinstance(measure, CWLMeasure):
        return measure
    made: CWL | None = None
    if isinstance(measure, RBP) and measure.cutoff is None:
        made = CWL(continuation="RBP", p=measure.p, gain=measure.gain, rel=measure.rel)
    elif isinstance(measure, RR):
        made = CWL(continuation="RR", gain=None, rel=measure.rel)
    elif isinstance(measure, AP) and measure.norm == "R":
        made = CWL(continuation="AP", gain=None, rel=measure.rel)
    elif isinstance(measure, P) and measure.cutoff is not None:
        made = CWL(continuation="P", gain=None, rel=measure.rel)
    if made is None:
        raise UsageError(f"{measure} is no C/W/L measure; RBP, RR, AP, P at a cutoff and those of C/W/L are")
    return made.replace(cutoff=measure.cutoff, views=measure.views)
