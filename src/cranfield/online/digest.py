r"""A salted digest of an identifier, the same in Python, DuckDB and Spark.

The digest is the first 16 hexadecimal digits of SHA-256 of `salt \x1f identifier` in UTF-8: 64 bits, so among 100
million users two share a digest with a probability of about 0.0003. It hides identifiers, and it assigns users to the
arms of an experiment: `bucket` is a number below 2^52, and bucket / 2^52 is uniform between 0 and 1.
"""

from __future__ import annotations

from hashlib import sha256

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
