"""What the result of an experiment says about itself: users left out, metrics that cannot be tested, methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cranfield.comparison.corrections import CORRECTIONS
from cranfield.online.experiments.ab_record import EffectRow
from cranfield.online.experiments.analysis_settings import Settings
from cranfield.online.experiments.arm_effects import BY_COUNTS, ArmEffect
from cranfield.online.experiments.arm_estimates import ArmEstimates
from cranfield.online.experiments.experiment_metrics import Metric
from cranfield.online.experiments.quantile_estimates import QuantileArm, users_for
from cranfield.online.experiments.ratio_mismatch import sample_ratio
from cranfield.text import counted, listed

_RELATIVE = {
    "fieller": "Fieller's method", "delta": "the delta method", "tea-tasting": "tea-tasting's method (log ratio)",
    "growthbook": "GrowthBook's method (delta method, over the control without covariates)",
}  # fmt: skip
_CUPED = {"within": "", "tea-tasting": " (θ over both arms, as tea-tasting)", "growthbook": " (θ as GrowthBook)"}


def empty_arms(arms: Mapping[str, int]) -> list[str]:
    """A caution if an arm has no users."""
    empty = [arm for arm, users in arms.items() if not users]
    return [f"caution: no users in {listed(empty)}; nothing can be compared with an empty arm"] if empty else []


def missing_values(metric: Metric, order: Sequence[str], missing: Sequence[int], arms: Mapping[str, int]) -> list[str]:
    """How many users of each arm have no value of a metric."""
    if not sum(missing):
        return []
    by_arm = listed((f"{arm} {count:,}" for arm, count in zip(order, missing, strict=True)), most=6)
    note = f"{metric}: {counted(sum(missing), 'user')} without a finite value left out ({by_arm})"
    present = {arm: count for arm, count in zip(order, missing, strict=True) if arms[arm]}
    uneven = sample_ratio(present, {arm: arms[arm] for arm in present})
    return [note + "; caution: arms differ in how many are missing, which biases the metric" * uneven.mismatch]


def cautions(metric: Metric, estimates: ArmEstimates, order: Sequence[str], effects: Sequence[ArmEffect]) -> list[str]:
    """What makes a comparison of a metric doubtful or impossible."""
    counted = all(effect.method in BY_COUNTS for effect in effects)  # these tests need no variance
    return ([] if counted else _constant(metric, estimates, order)) + _not_testable(metric, estimates, order)


def _constant(metric: Metric, estimates: ArmEstimates, order: Sequence[str]) -> list[str]:
    value = {
        arm: float(value)
        for arm, value, v, n in zip(order, estimates.value, estimates.variance, estimates.n, strict=True)
        if n > 1 and v == 0
    }
    if not value:
        return []
    if len(value) < len(order):
        return [f"caution: {metric} is constant in {listed(value)}: it has no variance there"]
    if len(set(value.values())) == 1:
        return [f"caution: {metric} has the same value for all users, so it cannot be tested"]
    values = listed((f"{arm} {one:.4g}" for arm, one in value.items()), most=6)
    return [f"caution: {metric} is constant in each arm ({values}), so it cannot be tested"]


def quantile_cautions(
    metric: Metric, arms: Sequence[QuantileArm], order: Sequence[str], effects: Sequence[ArmEffect], alpha: float
) -> list[str]:
    """Why quantiles cannot be compared, or what their interval without width means."""
    few = [f"{name} {arm.n}" for name, arm in zip(order, arms, strict=True) if arm.n < users_for(metric.q, alpha)]
    if few:
        least = users_for(metric.q, alpha)
        return [
            f"caution: {metric} needs {least} users or more in each arm for an interval, there are "
            f"{listed(few, most=6)}"
        ]
    if any(np.isnan(effect.low) for effect in effects):
        return [f"caution: {metric}: too few users in an arm for an interval; use a quantile nearer to the median"]
    flat = [name for name, effect in zip(order[1:], effects, strict=True) if effect.low == effect.high]
    if not flat:
        return []
    return [
        f"{metric}: the interval of {listed(flat)} has no width: most users have the same value, which is the "
        "quantile of each arm; compare a share of users or a mean as well"
    ]


def _not_testable(metric: Metric, estimates: ArmEstimates, order: Sequence[str]) -> list[str]:
    """Why a metric cannot be compared: too few users, or a ratio whose denominator is 0."""
    sizes = [int(n) for n in estimates.n]
    few = [f"{arm} {n}" for arm, n in zip(order, sizes, strict=True) if n < 2]
    undefined = [arm for arm, value, n in zip(order, estimates.value, sizes, strict=True) if n and np.isnan(value)]
    notes = []
    large = [arm for arm, v, n in zip(order, estimates.variance, sizes, strict=True) if n > 1 and not np.isfinite(v)]
    if large and not undefined:
        notes.append(f"caution: {metric}: the numbers of {listed(large)} are too large for a test")
    if few:
        notes.append(f"caution: {metric}: a test needs two users or more in each arm, there are {listed(few, most=6)}")
    if undefined and metric.kind == "ratio":
        notes.append(f"caution: {metric} is not defined in {listed(undefined)}: the sum of {metric.below} is 0 there")
    return notes


def method_notes(rows: Sequence[EffectRow], settings: Settings, correction: str) -> list[str]:
    """Which tests and corrections were used."""
    methods = listed(dict.fromkeys(row.effect.method for row in rows), most=8)
    level = f"{100 * (1 - settings.alpha):g}%"
    drawn = {row.metric for row in rows if row.effect.method.startswith("bootstrap")}
    quantiles = {row.metric for row in rows if row.kind == "quantile"}
    others = {row.metric for row in rows} - drawn - quantiles
    ways = {"the bootstrap": drawn, "order statistics": quantiles, _RELATIVE[settings.relative]: others}
    used = {way: names for way, names in ways.items() if names}
    relative = " and ".join(
        way if len(used) == 1 else f"{way} ({listed(sorted(names))})" for way, names in used.items()
    )
    notes = [
        f"tests: {methods}; p adjusted by {CORRECTIONS.find(correction).name} for {counted(len(rows), 'comparison')}; "
        f"each interval has level {level}; relative differences by {relative}"
    ]
    looks = settings.looks
    if looks.design == "always-valid":
        tau = listed((f"{row.metric} {row.effect.tau:.3g}" for row in rows if row.effect.tau > 0), most=4)
        notes.append(
            f"always valid: p and intervals hold at any number of looks; mixture with τ = {tau}, which makes "
            f"intervals narrowest at {looks.tuned_for:,.0f} users"
        )
    elif looks.design != "once":
        fractions = ", ".join(f"{t:.3g}" for t in looks.fractions)
        notes.append(
            f"group-sequential: {looks.design}, look {looks.look} at fractions {fractions} of the planned users; "
            "p and intervals hold for all looks together"
        )
    reduced = {row.metric: row.reduction for row in rows if row.reduction > 0}
    if reduced:
        shown = listed((f"{name} {share:.1%}" for name, share in reduced.items()), most=8)
        notes.append(f"CUPED{_CUPED[settings.cuped]}: covariates remove this share of the variance: {shown}")
    return notes
