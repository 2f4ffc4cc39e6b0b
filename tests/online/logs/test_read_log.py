"""`read_log`: every layout and format gives the same log; times, users, columns and errors."""

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pyarrow
import pyarrow.parquet
import pytest

from cranfield.errors import DataError, UsageError
from cranfield.online.engines import Engine, open_engine
from cranfield.online.engines.dialect import digest
from cranfield.online.logs import Log, read_log, simulate_log, write_demo
from cranfield.online.logs.column_map import read_column_map
from cranfield.online.logs.log import EVENTS, PAGE_SIZE, QUERIES, SHOWN, USER_NUMBER, number_users

DEMO = {"users": 40, "days": 4, "seed": 9}


def contents(log: Log) -> dict[str, list[str]]:
    """All rows of the three frames, sorted; without the lengths of lists and numbers of users that only some have."""
    queries, events = log.queries.select(*QUERIES, *log.segments), log.events.select(*EVENTS)
    frames = {"queries": queries, "shown": log.shown, "events": events}
    return {name: sorted(map(str, log.engine.fetch(frame).to_pylist())) for name, frame in frames.items()}


@pytest.fixture(scope="module")
def expected() -> dict[str, list[str]]:
    """The simulated log in memory, with users hashed as `read_log` hashes them."""
    log = simulate_log(**DEMO)
    rows = {}
    for name, frame in (("queries", log.queries), ("shown", log.shown), ("events", log.events)):
        entries = log.engine.fetch(frame).to_pylist()
        rows[name] = sorted(
            str(entry | {"user": digest(entry["user"], "s")} if "user" in entry else entry) for entry in entries
        )
    return {name: sorted(entries) for name, entries in rows.items()}


@pytest.mark.parametrize(
    ("layout", "files"),
    [
        ("ubi", "jsonl"),
        ("ubi", "csv"),
        ("ubi", "parquet"),
        ("tables", "jsonl"),
        ("tables", "csv"),
        ("tables", "parquet"),
    ],
)
def test_every_layout_and_format_gives_the_same_log(
    tmp_path: Path, expected: dict[str, list[str]], layout: str, files: str
) -> None:
    write_demo(tmp_path / "log", layout=layout, files=files, **DEMO)
    log = read_log(tmp_path / "log", salt="s")
    assert contents(log) == expected
    sizes = [PAGE_SIZE] if layout == "ubi" else []
    numbers = [USER_NUMBER] if (layout, files) == ("ubi", "parquet") else []
    assert log.queries.collect_schema().names() == [*QUERIES, "device", "country", *sizes, *numbers]
    assert log.shown.collect_schema().names() == list(SHOWN)
    assert log.events.collect_schema().names() == [*EVENTS, *numbers]
    assert log.segments == ("device", "country")


@pytest.mark.parametrize("files", ["parquet", "csv"])
def test_numbers_tell_users_apart_as_their_digests_do(tmp_path: Path, files: str) -> None:
    write_demo(tmp_path / "log", layout="tables" if files == "csv" else "ubi", files=files, **DEMO)
    pairs = {}
    for salt in ("s", "t"):
        log = read_log(tmp_path / "log", salt=salt)
        numbered = number_users(log)
        queries = [log.engine.fetch(each.queries.select("query_id", "user")).to_pylist() for each in (log, numbered)]
        names, numbers = ({row["query_id"]: row["user"] for row in rows} for rows in queries)
        pairs[salt] = {(name, numbers[query]) for query, name in names.items()}
        assert len(pairs[salt]) == len({name for name, _ in pairs[salt]}) == len({number for _, number in pairs[salt]})
        users = {row["user"] for row in log.engine.fetch(numbered.events.select("user")).to_pylist()}
        assert users <= {number for _, number in pairs[salt]}
    assert not {number for _, number in pairs["s"]} & {number for _, number in pairs["t"]}


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(("layout", "files"), [("ubi", "jsonl"), ("tables", "csv"), ("ubi", "parquet")])
def test_spark_reads_the_same_log(
    tmp_path: Path, spark: Engine, expected: dict[str, list[str]], layout: str, files: str
) -> None:
    write_demo(tmp_path / "log", layout=layout, files=files, **DEMO)
    assert contents(read_log(tmp_path / "log", salt="s", engine=spark)) == expected


