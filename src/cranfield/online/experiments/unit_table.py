"""From the rows of a table to one row per user: faults of the table, sums, users in two arms, outliers capped."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from cranfield.check import nearest
from cranfield.collection.column_names import column_key
from cranfield.collection.source import HEAD
from cranfield.declared.operation import about
from cranfield.errors import CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.notes import caution_note
from cranfield.online.engines.engine import Engine, open_engine, without_skip
from cranfield.online.engines.table_source import DATABASE_MARK, lines_of_rows
from cranfield.online.expressions import nw
from cranfield.online.logs.column_map import QUERY_NAMES
from cranfield.online.moments import Moments, fetched
from cranfield.text import counted, listed

NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"
"""What a number looks like in a column of text."""


class NotNumbers(UsageError):
    """A column that should hold numbers holds something else."""

    def __init__(self, message: str, column: str, wrong: int, values: int) -> None:
        super().__init__(message)
        self.column, self.wrong, self.values = column, wrong, values


@contextmanager
def placed_errors(engine: Engine, source: Any) -> Iterator[None]:
    """Name the file and the line of a row that cannot be read, or of a value that is not a number."""
    try:
        origin = os.fspath(source) if isinstance(source, str | os.PathLike) else "the table"
        with without_skip(), engine.translated(origin):
            yield
    except NotNumbers as error:
        raise _placed(engine, source, error) or error from None


ARM_NAMES = frozenset(
    {
        "arm",
        "variant",
        "variation",
        "group",
        "treatment",
        "bucket",
        "experiment_group",
        "test_group",
        "condition",
        "cell",
    }
)
"""What columns of arms are called, for messages."""


def _placed(engine: Engine, source: Any, error: NotNumbers) -> DataError | None:
    """The error with the place of the first wrong value; None if the table is not in files."""
    if not isinstance(source, str | os.PathLike) or DATABASE_MARK in os.fspath(source):
        return None
    value = nw.col(error.column).cast(nw.String).str.strip_chars('" ')  # text of JSON-lines has its quotes
    rows = engine.read_rows(source, numbered=True)
    wrong = rows.filter(~value.is_null() & ~value.is_in(["", "null"]) & ~value.str.contains(NUMBER))
    first = fetched(wrong.select("_file", "_row", value.alias("value")).sort("_file", "_row").head(1)).to_pylist()
    if not first:
        return DataError(os.fspath(source), None, str(error))
    path, row = first[0]["_file"], first[0]["_row"]
    line = None if row is None else lines_of_rows(path, [row])[row]
    many = f" ({error.wrong:,} such values of {error.values:,})" if error.wrong > 1 else ""
    what = f"{first[0]['value']!r} in column {error.column!r} is not a number{many}"
    comma = re.fullmatch(r"([-+]?\d*),(\d+)", first[0]["value"])
    way = f"numbers need a decimal point: {comma[1]}.{comma[2]}" if comma else "correct it, or leave it empty"
    return DataError(path, line, f"{what}; {way}")


def user_column(names: Sequence[str]) -> str | None:
    """The column that seems to hold users, by its name."""
    by_key = {column_key(name): name for name in reversed(names)}
    return next((by_key[name] for name in QUERY_NAMES["user"] if name in by_key), None)


def user_notes(frame: Any) -> list[str]:
    """A note if rows are taken as users, although a column seems to hold users and some of them have several rows."""
    column = user_column(frame.collect_schema().names())
    if column is None:
        return []
    present = frame.filter(~nw.col(column).is_null()).select(
        nw.len().alias("rows"), nw.col(column).n_unique().alias("users")
    )
    counts = fetched(present).to_pylist()[0]
    if counts["rows"] == counts["users"]:
        return []
    return [
        caution_note(
            f"column {column!r} names {counted(counts['users'], 'user')} in {counts['rows']:,} rows, but each "
            "row counts as"
            " a user of its own here, so that intervals are too narrow; to add up the rows of a user, name "
            f"{column!r} as "
            "the unit"
        )
    ]


UnitColumn = Annotated[
    str | None,
    about(
        "The column of user ids; rows of a user are added up. Default: each row is a user.",
        spelled="--unit COLUMN",
        solves="unit=",
    ),
]
ARM, UNIT, LOW, HIGH, ROWS = "_arm", "_unit", "_low", "_high", "_rows"
"""Names of columns that this module adds; a table must not have them."""


@dataclass(frozen=True)
class UnitTable:
    """A frame with one row per user: `_arm`, `_unit` if users have ids, metrics, covariates and segments.

    Without user ids, rows without an arm are still there; `arm_counts` counts them.
    """

    frame: Any
    notes: tuple[str, ...]
    """What was left out or changed."""


@contextmanager
def opened_table(engine: Any, source: Any, text: Iterable[str]) -> Iterator[tuple[Engine, Any]]:
    """The engine and the table of an experiment as `read_table` reads it; errors name the file and the line."""
    opened = open_engine(engine)
    try:
        with placed_errors(opened, source):
            yield opened, read_table(opened, source, text)
    finally:
        if opened is not engine:
            opened.close()


def read_table(engine: Engine, source: Any, text: Iterable[str]) -> Any:
    """The table of an experiment; these columns are text, if it has them: the user 0012 is not the number 12."""
    frame = engine.read(source)
    schema = frame.collect_schema()
    keys = dict.fromkeys(text)
    numbers = [name for name in keys if name in schema and schema[name].is_numeric()]
    frame = engine.read(source, text=numbers) if numbers else frame
    others = [name for name, kind in schema.items() if kind == nw.String and name not in keys]
    return _with_points(frame, others, os.fspath(source)) if others and _has_semicolons(source) else frame


COMMA = r"^\s*[-+]?([0-9]+,?[0-9]*|,[0-9]+)([eE][-+]?[0-9]+)?\s*$"
"""What a number looks like that may have a decimal comma."""


def _has_semicolons(source: Any) -> bool:
    """Whether a file has semicolons between cells, as spreadsheets write them where numbers have a decimal comma."""
    if not isinstance(source, str | os.PathLike) or not os.path.isfile(source):
        return False
    with open(source, "rb") as file:
        first = file.read(HEAD).partition(b"\n")[0]
    return b";" in first and b"," not in first and b"\t" not in first


def _with_points(frame: Any, names: Sequence[str], origin: str) -> Any:
    """The table with numbers in columns of numbers with decimal commas, and a warning that names them."""
    counts = [
        part
        for name in names
        for value in [nw.col(name)]
        for part in (
            (value.is_null() | value.str.contains(COMMA)).all().alias(f"all {name}"),
            value.str.contains(",", literal=True).any().alias(f"any {name}"),
        )
    ]
    facts = fetched(frame.select(*counts)).to_pylist()[0]
    commas = [name for name in names if facts[f"all {name}"] and facts[f"any {name}"]]
    if not commas:
        return frame
    warn_caller(f"{origin}: decimal commas in {listed(commas)}; 0,5 is read as 0.5", CranfieldWarning)
    return frame.with_columns(
        *(nw.col(name).str.replace_all(",", ".", literal=True).cast(nw.Float64).alias(name) for name in commas)
    )


def unit_table(
    engine: Engine,
    frame: Any,
    *,
    arm: str,
    unit: str | None = None,
    sums: Sequence[str] = (),
    means: Sequence[str] = (),
    segments: Sequence[str] = (),
    caps: Mapping[str, str | float] | None = None,
) -> UnitTable:
    """One row per user, and what had to be left out on the way.

    With `unit`, the column of user ids, the rows of a user become one: `sums` (metrics) are added up, of `means`
    (covariates) the mean is taken, and a user with rows in two arms is left out. Without it, each row is a user.
    Rows without an arm, or without a user, are left out. `caps`: {column: the highest value}, a number or a quantile
    over all users such as `p99`; higher values are set to it.
    """
    schema = frame.collect_schema()
    numeric = tuple(dict.fromkeys((*sums, *means)))
    if arm not in schema:
        usual = next((name for name in schema if column_key(name) in ARM_NAMES), None)
        example = f"{usual!r}" if usual else ""
        raise UsageError(f"{nearest(arm, list(schema), 'column')}; to name the column of the arm: arm={example}")
    check_columns(frame, [*([unit] if unit else []), *segments], numeric)
    notes = []
    picked = [_text(arm).alias(ARM), *(_text(name).alias(name) for name in segments)]
    if unit:
        picked.append(_text(unit).alias(UNIT))
    chosen = frame.select(*picked, *(_number(name, schema[name]) for name in numeric if name not in segments))
    if unit:
        chosen, facts = _one_row_each(engine, chosen, sums, means, segments)
        if facts["none"]:
            notes.append(f"{counted(facts['none'], 'row')} without an arm or without a user left out")
        if facts["two"]:
            share = facts["two"] / facts["users"]
            left_out = counted(facts["two"], "user")
            notes.append(caution_note(f"{left_out} in more than one arm left out ({share:.2%} of {facts['users']:,})"))
        if facts["several"]:
            added = "metrics are sums over their rows" + (", covariates means" if means else "")
            notes.append(f"{counted(facts['several'], 'user')} with several rows: {added}")
        if facts.get("mixed"):
            several = counted(facts["mixed"], "user")
            notes.append(f"{several} with several values of a segment: the first in the alphabet counts")
    if caps:
        chosen, capped = capped_columns(engine, chosen, caps)
        notes += capped
    return UnitTable(chosen, tuple(notes))


def arm_counts(frame: Any, moments: Iterable[Moments] = ()) -> tuple[dict[str, int], int]:
    """The number of users of each arm, in the order of names, and of rows without an arm.

    Moments by arm, if there are any, have counted them already.
    """
    counted_before = next(iter(moments), None)
    if counted_before is not None:
        counts = {group[0]: int(rows) for group, rows in zip(counted_before.groups, counted_before.rows, strict=True)}
    else:
        rows = fetched(frame.group_by(ARM).agg(nw.len().alias("users"))).to_pylist()
        counts = {row[ARM]: int(row["users"]) for row in rows}
    none = counts.pop(None, 0)
    if not counts:
        raise UsageError("the table has no row with an arm")
    return {str(arm): counts[arm] for arm in sorted(counts, key=str)}, none


def _one_row_each(
    engine: Engine, frame: Any, sums: Sequence[str], means: Sequence[str], segments: Sequence[str]
) -> tuple[Any, dict[str, Any]]:
    """The frame with one row per user, and counts of what was met."""
    empty = nw.col(ARM).is_null() | nw.col(UNIT).is_null()
    none = fetched(frame.select(empty.cast(nw.Int64).sum().alias("none"))).to_pylist()[0]["none"]
    grouped = added_up(
        frame.filter(~empty) if none else frame,
        [name for name in sums if name not in segments],
        [name for name in means if name not in segments],
        nw.col(ARM).min().alias(LOW),
        nw.col(ARM).max().alias(HIGH),
        *(nw.col(name).min().alias(name) for name in segments),
        *(nw.col(name).max().alias(f"{HIGH}{name}") for name in segments),
    )
    grouped = engine.keep(grouped)
    mixed = [(nw.col(name) != nw.col(f"{HIGH}{name}")) for name in segments]
    tests = {
        "users": nw.len(),
        "two": (nw.col(LOW) != nw.col(HIGH)).cast(nw.Int64).sum(),
        "several": (nw.col(ROWS) > 1).cast(nw.Int64).sum(),
    }
    if mixed:
        tests["mixed"] = nw.any_horizontal(*mixed, ignore_nulls=True).cast(nw.Int64).sum()
    facts = fetched(grouped.select(*(test.alias(name) for name, test in tests.items()))).to_pylist()[0]
    users = grouped.filter(nw.col(LOW) == nw.col(HIGH)).rename({LOW: ARM})
    return users.select(ARM, UNIT, *dict.fromkeys((*segments, *sums, *means))), {**facts, "none": none}


def added_up(frame: Any, sums: Iterable[str], means: Iterable[str], *more: Any) -> Any:
    """One row per user (`_unit`): sums and means of columns, the number of rows, and `more` aggregates.

    A sum without any value is missing, as a mean is.
    """
    totals = tuple(dict.fromkeys(sums))
    averages = tuple(name for name in dict.fromkeys(means) if name not in totals)
    grouped = frame.group_by(UNIT).agg(
        nw.len().alias(ROWS),
        *(nw.col(name).sum().alias(name) for name in totals),
        *(nw.col(name).count().alias(f"{ROWS}{name}") for name in totals),
        *(nw.col(name).mean().alias(name) for name in averages),
        *more,
    )
    present = (nw.when(nw.col(f"{ROWS}{name}") > 0).then(nw.col(name)).alias(name) for name in totals)
    return grouped.with_columns(*present).drop(*(f"{ROWS}{name}" for name in totals))


def with_units(frame: Any, unit: str, numbers: Iterable[str]) -> Any:
    """The rows that have a user, with the user's id as `_unit` and the columns as floats."""
    schema = frame.collect_schema()
    names = tuple(dict.fromkeys(numbers))
    check_columns(frame, [unit], names)
    named = frame.with_columns(_text(unit).alias(UNIT), *(_number(name, schema[name]) for name in names))
    return named.filter(~nw.col(UNIT).is_null())


