"""Effects by segment, such as country or device, with a warning: the more segments, the more false alarms."""

from __future__ import annotations

import datetime
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.comparison.test_result import shown_p
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.engines.engine import Engine
from cranfield.online.experiments.arm_effects import ArmEffect, welch_df, welch_effect
from cranfield.online.experiments.arm_estimates import ArmEstimates, arm_estimates, skew_cautions, skewed_side, suspects
from cranfield.online.experiments.experiment_metrics import MomentMetric, needed_columns
from cranfield.online.experiments.unit_table import ARM, UNIT, check_columns, with_units
from cranfield.online.expressions import nw
from cranfield.online.few_users import Influence, influence_of, influences, near_one
from cranfield.online.moments import Moments, fetched, moments, moments_of_sets
from cranfield.record import Columns, Record, column, columns_of, estimates, table_of
from cranfield.table import Table
from cranfield.text import counted, shown
from cranfield.types import Array

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


class PartEffects(Record):
    """The effects in parts of an experiment; the fields that are columns say which part, metric and arm."""

    numbers: ClassVar[tuple[str, ...]]
    """The columns of an effect."""
    effects: tuple[ArmEffect, ...]

    def columns(self) -> Columns:
        """The part, the metric and the arm, and the numbers of the effect."""
        return super().columns() | columns_of(self.effects, ArmEffect, *self.numbers)

    def table(self) -> Table:
        """A row per part, metric and arm."""
        columns, part = self.columns(), super().columns()
        shown: dict[str, Any] = {
            **part,
            "users": np.array([effect.users_control + effect.users for effect in self.effects], dtype=np.int64),
            "difference": estimates(columns["difference"], columns["low"], columns["high"]),
            **{name: columns[name] for name in ("p", "p adjusted") if name in columns},
        }
        return table_of(shown, caption=self.caption, notes=self.notes)

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers needs to know."""


@dataclass(frozen=True, eq=False, repr=False)
class SegmentEffects(PartEffects):
    """The effect in every value of every segment."""

    caption = "Effects by segment"
    facts = ("interactions",)
    numbers = ("users control", "users", "difference", "low", "high", "relative", "p")

    segment: Annotated[tuple[str, ...], column()]
    value: Annotated[tuple[str, ...], column()]
    metric: Annotated[tuple[str, ...], column()]
    arm: Annotated[tuple[str, ...], column()]
    effects: tuple[ArmEffect, ...]
    p_adjusted: NDArray[Any]
    interactions: tuple[Interaction, ...]
    alpha: float
    correction: str
    cautions: tuple[str, ...] = ()
    """Where skewness makes p too small."""

    def columns(self) -> Columns:
        """segment, value, metric, arm, users, difference, interval, p, p adjusted."""
        return {**super().columns(), "p adjusted": self.p_adjusted}

    @property
    def notes(self) -> tuple[str, ...]:
        """The warning about many comparisons, and the tests whether segments differ."""
        tested = int((~np.isnan(self.p_adjusted)).sum())
        low = sum(effect.p < self.alpha for effect in self.effects)
        verb = "has" if low == 1 else "have"
        notes = [
            caution_note(
                f"caution: {counted(tested, 'comparison')} of segments; without any effect, about "
                f"{self.alpha * tested:.1f} of them have p below {self.alpha:g} by chance ({low} {verb}); only "
                "p adjusted "
                f"({CORRECTIONS.find(self.correction).name}) counts, and a segment that was not planned is a "
                "question for "
                "the next experiment, not an answer"
            )
        ]
        for test in self.interactions:
            said = "differ" if test.p_adjusted < self.alpha else "do not clearly differ"
            notes.append(
                f"{test.metric}, {test.arm}: the effects {said} between values of {test.segment} "
                f"(Q({test.df}) = {test.statistic:.2f}, p adjusted = {test.p_adjusted:.4f})"
            )
        return (*notes, *self.cautions)


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
    sets = {str(metric): needed_columns(metric, own) for metric, own in covariates.items()}
    metrics = list(covariates)
    for segment in segments:
        moments = moments_of_sets(frame, sets, [ARM, segment])
        plain = {str(metric): arm_estimates(moments[str(metric)], metric, covariates[metric]) for metric in metrics}
        influence = influences(engine, frame, suspects(metrics, covariates, moments, plain), moments, [ARM, segment])
        groups = next(iter(moments.values())).groups
        values = sorted({value for arm, value in groups if arm is not None}, key=lambda value: (value is None, value))
        if len(values) > MOST_VALUES:
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
    differ = adjust([test.p for test in interactions], correction)
    tests = tuple(
        replace(test, p_adjusted=float(p)) for test, p in zip(interactions, differ, strict=True) if test.df > 0
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


MOST_DAYS = 1_000
DAY, SINCE = "_day", "_since"


@dataclass(frozen=True)
class Trend:
    """The change of an effect per day since exposure."""

    metric: str
    arm: str
    slope: float
    low: float
    high: float
    p: float
    days: int


@dataclass(frozen=True, eq=False, repr=False)
class NoveltyEffects(PartEffects):
    """The effect on each day since a user's first day, and its trend."""

    caption = "Effects by days since exposure"
    facts = ("trends",)
    numbers = ("users_control", "users", "control", "treatment", "difference", "low", "high", "p")

    metric: Annotated[tuple[str, ...], column()]
    arm: Annotated[tuple[str, ...], column()]
    day: Annotated[tuple[int, ...], column()]
    """Days since the user's first day: 0, 1, …"""
    effects: tuple[ArmEffect, ...]
    trends: tuple[Trend, ...]
    alpha: float
    without_day: int = 0
    """Rows that were left out here, because they have no day."""
    cautions: tuple[str, ...] = ()
    """Where skewness makes p too small."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The trends in words."""
        notes = [method_note("day: days since a user's first day in the table; a user counts on the days with a row")]
        if self.without_day:
            notes.append(f"{counted(self.without_day, 'row')} without a day left out here")
        for trend in self.trends:
            if trend.days < 3:
                notes.append(caution_note(f"{trend.metric}, {trend.arm}: {trend.days} days are too few for a trend"))
                continue
            first = next(
                effect.difference
                for effect, metric, arm in zip(self.effects, self.metric, self.arm, strict=True)
                if (metric, arm) == (trend.metric, trend.arm)
            )
            said = "no clear trend"
            if trend.p < self.alpha:
                fades = (trend.slope > 0) != (first > 0)
                said = (
                    "the effect moves towards 0 or beyond: a novelty effect, do not trust the first days"
                    if fades
                    else "the effect grows: users learn, the first days show too little"
                )
            notes.append(
                f"{trend.metric}, {trend.arm}: {said} ({trend.slope:+.4g} a day, "
                f"{100 * (1 - self.alpha):g}% interval {trend.low:.4g} to {trend.high:.4g}, {shown_p(trend.p)})"
            )
        return (*notes, *self.cautions)


