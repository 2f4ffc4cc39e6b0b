"""The weights of an overall evaluation criterion (OEC) at which another arm wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield.notes import method_note
from cranfield.online.experiments.log_analysis import analyse_log, log_metrics, oec_metric
from cranfield.online.log_measures.oec import OEC
from cranfield.online.logs.log import Log
from cranfield.record import Record, column
from cranfield.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class TurningWeights(Record):
    """A row per arm and measure of the OEC: what the measure adds to the difference, and when the winner changes."""

    caption = "Weights at which the winner changes"

    arm: Annotated[Any, column()]
    measure: Annotated[Any, column()]
    weight: Annotated[Array, column()]
    adds: Annotated[Array, column()]
    """The weight times the difference of the arm and the control, in units of the measure."""
    turning: Annotated[Array, column("turning weight")]
    """The weight at which the arm and the control have the same OEC, all other weights as they are; NaN if no weight
    makes them equal, as the measure has the same value in both."""
    reachable: Annotated[Any, column("same sign")]
    """Has this weight the same sign, so that it is a weight that somebody could choose?"""
    total: Array
    """The difference of the OEC, by arm."""
    notes: tuple[str, ...]


def turning_weights(log: Log, oec: OEC, **options: Any) -> TurningWeights:
    r"""How much of the difference between two arms each measure of an OEC adds, and the weight that turns it.

    With :math:`d_i` the difference in measure i, in its units, the difference of the OEC is :math:`\sum_i w_i d_i`. It
    is 0 at

    .. math:: w_i^* = -\frac{\sum_{j \ne i} w_j d_j}{d_i}

    A turning weight close to the weight means that the verdict hangs on it. Values are estimates: whether the arms
    differ at all is for `analyse_log` to say. options: those of `analyse_log`.

    >>> from cranfield.online.log_measures.oec import oec_of
    >>> from cranfield.online.logs import simulate_log
    >>> log = simulate_log(users=100, days=2, seed=1)
    >>> parts = [{"measure": "CTR@5", "weight": 0.7, "low": 0, "high": 1}, {"measure": "click-RR", "weight": 0.3}]
    >>> turning_weights(log, oec_of({"parts": parts})).arm.tolist()
    ['B', 'B']
    """
    result = analyse_log(log, oec.measures, oec=oec, **options)
    terms = oec_metric(oec, log_metrics(log, oec.measures, oec, ("arm",)).rows).terms
    effects = {(row.arm, row.metric): row.effect for row in result.rows}
    rows: list[tuple[Any, ...]] = []
    totals = []
    for arm in result.arms:
        own = [effects[arm, str(part.measure)] for part in oec.parts]
        differences = np.array([effect.treatment - effect.control for effect in own])
        adds = differences * [term.weight for term in terms]
        totals.append(float(adds.sum()))
        for part, add in zip(oec.parts, adds.tolist(), strict=True):
            others = totals[-1] - add
            turning = -others / (add / part.weight) if add and part.weight else float("nan")
            rows.append((arm, str(part.measure), part.weight, add, turning, bool(turning * part.weight > 0)))
    notes = (
        method_note(
            f"turning weight: where {result.control} and the arm have the same {oec.name}, other weights as they are"
        ),
        method_note("adds: weight times difference in units of the measure; the differences are estimates"),
    )
    arms, measures, weights, added, turned, same = zip(*rows, strict=True)
    return TurningWeights(
        np.array(arms, dtype=object), np.array(measures, dtype=object), np.array(weights, dtype=np.float64),
        np.array(added), np.array(turned), np.array(same), np.array(totals), notes,
    )  # fmt: skip
