"""Score runs in tables of an engine: the join with the judgments happens there, only lists and hits come here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core, check
from cranfield.assessed.join import PreparedJudgments, prepare
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.joined_runs import lists_of
from cranfield.assessed.lists import Assessed
from cranfield.collection.column_names import COLUMNS, checked_columns, find_columns
from cranfield.collection.qrels import Qrels
from cranfield.errors import DataError, UsageError
from cranfield.evaluation.evaluator import MeasureLike, as_measures, basis_of, score
from cranfield.online.engines import Engine, open_engine
from cranfield.online.engines.engine import WAIT
from cranfield.online.expressions import nw
from cranfield.scores.scores import Scores
from cranfield.text import listed

HIT_COLUMNS = ("run", "topic", "rank", "tie_first", "tie_last", "document")
IN_CORE = "run string, topic string, rank int, tie_first int, tie_last int, document int"
"""What the core hands back to Spark. A row of rank 0 is a list: `document` is its length."""


def lists_by_sql(engine: Engine, tables: RunTables) -> Any:
    """A pyarrow table with the length of each list; wrong rows are an error."""
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
    table = engine.fetch(lists)
    check_lists(table, tables)
    return table


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
        hits = hits.filter(nw.col("rank") <= options.depth)
    return engine.fetch(hits)


def hits_by_core(engine: Engine, tables: RunTables, qrels: Qrels, options: JoinOptions) -> tuple[Any, Any]:
    """Lists and hits, by our core in the workers of Spark: each holds whole lists, and hands back their hits."""
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
        names, topics = joined["names"], judged.topics
        columns = (
            [names[number] for number in run.tolist()], [topics[number] for number in topic.tolist()],
            joined["rank"], joined["tie_first"], joined["tie_last"], joined["document"],
        )  # fmt: skip
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array(column) for column in columns], list(HIT_COLUMNS))


WAYS = ("core", "sql")


def evaluate_tables(
    qrels: Any,
    runs: Any,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    engine: Any = "duckdb",
    how: str | None = None,
    missing: str = "zero",
    order: str | None = None,
    ties: str = "z-a",
    precision: int = 64,
    depth: int | None = None,
    columns: Mapping[str, str] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    wait: float = WAIT,
) -> Scores:
    """Score runs that are tables of an engine. The scores are those of `evaluate`, bit by bit.

    qrels: anything that `evaluate` takes, or a table of the engine (`s3://…/qrels.parquet`, `::qrels`, a Spark frame).
    runs: a table with columns of run, topic, document and score (or rank): a Parquet, CSV or JSON-lines file, a pattern
        or a directory, a table that the engine knows (`::runs`), or a frame; or {name: table of one run}.
    engine: `duckdb`, `spark`, the URL of a Spark master, a Spark session, or a DuckDB connection.
    how: `core`: our core ranks and joins in the workers of Spark, which need cranfield; `sql`: window functions and a
        join of the engine. Default: `core` on Spark, and `sql` on DuckDB.
    order, ties: `score` or `rank`, and `z-a` or `a-z`; the rows of a table have no order of their own.
    columns: names of columns if they are unusual: {"topic": "search term", "run": "system"}.
    wait: the seconds to wait for a free worker of a Spark cluster.
    Runs in a column are sorted by name. Duplicate documents are an error. The others are as in `evaluate`.

    >>> import pyarrow
    >>> runs = pyarrow.table({"run": ["a", "a", "b"], "topic": ["q", "q", "q"], "doc": ["d1", "d2", "d1"],
    ...                       "score": [0.2, 0.9, 0.5]})
    >>> evaluate_tables({"q": {"d1": 1}}, runs, ["RR"]).mean()
    {'a': {'RR': 0.5}, 'b': {'RR': 1.0}}
    """
    check.one_of("", ("zero", "skip"), missing=missing)
    if how is not None:
        check.one_of("", WAYS, how=how)
    if order == "file":
        raise UsageError("order == 'file', but the rows of a table have no order; use 'score' or 'rank'")
    if ties == "file":
        raise UsageError("ties == 'file', but the rows of a table have no order; use 'z-a' or 'a-z'")
    chosen = as_measures(measures)
    needs = {name for measure in chosen for name in measure.looks_at()} & {"scores", "lengths", "dimensions"}
    if needs:
        raise UsageError(
            f"measures that need {' and '.join(sorted(needs))} cannot be computed from tables; use evaluate"
        )
    options = JoinOptions(order=order, ties=ties, precision=precision, depth=depth)
    judgments = None if _in_engine(qrels) else Qrels.of(qrels)  # a wrong file is found before a cluster starts
    opened = open_engine(engine, memory=memory, threads=threads, wait=wait)
    try:
        prepared = prepare(Qrels.of(opened.fetch(opened.read(qrels))) if judgments is None else judgments, options)
        lists = assess_tables(opened, prepared, runs, how, columns)
        return score(lists, chosen, missing=missing, basis=basis_of(prepared, chosen, missing))
    finally:
        if opened is not engine:
            opened.close()


def _in_engine(qrels: Any) -> bool:
    """Are the judgments a table of the engine, or can Python read them?"""
    if isinstance(qrels, str | os.PathLike):
        name = os.fspath(qrels)
        return "://" in name or name.startswith("::") or os.path.isdir(name)
    module = type(qrels).__module__
    return module.startswith("pyspark.") or module.partition(".")[0] in ("duckdb", "_duckdb")


def assess_tables(
    engine: Engine, prepared: PreparedJudgments, runs: Any, how: str | None, columns: Mapping[str, str] | None
) -> Assessed:
    """The lists of every run on every judged topic, joined by the engine."""
    how = how or ("core" if engine.name == "spark" else "sql")
    if how == "core" and engine.name != "spark":
        raise UsageError(f"how == 'core' needs Spark; on {engine.name}, use how='sql', or evaluate")
    options = prepared.options
    tables = read_tables(engine, runs, options.order, options.precision, columns)
    documents = prepared.documents.table
    if how == "core":
        lists, hits = hits_by_core(engine, tables, prepared.qrels, options)
    else:
        lists = lists_by_sql(engine, tables)
        hits = hits_by_sql(engine, tables, judged_table(prepared), options)
    names = sorted(lists["run"].unique().to_pylist()) if tables.names is None else list(tables.names)
    if not names:
        raise DataError(tables.origin, None, "is empty: it has no rows")
    joined = joined_from(names, documents.topics, lists, hits, options.depth)
    return prepared.attach(lists_of(prepared.documents, joined, tables.order, options, prepared.qrels))


def judged_table(prepared: PreparedJudgments) -> Any:
    """The judged documents as a pyarrow table: topic, doc, and the number of the document."""
    import pyarrow

    table = prepared.qrels.table
    if len(table) != prepared.documents.table.start[-1]:
        raise UsageError("judgments by intent need the core: how='core', or evaluate")
    topics = [table.topics[topic] for topic in table.list_topic.tolist()]
    sizes = np.diff(table.list_start).tolist()
    topic = [name for name, size in zip(topics, sizes, strict=True) for _ in range(size)]
    numbers = np.arange(len(table), dtype=np.int32)
    return pyarrow.table({"topic": topic, "doc": table.docs(0, len(table)), "document": numbers})


def joined_from(names: list[str], topics: list[str], lists: Any, hits: Any, depth: int | None) -> _core.Joined:
    """The tables of an engine as the core would have joined them."""
    import pyarrow
    import pyarrow.compute as compute

    def row_of(table: Any) -> NDArray[np.int64]:
        """run × topics + topic; -1 if the topic is not judged."""
        run = compute.index_in(table["run"], value_set=pyarrow.array(names, pyarrow.string()))
        topic = compute.index_in(table["topic"], value_set=pyarrow.array(topics, pyarrow.string()))
        number = compute.add(compute.multiply(run.cast("int64"), len(topics)), topic.cast("int64"))
        return np.asarray(compute.fill_null(number, -1).to_numpy(), dtype=np.int64)

    size = len(names) * len(topics)
    retrieved, missing = np.zeros(size, dtype=np.int32), np.ones(size, dtype=np.uint8)
    row = row_of(lists)
    judged = np.flatnonzero(row >= 0)
    lengths = np.asarray(lists["documents"].to_numpy())[judged]
    retrieved[row[judged]] = lengths if depth is None else np.minimum(lengths, depth)
    missing[row[judged]] = 0
    unjudged: list[list[str]] = [[] for _ in names]
    place = {name: at for at, name in enumerate(names)}
    others = lists.take(np.flatnonzero(row < 0))
    for run, topic in sorted(zip(others["run"].to_pylist(), others["topic"].to_pylist(), strict=True)):
        unjudged[place[run]].append(topic)
    hit_rows = row_of(hits)
    names_of_columns = ("rank", "tie_first", "tie_last", "document")
    rank, tie_first, tie_last, document = (np.asarray(hits[name].to_numpy(), np.int32) for name in names_of_columns)
    in_order = np.lexsort((rank, hit_rows))
    hit_rows = hit_rows[in_order]
    none = np.zeros(len(names), dtype=np.int32)
    return {
        "names": names,
        "sources": list(range(len(names))),
        "tags": [[] for _ in names],
        "several": none,
        "rising": none,
        "level": none,
        "retrieved": retrieved,
        "missing": missing,
        "unjudged_topics": unjudged,
        "row": hit_rows,
        "rank": rank[in_order],
        "tie_first": tie_first[in_order],
        "tie_last": np.minimum(tie_last[in_order], retrieved[hit_rows]),
        "document": document[in_order],
        "dropped": 0,
        "documents": int(retrieved.sum()),
        "numbers": np.zeros(0, dtype=np.int32),
        "unknown": [],
        "scores": np.zeros(0),
    }


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