def test_databases_give_the_same_log(tmp_path: Path, expected: dict[str, list[str]]) -> None:
    write_demo(tmp_path / "log", layout="tables", files="parquet", **DEMO)
    segments = {"segments": ["device", "country"]}
    with duckdb.connect(tmp_path / "log.duckdb") as database:
        for name in ("impressions", "clicks"):
            database.execute(f"CREATE TABLE {name} AS FROM '{tmp_path}/log/{name}.parquet'")
    assert contents(read_log(tmp_path / "log.duckdb", columns=segments, salt="s")) == expected
    with sqlite3.connect(tmp_path / "log.sqlite") as lite:
        for name in ("impressions", "clicks"):
            table = pyarrow.parquet.read_table(tmp_path / "log" / f"{name}.parquet").to_pandas()
            table["time"] = table["time"].map(lambda time: time.isoformat())
            table.to_sql(name, lite, index=False)
    lite.close()
    assert contents(read_log(tmp_path / "log.sqlite", columns=segments, salt="s")) == expected
    named = read_log(f"{tmp_path}/log.duckdb::impressions", events=f"{tmp_path}/log.duckdb::clicks", salt="s")
    assert contents(named)["events"] == expected["events"]
    with duckdb.connect(tmp_path / "other.duckdb") as database:
        database.execute("CREATE TABLE traffic AS SELECT 1 AS n")
    with pytest.raises(
        UsageError, match=r"which table holds the queries\? There are traffic; name one, such as .*::traffic"
    ):
        read_log(tmp_path / "other.duckdb")


def test_a_directory_may_hold_many_files_per_table(tmp_path: Path, expected: dict[str, list[str]]) -> None:
    write_demo(tmp_path / "one", **DEMO)
    (tmp_path / "log").mkdir()
    for name in ("ubi_queries", "ubi_events"):
        lines = (tmp_path / "one" / f"{name}.jsonl").read_text().splitlines(keepends=True)
        for part in (0, 1):
            (tmp_path / "log" / f"{name}-{part}.jsonl").write_text("".join(lines[part::2]))
    (tmp_path / "log" / "columns.toml").write_text((tmp_path / "one" / "columns.toml").read_text())
    assert contents(read_log(tmp_path / "log", salt="s")) == expected


# -- small tables in memory


def frames(time: Any = "2026-03-02T12:00:00Z", **more: Any) -> dict[str, Any]:
    """A log of one query with two documents and one click."""
    queries = {"query_id": ["q1"], "user": ["u1"], "time": [time], "documents": [["a", "b"]], **more}
    events = {"query_id": ["q1"], "user": ["u1"], "time": [time], "action": ["click"], "doc": ["b"], "position": [2]}
    return {"source": pyarrow.table(queries), "events": pyarrow.table(events)}


def time_of(log: Log) -> int:
    value: int = log.engine.fetch(log.queries)["time"][0].as_py()
    return value


MARCH = int(datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp()) * 10**6


