"""Sessions that a log names: in its queries, or in their events. One default for all that uses sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cranfield.answers.sessions.log_sessions import sessions_of_log
from cranfield.online.engines import Engine, open_engine
from cranfield.online.log_measures import measure_log
from cranfield.online.logs import read_log, simulate_log
from cranfield.online.logs.sessions import summarise_sessions
from tests.online.logs.test_check_log import event, query, write_ubi

NAMES = ["queries-per-session", "clicks-per-session", "session-actions"]


def sessions_in_events(folder: Path, *, reverse: bool = False) -> Path:
    """One user with two queries in session x and one in y; as events name them, the first one of each query."""
    about: dict[str, Any] = {"client_id": "u"}
    queries = [query(1, 0, **about), query(2, 10, **about), query(3, 20, **about)]
    events = [
        event(1, 1, **about, session_id="x"), event(1, 2, **about),
        event(2, 11, **about, session_id="x"),
        event(3, 22, **about, session_id="x"), event(3, 21, **about, session_id="y"),
    ]  # fmt: skip
    turn = -1 if reverse else 1
    return write_ubi(folder, queries[::turn], events[::turn])


def check_given(folder: Path, engine: Any) -> None:
    log = read_log(folder, engine=engine, salt="s")
    summary = summarise_sessions(log, by="given")
    assert (summary.sessions, summary.queries_per_session, summary.by) == (2, 1.5, "given")
    # Three queries and five clicks in two sessions
    values = measure_log(log, NAMES, sessions="given", least=1).value[:, 0]
    assert values.tolist() == [1.5, 2.5, 4]
    assert [len(session.queries) for session in sessions_of_log(log, by="given").sessions] == [2, 1]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_query_without_a_session_has_that_of_its_first_event(tmp_path: Path, duck: Engine, reverse: bool) -> None:
    check_given(sessions_in_events(tmp_path / "log", reverse=reverse), duck)


@pytest.mark.xdist_group("spark")
def test_spark_takes_the_same_sessions_from_events(tmp_path: Path, spark: Engine) -> None:
    check_given(sessions_in_events(tmp_path / "log"), open_engine(spark))


def test_what_belongs_to_no_named_session_is_counted(tmp_path: Path, duck: Engine) -> None:
    folder = write_ubi(tmp_path / "log", [query(1), query(2)], [event(1, session_id="x"), event(2)])
    summary = summarise_sessions(read_log(folder, engine=duck, salt="s"), by="given")
    assert "1 query and 1 event without a user, a time or a session belong to no session" in summary.notes


def test_all_that_uses_sessions_has_the_same_default(tmp_path: Path, duck: Engine) -> None:
    named = simulate_log(engine=duck, users=60, days=7, seed=1)
    unnamed = read_log(sessions_in_events(tmp_path / "log"), engine=duck, salt="s")
    for log, way in ((named, "given"), (unnamed, "silence")):
        summary = summarise_sessions(log)
        assert summary.by == way
        measured = measure_log(log, ["queries-per-session"], least=1)
        assert measured.value[0, 0] == pytest.approx(summary.queries_per_session)
        assert len(sessions_of_log(log).sessions) == summary.sessions
        (note,) = (note for note in summary.notes if note.startswith("sessions: "))
        assert note in measured.notes


def test_queries_without_a_session_count_for_their_user_whatever_else_is_measured(tmp_path: Path, duck: Engine) -> None:
    queries = [query(1, second, query_id=f"q{second}") for second in range(4)] + [query(2, query_id="z")]
    for number, row in enumerate(queries):
        row["session_id"] = "s" if number < 2 else None
    log = read_log(write_ubi(tmp_path / "log", queries, [event(1, query_id="q3")]), engine=duck, salt="s")
    alone = measure_log(log, ["queries-per-user"], sessions="given", least=1)
    names = ["queries-per-user", "clicks-per-query", "queries-per-session", "sessions-per-user", "reformulation"]
    together = measure_log(log, names, sessions="given", least=1)
    assert alone.value[0, 0] == 5 / 2
    assert together.value[:, 0].tolist() == [5 / 2, 1 / 5, 2, 1 / 2, 0]
    assert "3 queries without a session: left out of measures of sessions" in together.notes
