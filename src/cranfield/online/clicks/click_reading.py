"""The counts that an engine makes of impressions with clicks: by document and rank, or of whole pages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import DataError, UsageError
from cranfield.online.clicks.click_pages import Cells, Pages, PairNames, paired, repeated_clicks
from cranfield.online.clicks.click_rows import ClickRows
from cranfield.text import counted
from cranfield.types import Index64

MOST_RANKS = 1000
"""The most ranks of a page."""


def read_cells(rows: ClickRows) -> Cells:
    """How often each document was shown and clicked at each rank for each query: one GROUP BY."""
    import narwhals as nw

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
    import narwhals as nw

    ends = rows.engine.fetch(
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
    ).to_pylist()[0]
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
