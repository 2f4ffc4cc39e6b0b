"""Online measures of a log as metrics of an experiment: ratios of sums over users, and a weighted sum of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.online.experiments.experiment_metrics import Metric, Term
from cranfield.online.log_measures.log_rows import LogRows, sum_names
from cranfield.online.log_measures.measured_log import without_evidence
from cranfield.online.log_measures.oec import OEC
from cranfield.online.log_measures.online_measure import OnlineMeasure, parse_online_many
from cranfield.online.logs.log import Log
from cranfield.online.moments import moments


@dataclass(frozen=True, eq=False)
class LogMetrics:
    """What is compared, and the sums of users that it is computed from."""

    measures: tuple[OnlineMeasure, ...]
    """All that have to be added up, the parts of the weighted sum too."""
    metrics: tuple[Metric, ...]
    """What is compared, and decides in this order: the weighted sum first."""
    rows: LogRows
    oec: OEC | None

    @property
    def notes(self) -> list[str]:
        """What the weighted sum is, and which measures the log has no evidence for."""
        notes = list(self.oec.notes()) if self.oec else []
        absent = without_evidence(self.rows).items()
        return notes + [f"caution: {name}: {reason}, so it says nothing" for name, reason in absent]


def log_metrics(
    log: Log, measures: Iterable[Any] | str, oec: OEC | None = None, by: Sequence[str] = (), timezone: str = "UTC"
) -> LogMetrics:
    """The metrics of measures and of a weighted sum, with a row per user and value of `by`."""
    names = [measures] if isinstance(measures, str) else list(measures)
    shown = parse_online_many(names) if names else ()
    if not shown and oec is None:
        raise UsageError("no measure and no OEC; name one, such as CTR@5")
    every = tuple(dict.fromkeys((*shown, *(oec.measures if oec else ()))))
    rows = LogRows(log, every, tuple(by), timezone=timezone)
    metrics = [Metric("ratio", *sum_names(measure), name=str(measure)) for measure in shown]
    return LogMetrics(every, (*([oec_metric(oec, rows)] if oec else ()), *metrics), rows, oec)


def oec_metric(oec: OEC, rows: LogRows) -> Metric:
    """The weighted sum as a metric; measures without `low` and `high` are divided by their value over the whole log.

    These values are taken as known: they are computed once, whatever part of the log is compared.
    """
    columns = [sum_names(part.measure) for part in oec.parts]
    whole = moments(rows.per_user, dict.fromkeys(name for pair in columns for name in pair))
    terms = []
    for part, (above, below) in zip(oec.parts, columns, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            overall = float(whole.mean[0, whole.column(above)] / whole.mean[0, whole.column(below)])
        zero, unit = part.scale(overall)
        if not np.isfinite(unit) or unit == 0:
            raise UsageError(
                f"{oec.name}: {part.measure} is {overall:g} over the whole log, so nothing can be divided by it; give "
                "low and high for it"
            )
        terms.append(Term(above, below, part.weight / unit, zero))
    return Metric("sum", "", name=oec.name, terms=tuple(terms))
