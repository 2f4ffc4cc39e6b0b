"""The texts of queries, and online measures of them: how often they come again, how similar they are in a session."""

from __future__ import annotations

from typing import Any

from cranfield.online.engines.engine import Engine
from cranfield.online.expressions import col, indicator, lit, nw, where
from cranfield.online.log_measures.log_signals import ASKED
from cranfield.online.log_measures.online_measure import NO_TEXTS, MeanOfRows, OnlineMeasure, online_measure

NEXT_TEXT, NEXT_QUERY = "next text", "next query"
"""The text and the id of the next query of a session."""
TEXT_NUMBER, NEXT_NUMBER = "text number", "next text number"
"""A number of 64 bits per text: cheaper to sort. The same text has the same number."""


def normal_text(column: str) -> nw.Expr:
    """A text in lower case, with single blanks; nothing for a text of blanks."""
    low = col(column).str.to_lowercase()
    text = low.str.replace_all(r"\s+", " ").str.strip_chars(" ")
    # Most texts are in order already, which is cheaper to see than to do
    untidy = low.str.contains(r"^\s|\s$|\s\s|[^\S ]") | (low == "")
    return nw.when(untidy).then(nw.when(text != "").then(text)).otherwise(low)


def add_words(queries: Any, engine: Engine) -> Any:
    """Queries with the number of their different `words`."""
    return engine.select(queries, {"words": engine.dialect.different_words(engine.quote("text"))}, add=True)


def add_similarity(queries: Any, engine: Engine) -> Any:
    """Queries with their similarity to the next query of the session, and whether they are its first or last one.

    The queries of a session are in the order of time, and of their ids.
    """
    order = [ASKED.name, "query_id"]
    queries = queries.with_columns(
        col("text").shift(-1).over("user", "session", order_by=order).alias(NEXT_TEXT),
        col("query_id").shift(-1).over("user", "session", order_by=order).alias(NEXT_QUERY),
        col("query_id").shift(1).over("user", "session", order_by=order).is_null().alias("first query"),
    )
    rows = compare_texts(queries, engine)
    return rows.with_columns(col(NEXT_QUERY).is_null().alias("last query")).drop(NEXT_TEXT, NEXT_QUERY)


def compare_texts(rows: Any, engine: Engine) -> Any:
    r"""Rows with the similarity of their `text` and `next text`.

    .. math:: \frac{|A \cap B|}{|A \cup B|} = \frac{|A \cap B|}{|A| + |B| - |A \cap B|}
    """
    own, following = engine.quote("text"), engine.quote(NEXT_TEXT)
    # Most queries are the last one of a session, or have the text of the next one: no words are counted for these
    shared = f"CASE WHEN {own} <> {following} THEN {engine.dialect.shared_words(own, following)} END"
    rows = engine.select(rows, {"shared words": shared}, add=True)
    counts = {"own words": own, "next words": following}
    some = f"{engine.quote('shared words')} > 0"
    rows = engine.select(
        rows,
        {name: f"CASE WHEN {some} THEN {engine.dialect.different_words(text)} END" for name, text in counts.items()},
        add=True,
    )
    both = col("shared words")
    similarity = where(both == 0, lit(0.0), both / (col("own words") + col("next words") - both))
    return rows.with_columns(where(col("text") == col(NEXT_TEXT), lit(1.0), similarity).alias("next similarity")).drop(
        "shared words", "own words", "next words"
    )


def add_repeats(queries: Any) -> Any:
    """Queries with whether their text was asked before: `repeated` by anybody, `repeated by user`."""
    order = [ASKED.name, "query_id"]
    rows = queries.with_columns(
        col("query_id").shift(1).over("text", order_by=order).alias("earlier"),
        col("query_id").shift(1).over("text", "user", order_by=order).alias("own earlier"),
    )
    known = ~col("text").is_null()
    return rows.with_columns(
        nw.when(known).then(~col("earlier").is_null()).alias("repeated"),
        nw.when(known).then(~col("own earlier").is_null()).alias("repeated by user"),
    ).drop("earlier", "own earlier")


class _Query(OnlineMeasure):
    """The share of queries with a property; queries without a text do not count."""

    level = "query"
    unit = "share of queries"
    column = ""
    requires = (NO_TEXTS,)

    def numerator(self) -> nw.Expr:
        return indicator(col(self.column))

    def denominator(self) -> nw.Expr:
        return indicator(~col(self.column).is_null())


@online_measure
class Repetition(_Query):
    r"""Share of queries whose text was asked before in the log, by anybody.

    .. math:: \frac{\text{queries with an earlier query of the same text}}{|Q|}

    Texts are compared in lower case, with single blanks. Such queries can be answered from a cache.
    Reference: IR Evaluation, course notes 2015, §4.1, uses of query logs
    """

    name = "repetition"
    needs = frozenset({"repeats"})
    column = "repeated"


@online_measure
class SelfRepetition(_Query):
    r"""Share of queries whose text the same user asked before in the log.

    .. math:: \frac{\text{queries with an earlier query of the same user and text}}{|Q|}

    Texts are compared in lower case, with single blanks. The ranking of such queries can use what the user clicked.
    Reference: IR Evaluation, course notes 2015, §4.1, uses of query logs
    """

    name = "self-repetition"
    needs = frozenset({"repeats"})
    column = "repeated by user"


@online_measure
class QuerySimilarity(MeanOfRows):
    r"""Mean similarity of a query and the next one in the session: the Jaccard coefficient of their sets of words.

    .. math:: \frac{1}{n} \sum \frac{|W(q_i) \cap W(q_{i+1})|}{|W(q_i) \cup W(q_{i+1})|}

    n is the number of queries that have a next one. Similar queries show other phrasings of one information need.
    Reference: IR Evaluation, course notes 2015, §4.1, uses of query logs
    """

    name = "query-similarity"
    level = "query"
    unit = "Jaccard coefficient"
    needs = frozenset({"sessions", "similarity"})
    requires = (NO_TEXTS,)

    def numerator(self) -> nw.Expr:
        return col("next similarity")


@online_measure
class WordsPerQuery(MeanOfRows):
    r"""Mean number of different words in a query.

    .. math:: \frac{1}{|Q|} \sum_q |W(q)|

    Reference: IR Evaluation, course notes 2015, §4.1, uses of query logs
    """

    name = "words-per-query"
    level = "query"
    unit = "words"
    needs = frozenset({"words"})
    requires = (NO_TEXTS,)

    def numerator(self) -> nw.Expr:
        return col("words")
