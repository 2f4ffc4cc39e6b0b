"""Counts by an engine against counts in Python, and tables and logs that are wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import csv, parquet

from cranfield.errors import DataError, UsageError
from cranfield.online.clicks import Pages, fit_clicks
from cranfield.online.clicks import click_rows as click_rows_module
from cranfield.online.clicks.click_rows import click_rows, read_cells, read_pages
from cranfield.online.engines import Engine
from cranfield.online.engines.dialect import BUCKETS, bucket
from cranfield.online.logs import Log, read_log
from tests.online.clicks.literal import random_lists


def sessions(seed: int = 0, count: int = 200) -> tuple[list[str], list[list[str]], list[list[int]]]:
    """Random pages of up to four ranks, some clicks repeated."""
    rng = np.random.default_rng(seed)
    queries, lists = random_lists(rng, count, queries=3, docs=5, ranks=4)
    return queries, lists, [[int(rng.choice([0, 0, 0, 1, 1, 2])) for _ in row] for row in lists]


def table_of(queries: list[str], lists: list[list[str]], clicks: list[list[int]]) -> pyarrow.Table:
    rows = [
        (f"s{number}", query, rank, doc, clicked, 1_000_000 * number)
        for number, (query, docs, done) in enumerate(zip(queries, lists, clicks, strict=True))
        for rank, (doc, clicked) in enumerate(zip(docs, done, strict=True), start=1)
    ]
    names = ("session", "query", "position", "doc", "clicked", "time")
    order = np.random.default_rng(1).permutation(len(rows))
    return pyarrow.table({name: [rows[i][k] for i in order] for k, name in enumerate(names)})


def contents(pages: Pages) -> Counter[Any]:
    """{(query, ((doc, clicked), ...)): sessions}."""
    counts: Counter[Any] = Counter()
    keys = [*pages.names.keys, ("", "")]
    for row, clicked, count in zip(pages.pair.tolist(), pages.clicked.tolist(), pages.sessions.tolist(), strict=True):
        shown = tuple((keys[pair][1], yes) for pair, yes in zip(row, clicked, strict=True) if pair >= 0)
        counts[keys[row[0]][0], shown] += count
    return counts


def test_the_engine_finds_the_pages_and_cells_that_python_finds(duck: Engine) -> None:
    queries, lists, clicks = sessions()
    wanted = Pages.of(queries, lists, clicks)
    rows = click_rows(table_of(queries, lists, clicks), engine=duck)
    pages = read_pages(rows)
    assert contents(pages) == contents(wanted)
    assert pages.notes == wanted.notes
    cells, other = read_cells(rows), wanted.cells()
    assert cells.names.keys == other.names.keys
    for name in ("pair", "rank", "shown", "clicked"):
        np.testing.assert_array_equal(getattr(cells, name), getattr(other, name))
    assert cells.notes == wanted.notes


@pytest.mark.xdist_group("spark")
def test_spark_and_duckdb_give_the_same_models(spark: Engine, duck: Engine) -> None:
    table = table_of(*sessions(3, 300))
    for name in ("PBM", "DBN"):
        one, two = (fit_clicks(table, name, engine=engine, held_out=0.3, seed=2) for engine in (duck, spark))
        assert one.names.keys == two.names.keys
        for parameter, estimates in one.values.items():
            np.testing.assert_allclose(estimates.value, two.value(parameter).value, atol=1e-9)
            np.testing.assert_allclose(estimates.low, two.value(parameter).low, atol=1e-7)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_file_with_other_names_of_columns(suffix: str, tmp_path: Path) -> None:
    table = table_of(*sessions())
    renamed = table.rename_columns(["qid", "user_query", "rank", "url", "clicks", "timestamp"])
    path = tmp_path / f"log.{suffix}"
    parquet.write_table(renamed, path) if suffix == "parquet" else csv.write_csv(renamed, path)
    fitted = fit_clicks(str(path), "DCTR", columns="session=qid,doc=url")
    assert fitted.impressions == table.num_rows
    note = "columns by their names: query is 'user_query', position is 'rank', clicked is 'clicks', time is 'timestamp'"
    assert note in fitted.notes


def test_names_that_look_like_numbers_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("session,query,position,doc,clicked\n1,007,1,0012,1\n1,007,2,12,0\n")
    assert fit_clicks(str(path), "DCTR").names.keys == [("007", "0012"), ("007", "12")]


def test_depth_leaves_out_lower_ranks(duck: Engine) -> None:
    table = table_of(*sessions())
    assert fit_clicks(table, "PBM", engine=duck, depth=2).ranks == 2
    assert fit_clicks(table, "UBM", engine=duck, depth=2).ranks == 2


def log_of(duck: Engine, **changes: Any) -> Log:
    """A log of three queries. q1: a click on d1 and a double one on d2; q2: none; q3: a click at position 2."""
    impressions = {
        "query_id": ["q1", "q1", "q2", "q2", "q3", "q3"],
        "user": ["u"] * 6,
        "time": [1_000_000_000_000_000] * 6,
        "text": ["cats", "cats", "cats", "cats", "dogs", "dogs"],
        "position": [1, 2, 1, 2, 1, 2],
        "doc": ["d1", "d2", "d2", "d1", "d3", "d4"],
    }
    clicks = {
        "query_id": ["q1", "q1", "q1", "q3", "q3"],
        "user": ["u"] * 5,
        "time": [1_000_000_001_000_000 + i for i in range(5)],
        "doc": ["d1", "d2", "d2", None, "d9"],
        "position": [1, 2, 2, 2, None],
    }
    return read_log(pyarrow.table({**impressions, **changes}), events=pyarrow.table(clicks), engine=duck)


def test_a_log_is_joined_by_document_or_else_by_position(duck: Engine) -> None:
    rows = click_rows(log_of(duck))
    wanted = {
        ("cats", (("d1", True), ("d2", True))): 1,
        ("cats", (("d2", False), ("d1", False))): 1,
        ("dogs", (("d3", False), ("d4", True))): 1,
    }
    for notes, counts in ((read_pages(rows).notes, contents(read_pages(rows))), (read_cells(rows).notes, wanted)):
        assert counts == wanted
        assert "1 document was clicked more than once in a session; that counts as one click" in notes
        assert "1 click on documents that were not shown, left out" in notes


def test_queries_without_a_text_are_left_out(duck: Engine) -> None:
    rows = click_rows(log_of(duck, text=["cats", "cats", None, None, "dogs", "dogs"]))
    assert "2 impressions without a query, left out" in read_pages(rows).notes
    assert "2 impressions without a query, left out" in read_cells(rows).notes
    assert read_pages(rows).impressions == read_cells(rows).impressions == 4


def small(**changes: list[Any]) -> pyarrow.Table:
    columns = {"session": ["a", "a"], "query": ["q", "q"], "position": [1, 2], "doc": ["x", "y"], "clicked": [0, 1]}
    return pyarrow.table({**columns, **changes})


@pytest.mark.parametrize("name", ["PBM", "UBM"])
def test_wrong_tables(name: str, duck: Engine) -> None:
    with pytest.raises(DataError, match="has the position 0; positions are counted from 1"):
        fit_clicks(small(position=[0, 1]), name, engine=duck)
    with pytest.raises(DataError, match="has -1 clicks in a row"):
        fit_clicks(small(clicked=[-1, 0]), name, engine=duck)
    with pytest.raises(DataError, match="has 1 impression without a number of clicks"):
        fit_clicks(small(clicked=[None, 0]), name, engine=duck)
    with pytest.raises(DataError, match=r"no column 'doc'; the columns are .*; name it: columns={'doc': 'its name'}"):
        fit_clicks(small().drop_columns("doc"), name, engine=duck)
    with pytest.raises(DataError, match="no column 'url'"):
        fit_clicks(small(), name, engine=duck, columns={"doc": "url"})
    with pytest.raises(UsageError, match="no column of impressions 'document'"):
        fit_clicks(small(), name, engine=duck, columns={"document": "doc"})
    assert fit_clicks(small(position=[0, 1]), name, engine=duck, first_position=0).ranks == 2
    with pytest.raises(UsageError, match="first_position == 2, must be 0 or 1"):
        fit_clicks(small(), name, engine=duck, first_position=2)
    fitted = fit_clicks(small(doc=["x", None], clicked=[1, 0]), name, engine=duck)
    assert "1 impression without a doc, left out" in fitted.notes


def test_positions_that_are_repeated_or_missing_are_counted(duck: Engine) -> None:
    twice = read_pages(click_rows(small(position=[1, 1]), engine=duck))
    assert "1 impression at a position that its session has twice, left out" in twice.notes
    gap = read_pages(click_rows(small(position=[1, 3]), engine=duck))
    assert "1 session with positions missing in between, which count as ranks without a document" in gap.notes
    assert gap.ranks == 3


def test_pages_that_are_too_deep_are_an_error(duck: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click_rows_module, "MOST_RANKS", 3)
    table = table_of(*sessions())
    with pytest.raises(UsageError, match=r"positions go down to 4; .* so set the depth"):
        fit_clicks(table, "UBM", engine=duck)
    assert fit_clicks(table, "UBM", engine=duck, depth=3).ranks == 3


def test_a_random_split_follows_the_digest_of_the_session(duck: Engine) -> None:
    table = table_of(*sessions())
    rows = click_rows(table, engine=duck)
    fitted, held = (duck.fetch(part.frame).column("session").to_pylist() for part in rows.split(0.3, 5))
    wanted = {name for name in table.column("session").to_pylist() if bucket(name, "clicks-5") < int(0.3 * BUCKETS)}
    assert set(held) == wanted
    assert not set(held) & set(fitted)
    assert len(held) + len(fitted) == table.num_rows


def test_a_split_by_time_holds_out_the_latest_sessions(duck: Engine) -> None:
    rows = click_rows(table_of(*sessions(0, 100)), engine=duck)
    held = set(duck.fetch(rows.split(0.2, by="time")[1].frame).column("session").to_pylist())
    assert held == {f"s{number}" for number in range(80, 100)}
    with pytest.raises(UsageError, match="has no column with the time"):
        click_rows(small(), engine=duck).split(0.2, by="time")
    with pytest.raises(UsageError, match=r"share == 1\.5, must be between 0 and 1"):
        rows.split(1.5)


def test_a_log_of_several_applications_is_read_by_one(tmp_path: Path) -> None:
    (tmp_path / "ubi_queries.jsonl").write_text("".join(
        f'{{"application": "{name}", "query_id": "{name}1", "client_id": "u", "timestamp": "2027-01-05T10:00:00Z", '
        f'"user_query": "lamp", "query_response_hit_ids": ["{name}-a"]}}\n'
        for name in ("shop", "blog")
    ))  # fmt: skip
    (tmp_path / "ubi_events.jsonl").write_text(
        '{"application": "shop", "action_name": "click", "query_id": "shop1", "client_id": "u", '
        '"timestamp": "2027-01-05T10:00:05Z", "event_attributes": {"object": {"object_id": "shop-a"}, '
        '"position": {"ordinal": 1}}}\n'
    )
    rows = click_rows(str(tmp_path), application="shop")
    assert rows.engine.fetch(rows.frame.select("doc")).column("doc").to_pylist() == ["shop-a"]
    impressions = pyarrow.table({"session": ["s"], "query": ["q"], "position": [1], "doc": ["d"], "clicked": [1]})
    with pytest.raises(UsageError, match="application chooses rows of a log, and this is a table of impressions"):
        click_rows(impressions, application="shop")
