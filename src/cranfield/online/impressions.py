"""Documents that were shown, with what was clicked and the topic of the query: the frame that clicks are counted in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.online.logs.log import Log

CLICK = "click"
"""The action that counts as a click."""


def queries_by_topic(log: Log, topics: Mapping[str, str] | None = None) -> Any:
    """`query_id`, `user` and `topic` of every query.

    The topic is the one of `topics` {topic: text} with the text of the query (small and capital letters are the same);
    queries with another text are left out. Without `topics`, it is the text itself, or the query_id if there is none.
    """
    import narwhals as nw

    text = nw.col("text").cast(nw.String)
    if topics is None:
        return log.queries.select("query_id", "user", nw.coalesce(text, nw.col("query_id")).alias("topic"))
    if not topics:
        raise UsageError("topics is empty, must be {topic: text of the query}")
    keys: dict[str, str] = {}
    for topic, written in topics.items():
        key = _folded(written)
        if key in keys:
            raise UsageError(
                f"topics {keys[key]!r} and {topic!r} have the same text {written!r}, so queries are unclear"
            )
        keys[key] = topic
    table = log.engine.read(_table({"_text": list(keys), "topic": list(keys.values())}))
    queries = log.queries.select("query_id", "user", text.str.strip_chars().str.to_lowercase().alias("_text"))
    return queries.join(table, on="_text", how="inner").select("query_id", "user", "topic")


def number_of_queries(log: Log, queries: Any) -> int:
    """How many queries there are, to say how many were left out."""
    import narwhals as nw

    return int(log.engine.fetch(queries.select(nw.len().alias("n"))).to_pylist()[0]["n"])


def shown_with_clicks(log: Log, queries: Any) -> Any:
    """Every document that was shown for these queries: `query_id`, `user`, `topic`, `position`, `doc`, `clicked`.

    `clicked` is 1 if there was at least one click on the document, or at its position if the log does not name the
    document of the click, else 0; further clicks do not count. `propensity` is that of the log.
    """
    import narwhals as nw

    clicks = log.events.filter((nw.col("action") == CLICK) & ~nw.col("query_id").is_null())
    shown = log.shown.join(queries, on="query_id", how="inner")
    for key, nameless in (("doc", False), ("position", True)):
        of_key = clicks.filter(nw.col("doc").is_null() if nameless else ~nw.col("doc").is_null())
        of_key = of_key.filter(~nw.col(key).is_null()).select("query_id", key).unique()
        shown = shown.join(of_key.with_columns(nw.lit(1.0).alias(f"by_{key}")), on=["query_id", key], how="left")
    clicked = nw.coalesce(nw.col("by_doc"), nw.col("by_position")).fill_null(0.0).alias("clicked")
    return shown.select("query_id", "user", "topic", "position", "doc", clicked, "propensity")


def run_table(log: Log, run: Run, depth: int) -> Any:
    """The first documents of each list of a run, as a frame of the engine: `topic`, `doc`, `rank`."""
    topics, docs, ranks = [], [], []
    for topic in run.topics:
        for ranked in run.ranking(topic)[:depth]:
            topics.append(topic)
            docs.append(ranked.doc)
            ranks.append(ranked.rank)
    return log.engine.read(_table({"topic": topics, "doc": docs, "rank": ranks}))


def grades_table(log: Log, qrels: Mapping[str, Mapping[str, float]]) -> Any:
    """The judgments as a frame of the engine: `topic`, `doc`, `grade`."""
    entries = [(topic, doc, float(grade)) for topic, docs in qrels.items() for doc, grade in docs.items()]
    columns = zip(*entries, strict=True) if entries else ((), (), ())
    return log.engine.read(_table(dict(zip(("topic", "doc", "grade"), map(list, columns), strict=True))))


def _table(columns: Mapping[str, list[Any]]) -> Any:
    return need("pyarrow", "reading a log").table(dict(columns))


def _folded(text: str) -> str:
    return text.strip().lower()
