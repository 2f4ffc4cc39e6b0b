"""The SQL in which DuckDB and Spark differ: types, nested columns, lists, and times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

NUMBER = r"^\s*[+-]?[0-9]+([.][0-9]*)?\s*$"
ZONE = r"[0-9]\s*([Zz]|UTC|GMT|[+-][0-9]{2}:?([0-9]{2})?)\s*$"
"""The end of a time with a zone; the hour and minute before it are followed by seconds or nothing."""
TIME_OF_DAY = r"[0-9]:[0-9]"
SECONDS, MILLISECONDS, MICROSECONDS = 1e11, 1e14, 1e17
"""Numbers below these are seconds, milliseconds and microseconds since 1970; larger ones are nanoseconds."""
TIME_KINDS = ("seconds", "milliseconds", "microseconds", "nanoseconds", "zone", "no zone", "unreadable", "missing")
"""How a time was written: as a number of units since 1970, or as a date with or without a zone."""
LIST_SEPARATORS = "[,;| \\t]+"


@dataclass(frozen=True)
class Field:
    """A column, or a part of one, as SQL."""

    sql: str
    kind: str
    """`text`, `json`, `whole`, `number`, `time` (without a zone), `zoned`, `list`, `struct`, `map` or `other`."""


class Dialect(ABC):
    """SQL for fields of any kind. A value that cannot be read becomes null."""

    string: str
    """The type of text."""
    array: str
    """The type of lists of text."""
    zoned_micros: Callable[..., str]
    """Microseconds since 1970 of text with a zone, or of an instant."""
    length: Callable[..., str]
    """The length of a list; 0 without a list."""
    joined: Callable[..., str]
    """The items of a list as one text; two lists have the same text only if they are the same."""
    repeats: Callable[..., str]
    """How many items of a list are repetitions of others."""
    place: Callable[..., str]
    """The position of an item in a list, from 1; 0 if it is not there, null without a list."""
    share_a_word: Callable[..., str]
    """Whether two texts have a word in common; null if one of them is null."""
    key: Callable[..., str]
    """A number of 64 bits for a text, which is cheaper to group and to sort; null stays null."""
    different_words: Callable[..., str]
    """The number of different words in a text with single blanks; null without a text."""
    shared_words: Callable[..., str]
    """The number of different words that two texts with single blanks have in common; null without a text."""
    divided: Callable[..., str]
    """The division of whole numbers."""

    @abstractmethod
    def kind(self, type: str) -> str:
        """The kind of a field, from the name of its type."""

    @abstractmethod
    def extract(self, sql: str, parts: list[str]) -> str:
        """A value within JSON text, as text."""

    @abstractmethod
    def matches(self, sql: str, pattern: str) -> str: ...

    @abstractmethod
    def local_micros(self, sql: str, zone: str) -> str:
        """Microseconds since 1970 of text or a time without a zone, which is in `zone`."""

    @abstractmethod
    def items(self, field: Field) -> str:
        """A list of text, from a list, JSON or text with separators."""

    @abstractmethod
    def undecimal(self, text: str) -> str:
        """Whether a text is not a decimal number, although the engine reads it as a number."""

    def plain(self, field: Field) -> str:
        """The value of a field; a text in JSON is without its quotes."""
        return self.extract(field.sql, []) if field.kind == "json" else field.sql

    def text(self, field: Field) -> str:
        """Text; empty text is null."""
        return f"NULLIF(CAST({self.plain(field)} AS {self.string}), '')"

    def number(self, field: Field) -> str:
        """A number; NaN is null."""
        number = f"TRY_CAST({self.plain(field)} AS DOUBLE)"
        if field.kind in ("text", "json"):
            number = f"CASE WHEN NOT {self.undecimal(f'CAST({self.plain(field)} AS {self.string})')} THEN {number} END"
        return f"NULLIF({number}, CAST('NaN' AS DOUBLE))"

    def truth(self, field: Field) -> str:
        """A number; true is 1 and false is 0."""
        if field.kind not in ("text", "json"):
            return self.number(field)
        text = f"lower(trim(CAST({self.plain(field)} AS {self.string})))"
        return f"CASE WHEN {text} = 'true' THEN 1.0 WHEN {text} = 'false' THEN 0.0 ELSE {self.number(field)} END"

    def wrong_number(self, field: Field, read: str) -> str:
        """Whether a cell holds something that is not a finite number; `read` is the SQL that reads it."""
        infinite = f"abs({read}) = CAST('Infinity' AS DOUBLE)"
        if field.kind in ("whole", "number"):
            return "FALSE" if field.kind == "whole" else infinite
        text = f"lower(trim(CAST({self.plain(field)} AS {self.string})))"
        return f"({text} NOT IN ('', 'nan') AND ({read} IS NULL OR {infinite}))"

    def whole(self, field: Field) -> str:
        """A whole number; 3.0 is one, 3.5 is null."""
        if field.kind == "whole":
            return f"CAST({field.sql} AS BIGINT)"
        number = self.number(field)
        return f"CASE WHEN {number} = floor({number}) THEN CAST({number} AS BIGINT) END"

    def time_kind(self, field: Field, time: str) -> str:
        """One of `TIME_KINDS`. `time` is the SQL of its microseconds, such as a column: they are slow to read twice."""
        missing = f"WHEN {self.plain(field)} IS NULL THEN 'missing'"
        if field.kind in ("time", "zoned"):
            return f"CASE {missing} ELSE '{'zone' if field.kind == 'zoned' else 'no zone'}' END"
        if field.kind in ("whole", "number"):
            return f"CASE {missing} {self._units(field.sql)} END"
        text = f"CAST({self.plain(field)} AS {self.string})"
        return (
            f"CASE WHEN {text} LIKE '%:%Z' AND {time} IS NOT NULL THEN 'zone'"  # most times, without a slow pattern
            f" {missing} WHEN trim({text}) = '' THEN 'missing'"
            f" WHEN {self.matches(text, NUMBER)} THEN (CASE {self._units(f'TRY_CAST({text} AS DOUBLE)')} END)"
            f" WHEN {time} IS NULL THEN 'unreadable'"
            f" WHEN {self._has_zone(text)} THEN 'zone' ELSE 'no zone' END"
        )

    def micros(self, field: Field, zone: str = "UTC") -> str:
        """Whole microseconds since 1970 in UTC; times without a zone are in `zone`."""
        if field.kind == "zoned":
            return self.zoned_micros(field.sql)
        if field.kind == "time":
            return self.local_micros(field.sql, zone)
        if field.kind == "whole":
            return self._scaled_whole(field.sql)
        if field.kind == "number":
            return self._scaled(field.sql)
        text = f"CAST({self.plain(field)} AS {self.string})"
        zoned = self.zoned_micros(text)
        others = (
            f"CASE WHEN {self.matches(text, NUMBER)} THEN {self._scaled(f'TRY_CAST({text} AS DOUBLE)')}"
            f" WHEN {self._has_zone(text)} THEN {zoned} ELSE {self.local_micros(text, zone)} END"
        )
        return f"coalesce(CASE WHEN {text} LIKE '%Z' THEN {zoned} END, {others})"  # most times, without a slow pattern

    def _has_zone(self, text: str) -> str:
        return f"{self.matches(text, TIME_OF_DAY)} AND {self.matches(text, ZONE)}"

    @staticmethod
    def _units(sql: str) -> str:
        return (
            f"WHEN abs({sql}) < {SECONDS:.0f} THEN 'seconds' WHEN abs({sql}) < {MILLISECONDS:.0f} THEN 'milliseconds'"
            f" WHEN abs({sql}) < {MICROSECONDS:.0f} THEN 'microseconds' ELSE 'nanoseconds'"
        )

    @staticmethod
    def _scaled(sql: str) -> str:
        scale = (
            f"CASE WHEN abs({sql}) < {SECONDS:.0f} THEN 1e6 WHEN abs({sql}) < {MILLISECONDS:.0f} THEN 1e3"
            f" WHEN abs({sql}) < {MICROSECONDS:.0f} THEN 1.0 ELSE 1e-3 END"
        )
        return f"CAST(round({sql} * {scale}) AS BIGINT)"

    def _scaled_whole(self, sql: str) -> str:
        whole = f"CAST({sql} AS BIGINT)"
        return (
            f"CASE WHEN abs({whole}) < {SECONDS:.0f} THEN {whole} * 1000000"
            f" WHEN abs({whole}) < {MILLISECONDS:.0f} THEN {whole} * 1000"
            f" WHEN abs({whole}) < {MICROSECONDS:.0f} THEN {whole} ELSE {self.divided(whole, 1000)} END"
        )


class DuckDBDialect(Dialect):
    """DuckDB's SQL."""

    string = "VARCHAR"
    array = "VARCHAR[]"
    zoned_micros = "epoch_us(TRY_CAST({} AS TIMESTAMPTZ))".format
    length = "coalesce(len({}), 0)".format
    joined = "CAST(to_json({}) AS VARCHAR)".format
    repeats = "len({0}) - list_unique({0})".format
    place = "CASE WHEN {0} IS NOT NULL THEN CAST(coalesce(list_position({0}, {1}), 0) AS BIGINT) END".format
    share_a_word = (
        "list_has_any(regexp_split_to_array(trim(lower({})), '\\s+'), regexp_split_to_array(trim(lower({})), '\\s+'))"
    ).format
    key = "CASE WHEN {0} IS NOT NULL THEN hash({0}) END".format
    different_words = "CAST(list_unique(str_split({}, ' ')) AS BIGINT)".format
    shared_words = "CAST(len(list_intersect(str_split({}, ' '), str_split({}, ' '))) AS BIGINT)".format
    divided = "{} // {}".format

    def kind(self, type: str) -> str:
        if type.endswith("[]"):
            return "list"
        word = type.partition("(")[0]
        if word == "TIMESTAMP WITH TIME ZONE":
            return "zoned"
        if word.startswith("TIMESTAMP") or word == "DATE":
            return "time"
        whole = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
        if word in (*whole, *(f"U{name}" for name in whole)):
            return "whole"
        kinds = {"VARCHAR": "text", "JSON": "json", "STRUCT": "struct", "MAP": "map"}
        return kinds.get(word) or ("number" if word in ("DOUBLE", "FLOAT", "DECIMAL") else "other")

    def extract(self, sql: str, parts: list[str]) -> str:
        path = "$" + "".join('."' + part.replace('"', "") + '"' for part in parts)
        return f"json_extract_string({sql}, {_literal(path)})"

    def matches(self, sql: str, pattern: str) -> str:
        return f"regexp_matches({sql}, {_literal(pattern)})"

    def undecimal(self, text: str) -> str:
        return f"contains({text}, '_')"  # 1_000

    def local_micros(self, sql: str, zone: str) -> str:
        local = f"TRY_CAST({sql} AS TIMESTAMP)"
        return f"epoch_us({local})" if zone == "UTC" else f"epoch_us(timezone({_literal(zone)}, {local}))"

    def items(self, field: Field) -> str:
        if field.kind == "list":
            return f"CAST({field.sql} AS VARCHAR[])"
        text = f"CAST({field.sql} AS VARCHAR)"
        if field.kind == "json":  # most are lists, which need no parsing here
            text = f"(CASE WHEN starts_with({text}, '[') THEN {text} ELSE {self.plain(field)} END)"
        return (
            f"CASE WHEN {text} IS NULL OR trim({text}) = '' THEN NULL"
            f" WHEN starts_with(trim({text}), '[') THEN TRY_CAST(TRY_CAST({text} AS JSON) AS VARCHAR[])"
            f" ELSE regexp_split_to_array(trim({text}), {_literal(LIST_SEPARATORS)}) END"
        )


