"""Effects with intervals and p-values from the bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.online.experiments.ab_record import EffectRow
from cranfield.online.experiments.arm_estimates import adjustment
from cranfield.online.experiments.experiment_metrics import Metric
from cranfield.online.experiments.user_buckets import bootstrapped, bucket_sums
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
    if not sets:
        return list(rows)
    sums = bucket_sums(engine, frame, sets, groups=order, seed=seed)
    parts: dict[str, list[tuple[Metric, float]]] = {}
    for name in sets:
        metric = by_name[name]
        parts[name] = [(metric, 1.0)]
        if covariates[metric]:
            theta = adjustment(moments[name], metric, covariates[metric])[0]
            parts[name] += [(one, -float(weight)) for one, weight in zip(covariates[metric], theta, strict=True)]
    drawn = bootstrapped(sums, parts, len(order), resamples=resamples, seed=seed)
    result = []
    for row in rows:
        if row.metric not in drawn or np.isnan(row.effect.low):
            result.append(row)
            continue
        values = drawn[row.metric]
        read = _read(values[0], values[order.index(row.arm)], row, len(parts[row.metric]) > 1, alpha)
        result.append(replace(row, effect=replace(row.effect, **read)))
    return result


def _read(first: Array, second: Array, row: EffectRow, adjusted: bool, alpha: float) -> dict[str, Any]:
    drawn = np.isfinite(second - first)  # a resample may have no user of a small arm
    first, second = first[drawn], second[drawn]
    if not len(first):
        return {}
    difference = second - first
    if np.ptp(difference) == 0 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return {}  # an arm in which all users are alike has no resamples that differ: the formula keeps its interval
    if adjusted:  # the resamples lack the constant that makes an adjusted value comparable to the control
        offset = row.effect.control - float(np.mean(first))
        first, second = first + offset, second + offset
    low, high = np.quantile(difference, [alpha / 2, 1 - alpha / 2])
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = (second - first) / np.abs(first)
    ends = np.quantile(relative, [alpha / 2, 1 - alpha / 2]) if np.isfinite(relative).all() else (np.nan, np.nan)
    tail = min((difference <= 0).sum(), (difference >= 0).sum())
    p = min(1.0, 2 * (1 + int(tail)) / (1 + len(difference)))
    return {
        "low": float(low), "high": float(high), "relative_low": float(ends[0]), "relative_high": float(ends[1]),
        "p": p, "method": f"bootstrap of {row.effect.method}", "statistic": np.nan, "df": np.nan,
        "relative_p": p if np.isfinite(ends[0]) else np.nan,  # both differences have the same sign
    }  # fmt: skip
