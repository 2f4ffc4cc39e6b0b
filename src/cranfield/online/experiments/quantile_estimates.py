"""Quantiles of a metric over the users of each arm, with variances from order statistics: no density is estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.online.experiments.arm_estimates import ArmEstimates
from cranfield.online.experiments.experiment_metrics import Metric
from cranfield.online.experiments.unit_table import ARM

if TYPE_CHECKING:
    from cranfield.online.engines.engine import Engine

OUTER = 1.959963984540054
"""How many standard errors of the rank the two order statistics are away from the quantile."""


def quantile_estimates(engine: Engine, frame: Any, metric: Metric, arms: Sequence[str]) -> ArmEstimates:
    r"""The quantile of a column in each arm, and its variance from the interval of order statistics around it.

    .. math:: s = \frac{X_{(n q_+)} - X_{(n q_-)}}{2 z}, \qquad q_\pm = q \pm z \sqrt{q (1 - q) / n}, \quad z = 1.96

    The interval between these two order statistics holds the quantile with probability 95% for any distribution, so
    its width divided by 2z is a standard error that needs no density. Users are independent of each other.

    Reference: Deng, Knoblich & Lu, Applying the Delta Method in Metric Analytics, KDD 2018,
    doi:10.1145/3219819.3219919 (§4)
    """
    from cranfield.online.engines.engine import need_logs
    from cranfield.online.moments import fetched

    nw = need_logs("narwhals", "a table of an experiment")
    valid = frame.filter(~nw.col(metric.column).is_null() & ~nw.col(ARM).is_null())
    counts = {row[ARM]: row["n"] for row in fetched(valid.group_by(ARM).agg(nw.len().alias("n"))).to_pylist()}
    n = np.array([counts.get(arm, 0) for arm in arms], dtype=np.int64)
    with np.errstate(divide="ignore"):
        half = OUTER * np.sqrt(metric.q * (1 - metric.q) / n)
    ends = np.clip(np.stack([metric.q - half, metric.q + half], axis=1), 0.0, 1.0)
    at = [metric.q, *ends[n > 0].ravel().tolist()]
    found = {row[ARM]: row for row in engine.quantiles(valid, metric.column, at, [ARM]).to_pylist()} if n.any() else {}
    value, variance = np.full(len(arms), np.nan), np.full(len(arms), np.nan)
    place = 1
    for i, arm in enumerate(arms):
        if not n[i]:
            continue
        value[i] = found[arm]["q0"]
        if n[i] > 1:
            spread = found[arm][f"q{place + 1}"] - found[arm][f"q{place}"]
            variance[i] = (spread / (2 * OUTER)) ** 2
        place += 2
    return ArmEstimates(value, variance, n)