class SparkDialect(Dialect):
    """Spark's SQL."""

    string = "STRING"
    array = "ARRAY<STRING>"
    zoned_micros = "unix_micros(TRY_CAST({} AS TIMESTAMP))".format
    length = "CAST(coalesce(array_size({}), 0) AS BIGINT)".format
    joined = "to_json({})".format
    repeats = "CASE WHEN {0} IS NOT NULL THEN size({0}) - size(array_distinct({0})) END".format
    place = "CAST(array_position({}, {}) AS BIGINT)".format
    share_a_word = "arrays_overlap(split(trim(lower({})), '\\\\s+'), split(trim(lower({})), '\\\\s+'))".format
    key = "CASE WHEN {0} IS NOT NULL THEN xxhash64({0}) END".format
    different_words = (
        "CASE WHEN {0} IS NOT NULL THEN CAST(size(array_distinct(split({0}, ' '))) AS BIGINT) END"
    ).format
    shared_words = (
        "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL"
        " THEN CAST(size(array_intersect(split({0}, ' '), split({1}, ' '))) AS BIGINT) END"
    ).format
    divided = "{} DIV {}".format

    def kind(self, type: str) -> str:
        word = type.partition("<")[0].partition("(")[0]
        kinds = {"string": "text", "array": "list", "struct": "struct", "map": "map", "timestamp": "zoned"}
        kinds |= {"timestamp_ntz": "time", "date": "time", "double": "number", "float": "number", "decimal": "number"}
        kinds |= dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "whole")
        return kinds.get(word, "other")

    def extract(self, sql: str, parts: list[str]) -> str:
        path = "$" + "".join(f"['{part}']".replace("'", "\\'") for part in parts)
        return f"get_json_object({sql}, '{path}')"

    def matches(self, sql: str, pattern: str) -> str:
        escaped = _literal(pattern).replace("\\", "\\\\")
        return f"{sql} RLIKE {escaped}"

    def undecimal(self, text: str) -> str:
        return self.matches(text, "[dDfFxX]")  # 1d, 1f and 0x1p3, as in Java

    def local_micros(self, sql: str, zone: str) -> str:
        # The session is in UTC, so that a time without a zone is first read as if it were UTC
        local = f"TRY_CAST({sql} AS TIMESTAMP)"
        return f"unix_micros({local})" if zone == "UTC" else f"unix_micros(to_utc_timestamp({local}, {_literal(zone)}))"

    def items(self, field: Field) -> str:
        if field.kind == "list":
            return f"CAST({field.sql} AS ARRAY<STRING>)"
        text = f"CAST({field.sql} AS STRING)"
        separators = _literal(LIST_SEPARATORS)
        return (
            f"CASE WHEN {text} IS NULL OR trim({text}) = '' THEN NULL"
            f" WHEN startswith(trim({text}), '[') THEN from_json({text}, 'array<string>')"
            f" ELSE split(trim({text}), {separators}) END"
        )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


