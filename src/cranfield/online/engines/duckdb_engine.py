"""DuckDB as an engine: embedded, within a memory limit, spilling to disk."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from cranfield import _address_space
from cranfield.collection.source import was_written
from cranfield.errors import DataError, UsageError
from cranfield.online.engines.dialect import Dialect, DuckDBDialect
from cranfield.online.engines.engine import SKIP, Engine, need_logs
from cranfield.online.engines.table_source import (
    REMOTE_MARK,
    TableSource,
    csv_header,
    find_table,
    lines_of_rows,
    no_table,
)
from cranfield.online.expressions import nw

GRIDS = (4, -24)
"""The exponents of the parts that are multiples of a power of two."""
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
"""Types whose sums are not rounded."""


def same_sums() -> str:
    """SQL that gives `sum` and `avg` of floating-point numbers this meaning in a connection; other types keep theirs.

    DuckDB then refuses running sums (OVER) and FILTER of floating-point numbers, which nothing here uses.
    """
    others = [f"(x {kind}) AS system.main.{{}}(x)" for kind in WHOLE]
    total = same_sum("x")
    sums = [f"(x DOUBLE) AS ({total})", "(x BOOLEAN) AS system.main.sum(x)", *(macro.format("sum") for macro in others)]
    means = [f"(x DOUBLE) AS ({total} / system.main.count(x))", *(macro.format("avg") for macro in others)]
    return f"CREATE TEMP MACRO sum{', '.join(sums)}; CREATE TEMP MACRO avg{', '.join(means)}"


def same_sum(value: str) -> str:
    """The sum of an expression, in three parts.

    >>> same_sum("x").count("system.main.sum(")
    3
    """
    rest, parts = value, []
    for grid in GRIDS:
        # Adding this number leaves no bits below the grid; taking it away again is exact.
        far = f"{1.5 * 2.0 ** (52 + grid)!r}::DOUBLE"
        parts.append(f"(({rest} + {far}) - {far})")
        rest = f"({rest} - {parts[-1]})"
    return "(" + " + ".join(f"system.main.sum({part})" for part in (*parts, rest)) + ")"


BROKEN_JSON = re.compile(r'Malformed JSON in file "(.+?)", at byte')
WRONG_JSON = re.compile(r'JSON transform error in file "(.+?)", in line (\d+): (.+?)\n', re.DOTALL)
UNKNOWN_CSV = re.compile(r'Error when sniffing file "(.+?)"')
BROKEN_CSV = re.compile(r"CSV Error on Line: (\d+)\n.*?\n  file = (.+?)\n", re.DOTALL)
REFUSED = ("bad allocation", "bad_alloc", "allocation failure")
"""How DuckDB says that the system, and not its own limit, refused memory."""
LEAST_ADDRESSES = 1_500_000_000
"""Bytes of addresses without which DuckDB may crash or wait for ever, where the address space is limited."""
PER_THREAD = 1_000_000_000
"""Bytes of addresses for each thread, where the address space is limited."""
LONGEST_ROW = 64 << 20
"""Bytes of the longest JSON object or line."""


class DuckDBEngine(Engine):
    """A DuckDB connection. Without one, an in-memory database is opened, which spills to a temporary directory."""

    name: ClassVar[str] = "duckdb"
    exact_quantiles: ClassVar[bool] = True
    scans_again: ClassVar[bool] = True
    dialect: ClassVar[Dialect] = DuckDBDialect()

    def __init__(
        self,
        connection: Any = None,
        megabytes: int | None = None,
        threads: int | None = None,
        folder: str | None = None,
    ) -> None:
        duckdb = need_logs("duckdb", "engine='duckdb'")
        self._duckdb = duckdb
        self._owned = connection is None
        if (
            connection is None
            and (left := _address_space.need(LEAST_ADDRESSES, "DuckDB, which reads logs,")) is not None
        ):
            megabytes = min(megabytes or left, left // 3_000_000)
            threads = min(threads or os.cpu_count() or 1, max(1, left // PER_THREAD))
        self._names = (f"cranfield_{os.getpid()}_{number}" for number in count())
        self._kept: list[str] = []
        self._rejects: list[tuple[str, str]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if connection is None:
            connection = duckdb.connect(":memory:")
            if folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="cranfield-", ignore_cleanup_errors=True)
                folder = self._folder.name
            connection.execute("SET enable_progress_bar = false")
        self.connection = connection
        settings: dict[str, Any] = {"threads": threads, "temp_directory": folder}
        settings["memory_limit"] = None if megabytes is None else f"{megabytes}MB"
        for setting, value in settings.items():
            if value is not None:
                connection.execute(f"SET {setting} = {literal(value)}")
        if self._owned:
            connection.execute("SET TimeZone = 'UTC'")
            with suppress(duckdb.Error):  # a version without macros by type
                connection.execute(same_sums())

    def read(self, source: Any, *, text: Sequence[str] = ()) -> Any:
        if isinstance(source, str | os.PathLike | Sequence):
            table = find_table(source)
            return nw.from_native(self._sql(self.scan(table, text=text), table.origin))
        return nw.from_native(self._relation(source))

    def scan(self, table: TableSource, *, text: Sequence[str] = (), **options: str) -> str:
        """The query that scans a table; `options` are further arguments of DuckDB's reader, as SQL."""
        files = "[" + ", ".join(literal(no_pattern(file)) for file in table.files) + "]"
        if table.format == "parquet":
            return f"SELECT * FROM read_parquet({arguments(files, union_by_name='true', **options)})"
        if table.format == "json":
            return self._scan_json(table, files, text, options)
        if table.format == "csv":
            reading = {"header": "true", "delim": literal(table.delimiter), **options}
            if len(table.files) > 1:
                reading["union_by_name"] = "true"
            if text:
                plain = self._sql(f"SELECT * FROM read_csv({arguments(files, **reading)})", table.origin)
                types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in text if name in plain.columns)
                reading |= {"types": f"{{{types}}}"} if types else {}
            return f"SELECT * FROM read_csv({arguments(files, **reading)})"
        if table.format == "sqlite":
            from cranfield.online.engines.table_source import copy_sqlite

            self._kept.append(next(self._names))
            return f"SELECT * FROM {copy_sqlite(self.connection, table, self._kept[-1])}"
        if table.format == "duckdb":
            return f"SELECT * FROM {self._attached(table)}"
        return f"SELECT * FROM {self._known(table)}"

    def _scan_json(self, table: TableSource, files: str, text: Sequence[str], options: Mapping[str, str]) -> str:
        reading = {"format": "'newline_delimited'", "maximum_object_size": str(LONGEST_ROW), "union_by_name": "true"}
        reading |= options
        if not text:
            return f"SELECT * FROM read_json({arguments(files, **reading)})"
        plain = f"SELECT * FROM read_json({arguments(files, **reading)})"
        relation = self._sql(plain, table.origin)
        # DuckDB infers the types of all columns or of none; the text of a number in JSON is that number as written.
        types = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
        types |= {name: "VARCHAR" for name in text if name in types}
        columns = "{" + ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in types.items()) + "}"
        return f"SELECT * FROM read_json({arguments(files, **reading, columns=columns)})"

    def read_rows(self, source: Any, *, numbered: bool = False, skip: bool = False) -> Any:
        if not isinstance(source, str | os.PathLike | Sequence):
            number = {"_file": "''", "_row": "row_number() OVER ()"} if numbered else {}
            return self.select(self.read(source), {"_unreadable": "FALSE", **number}, add=True)
        table = find_table(source)
        if table.format in ("json", "csv"):
            # Rows are numbered by file, and DuckDB does not store the wrong rows of several files
            parts = [replace(table, files=(file,)) for file in table.files] if numbered or skip else [table]
            scans = [self._text_scan(table, part, numbered, skip) for part in parts]
            return self.query(" UNION ALL BY NAME ".join(scans), table.origin)
        if not numbered:
            return self.query(f"SELECT *, FALSE AS _unreadable FROM ({self.scan(table)})", table.origin)
        if table.format == "parquet":
            scan = self.scan(table, file_row_number="true", filename="'_file'")
            columns = "* EXCLUDE (file_row_number), file_row_number + 1 AS _row"
        else:
            scan, columns = self.scan(table), f"*, {literal(table.origin)} AS _file, row_number() OVER () AS _row"
        return self.query(f"SELECT {columns}, FALSE AS _unreadable FROM ({scan})", table.origin)

    def _text_scan(self, table: TableSource, part: TableSource, numbered: bool, skip: bool) -> str:
        """A scan of JSON-lines or CSV files as text."""
        if table.format == "csv":
            # Told the columns, DuckDB does not look for them in rows that may be wrong
            columns = "{" + ", ".join(f"{literal(name)}: 'VARCHAR'" for name in csv_header(part)) + "}"
            options = {"columns": columns, "auto_detect": "false", "quote": "'\"'", "escape": "'\"'"}
            if skip:
                self._rejects.append((next(self._names), next(self._names)))
                errors, scans = self._rejects[-1]
                options |= {"store_rejects": "true", "rejects_table": literal(errors), "rejects_scan": literal(scans)}
            scan, unreadable, first = self.scan(part, **options), "FALSE", 2
        else:
            known = self._sniffed(table)
            columns = "{" + ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in known.items()) + "}"
            scan = self.scan(part, columns=columns, **({"ignore_errors": "true"} if skip else {}))
            unreadable, first = " AND ".join(f"{self.quote(name)} IS NULL" for name in known), 1
        number = f", {literal(part.files[0])} AS _file, row_number() OVER () + {first - 1} AS _row" if numbered else ""
        return f"SELECT *, {unreadable} AS _unreadable{number} FROM ({scan})"

    def _sniffed(self, table: TableSource) -> dict[str, str]:
        """The keys of JSON-lines: JSON if their values are objects or lists, else text."""
        relation = self._sql(self.scan(table, ignore_errors="true", sample_size="100000"), table.origin)
        nested = ("struct", "list", "map", "json")
        return {
            name: "JSON" if self.dialect.kind(str(kind)) in nested else "VARCHAR"
            for name, kind in zip(relation.columns, relation.types, strict=True)
        }

    def rejected_rows(self) -> list[tuple[str, int, str]]:
        rows: list[tuple[str, int, str]] = []
        for errors, scans in self._rejects:
            rejected = self.connection.execute(
                f"SELECT file_path, line, min(error_message) FROM {errors} JOIN {scans} USING (scan_id, file_id)"
                " GROUP BY ALL ORDER BY ALL"  # an error per cell that is missing
            )
            rows += [(path, int(line), message.partition("\n")[0]) for path, line, message in rejected.fetchall()]
        self._rejects.clear()
        return rows

    def explode(self, frame: Any, column: str, item: str, position: str) -> Any:
        relation = self.relation(frame)
        kept = ", ".join(self.quote(name) for name in relation.columns if name != column)
        listed = self.quote(column)
        return nw.from_native(
            relation.project(
                f"{kept}, unnest({listed}) AS {self.quote(item)},"
                f" CAST(generate_subscripts({listed}, 1) AS BIGINT) AS {self.quote(position)}"
            )
        )

    def keep(self, frame: Any) -> Any:
        name = next(self._names)
        relation = self.relation(frame)
        with self.translated("the log"):
            self.connection.execute(f"CREATE TEMP TABLE {name} AS {relation.sql_query()}")
        self._kept.append(name)
        return nw.from_native(self.connection.table(name))

    def fetch(self, frame: Any) -> Any:
        names = {name: self.quote(name) for name in self.relation(frame).columns}
        # A sum of whole numbers has 128 bits, which Arrow would call a decimal
        wide = [name for name, kind in self.column_types(frame).items() if kind == "HUGEINT"]
        if wide:
            frame = self.select(frame, names | {name: f"CAST({names[name]} AS BIGINT)" for name in wide})
        with self.translated("the log"):
            return frame.collect("pyarrow").to_arrow()

    def write(self, frame: Any, path: str) -> None:
        format = "PARQUET" if path.endswith(".parquet") else "CSV"
        query = self.relation(frame).sql_query()
        with self.translated(path):
            self.connection.execute(f"COPY ({query}) TO {literal(path)} (FORMAT {format})")
        was_written(path)

    def write_text(self, frame: Any, path: str, header: bool = True) -> None:
        """Write a frame as JSON-lines, or as CSV if the path ends in .csv, in its order."""
        format = f"FORMAT CSV, HEADER {str(header).lower()}" if path.endswith(".csv") else "FORMAT JSON"
        with self.translated(path):
            self.connection.execute(f"COPY ({self.relation(frame).sql_query()}) TO {literal(path)} ({format})")

    def quantiles(self, frame: Any, column: str, at: Sequence[float], by: Sequence[str] = ()) -> Any:
        relation = self.relation(frame)
        keys = [self.quote(name) for name in by]
        value = self.quote(column)
        # One state for all probabilities: DuckDB would sort the values once for each
        wanted = ", ".join(repr(float(p)) for p in at)
        states = f"quantile_cont(CAST({value} AS DOUBLE), [{wanted}]) AS states"
        result = relation.aggregate(", ".join([*keys, states]), ", ".join(keys))
        result = result.project(", ".join([*keys, *(f"states[{i + 1}] AS q{i}" for i in range(len(at)))]))
        return self.fetch(nw.from_native(result).sort(*by) if by else nw.from_native(result))

    def select(self, frame: Any, columns: Mapping[str, str], *, add: bool = False) -> Any:
        relation = self.relation(frame)
        expressions = [f"{sql} AS {self.quote(name)}" for name, sql in columns.items()]
        if add:
            kept = [self.quote(name) for name in relation.columns if name not in columns]
            expressions = [*kept, *expressions]
        with self.translated("the log"):
            return nw.from_native(relation.project(", ".join(expressions)))

    def rows_with(self, frame: Any, column: str, values: Sequence[str]) -> Any:
        # narwhals would look for each text in a list, from its first item on; DuckDB hashes the values of IN
        name = self.quote(column)
        among = f" OR {name} IN ({', '.join(map(literal, values))})" if values else ""
        return nw.from_native(self.relation(frame).filter(f"{name} IS NULL{among}"))

    def full_join(self, left: Any, right: Any, on: Sequence[str]) -> Any:
        first, second = self.relation(left), self.relation(right)
        keys = [self.quote(name) for name in on]
        others = [self.quote(name) for name in (*first.columns, *second.columns) if name not in on]
        columns = ", ".join([*(f"coalesce(l.{key}, r.{key}) AS {key}" for key in keys), *others])
        equal = " AND ".join(f"l.{key} IS NOT DISTINCT FROM r.{key}" for key in keys)
        tables = f"({first.sql_query()}) AS l FULL JOIN ({second.sql_query()}) AS r ON {equal}"
        return self.query(f"SELECT {columns} FROM {tables}", "the log")

    def column_types(self, frame: Any) -> dict[str, str]:
        relation = self.relation(frame)
        return dict(zip(relation.columns, map(str, relation.types), strict=True))

    def query(self, sql: str, origin: str) -> Any:
        """A lazy frame of a query; the origin is named if DuckDB refuses it."""
        return nw.from_native(self._sql(sql, origin))

    def relation(self, frame: Any) -> Any:
        """The DuckDB relation of a lazy frame."""
        return frame.to_native() if hasattr(frame, "to_native") else frame

    def close(self) -> None:
        self.remove_scratch()
        if self._owned:
            self.connection.close()
            if self._folder is not None:
                self._folder.cleanup()
            return
        for name in self._kept:
            self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        self._kept.clear()

    @staticmethod
    def quote(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def _sql(self, sql: str, origin: str) -> Any:
        with self.translated(origin):
            return self.connection.sql(sql)

    def _relation(self, source: Any) -> Any:
        """The relation of a frame in memory."""
        native = nw.to_native(source, pass_through=True)
        if type(native).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
            return native
        name = next(self._names)
        try:
            self.connection.register(name, native)
        except self._duckdb.Error:
            kind = f"{type(source).__module__}.{type(source).__qualname__}"
            raise UsageError(
                f"source is a {kind}, must be a path or a frame of Arrow, pandas, polars or DuckDB"
            ) from None
        return self.connection.table(name)

    def _attached(self, table: TableSource) -> str:
        """The table of a DuckDB file, which is opened read-only."""
        path = os.path.realpath(table.files[0])
        attached = self.connection.execute("SELECT database_name, path FROM duckdb_databases()").fetchall()
        name = next((name for name, at in attached if at and os.path.realpath(at) == path), None)
        if name is None:
            name = next(self._names)
            with self.translated(table.files[0]):
                self.connection.execute(f"ATTACH {literal(path)} AS {name} (READ_ONLY)")
        tables = self.connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = ?"
            " UNION ALL SELECT view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal ORDER BY 1",
            [name, name],
        ).fetchall()
        known = [row[0] for row in tables]
        if table.table not in known:
            raise no_table(table, known)
        self._stay_in_file(path, table)
        return f"{self.quote(name)}.{self.quote(table.table)}"

    def _stay_in_file(self, path: str, table: TableSource) -> None:
        """Refuse a view that reads another file, or fetches one: whoever made the database would choose which."""
        locked = {"enable_external_access": "false"}
        try:
            with self._duckdb.connect(path, read_only=True, config=locked) as database:
                database.execute(f"SELECT * FROM {self.quote(table.table)} LIMIT 0")
        except self._duckdb.PermissionException:
            what = f"the view {table.table!r} reads other files; give the file that it reads, or a table"
            raise DataError(table.origin, None, what) from None
        except self._duckdb.Error as error:
            raise DataError(table.origin, None, first_line(error)) from None

    def _known(self, table: TableSource) -> str:
        """A table or view of the connection; DuckDB would also take the name of a file, or SQL."""
        own = "SELECT database_name, schema_name, {0}_name FROM duckdb_{0}s() WHERE NOT internal"
        with self.translated(table.origin):
            rows = self.connection.execute(" UNION ALL ".join(map(own.format, ("table", "view")))).fetchall()
        parts = next((parts for parts in rows if table.table in (".".join(parts[at:]) for at in range(3))), None)
        if parts is None:
            raise no_table(replace(table, files=(table.origin,)), sorted({parts[-1] for parts in rows}))
        return ".".join(map(self.quote, parts))

    @contextmanager
    def translated(self, origin: str) -> Iterator[None]:
        """Turn DuckDB's errors into ours."""
        try:
            yield
        except self._duckdb.OutOfMemoryException as error:
            if any(words in str(error).lower() for words in REFUSED):
                raise UsageError(
                    f"not enough memory: the system gives no more ({first_line(error)}); raise its limit (ulimit -v)"
                ) from None
            limit = self.connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0]
            raise UsageError(
                f"the memory limit of {limit} is not enough ({first_line(error)}); to raise it: memory="
            ) from None
        except self._duckdb.Error as error:
            raise self._unreadable(error) or DataError(origin, None, first_line(error)) from None

    def _unreadable(self, error: Exception) -> DataError | None:
        """The error for a row of a text file that cannot be read."""
        if broken := BROKEN_JSON.search(str(error)):
            path = broken[1]  # DuckDB's own number of the line may be wrong
            objects = f"read_ndjson_objects({literal(no_pattern(path))}, ignore_errors=true)"
            rows = f"SELECT json, row_number() OVER () AS row FROM {objects}"
            row = self.connection.execute(f"SELECT min(row) FROM ({rows}) WHERE json IS NULL").fetchall()[0][0]
            line = lines_of_rows(path, [row])[row] if row else None
            return DataError(path, line, f"is not valid JSON{SKIP}")
        if broken := WRONG_JSON.search(str(error)):
            return DataError(broken[1], int(broken[2]), f"{broken[3].rstrip('.')}{SKIP}")
        if broken := UNKNOWN_CSV.search(str(error)):
            return self._wrong_row(broken[1])
        if broken := BROKEN_CSV.search(str(error)):
            lines = [line for line in str(error).split("\n")[1:] if not line.startswith("Original Line")]
            what = first_line(Exception("\n".join(lines))).rstrip(".")
            return DataError(broken[2], int(broken[1]), f"{what}{SKIP}")
        return None

    def _wrong_row(self, path: str) -> DataError | None:
        """The error for the first row of a CSV file that has more or fewer cells than the header."""
        table = find_table(path)
        try:
            self.connection.execute(f"SELECT count(*) FROM ({self._text_scan(table, table, False, False)})").fetchall()
        except self._duckdb.Error as error:
            return None if UNKNOWN_CSV.search(str(error)) else self._unreadable(error)
        return None


def first_line(error: Exception) -> str:
    """The first line of a message, without the kind of the error."""
    return str(error).strip().partition("\n")[0]


def no_pattern(path: str) -> str:
    """A path that DuckDB takes as it is: it would read the file `a1.csv` for `a[1].csv`, and look for `~` at home.

    >>> no_pattern("a[1]*.csv"), no_pattern("~/log.csv"), no_pattern("s3://bucket/*.csv")
    ('a[[]1][*].csv', './~/log.csv', 's3://bucket/*.csv')
    """
    if REMOTE_MARK in path:
        return path
    path = f"./{path}" if path.startswith("~") else path
    return re.sub(r"[*?[]", r"[\g<0>]", path)


def literal(value: Any) -> str:
    """A value as SQL writes it.

    >>> literal("it's"), literal(2)
    ("'it''s'", '2')
    """
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def arguments(*first: str, **named: str) -> str:
    """The arguments of a table function, as SQL writes them.

    >>> arguments("'a.csv'", header="true")
    "'a.csv', header=true"
    """
    return ", ".join([*first, *(f"{name}={value}" for name, value in named.items())])
