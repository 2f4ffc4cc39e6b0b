"""`analyse`: compare the arms of an experiment, from a table with a row per user or several rows per user."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.check import nearest
from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.declared.operation import RESAMPLES, Alpha, about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.engines.engine import Engine
from cranfield.online.engines.table_source import REMOTE_MARK, find_table
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
from cranfield.online.moments import FAR, Moments, moments_from_sums, moments_of_sets, shift_distance
from cranfield.text import counted, listed
from cranfield.types import Array

Whole = NDArray[np.int32]
FLOATS = ("double", "float")
MOST_ARMS = 100
"""With more arms, rows are not sorted by arm here; an engine does it."""


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """Local Parquet files of the same columns."""

    files: tuple[str, ...]

    @cached_property
    def schemas(self) -> list[Any]:
        """The columns of each file."""
        from pyarrow.parquet import read_schema

        return [read_schema(path, memory_map=True) for path in self.files]

    @cached_property
    def types(self) -> dict[str, Any]:
        """The type of each column."""
        return dict(zip(self.schemas[0].names, self.schemas[0].types, strict=True))

    def moments(self, arm: str, sets: Mapping[str, Sequence[str]]) -> dict[str, Moments] | None:
        """The moments of each set of columns by arm, as `moments_of_sets` gives them, in one pass over the files.

        None if a value, an arm or a column of numbers is missing, or if digits would be lost: that is for an engine.
        """
        from pyarrow.parquet import ParquetFile

        columns = list(dict.fromkeys(name for names in sets.values() for name in names))
        if not columns or not self._plain(arm, columns):
            return None
        place = {name: i for i, name in enumerate(columns)}
        wanted = {(place[a], place[b]) for names in sets.values() for i, a in enumerate(names) for b in names[i:]}
        pairs = np.array(sorted({(min(pair), max(pair)) for pair in wanted}), dtype=np.int32)
        totals: dict[str, tuple[int, Array, Array]] = {}
        shift: Array | None = None
        largest = dict.fromkeys(columns, 0.0)
        for path in self.files:
            file = ParquetFile(path, memory_map=True, read_dictionary=[arm])
            _note_largest(file.metadata, largest)
            for g in range(file.num_row_groups):
                table = file.read_row_group(g, columns=[arm, *columns])
                part = _part(table, arm, columns, pairs, shift)
                if part is None:
                    return None
                shift, sums = part
                for name, (n, first, products) in sums.items():
                    n0, first0, products0 = totals.get(name, (0, np.zeros(len(columns)), np.zeros(len(pairs))))
                    totals[name] = n0 + n, first0 + first, products0 + products
        if shift is None or len(totals) > MOST_ARMS:
            return None
        return _of_sets(totals, sets, place, pairs, shift, np.array([largest[name] for name in columns]))

    def _plain(self, arm: str, columns: Sequence[str]) -> bool:
        import pyarrow.types as kinds

        if any(self.types.get(name) is None for name in (arm, *columns)):
            return False
        if any(schema != self.schemas[0] for schema in self.schemas[1:]):
            return False
        text = kinds.is_string(self.types[arm]) or kinds.is_large_string(self.types[arm])
        return text and all(kinds.is_integer(self.types[name]) or str(self.types[name]) in FLOATS for name in columns)


def parquet_table(source: Any) -> ParquetTable | None:
    """The local Parquet files of a source; None if it is something else."""
    if not isinstance(source, str | os.PathLike):
        return None
    table = find_table(source)
    if table.format != "parquet" or any(REMOTE_MARK in path for path in table.files):
        return None
    return ParquetTable(tuple(table.files))


def _note_largest(metadata: Any, largest: dict[str, float]) -> None:
    """Raise the largest absolute values of columns to those that a file says it has; ∞ if it does not say."""
    for g in range(metadata.num_row_groups):
        group = metadata.row_group(g)
        for c in range(group.num_columns):
            column = group.column(c)
            if column.path_in_schema in largest:
                stats = column.statistics
                known = stats is not None and stats.has_min_max
                most = max(abs(float(stats.min)), abs(float(stats.max))) if known else np.inf
                largest[column.path_in_schema] = max(largest[column.path_in_schema], most)


def _part(
    table: Any, arm: str, columns: Sequence[str], pairs: Whole, shift: Array | None
) -> tuple[Array, dict[str, tuple[int, Array, Array]]] | None:
    """The shifts, and the rows, sums and sums of products of each arm, of a part of a table."""
    if not table.num_rows or any(column.null_count for column in table.columns):
        return None
    arms = table[arm].unify_dictionaries().combine_chunks()
    arms = arms.chunk(0) if hasattr(arms, "chunk") else arms
    if len(arms.dictionary) > MOST_ARMS:
        return None
    codes = np.ascontiguousarray(arms.indices.to_numpy(), dtype=np.int32)
    numbers: list[Any] = []
    for name in columns:
        values = table[name].to_numpy()
        exact = np.int64 if values.dtype.kind in "iu" and values.dtype != np.uint64 else np.float64
        numbers.append(np.ascontiguousarray(values, dtype=exact))
    if shift is None:  # the first rows are near enough to the mean to keep its digits
        shift = np.array([float(values[:1000].mean()) for values in numbers])
    groups, threads = len(arms.dictionary), os.cpu_count() or 1
    first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    sums, products = _core.group_sums(codes, groups, numbers, shift, first, second, threads)
    if not (np.isfinite(sums).all() and np.isfinite(products).all()):
        return None
    rows = np.bincount(codes, minlength=groups)
    sums, products = sums.reshape(groups, -1), products.reshape(groups, -1)
    names = arms.dictionary.to_pylist()
    return shift, {name: (int(rows[g]), sums[g], products[g]) for g, name in enumerate(names)}


def _of_sets(
    totals: Mapping[str, tuple[int, Array, Array]], sets: Mapping[str, Sequence[str]], place: Mapping[str, int],
    pairs: Whole, shift: Array, largest: Array,
) -> dict[str, Moments] | None:  # fmt: skip
    arms = sorted(totals)
    rows = np.array([totals[arm][0] for arm in arms], dtype=np.int64)
    first = np.array([totals[arm][1] for arm in arms])
    products = np.array([totals[arm][2] for arm in arms])
    square = np.zeros((len(arms), len(place), len(place)))
    square[:, pairs[:, 0], pairs[:, 1]] = square[:, pairs[:, 1], pairs[:, 0]] = products
    groups = tuple((arm,) for arm in arms)
    result = {}
    for label, names in sets.items():
        at = [place[name] for name in names]
        own = moments_from_sums(
            tuple(names), (ARM,), groups, rows, rows, first[:, at], square[:, at][:, :, at], shift[at],
            np.tile(largest[at], (len(arms), 1)),
        )  # fmt: skip
        if (shift_distance(own, dict(zip(names, shift[at].tolist(), strict=True))) > FAR).any():
            return None
        result[label] = own
    return result


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
    method: Annotated[
        str, about("{names}: formulas, or resampling.", choices=METHODS, spelled="--method METHOD", rare=True)
    ] = "analytic",
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
