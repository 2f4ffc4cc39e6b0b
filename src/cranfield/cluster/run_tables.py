"""Tables of runs on an engine: a row for each retrieved document, with columns of the same names for every table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from cranfield.collection.column_names import COLUMNS, checked_columns, find_columns
from cranfield.errors import DataError, UsageError
from cranfield.online.engines import Engine
from cranfield.text import listed

NESTED = ("list", "struct", "map")
LIST = ("run", "topic")
"""The columns that say which list a row belongs to."""


@dataclass(frozen=True)
class RunTables:
    """The rows of all runs, lazily: `run`, `topic`, `doc` and `key`, by which lists are ordered, largest first."""

    frame: Any
    order: str
    origin: str
    names: tuple[str, ...] | None
    """The names of the runs in the order given; None if they are in a column."""


def read_tables(
    engine: Engine, runs: Any, order: str | None, precision: int, columns: Mapping[str, str] | None
) -> RunTables:
    """One table with a column of runs, or {name: table of one run}."""
    named = checked_columns(columns) if columns else {}
    if not isinstance(runs, Mapping):
        frame, order = _normalised(engine, runs, None, order, precision, named)
        return RunTables(frame, order, _origin(runs), None)
    if not runs:
        raise UsageError("no runs given")
    frames = []
    for name, source in runs.items():
        frame, order = _normalised(engine, source, str(name), order, precision, named)
        frames.append(frame)
    import narwhals as nw

    every = reduce(lambda first, second: nw.concat([first, second]), frames)
    return RunTables(every, str(order), listed(map(_origin, runs.values()), 3), tuple(map(str, runs)))


def _origin(source: Any) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "the table of runs"


def _normalised(
    engine: Engine, source: Any, name: str | None, order: str | None, precision: int, named: Mapping[str, str]
) -> tuple[Any, str]:
    """A table with our names of columns, and the rule that orders its lists."""
    frame = engine.read(source)
    types = engine.column_types(frame)
    known = list(types)
    if unknown := set(named.values()) - set(known):
        raise UsageError(f"{_origin(source)}: no column {sorted(unknown)[0]!r}; there are {listed(known, 10)}")
    places = find_columns(known, COLUMNS)
    column = {role: named.get(role) or (known[places[role]] if role in places else None) for role in COLUMNS}
    order = order or ("score" if column["score"] else "rank")
    needed = ["topic", "doc", order, *([] if name is not None else ["name"])]
    for role in needed:
        if column[role] is None:
            what = {"name": "run, and only one table"}.get(role, role)
            raise DataError(
                _origin(source), None,
                f"no column for the {what}; the columns are {listed(known, 10)}; name it by columns=, for example "
                f"columns={{{role!r}: {known[0]!r}}}",
            )  # fmt: skip
    for role in needed:
        name_of = str(column[role])
        if engine.dialect.kind(types[name_of]) in NESTED:
            raise DataError(
                _origin(source), None, f"column {name_of!r} holds {types[name_of]}, expected text or numbers"
            )
    ids = [column[role] for role in ("topic", "doc", "name") if column[role] is not None]
    frame = engine.read(source, text=[text for text in ids if text is not None])  # 007 is not 7
    text = engine.dialect.string
    value = f"CAST({engine.quote(str(column[order]))} AS DOUBLE)"
    if order == "score" and precision == 32:
        value = f"CAST(CAST({value} AS FLOAT) AS DOUBLE)"
    run = f"CAST({engine.quote(str(column['name']))} AS {text})"
    if name is not None:
        run = "'" + name.replace("\\", "\\\\" if engine.name == "spark" else "\\").replace("'", _quote(engine)) + "'"
    rows = {
        "run": run,
        "topic": f"CAST({engine.quote(str(column['topic']))} AS {text})",
        "doc": f"CAST({engine.quote(str(column['doc']))} AS {text})",
        "key": f"{value} + 0.0" if order == "score" else f"-{value}",  # + 0.0: −0 and 0 are equal
    }
    return engine.select(frame, rows), order


def _quote(engine: Engine) -> str:
    return "\\'" if engine.name == "spark" else "''"


def check_lists(lists: Any, tables: RunTables) -> None:
    """Raise an error about the first list with a wrong row; `lists` is a pyarrow table with a row for each list."""
    import pyarrow.compute as compute

    wrong = compute.or_(compute.is_null(lists["run"]), compute.is_null(lists["topic"]))
    repeated = compute.less(lists["different"], lists["documents"])
    for also in (compute.greater(lists["no_doc"], 0), compute.greater(lists["no_key"], 0), repeated):
        wrong = compute.or_(wrong, also)
    if tables.order == "rank":
        wrong = compute.or_(wrong, compute.less(lists["keys"], lists["documents"]))
    for row in lists.filter(wrong).slice(0, 1).to_pylist():
        where = f"run {row['run']!r}, topic {row['topic']!r}"
        if row["run"] is None or row["topic"] is None or row["no_doc"]:
            what = "a run" if row["run"] is None else "a topic" if row["topic"] is None else "a document"
            raise DataError(tables.origin, None, f"{where}: a row has no {what[2:]}, expected text")
        if row["no_key"]:
            raise DataError(
                tables.origin, None,
                f"{where}: {row['no_key']} of {row['documents']} documents have no {tables.order} (null or NaN), "
                "expected a number",
            )  # fmt: skip
        if row["different"] < row["documents"]:
            again = row["documents"] - row["different"]
            raise DataError(
                tables.origin, None,
                f"{where}: {again} of {row['documents']} rows repeat a document, expected each document once",
            )  # fmt: skip
        if tables.order == "rank" and row["keys"] < row["documents"]:
            raise DataError(
                tables.origin, None, f"{where}: documents have the same rank, and the rows of a table have no order"
            )
