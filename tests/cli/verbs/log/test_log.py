"""`cranfield log`: check, sessions and demo on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.cli.conftest import Cranfield

IMPRESSIONS = "query_id,user,time,doc,position\nq1,u1,2026-03-02T12:00:00Z,a,1\nq1,u1,2026-03-02T12:00:00Z,b,2\n"
CLICKS = "query_id,time,doc,position\nq1,2026-03-02T12:00:05Z,b,2\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "impressions.csv").write_text(IMPRESSIONS)
    (tmp_path / "clicks.csv").write_text(CLICKS)
    return tmp_path


def test_a_good_log_exits_with_0(cranfield: Cranfield, log: Path) -> None:
    done = cranfield("log", "check", str(log), "--why")
    assert (done.code, done.err) == (0, "")
    assert "no problems in 1 query, 2 documents shown and 1 event" in done.out
    assert "users are hashed with a salt of this run; to compare runs, set --salt or CRANFIELD_SALT" in done.out


def test_errors_exit_with_1_and_name_options(cranfield: Cranfield, log: Path) -> None:
    (log / "clicks.csv").write_text(CLICKS.replace("05Z,b,2", "05,b,0"))
    done = cranfield("log", "check", str(log), "--format", "json")
    assert done.code == 1
    report = json.loads(done.out)
    assert report["wrong"] is True
    found = {finding["problem"]: finding for finding in report["findings"]}
    assert found["positions of clicks that are 0"]["count"] == 1
    assert found["positions of clicks that are 0"]["remedy"].endswith("if they begin with 0 here: --first-position 0")
    assert found["times of events without a time zone"]["remedy"] == "name the zone that they are in: --zone"
    mended = cranfield("log", "check", str(log), "--zone", "UTC", "--first-position", "0", "--format", "json")
    assert json.loads(mended.out)["rows"][0]["problem"] == "clicks at another position than their document was shown"


def test_a_log_that_cannot_be_used_names_the_option(cranfield: Cranfield, log: Path) -> None:
    (log / "clicks.csv").write_text(CLICKS.replace("05Z", "05"))
    done = cranfield("log", "sessions", str(log))
    assert done.code == 1
    assert "1 time without a time zone; name the zone: zone=" in done.err
    assert "on the command line: --zone ZONE" in done.err
    assert cranfield("log", "sessions", str(log), "--zone", "Europe/Berlin").code == 0


def test_a_table_with_unknown_columns_says_what_to_type(cranfield: Cranfield, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("who,what,when\n1,2,3\n")
    done = cranfield("log", "measures", str(table))
    assert done.code == 1
    assert "no columns for query_id, user, time among who, what, when" in done.err
    assert done.err.endswith("on the command line: --columns query_id=COLUMN,user=COLUMN,time=COLUMN\n")


def test_sessions_are_written_and_drawn(cranfield: Cranfield, log: Path) -> None:
    rows, plot = log / "out" / "sessions.parquet", log / "out" / "sessions.csv"
    rows.parent.mkdir()
    done = cranfield("log", "sessions", str(log), "--rows", str(rows), "--plot", str(plot), "--keep-users", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert "1 session of 1 user: 1.00 queries and 0.08 minutes on average" in done.out
    written = pyarrow.parquet.read_table(rows).to_pylist()
    assert [(row["user"], row["queries"], row["clicks"]) for row in written] == [("u1", 1, 1)]
    assert plot.read_text().splitlines() == ["queries,share", "1,1.0"]
    assert "must end in .parquet or .csv" in cranfield("log", "sessions", str(log), "--rows", "x.txt").err


def test_sessions_are_written_for_the_verb_sessions(cranfield: Cranfield, log: Path) -> None:
    file = str(log.parent / "sessions.jsonl")
    result = cranfield("log", "sessions", str(log), "--salt", "x", "--write", file)
    assert result.code == 0
    scored = cranfield(
        "answers", "sessions", "none", file, "--gains-from", "clicks", "-m", "sCost", "-q", "--format", "csv"
    )
    assert scored.code == 0
    assert f"wrote {len(scored.out.splitlines()) - 1:,} session" in result.err
    wrong = cranfield("log", "sessions", str(log), "--salt", "x", "-o", file)
    assert wrong.code == 2
    assert f"--write {file} writes the sessions" in wrong.err


def test_the_demo_is_the_same_for_the_same_seed(cranfield: Cranfield, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder, seed in zip(folders, ("1", "1", "2"), strict=True):
        assert cranfield("log", "demo", str(folder), "--users", "30", "--days", "2", "--seed", seed).code == 0
    events = [(folder / "ubi_events.jsonl").read_bytes() for folder in folders]
    assert events[0] == events[1] != events[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--users", "0"], "--users == 0, must be a whole number, 1 or more"),
        (["--advantage", "2"], "--advantage == 2.0, must be between 0 and 1"),
        (["--arms", "A,A"], "must be different names, one or more"),
    ],
)
def test_wrong_settings_of_the_demo_are_errors(
    cranfield: Cranfield, tmp_path: Path, words: list[str], message: str
) -> None:
    done = cranfield("log", "demo", str(tmp_path / "log"), *words)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize("words", [("log", "sessions"), ("ab", "analyse", "-m", "CTR"), ("clicks", "fit")])
def test_verbs_name_numbers_that_cannot_be_read_and_their_own_way_out(
    cranfield: Cranfield, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "impressions.csv").write_text("query_id,user,time,text,doc,position\nq1,u1,1772452800,t,a,first\n")
    (tmp_path / "clicks.csv").write_text("query_id,user,time,doc,position\nq1,u1,1772452805,a,1\n")
    result = cranfield(*words[:2], str(tmp_path), *words[2:])
    assert result.code == 1
    assert "1 number cannot be read, such as position first; cranfield log check shows where" in result.err
    assert ("--skip-bad" in result.err) == (words[0] == "log")
    assert words[0] == "log" or "skip=" not in result.err
