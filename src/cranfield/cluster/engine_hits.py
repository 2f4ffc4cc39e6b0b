"""The join of runs with judgments on an engine: what comes back is a row for each list, and one for each hit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cranfield import _core
from cranfield.assessed.join_options import JoinOptions
from cranfield.cluster.run_tables import LIST, RunTables, check_lists
from cranfield.collection.qrels import Qrels
from cranfield.errors import DataError, UsageError
from cranfield.online.engines import Engine

HIT_COLUMNS = ("run", "topic", "rank", "tie_first", "tie_last", "document")
IN_CORE = "run string, topic string, rank int, tie_first int, tie_last int, document int"
"""What the core hands back to Spark. A row of rank 0 is a list: `document` is its length."""


def lists_by_sql(engine: Engine, tables: RunTables) -> Any:
    """A pyarrow table with the length of each list; wrong rows are an error."""
    import narwhals as nw

    wrong = {"_no_doc": "CASE WHEN doc IS NULL THEN 1 ELSE 0 END"}
    wrong["_no_key"] = f"CASE WHEN {engine.quote('key')} IS NULL OR isnan({engine.quote('key')}) THEN 1 ELSE 0 END"
    rows = engine.select(tables.frame, wrong, add=True)
    lists = rows.group_by(*LIST).agg(
        nw.len().alias("documents"),
        nw.col("doc").n_unique().alias("different"),
        nw.col("key").n_unique().alias("keys"),
        nw.col("_no_doc").sum().alias("no_doc"),
        nw.col("_no_key").sum().alias("no_key"),
    )
    found = engine.fetch(lists)
    check_lists(found, tables)
    return found


def hits_by_sql(engine: Engine, tables: RunTables, judged: Any, options: JoinOptions) -> Any:
    """A pyarrow table of hits, by window functions and a join; `judged` is a table of topic, doc and document."""
    key, same_list = engine.quote("key"), "PARTITION BY run, topic"
    by_id = "doc ASC" if options.ties == "a-z" else "doc DESC"
    ranked = engine.select(
        tables.frame,
        {
            "rank": f"row_number() OVER ({same_list} ORDER BY {key} DESC, {by_id})",
            "tie_first": f"rank() OVER ({same_list} ORDER BY {key} DESC)",
            "level": f"count(*) OVER ({same_list}, {key})",
        },
        add=True,
    )
    hits = ranked.join(engine.read(judged), on=["topic", "doc"], how="inner")
    columns = {name: engine.quote(name) for name in HIT_COLUMNS}
    hits = engine.select(hits, {**columns, "tie_last": "tie_first + level - 1"})
    if options.depth is not None:
        import narwhals as nw

        hits = hits.filter(nw.col("rank") <= options.depth)
    return engine.fetch(hits)


def hits_by_core(engine: Engine, tables: RunTables, qrels: Qrels, options: JoinOptions) -> tuple[Any, Any]:
    """Lists and hits, by our core in the workers of Spark: each holds whole lists, and hands back their hits."""
    import narwhals as nw
    import pyarrow.compute as compute

    native = tables.frame.to_native().select(*LIST, "doc", "key").repartition(*LIST)
    work = partition_join(qrels, tables.order, options.precision, options.depth, options.ties)
    try:
        table = nw.from_native(native.mapInArrow(work, IN_CORE)).collect("pyarrow").to_arrow()
    except Exception as error:
        raise _of_worker(error, tables) from None
    is_list = compute.equal(table["rank"], 0)
    lists = table.filter(is_list).select(["run", "topic", "document"]).rename_columns(["run", "topic", "documents"])
    return lists, table.filter(compute.invert(is_list)).select(list(HIT_COLUMNS))


FAULT = "cranfield found: "
"""Before the message of a worker about wrong data."""


def _of_worker(error: Exception, tables: RunTables) -> Exception:
    text = str(error)
    if FAULT in text:
        return DataError(tables.origin, None, text.rpartition(FAULT)[2].splitlines()[0])
    if "No module named" in text or "ModuleNotFoundError" in text:
        module = text.rpartition("No module named")[2].split("\n")[0].strip(" '\"")
        return UsageError(
            f"the workers of Spark have no {module or 'cranfield'}: install cranfield and pyarrow on them, set "
            "PYSPARK_PYTHON to the path of a Python there that has them, or join by SQL: how='sql'"
        )
    return DataError(tables.origin, None, f"Spark: {text.strip().splitlines()[0][:300] if text.strip() else 'failed'}")


def partition_join(
    qrels: Qrels, order: str, precision: int, depth: int | None, ties: str = "z-a"
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that joins the lists of one partition, as Arrow batches."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        every = list(batches)
        if not every:
            return
        rows = pyarrow.Table.from_batches(every)
        for name in (*LIST, "doc", "key"):
            missing = rows[name].null_count
            if missing:
                what = {"key": order, "doc": "document"}.get(name, name)
                raise ValueError(f"{FAULT}{missing} rows have no {what} (null or NaN), expected a value")
        runs, topics, docs, keys = (rows[name].to_pylist() for name in (*LIST, "doc", "key"))
        try:
            table = _core.table_from_columns(runs, topics, docs, keys, None, None, "error", "score")
        except ValueError as error:
            raise ValueError(f"{FAULT}{error}") from None
        if order == "rank":
            for number in range(len(table.list_start) - 1):
                begin, end = int(table.list_start[number]), int(table.list_start[number + 1])
                if len(set(table.values[begin:end].tolist())) < end - begin:
                    where = f"run {table.names[table.list_name[number]]!r}"
                    where += f", topic {table.topics[table.list_topic[number]]!r}"
                    raise ValueError(
                        f"{FAULT}{where}: documents have the same rank, and the rows of a table have no order"
                    )
        yield from _batches(table, qrels, precision, depth, ties)

    return work


def _batches(table: _core.Table, qrels: Qrels, precision: int, depth: int | None, ties: str) -> Iterator[Any]:
    """The lists and the hits of one partition."""
    import numpy as np
    import pyarrow

    judged = qrels.judged()
    joined = _core.join_tables(judged, [table], "score", precision == 32, depth or 0, ties=ties)
    names, all_topics, zeros = table.names, table.topics, np.zeros(len(table.list_topic), dtype=np.int32)
    lengths = np.diff(table.list_start).astype(np.int32)
    rows = (
        [names[number] for number in table.list_name.tolist()],
        [all_topics[number] for number in table.list_topic.tolist()],
        zeros,
        zeros,
        zeros,
        lengths,
    )
    yield pyarrow.RecordBatch.from_arrays([pyarrow.array(column) for column in rows], list(HIT_COLUMNS))
    run, topic = np.divmod(joined["row"], len(judged.topics))
    if len(run):
        found, topics = joined["names"], judged.topics
        columns = (
            [found[number] for number in run.tolist()], [topics[number] for number in topic.tolist()],
            joined["rank"], joined["tie_first"], joined["tie_last"], joined["document"],
        )  # fmt: skip
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array(column) for column in columns], list(HIT_COLUMNS))
