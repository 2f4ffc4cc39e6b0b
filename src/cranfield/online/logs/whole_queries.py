"""What a query is: a user and an id.

A log may have several rows for one query: User Behavior Insights writes one for every request that the search page
sends, most of them without documents. They are one query here, which was asked when its first row was logged; the
documents of all its rows were shown. If several users have a query of the same id, each has a query of their own. The
order of the rows does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cranfield.online.engines.engine import Engine
from cranfield.online.logs.log import PAGE_SIZE
from cranfield.text import counted

KEYS = ("query_id", "user")
SHOWN_TOGETHER = ("query_id", "user", "position", "doc")
"""A document at a position of a query was shown once, however many rows say so."""


@dataclass(frozen=True, eq=False)
class WholeQueries:
    """The queries of a log with a row each, and how the ids of other tables are to be read."""

    engine: Engine
    queries: Any
    """A row per query; the id of a query that shares it with those of other users has the user in it."""
    rows: int = 0
    """Rows that are not the first one of their query."""
    shared: Any = None
    """The ids that several users have, a frame; None if there are none."""
    shared_ids: int = 0

    def documents(self, shown: Any) -> Any:
        """Rows of documents shown, which have the user of their query, each once and with the id of their query."""
        import narwhals as nw

        if self.rows:
            shown = self.engine.keep(shown.group_by(*SHOWN_TOGETHER).agg(nw.col("propensity").min()))
        return self.with_ids(shown)

    def with_ids(self, rows: Any) -> Any:
        """Rows of a table with the ids that the queries have."""
        return rows if self.shared is None else _with_users(rows, self.shared)

    @property
    def single_users(self) -> Any:
        """`query_id`, `_user` and `_session` of each query whose id no other user has."""
        import narwhals as nw

        queries = self.queries.select("query_id", nw.col("user").alias("_user"), nw.col("session").alias("_session"))
        return queries.filter(~nw.col("query_id").is_null())

    def notes(self, events_have_users: bool) -> list[str]:
        """What was taken together, and what was kept apart."""
        notes = []
        if self.rows:
            more = f"{counted(self.rows, 'row')} of queries" if self.rows > 1 else "1 row of queries"
            notes.append(
                f"queries: {more} with the user and the id of an earlier row: they are one query, with the time and "
                "the text of its first row and the documents of all rows"
            )
        if self.shared_ids:
            what = f"queries: several users have {counted(self.shared_ids, 'query id')}: each has a query of their own"
            notes.append(what if events_have_users else f"{what}, and events without a user count for none of them")
        return notes


def whole_queries(engine: Engine, rows: Any) -> WholeQueries:
    """Rows of queries as queries: those with the same user and id are one query."""
    import narwhals as nw

    known = rows.filter(~nw.col("query_id").is_null())
    ids = known.group_by("query_id").agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
    if not engine.fetch(ids.select(nw.len().alias("n")))["n"][0].as_py():
        return WholeQueries(engine, rows)
    rows = rows.drop(PAGE_SIZE) if PAGE_SIZE in rows.columns else rows  # lists of several rows are counted together
    known, nameless = (rows.filter(condition) for condition in _with_and_without_id())
    queries = engine.keep(_taken_together(known))
    extra = _rows(engine, known) - _rows(engine, queries)
    users = queries.group_by("query_id").agg(nw.len().alias("users")).filter(nw.col("users") > 1)
    shared = engine.keep(users.select("query_id"))
    count = _rows(engine, shared)
    whole = WholeQueries(engine, queries, extra, shared if count else None, count)
    together = nw.concat([whole.with_ids(queries).select(*rows.columns), nameless.select(*rows.columns)])
    return WholeQueries(engine, engine.keep(together), extra, whole.shared, count)


def _with_and_without_id() -> tuple[Any, Any]:
    import narwhals as nw

    nameless = nw.col("query_id").is_null()
    return ~nameless, nameless


def _rows(engine: Engine, frame: Any) -> int:
    import narwhals as nw

    return int(engine.fetch(frame.select(nw.len().alias("n")))["n"][0].as_py())


def _taken_together(rows: Any) -> Any:
    """A row per user and id: what the first row says in time, or else the first value in the alphabet."""
    import narwhals as nw

    others = [name for name in rows.columns if name not in (*KEYS, "time")]
    rows = rows.with_columns(nw.col("time").min().over(*KEYS).alias("_first"))
    of_first = [
        nw.when(nw.col("time") == nw.col("_first")).then(nw.col(name)).min().alias(f"_first {name}") for name in others
    ]
    groups = rows.group_by(*KEYS).agg(nw.col("time").min(), *of_first, *(nw.col(name).min() for name in others))
    return groups.select(*KEYS, "time", *(nw.coalesce(f"_first {name}", name).alias(name) for name in others))


def _with_users(rows: Any, shared: Any) -> Any:
    """Rows whose id has the user in it if several users have it; an id without a user stays as it is."""
    import narwhals as nw

    marked = rows.join(shared.with_columns(nw.lit(True).alias("_shared")), on="query_id", how="left")
    own = nw.concat_str(nw.col("query_id"), nw.lit("of user"), nw.col("user"), separator=" ")
    own = nw.when(nw.col("_shared") & ~nw.col("user").is_null()).then(own).otherwise(nw.col("query_id"))
    return marked.with_columns(own.alias("query_id")).drop("_shared")