DIGITS = 16
"""The hexadecimal digits of a digest."""
BUCKET_DIGITS = 13
BUCKETS = 16**BUCKET_DIGITS
"""The number of buckets, 2^52: a float holds each of them exactly."""
SEPARATOR = "\x1f"
"""Between salt and identifier, so that ("ab", "c") and ("a", "bc") differ; it does not occur in text."""


def digest(identifier: str, salt: str) -> str:
    """The salted digest of an identifier, 16 hexadecimal digits.

    >>> digest("u1", "pepper")
    'b47da59a8108d0c4'
    """
    return sha256(f"{salt}{SEPARATOR}{identifier}".encode("utf-8", "surrogateescape")).hexdigest()[:DIGITS]


def bucket(identifier: str, salt: str) -> int:
    """The bucket of an identifier, a number from 0 to 2^52 − 1; each is as likely as any other.

    >>> bucket("u1", "pepper") == int(digest("u1", "pepper")[:13], 16)
    True
    """
    return int(digest(identifier, salt)[:BUCKET_DIGITS], 16)


def digest_sql(engine: str, column: str, salt: str) -> str:
    """The digest of a column, in the SQL of an engine; null stays null."""
    return f"substr({_sha(engine, column, salt)}, 1, {DIGITS})"


def bucket_sql(engine: str, column: str, salt: str) -> str:
    """The bucket of a column, in the SQL of an engine; null stays null."""
    first = f"substr({_sha(engine, column, salt)}, 1, {BUCKET_DIGITS})"
    return f"CAST('0x' || {first} AS BIGINT)" if engine == "duckdb" else f"CAST(conv({first}, 16, 10) AS BIGINT)"


def _sha(engine: str, column: str, salt: str) -> str:
    hexed = f"{salt}{SEPARATOR}".encode("utf-8", "surrogateescape").hex().upper()
    if engine == "duckdb":
        return f"sha256(unhex('{hexed}') || encode(CAST({column} AS VARCHAR)))"
    return f"sha2(concat(X'{hexed}', encode(CAST({column} AS STRING), 'UTF-8')), 256)"
