"""Short names for the expressions of measures, and narwhals, which is imported when it is used, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["col", "indicator", "lit", "nw", "where"]

if TYPE_CHECKING:
    import narwhals as nw
else:

    class _Narwhals:
        """The package narwhals."""

        def __getattr__(self, name: str) -> Any:
            import narwhals

            return self.__dict__.setdefault(name, getattr(narwhals, name))

    nw = _Narwhals()


def col(name: str) -> nw.Expr:
    """A column."""
    return nw.col(name)


def lit(value: Any) -> nw.Expr:
    """A constant."""
    return nw.lit(value)


def where(condition: nw.Expr, value: nw.Expr, otherwise: nw.Expr | None = None) -> nw.Expr:
    """The value where the condition holds; elsewhere the other one, or null."""
    chosen = nw.when(condition).then(value)
    return chosen if otherwise is None else chosen.otherwise(otherwise)


def indicator(condition: nw.Expr) -> nw.Expr:
    """1 where the condition holds, and 0 elsewhere, also where it is unknown."""
    return where(condition, lit(1), lit(0))