def novelty_effects(
    engine: Engine,
    frame: Any,
    metrics: Sequence[MomentMetric],
    *,
    arm: str,
    unit: str,
    day: str,
    arms: Sequence[str],
    alpha: float = 0.05,
) -> NoveltyEffects:
    r"""The effect of each arm by days since a user's first day, with the slope of a weighted line through the effects.

    .. math:: b = \sum_d c_d\, \Delta_d, \qquad
        \text{var}(b) = \sum_{a} \sum_{u \in a} \Big(\sum_d c_d\, \frac{\psi_{ud}}{n_{ad}}\Big)^2

    :math:`c_d` are the weights of least squares with weights 1 / var(Δ_d). ψ is what a user adds to the metric of a
    day, minus its mean; it is summed within users, who are there on several days, before it is squared. So the test
    holds although the effects of different days are correlated; it is Student's, with as many degrees of freedom as the
    users allow (`Influence`). Users in two arms do not count.
    """
    rows = _by_user_and_day(engine, with_days(engine, frame, arm=arm, unit=unit, day=day), metrics)
    rows_of_days: list[tuple[str, str, int, ArmEffect]] = []
    trends, cautions = [], []
    for metric in metrics:
        by_day = moments(rows, metric.columns, [ARM, SINCE])
        value, gradient = metric.value_and_gradient(by_day)
        estimates = ArmEstimates(value, by_day.linear(value, gradient).error ** 2, by_day.n)
        known = {str(metric): by_day}
        heavy = suspects([metric], {metric: ()}, known, {str(metric): estimates})
        influence = influences(engine, rows, heavy, known, [ARM, SINCE]).get(str(metric))
        for treated in arms[1:]:
            days, effects, skewed = [], [], {}
            for since in sorted({int(str(group[1])) for group in by_day.groups}):
                sides = [(arms[0], since), (treated, since)]
                if not all(side in by_day.groups for side in sides):
                    continue
                at = [by_day.group(side) for side in sides]
                pair = ArmEstimates(value[at], estimates.variance[at], by_day.n[at])
                if influence is not None:
                    changes = influence.at(at)
                    skewed[f"{treated} (day {since})"] = skewed_side(pair, changes, 0, 1)
                    pair = metric.careful(pair, changes)
                triples = [(float(pair.value[i]), float(pair.variance[i]), int(pair.n[i])) for i in (0, 1)]
                freedom = None if pair.df is None else (float(pair.df[0]), float(pair.df[1]))
                effect = welch_effect(*triples, alpha=alpha, method=metric.test, freedom=freedom)
                rows_of_days.append((str(metric), treated, since, effect))
                if math.isfinite(effect.low):
                    days.append(since)
                    effects.append(effect)
            cautions += skew_cautions(metric, skewed)
            trends.append(_trend(engine, rows, by_day, metric, gradient, arms[0], treated, days, effects, alpha))
    if not rows_of_days:
        raise UsageError(f"no day in column {day!r} has users of two arms")
    names, arm_names, numbers, effects_ = zip(*rows_of_days, strict=True)
    return NoveltyEffects(
        names, arm_names, numbers, effects_, tuple(trends), alpha, _without_day(frame, day), tuple(cautions)
    )