def check_columns(frame: Any, keys: Iterable[str], numbers: Iterable[str]) -> None:
    """Raise an error unless all columns are there, and those of `numbers` hold numbers."""
    schema = frame.collect_schema()
    for name in (*keys, *numbers):
        if name not in schema:
            raise nearest(name, list(schema), "column")
    for name in numbers:
        if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
            raise _no_numbers(frame, name, schema[name])


def _no_numbers(frame: Any, name: str, kind: Any) -> UsageError:
    """The error for a column that should hold numbers, with one of the values that are not."""
    if kind != nw.String:
        return UsageError(f"column {name!r} holds {kind}, must hold numbers")
    values = frame.select(nw.col(name).alias("value"))
    if not fetched(values.head(1)).num_rows:
        return UsageError("the table has no rows")
    present = values.filter(~nw.col("value").is_null())
    others = present.filter(~nw.col("value").str.contains(NUMBER))
    counts = [int(fetched(part.select(n=nw.len()))["n"][0].as_py()) for part in (others, present)]
    if not counts[1]:
        return UsageError(f"column {name!r} is empty in every row, must hold numbers")
    if not counts[0]:
        return UsageError(f"column {name!r} holds text, must hold numbers; store it as numbers")
    example = fetched(others.select(nw.col("value").min())).to_pylist()[0]["value"]
    verb = "is" if counts[0] == 1 else "are"
    message = (
        f"column {name!r} must hold numbers, but {counts[0]:,} of {counted(counts[1], 'value')} {verb} not, such as "
        f"{example!r}; correct them, or leave them empty"
    )
    return NotNumbers(message, name, *counts)


