"""The texts of queries: which are the same, and how similar a query is to the next one of its session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.online.engines.engine import Engine
from cranfield.online.log_measures.expressions import col, lit, where
from cranfield.online.log_measures.log_signals import ASKED

if TYPE_CHECKING:
    import narwhals as nw


def normal_text(column: str) -> nw.Expr:
    """A text in lower case, with single blanks; nothing for a text of blanks."""
    import narwhals as nw

    low = col(column).str.to_lowercase()
    text = low.str.replace_all(r"\s+", " ").str.strip_chars(" ")
    # Most texts are in order already, which is cheaper to see than to do
    untidy = low.str.contains(r"^\s|\s$|\s\s|[^\S ]") | (low == "")
    return nw.when(untidy).then(nw.when(text != "").then(text)).otherwise(low)


def add_words(queries: Any, engine: Engine) -> Any:
    """Queries with the number of their different `words`."""
    return engine.select(queries, {"words": engine.dialect.different_words(engine.quote("text"))}, add=True)


def add_similarity(queries: Any, engine: Engine) -> Any:
    r"""Queries with their similarity to the next query of the session, and whether they are the `last query` of it.

    .. math:: \frac{|A \cap B|}{|A \cup B|} = \frac{|A| + |B| - |A \cup B|}{|A \cup B|}

    The words of both texts together are the words of one text after the other.
    """
    order = [ASKED.name, "query_id"]
    rows = queries.with_columns(
        col("text").shift(-1).over("user", "session", order_by=order).alias("next text"),
        col("query_id").shift(-1).over("user", "session", order_by=order).alias("next query"),
    )
    own, following = engine.quote("text"), engine.quote("next text")
    texts = {"own words": own, "next words": following, "all words": f"concat({own}, ' ', {following})"}
    # Most queries are the last one of a session, or have the text of the next one: no words are counted for these
    counts = {name: engine.dialect.different_words(text) for name, text in texts.items()}
    rows = engine.select(
        rows, {name: f"CASE WHEN {own} <> {following} THEN {count} END" for name, count in counts.items()}, add=True
    )
    shared = (col("own words") + col("next words") - col("all words")) / col("all words")
    return rows.with_columns(
        where(col("text") == col("next text"), lit(1.0), shared).alias("next similarity"),
        col("next query").is_null().alias("last query"),
    ).drop("own words", "next words", "all words", "next text", "next query")


def add_repeats(queries: Any) -> Any:
    """Queries with whether their text was asked before: `repeated` by anybody, `repeated by user`."""
    order = [ASKED.name, "query_id"]
    rows = queries.with_columns(
        col("query_id").shift(1).over("text", order_by=order).alias("earlier"),
        col("query_id").shift(1).over("text", "user", order_by=order).alias("own earlier"),
    )
    import narwhals as nw

    known = ~col("text").is_null()
    return rows.with_columns(
        nw.when(known).then(~col("earlier").is_null()).alias("repeated"),
        nw.when(known).then(~col("own earlier").is_null()).alias("repeated by user"),
    ).drop("earlier", "own earlier")
