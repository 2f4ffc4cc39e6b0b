"""Users in buckets: sums per bucket, from which splits and bootstrap resamples are drawn without reading a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.online.engines.engine import Engine
from cranfield.online.experiments.arm_effects import EffectRow
from cranfield.online.experiments.arm_estimates import adjustment
from cranfield.online.experiments.experiment_metrics import Metric, MomentMetric
from cranfield.online.experiments.unit_table import ARM, UNIT
from cranfield.online.expressions import nw
from cranfield.online.moments import Moments, moments_of_sets
from cranfield.types import Array

BUCKETS = 5_000
"""Buckets in which users are counted together."""
BUCKET = "_bucket"
_BLOCK = 250
"""Resamples at a time, to bound memory."""


@dataclass(frozen=True, eq=False)
class BucketSums:
    """Sums over the users of each bucket, of numbers from which a constant was subtracted."""

    names: tuple[str, ...]
    n: Array
    """groups × buckets: the number of users."""
    first: Array
    """groups × buckets × columns: sums of the shifted columns."""
    second: Array
    """groups × buckets × columns × columns: sums of their products."""
    shift: Array

    def moments(self, weights: Array, group: int = 0) -> Moments:
        """The moments of weighted buckets, one group for each row of `weights`."""
        return from_sums(
            self.names,
            weights @ self.n[group],
            weights @ self.first[group],
            np.tensordot(weights, self.second[group], axes=1),
            self.shift,
        )


def bucket_sums(
    engine: Engine,
    frame: Any,
    sets: Mapping[str, Sequence[str]],
    *,
    groups: Sequence[str] | None = None,
    buckets: int = BUCKETS,
    seed: int = 0,
) -> dict[str, BucketSums]:
    """Sums of each set of columns by bucket, for each arm in `groups`, or for all users together.

    The bucket of a user is a hash of the id and the seed, so it does not depend on the order of rows or on the engine.
    """

    numbered = engine.add_bucket(frame, BUCKET, UNIT, f"buckets/{seed}")
    numbered = numbered.with_columns((nw.col(BUCKET) % buckets).alias(BUCKET))
    by = [ARM, BUCKET] if groups is not None else [BUCKET]
    by_bucket = moments_of_sets(numbered, sets, by)
    rows = {arm: i for i, arm in enumerate(groups)} if groups is not None else {}
    result = {}
    for label, moments in by_bucket.items():
        size, shape = len(moments.names), (max(1, len(rows)), buckets)
        n, first, second = np.zeros(shape), np.zeros((*shape, size)), np.zeros((*shape, size, size))
        shift = moments.pooled().mean[0]
        shift = np.where(np.isfinite(shift), shift, 0.0)
        for i, group in enumerate(moments.groups):
            if not moments.n[i] or (groups is not None and group[0] not in rows):
                continue
            at = (rows[str(group[0])] if groups is not None else 0, int(str(group[-1])))
            centre, count = moments.mean[i] - shift, float(moments.n[i])
            n[at], first[at] = count, count * centre
            second[at] = count * np.outer(centre, centre)
            if count > 1:
                second[at] += (count - 1) * moments.cov[i]
        result[label] = BucketSums(moments.names, n, first, second, shift)
    return result


def from_sums(names: tuple[str, ...], n: Array, first: Array, second: Array, shift: Array) -> Moments:
    """Moments from sums of shifted values, a group for each row."""
    count = np.rint(n).astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = first / n[:, None]
        cov = (second - n[:, None, None] * centre[:, :, None] * centre[:, None, :]) / (n - 1)[:, None, None]
    groups = tuple((i,) for i in range(len(count)))
    return Moments(names, ("draw",), groups, count, count, centre + shift, cov)


def bootstrapped(
    sums: Mapping[str, BucketSums],
    metrics: Mapping[str, Sequence[tuple[MomentMetric, float]]],
    groups: int,
    *,
    resamples: int = 2_000,
    seed: int = 0,
) -> dict[str, Array]:
    """Each metric in each group, in each Poisson resample of the buckets of users: groups × resamples.

    Every bucket is counted as often as a Poisson number with mean 1 says. As users are in buckets by chance, buckets
    are as good as users for this. `metrics` are weighted sums, such as a metric minus θ times its covariate. All
    metrics share the resamples.

    Reference: Chamandy, Muralidharan, Najmi & Naidu, Estimating Uncertainty for Massive Data Streams, Google, 2012
    """
    rng = np.random.default_rng(seed)
    out = {name: np.zeros((groups, resamples)) for name in metrics}
    buckets = next(iter(sums.values())).n.shape[1]
    for begin in range(0, resamples, _BLOCK):
        block = slice(begin, min(begin + _BLOCK, resamples))
        for group in range(groups):
            weights = rng.poisson(1.0, (block.stop - begin, buckets)).astype(np.float64)
            for name, parts in metrics.items():
                own = sums[name]
                empty = np.zeros((len(weights), len(own.names), len(own.names)))
                moments = from_sums(own.names, weights @ own.n[group], weights @ own.first[group], empty, own.shift)
                for metric, weight in parts:
                    out[name][group, block] += weight * metric.value_and_gradient(moments)[0]
    return out


def with_bootstrap(
    engine: Engine,
    frame: Any,
    rows: Sequence[EffectRow],
    metrics: Sequence[MomentMetric],
    covariates: Mapping[Metric, tuple[MomentMetric, ...]],
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
    parts: dict[str, list[tuple[MomentMetric, float]]] = {}
    for name in sets:
        metric = by_name[name]
        parts[name] = [(metric, 1.0)]
        if covariates[metric]:
            theta = adjustment(moments[name], metric, covariates[metric])[0]
            parts[name] += [
                (covariate, -float(weight)) for covariate, weight in zip(covariates[metric], theta, strict=True)
            ]
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
