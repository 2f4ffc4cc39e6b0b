"""Impressions with clicks as a lazy frame of an engine, and the counts of documents and pages that models need."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import DataError, UsageError
from cranfield.online.clicks.click_pages import SPLITS, Cells, Pages, PairNames, paired, repeated_clicks
from cranfield.online.engines import Engine, open_engine
from cranfield.online.engines.engine import without_skip
from cranfield.online.expressions import nw
from cranfield.online.logs.log import Log
from cranfield.online.logs.log_tables import find_log
from cranfield.online.logs.read_log import read_log
from cranfield.text import counted, listed
from cranfield.types import Index64

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
        if not 0 < share < 1:
            raise check.wrong("", "share", share, "between 0 and 1, without the ends")
        check.one_of("", SPLITS, by=by)
        if by == "session":
            from cranfield.online.engines.dialect import BUCKETS

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
    application: str | None = None,
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
    application: read only what this application wrote, of a log that several write into.
    depth: only the first ranks.
    """
    check.whole("click_rows", depth=depth)
    if isinstance(source, ClickRows):
        rows = source
    elif isinstance(source, Log):
        rows = _of_log(source)
    else:
        rows = _read(source, open_engine(engine), columns, events, zone, first_position, application)
    if depth is None:
        return rows
    return replace(rows, frame=rows.frame.filter(nw.col("position") <= depth), clicks=None)


def _read(
    source: Any, engine: Engine, columns: Any, events: Any, zone: str | None, first_position: int | None,
    application: str | None,
) -> ClickRows:  # fmt: skip
    """Read a table of impressions if it has a column of clicks, otherwise a log."""
    table, clicks, _ = find_log(source, events)
    if clicks is None and not isinstance(table, list):
        named = _named(columns)
        known = engine.read(table).collect_schema().names()
        names = {name for column in TEXTS for name in (named.get(column), *COLUMNS[column])}
        frame = engine.read(table, text=[name for name in known if name in names])
        if "clicked" in named or any(name in known for name in COLUMNS["clicked"]):
            origin = str(table) if isinstance(table, str) else "the table"
            if first_position not in (None, 0, 1):
                raise check.wrong("click_rows", "first_position", first_position, "0 or 1")
            if application is not None:
                raise UsageError(f"{origin}: application chooses rows of a log, and this is a table of impressions")
            rows = _of_table(frame, engine, origin, known, named)
            if first_position == 0:
                rows = replace(rows, frame=rows.frame.with_columns(nw.col("position") + 1))
            return rows
    # Users stay as they are, because only queries, documents and clicks are counted.
    with without_skip():
        log = read_log(
            source, events=events, columns=columns, engine=engine, zone=zone, first_position=first_position,
            application=application, hashed=False,
        )  # fmt: skip
    return _of_log(log)


def _named(columns: Any) -> dict[str, str]:
    """Names of columns from a mapping or from text; empty for a file, which is the column map of a log."""
    if columns is None or isinstance(columns, os.PathLike) or (isinstance(columns, str) and "=" not in columns):
        return {}
    if isinstance(columns, str):
        pairs = (entry.partition("=") for entry in columns.split(",") if entry.strip())
        return {column.strip(): name.strip() for column, _, name in pairs}
    return dict(columns)


def _of_table(frame: Any, engine: Engine, origin: str, known: list[str], named: Mapping[str, str]) -> ClickRows:
    if unknown := [name for name in named if name not in COLUMNS]:
        raise check.nearest(unknown[0], tuple(COLUMNS), "column of impressions")
    names, guessed = {}, []
    for column, usual in COLUMNS.items():
        name = named.get(column) or next((name for name in usual if name in known), None)
        if name is None and column in OPTIONAL:
            continue
        if name is None or name not in known:
            wanted = f"no column {name!r}" if name else f"no column {column!r}"
            raise DataError(
                origin, None,
                f"{wanted}; the columns are {listed(known, most=10)}; name it: columns={{{column!r}: 'its name'}}",
            )  # fmt: skip
        if column not in named and name != column:
            guessed.append(f"{column} is {name!r}")
        names[column] = name
    schema = frame.collect_schema()
    for column in NUMBERS:
        text = nw.col(names[column])
        if (
            schema[names[column]] == nw.String
            and (wrong := engine.row(frame.filter(text.str.contains("[^-+0-9.eE ]")).select(text.min())))[names[column]]
        ):
            raise DataError(origin, None, f"column {names[column]!r} holds {wrong[names[column]]!r:.60}, not a number")
    picked = [nw.col(names[column]).cast(nw.String).alias(column) for column in TEXTS]
    picked += [nw.col(names[column]).cast(nw.Int64).alias(alias) for column, alias in NUMBERS.items()]
    picked += [nw.col(names["time"]).alias("time")] if "time" in names else []
    notes = (f"columns by their names: {', '.join(guessed)}",) if guessed else ()
    return ClickRows(engine, frame.select(*picked), origin, "time" in names, notes)


