"""Effects with intervals and p-values from the bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.online.experiments.ab_record import EffectRow
from cranfield.online.experiments.arm_estimates import adjustment
from cranfield.online.experiments.experiment_metrics import Metric
from cranfield.online.experiments.user_buckets import bootstrap_differences, bucket_sums
from cranfield.online.moments import Moments
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.online.engines.engine import Engine


def with_bootstrap(
    engine: Engine,
    frame: Any,
    rows: Sequence[EffectRow],
    metrics: Sequence[Metric],
    covariates: Mapping[Metric, tuple[Metric, ...]],
    moments: Mapping[str, Moments],
    order: Sequence[str],
    *,
    alpha: float,
    resamples: int,
    seed: int,
) -> list[EffectRow]:
    """The rows with percentile intervals and p-values of a Poisson bootstrap; quantiles keep theirs.

    p is twice the share of resamples on the other side of 0, (1 + hits) / (1 + B), so never 0.
    """
    by_name = {str(metric): metric for metric in metrics}
    sets = {name: moments[name].names for name in moments}
    sums = bucket_sums(engine, frame, sets, groups=order, seed=seed) if sets else {}
    result = []
    for row in rows:
        metric = by_name[row.metric]
        if row.metric not in sums or np.isnan(row.effect.low):
            result.append(row)
            continue
        theta = adjustment(moments[row.metric], metric, covariates[metric])[0] if covariates[metric] else None
        drawn = bootstrap_differences(
            sums[row.metric], metric, 0, order.index(row.arm), covariates=covariates[metric], theta=theta,
            resamples=resamples, seed=seed,
        )  # fmt: skip
        result.append(replace(row, effect=replace(row.effect, **_read(drawn, row, theta, alpha))))
    return result


def _read(drawn: tuple[Array, Array], row: EffectRow, theta: Array | None, alpha: float) -> dict[str, Any]:
    first, second = drawn
    difference = second - first
    if theta is not None:  # the resamples lack the constant that makes an adjusted value comparable to the control
        offset = row.effect.control - float(np.mean(first))
        first, second = first + offset, second + offset
    low, high = np.quantile(difference, [alpha / 2, 1 - alpha / 2])
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = second / first - 1
    ends = np.quantile(relative, [alpha / 2, 1 - alpha / 2]) if np.isfinite(relative).all() else (np.nan, np.nan)
    tail = min((difference <= 0).sum(), (difference >= 0).sum())
    return {
        "low": float(low), "high": float(high), "relative_low": float(ends[0]), "relative_high": float(ends[1]),
        "p": min(1.0, 2 * (1 + int(tail)) / (1 + len(difference))), "method": f"bootstrap of {row.effect.method}",
    }  # fmt: skip
