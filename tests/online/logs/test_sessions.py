"""Sessions: against a slow version in Python, on both engines, and at the edges."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from cranfield.errors import DataError, UsageError
from cranfield.online.engines import Engine, open_engine
from cranfield.online.logs import Log, simulate_log
from cranfield.online.logs.log import EVENTS
from cranfield.online.logs.sessions import assign_sessions, session_rows, summarise_sessions

MINUTE = 60_000_000


def rows_of(log: Log) -> list[dict[str, Any]]:
    """What users did, in the total order of sessions."""
    rows = [{**row, "kind": 0, "action": "", "doc": ""} for row in log.engine.fetch(log.queries).to_pylist()]
    rows += [{**row, "kind": 1, "text": None} for row in log.engine.fetch(log.events).to_pylist()]
    return sorted(
        rows, key=lambda row: (row["user"], row["time"], row["kind"], row["query_id"], row["action"], row["doc"])
    )


def slow_sessions(log: Log, by: str, silence: float) -> list[tuple[str, str, int, int, int, int, int]]:
    """User, session, start, end, queries, clicks and events of each session, by walking over the rows."""
    sessions: dict[tuple[str, str], list[dict[str, Any]]] = {}
    last: dict[str, Any] = {"user": None}
    number, words = 0, None
    for row in rows_of(log):
        same = row["user"] == last["user"]
        begins = not same or row["time"] - last["time"] > silence * MINUTE
        if not same:
            number, words = 0, None
        if row["kind"] == 0:
            own = set(row["text"].split())
            if by == "continuity" and words is not None and not own & words:
                begins = True
            words = own
        number += begins
        key = row["session"] if by == "given" else str(number)
        sessions.setdefault((row["user"], key), []).append(row)
        last = row
    return sorted(
        (
            user, session, min(row["time"] for row in rows), max(row["time"] for row in rows),
            sum(row["kind"] == 0 for row in rows), sum(row["action"] == "click" for row in rows),
            sum(row["kind"] == 1 for row in rows),
        )
        for (user, session), rows in sessions.items()
    )  # fmt: skip


@pytest.fixture(scope="module")
def log() -> Log:
    return simulate_log(users=80, days=6, seed=5)


@pytest.mark.parametrize("by", ["silence", "continuity", "given"])
@pytest.mark.parametrize("silence", [30.0, 2.0])
def test_sessions_are_those_of_a_slow_version(log: Log, by: str, silence: float) -> None:
    rows = log.engine.fetch(session_rows(log, by=by, silence=silence)).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == slow_sessions(log, by, silence)


def test_the_summary_counts_those_rows(log: Log) -> None:
    slow = slow_sessions(log, "silence", 30)
    summary = summarise_sessions(log, by="silence")
    minutes = np.array([(row[3] - row[2]) / MINUTE for row in slow])
    queries = np.array([row[4] for row in slow])
    assert summary.sessions == len(slow)
    assert summary.users == len({row[0] for row in slow})
    assert summary.queries_per_session == pytest.approx(queries.mean())
    assert summary.minutes == pytest.approx(minutes.mean())
    assert list(summary.quantiles.values()) == pytest.approx(np.quantile(minutes, [0.25, 0.5, 0.75, 0.95]).tolist())
    day = 24 * 60 * MINUTE
    assert summary.across_midnight == sum(row[2] // day != row[3] // day for row in slow)
    table = summary.columns()
    for name, count, share in zip(table["queries"], table["sessions"], table["share"], strict=True):
        same = queries >= 10 if name == "10 or more" else queries == int(name)
        assert count == same.sum()
        assert share == pytest.approx(same.mean())


def test_small_counts_are_left_out_and_told(log: Log) -> None:
    every, some = summarise_sessions(log), summarise_sessions(log, least=20)
    small = int((every.columns()["sessions"] < 20).sum())
    assert small > 0
    assert len(every.columns()["sessions"]) - len(some.columns()["sessions"]) == small
    assert any(note.startswith(f"{small} row") and "fewer than 20 sessions" in note for note in some.notes)


def test_assigned_sessions_are_the_same_ones(log: Log) -> None:
    assigned = assign_sessions(log, by="silence", silence=10)
    starts: dict[str, int] = {}
    for row in rows_of(assigned):
        starts[row["session"]] = min(row["time"], starts.get(row["session"], row["time"]))
    assert sorted(starts.items()) == sorted((f"{row[0]}-{row[1]}", row[2]) for row in slow_sessions(log, "silence", 10))
    assert assigned.queries.collect_schema().names() == log.queries.collect_schema().names()


def tiny(engine: Engine, times: list[int | None]) -> Log:
    """A user with a query at each minute; events of one query without a user."""
    count = len(times)
    queries = pyarrow.table(
        {
            "query_id": [f"q{n}" for n in range(count)],
            "user": ["u"] * count,
            "session": pyarrow.nulls(count, pyarrow.string()),
            "time": pyarrow.array([None if time is None else time * MINUTE for time in times], pyarrow.int64()),
            "text": ["a b"] * count,
            "arm": pyarrow.nulls(count, pyarrow.string()),
        }
    )
    texts = dict.fromkeys(("query_id", "user", "session", "action", "doc"), pyarrow.string())
    types = {**texts, "time": pyarrow.int64(), "position": pyarrow.int64()}
    types |= {"value": pyarrow.float64(), "dwell": pyarrow.float64()}
    events = pyarrow.table({name: pyarrow.nulls(1, types[name]) for name in EVENTS})
    return Log(engine, engine.read(queries), None, engine.read(events))


def test_a_session_ends_after_more_than_the_silence(duck: Engine) -> None:
    # 30 minutes of silence are within a session, 31 end it
    rows = duck.fetch(session_rows(tiny(duck, [0, 30, 61, 61]))).to_pylist()
    assert sorted((row["start"] // MINUTE, row["end"] // MINUTE, row["queries"]) for row in rows) == [
        (0, 30, 2),
        (61, 61, 2),
    ]


def test_rows_without_a_time_belong_to_no_session(duck: Engine) -> None:
    summary = summarise_sessions(tiny(duck, [0, None]))
    assert summary.sessions == 1
    assert "1 query and 1 event without a user or a time belong to no session" in summary.notes


def test_a_log_without_sessions_is_an_error(duck: Engine) -> None:
    with pytest.raises(DataError, match="names no sessions; find them by silence"):
        summarise_sessions(tiny(duck, [0]), by="given")
    with pytest.raises(UsageError, match="by == 'topic'"):
        session_rows(tiny(duck, [0]), by="topic")
    with pytest.raises(UsageError, match="silence == 0"):
        session_rows(tiny(duck, [0]), silence=0)


def test_a_log_of_twice_the_memory_limit_has_the_same_sessions(tmp_path: Path) -> None:
    small = simulate_log(users=10_000, days=10, seed=6)
    tables = [pyarrow.concat_tables([small.engine.fetch(frame)] * 6) for frame in (small.queries, small.events)]
    assert sum(table.nbytes for table in tables) > 2 * 40e6
    summaries = []
    for memory in ("2GB", "40MB"):
        with open_engine("duckdb", memory=memory, threads=1, folder=str(tmp_path)) as engine:
            queries, events = (engine.keep(engine.read(table)) for table in tables)
            summaries.append(summarise_sessions(Log(engine, queries, None, events)))
            assert any(tmp_path.iterdir()) == (memory == "40MB")  # it fits into memory, or not
    assert summaries[0].to_dict()["rows"] == summaries[1].to_dict()["rows"]


@pytest.mark.xdist_group("spark")
def test_spark_finds_the_sessions_of_duckdb(spark: Engine, log: Log) -> None:
    theirs = simulate_log(engine=spark, users=80, days=6, seed=5)
    for by in ("silence", "continuity"):
        rows = [engine.engine.fetch(session_rows(engine, by=by)).to_pylist() for engine in (log, theirs)]
        assert sorted(map(str, rows[0])) == sorted(map(str, rows[1]))
    summary = summarise_sessions(theirs)
    assert not summary.exact
    assert "minutes at quantiles (approximate)" in str(summary)
