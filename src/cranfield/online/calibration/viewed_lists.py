"""What readers saw of each list: down to their last click, with the grades of the documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.errors import DataError
from cranfield.frames import need
from cranfield.online.impressions import grades_table, number_of_queries, queries_by_topic, shown_with_clicks
from cranfield.online.logs.log import Log
from cranfield.text import counted


@dataclass(frozen=True, eq=False)
class ViewedLists:
    """The lists of queries with at least one click, read down to the last click.

    Readers are taken to go down the list and to have looked at every document down to their last click; what they did
    below it the log does not say.
    """

    log: Log
    documents: Any
    """A row per document down to the last click: `query_id`, `user`, `topic`, `position`, `doc`, `clicked`, `last`
    (the position of the last click), `length` (of the list), `stop` (1 at the last click, else 0), and `grade` if there
    are judgments; documents without a judgment are then left out."""
    seen: Any
    """The same, with the documents that have no judgment: how long readers take does not depend on judgments."""
    grades: tuple[float, ...]
    """The grades of documents that were seen; empty without judgments."""
    notes: tuple[str, ...]


def viewed_lists(
    log: Log, qrels: Mapping[str, Mapping[str, float]] | None = None, topics: Mapping[str, str] | None = None
) -> ViewedLists:
    """The documents that readers saw, and how many queries and documents tell nothing."""
    nw = need("narwhals", "calibrate")
    engine = log.engine
    queries = engine.keep(queries_by_topic(log, topics))
    notes = []
    if topics is not None and (lost := number_of_queries(log, log.queries) - number_of_queries(log, queries)):
        notes.append(f"{counted(lost, 'query', 'queries')} left out, with texts that no topic has")
    shown = engine.keep(shown_with_clicks(log, queries).filter(~nw.col("position").is_null()))
    depths = engine.keep(
        shown.with_columns((nw.col("position") * nw.col("clicked")).alias("_at"))
        .group_by("query_id")
        .agg(nw.col("position").max().alias("length"), nw.col("_at").max().cast(nw.Int64).alias("last"))
    )
    silent = nw.when(nw.col("last") == 0).then(nw.lit(1)).otherwise(nw.lit(0))
    facts = engine.fetch(depths.select(nw.len().alias("lists"), silent.sum().alias("silent"))).to_pylist()[0]
    origin = log.origin or "log"
    if not facts["lists"]:
        raise DataError(origin, None, "no documents were shown for these queries, so that there is nothing to learn")
    if facts["silent"] == facts["lists"]:
        raise DataError(origin, None, f"none of the {facts['lists']:,} lists has a click, so nothing can be learned")
    notes.insert(0, f"{counted(facts['lists'] - facts['silent'], 'list')} with clicks, read down to the last click")
    if facts["silent"]:
        notes.append(f"{counted(facts['silent'], 'list')} without clicks left out: how far they were read is unknown")
    seen = (
        shown.join(depths.filter(nw.col("last") > 0), on="query_id", how="inner")
        .filter(nw.col("position") <= nw.col("last"))
        .with_columns(nw.when(nw.col("position") == nw.col("last")).then(1.0).otherwise(0.0).alias("stop"))
    )
    if qrels is None:
        kept = engine.keep(seen)
        return ViewedLists(log, kept, kept, (), tuple(notes))
    seen = engine.keep(seen.join(grades_table(log, qrels), on=["topic", "doc"], how="left"))
    unjudged = nw.when(nw.col("grade").is_null()).then(nw.lit(1)).otherwise(nw.lit(0))
    counts = engine.fetch(seen.select(nw.len().alias("seen"), unjudged.sum().alias("unjudged"))).to_pylist()[0]
    if counts["unjudged"] == counts["seen"]:
        raise DataError(
            origin, None,
            f"none of the {counts['seen']:,} documents that were seen is judged; are the topics of the judgments those "
            "of the log? Give the texts of the topics: topics=",
        )  # fmt: skip
    if counts["unjudged"]:
        share = counts["unjudged"] / counts["seen"]
        notes.append(f"{counted(counts['unjudged'], 'document')} seen without a judgment left out ({share:.1%})")
    judged = engine.keep(seen.filter(~nw.col("grade").is_null()))
    grades = engine.fetch(judged.select("grade").unique().sort("grade")).column("grade").to_pylist()
    return ViewedLists(log, judged, seen, tuple(map(float, grades)), tuple(notes))
