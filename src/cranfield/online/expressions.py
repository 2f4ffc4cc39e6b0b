"""Short names for the expressions of measures. narwhals is imported when an expression is made, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import narwhals as nw


def col(name: str) -> nw.Expr:
    """A column."""
    import narwhals as nw

    return nw.col(name)


def lit(value: Any) -> nw.Expr:
    """A constant."""
    import narwhals as nw

    return nw.lit(value)


def where(condition: nw.Expr, value: nw.Expr, otherwise: nw.Expr | None = None) -> nw.Expr:
    """The value where the condition holds; elsewhere the other one, or nothing."""
    import narwhals as nw

    chosen = nw.when(condition).then(value)
    return chosen if otherwise is None else chosen.otherwise(otherwise)


def indicator(condition: nw.Expr) -> nw.Expr:
    """1 where the condition holds, and 0 elsewhere, also where it is unknown."""
    return where(condition, lit(1), lit(0))