def _of_log(log: Log) -> ClickRows:
    """Documents shown with their query, and the number of clicks on each, by document or else by position."""
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
    total = log.engine.count(clicks)
    return ClickRows(log.engine, frame, log.origin or "the log", True, tuple(log.notes), total)


MOST_RANKS = 1000
"""The most ranks of a page."""


def read_cells(rows: ClickRows) -> Cells:
    """How often each document was shown and clicked at each rank for each query: one GROUP BY."""
    counts = rows.frame.group_by("query", "doc", "position").agg(
        nw.len().alias("shown"),
        (nw.col("clicks") > 0).cast(nw.Int64).sum().alias("clicked"),
        nw.col("clicks").sum().alias("clicks"),
        nw.col("clicks").min().alias("least"),
        (nw.col("clicks") > 1).cast(nw.Int64).sum().alias("repeated"),
        nw.col("clicks").is_null().cast(nw.Int64).sum().alias("unknown"),
    )
    table = rows.engine.fetch(counts)
    position, shown, clicked, repeated, unknown = (
        _numbers(table.column(name)) for name in ("position", "shown", "clicked", "repeated", "unknown")
    )
    _check_clicks(rows, _numbers(table.column("least")), unknown)
    keep, notes = _complete(rows, table, position, shown)
    _check_positions(rows, position[keep])
    query, queries = _coded(table.column("query"))
    doc, words = _coded(table.column("doc"))
    names, pair = paired(tuple(queries.tolist()), query[keep], words, doc[keep], _hashed)
    notes += _click_notes(rows, int(_numbers(table.column("clicks")).sum()), int(repeated.sum()))
    order = np.lexsort((position[keep], pair))
    shown, clicked = (column[keep][order].astype(np.float64) for column in (shown, clicked))
    return Cells(names, pair[order], position[keep][order], shown, clicked, notes)


def read_pages(rows: ClickRows) -> Pages:
    """The distinct pages: a row per session with a column per rank, then one GROUP BY of equal rows."""
    ends = rows.engine.row(
        rows.frame.select(
            nw.col("position").min().alias("first"),
            nw.col("position").max().alias("last"),
            nw.col("clicks").min().alias("least"),
            nw.col("clicks").is_null().cast(nw.Int64).sum().alias("unknown"),
            nw.col("position").is_null().cast(nw.Int64).sum().alias("nowhere"),
            nw.col("session").is_null().cast(nw.Int64).sum().alias("nameless"),
            nw.col("doc").is_null().cast(nw.Int64).sum().alias("empty"),
            nw.col("query").is_null().cast(nw.Int64).sum().alias("unasked"),
        )
    )
    _check_clicks(rows, np.array([ends["least"] or 0]), np.array([ends["unknown"] or 0]))
    notes = rows.notes
    missing = {"position": "nowhere", "session": "nameless", "doc": "empty", "query": "unasked"}
    for column, name in missing.items():
        if ends[name]:
            notes += (f"{counted(ends[name], 'impression')} without a {column}, left out",)
    if ends["last"] is None:
        raise DataError(rows.origin, None, "has no impressions")
    _check_positions(rows, np.array([ends["first"], ends["last"]]))
    ranks = ends["last"]
    if ranks > MOST_RANKS:
        raise UsageError(
            f"{rows.origin}: positions go down to {ranks:,}; whole pages are read down to rank {MOST_RANKS:,}, so set "
            "the depth"
        )
    complete = rows.frame.filter(~nw.any_horizontal(*(nw.col(name).is_null() for name in missing), ignore_nulls=False))
    flag = nw.when(nw.col("clicks") > 0).then(nw.lit("1")).otherwise(nw.lit("0"))
    marked = complete.with_columns(flag.alias("flag")).with_columns(nw.concat_str("flag", "doc").alias("mark"))
    places = [f"r{rank}" for rank in range(1, ranks + 1)]
    of_session = marked.group_by("session", "query").agg(
        nw.len().alias("rows"),
        nw.col("clicks").sum().alias("clicks"),
        (nw.col("clicks") > 1).cast(nw.Int64).sum().alias("repeated"),
        *(
            nw.when(nw.col("position") == rank).then(nw.col("mark")).max().alias(place)
            for rank, place in enumerate(places, start=1)
        ),
    )
    sums = [nw.col(name).sum().alias(name) for name in ("rows", "clicks", "repeated")]
    table = rows.engine.fetch(of_session.group_by("query", *places).agg(nw.len().alias("sessions"), *sums))
    sessions = _numbers(table.column("sessions"))
    query, queries = _coded(table.column("query"))
    pair_names, pair, clicked = _decoded(table, places, tuple(queries.tolist()), query)
    shown = int(((pair >= 0).sum(axis=1) * sessions).sum())
    twice = int(_numbers(table.column("rows")).sum()) - shown
    if twice:
        notes += (f"{counted(twice, 'impression')} at a position that its session has twice, left out",)
    gaps = int(sessions[((pair[:, :-1] < 0) & (pair[:, 1:] >= 0)).any(axis=1)].sum())
    if gaps:
        notes += (
            f"{counted(gaps, 'session')} with positions missing in between, which count as ranks without a document",
        )
    totals = (int(_numbers(table.column(name)).sum()) for name in ("clicks", "repeated"))
    return Pages(pair_names, pair, clicked, sessions, notes + _click_notes(rows, *totals))


