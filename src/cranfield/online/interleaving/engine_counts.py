"""Count wins on an engine: attribution records are joined with clicks there, and only counts come to Python."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from operator import or_
from typing import Any

import numpy as np

from cranfield.collection.column_names import find_columns, no_column
from cranfield.errors import UsageError
from cranfield.online.engines.engine import Engine, without_skip
from cranfield.online.expressions import nw
from cranfield.online.interleaving.attribution_log import CLICK_COLUMNS
from cranfield.online.interleaving.mixing_methods import MixingMethod
from cranfield.online.interleaving.preference_counts import CLOSE, ClusterCounts, CreditMoments, PreferenceCounts
from cranfield.online.logs.log import Log
from cranfield.text import counted, listed

IDS = ("query_id", "user", "query")
NAME = "count_on_engine"


@without_skip()
def count_on_engine(engine: Engine, records: Any, clicks: Any = None) -> PreferenceCounts:
    """Count who won each logged list, as `count_logged` does, for logs that are too large for Python.

    records: attribution records with a `query_id`, and `user` and `query` if known: JSON-lines, Parquet, or a frame.
    clicks: a table of clicks with columns `query_id`, and `doc` or `position`; a `Log`; or None if the records hold
    `clicks`. With a `Log`, users and queries that the records lack come from there.

    Pairwise preference compares all documents of a list with each other, which only `count_logged` can.
    """
    frame = engine.read(records, text=IDS)
    names = frame.collect_schema().names()
    for needed in ("query_id", "method", "systems", "shown"):
        if needed not in names:
            raise UsageError(f"{NAME}: {no_column(needed, names, [needed])}")
    names = [name for name in (*IDS, "method", "systems", "shown", "clicks") if name in names]
    _check_types(frame)
    frame = engine.keep(frame.select(*names))  # read once, used several times
    kind, notes = _kind(engine, frame)
    systems = _systems(engine, frame)
    frame, known = _with_ids(frame, names, clicks)
    clicked = _clicks(engine, frame, names, clicks)
    places = _places(frame, len(systems), "ranks" if kind == "balanced" else "credit")
    key = "doc" if "doc" in clicked.collect_schema().names() else "position"
    joined = places.join(clicked.with_columns(clicked=nw.lit(1)), on=["query_id", key], how="left")
    sums = _balanced(joined) if kind == "balanced" else _worth(joined, len(systems))
    credit = [f"c{number}" for number in range(len(systems))]
    impressions = engine.keep(
        frame.select("query_id", *known)
        .join(sums, on="query_id", how="left")
        .with_columns(*(nw.col(name).fill_null(0.0) for name in credit))
    )
    notes += _about(engine, frame, impressions, places, clicked, key)
    _check_places(engine, places, len(systems))
    clusters: dict[str, list[str]] = {"user": [], "query": []}
    for name in known:
        lacking = engine.count(impressions.filter(nw.col(name).is_null()))
        if lacking:
            notes.append(f"{counted(lacking, 'list')} without a {name}, so no counts by {name}")
        else:
            clusters[name] = [name]
    totals, by = _counted(engine, impressions, len(systems), clusters)
    unit = (clusters["user"] or ["query_id"])[0]
    moments = tuple(_moments(engine, impressions, i, j, unit) for i, j in combinations(range(len(systems)), 2))
    return PreferenceCounts(systems, by["user"], by["query"], totals, moments, tuple(notes))


def _kind(engine: Engine, frame: Any) -> tuple[str, list[str]]:
    """How clicks count, and a note with the methods."""
    methods = sorted(engine.fetch(frame.select("method").unique())["method"].to_pylist())
    if not methods:
        raise UsageError(f"{NAME}: no records")
    kinds = {MixingMethod.of(method).family.credit for method in methods}
    if kinds != {"worth"} and len(kinds) > 1:
        raise UsageError(f"{NAME}: records of {listed(methods)}, whose clicks count differently; analyse them apart")
    if "pairwise" in kinds:
        raise UsageError(f"{NAME}: records of pairwise, which an engine cannot count; count them without an engine")
    return kinds.pop(), [f"method{'s' if len(methods) > 1 else ''}: {listed(methods)}"]


def _systems(engine: Engine, frame: Any) -> tuple[str, ...]:
    """The systems of all records, which must be the same, in the same order."""
    systems = tuple(engine.fetch(frame.select("systems").head(1))["systems"][0].as_py())
    if len(set(systems)) < max(2, len(systems)):
        raise UsageError(f"{NAME}: records of the systems {listed(systems)}; two or more different ones are needed")
    column = nw.col("systems")
    differ = reduce(or_, (column.list.get(number) != name for number, name in enumerate(systems)))
    others = engine.count(frame.filter((column.list.len() != len(systems)) | differ))
    if others:
        raise UsageError(
            f"{NAME}: {counted(others, 'record')} of other systems than {listed(systems)}; analyse them apart"
        )
    return systems


def _with_ids(frame: Any, names: list[str], clicks: Any) -> tuple[Any, list[str]]:
    """The records with users and queries, and which of both are known."""
    if isinstance(clicks, Log):
        of_log = clicks.queries.select("query_id", "user", "text").rename({"text": "query"})
        lacking = [name for name in ("user", "query") if name not in names]
        if lacking:
            frame = frame.join(of_log.select("query_id", *lacking), on="query_id", how="left")
        return frame, ["user", "query"]
    return frame, [name for name in ("user", "query") if name in names]


def _clicks(engine: Engine, frame: Any, names: list[str], clicks: Any) -> Any:
    """Different clicks: query_id, and doc or position."""
    if clicks is None:
        if "clicks" not in names:
            raise UsageError(f"{NAME}: the records have no 'clicks'; give clicks=")
        inline = frame.select("query_id", "clicks").explode("clicks")
        inline = inline.filter(~nw.col("clicks").is_null())
        kind = inline.collect_schema()["clicks"]
        if "JSON" in engine.column_types(inline)["clicks"].upper() and engine.count(inline):
            raise UsageError(
                f"{NAME}: 'clicks' holds values of several kinds, expected documents, or positions from 1 on"
            )
        if kind == nw.String:
            return inline.rename({"clicks": "doc"}).unique()
        if not kind.is_integer() and engine.count(inline):
            raise UsageError(f"{NAME}: 'clicks' holds lists of {kind}, expected documents, or positions from 1 on")
        inline = inline.select("query_id", nw.col("clicks").cast(nw.Int64).alias("position"))
        _check_clicks(engine, inline, "position")
        return inline.unique()
    texts = (*CLICK_COLUMNS["query_id"], *CLICK_COLUMNS["doc"])
    events = clicks.events if isinstance(clicks, Log) else engine.read(clicks, text=texts)
    columns = events.collect_schema().names()
    named = {role: columns[place] for role, place in find_columns(columns, CLICK_COLUMNS).items()}
    if "query_id" not in named or not {"doc", "position"} & set(named):
        raise UsageError(
            f"{NAME}: the clicks have columns {listed(columns)}; there is no query_id, or no doc or position"
        )
    if "action" in named:
        events = events.filter(nw.col(named["action"]).str.to_lowercase() == "click")
    key = "doc" if "doc" in named else "position"
    kind = nw.String if key == "doc" else nw.Int64
    if key == "position" and not events.collect_schema()[named[key]].is_numeric() and engine.count(events):
        raise UsageError(f"{NAME}: column {named[key]!r} of the clicks holds text, must hold positions from 1 on")
    wanted = events.select(
        nw.col(named["query_id"]).cast(nw.String).alias("query_id"), nw.col(named[key]).cast(kind).alias(key)
    )
    if not isinstance(clicks, Log):
        _check_clicks(engine, wanted, key)
    return wanted.filter(~nw.col("query_id").is_null() & ~nw.col(key).is_null()).unique()


def _check_clicks(engine: Engine, clicks: Any, key: str) -> None:
    """Raise an error if a click has no query_id or no document, or a position below 1."""
    wrong = nw.col("query_id").is_null() | nw.col(key).is_null()
    if key == "position":
        wrong = wrong | (nw.col(key) < 1)
    number = engine.count(clicks.filter(wrong))
    if number:
        expected = "a document" if key == "doc" else "a position from 1 on"
        example = engine.row(clicks.filter(wrong).sort("query_id", key, nulls_last=True).head(1))
        raise UsageError(
            f"{NAME}: {counted(number, 'click')} without a query_id or without {expected}, such as "
            f"query_id {example['query_id']!r}, {key} {example[key]!r}; correct the clicks or leave them out"
        )


def _places(frame: Any, systems: int, field: str) -> Any:
    """A row per document shown: query_id, doc, position, team, and v0, v1, ... of each system."""
    shown = nw.col("shown").struct
    exploded = frame.select("query_id", "shown").explode("shown")
    named = exploded.select(
        "query_id",
        shown.field("doc").cast(nw.String).alias("doc"),
        shown.field("position").cast(nw.Int64).alias("position"),
        shown.field("team").alias("team"),
        shown.field(field).list.len().alias("values"),
        *(shown.field(field).list.get(number).cast(nw.Float64).alias(f"v{number}") for number in range(systems)),
    )
    return named.filter(~nw.col("doc").is_null())


def _check_types(frame: Any) -> None:
    """Raise an error unless the columns hold lists as attribution records have them."""
    schema = frame.collect_schema()
    expected = {"systems": "a list of names", "shown": "a list of documents with position, team, credit and ranks"}
    if "clicks" in schema:
        expected["clicks"] = "a list of documents or positions"
    for name, what in expected.items():
        kind = schema[name]
        right = isinstance(kind, nw.List) and (name != "shown" or isinstance(kind.inner, nw.Struct))
        if not right:
            raise UsageError(f"{NAME}: {name!r} holds {kind}, expected {what}")


def _check_places(engine: Engine, places: Any, systems: int) -> None:
    """Raise an error if lists show a document twice, leave out a position, or lack the credit of a system."""
    finite = [nw.col(f"v{number}").is_finite() for number in range(systems)]
    known = nw.all_horizontal(*finite, nw.col("values") == systems, ignore_nulls=False).fill_null(False)
    n, place = nw.col("n"), nw.col("position")
    lists = places.with_columns(known=known.cast(nw.Int64)).group_by("query_id").agg(
        nw.len().alias("n"), place.min().alias("first"), place.max().alias("last"),
        place.n_unique().alias("places"), nw.col("doc").n_unique().alias("docs"), nw.col("known").sum(),
    )  # fmt: skip
    lists = engine.keep(lists)
    for problem, wrong in (
        ("show a document twice", nw.col("docs") != n),
        (
            "have positions that are not 1, 2, 3 and so on",
            (nw.col("first") != 1) | (nw.col("last") != n) | (nw.col("places") != n),
        ),
        ("have a credit or rank for some systems only", nw.col("known") != n),
    ):
        faulty = lists.filter(wrong)
        if number := engine.count(faulty):
            example = engine.fetch(faulty.select("query_id").sort("query_id").head(1))["query_id"][0].as_py()
            raise UsageError(f"{NAME}: {counted(number, 'record')} {problem}, such as query_id {example!r}")


def _worth(joined: Any, systems: int) -> Any:
    """query_id, c0, c1, ...: the sum of the worths of clicked places."""
    clicked = joined.filter(~nw.col("clicked").is_null())
    return clicked.group_by("query_id").agg(*(nw.col(f"v{n}").sum().alias(f"c{n}") for n in range(systems)))


def _balanced(joined: Any) -> Any:
    """query_id, c0, c1: clicked documents among the first k of each system; k is the best rank of the lowest click."""
    clicked = joined.filter(~nw.col("clicked").is_null() & ~nw.col("team").is_null())
    lowest = clicked.group_by("query_id").agg(nw.col("position").max())
    ranks = [nw.when(nw.col(name) > 0).then(nw.col(name)) for name in ("v0", "v1")]
    k = clicked.join(lowest, on=["query_id", "position"]).select("query_id", nw.min_horizontal(*ranks).alias("k"))
    within = {
        f"c{n}": ((nw.col(f"v{n}") > 0) & (nw.col(f"v{n}") <= nw.col("k"))).cast(nw.Int64).cast(nw.Float64)
        for n in (0, 1)
    }
    counts = clicked.join(k, on="query_id").with_columns(**within)
    return counts.group_by("query_id").agg(nw.col("c0").sum(), nw.col("c1").sum())


def _about(engine: Engine, frame: Any, impressions: Any, places: Any, clicked: Any, key: str) -> list[str]:
    """Notes on clicks that do not count; an error if a query_id is repeated."""
    repeated = frame.group_by("query_id").agg(nw.len().alias("n")).filter(nw.col("n") > 1)
    first = engine.fetch(repeated.sort("query_id").head(1))
    if len(first):
        number = first["n"][0].as_py()
        raise UsageError(f"{NAME}: query_id {first['query_id'][0].as_py()!r} is in {number} records, must be in one")
    known = frame.select("query_id")
    unknown = engine.count(clicked.join(known, on="query_id", how="anti"))
    of_lists = clicked.join(known, on="query_id", how="semi")
    not_shown = engine.count(of_lists.join(places.select("query_id", key), on=["query_id", key], how="anti"))
    notes = []
    if not_shown:
        notes.append(f"{counted(not_shown, 'click')} on documents that were not shown left out")
    if unknown:
        notes.append(f"{counted(unknown, 'click')} of lists without a record left out")
    credit = [
        nw.col(name) != 0 for name in impressions.collect_schema().names() if name[0] == "c" and name[1:].isdigit()
    ]
    whole, with_click = engine.count(impressions), engine.count(impressions.filter(reduce(or_, credit)))
    return [*notes, f"{counted(with_click, 'list')} of {whole:,} with a click that counts"]


def _moments(engine: Engine, impressions: Any, i: int, j: int, unit: str) -> CreditMoments:
    """The difference in credit of two systems, by user or by impression."""
    gap = impressions.with_columns(gap=nw.col(f"c{i}") - nw.col(f"c{j}"))
    of_unit = gap.group_by(unit).agg(nw.col("gap").sum(), nw.len().cast(nw.Float64).alias("size"))
    sums = engine.row(
        of_unit.select(
            nw.len().alias("clusters"), nw.col("size").sum().alias("impressions"),
            nw.col("gap").sum().alias("difference"),
            (nw.col("gap") * nw.col("gap")).sum().alias("squares"),
            (nw.col("gap") * nw.col("size")).sum().alias("products"),
            (nw.col("size") * nw.col("size")).sum().alias("sizes"),
        )
    )  # fmt: skip
    whole = {name: int(sums.pop(name)) for name in ("clusters", "impressions")}
    return CreditMoments(**whole, **sums)


def _counted(
    engine: Engine, impressions: Any, systems: int, clusters: dict[str, list[str]]
) -> tuple[Any, dict[str, tuple[ClusterCounts, ...]]]:
    """pairs × 3: wins, ties and losses; and the same by user and by query."""
    by: dict[str, list[ClusterCounts]] = {name: [] for name in clusters}
    totals = []
    names = ["wins", "ties", "losses"]
    for i in range(systems):
        for j in range(i + 1, systems):
            gap = nw.col(f"c{i}") - nw.col(f"c{j}")
            outcome = impressions.with_columns(
                wins=(gap > CLOSE).cast(nw.Int64),
                ties=((gap <= CLOSE) & (gap >= -CLOSE)).cast(nw.Int64),
                losses=(gap < -CLOSE).cast(nw.Int64),
            )
            sums = engine.fetch(outcome.select(*(nw.col(name).sum() for name in names)))
            totals.append([int(sums[name][0].as_py() or 0) for name in names])
            for cluster, columns in clusters.items():
                if not columns:
                    continue
                of_cluster = outcome.group_by(cluster).agg(*(nw.col(name).sum() for name in names))
                kinds = engine.fetch(of_cluster.group_by(*names).agg(nw.len().alias("n")).sort(*names))
                table = np.array([kinds[name].to_pylist() for name in (*names, "n")], dtype=np.int64).T
                by[cluster].append(ClusterCounts(table[:, :3].copy(), table[:, 3].copy()))
    return np.array(totals, dtype=np.int64), {name: tuple(counts) for name, counts in by.items()}
