"""How many users an experiment needs, and what it can find: from past data, by Welch's test with normal quantiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield import check
from cranfield.comparison.test_result import check_alpha
from cranfield.declared.operation import Alpha, about, operation
from cranfield.errors import UsageError
from cranfield.notes import method_note
from cranfield.online.engines.engine import Engine
from cranfield.online.experiments.experiment_metrics import (
    Metric,
    MomentMetric,
    moment_metrics,
    needed_columns,
    parsed_covariates,
    parsed_metrics,
)
from cranfield.online.experiments.unit_table import UnitColumn, check_columns, opened_table
from cranfield.online.expressions import nw
from cranfield.online.moments import Moments, moments_of_sets
from cranfield.record import Record, column, table_of
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Array, Index64

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Numbers of users to show, as multiples of those in the table."""


@dataclass(frozen=True)
class Design:
    """The arms, the error and the power of a planned experiment."""

    shares: tuple[float, ...] = (1.0, 1.0)
    """The share of each arm, the control first."""
    alpha: float = 0.05
    power: float = 0.8

    def __post_init__(self) -> None:
        check_alpha("design", self.alpha)
        check_alpha("design", self.power, "power")
        if len(self.shares) < 2:
            raise check.wrong("design", "shares", self.shares, "two or more numbers, the control first")
        for share in self.shares:
            check.finite("design", share=share)
            check.positive("design", share=share)

    @property
    def each_alpha(self) -> float:
        """α of each comparison with the control: Bonferroni's α / (arms − 1)."""
        return self.alpha / (len(self.shares) - 1)

    @property
    def factor(self) -> float:
        """1 / w_c + 1 / w_t, with the smallest share of a treatment: the variance of a difference per σ² / users."""
        total = sum(self.shares)
        return total / self.shares[0] + total / min(self.shares[1:])


def power_of(effect: float, sd: float, users: float, design: Design | None = None) -> float:
    r"""The probability of finding a difference, with a number of users in all arms together.

    .. math:: \Phi(\delta - z_{1 - \alpha/2}) + \Phi(-\delta - z_{1 - \alpha/2}), \qquad
        \delta = \frac{\Delta}{\sigma} \sqrt{\frac{N}{1 / w_c + 1 / w_t}}

    With several arms, α is divided by the number of comparisons, and the smallest arm counts.

    >>> round(power_of(0.1, 1.0, 3_142), 3)
    0.8
    """
    from scipy.special import ndtr, ndtri

    design = design or Design()
    if sd <= 0:
        return 1.0 if effect else design.each_alpha
    delta = abs(effect) / sd * math.sqrt(users / design.factor)
    z = float(ndtri(1 - design.each_alpha / 2))
    return float(ndtr(delta - z) + ndtr(-delta - z))


def users_needed(effect: float, sd: float, design: Design | None = None) -> int:
    """The number of users, in all arms together, that finds a difference with the power of the design.

    >>> users_needed(0.1, 1.0)
    3140
    >>> users_needed(0.1, 1.0, Design(shares=(9, 1)))
    8721
    """
    design = design or Design()
    if effect == 0 or not math.isfinite(effect):
        raise check.wrong("users_needed", "effect", effect, "a number other than 0")
    check.positive("users_needed", sd=sd)
    return max(2 * len(design.shares), math.ceil(design.factor * (sd * _distance(design) / effect) ** 2))


def detectable(sd: float, users: float, design: Design | None = None) -> float:
    """The smallest difference that a number of users, in all arms together, find with the power of the design.

    >>> round(detectable(1.0, 3_140), 4)
    0.1
    """
    design = design or Design()
    return sd * _distance(design) * math.sqrt(design.factor / users) if users else math.nan


def _distance(design: Design) -> float:
    """δ at which the power of a two-sided test is that of the design."""
    from scipy.optimize import brentq
    from scipy.special import ndtr, ndtri

    z = float(ndtri(1 - design.each_alpha / 2))
    if design.power <= design.each_alpha:
        raise check.wrong("design", "power", design.power, f"above α = {design.each_alpha:g}")
    return float(brentq(lambda d: ndtr(d - z) + ndtr(-d - z) - design.power, 0.0, 60.0, xtol=1e-12))


