"""What an engine does: read a table, keep one, fetch a small one; and opening one by its name.

Everything between is lazy narwhals expressions.
"""

from __future__ import annotations

import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, ClassVar

from cranfield import check
from cranfield.errors import DataError, UsageError
from cranfield.frames import need
from cranfield.online.engines.dialect import Dialect, Field
from cranfield.online.expressions import nw

WAIT = 120.0
"""Seconds after which an engine gives up if no worker of a Spark cluster is free."""
SKIP = "; to leave out rows that cannot be read: skip="
"""The way out of rows that cannot be read, for readers that have it."""


class Engine(ABC):
    """A database that scans logs. Frames are lazy (`narwhals.LazyFrame`); only small results come to Python.

    The same expressions give the same answers on every engine, except that quantiles may be approximate.

    >>> import narwhals as nw
    >>> import pyarrow
    >>> from cranfield.online.engines import open_engine
    >>> with open_engine("duckdb") as engine:
    ...     frame = engine.read(pyarrow.table({"user": ["a", "a", "b"], "clicks": [1, 2, 4]}))
    ...     engine.fetch(frame.group_by("user").agg(nw.col("clicks").sum()).sort("user")).to_pylist()
    [{'user': 'a', 'clicks': 3}, {'user': 'b', 'clicks': 4}]
    """

    name: ClassVar[str]
    exact_quantiles: ClassVar[bool]
    """Are the quantiles of this engine exact?"""
    scans_again: ClassVar[bool] = False
    """Is it quicker to scan columns of a Parquet file again than to keep a copy of the whole table?"""
    dialect: ClassVar[Dialect]

    @abstractmethod
    def read(self, source: Any, *, text: Sequence[str] = ()) -> Any:
        """A lazy frame of a table.

        source: a file, a pattern such as `logs/*.parquet`, or a directory, of JSON-lines, CSV, TSV or Parquet; a table
            of a database (`log.duckdb::events`; `::events` is a table or view that the engine itself knows); or an
            Arrow, pandas or polars frame, or one of the engine's own.
        text: columns of JSON-lines and CSV files to read as text. The types of all others are inferred, so the user
            0012 would become the number 12. Names that the table does not have are ignored.
        """

    @abstractmethod
    def read_rows(self, source: Any, *, numbered: bool = False, skip: bool = False) -> Any:
        """A lazy frame of a table as it is written, for data that may be wrong.

        The cells of CSV files and the values of JSON-lines are text; objects and lists within JSON are JSON text. The
        frame has a further column `_unreadable`: the row could not be read, and is null.

        numbered: also add `_file`, the path, and `_row`, the number of the row in the file, from 1; Spark has no
            numbers of rows, so `_row` is null.
        skip: leave unreadable rows null, or out (`rejected_rows` tells them), instead of an error.
        """

    def rejected_rows(self) -> list[tuple[str, int, str]]:
        """The rows that `read_rows` left out since it was last asked: path, number of the row, and what is wrong."""
        return []

    @abstractmethod
    def translated(self, origin: str) -> AbstractContextManager[None]:
        """Turn errors of the engine inside a `with` block into ours, which name the file and the line, or the origin.

        A lazy frame may fail when it is collected, because of a row far down in a file.
        """

    @abstractmethod
    def explode(self, frame: Any, column: str, item: str, position: str) -> Any:
        """A row per item of a column of lists, which is replaced by the item and its position, from 1."""

    @abstractmethod
    def keep(self, frame: Any) -> Any:
        """The same frame, computed now and kept by the engine, for one that is used several times."""

    @abstractmethod
    def fetch(self, frame: Any) -> Any:
        """A small frame as a pyarrow table."""

    def count(self, frame: Any) -> int:
        """The number of rows."""
        return int(self.fetch(frame.select(n=nw.len()))["n"][0].as_py())

    def row(self, frame: Any) -> dict[str, Any]:
        """The first row of a small frame, such as one of sums."""
        return dict(self.fetch(frame).to_pylist()[0])

    @abstractmethod
    def write(self, frame: Any, path: str) -> None:
        """Write a frame of any size to a Parquet or CSV file, as the ending of the path says."""

    @abstractmethod
    def quantiles(self, frame: Any, column: str, at: Sequence[float], by: Sequence[str] = ()) -> Any:
        """A pyarrow table: the columns of `by`, then `q0`, `q1`, … with the quantile at each probability of `at`.

        Exact quantiles interpolate between two values, as numpy does. A null value is left out.
        """

    @abstractmethod
    def select(self, frame: Any, columns: Mapping[str, str], *, add: bool = False) -> Any:
        """A frame of SQL expressions in the engine's dialect, by name; `add` keeps the columns of the frame as well."""

    @abstractmethod
    def full_join(self, left: Any, right: Any, on: Sequence[str]) -> Any:
        """The rows of both frames, side by side where they are equal in the columns `on`; nulls are equal, too.

        The other columns of the frames must have different names.
        """

    def rows_with(self, frame: Any, column: str, values: Sequence[str]) -> Any:
        """The rows whose text in a column is one of some values, or null."""
        unknown = nw.col(column).is_null()
        return frame.filter(unknown | nw.col(column).is_in(values) if values else unknown)

    def field(self, frame: Any, path: str) -> Field | None:
        """A column by its name, or a part of one by its path, such as `event_attributes.position.ordinal`.

        None if there is none. A part of JSON text is not checked: it may be null in all rows.
        """
        types = self.column_types(frame)
        if path in types:
            return Field(self.quote(path), self.dialect.kind(types[path]))
        root, *parts = path.split(".")
        if root not in types or not parts:
            return None
        kind = self.dialect.kind(types[root])
        if kind in ("json", "text"):
            return Field(self.dialect.extract(self.quote(root), parts), "text")
        if kind != "struct":
            return None
        sql = ".".join(map(self.quote, [root, *parts]))
        try:
            kind_of_part = self.column_types(self.select(frame, {"part": sql}))["part"]
        except DataError:
            return None
        return Field(sql, self.dialect.kind(kind_of_part))

    @abstractmethod
    def close(self) -> None:
        """Release what the engine holds. A connection or session that was passed in stays open."""

    def scratch(self) -> str:
        """A new directory for files that the engine reads as long as it is open."""
        made = tempfile.TemporaryDirectory(prefix="cranfield-", ignore_cleanup_errors=True)
        self.__dict__.setdefault("_scratch", []).append(made)
        return made.name

    def remove_scratch(self) -> None:
        """Remove the directories of `scratch`."""
        for made in self.__dict__.pop("_scratch", []):
            made.cleanup()

    def add_bucket(self, frame: Any, name: str, column: str, salt: str) -> Any:
        """The frame with a further column: the bucket of a text column (`dialect.bucket`)."""
        from cranfield.online.engines.dialect import bucket_sql

        return self.select(frame, {name: bucket_sql(self.name, self.quote(column), salt)}, add=True)

    @abstractmethod
    def column_types(self, frame: Any) -> dict[str, str]:
        """The columns of a frame, and their types as the engine names them."""

    @staticmethod
    @abstractmethod
    def quote(name: str) -> str:
        """The name of a column, as SQL writes it."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def without_skip() -> Iterator[None]:
    """Errors for rows that cannot be read, for readers that never leave out rows."""
    try:
        yield
    except DataError as error:
        what = re.sub(r"; to [^;]*: skip=$", "", error.what)
        raise (error if what == error.what else DataError(error.path, error.line, f"{what}; correct it")) from None


def need_logs(module: str, what: str) -> Any:
    """Import a package of the extra `logs` or `spark`; the error says how to install the extra."""
    return need(module, what, "spark" if module.startswith("pyspark") else "logs")


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
