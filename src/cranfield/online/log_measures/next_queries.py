"""The next query of a session, from the sort that finds the sessions, for users whose log is in order.

The log of a user is in order if each stretch is a query that was asked before its events, and no two were asked at the
same time. Then the next stretch of a session is its next query. Most users are like that; the rows of the others are
sorted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cranfield.online.log_measures.expressions import col
from cranfield.online.log_measures.log_signals import ASKED, QUERIES, START
from cranfield.online.log_measures.log_stretches import Stretches, below
from cranfield.online.log_measures.query_texts import NEXT_NUMBER, NEXT_TEXT, TEXT_NUMBER, compare_texts
from cranfield.online.logs.silence import FIRST, LAST

NEXT_START = "next start"
FOLLOWING = {TEXT_NUMBER: NEXT_NUMBER, START.name: NEXT_START}
"""What is needed of the next stretch of a session, for `mark_sessions`."""


@dataclass(frozen=True, eq=False)
class NextQueries:
    """The stretches of sessions by silence, each beside the next one of its session."""

    passed: Stretches
    marked: Any
    """Stretches, as `mark_sessions` returns them with what is `FOLLOWING`."""

    @cached_property
    def unsorted_users(self) -> Any:
        """The users whose rows are not in order, without the one that stands for rows without a user; None if none."""
        single = (col(QUERIES.name) == 1) & (col(START.name) == col(ASKED.name)) & ~self.passed.torn()
        odd = self.passed.whole.filter(~single).select("user")
        ties = self.marked.filter(col(NEXT_START) == col(START.name)).select("user")
        users = self.passed.log.engine.keep(below([odd, ties]).filter(~col("user").is_null()).unique())
        import narwhals as nw

        count = self.passed.log.engine.fetch(users.select(n=nw.len()))["n"][0].as_py()
        return users if count else None

    def queries(self, names: Sequence[str]) -> Any:
        """The queries of users whose rows are in order: some columns, the similarity, and which are first or last."""
        pair = [TEXT_NUMBER, NEXT_NUMBER]
        similarities = self._similarities(self.marked.filter(~col(NEXT_NUMBER).is_null()).select(*pair).unique())
        rows = self._in_order(self.marked.join(similarities, on=pair, how="left"))
        ends = {"first query": col(FIRST), "last query": col(LAST)}
        return rows.select(*names, "next similarity", **ends)

    def _in_order(self, rows: Any) -> Any:
        known = rows.filter(~col("user").is_null())
        return known if self.unsorted_users is None else known.join(self.unsorted_users, on="user", how="anti")

    def _similarities(self, pairs: Any) -> Any:
        """Pairs of numbers of texts with the similarity of the texts; kept."""
        texts, engine = self.passed.numbered_texts, self.passed.log.engine
        following = texts.select(col(TEXT_NUMBER).alias(NEXT_NUMBER), col("text").alias(NEXT_TEXT))
        rows = pairs.join(texts, on=TEXT_NUMBER, how="left").join(following, on=NEXT_NUMBER, how="left")
        return engine.keep(compare_texts(rows, engine).select(TEXT_NUMBER, NEXT_NUMBER, "next similarity"))
