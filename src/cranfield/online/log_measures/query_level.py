"""Online measures of the texts of queries: how often they come again, and how similar they are within a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.online.log_measures.expressions import col, indicator
from cranfield.online.log_measures.online_measure import NO_TEXTS, Evidence, OnlineMeasure, online_measure

if TYPE_CHECKING:
    import narwhals as nw


class _Query(OnlineMeasure):
    """The share of queries with a property; queries without a text do not count."""

    level = "query"
    unit = "share of queries"
    column = ""

    def evidence(self) -> tuple[Evidence, ...]:
        return (NO_TEXTS,)

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
class QuerySimilarity(OnlineMeasure):
    r"""Mean similarity of a query and the next one in the session: the Jaccard coefficient of their sets of words.

    .. math:: \frac{1}{n} \sum \frac{|W(q_i) \cap W(q_{i+1})|}{|W(q_i) \cup W(q_{i+1})|}

    n is the number of queries that have a next one. Similar queries show other phrasings of one information need.
    Reference: IR Evaluation, course notes 2015, §4.1, uses of query logs
    """

    name = "query-similarity"
    level = "query"
    unit = "Jaccard coefficient"
    needs = frozenset({"sessions", "similarity"})

    def evidence(self) -> tuple[Evidence, ...]:
        return (NO_TEXTS,)

    def numerator(self) -> nw.Expr:
        return col("next similarity")

    def denominator(self) -> nw.Expr:
        return indicator(~col("next similarity").is_null())


@online_measure
class WordsPerQuery(OnlineMeasure):
    r"""Mean number of different words in a query.

    .. math:: \frac{1}{|Q|} \sum_q |W(q)|

    Reference: IR Evaluation, course notes 2015, §4.1, uses of query logs
    """

    name = "words-per-query"
    level = "query"
    unit = "words"
    needs = frozenset({"words"})

    def evidence(self) -> tuple[Evidence, ...]:
        return (NO_TEXTS,)

    def numerator(self) -> nw.Expr:
        return col("words")

    def denominator(self) -> nw.Expr:
        return indicator(~col("words").is_null())
