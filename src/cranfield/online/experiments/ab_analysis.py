"""`analyse`: compare the arms of an experiment, from a table with a row per user or several rows per user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from cranfield.check import nearest
from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.declared.operation import RESAMPLES, Alpha, about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.engines.engine import Engine
from cranfield.online.experiments.ab_record import Analysis, empty_arms, method_notes
from cranfield.online.experiments.arm_effects import (
    CUPED,
    METHODS,
    RELATIVE,
    SEQUENTIAL,
    ArmEffect,
    EffectRow,
    Settings,
    checked_settings,
)
from cranfield.online.experiments.arm_estimates import arm_estimates, skewed_side, suspects
from cranfield.online.experiments.effects_in_parts import (
    NoveltyEffects,
    SegmentEffects,
    novelty_effects,
    segment_effects,
)
from cranfield.online.experiments.experiment_metrics import (
    Arms,
    Metric,
    MomentMetric,
    in_order,
    needed_columns,
    parsed_covariates,
    parsed_metrics,
    places,
)
from cranfield.online.experiments.parquet_moments import ParquetTable, parquet_table
from cranfield.online.experiments.ratio_mismatch import sample_ratio
from cranfield.online.experiments.repeated_looks import TUNED_FOR
from cranfield.online.experiments.unit_table import (
    ARM,
    UnitColumn,
    UnitTable,
    arm_counts,
    chosen_control,
    opened_table,
    unit_table,
    user_column,
    user_notes,
)
from cranfield.online.few_users import Influence, influences
from cranfield.online.moments import Moments, moments_of_sets
from cranfield.text import counted, listed


@operation
def analyse(
    source: Any,
    metrics: Iterable[str | Metric] | str,
    *,
    arm: Annotated[str, about("The column of the arm.", spelled="--arm COLUMN", solves="arm=")] = "arm",
    unit: UnitColumn = None,
    control: Annotated[
        str | None, about("The arm to compare with; default: control or A, else the first.", spelled="--control ARM")
    ] = None,
    covariates: Iterable[str] | dict[str, str | Sequence[str]] | None = None,
    shares: Mapping[str, float] | None = None,
    lower: Iterable[str] = (),
    caps: Mapping[str, str | float] | None = None,
    segments: Iterable[str] = (),
    day: str | None = None,
    alpha: Alpha = 0.05,
    correction: Annotated[
        str, about("Correction of the p-values: {names}.", names="comparison.corrections:CORRECTIONS", rare=True)
    ] = "holm",
    relative: Annotated[
        str,
        about(
            "Intervals of relative differences by {names}.", choices=RELATIVE, spelled="--relative METHOD", rare=True
        ),
    ] = "fieller",
    cuped: Annotated[
        str,
        about(
            "The weights of covariates: {names}; the last two are those of the programs of these names.",
            choices=CUPED,
            spelled="--cuped METHOD",
            rare=True,
        ),
    ] = "within",
    method: Annotated[str, about("{names}: formulas, or resampling.", choices=METHODS, rare=True)] = "analytic",
    resamples: Annotated[int, about("The number of resamples.", only="--method bootstrap", **RESAMPLES)] = 2_000,
    seed: Annotated[int, about("Seed of the random numbers.", only="--method bootstrap", least=0, below=2**64)] = 0,
    sequential: Annotated[str, about("{names}.", choices=SEQUENTIAL, spelled="--sequential DESIGN")] = "once",
    looks: int | Sequence[float] = 5,
    look: Annotated[int | None, about("The number of this look.", least=1, solves="look=", rare=True)] = None,
    tuned_for: Annotated[
        float,
        about(
            "Always-valid intervals are narrowest with this many users.",
            above=0,
            spelled="--tuned-for USERS",
            rare=True,
        ),
    ] = TUNED_FOR,
    ratio_alpha: Annotated[
        float,
        about("Significance level of the sample-ratio test.", above=0, below=1, spelled="--ratio-alpha A", rare=True),
    ] = 0.001,
    engine: Any = "duckdb",
) -> Analysis:
    """Compare every arm with the control, in every metric.

    source: a table with a row per user, or with several and `unit`, the column of user ids: a CSV, JSON-lines or
        Parquet file, a pattern or directory of such files, a table of a database, or a frame.
    metrics: columns (their mean), `share(c)` of a column of 0 and 1, `a/b` (Σa / Σb), `median(c)` or `p95(c)`. The
        first one is the one that decides.
    control: the arm that others are compared with; by default `control` or `A`, else the first one.
    covariates: values from before the experiment that reduce the variance (CUPED): `METRIC=COVARIATE`, or a column for
        all metrics. A covariate may be a ratio.
    shares: {arm: the share of users it should have}; equal by default. A mismatch makes all results doubtful.
    lower: the metrics of which lower values are better.
    caps: {column: the highest value}, a number or `p99`; higher values are set to it.
    segments: columns; effects are also shown for each of their values, with a test whether they differ.
    day: the column of the day, if there is a row per user and day: effects by day since a user's first day.
    sequential: `once`; `always-valid`, for looking at any time, with intervals that are narrowest at `tuned_for` users;
        or a group-sequential design, with `looks` (their number, or fractions of the planned users) and the current
        `look`. Intervals are then repeated confidence intervals.
    relative: how relative differences and their intervals are computed: `relative_effect`.
    cuped: how the weights θ of covariates are found: `adjustment`.
    method: `analytic` (Welch, delta method), or `bootstrap` (Poisson bootstrap over buckets of users; needs `unit`).
    correction: for several metrics and arms; p adjusted decides.

    >>> import pyarrow
    >>> table = pyarrow.table({"arm": ["A", "A", "A", "B", "B", "B"], "revenue": [1, 2, 3, 4, 4, 7]})
    >>> result = analyse(table, ["revenue"])
    >>> effect = result.rows[0].effect
    >>> effect.difference, round(effect.p, 4)
    (3.0, 0.0754)
    """
    settings = checked_settings(alpha, relative, sequential, looks, look, tuned_for, lower, cuped)
    CORRECTIONS.find(correction)
    if method == "bootstrap":
        if sequential != "once":
            raise UsageError(f"analyse: the bootstrap is for one look, but sequential == {sequential!r}")
        if unit is None:
            raise UsageError("analyse: the bootstrap needs unit=, the column of user ids")
        if relative not in ("fieller", "delta"):
            raise UsageError(f"analyse: relative == {relative!r} is a formula; the bootstrap has its own intervals")
    segments = tuple(segments)
    metrics = metrics if isinstance(metrics, str) else list(metrics)
    covariates = covariates if covariates is None or isinstance(covariates, str | dict) else list(covariates)
    request: dict[str, Any] = {
        "arm": arm, "unit": unit, "control": control, "covariates": covariates, "shares": shares, "caps": caps,
        "segments": segments, "day": day, "correction": correction, "method": method, "resamples": resamples,
        "seed": seed, "ratio_alpha": ratio_alpha,
    }  # fmt: skip
    simple = unit is None and day is None and not segments and not caps
    if simple and engine == "duckdb" and (files := parquet_table(source)) is not None:
        # users with several rows are looked for on an engine
        result = None if user_column(list(files.types)) else _analysed(None, files, metrics, settings, **request)
        if result is not None:
            return result
    with opened_table(engine, source, [arm, *([unit] if unit else []), *segments]) as (opened, frame):
        result = _analysed(opened, frame, metrics, settings, **request)
    assert result is not None  # an engine copes with every table
    return result


def _analysed(
    engine: Any,
    frame: Any,
    metrics: Iterable[str | Metric] | str,
    settings: Settings,
    *,
    arm: str,
    unit: str | None,
    control: str | None,
    covariates: Iterable[str] | dict[str, str | Sequence[str]] | None,
    shares: Mapping[str, float] | None,
    caps: Mapping[str, str | float] | None,
    segments: tuple[str, ...],
    day: str | None,
    correction: str,
    method: str,
    resamples: int,
    seed: int,
    ratio_alpha: float,
) -> Analysis | None:
    """The analysis of a frame, or of Parquet files without an engine; None if these need one."""
    quick = frame if isinstance(frame, ParquetTable) else None
    names = list(quick.types) if quick else frame.collect_schema().names()
    parsed = parsed_metrics(metrics, names)
    for name in settings.lower:
        if name not in map(str, parsed):
            raise nearest(name, [str(metric) for metric in parsed], "metric")
    adjusting = parsed_covariates(covariates, parsed, names)
    countable = [metric for metric in parsed if isinstance(metric, MomentMetric)]
    sets = {str(metric): needed_columns(metric, adjusting[metric]) for metric in countable}
    if quick is not None:
        moments = quick.moments(arm, sets) if len(sets) == len(parsed) else None
        if moments is None:
            return None
        table = UnitTable(None, ())
    else:
        table = unit_table(
            engine, frame, arm=arm, unit=unit, segments=segments, caps=caps,
            sums=[name for metric in parsed for name in metric.columns],
            means=[name for own in adjusting.values() for covariate in own for name in covariate.columns],
        )  # fmt: skip
        moments = moments_of_sets(table.frame, sets, [ARM]) if sets else {}
    plain = {str(metric): arm_estimates(moments[str(metric)], metric, adjusting[metric]) for metric in countable}
    heavy = suspects(countable, adjusting, moments, plain)
    if heavy and quick is not None:
        return None  # an engine has to look at single users
    influence = influences(engine, table.frame, heavy, moments, [ARM])
    users, none = arm_counts(table.frame, moments.values())
    users = {name: users.get(name, 0) for name in sorted({*users, *(shares or {})}, key=str)}
    if len(users) < 2:
        raise UsageError(f"the only arm is {next(iter(users))!r}; a comparison needs two or more")
    first, chosen = chosen_control(list(users), control)
    order = [first, *(name for name in users if name != first)]
    ratio = sample_ratio({name: users[name] for name in order}, shares, alpha=ratio_alpha)
    notes = [
        *([] if unit or quick else user_notes(frame)),
        *([chosen] if chosen else []),
        *table.notes,
        *empty_arms(users),
    ]
    if none:
        notes.append(caution_note(f"{counted(none, 'row')} without an arm left out"))
    arms = Arms(engine, table.frame, users, order, adjusting, moments, influence)
    rows: list[EffectRow] = []
    for metric in parsed:
        of_metric, about = metric.compared(arms, settings)
        rows += of_metric
        notes += about
    if method == "bootstrap":
        from cranfield.online.experiments.user_buckets import with_bootstrap

        rows = with_bootstrap(
            engine, table.frame, rows, countable, adjusting, moments, order, alpha=settings.alpha, resamples=resamples,
            seed=seed,
        )  # fmt: skip
        quantiles = [str(metric) for metric in parsed if metric not in countable]
        if countable:
            notes.append(method_note(f"bootstrap: {resamples:,} Poisson resamples of buckets of users, seed {seed}"))
        if quantiles:
            notes.append(
                method_note(f"{listed(quantiles)}: not by the bootstrap, but by order statistics, as all quantiles")
            )
    adjusted = adjust([row.effect.p for row in rows], correction)
    rows = [replace(row, p_adjusted=float(p)) for row, p in zip(rows, adjusted, strict=True)]
    notes += method_notes(rows, settings, correction)
    by_segment = _segments(engine, table, countable, adjusting, order, segments, settings, correction)
    by_day = _days(engine, frame, arm, unit, day, countable, order, settings)
    return Analysis(
        first, tuple(order[1:]), tuple(map(str, parsed)), tuple(rows), ratio, settings.alpha, correction,
        settings.looks.design, settings.lower, tuple(notes), by_segment, by_day,
    )  # fmt: skip


def _segments(
    engine: Engine,
    table: UnitTable,
    metrics: Sequence[MomentMetric],
    covariates: Mapping[Metric, tuple[MomentMetric, ...]],
    order: Sequence[str],
    segments: Sequence[str],
    settings: Settings,
    correction: str,
) -> SegmentEffects | None:
    if not segments:
        return None
    if not metrics:
        raise UsageError("analyse: effects by segment are for means, shares and ratios, not for quantiles")

    def compare(metric: MomentMetric, moments: Moments, arm: str, influence: Influence | None) -> tuple[ArmEffect, str]:
        pair = [order[0], arm]
        estimates = arm_estimates(in_order(moments, pair), metric, covariates[metric], settings.cuped)
        side = ""
        if influence is not None:
            changes = influence.at(places(moments, pair))
            side = skewed_side(estimates, changes, 0, 1)
            if not settings.of_another_program:
                estimates = metric.careful(estimates, changes)
        return metric.effect(estimates, 0, 1, settings, adjusted=bool(covariates[metric])), side

    return segment_effects(
        engine, table.frame, {metric: covariates[metric] for metric in metrics}, order, segments, compare,
        settings.alpha, correction,
    )  # fmt: skip


def _days(
    engine: Engine,
    frame: Any,
    arm: str,
    unit: str | None,
    day: str | None,
    metrics: Sequence[MomentMetric],
    order: Sequence[str],
    settings: Settings,
) -> NoveltyEffects | None:
    if day is None:
        return None
    if unit is None:
        raise UsageError("analyse: effects by day need unit=, the column of user ids")
    if not metrics:
        raise UsageError("analyse: effects by day are for means, shares and ratios, not for quantiles")
    return novelty_effects(engine, frame, metrics, arm=arm, unit=unit, day=day, arms=order, alpha=settings.alpha)
