"""The texts of queries: which are the same, and how similar a query is to the next one of its session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.online.log_measures.expressions import col
from cranfield.online.log_measures.log_signals import ASKED

if TYPE_CHECKING:
    import narwhals as nw


def normal_text(column: str) -> nw.Expr:
    """A text in lower case, with single blanks; nothing for a text of blanks."""
    import narwhals as nw

    text = col(column).str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars(" ")
    return nw.when(text != "").then(text)


def number_of_words(text: nw.Expr) -> nw.Expr:
    """The number of different words in a text with single blanks."""
    return text.str.split(" ").list.unique().list.len()


def add_words(queries: Any) -> Any:
    """Queries with the number of their different `words`."""
    return queries.with_columns(words=number_of_words(col("text")))


def add_similarity(queries: Any) -> Any:
    r"""Queries with their similarity to the next query of the session, and whether they are the `last query` of it.

    .. math:: \frac{|A \cap B|}{|A \cup B|} = \frac{|A| + |B| - |A \cup B|}{|A \cup B|}

    The words of both texts together are the words of one text after the other.
    """
    import narwhals as nw

    order = [ASKED.name, "query_id"]
    rows = queries.with_columns(
        col("text").shift(-1).over("user", "session", order_by=order).alias("next text"),
        col("query_id").shift(-1).over("user", "session", order_by=order).alias("next query"),
    )
    both = nw.concat_str([col("text"), col("next text")], separator=" ")
    rows = rows.with_columns(
        number_of_words(col("text")).alias("own words"),
        number_of_words(col("next text")).alias("next words"),
        number_of_words(both).alias("all words"),
        col("next query").is_null().alias("last query"),
    )
    shared = col("own words") + col("next words") - col("all words")
    return rows.with_columns((shared / col("all words")).alias("next similarity")).drop(
        "own words", "next words", "all words", "next text", "next query"
    )


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
