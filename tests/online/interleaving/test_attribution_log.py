"""Logs of attribution records: reading, clicks, notes; the same counts in Python and on engines."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from cranfield import DataError, UsageError
from cranfield.online.engines import Engine
from cranfield.online.interleaving.attribution_log import (
    LoggedList,
    count_logged,
    read_clicks,
    read_records,
    write_records,
)
from cranfield.online.interleaving.engine_counts import count_on_engine
from cranfield.online.interleaving.interleaved import credit, interleave
from cranfield.online.interleaving.preference_counts import PreferenceCounts
from cranfield.online.logs.log import Log

RANKINGS = {
    "q1": {"x": list("abcdef"), "y": list("bdaecg")},
    "q2": {"x": list("mnop"), "y": list("nqrs")},
    "q3": {"x": list("tu"), "y": list("vwxyz")},
}


def logged(method: str, count: int = 60) -> list[LoggedList]:
    """Lists with clicks at random, of 12 users and 3 queries."""
    rng = np.random.default_rng(4)
    lists = []
    for number in range(count):
        query = f"q{rng.integers(1, 4)}"
        record = interleave(RANKINGS[query], method, length=5, seed=number)
        clicks = tuple(int(place) + 1 for place in np.flatnonzero(rng.random(len(record.documents)) < 0.4))
        lists.append(LoggedList(record, f"i{number}", f"u{rng.integers(12)}", query, clicks))
    return lists


def wins_by_hand(lists: list[LoggedList]) -> list[int]:
    outcome = [0, 0, 0]
    for one in lists:
        first, second = credit(one.record, one.clicks or ()).values()
        outcome[0 if first > second + 1e-9 else 2 if second > first + 1e-9 else 1] += 1
    return outcome


def same(found: PreferenceCounts, expected: PreferenceCounts) -> None:
    assert found.systems == expected.systems
    assert found.totals.tolist() == expected.totals.tolist()
    for mine, other in zip(found.credit, expected.credit, strict=True):
        assert vars(mine) == pytest.approx(vars(other))
    for mine, other in ((found.by_user, expected.by_user), (found.by_query, expected.by_query)):
        assert len(mine) == len(other)
        for one, two in zip(mine, other, strict=True):
            assert one.outcomes.tolist() == two.outcomes.tolist()
            assert one.number.tolist() == two.number.tolist()


@pytest.mark.parametrize("method", ["balanced", "team-draft", "probabilistic", "pairwise", "optimised", "sosm"])
def test_counts_of_a_file_are_those_of_the_lists(method: str, tmp_path: Path) -> None:
    lists = logged(method)
    assert write_records(tmp_path / "log.jsonl.gz", lists) == 60
    counts = count_logged(tmp_path / "log.jsonl.gz")
    assert counts.totals.tolist() == [wins_by_hand(lists)]
    assert counts.by_user[0].clusters == len({one.user for one in lists})
    assert counts.by_query[0].clusters == 3


@pytest.mark.parametrize("method", ["balanced", "team-draft", "probabilistic", "sosm"])
@pytest.mark.parametrize("apart", [False, True])
def test_duckdb_counts_as_python_does(method: str, apart: bool, tmp_path: Path, duck: Engine) -> None:
    lists = logged(method)
    if not apart:
        write_records(tmp_path / "log.jsonl", lists)
        found = count_on_engine(duck, str(tmp_path / "log.jsonl"))
        same(found, count_logged(lists))
        return
    write_records(
        tmp_path / "lists.jsonl", [LoggedList(one.record, one.query_id, one.user, one.query) for one in lists]
    )
    clicks = [f"{one.query_id},{one.record.documents[place - 1]},click" for one in lists for place in one.clicks or ()]
    (tmp_path / "clicks.csv").write_text("\n".join(["query_id,doc,action", *clicks, "i1,b,hover", "zz,a,click"]) + "\n")
    paths = str(tmp_path / "lists.jsonl"), str(tmp_path / "clicks.csv")
    in_python, found = count_logged(*paths), count_on_engine(duck, *paths)
    same(found, in_python)
    same(in_python, count_logged(lists))
    assert "1 click of lists without a record left out" in found.notes
    assert any(
        note.startswith("1 click of lists without a record left out, such as of 'zz'") for note in in_python.notes
    )


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("method", ["team-draft", "balanced"])
def test_spark_counts_as_python_does(method: str, tmp_path: Path, spark: Engine) -> None:
    lists = logged(method, 20)
    write_records(tmp_path / "log.jsonl", lists)
    same(count_on_engine(spark, str(tmp_path / "log.jsonl")), count_logged(lists))


def test_clicks_users_and_queries_come_from_a_log(tmp_path: Path, duck: Engine) -> None:
    lists = logged("team-draft")
    write_records(tmp_path / "lists.jsonl", [LoggedList(one.record, one.query_id) for one in lists])
    queries = {"query_id": [one.query_id for one in lists], "user": [one.user for one in lists]}
    clicks = [(one.query_id, one.record.documents[place - 1]) for one in lists for place in one.clicks or ()]
    events = {
        "query_id": [query_id for query_id, _ in clicks] + ["i0"],
        "doc": [doc for _, doc in clicks] + [lists[0].record.documents[0]],
        "action": ["click"] * len(clicks) + ["hover"],
    }
    frames = [pyarrow.table({**queries, "text": [one.query for one in lists]}), pyarrow.table(events)]
    log = Log(duck, duck.read(frames[0]), None, duck.read(frames[1]))
    same(count_on_engine(duck, str(tmp_path / "lists.jsonl"), log), count_logged(lists))


def test_an_engine_names_what_it_cannot_count(tmp_path: Path, duck: Engine) -> None:
    write_records(tmp_path / "pairwise.jsonl", logged("pairwise", 3))
    with pytest.raises(UsageError, match="records of pairwise, which an engine cannot count"):
        count_on_engine(duck, str(tmp_path / "pairwise.jsonl"))
    write_records(tmp_path / "mixed.jsonl", [*logged("balanced", 2), *logged("team-draft", 2)])
    with pytest.raises(UsageError, match="records of balanced, team-draft, whose clicks count differently"):
        count_on_engine(duck, str(tmp_path / "mixed.jsonl"))
    lists = logged("team-draft", 3)
    write_records(tmp_path / "twice.jsonl", [*lists, lists[0]])
    with pytest.raises(UsageError, match="query_id 'i0' is in 2 records"):
        count_on_engine(duck, str(tmp_path / "twice.jsonl"))
    other = LoggedList(interleave({"x": ["a"], "z": ["b"]}, seed=1, length=5), "i9", "u", "q", ())
    write_records(tmp_path / "systems.jsonl", [*lists, other])
    with pytest.raises(UsageError, match="1 record of other systems than x, y"):
        count_on_engine(duck, str(tmp_path / "systems.jsonl"))


def test_clicks_on_documents_that_were_not_shown_are_counted_in_a_note(tmp_path: Path, duck: Engine) -> None:
    lists = logged("team-draft", 5)
    write_records(tmp_path / "lists.jsonl", lists)
    (tmp_path / "clicks.csv").write_text("query_id,doc\ni0,nothing\n")
    paths = str(tmp_path / "lists.jsonl"), str(tmp_path / "clicks.csv")
    assert "1 click on documents that were not shown left out: nothing" in count_logged(*paths).notes
    assert "1 click on documents that were not shown left out" in count_on_engine(duck, *paths).notes


@pytest.mark.parametrize("header", ["query_id,position", "qid,rank"])
def test_an_engine_counts_clicks_by_position(header: str, tmp_path: Path, duck: Engine) -> None:
    lists = [replace(one, query_id=f"00{i}") for i, one in enumerate(logged("team-draft"))]
    write_records(tmp_path / "lists.jsonl", [replace(one, clicks=None) for one in lists])
    clicks = [f"{one.query_id},{place}" for one in lists for place in one.clicks or ()]
    (tmp_path / "clicks.csv").write_text("\n".join([header, *clicks]) + "\n")
    found = count_on_engine(duck, str(tmp_path / "lists.jsonl"), str(tmp_path / "clicks.csv"))
    same(found, count_logged(lists))
    assert found.totals.tolist() == [wins_by_hand(lists)]


def test_an_engine_refuses_positions_from_0_on(tmp_path: Path, duck: Engine) -> None:
    lists = logged("team-draft", 3)
    write_records(tmp_path / "lists.jsonl", lists)
    (tmp_path / "clicks.csv").write_text("query_id,position\ni0,1\ni1,0\n")
    with pytest.raises(
        UsageError, match=r"1 click without a query_id or .* from 1 on, such as query_id 'i1', position"
    ):
        count_on_engine(duck, str(tmp_path / "lists.jsonl"), str(tmp_path / "clicks.csv"))
    (tmp_path / "clicks.csv").write_text("query_id,position\ni0,1\ni1,first\n")
    with pytest.raises(UsageError, match="column 'position' of the clicks holds text, must hold positions from 1 on"):
        count_on_engine(duck, str(tmp_path / "lists.jsonl"), str(tmp_path / "clicks.csv"))
    write_records(tmp_path / "inline.jsonl", [replace(one, clicks=(0, 1)) for one in lists])
    with pytest.raises(UsageError, match="3 clicks without a query_id or without a position from 1 on"):
        count_on_engine(duck, str(tmp_path / "inline.jsonl"))


def test_clicks_are_read_from_json_lines_and_tables(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"query_id": "i1", "doc": "b"}\n{"query_id": "i1", "position": 2}\n')
    (tmp_path / "b.tsv").write_text("id\tposition\ni1\t3\n")
    assert read_clicks(tmp_path / "a.jsonl") == {"i1": ["b", 2]}
    assert read_clicks(tmp_path / "b.tsv") == {"i1": [3]}
    (tmp_path / "c.csv").write_text("query_id,doc,action\n,a,hover\ni1,b,Click\n")
    assert read_clicks(tmp_path / "c.csv") == {"i1": ["b"]}
    (tmp_path / "d.csv").write_text("query_id,doc\n")
    assert read_clicks(tmp_path / "d.csv") == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("query_id,doc\n,a\n", "clicks:2: a click without a query_id"),
        ("query_id,position\ni1,0\n", "clicks:2: a click without a document, and position 0, expected a position"),
        ("query_id,time\ni1,0\n", "clicks:1: no column for the doc among query_id, time; expected one called"),
        ("a,b\ni1,0\n", "clicks:1: no column for the query_id among a, b"),
        ('{"query_id": "i1"}\n', "clicks:1: no column for the doc among query_id; expected one called doc, position"),
        ('{"query_id": \n', "clicks:1: not valid JSON"),
    ],
)
def test_bad_clicks_are_errors_with_their_line(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "clicks").write_text(content)
    with pytest.raises(DataError) as error:
        read_clicks(tmp_path / "clicks")
    assert message in str(error.value)


def test_bad_records_are_errors_with_their_line(tmp_path: Path) -> None:
    one = logged("team-draft", 1)[0]
    good = json.dumps(one.to_dict())

    def error(text: str, clicks: Any = None) -> str:
        (tmp_path / "log").write_text(text)
        with pytest.raises(DataError) as raised:
            count_logged(tmp_path / "log", clicks)
        return str(raised.value)

    assert "log:2: not valid JSON" in error(f"{good}\n{{\n")
    assert "log:1: [1], expected an attribution record" in error("[1]\n")
    assert "log: is empty" in error("\n")
    assert "log:1: 'clicks' is 3, expected a list" in error(json.dumps({**one.to_dict(), "clicks": 3}))
    assert "log:2: query_id 'i0' is also on line 1" in error(f"{good}\n{good}\n", {})
    assert "log:2: query_id 'i0' is also on line 1; each list must be logged once" in error(f"{good}\n{good}\n")
    from_0_on = json.dumps({**one.to_dict(), "clicks": [0]})
    assert "log:1: click 0, expected a document, or a position from 1 on" in error(from_0_on)
    assert "log:1: a record without 'clicks'" in error(json.dumps(one.record.to_dict()))
    assert "log:1: a record without 'query_id'" in error(json.dumps(one.record.to_dict()), {})
    other = interleave({"x": ["a"], "z": ["b"]}, seed=1)
    assert "log:2: systems x, z, but x, y before" in error(f"{good}\n{json.dumps(other.to_dict() | {'clicks': []})}\n")


def test_lists_without_users_have_no_counts_by_user() -> None:
    lists = [LoggedList(one.record, one.query_id, None, one.query, one.clicks) for one in logged("team-draft", 5)]
    assert count_logged(lists).by_user == ()
    some = [*lists[:3], *logged("team-draft", 5)[3:]]
    assert "3 lists without a user, so no counts by user" in count_logged(some).notes


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    lists = logged("probabilistic", 4)
    write_records(tmp_path / "log.jsonl", lists)
    for read, one in zip(read_records(tmp_path / "log.jsonl"), lists, strict=True):
        assert (read.query_id, read.user, read.query, read.clicks) == (one.query_id, one.user, one.query, one.clicks)
        assert read.record.documents == one.record.documents


def changed_records(path: Path, change: Any) -> Path:
    """Three records of team draft, each changed by a function."""
    write_records(path, logged("team-draft", 3))
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        change(record)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def twice(record: Any) -> None:
    record["shown"][1]["doc"] = record["shown"][0]["doc"]


def from_zero(record: Any) -> None:
    for place in record["shown"]:
        place["position"] -= 1


def without_credit(record: Any) -> None:
    record["shown"][0]["credit"] = [1.0]


def infinite(record: Any) -> None:
    record["shown"][0]["credit"] = [float("inf"), 0.0]


WRONG = [
    (twice, r":1: .* shows '\w' twice", "3 records show a document twice, such as query_id 'i0'"),
    (from_zero, ":1: .* positions are not 1, 2, 3", "3 records have positions that are not 1, 2, 3 and so on"),
    (without_credit, ":1: .* some systems only", "3 records have a credit or rank for some systems only"),
    (infinite, ":1: .* credit that is not a finite number", "3 records have a credit or rank for some systems only"),
    (lambda record: record.update(systems=["x", "x"]), ":1: ", "two or more different ones are needed"),
    (lambda record: record.update(systems=["x"]), ":1: ", "two or more different ones are needed"),
    (lambda record: record.update(shown="a b"), ":1: not an attribution record", "'shown' holds String, expected a"),
    (lambda record: record.update(length="ten"), ":1: not an attribution record", ""),
    (lambda record: record.update(clicks="a"), ":1: 'clicks' is 'a'", "'clicks' holds String, expected a list"),
    (lambda record: record.update(clicks=[1, {}]), ":1: click {}", "'clicks' holds values of several kinds"),
]


@pytest.mark.parametrize(("change", "message", "of_engine"), WRONG)
def test_wrong_records_are_errors_with_and_without_an_engine(
    change: Any, message: str, of_engine: str, tmp_path: Path, duck: Engine
) -> None:
    path = changed_records(tmp_path / "log.jsonl", change)
    with pytest.raises(DataError, match=message):
        count_logged(path)
    if of_engine:
        with pytest.raises(UsageError, match=of_engine):
            count_on_engine(duck, str(path))


def test_an_engine_names_the_line_that_is_not_json(tmp_path: Path, duck: Engine) -> None:
    path = tmp_path / "log.jsonl"
    write_records(path, logged("team-draft", 3))
    path.write_text(path.read_text() + '{"query_id": \n')
    with pytest.raises(DataError, match=r"log.jsonl:4: is not valid JSON; correct it"):
        count_on_engine(duck, str(path))


def test_an_engine_reads_clicks_without_a_row(tmp_path: Path, duck: Engine) -> None:
    write_records(tmp_path / "lists.jsonl", logged("team-draft", 3))
    (tmp_path / "clicks.csv").write_text("query_id,position\n")
    found = count_on_engine(duck, str(tmp_path / "lists.jsonl"), str(tmp_path / "clicks.csv"))
    assert found.totals.tolist() == [[0, 3, 0]]