def with_days(engine: Engine, frame: Any, *, unit: str, day: str, arm: str | None = None) -> Any:
    """The frame with `_unit`, `_arm` and `_day`, the number of days since the first one.

    A day may be a whole number, a date, a time stamp, or text that begins with a date as ISO 8601 writes it.
    """
    import pyarrow

    check_columns(frame, [unit, day, *([arm] if arm else [])], [])
    label = nw.col(day).cast(nw.String)
    if not frame.collect_schema()[day].is_integer():
        label = label.str.slice(0, 10)  # the date of a time stamp
    keyed = frame.with_columns(
        label.alias(DAY), nw.col(unit).cast(nw.String).alias(UNIT),
        *([nw.col(arm).cast(nw.String).alias(ARM)] if arm else []),
    )  # fmt: skip
    distinct = fetched(keyed.select(DAY).unique().filter(~nw.col(DAY).is_null()).head(MOST_DAYS + 1)).to_pylist()
    if len(distinct) > MOST_DAYS:
        raise UsageError(f"column {day!r} has more than {MOST_DAYS:,} days; it must hold days, not times")
    if not distinct:
        raise UsageError(f"column {day!r} is empty")
    numbers = {row[DAY]: _ordinal(row[DAY], day) for row in distinct}
    first = min(numbers.values())
    table = pyarrow.table({DAY: list(numbers), "_number": [number - first for number in numbers.values()]})
    joined = keyed.join(engine.read(table), on=DAY, how="inner")
    return joined.drop(DAY).rename({"_number": DAY})


def _without_day(frame: Any, day: str) -> int:
    """How many rows have no day."""

    missing = nw.col(day).is_null().cast(nw.Int64).sum().alias("missing")
    return int(fetched(frame.select(missing)).to_pylist()[0]["missing"] or 0)


def _ordinal(text: str, column: str) -> int:
    try:
        return int(text) if text.lstrip("-").isdigit() else datetime.date.fromisoformat(text).toordinal()
    except ValueError:
        raise UsageError(
            f"column {column!r} holds {shown(text)}, must be a whole number or a date such as 2026-03-31"
        ) from None


