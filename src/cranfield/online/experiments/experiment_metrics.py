"""The metrics of an experiment: values that own their analysis and their power, written as `clicks/impressions`."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.notes import caution_note
from cranfield.online.experiments.arm_effects import (
    ArmEffect,
    EffectRow,
    Settings,
    share_effect,
    welch_effect,
)
from cranfield.online.experiments.arm_estimates import (
    UNEVEN,
    ArmEstimates,
    QuantileArm,
    adjustment,
    arm_estimates,
    cautions,
    heavy_notes,
    jackknifed,
    missing_values,
    quantile_arms,
    quantile_effect,
    skew_cautions,
    skewed_side,
    users_for,
)
from cranfield.online.few_users import Influence, Part
from cranfield.online.moments import Moments
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

_CALL = re.compile(r"(mean|share|median|p\d+(?:\.\d+)?)\((.+)\)", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Arms:
    """The users of an experiment by arm, as its metrics read them."""

    engine: Any
    frame: Any
    users: Mapping[str, int]
    """The users of each arm."""
    order: Sequence[str]
    """The arms, the control first."""
    covariates: Mapping[Metric, tuple[MomentMetric, ...]]
    moments: Mapping[str, Moments]
    """By the name of a metric that follows from moments."""
    influence: Mapping[str, Influence]
    """By the name of a metric that few users may carry."""


class Metric(ABC):
    """What is compared between arms.

    >>> Metric.parse("clicks/impressions").columns, str(Metric.parse("p95( latency )"))
    (('clicks', 'impressions'), 'p95(latency)')
    """

    noun: ClassVar[str]
    """What it is called in messages."""

    @staticmethod
    def parse(text: str, columns: Sequence[str] = ()) -> Metric:
        """A metric by its name: a column (its mean), `share(c)`, `a/b`, `median(c)` or `p90(c)`.

        A text that is the name of one of the `columns` is that column.
        """
        name = str(text).strip()
        if name in columns:
            return Mean(name)
        if called := _CALL.fullmatch(name):
            word, column = called[1], called[2].strip()
            if word in ("mean", "share"):
                return Mean(column) if word == "mean" else Share(column)
            q = 0.5 if word == "median" else float(word[1:]) / 100
            if not 0 < q < 1:
                raise check.wrong("metric", "quantile", word, "above p0 and below p100, such as p95(latency)")
            return Quantile(column, q)
        above, sign, below = (part.strip() for part in name.partition("/"))
        if sign and above and below:
            return Ratio(above, below)
        if not name or sign:
            raise UsageError(f"no metric {text!r}; write a column, share(c), a/b, median(c) or p90(c)")
        return Mean(name)

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs."""

    @abstractmethod
    def compared(self, arms: Arms, settings: Settings) -> tuple[list[EffectRow], list[str]]:
        """The effect of every arm against the control, and what a reader has to know about them."""


class Spread(NamedTuple):
    """A metric in past data: what decides how many users an experiment needs."""

    users: int
    mean: float
    sd: float
    """The standard deviation of what a user adds to the metric, after covariates."""
    removed: float
    """The share of the variance that covariates remove."""


