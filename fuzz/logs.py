"""Responses of search engines, labels of assessors, and logs of queries and events (UBI)."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

from files import json_file
from fuzzing import Target, attempt
from mutation import PIECES, mutate, mutated, mutated_json, mutated_toml

from cranfield import Run
from cranfield.building.assessor_labels import Labels
from cranfield.building.merging import merge
from cranfield.online.engines.engine import Engine, open_engine
from cranfield.online.log_measures import measure_log
from cranfield.online.logs import read_log
from cranfield.online.logs.check_log import check_log
from cranfield.online.logs.column_map import read_column_map

HIT = {"_index": "i", "_id": "d1", "_score": 2.5, "_source": {"id": "x"}}
HITS = {"total": {"value": 2}, "max_score": 2.5, "hits": [HIT, {**HIT, "_id": "d2"}]}
RESPONSE = {"took": 3, "timed_out": False, "hits": HITS}
RATED = {"metric_score": 1, "unrated_docs": [], "hits": [{"hit": HIT, "rating": 1}]}
SEARCH = [
    json.dumps(thing).encode()
    for thing in (
        RESPONSE,
        {"took": 1, "responses": [RESPONSE, {"error": {"type": "x"}, "status": 400}]},
        {"1": RESPONSE, "2": RESPONSE},
        {"query_id": "1", "response": RESPONSE},
        {"responseHeader": {"params": {"q": "a"}}, "response": {"numFound": 1, "docs": [{"id": "d1", "score": 1}]}},
        {"requests": [{"id": "q1", "request": {}, "ratings": [{"_index": "i", "_id": "d1", "rating": 1}]}]},
        {"queries": [{"placeholders": {"$query": "a"}, "relevant_documents": {"3": ["d1"], "1": ["d2"]}}]},
        {"metric_score": 0.5, "details": {"q1": RATED}},
    )
]  # fmt: skip
LABELS = [
    b"task,worker,label\nt1,anna,1\nt1,ben,0\nt2,anna,1\nt2,ben,1\n",
    b"topic\tdoc\tworker\tlabel\ttime\tcost\tgroup\n1\td1\tanna\tyes\t1.5\t0.1\texpert\n1\td1\tben\tno\t2\t0.1\tcrowd\n",
    b"t1 anna 1\nt1 ben 0\nt2 anna 2\n",
    b"1 anna d1 1\n1 ben d1 0\n2 anna d1 2\n",
    b'{"task": "t1", "worker": "anna", "label": 1}\n{"task": "t1", "worker": "ben", "label": 0}\n',
]
NOON = "2026-03-02T12:00:0{}Z"
QUERIES = [
    {"query_id": f"q{n}", "client_id": f"u{n}", "timestamp": NOON.format(n), "user_query": "red shoes",
     "query_response_hit_ids": ["a", "b"]}
    for n in range(3)
]  # fmt: skip
EVENTS = [
    {"query_id": f"q{n}", "client_id": f"u{n}", "timestamp": NOON.format(n + 1), "action_name": "click",
     "event_attributes": {"object": {"object_id": "b"}, "position": {"ordinal": 2}}}
    for n in range(3)
]  # fmt: skip
MARK = b"\n--events--\n"
COLUMN_MAPS = [
    b'zone = "Europe/Berlin"\nfirst_position = 1\n[queries]\nquery_id = "qid"\ntime = "ts"\n[events]\n'
    b'query_id = "qid"\naction = "what"\n[segments]\ncountry = "land"\n[actions]\nproduct_click = "click"\n',
]


def lines(rows: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def bulk(rng: random.Random) -> bytes:
    """An export of OpenSearch with both tables."""
    made = b"".join(
        json.dumps({"_index": f"ubi_{name}", "_source": row}).encode() + b"\n"
        for name, rows in (("queries", QUERIES), ("events", EVENTS))
        for row in rows
    )
    return mutated_json([made])(rng)


def log_bytes(rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return bulk(rng)
    queries, events = (
        mutated_json([lines(rows)])(rng) if rng.random() < 0.7 else lines(rows) for rows in (QUERIES, EVENTS)
    )
    return queries + MARK + events


@cache
def engine() -> Engine:
    """An engine for all inputs: opening one takes longer than reading a log."""
    return open_engine("duckdb", threads=1)


def log_file(path: Path) -> None:
    queries, mark, events = path.read_bytes().partition(MARK)
    folder = path.parent / "log"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    (folder / "ubi_queries.jsonl").write_bytes(queries)
    if mark:
        (folder / "ubi_events.jsonl").write_bytes(events)
    source = folder if mark else folder / "ubi_queries.jsonl"
    attempt(check_log, source, salt="s", engine=engine())
    for skip in (False, True):
        log = attempt(read_log, source, salt="s", skip=skip, engine=engine())
        if log is not None and not skip:
            attempt(measure_log, log, ["CTR", "abandonment", "clicks-per-query"])


def search_file(path: Path) -> None:
    json_file(path)
    attempt(Run.of, path, queries=["a", "b"])


def labels_bytes(rng: random.Random) -> bytes:
    seed = rng.choice(LABELS)
    return mutated_json([seed])(rng) if seed.startswith(b"{") else mutate(seed, rng, PIECES)


def labels_file(path: Path) -> None:
    for options in ({}, {"on_duplicate": "first"}, {"separator": " "}, {"scale": ["0", "1"]}):
        labels = attempt(Labels.read, path, **options)
        if labels is not None:
            attempt(merge, labels, "majority")
    attempt(Labels.read, path, path)


def column_map_file(path: Path) -> None:
    attempt(read_column_map, path)


TARGETS = {
    "msearch": Target(mutated_json(SEARCH), search_file),
    "labels": Target(labels_bytes, labels_file),
    "label-tables": Target(mutated(LABELS[:2]), labels_file),
    "ubi": Target(log_bytes, log_file),
    "column-maps": Target(mutated_toml(COLUMN_MAPS), column_map_file),
}