@dataclass(frozen=True, eq=False, repr=False)
class ABPower(Record):
    """What an experiment can find in each metric, by its number of users or of days."""

    figure = "describe_detectable"
    facts = ("alpha", "power", "shares")

    metric: Annotated[tuple[str, ...], column()]
    days: Annotated[Index64, column()]
    """0 if the past data have no days."""
    users: Annotated[Index64, column()]
    mean: Annotated[Array, column()]
    sd: Annotated[Array, column()]
    """The standard deviation of what a user adds to the metric, after covariates."""
    removed: Annotated[Array, column("variance removed")]
    """The share of the variance that covariates remove."""
    detectable: Annotated[Array, column()]
    relative: Annotated[Array, column()]
    """The detectable difference over the mean."""
    needed: Annotated[Array, column("users needed")]
    """Users for the wanted effect; NaN without one."""
    design: Design
    effect: float | None
    remarks: tuple[str, ...]

    @property
    def alpha(self) -> float:
        return self.design.alpha

    @property
    def power(self) -> float:
        return self.design.power

    @property
    def shares(self) -> tuple[float, ...]:
        return self.design.shares

    @property
    def notes(self) -> tuple[str, ...]:
        """The answers in words, and what was assumed."""
        design = self.design
        arms = ":".join(f"{share:g}" for share in design.shares)
        rule = method_note(
            f"power {design.power:g}, α = {design.alpha:g} two-sided, {len(design.shares)} arms with shares {arms}"
        )
        if len(design.shares) > 2:
            rule += method_note(
                f"; α = {design.each_alpha:.3g} for each comparison with the control, the smallest arm counts"
            )
        return (*self.answers(), rule, *self.remarks)

    def answers(self) -> list[str]:
        """For the wanted effect: how many users, and how many days."""
        if self.effect is None:
            return []
        said = []
        for name in dict.fromkeys(self.metric):
            rows = [i for i, metric in enumerate(self.metric) if metric == name]
            last = rows[-1]
            users = f"{name}: a change of {100 * self.effect:g}% needs {self.needed[last]:,.0f} users"
            if not self.days[last]:
                said.append(users)
                continue
            enough = [i for i in rows if abs(self.relative[i]) <= self.effect]
            if enough:
                days = int(self.days[enough[0]])
                after = f"{name}: a change of {100 * self.effect:g}% is found after {counted(days, 'day')}"
                weeks = counted(-(-days // 7), "week")
                said.append(after + f"; run {weeks}, so that each day of the week counts alike" * (days % 7 > 0))
            else:
                said.append(f"{users}; {counted(int(self.days[last]), 'day')} of past traffic have too few")
        return said

    def table(self) -> Table:
        """A row per metric and number of users."""
        relative = ["" if math.isnan(value) else f"{100 * value:.2f}%" for value in self.relative.tolist()]
        shown = {
            "metric": np.array(self.metric, dtype=object),
            **({"days": self.days} if self.days.any() else {}),
            "users": self.users,
            "mean": self.mean,
            "sd": self.sd,
            "detectable": self.detectable,
            "relative": np.array(relative, dtype=object),
        }
        return table_of(shown, caption="Smallest effect that is found", notes=self.notes)


@operation
def ab_power(
    source: Any,
    metrics: Iterable[str | Metric] | str,
    *,
    unit: UnitColumn = None,
    day: str | None = None,
    covariates: Iterable[str] | dict[str, str | Sequence[str]] | None = None,
    effect: Annotated[
        float | None, about("A wanted relative effect, such as 0.02.", above=0, spelled="--effect E")
    ] = None,
    users: Annotated[
        Sequence[int] | int | None,
        about(
            "Numbers of users, all arms together; several, separated by commas. Default: multiples of those in the "
            "table.",
            least=1,
            spelled="--users N",
        ),
    ] = None,
    exposure: Annotated[
        float, about("The share of users that take part.", above=0, most=1, spelled="--exposure SHARE")
    ] = 1.0,
    shares: Sequence[float] = (1.0, 1.0),
    alpha: Alpha = 0.05,
    power: Annotated[
        float, about("Power: the probability of finding the effect.", above=0, below=1, spelled="--power P")
    ] = 0.8,
    engine: Any = "duckdb",
) -> ABPower:
    """The smallest effect that an experiment finds, from past data of users; and how long it has to run.

    source: a table of past data, as for `analyse`, without arms. With `unit`, the rows of a user are added up.
    metrics: means, shares and ratios, as for `analyse`; quantiles have no formula.
    day: the column of the day, with a row per user and day. Then there is a row of the result for each number of days:
        the users seen in the first 1, 2, … days and what they did in these days, weekends and returning users as they
        were. Values of a metric are sums over the days so far.
    covariates: values from before; the variance that they remove is gone (CUPED).
    effect: the result then says how many users or days this effect needs.
    shares: of the arms, the control first; with more than two, α is divided by the number of comparisons.

    >>> import pyarrow
    >>> past = pyarrow.table({"revenue": [0.0, 0.0, 4.0, 8.0] * 250})
    >>> result = ab_power(past, "revenue", users=10_000, effect=0.05)
    >>> round(float(result.detectable[0]), 3), result.needed.tolist()
    (0.186, [15365.0])
    """
    design = Design(tuple(float(share) for share in shares), alpha, power)
    if day is not None and unit is None:
        raise UsageError("ab_power: days need unit=, the column of user ids")
    counts = [users] if isinstance(users, int) else list(users or ())
    with opened_table(engine, source, [unit] if unit else []) as (opened, frame):
        names = frame.collect_schema().names()
        parsed = moment_metrics(parsed_metrics(metrics, names), "ab_power", "; power is for means, shares and ratios")
        adjusting = parsed_covariates(covariates, parsed, names)
        sets = {str(metric): needed_columns(metric, adjusting[metric]) for metric in parsed}
        check_columns(frame, [unit] if unit else [], [name for columns in sets.values() for name in columns])
        windows = _windows(opened, frame, parsed, sets, unit, day)
    return _result(parsed, adjusting, windows, counts, exposure, effect, design)


def _windows(
    engine: Engine,
    frame: Any,
    metrics: Sequence[MomentMetric],
    sets: dict[str, tuple[str, ...]],
    unit: str | None,
    day: str | None,
) -> list[tuple[int, dict[str, Moments]]]:
    """Moments over users, for the first 1, 2, … days; or once for all rows, with 0 days."""
    from cranfield.online.experiments.effects_in_parts import DAY, with_days
    from cranfield.online.experiments.unit_table import UNIT, added_up, with_units
    from cranfield.online.moments import fetched

    if unit is None:
        return [(0, moments_of_sets(frame, sets))]
    sums = [name for metric in metrics for name in metric.columns]
    every = [name for names in sets.values() for name in names]
    if day is None:
        return [(0, moments_of_sets(engine.keep(added_up(with_units(frame, unit, every), sums, every)), sets))]
    dated = engine.keep(
        with_days(engine, with_units(frame, unit, every), unit=unit, day=day).filter(~nw.col(UNIT).is_null())
    )
    last = int(fetched(dated.select(nw.col(DAY).max().alias("last"))).to_pylist()[0]["last"])
    return [
        (days, moments_of_sets(engine.keep(added_up(dated.filter(nw.col(DAY) < days), sums, every)), sets))
        for days in range(1, last + 2)
    ]


def _result(
    metrics: Sequence[MomentMetric],
    covariates: dict[Metric, tuple[MomentMetric, ...]],
    windows: Sequence[tuple[int, dict[str, Moments]]],
    counts: Sequence[int],
    exposure: float,
    effect: float | None,
    design: Design,
) -> ABPower:
    rows: list[tuple[str, int, int, float, float, float, float, float, float]] = []
    remarks = [f"{exposure:.0%} of the users take part"] if exposure < 1 else []
    for metric in metrics:
        for days, moments in windows:
            own = moments[str(metric)]
            if not days:  # sums over days may be above 1
                metric.check(own)
            n, mean, sd, removed = metric.spread(own, covariates[metric])
            needed = math.nan
            if effect is not None and mean and sd:
                needed = float(users_needed(effect * abs(mean), sd, design))
            sizes = counts if counts and not days else [round(n * exposure)]
            if not days and not counts:
                sizes = [round(n * exposure * multiple) for multiple in MULTIPLES]
            for size in sizes:
                least = detectable(sd, size, design)
                relative = least / abs(mean) if mean else math.nan
                rows.append((str(metric), days, size, mean, sd, removed, least, relative, needed))
            if own.missing[0] and days == windows[-1][0]:
                remarks.append(f"{metric}: {counted(int(own.missing[0]), 'user')} without a finite value left out")
        if covariates[metric]:
            remarks.append(f"{metric}: covariates remove {removed:.1%} of the variance")
        if not sd:
            remarks.append(f"caution: {metric} has the same value for all users")
    names, *numbers = zip(*rows, strict=True)
    days_, users, means, sds, shares, least_, relative_, needed_ = map(np.array, numbers)
    return ABPower(
        names, days_, users, means, sds, shares, least_, relative_, needed_, design, effect, tuple(remarks)
    )  # fmt: skip
