"""The two tables of a log as they are written, with the forms of their times: nothing is checked or left out yet."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cranfield.collection.column_names import column_key
from cranfield.errors import DataError
from cranfield.notes import method_note
from cranfield.online.engines.dialect import TIME_KINDS, Field, digest_sql
from cranfield.online.engines.engine import Engine
from cranfield.online.engines.table_source import find_table
from cranfield.online.expressions import nw
from cranfield.online.logs.column_map import EVENT_NAMES, QUERY_NAMES, UBI, ColumnMap
from cranfield.online.logs.log import PAGE_SIZE, USER_NUMBER
from cranfield.online.logs.log_tables import BulkFiles
from cranfield.text import counted, listed

SALT_VARIABLE = "CRANFIELD_SALT"
SAMPLE = 10_000
"""Rows that are looked at to see whether a part of a JSON column is ever there."""
TEXT_ROLES = ("query_id", "session", "text", "arm", "action", "doc", "application")
NUMBER_ROLES = ("propensity", "value", "dwell")
WHOLE_ROLES = ("position",)
TRUTH_ROLES = ("clicked",)
NUMBERING = ("_file", "_row")
TIME_CELL = "_time_cell"
"""The time as it is written, from which `time_kind` follows."""
TEXT_FORMATS = ("json", "csv")
COLUMN_FORMATS = ("parquet", "duckdb")
"""Formats of which single columns are quick to read again: a copy of a large log would cost more."""
LISTS = ("query_id", "user", "documents", "propensity")


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table with a column per role; a role that it lacks is null everywhere.

    Its further columns are `time_kind` (how the time is written), `cell` (a number that cannot be read, with its role),
    `_unreadable`, and, if it is numbered, `_file`, `_row` and `wall_time` (times without a zone as if they were UTC).
    """

    frame: Any
    paths: Mapping[str, str]
    """The column of each role that the table has."""
    origin: str
    columns: tuple[str, ...] = ()
    """All columns of the table."""
    lists: Any = None
    """The columns `LISTS` of queries with lists of documents. They may be most of a log, so those of typed tables are
    never copied."""
    guessed: tuple[str, ...] = ()
    """Roles whose columns were found by name, and are not called like the role."""
    ubi: bool = False


@dataclass(frozen=True, eq=False)
class RawLog:
    """Both tables of a log."""

    engine: Engine
    queries: RawTable
    events: RawTable | None
    segments: tuple[str, ...]
    columns: ColumnMap
    rejected: tuple[tuple[str, int, str], ...] = ()
    """Rows that were left out because they have more or fewer cells than the header, or are not UTF-8: path, row, what
    is wrong."""
    notes: tuple[str, ...] = field(default=())
    exports: BulkFiles = field(default_factory=BulkFiles)
    """The exports that the tables were copied from."""


@dataclass(frozen=True)
class RawOptions:
    """How the tables are read."""

    zone: str | None = None
    salt: str | None = None
    hashed: bool = True
    texts: bool = True
    numbered: bool = False
    skip: bool = False
    application: str | None = None
    """Only the rows of this application are read, if it is named."""


def read_raw(engine: Engine, queries: Any, events: Any, columns: ColumnMap, options: RawOptions) -> RawLog:
    """Read both tables; roles that the column map does not name are found by their usual names."""
    notes: list[str] = []
    salt = options.salt
    if options.hashed and salt is None:
        salt = os.environ.get(SALT_VARIABLE)
    if options.hashed and not salt:
        salt = secrets.token_hex(16)
        notes.append(
            method_note(f"users are hashed with a salt of this run; to compare runs, set salt= or {SALT_VARIABLE}")
        )
    frames = {"queries": engine.read_rows(queries, numbered=options.numbered, skip=options.skip)}
    if events is not None:
        frames["events"] = engine.read_rows(events, numbered=options.numbered, skip=options.skip)
    names = {"queries": dict(QUERY_NAMES), "events": dict(EVENT_NAMES)}
    if events is not None:
        _agree_on_user(engine, frames, names)
    tables = {}
    for table, frame in frames.items():
        source = queries if table == "queries" else events
        mapped = columns.queries if table == "queries" else columns.events
        extra = columns.segments if table == "queries" else {}
        format = _format(source)
        tables[table] = _read_table(engine, frame, _origin(source), names[table], mapped, extra, options, salt, format)
    for table, raw in tables.items():
        notes += _found_notes(table, raw)
    rejected = tuple(engine.rejected_rows())
    return RawLog(
        engine, tables["queries"], tables.get("events"), tuple(columns.segments), columns, rejected, tuple(notes)
    )


def _origin(source: Any) -> str:
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return listed(source) if isinstance(source, list | tuple) else "the frame"


def _format(source: Any) -> str:
    """The format of a table (see `TableSource`), or `frame`."""
    return find_table(source).format if isinstance(source, str | os.PathLike | Sequence) else "frame"