def capped_columns(engine: Engine, frame: Any, caps: Mapping[str, str | float]) -> tuple[Any, tuple[str, ...]]:
    """The frame with higher values set to the cap of their column, and a note on each."""
    notes, limits = [], {}
    frame = frame.filter(~nw.col(ARM).is_null())
    names = frame.collect_schema().names()
    for name, cap in caps.items():
        if name not in names:
            raise nearest(name, [column for column in names if not column.startswith("_")], "column")
        limits[name] = cap_value(engine, frame, name, cap)
    above = fetched(
        frame.select(*((nw.col(name) > limit).cast(nw.Int64).sum().alias(name) for name, limit in limits.items()))
    ).to_pylist()[0]
    for name, limit in limits.items():
        rule = f" ({caps[name]} of all users)" if isinstance(caps[name], str) else ""
        notes.append(f"{name} capped at {limit:.6g}{rule}: {counted(above[name] or 0, 'user')} above it")
    changed = (
        nw.when(nw.col(name) > limit).then(nw.lit(limit)).otherwise(nw.col(name)).alias(name)
        for name, limit in limits.items()
    )
    return frame.with_columns(*changed), tuple(notes)


def cap_value(engine: Engine, frame: Any, name: str, cap: str | float) -> float:
    """The cap of a column: a number, or a quantile such as `p99`."""
    if isinstance(cap, str) and cap.startswith("p"):
        try:
            at = float(cap[1:]) / 100
        except ValueError:
            at = -1.0
        if not 0 < at < 1:
            raise UsageError(f"cap of {name} == {cap!r}, must be a number, or a quantile such as p99")
        value = engine.quantiles(frame, name, [at]).to_pylist()[0]["q0"]
        if value is None:
            raise UsageError(f"cap of {name} == {cap!r}, but the column has no values")
        return float(value)
    try:
        return float(cap)
    except ValueError:
        raise UsageError(f"cap of {name} == {cap!r}, must be a number, or a quantile such as p99") from None


def chosen_control(arms: Sequence[str], control: str | None) -> tuple[str, str]:
    """The control arm, and a note if it had to be chosen: `control` or `A`, else the first in alphabetical order."""
    if control is not None:
        if str(control) not in arms:
            raise nearest(str(control), list(arms), "arm")
        return str(control), ""
    usual = [arm for name in ("control", "a") for arm in arms if arm.casefold() == name]
    if usual:
        return usual[0], f"control: {usual[0]}"
    return arms[0], f"control: {arms[0]}, the first of the arms; name another if that is wrong"


def _text(name: str) -> Any:
    return nw.col(name).cast(nw.String)


def _number(name: str, dtype: Any) -> Any:
    """A column as floats; what is not finite is missing."""
    value = nw.col(name).cast(nw.Float64)
    return (nw.when(value.is_finite()).then(value) if dtype.is_float() or dtype.is_decimal() else value).alias(name)