@pytest.mark.parametrize(
    ("time", "note"),
    [
        ("2026-03-02T12:00:00Z", ""),
        ("2026-03-02 13:00:00+01:00", ""),
        ("2026-03-02T07:00:00-0500", ""),
        ("2026-03-02T12:00:00.000 UTC", ""),
        (MARCH // 10**6, "queries: times are seconds since 1970"),
        (MARCH // 10**3, "queries: times are milliseconds since 1970"),
        (MARCH, "queries: times are microseconds since 1970"),
        (MARCH * 1000, "queries: times are nanoseconds since 1970"),
        (str(MARCH // 1000), "queries: times are milliseconds since 1970"),
        (MARCH / 1e6, "queries: times are seconds since 1970"),
        (datetime(2026, 3, 2, 12, tzinfo=UTC), ""),
    ],
)
def test_times_are_read_as_microseconds(time: Any, note: str) -> None:
    log = read_log(**frames(time), salt="s")
    assert time_of(log) == MARCH
    assert not note or note in log.notes
    assert note or not any("times" in text for text in log.notes)


@pytest.mark.parametrize("time", ["2026-03-02T13:00:00", "2026-07-02 13:00:00", datetime(2026, 3, 2, 13)])
def test_times_without_a_zone_need_one(time: Any) -> None:
    with pytest.raises(DataError, match="1 time without a time zone; name the zone: zone="):
        read_log(**frames(time), salt="s")
    log = read_log(**frames(time), salt="s", zone="Europe/Berlin")
    summer = isinstance(time, str) and "-07-" in time
    # 13:00 in Berlin is 12:00 UTC in winter and 11:00 UTC in summer
    assert datetime.fromtimestamp(time_of(log) / 1e6, UTC).hour == (11 if summer else 12)
    assert "queries: 1 time without a time zone, read as Europe/Berlin" in log.notes
    with pytest.raises(UsageError, match="no time zone 'Berlin'"):
        read_log(**frames(time), salt="s", zone="Berlin")


def test_times_that_cannot_be_used_are_errors() -> None:
    with pytest.raises(DataError, match="1 time missing or unreadable"):
        read_log(**frames("noon"), salt="s")
    mixed = pyarrow.table({"query_id": ["a", "b"], "user": ["u", "u"], "time": [MARCH, MARCH // 1000]})
    with pytest.raises(DataError, match="different units: 1 in milliseconds, 1 in microseconds"):
        read_log(mixed, events=frames()["events"], salt="s")


def test_users_are_hashed_with_a_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    def user(**options: Any) -> tuple[str, tuple[str, ...]]:
        log = read_log(**frames(), **options)
        users = [log.engine.fetch(frame)["user"][0].as_py() for frame in (log.queries, log.events)]
        assert users[0] == users[1]
        return users[0], log.notes

    monkeypatch.delenv("CRANFIELD_SALT", raising=False)
    assert user(salt="pepper") == (digest("u1", "pepper"), ())
    assert user(hashed=False) == ("u1", ())
    one, notes = user()
    assert one != user()[0]  # a new salt each time
    assert notes == ("users are hashed with a salt of this run; to compare runs, set salt= or CRANFIELD_SALT",)
    monkeypatch.setenv("CRANFIELD_SALT", "pepper")
    assert user() == (digest("u1", "pepper"), ())


def test_texts_can_be_left_out() -> None:
    for texts, expected in ((True, "red shoes"), (False, None)):
        log = read_log(**frames(text=["red shoes"]), salt="s", texts=texts)
        assert log.engine.fetch(log.queries)["text"][0].as_py() == expected


def test_columns_with_usual_names_are_found_and_told() -> None:
    queries = pyarrow.table({"qid": ["q1"], "UID": ["u1"], "ts": [MARCH], "docs": [["a", "b"]], "variant": ["A"]})
    clicks = pyarrow.table({"qid": ["q1"], "click_time": [MARCH + 1], "url": ["b"], "rank": [2]})
    log = read_log(queries, events=clicks, salt="s")
    assert (
        "queries: columns found by their names:"
        " query_id is qid, user is UID, time is ts, arm is variant, documents is docs" in log.notes
    )
    assert "no column for the users of events: an event has the user of its query" in log.notes
    assert log.engine.fetch(log.events).to_pylist() == [
        {"query_id": "q1", "user": digest("u1", "s"), "session": None, "time": MARCH + 1, "action": "click", "doc": "b"}
        | {"position": 2, "value": None, "dwell": None}
    ]


def test_columns_can_be_named(tmp_path: Path) -> None:
    queries = pyarrow.table({"a": ["q1"], "b": ["u1"], "c": [MARCH], "d": [["x"]], "e": ["phone"]})
    events = pyarrow.table({"a": ["q1"], "b": ["u1"], "z": [MARCH], "what": ["buy!"]})
    (tmp_path / "map.toml").write_text(
        'query_id = "a"\nuser = "b"\n[queries]\ntime = "c"\ndocuments = "d"\n[queries.segments]\ndevice = "e"\n'
        '[events]\ntime = "z"\naction = "what"\n[actions]\nconversion = ["buy!"]\n'
    )
    for columns in (
        tmp_path / "map.toml",
        {"query_id": "a", "user": "b", "queries": {"time": "c", "documents": "d", "segments": {"device": "e"}},
         "events": {"time": "z", "action": "what"}, "actions": {"conversion": "buy!"}},
    ):  # fmt: skip
        log = read_log(queries, events=events, columns=columns, salt="s")
        assert log.engine.fetch(log.queries)["device"].to_pylist() == ["phone"]
        assert log.engine.fetch(log.events)["action"].to_pylist() == ["conversion"]
    assert "events: actions read as conversion: buy!" in log.notes
    text = "query_id=a,user=b,queries.time=c,documents=d,events.time=z,action=what"
    assert read_log(queries, events=events, columns=text, salt="s").segments == ()
    with pytest.raises(DataError, match="no column 'nope' for the time; there are a, b, c, d, e"):
        read_log(queries, events=events, columns="query_id=a,user=b,queries.time=nope", salt="s")


def test_wrong_column_maps_are_errors(tmp_path: Path) -> None:
    for columns, message in {
        "query_id=a,x": "columns == 'x', must be a file, or entries",
        "events.arm=a": "no column of events 'arm'",
        "click.time=a": "no table in the column map 'click'; did you mean 'clicks'",
    }.items():
        with pytest.raises(UsageError, match=message):
            read_column_map(columns)
    (tmp_path / "bad.toml").write_text("query_id = a\n")
    with pytest.raises(DataError, match=r"bad.toml: is not valid TOML"):
        read_column_map(tmp_path / "bad.toml")
    with pytest.raises(DataError, match="no such file"):
        read_column_map(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="no action 'hop' in the column map"):
        read_log(**frames(), columns={"actions": {"hop": "jump"}}, salt="s")


def test_missing_columns_are_errors_that_name_the_usual_ones() -> None:
    with pytest.raises(DataError, match=r"no column for the user among .*; expected one called user, user_id"):
        read_log(frames()["source"].drop_columns(["user"]), events=frames()["events"], salt="s")
    with pytest.raises(DataError, match="no events: give a table of events or clicks"):
        read_log(frames()["source"], salt="s")


def test_a_column_of_clicks_makes_events() -> None:
    impressions = pyarrow.table(
        {"query_id": ["q", "q"], "user": ["u", "u"], "time": [MARCH] * 2, "doc": ["a", "b"], "position": [1, 2]}
        | {"clicked": [0, 1]}
    )
    log = read_log(impressions, salt="s")
    assert [(row["doc"], row["position"], row["action"]) for row in log.engine.fetch(log.events).to_pylist()] == [
        ("b", 2, "click")
    ]
    assert log.engine.fetch(log.queries.select(nw.len().alias("n")))["n"][0].as_py() == 1


def test_positions_from_0_are_an_error_unless_named() -> None:
    tables = frames()
    tables["events"] = tables["events"].set_column(5, "position", pyarrow.array([0]))
    with pytest.raises(DataError, match="1 position below 1; if the first position is 0: first_position=0"):
        read_log(**tables, salt="s")
    log = read_log(**tables, salt="s", first_position=0)
    assert log.engine.fetch(log.events)["position"][0].as_py() == 1
    with pytest.raises(UsageError, match="first_position == 2, must be 0 or 1"):
        read_log(**tables, salt="s", first_position=2)


def test_rows_that_cannot_be_read_are_errors_or_counted(tmp_path: Path) -> None:
    good = {"query_id": "q1", "client_id": "u1", "timestamp": "2026-03-02T12:00:00Z", "query_response_hit_ids": ["a"]}
    (tmp_path / "ubi_queries.jsonl").write_text(json.dumps(good) + "\n{oops\n")
    click = {"query_id": "q1", "client_id": "u1", "timestamp": "2026-03-02T12:00:05Z", "action_name": "click"}
    (tmp_path / "ubi_events.jsonl").write_text(json.dumps(click) + "\n")
    with pytest.raises(DataError, match=r"ubi_queries.jsonl:2: is not valid JSON; to leave out rows .*: skip="):
        read_log(tmp_path, salt="s")
    log = read_log(tmp_path, salt="s", skip=True)
    assert "queries: 1 row left out, which cannot be read" in log.notes
    assert len(log.engine.fetch(log.queries)) == 1


def test_short_rows_of_csv_files_are_errors_or_counted(tmp_path: Path) -> None:
    header = "query_id,user,time,documents\n"
    (tmp_path / "queries.csv").write_text(header + "q1,u1,2026-03-02T12:00:00Z,a b\nq2,u2\n")
    (tmp_path / "clicks.csv").write_text("query_id,time,doc\nq1,2026-03-02T12:00:05Z,a\n")
    with pytest.raises(DataError, match=r"queries.csv:3: .*; to leave out rows that cannot be read: skip="):
        read_log(tmp_path, salt="s")
    log = read_log(tmp_path, salt="s", skip=True)
    assert "1 row left out: queries.csv:3" in log.notes
    assert len(log.engine.fetch(log.queries)) == 1


def test_documents_may_be_text_with_separators() -> None:
    for text in ("a,b", "a|b", "a b", '["a", "b"]'):
        tables = frames()
        tables["source"] = tables["source"].set_column(3, "documents", pyarrow.array([text]))
        log = read_log(**tables, salt="s")
        assert [row["doc"] for row in log.engine.fetch(log.shown.sort("position")).to_pylist()] == ["a", "b"]


def test_events_of_unknown_actions_are_counted_in_the_notes() -> None:
    actions = ["click", "wiggle", "Wiggle", "buy", "jump", "wiggle"]
    table = pyarrow.table(
        {"query_id": ["q"] * 6, "user": ["u"] * 6, "time": [f"2026-03-02T12:00:0{i}Z" for i in range(6)],
         "action": actions}
    )  # fmt: skip
    queries = pyarrow.table({"query_id": ["q"], "user": ["u"], "time": ["2026-03-02T12:00:00Z"]})
    notes = read_log(queries, events=table, salt="s").notes
    assert "events: actions read as conversion: buy" in notes
    unknown = next(note for note in notes if "unknown" in note)
    assert unknown.startswith("events: 4 events of unknown actions ('Wiggle', 'jump', 'wiggle') count as no click")


def test_an_empty_directory_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is an empty directory, expected files of queries and events"):
        read_log(tmp_path)


def test_a_directory_of_events_alone_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "clicks.csv").write_text("query_id,time\nq1,1772452800\n")
    with pytest.raises(DataError, match=r"holds events \(clicks.csv\), but no file begins with queries"):
        read_log(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"), [(bytes(range(256)), "is not text"), ("query_id,user\n".encode("utf-16"), "is UTF-16")]
)
def test_files_that_are_not_text_are_errors(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "queries.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_log(tmp_path)


CLICKED = (
    [("true", 1), ("False", 0), ("TRUE", 1), ("1", 1), ("0", 0), ("", 0)],
    [(True, 1), (False, 0), (None, 0)],
    [(2, 1), (0, 0)],
)


@pytest.mark.parametrize("cells", CLICKED)
def test_clicks_may_be_true_and_false(cells: list[tuple[Any, int]]) -> None:
    rows = [{**QUERY, "doc": f"d{i}", "position": i, "clicked": cell} for i, (cell, _) in enumerate(cells, 1)]
    log = read_log(pyarrow.Table.from_pylist(rows))
    clicked = log.engine.fetch(log.events.select("position").sort("position"))["position"].to_pylist()
    assert clicked == [i for i, (_, click) in enumerate(cells, 1) if click]


QUERY = {"query_id": "q1", "user": "u", "time": 1_772_452_800}
PRICES = ("7", "1,50", "NaN", "", None, "9")


def check_numbers(engine: Any) -> None:
    """One number of six cannot be read; three are missing, of which one is written as NaN."""
    events = [{**QUERY, "action": "conversion", "value": price} for price in PRICES]
    tables = [pyarrow.Table.from_pylist(rows) for rows in ([{**QUERY, "documents": ["d"]}], events)]
    with pytest.raises(DataError, match=r"1 number cannot be read, such as value 1,50; .*log check.*skip="):
        read_log(tables[0], events=tables[1], engine=engine)
    log = read_log(tables[0], events=tables[1], engine=engine, skip=True)
    assert "events: 1 number cannot be read, such as value 1,50: taken as missing" in log.notes
    assert sorted(filter(None, log.engine.fetch(log.events)["value"].to_pylist())) == [7, 9]


def test_numbers_that_cannot_be_read_are_errors_or_counted(duck: Engine) -> None:
    check_numbers(duck)


@pytest.mark.xdist_group("spark")
def test_spark_finds_numbers_that_cannot_be_read(spark: Engine) -> None:
    check_numbers(open_engine(spark))


def test_times_that_no_clock_should_show_are_errors() -> None:
    far = {**QUERY, "time": "2126-03-02T12:00:00Z", "action": "click"}
    with pytest.raises(DataError, match="1 time before 1930 or after 2070"):
        read_log(pyarrow.Table.from_pylist([{**QUERY, "documents": ["d"]}]), events=pyarrow.Table.from_pylist([far]))


def test_json_values_may_be_texts_in_one_row_and_numbers_in_another(tmp_path: Path) -> None:
    rows = [
        {"query_id": 1, "user": "u", "time": 1_772_452_800, "documents": ["a", "b"]},
        {"query_id": "x", "user": 7, "time": "2026-03-02T12:00:00Z", "documents": "a,b"},
    ]
    clicks = [{"query_id": "1", "user": "u", "position": 2}, {"query_id": "x", "user": "7", "position": "1"}]
    for name, lines in (("queries", rows), ("events", [{**click, "time": 1_772_452_805} for click in clicks])):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    log = read_log(tmp_path, hashed=False)
    queries = log.engine.fetch(log.queries.select("query_id", "user", "time").sort("query_id")).to_pylist()
    noon = 1_772_452_800_000_000  # 2026-03-02T12:00:00Z
    assert queries == [{"query_id": "1", "user": "u", "time": noon}, {"query_id": "x", "user": "7", "time": noon}]
    assert log.engine.fetch(log.events.sort("query_id"))["position"].to_pylist() == [2, 1]
    assert log.engine.fetch(log.shown.select(nw.len()))["len"][0].as_py() == 4


@pytest.mark.parametrize("table", ["", "::ubi_queries"])
def test_a_damaged_sqlite_file_is_an_error_that_names_it(tmp_path: Path, table: str) -> None:
    path = tmp_path / "log 100%?#.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE ubi_queries (query_id, client_id)")
        database.executemany("INSERT INTO ubi_queries VALUES (?, 'u')", [("q" * 3000,)] * 9)
    database.close()
    with pytest.raises(DataError, match="no column for the time"):  # such a name is no obstacle: the table is read
        read_log(f"{path}{table}")
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DataError, match=r"log 100%\?#\.db: cannot be read as a SQLite database"):
        read_log(f"{path}{table}")