def _agree_on_user(engine: Engine, frames: Mapping[str, Any], names: dict[str, dict[str, tuple[str, ...]]]) -> None:
    """Prefer a column of users that both tables have: UBI has `client_id` in both, `user_id` only in events."""
    keys = [{column_key(name) for name in engine.column_types(frame)} for frame in frames.values()]
    common = [name for name in QUERY_NAMES["user"] if all(name in known for known in keys)]
    for table in names:
        names[table]["user"] = (*common, *(name for name in QUERY_NAMES["user"] if name not in common))


def _read_table(
    engine: Engine, frame: Any, origin: str, names: Mapping[str, Sequence[str]], mapped: Mapping[str, str],
    segments: Mapping[str, str], options: RawOptions, salt: str | None, format: str,
) -> RawTable:  # fmt: skip
    fields: dict[str, Field] = {}
    paths: dict[str, str] = {}
    guessed: list[str] = []
    types = engine.column_types(frame)
    ubi = any(name in types or any(known.startswith(f"{name}.") for known in types) for name in UBI)
    columns = tuple(name for name in types if not name.startswith("_"))
    for role, path in {**mapped, **{f"segment {name}": path for name, path in segments.items()}}.items():
        there = engine.field(frame, path)
        if there is None:
            raise DataError(origin, None, f"no column {path!r} for the {role}; there are {listed(columns, most=12)}")
        fields[role], paths[role] = there, path
    for role, candidates in names.items():
        if role in fields or (role == "doc" and "documents" in fields):
            continue
        path_and_field = _find(engine, frame, types, candidates)
        if path_and_field is not None:
            paths[role], fields[role] = path_and_field
            if paths[role] != role and not ubi:
                guessed.append(role)
    if options.application is not None:
        if "application" not in fields:
            name_it = "name it: columns={'application': 'COLUMN'}"
            raise DataError(origin, None, f"no column for the application among {listed(columns, most=12)}; {name_it}")
        frame = engine.select(frame, {"_application": engine.dialect.text(fields["application"])}, add=True)
        frame = frame.filter(nw.col("_application") == options.application)
    selection = _selection(engine, fields, names, segments, options, salt)
    lists = None
    if "documents" in fields and format not in TEXT_FORMATS and not options.numbered:
        lists = engine.select(frame, {name: selection[name] for name in LISTS})
        selection["documents"] = f"CAST(NULL AS {engine.dialect.array})"
    # Columns that are null everywhere take time and memory to keep, and none to add
    absent = {name: sql for name, sql in selection.items() if sql.startswith("CAST(NULL AS ")}
    scanned = engine.scans_again and format in COLUMN_FORMATS and not options.numbered
    if not scanned:
        selection.pop(USER_NUMBER, None)  # quick to compute, and another column to keep
    kept = engine.select(frame, {name: sql for name, sql in selection.items() if name not in absent})
    kept = _with_time_kind(engine, kept, fields.get("time"))
    if not scanned:
        kept = engine.keep(kept)
    kept = engine.select(kept, absent, add=True) if absent else kept
    if "documents" in fields and lists is None:
        lists = kept.filter(~nw.col("_unreadable")).select(*LISTS)
    return RawTable(kept, paths, origin, columns, lists, tuple(guessed), ubi)


def _with_time_kind(engine: Engine, rows: Any, time: Field | None) -> Any:
    """Rows with how their time is written, from the time that was read."""
    if time is None:
        return engine.select(rows, {"time_kind": "'missing'"}, add=True)
    kind = engine.dialect.time_kind(replace(time, sql=engine.quote(TIME_CELL)), engine.quote("time"))
    return engine.select(rows, {"time_kind": kind}, add=True).drop(TIME_CELL)


def _find(engine: Engine, frame: Any, types: Mapping[str, str], candidates: Sequence[str]) -> tuple[str, Field] | None:
    """The first candidate that the table has."""
    by_key = {column_key(name): name for name in reversed(list(types))}
    for path in candidates:
        name = by_key.get(path, path)
        there = engine.field(frame, name)
        if there is not None and (name in types or _ever(engine, frame, there)):
            return name, there
    return None


def _ever(engine: Engine, frame: Any, there: Field) -> bool:
    """Whether a part of a nested column is not null in some of the first rows."""
    values = engine.select(frame.head(SAMPLE), {"part": there.sql})
    return bool(engine.fetch(values.select(nw.col("part").count()))["part"][0].as_py())


