"""Exports of OpenSearch: queries and events in one file, as pairs of lines or with the row within the line."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cranfield.errors import DataError
from cranfield.online.engines import Engine, open_engine
from cranfield.online.log_measures import measure_log
from cranfield.online.logs import read_log
from cranfield.online.logs.check_log import check_log
from tests.online.logs.test_check_log import event, found, problems, query, write_ubi

QUERIES = [query(1), query(2, query_response_hit_ids=["x"]), query(3)]
EVENTS = [event(1), event(2), event(3, doc="c", position=3)]
NAMES = ["CTR", "abandonment", "clicks-per-query", "COEC"]


def pairs(index: str, rows: list[Any], action: str = "index") -> list[str]:
    """Lines for the interface `_bulk`."""
    return [line for row in rows for line in (json.dumps({action: {"_index": index}}), json.dumps(row))]


def within(index: str, rows: list[Any]) -> list[str]:
    """Lines with the row within them."""
    return [json.dumps({"_index": index, "_id": str(n), "_source": row}) for n, row in enumerate(rows)]


def export(path: Path, *parts: list[str], pack: Callable[[bytes], bytes] = bytes) -> Path:
    path.write_bytes(pack("".join(f"{line}\n" for part in parts for line in part).encode()))
    return path


def values(source: Path, engine: Any, **more: Any) -> list[float]:
    return measure_log(read_log(source, engine=engine, salt="s", **more), NAMES, least=1).value[:, 0].tolist()


def test_both_indexes_in_one_file_are_the_same_log_as_two_files(tmp_path: Path, duck: Engine) -> None:
    expected = values(write_ubi(tmp_path / "log", QUERIES, EVENTS), duck)
    mixed = [
        pairs("ubi_events", EVENTS[:1]),
        pairs("ubi_queries", QUERIES),
        pairs("ubi_events-2026", EVENTS[1:], "create"),
    ]
    assert values(export(tmp_path / "a.ndjson", *mixed), duck) == expected
    assert values(export(tmp_path / "a.ndjson.gz", *mixed, pack=gzip.compress), duck) == expected
    twice = lambda data: bz2.compress(data[:100]) + bz2.compress(data[100:])  # noqa: E731  # a file of two streams
    assert values(export(tmp_path / "a.bz2", *mixed, pack=twice), duck) == expected
    inside = [within("ubi_queries", QUERIES), within(".ds-ubi_events-2026.01-1", EVENTS)]
    assert values(export(tmp_path / "b.json", *inside), duck) == expected
    folder = tmp_path / "folder"
    folder.mkdir()
    export(folder / "ubi.ndjson", *mixed)
    assert values(folder, duck) == expected


def test_exports_of_one_index_each_are_read_as_queries_and_events(tmp_path: Path, duck: Engine) -> None:
    expected = values(write_ubi(tmp_path / "log", QUERIES, EVENTS), duck)
    queries = export(tmp_path / "q.ndjson", pairs("ubi_queries", QUERIES))
    events = export(tmp_path / "e.ndjson", pairs("ubi_events", EVENTS))
    assert values(queries, duck, events=events) == expected


def test_findings_name_the_export_and_its_line(tmp_path: Path) -> None:
    path = export(tmp_path / "a.ndjson", pairs("ubi_queries", QUERIES), [""], pairs("ubi_events", EVENTS))
    report = check_log(path, salt="s")
    # Six lines of queries, a blank one, then two for each event: the row of the second event is on line 11
    assert found(report, "clicks on documents that were not shown") == (1, "error", "a.ndjson:11: query_id q2, doc b")
    assert "a.ndjson: an export of the indexes ubi_events (3), ubi_queries (3)" in report.notes


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (pairs("products", [{}]), r"a.ndjson:4: index products, expected a name such as ubi_queries or ubi_events"),
        ([json.dumps({"delete": {"_index": "ubi_queries"}})], r"a.ndjson:3: action 'delete', expected index or create"),
        ([json.dumps({"index": {}}), "{}"], r'a.ndjson:3: no "_index", such as ubi_queries'),
        ([json.dumps(QUERIES[0])], r"a.ndjson:3: is a row without the line .* before it"),
        (["{broken"], r"a.ndjson:3: is not valid JSON: {broken"),
        ([json.dumps({"index": {"_index": "ubi_events"}})], r"a.ndjson: the last row is missing"),
    ],
)
def test_a_line_that_is_no_part_of_an_export_is_named(tmp_path: Path, lines: list[str], message: str) -> None:
    path = export(tmp_path / "a.ndjson", pairs("ubi_queries", QUERIES[:1]), lines)
    with pytest.raises(DataError, match=message):
        read_log(path, salt="s")


def test_a_broken_row_of_an_export_is_named_by_its_line(tmp_path: Path, duck: Engine) -> None:
    broken = [json.dumps({"index": {"_index": "ubi_events"}}), "{broken"]
    path = export(tmp_path / "a.ndjson", pairs("ubi_queries", QUERIES), pairs("ubi_events", EVENTS), broken)
    with pytest.raises(DataError, match=r"a.ndjson:14: is not valid JSON; to leave out rows .*: skip="):
        read_log(path, engine=duck, salt="s")
    assert found(check_log(path, salt="s"), "rows of events that cannot be read") == (1, "error", "a.ndjson:14")


def test_an_export_without_queries_says_what_it_has(tmp_path: Path) -> None:
    path = export(tmp_path / "a.ndjson", pairs("ubi_events", EVENTS))
    with pytest.raises(DataError, match=r"no index of queries, such as ubi_queries; an export .* ubi_events \(3\)"):
        read_log(path, salt="s")


@pytest.mark.xdist_group("spark")
def test_spark_reads_the_same_export(tmp_path: Path, spark: Engine, duck: Engine) -> None:
    path = export(tmp_path / "a.ndjson", pairs("ubi_queries", QUERIES), pairs("ubi_events", EVENTS))
    theirs = open_engine(spark)
    assert values(path, theirs) == pytest.approx(values(path, duck))
    assert problems(check_log(path, salt="s", engine=theirs)) == problems(check_log(path, salt="s"))
