"""Open an engine by its name, or around a connection or session that exists."""

from __future__ import annotations

import re
from typing import Any

from cranfield import check
from cranfield.errors import UsageError
from cranfield.online.engines.engine import Engine, need_logs
from cranfield.online.engines.free_workers import WAIT

NAMES = ("duckdb", "spark")
SPARK_MASTER = re.compile(r"(local(\[(\d+|\*)(, *\d+)?\])?|yarn|(spark|k8s|mesos)://.+)$")
SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt])i?b?\s*$", re.IGNORECASE)


def open_engine(
    engine: Any = "duckdb",
    *,
    memory: str | None = None,
    threads: int | None = None,
    folder: str | None = None,
    wait: float = WAIT,
) -> Engine:
    """Open an engine.

    engine: `duckdb` (embedded), `spark` (Spark on this machine), the URL of a Spark master such as `local[2]` or
        `spark://host:7077`, a Spark session, a DuckDB connection, or an engine, which is returned as it is.
    memory: the most memory that it may use, such as `1GB`; what is larger goes to the disk. Default: DuckDB's and
        Spark's own limits.
    threads: the most threads; default: one per processor.
    folder: the directory for data that does not fit into memory; default: a temporary one.
    wait: the seconds to wait for a free worker of a Spark cluster; a warning comes after ten.

    >>> open_engine("duckdb", memory="500MB").name
    'duckdb'
    >>> open_engine("ducks")
    Traceback (most recent call last):
    cranfield.errors.UsageError: no engine 'ducks'; did you mean 'duckdb'?
    """
    if isinstance(engine, Engine):
        return engine
    for package in ("narwhals", "pyarrow"):
        need_logs(package, "reading a log")
    check.whole("open_engine", threads=threads)
    check.positive("open_engine", wait=wait)
    megabytes = None if memory is None else size_in_megabytes(memory)
    module = type(engine).__module__.partition(".")[0]
    if engine is None or engine == "duckdb" or module in ("duckdb", "_duckdb"):
        from cranfield.online.engines.duckdb_engine import DuckDBEngine

        return DuckDBEngine(engine if module != "builtins" else None, megabytes, threads, folder)
    if engine == "spark" or module == "pyspark" or (isinstance(engine, str) and SPARK_MASTER.match(engine)):
        from cranfield.online.engines.spark_engine import SparkEngine

        return SparkEngine(engine, megabytes, threads, folder, wait)
    if not isinstance(engine, str):
        kind = f"{type(engine).__module__}.{type(engine).__qualname__}"
        raise UsageError(f"engine is a {kind}, must be a name, a DuckDB connection or a Spark session")
    raise check.nearest(engine, NAMES, "engine")


def size_in_megabytes(size: str) -> int:
    """A size in megabytes, at least 1.

    >>> size_in_megabytes("1.5GB"), size_in_megabytes("800 MiB")
    (1500, 839)
    """
    match = SIZE.match(size)
    if match is None:
        raise check.wrong("", "memory", size, "a number with kB, MB, GB or TB, such as 2GB")
    base = 1024 if "i" in size.lower() else 1000
    power = " kmgt".index(match[2].lower())
    return max(1, round(float(match[1]) * float(base) ** power / 1e6))