class MomentMetric(Metric):
    """A metric that follows from the means of columns, whose covariances give its variance."""

    test: ClassVar[str] = "Welch"
    is_ratio: ClassVar[bool] = False
    may_adjust: ClassVar[bool] = False
    """May it be a covariate of others?"""

    @property
    @abstractmethod
    def parts(self) -> list[Part]:
        """The sum of weighted ratios that it is, apart from a constant."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in (part.above, part.below) if name))

    @abstractmethod
    def value_and_gradient(self, moments: Moments) -> tuple[Array, Array]:
        """Its value in each group, and the gradient with respect to the means of the columns."""

    def check(self, moments: Moments, arms: Sequence[str] = ("",)) -> None:
        """Raise an error if its columns hold values that it cannot have."""

    def may_be_carried(self, users: Index64) -> bool:
        """May few users decide the comparison of arms with these numbers of users?"""
        return self.is_ratio

    def careful(self, estimates: ArmEstimates, influence: Influence) -> ArmEstimates:
        """The estimates with the variances of the jackknife, if few users carry a ratio."""
        return jackknifed(estimates, influence) if self.is_ratio else estimates

    def undefined(self, arms: Sequence[str]) -> list[str]:
        """Why it has no value in these arms."""
        return []

    def effect(
        self, estimates: ArmEstimates, control: int, treatment: int, settings: Settings, *, adjusted: bool = False
    ) -> ArmEffect:
        """The effect of one arm against another."""
        sides = [
            (float(estimates.value[i]), float(estimates.variance[i]), int(estimates.n[i])) for i in (control, treatment)
        ]
        freedom = None if estimates.df is None else (float(estimates.df[control]), float(estimates.df[treatment]))
        method = (self.test if freedom is None else "jackknife") + (", CUPED" if adjusted else "")
        unadjusted = estimates.unadjusted(control, treatment, of_ratio=self.is_ratio)
        return welch_effect(
            *sides, alpha=settings.alpha, looks=settings.looks, relative=settings.relative, freedom=freedom,
            method=method, unadjusted=unadjusted,
        )  # fmt: skip

    def compared(self, arms: Arms, settings: Settings) -> tuple[list[EffectRow], list[str]]:
        order, covariates, known = arms.order, arms.covariates[self], arms.moments[str(self)]
        own = in_order(known, order)
        self.check(own, order)
        estimates = arm_estimates(own, self, covariates)
        notes = missing_values(self, order, own.missing.tolist(), arms.users)
        if str(self) in arms.influence:
            changes = arms.influence[str(self)].at(places(known, order))
            careful = self.careful(estimates, changes)
            if not settings.of_another_program:
                estimates = careful
            elif careful.df is not None:
                notes.append(
                    caution_note(
                        f"caution: few users carry {self}, so its interval, by the formula of another program, may be "
                        "too narrow; the default for relative differences and CUPED uses the jackknife"
                    )
                )
            sides = {name: skewed_side(estimates, changes, 0, i) for i, name in enumerate(order) if i}
            notes += skew_cautions(self, sides)
            notes += heavy_notes(self, own, estimates, order)
        rows = []
        for i, treated in enumerate(order[1:], 1):
            pair, at = estimates, i
            if covariates and settings.cuped != "within":  # other programs adjust the two arms by themselves
                pair, at = arm_estimates(in_order(own, [order[0], treated]), self, covariates, settings.cuped), 1
            effect = self.effect(pair, 0, at, settings, adjusted=bool(covariates))
            rows.append(EffectRow(str(self), treated, effect, pair.reduction))
        return rows, notes + cautions(self, estimates, order, [row.effect for row in rows])

    def spread(self, moments: Moments, covariates: Sequence[MomentMetric]) -> Spread:
        """Its value over all users and its standard deviation, for the power of an experiment."""
        value, gradient = self.value_and_gradient(moments)
        n, mean = int(moments.n[0]), float(value[0])
        if n < 2:
            raise UsageError(f"{self}: {counted(n, 'user')} with a value, power needs two or more")
        removed = adjustment(moments, self, covariates)[1] if covariates else 0.0
        variance = float(moments.linear(value, gradient).error[0] ** 2) * n
        if math.isnan(variance) and not math.isnan(mean):
            raise UsageError(f"{self}: its numbers are too large")
        return Spread(n, mean, math.sqrt(variance * (1 - removed)), removed)


@dataclass(frozen=True)
class Mean(MomentMetric):
    """The mean of a column over users."""

    noun = "mean"
    may_adjust = True

    column: str

    @property
    def parts(self) -> list[Part]:
        return [Part(1.0, self.column)]

    def value_and_gradient(self, moments: Moments) -> tuple[Array, Array]:
        gradient = np.zeros((len(moments.groups), len(moments.names)))
        gradient[:, moments.column(self.column)] = 1.0
        return moments.mean[:, moments.column(self.column)], gradient

    def may_be_carried(self, users: Index64) -> bool:
        return len(users) > 1 and bool(users.max() >= UNEVEN * users.min())

    def __str__(self) -> str:
        return self.column


@dataclass(frozen=True)
class Share(Mean):
    """The share of users with a 1 in a column of 0 and 1."""

    noun = "share"
    may_adjust = False

    def check(self, moments: Moments, arms: Sequence[str] = ("",)) -> None:
        i = moments.column(self.column)
        for arm, n, mean, variance in zip(arms, moments.n, moments.mean[:, i], moments.cov[:, i, i], strict=True):
            if n > 1 and not np.isclose(variance * (n - 1) / n, mean * (1 - mean), rtol=1e-6, atol=1e-9):
                where = f"column {self.column!r}" + (f" of arm {arm!r}" if arm else "")
                raise UsageError(
                    f"{self}: {where} has mean {mean:.4g} and variance {variance:.4g}, so it holds other values than 0 "
                    "and 1; use the column alone for its mean"
                )

    def may_be_carried(self, users: Index64) -> bool:
        return False

    def effect(
        self, estimates: ArmEstimates, control: int, treatment: int, settings: Settings, *, adjusted: bool = False
    ) -> ArmEffect:
        if adjusted or settings.looks.design != "once":
            return super().effect(estimates, control, treatment, settings, adjusted=adjusted)
        first, second = (
            (round(float(estimates.value[i]) * int(estimates.n[i])) if estimates.n[i] else 0, int(estimates.n[i]))
            for i in (control, treatment)
        )
        return share_effect(first, second, alpha=settings.alpha, relative=settings.relative)

    def __str__(self) -> str:
        return f"share({self.column})"


@dataclass(frozen=True)
class Ratio(MomentMetric):
    """The sum of a column over that of another."""

    noun = "ratio"
    test = "delta"
    is_ratio = may_adjust = True

    above: str
    below: str
    name: str = ""
    """What it is called, if not by its columns."""

    @property
    def parts(self) -> list[Part]:
        return [Part(1.0, self.above, self.below)]

    def value_and_gradient(self, moments: Moments) -> tuple[Array, Array]:
        gradient = np.zeros((len(moments.groups), len(moments.names)))
        above, below = moments.column(self.above), moments.column(self.below)
        divisor = np.where(moments.mean[:, below] == 0, np.nan, moments.mean[:, below])
        value = moments.mean[:, above] / divisor
        gradient[:, above] += 1 / divisor
        gradient[:, below] -= value / divisor
        return value, gradient

    def undefined(self, arms: Sequence[str]) -> list[str]:
        return [f"caution: {self} is not defined in {listed(arms)}: the sum of {self.below} is 0 there"]

    def __str__(self) -> str:
        return self.name or f"{self.above}/{self.below}"


class Term(NamedTuple):
    """A part of a weighted sum: weight · (Σ above / Σ below − zero)."""

    above: str
    below: str
    weight: float
    zero: float


@dataclass(frozen=True)
class WeightedSum(MomentMetric):
    """A weighted sum of ratios."""

    noun = "weighted sum of ratios"
    test = "delta"
    is_ratio = True

    name: str
    terms: tuple[Term, ...]

    @property
    def parts(self) -> list[Part]:
        return [Part(term.weight, term.above, term.below) for term in self.terms]

    def value_and_gradient(self, moments: Moments) -> tuple[Array, Array]:
        ratios = [Ratio(term.above, term.below).value_and_gradient(moments) for term in self.terms]
        value = sum(term.weight * (ratio[0] - term.zero) for term, ratio in zip(self.terms, ratios, strict=True))
        gradient = sum(term.weight * ratio[1] for term, ratio in zip(self.terms, ratios, strict=True))
        return np.asarray(value), np.asarray(gradient)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Quantile(Metric):
    """A quantile of a column over users, compared by order statistics."""

    noun = "quantile"

    column: str
    q: float = 0.5

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def compared(self, arms: Arms, settings: Settings) -> tuple[list[EffectRow], list[str]]:
        sides = quantile_arms(arms.engine, arms.frame, self.column, self.q, arms.order)
        missing = [arms.users[name] - side.n for name, side in zip(arms.order, sides, strict=True)]
        effects = [quantile_effect(sides[0], side, alpha=settings.alpha, looks=settings.looks) for side in sides[1:]]
        rows = [EffectRow(str(self), arm, effect) for arm, effect in zip(arms.order[1:], effects, strict=True)]
        notes = missing_values(self, arms.order, missing, arms.users)
        return rows, notes + self._cautions(sides, arms.order, effects, settings.alpha)

    def _cautions(
        self, arms: Sequence[QuantileArm], order: Sequence[str], effects: Sequence[ArmEffect], alpha: float
    ) -> list[str]:
        """Why quantiles cannot be compared, or what their interval without width means."""
        few = [f"{name} {arm.n}" for name, arm in zip(order, arms, strict=True) if arm.n < users_for(self.q, alpha)]
        if few:
            least = users_for(self.q, alpha)
            return [
                caution_note(
                    f"caution: {self} needs {least} users or more in each arm for an interval, there are "
                    f"{listed(few, most=6)}"
                )
            ]
        if any(np.isnan(effect.low) for effect in effects):
            return [
                caution_note(
                    f"caution: {self}: too few users in an arm for an interval; use a quantile nearer to the median"
                )
            ]
        flat = [name for name, effect in zip(order[1:], effects, strict=True) if effect.low == effect.high]
        if not flat:
            return []
        return [
            caution_note(
                f"{self}: the interval of {listed(flat)} has no width: most users have the same value, which is the "
                "quantile of each arm; compare a share of users or a mean as well"
            )
        ]

    def __str__(self) -> str:
        return f"median({self.column})" if self.q == 0.5 else f"p{100 * self.q:g}({self.column})"


def needed_columns(metric: Metric, covariates: Sequence[Metric]) -> tuple[str, ...]:
    """The columns of a metric and of its covariates, each once."""
    return tuple(dict.fromkeys(name for part in (metric, *covariates) for name in part.columns))


def in_order(moments: Moments, arms: Sequence[str]) -> Moments:
    """The moments of these arms in their order; an arm without users has none."""
    return moments.at(places(moments, arms), [(arm,) for arm in arms], moments.by)


def places(moments: Moments, arms: Sequence[str]) -> list[int]:
    """Where the moments of these arms are; −1 for an arm without users."""
    return [moments.groups.index((arm,)) if (arm,) in moments.groups else -1 for arm in arms]


def parsed_metrics(metrics: Iterable[str | Metric] | str | Metric, columns: Sequence[str] = ()) -> tuple[Metric, ...]:
    """Metrics from names; each may be there once."""
    entries = [metrics] if isinstance(metrics, (str, Metric)) else list(metrics)
    parsed = tuple(entry if isinstance(entry, Metric) else Metric.parse(entry, columns) for entry in entries)
    if not parsed:
        raise UsageError("no metric; name one or several columns")
    twice = [str(metric) for i, metric in enumerate(parsed) if metric in parsed[:i]]
    if twice:
        raise UsageError(f"metric {twice[0]!r} appears twice; leave out one of them")
    return parsed


def moment_metrics(metrics: Iterable[Metric], caller: str, why: str) -> tuple[MomentMetric, ...]:
    """The metrics, which all follow from moments; an error that says why quantiles cannot be used."""
    usable = []
    for metric in metrics:
        if not isinstance(metric, MomentMetric):
            raise UsageError(f"{caller}: {metric} is a {metric.noun}{why}")
        usable.append(metric)
    return tuple(usable)


def parsed_covariates(
    covariates: Iterable[str] | dict[str, str | Sequence[str]] | None,
    metrics: Sequence[Metric],
    columns: Sequence[str] = (),
) -> dict[Metric, tuple[MomentMetric, ...]]:
    """{metric: its covariates}. `METRIC=COVARIATE` is for one metric; a covariate alone is for all means and ratios.

    >>> metrics = parsed_metrics(["revenue", "clicks/shown"])
    >>> covariates = parsed_covariates(["revenue=revenue_before", "age"], metrics)
    >>> [list(map(str, covariates[metric])) for metric in metrics]
    [['revenue_before', 'age'], ['age']]
    """
    pairs: list[tuple[str, str]] = []
    if isinstance(covariates, dict):
        for name, entry in covariates.items():
            pairs += [(name, covariate) for covariate in ([entry] if isinstance(entry, str) else entry)]
    else:
        for text in covariates or ():
            name, sign, covariate = text.rpartition("=")
            pairs.append((name, covariate) if sign else ("", covariate))
    result: dict[Metric, list[MomentMetric]] = {metric: [] for metric in metrics}
    by_name = {str(metric): metric for metric in metrics}
    for named, text in pairs:
        adjusting = Metric.parse(text, columns)
        if not (isinstance(adjusting, MomentMetric) and adjusting.may_adjust):
            raise UsageError(f"covariate {text!r} is a {adjusting.noun}, must be a column or a ratio of columns")
        if named:
            known = by_name.get(str(Metric.parse(named, columns)))
            if known is None:
                raise check.nearest(named, list(by_name), "metric")
            if not isinstance(known, MomentMetric):
                raise UsageError(f"covariate {text!r} for {named}: covariates apply to means, shares and ratios")
            result[known].append(adjusting)
        else:
            for metric in metrics:
                if isinstance(metric, MomentMetric):
                    result[metric].append(adjusting)
    for metric, own in result.items():
        if any(adjusting.columns == metric.columns for adjusting in own):
            raise UsageError(
                f"covariate of {metric}: the metric itself; a covariate is a value from before the experiment"
            )
    return {metric: tuple(dict.fromkeys(own)) for metric, own in result.items()}
