"""Impressions with clicks as a lazy frame of an engine, from a log or from a table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cranfield import check
from cranfield.errors import DataError, UsageError
from cranfield.online.engines import Engine, open_engine
from cranfield.online.engines.engine import without_skip
from cranfield.online.logs.log import Log
from cranfield.online.logs.log_tables import find_log
from cranfield.online.logs.read_log import read_log
from cranfield.text import listed

COLUMNS = {
    "session": ("session", "query_id", "session_id", "impression_id", "page"),
    "query": ("query", "text", "user_query", "topic"),
    "position": ("position", "rank"),
    "doc": ("doc", "doc_id", "docid", "docno", "object_id", "url"),
    "clicked": ("clicked", "clicks", "click"),
    "time": ("time", "timestamp"),
}
"""The columns of a table of impressions, and the names by which they are found. `time` may be missing."""
OPTIONAL = ("time",)
TEXTS = ("session", "query", "doc")
NUMBERS = {"position": "position", "clicked": "clicks"}
"""Columns of whole numbers, and what they are called afterwards."""
SPLITS = ("session", "time")


@dataclass(frozen=True, eq=False)
class ClickRows:
    """A row per impression: session (one page of results), query, position, doc, clicks, and time if it is known."""

    engine: Engine
    frame: Any
    origin: str
    timed: bool
    notes: tuple[str, ...] = ()
    clicks: int | None = None
    """The number of clicks of a log, including those on documents that were not shown; None for a table."""

    def split(self, share: float, seed: int = 0, by: str = "session") -> tuple[ClickRows, ClickRows]:
        """The sessions to fit on, and a share of sessions that is held out.

        by: `session`, at random by a salted hash of the session, or `time`: the latest sessions are held out.
        """
        import narwhals as nw

        if not 0 < share < 1:
            raise check.wrong("", "share", share, "between 0 and 1, without the ends")
        check.one_of("", SPLITS, by=by)
        if by == "session":
            from cranfield.online.digest import BUCKETS

            frame = self.engine.add_bucket(self.frame, "split", "session", f"clicks-{seed}")
            held = nw.col("split") < int(share * BUCKETS)
        else:
            if not self.timed:
                raise UsageError(f"{self.origin} has no column with the time, so it cannot be split by time")
            first = self.frame.group_by("session").agg(nw.col("time").min().alias("split"))
            border = self.engine.quantiles(first, "split", [1 - share]).column("q0")[0].as_py()
            frame, held = self.frame.join(first, on="session"), nw.col("split") > border
        parts = (frame.filter(~held).drop("split"), frame.filter(held).drop("split"))
        fitted, rest = (replace(self, frame=part, clicks=None) for part in parts)
        return fitted, rest


def click_rows(
    source: Any,
    *,
    engine: Any = None,
    columns: Any = None,
    events: Any = None,
    zone: str | None = None,
    first_position: int | None = None,
    depth: int | None = None,
) -> ClickRows:
    """Impressions with clicks, from a log or from a table with a row per impression.

    source: a `Log`; a file, directory, table of a database or frame with a row per impression and the columns session
        (one page of results), query, position, doc and clicked (0 or 1, or a number of clicks); or anything that
        `read_log` reads, if there is no column `clicked`.
    engine: what `open_engine` takes.
    columns: other names of columns: {"session": "qid"}, or as text, "session=qid,doc=url"; for a log, its column map.
    events: the clicks, if they are in another table than the impressions.
    zone: the time zone of times without one.
    first_position: the position of the first document, 0 or 1; default: 1.
    depth: only the first ranks.
    """
    check.whole("click_rows", depth=depth)
    if isinstance(source, ClickRows):
        rows = source
    elif isinstance(source, Log):
        rows = _of_log(source)
    else:
        rows = _read(source, open_engine(engine), columns, events, zone, first_position)
    if depth is None:
        return rows
    import narwhals as nw

    return replace(rows, frame=rows.frame.filter(nw.col("position") <= depth), clicks=None)


def _read(
    source: Any, engine: Engine, columns: Any, events: Any, zone: str | None, first_position: int | None
) -> ClickRows:
    """Read a table of impressions if it has a column of clicks, otherwise a log."""
    table, clicks, _ = find_log(source, events)
    if clicks is None and not isinstance(table, list):
        given = _named(columns)
        known = engine.read(table).collect_schema().names()
        names = {name for column in TEXTS for name in (given.get(column), *COLUMNS[column])}
        frame = engine.read(table, text=[name for name in known if name in names])
        if "clicked" in given or any(name in known for name in COLUMNS["clicked"]):
            origin = str(table) if isinstance(table, str) else "the table"
            if first_position not in (None, 0, 1):
                raise check.wrong("click_rows", "first_position", first_position, "0 or 1")
            rows = _of_table(frame, engine, origin, known, given)
            return rows if first_position != 0 else _counted_from_1(rows)
    # Users stay as they are, because only queries, documents and clicks are counted.
    with without_skip():
        log = read_log(
            source, events=events, columns=columns, engine=engine, zone=zone, first_position=first_position,
            hashed=False,
        )  # fmt: skip
    return _of_log(log)


def _counted_from_1(rows: ClickRows) -> ClickRows:
    """Rows whose positions were counted from 0."""
    import narwhals as nw

    return replace(rows, frame=rows.frame.with_columns(nw.col("position") + 1))


def _named(columns: Any) -> dict[str, str]:
    """Names of columns from a mapping or from text; empty for a file, which is the column map of a log."""
    if columns is None or isinstance(columns, os.PathLike) or (isinstance(columns, str) and "=" not in columns):
        return {}
    if isinstance(columns, str):
        pairs = (entry.partition("=") for entry in columns.split(",") if entry.strip())
        return {column.strip(): name.strip() for column, _, name in pairs}
    return dict(columns)


def _of_table(frame: Any, engine: Engine, origin: str, known: list[str], given: Mapping[str, str]) -> ClickRows:
    import narwhals as nw

    if unknown := [name for name in given if name not in COLUMNS]:
        raise check.nearest(unknown[0], tuple(COLUMNS), "column of impressions")
    names, guessed = {}, []
    for column, usual in COLUMNS.items():
        name = given.get(column) or next((name for name in usual if name in known), None)
        if name is None and column in OPTIONAL:
            continue
        if name is None or name not in known:
            wanted = f"no column {name!r}" if name else f"no column {column!r}"
            raise DataError(
                origin, None,
                f"{wanted}; the columns are {listed(known, most=10)}; name it: columns={{{column!r}: 'its name'}}",
            )  # fmt: skip
        if column not in given and name != column:
            guessed.append(f"{column} is {name!r}")
        names[column] = name
    schema = frame.collect_schema()
    for column in NUMBERS:
        text = nw.col(names[column])
        if (
            schema[names[column]] == nw.String
            and (
                wrong := engine.fetch(frame.filter(text.str.contains("[^-+0-9.eE ]")).select(text.min())).to_pylist()[0]
            )[names[column]]
        ):
            raise DataError(origin, None, f"column {names[column]!r} holds {wrong[names[column]]!r:.60}, not a number")
    picked = [nw.col(names[column]).cast(nw.String).alias(column) for column in TEXTS]
    picked += [nw.col(names[column]).cast(nw.Int64).alias(alias) for column, alias in NUMBERS.items()]
    picked += [nw.col(names["time"]).alias("time")] if "time" in names else []
    notes = (f"columns by their names: {', '.join(guessed)}",) if guessed else ()
    return ClickRows(engine, frame.select(*picked), origin, "time" in names, notes)


def _of_log(log: Log) -> ClickRows:
    """Documents shown with their query, and the number of clicks on each, by document or else by position."""
    import narwhals as nw

    asked = log.queries.select("query_id", nw.col("text").alias("query"), "time")
    shown = log.shown.select("query_id", "position", "doc").join(asked, on="query_id")
    clicks = log.events.filter((nw.col("action") == "click") & ~nw.col("query_id").is_null())
    by_doc = clicks.filter(~nw.col("doc").is_null()).group_by("query_id", "doc").agg(nw.len().alias("of_doc"))
    by_rank = clicks.filter(nw.col("doc").is_null() & ~nw.col("position").is_null())
    by_rank = by_rank.group_by("query_id", "position").agg(nw.len().alias("of_rank"))
    joined = shown.join(by_doc, on=["query_id", "doc"], how="left").join(
        by_rank, on=["query_id", "position"], how="left"
    )
    number = (nw.col("of_doc").fill_null(0) + nw.col("of_rank").fill_null(0)).cast(nw.Int64)
    frame = joined.select(
        nw.col("query_id").alias("session"), "query", "position", "doc", number.alias("clicks"), "time"
    )
    total = log.engine.fetch(clicks.select(nw.len().alias("clicks"))).column("clicks")[0].as_py()
    return ClickRows(log.engine, frame, log.origin or "the log", True, tuple(log.notes), total)