def _by_user_and_day(engine: Engine, dated: Any, metrics: Sequence[MomentMetric]) -> Any:
    """One row per user and day since the user's first one, with sums of the columns."""

    names = tuple(dict.fromkeys(name for metric in metrics for name in metric.columns))
    present = with_units(dated.filter(~nw.col(ARM).is_null()), UNIT, names)
    first = present.group_by(UNIT).agg(
        nw.col(DAY).min().alias("_first"), nw.col(ARM).min().alias("_low"), nw.col(ARM).max().alias("_high")
    )
    first = first.filter(nw.col("_low") == nw.col("_high"))
    joined = present.join(first, on=UNIT, how="inner")
    numbered = joined.select(ARM, UNIT, (nw.col(DAY) - nw.col("_first")).alias(SINCE), *names)
    summed = numbered.group_by(UNIT, ARM, SINCE).agg(*(nw.col(name).sum().alias(name) for name in names))
    return engine.keep(summed)


def _trend(
    engine: Engine,
    rows: Any,
    by_day: Moments,
    metric: MomentMetric,
    gradient: Array,
    control: str,
    treated: str,
    days: Sequence[int],
    effects: Sequence[ArmEffect],
    alpha: float,
) -> Trend:
    """The slope of the effects, with a variance from sums over users."""
    from scipy.special import stdtr, stdtrit

    if len(days) < 3:
        return Trend(str(metric), treated, math.nan, math.nan, math.nan, math.nan, len(days))
    day, difference = np.array(days, dtype=np.float64), np.array([effect.difference for effect in effects])
    weight = np.array([effect.error**-2 for effect in effects])
    centred = day - weight @ day / weight.sum()
    c = weight * centred / (weight @ centred**2)
    slope = float(c @ difference)
    (first, first_df), (second, second_df) = (
        _user_variance(engine, rows, by_day, metric, gradient, arm, days, c) for arm in (control, treated)
    )
    error = math.sqrt(first + second)
    rounding = 1e-9 * math.sqrt(float(c**2 @ (1 / weight)))
    if error <= rounding:  # users do the same every day: what is left is rounding
        slope, error = (slope if abs(slope) > rounding else 0.0), 0.0
    df = welch_df(first, first_df + 1, second, second_df + 1) if error else math.inf
    half = float(stdtrit(df, 1 - alpha / 2)) * error if error else 0.0
    p = float(2 * stdtr(df, -abs(slope) / error)) if error else math.nan if slope else 1.0
    return Trend(str(metric), treated, slope, slope - half, slope + half, p, len(days))


def _user_variance(
    engine: Engine,
    rows: Any,
    by_day: Moments,
    metric: MomentMetric,
    gradient: Array,
    arm: str,
    days: Sequence[int],
    c: Array,
) -> tuple[float, float]:
    """The variance of what the users of an arm add to the slope, and its degrees of freedom (see `Influence`)."""
    import pyarrow

    at = [by_day.group((arm, since)) for since in days]
    factor = c[:, None] * gradient[at] / by_day.n[at][:, None]  # days × columns
    scale = near_one(np.array([np.abs(factor * by_day.mean[at]).max(initial=0.0)]))
    factor = factor * scale
    constant = -(factor * by_day.mean[at]).sum(axis=1)
    table = {SINCE: np.array(days, dtype=np.int64), "_constant": constant}
    table |= {f"_factor{j}": factor[:, j] for j in range(factor.shape[1])}
    own = rows.filter(nw.col(ARM) == arm).join(engine.read(pyarrow.table(table)), on=SINCE, how="inner")
    term = nw.col("_constant")
    for j, name in enumerate(by_day.names):
        term = term + nw.col(f"_factor{j}") * nw.col(name)
    per_user = own.select(UNIT, term.alias("_term")).group_by(UNIT).agg(nw.col("_term").sum())
    power = nw.col("_term")
    powers = [nw.len().alias("n")]
    for exponent in (2, 3, 4):
        power = power * nw.col("_term")
        powers.append(power.sum().alias(f"sum{exponent}"))
    total = fetched(per_user.select(*powers)).to_pylist()[0]
    n = int(total["n"])
    sums = np.array([[total[f"sum{k}"] or 0.0 for k in (2, 3, 4)]]) / scale ** np.array([2, 3, 4])
    return float(sums[0, 0]) * n / max(1, n - 1), float(influence_of(sums, np.array([n])).df[0])