def _decoded(table: Any, places: list[str], queries: tuple[str, ...], query: Any) -> tuple[PairNames, Any, Any]:
    """The pairs of the pages, and their clicks: a place holds 0 or 1 for a click, and the document."""
    import pyarrow
    import pyarrow.compute

    chunks = [chunk for place in places for chunk in table.column(place).chunks]
    coded = pyarrow.chunked_array(chunks, pyarrow.string()).combine_chunks().dictionary_encode()
    marks = coded.dictionary
    code = _numbers(coded.indices.fill_null(-1)).reshape(len(places), -1).T
    docs = pyarrow.compute.utf8_slice_codeunits(marks, 1).dictionary_encode()
    number, words = _numbered(docs.indices, docs.dictionary)
    doc = np.append(number, -1)[code]
    flags = pyarrow.compute.starts_with(marks, "1")
    clicked = np.append(flags.to_numpy(zero_copy_only=False).astype(bool), False)[code]
    names, pair = paired(queries, query, words, doc, _hashed)
    return names, pair, clicked


def _numbers(column: Any) -> Any:
    """A column of whole numbers; null is 0."""
    array = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    return np.asarray(array.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)


def _coded(column: Any) -> tuple[Index64, NDArray[Any]]:
    """The number of each value, and the distinct values in their order, whatever the order of the rows; null is 0."""
    coded = column.combine_chunks().dictionary_encode()
    return _numbered(coded.indices, coded.dictionary)


def _numbered(indices: Any, dictionary: Any) -> tuple[Index64, NDArray[Any]]:
    """As `_coded`, from a dictionary in the order of the rows."""
    import pyarrow.compute

    order = np.asarray(pyarrow.compute.sort_indices(dictionary)).astype(np.int64)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    words = np.array(dictionary.take(pyarrow.array(order)).to_pylist(), dtype=object)
    numbers = _numbers(indices)
    return (place[numbers] if len(order) else numbers), words


def _hashed(keys: Index64) -> tuple[Index64, Index64]:
    """The distinct keys in their order, and the place of each key, by hashing: faster than sorting all keys."""
    import pyarrow

    coded = pyarrow.array(keys).dictionary_encode()
    distinct = np.asarray(coded.dictionary)
    order = np.argsort(distinct)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return distinct[order], place[np.asarray(coded.indices)]


def _complete(rows: ClickRows, table: Any, position: Any, shown: Any) -> tuple[Any, tuple[str, ...]]:
    """Which counts have a query, a document and a position; a note says how many impressions do not."""
    keep, notes = np.ones(len(position), dtype=bool), rows.notes
    for column in ("query", "doc", "position"):
        missing = np.asarray(table.column(column).is_null().to_numpy()).astype(bool)
        if missing.any():
            notes += (f"{counted(int(shown[missing].sum()), 'impression')} without a {column}, left out",)
            keep &= ~missing
    return keep, notes


def _check_positions(rows: ClickRows, position: Any) -> None:
    if len(position) and position.min() < 1:
        raise DataError(
            rows.origin,
            None,
            f"has the position {int(position.min())}; positions are counted from 1, unless first_position=0",
        )


def _check_clicks(rows: ClickRows, least: Any, unknown: Any) -> None:
    if len(least) and least.min() < 0:
        raise DataError(rows.origin, None, f"has {int(least.min())} clicks in a row, expected 0 or more")
    if unknown.sum():
        count = counted(int(unknown.sum()), "impression")
        raise DataError(rows.origin, None, f"has {count} without a number of clicks; write 0 where there was none")


def _click_notes(rows: ClickRows, clicks: int, repeated: int) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if repeated:
        notes += (repeated_clicks(repeated),)
    if rows.clicks is not None and rows.clicks > clicks:
        notes += (f"{counted(rows.clicks - clicks, 'click')} on documents that were not shown, left out",)
    return notes