def _selection(
    engine: Engine, fields: Mapping[str, Field], names: Mapping[str, Sequence[str]], segments: Mapping[str, str],
    options: RawOptions, salt: str | None,
) -> dict[str, str]:  # fmt: skip
    """The SQL of every column of a raw table."""
    sql = engine.dialect
    absent = dict.fromkeys(TEXT_ROLES, sql.string) | dict.fromkeys(NUMBER_ROLES, "DOUBLE")
    absent |= {"position": "BIGINT", "time": "BIGINT", "user": sql.string, "documents": sql.array, "clicked": "DOUBLE"}
    selected: dict[str, str] = {}
    for role in names:
        there = fields.get(role)
        if there is None or (role == "text" and not options.texts):
            selected[role] = f"CAST(NULL AS {absent[role]})"
        elif role == "user":
            user = sql.text(there)
            selected[role] = digest_sql(engine.name, user, salt or "") if options.hashed else user
            salted = f"('{(salt or '').encode('utf-8', 'surrogateescape').hex()}' || {user})"
            selected[USER_NUMBER] = sql.key(salted if options.hashed else user)
        elif role == "time":
            selected[role] = sql.micros(there, options.zone or "UTC")
        elif role == "documents":
            selected[role] = sql.items(there)
        elif role in WHOLE_ROLES:
            selected[role] = sql.whole(there)
        elif role in TRUTH_ROLES:
            selected[role] = sql.truth(there)
        else:
            selected[role] = sql.text(there) if role in TEXT_ROLES else sql.number(there)
    if "documents" in fields:
        selected[PAGE_SIZE] = sql.length(sql.items(fields["documents"]))
    selected |= {name: sql.text(fields[f"segment {name}"]) for name in segments}
    if "time" in fields:
        selected[TIME_CELL] = fields["time"].sql
    if options.numbered:
        selected["wall_time"] = sql.micros(fields["time"]) if "time" in fields else "CAST(NULL AS BIGINT)"
    selected["cell"] = _wrong_cell(engine, fields, selected, options.numbered)
    return selected | {name: name for name in ("_unreadable", *(NUMBERING if options.numbered else ()))}


def _wrong_cell(engine: Engine, fields: Mapping[str, Field], selected: Mapping[str, str], everything: bool) -> str:
    """The SQL of the first cell of a row that is not the number that it should be, with its role; else null.

    everything: also show times that cannot be read, and look for infinite values in columns of numbers.
    """
    sql = engine.dialect
    cases = []
    if everything and "time" in fields and fields["time"].kind not in ("whole", "number", "time", "zoned"):
        cases.append((f"{sql.time_kind(fields['time'], selected['time'])} = 'unreadable'", "time"))
    for role in (*WHOLE_ROLES, *NUMBER_ROLES, *TRUTH_ROLES):
        if role in fields and role in selected and (everything or fields[role].kind != "number"):
            cases.append((sql.wrong_number(fields[role], selected[role]), role))
    shown = [f"WHEN {wrong} THEN '{role} ' || {sql.text(fields[role])}" for wrong, role in cases if wrong != "FALSE"]
    return f"CASE {' '.join(shown)} END" if shown else f"CAST(NULL AS {sql.string})"


def _found_notes(table: str, raw: RawTable) -> list[str]:
    """What was found by name, in a sentence."""
    if raw.ubi:
        return (
            [method_note(f"{table}: read as User Behavior Insights, the user is {raw.paths['user']}")]
            if "user" in raw.paths
            else []
        )
    if not raw.guessed:
        return []
    pairs = ", ".join(f"{role} is {raw.paths[role]}" for role in raw.guessed)
    return [method_note(f"{table}: columns found by their names: {pairs}")]


FORMS = {**{unit: f"in {unit} since 1970" for unit in TIME_KINDS[:4]}, "zone": "as a date", "no zone": "as a date"}
"""How a time of each kind is written."""


def time_kinds(raw: RawLog, table: RawTable) -> dict[str, int]:
    """How many rows of a table have a time of each of `TIME_KINDS`."""
    rows = table.frame.filter(~nw.col("_unreadable")).group_by("time_kind").agg(nw.len().alias("rows"))
    return {row["time_kind"]: int(row["rows"]) for row in raw.engine.fetch(rows).to_pylist()}


def time_forms(kinds: Mapping[str, int]) -> list[tuple[int, str]]:
    """The rows of each form, most rows first.

    >>> time_forms({"milliseconds": 2, "zone": 5, "missing": 1})
    [(5, 'as a date'), (2, 'in milliseconds since 1970')]
    """
    counts = Counter[str]()
    for kind, form in FORMS.items():
        counts[form] += kinds.get(kind, 0)
    met = [(rows, form) for form, rows in counts.items() if rows]
    return sorted(met, key=lambda form: (-form[0], form[1]))


def forms_text(forms: Sequence[tuple[int, str]]) -> str:
    """Forms in words.

    >>> forms_text([(5, "as a date"), (1, "in seconds since 1970")])
    '5 times as a date, 1 time in seconds since 1970'
    """
    return listed([f"{counted(rows, 'time')} {form}" for rows, form in forms])
