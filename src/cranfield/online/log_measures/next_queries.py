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

from cranfield.online.log_measures.expressions import col, lit, where
from cranfield.online.log_measures.log_signals import ASKED, QUERIES, START
from cranfield.online.log_measures.log_stretches import Stretches, below
from cranfield.online.log_measures.query_texts import NEXT_NUMBER, NEXT_TEXT, TEXT_NUMBER, compare_texts
from cranfield.online.logs.silence import FIRST, parts_of_sessions, whole_sessions

NEXT_FIRST, NEXT_START = "next is first", "next start"


@dataclass(frozen=True, eq=False)
class NextQueries:
    """The stretches of sessions by silence, some of which are a whole session, and the others parts of one."""

    passed: Stretches
    marked: Any
    """Stretches, as `mark_sessions` returns them."""
    compared: bool
    """Whether queries are compared with the next one of the session."""

    @cached_property
    def alone(self) -> Any:
        """The stretches that are a session."""
        return whole_sessions(self.marked)

    @cached_property
    def parts(self) -> Any:
        """The other stretches; with those of the next stretch, if queries are compared. Kept."""
        following = {TEXT_NUMBER: NEXT_NUMBER, FIRST: NEXT_FIRST, START.name: NEXT_START} if self.compared else {}
        engine = self.passed.log.engine
        return engine.keep(parts_of_sessions(self.marked, engine, following))

    @cached_property
    def unsorted_users(self) -> Any:
        """The users whose rows are not in order, without the one that stands for rows without a user; None if none."""
        single = (col(QUERIES.name) == 1) & (col(START.name) == col(ASKED.name)) & ~self.passed.torn()
        odd = self.passed.whole.filter(~single).select("user")
        ties = self.parts.filter(col(NEXT_START) == col(START.name)).select("user")
        users = self.passed.log.engine.keep(below([odd, ties]).filter(~col("user").is_null()).unique())
        import narwhals as nw

        count = self.passed.log.engine.fetch(users.select(n=nw.len()))["n"][0].as_py()
        return users if count else None

    def queries(self, names: Sequence[str]) -> Any:
        """The queries of users whose rows are in order: some columns, `next similarity` and `last query`."""
        import narwhals as nw

        alone = self._in_order(self.alone).select(
            *names, nw.lit(None, dtype=nw.Float64()).alias("next similarity"), lit(True).alias("last query")
        )
        goes_on = (~col(NEXT_FIRST)).fill_null(False)
        pair = [TEXT_NUMBER, NEXT_NUMBER]
        similarities = self._similarities(self.parts.filter(goes_on).select(*pair).unique())
        rows = self._in_order(self.parts).join(similarities, on=pair, how="left")
        similarity = where(goes_on, col("next similarity")).alias("next similarity")
        parts = rows.select(*names, similarity, (~goes_on).alias("last query"))
        return below([alone, parts])

    def _in_order(self, rows: Any) -> Any:
        known = rows.filter(~col("user").is_null())
        return known if self.unsorted_users is None else known.join(self.unsorted_users, on="user", how="anti")

    def _similarities(self, pairs: Any) -> Any:
        """Pairs of numbers of texts with the similarity of the texts; kept."""
        texts, engine = self.passed.numbered_texts, self.passed.log.engine
        following = texts.select(col(TEXT_NUMBER).alias(NEXT_NUMBER), col("text").alias(NEXT_TEXT))
        rows = pairs.join(texts, on=TEXT_NUMBER, how="left").join(following, on=NEXT_NUMBER, how="left")
        return engine.keep(compare_texts(rows, engine).select(TEXT_NUMBER, NEXT_NUMBER, "next similarity"))
