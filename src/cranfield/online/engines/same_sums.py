"""Sums of DuckDB that are the same whatever thread adds which rows.

Threads take blocks of rows as they come, and a sum of rounded numbers depends on their order in its last digits. Here a
number is cut into three parts: a multiple of 16, a multiple of 2^-24, and the rest. The first two parts are added
without rounding, in whatever order (below 10^17, and for 60 million rows of a group in the worst case). The sum of the
rest is rounded far below the last digit of the total. Nothing is lost of small numbers, which are all rest.
"""

from __future__ import annotations

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
    sums = [f"(x DOUBLE) AS ({total})", "(x BOOLEAN) AS system.main.sum(x)", *(one.format("sum") for one in others)]
    means = [f"(x DOUBLE) AS ({total} / system.main.count(x))", *(one.format("avg") for one in others)]
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
