"""Effects by segment, such as country or device, with a warning: the more segments, the more false alarms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.online.experiments.arm_effects import ArmEffect
from cranfield.online.experiments.arm_estimates import arm_estimates, skew_cautions, suspects
from cranfield.online.experiments.experiment_metrics import MomentMetric, needed_columns
from cranfield.online.experiments.unit_table import ARM
from cranfield.online.few_users import Influence, influences
from cranfield.online.moments import Moments, moments_of_sets
from cranfield.record import Record, columns_of, estimates, table_of
from cranfield.table import Table
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.online.engines.engine import Engine

MOST_VALUES = 1_000
"""A segment with more values is refused."""


@dataclass(frozen=True)
class Interaction:
    """Do the effects of a metric differ between the values of a segment?"""

    segment: str
    metric: str
    arm: str
    statistic: float
    df: int
    p: float
    p_adjusted: float = math.nan


@dataclass(frozen=True, eq=False, repr=False)
class SegmentEffects(Record):
    """The effect in every value of every segment."""

    facts = ("interactions",)

    segment: tuple[str, ...]
    value: tuple[str, ...]
    metric: tuple[str, ...]
    arm: tuple[str, ...]
    effects: tuple[ArmEffect, ...]
    p_adjusted: NDArray[Any]
    interactions: tuple[Interaction, ...]
    alpha: float
    correction: str
    cautions: tuple[str, ...] = ()
    """Where skewness makes p too small."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """segment, value, metric, arm, users, difference, interval, p, p adjusted."""
        texts = {name: np.array(getattr(self, name), dtype=object) for name in ("segment", "value", "metric", "arm")}
        headings = ("users control", "users", "difference", "low", "high", "relative", "p")
        return {**texts, **columns_of(self.effects, ArmEffect, *headings), "p adjusted": self.p_adjusted}

    @property
    def notes(self) -> tuple[str, ...]:
        """The warning about many comparisons, and the tests whether segments differ."""
        tested = int((~np.isnan(self.p_adjusted)).sum())
        low = sum(effect.p < self.alpha for effect in self.effects)
        verb = "has" if low == 1 else "have"
        notes = [
            f"caution: {counted(tested, 'comparison')} of segments; without any effect, about "
            f"{self.alpha * tested:.1f} of them have p below {self.alpha:g} by chance ({low} {verb}); only p adjusted "
            f"({CORRECTIONS.find(self.correction).name}) counts, and a segment that was not planned is a question for "
            "the next experiment, not an answer"
        ]
        for one in self.interactions:
            said = "differ" if one.p_adjusted < self.alpha else "do not clearly differ"
            notes.append(
                f"{one.metric}, {one.arm}: the effects {said} between values of {one.segment} "
                f"(Q({one.df}) = {one.statistic:.2f}, p adjusted = {one.p_adjusted:.4f})"
            )
        return (*notes, *self.cautions)

    def table(self) -> Table:
        """A row per segment, value, metric and arm."""
        columns = self.columns()
        shown = {name: columns[name] for name in ("segment", "value", "metric", "arm")}
        shown |= {
            "users": columns["users control"] + columns["users"],
            "difference": estimates(columns["difference"], columns["low"], columns["high"]),
            "p": columns["p"],
            "p adjusted": self.p_adjusted,
        }
        return table_of(shown, caption="Effects by segment", notes=self.notes)


def segment_effects(
    engine: Engine,
    frame: Any,
    covariates: Mapping[MomentMetric, tuple[MomentMetric, ...]],
    order: Sequence[str],
    segments: Sequence[str],
    compare: Callable[[MomentMetric, Moments, str, Influence | None], tuple[ArmEffect, str]],
    alpha: float,
    correction: str,
) -> SegmentEffects:
    r"""The effect of each arm in each value of each segment, and Cochran's test whether effects are equal.

    .. math:: Q = \sum_s \frac{(\Delta_s - \bar\Delta)^2}{V_s} \sim \chi^2(S - 1), \qquad
        \bar\Delta = \frac{\sum_s \Delta_s / V_s}{\sum_s 1 / V_s}

    p-values of all comparisons, of all segments, metrics and arms, are adjusted together; so are those of the tests
    whether effects differ.

    covariates: those of each metric.
    compare: the effect of an arm in a metric, and its `skewed_side`.
    """
    rows: list[tuple[str, str, str, str, ArmEffect]] = []
    interactions: list[Interaction] = []
    cautions: list[str] = []
    sets = {str(one): needed_columns(one, own) for one, own in covariates.items()}
    metrics = list(covariates)
    for segment in segments:
        moments = moments_of_sets(frame, sets, [ARM, segment])
        plain = {str(one): arm_estimates(moments[str(one)], one, covariates[one]) for one in metrics}
        influence = influences(engine, frame, suspects(metrics, covariates, moments, plain), moments, [ARM, segment])
        groups = next(iter(moments.values())).groups
        values = sorted({value for arm, value in groups if arm is not None}, key=lambda one: (one is None, one))
        if len(values) > MOST_VALUES:
            from cranfield.errors import UsageError

            raise UsageError(f"segment {segment!r} has {len(values):,} values; at most {MOST_VALUES:,} make sense")
        for metric in metrics:
            for arm in order[1:]:
                names = ["(none)" if value is None else str(value) for value in values]
                effects, sides = [], {}
                for value, name in zip(values, names, strict=True):
                    at = [i for i, group in enumerate(moments[str(metric)].groups) if group[1] == value]
                    own = moments[str(metric)].at(at, [(groups[i][0],) for i in at], [ARM])
                    changes = influence[str(metric)].at(at) if str(metric) in influence else None
                    effect, sides[f"{arm} ({segment} {name})"] = compare(metric, own, arm, changes)
                    effects.append(effect)
                cautions += skew_cautions(metric, sides)
                rows += [(segment, name, str(metric), arm, effect) for name, effect in zip(names, effects, strict=True)]
                interactions.append(Interaction(segment, str(metric), arm, *heterogeneity(effects)))
    adjusted = adjust([row[4].p for row in rows], correction)
    differ = adjust([one.p for one in interactions], correction)
    tests = tuple(
        Interaction(one.segment, one.metric, one.arm, one.statistic, one.df, one.p, float(p))
        for one, p in zip(interactions, differ, strict=True)
        if one.df > 0
    )
    segment_names, values_, names_, arms, effects_ = zip(*rows, strict=True)
    return SegmentEffects(segment_names, values_, names_, arms, effects_, adjusted, tests, alpha, correction,
                          tuple(cautions))  # fmt: skip


def heterogeneity(effects: Sequence[ArmEffect]) -> tuple[float, int, float]:
    """Cochran's Q of effects with standard errors, its degrees of freedom, and p.

    Reference: Cochran, The Combination of Estimates from Different Experiments, Biometrics 10(1), 1954
    """
    from scipy.special import chdtrc

    errors = np.array([effect.error for effect in effects])
    difference = np.array([effect.difference for effect in effects])
    usable = np.isfinite(errors) & (errors > 0)
    if usable.sum() < 2:
        return math.nan, 0, math.nan
    weight = 1 / errors[usable] ** 2
    mean = weight @ difference[usable] / weight.sum()
    statistic = float(weight @ (difference[usable] - mean) ** 2)
    df = int(usable.sum()) - 1
    return statistic, df, float(chdtrc(df, statistic))
