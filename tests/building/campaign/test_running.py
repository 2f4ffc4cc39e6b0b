"""Commands of teams, run inside limits; what they print is a submission like any other."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cranfield import DataError, UsageError
from cranfield.building.campaign import running
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.campaign.running import isolation, run_command, run_submission
from tests.building.campaign.players import PASSWORD, make_campaign, run_text

pytestmark = pytest.mark.skipif(os.name == "nt", reason="limits of processes need Unix")
ALONE = bool(isolation())
LIMITS = {"seconds": 20.0, "megabytes": 500, "most_bytes": 10_000, "network": not ALONE}


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Campaign]:
    make_campaign(tmp_path)
    with Campaign(str(tmp_path / "notes")) as made:
        made.register("red", "Red", "red@example.org", PASSWORD, made.join_code)
        yield made


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_command_gets_the_topics_and_its_output_is_submitted(campaign: Campaign, tmp_path: Path) -> None:
    seen, script = tmp_path / "seen.txt", tmp_path / "search.py"
    (tmp_path / "red.txt").write_text(run_text("red", 1))
    script.write_text(
        f"import sys; open({str(seen)!r}, 'w').write(sys.stdin.read()); "
        f"print(open({str(tmp_path / 'red.txt')!r}).read())"
    )
    receipt = run_submission(campaign, "red", [sys.executable, str(script)], network=not ALONE)
    assert receipt.submission is not None, receipt.findings
    assert [line.split("\t")[0] for line in seen.read_text().splitlines()] == campaign.store.topic_ids()
    assert [own.team for own in campaign.submissions()] == ["red"]


def test_output_is_checked_as_an_uploaded_run_is(campaign: Campaign) -> None:
    receipt = run_submission(campaign, "red", ["echo", "no run"], network=not ALONE)
    assert receipt.submission is None
    assert receipt.findings
    assert not campaign.submissions()
    with pytest.raises(UsageError, match="no team 'blue'"):
        run_submission(campaign, "blue", ["true"], network=not ALONE)


def test_limits_of_time_size_and_memory() -> None:
    began = time.monotonic()
    with pytest.raises(DataError, match=r"ran for more than 0\.5 s, and was stopped"):
        run_command(["sleep", "30"], b"", **LIMITS | {"seconds": 0.5})  # type: ignore[arg-type]
    assert time.monotonic() - began < 10
    with pytest.raises(DataError, match="wrote more than 10,000 bytes"):
        run_command(python("print('x' * 20_000)"), b"", **LIMITS)  # type: ignore[arg-type]
    assert len(run_command(python("print('x' * 9_999)"), b"", **LIMITS).output) == 10_000  # type: ignore[arg-type]
    with pytest.raises(DataError, match="MemoryError"):
        run_command(python("bytearray(600_000_000)"), b"", **LIMITS)  # type: ignore[arg-type]


def test_a_failure_shows_what_the_command_said() -> None:
    with pytest.raises(DataError, match="failed with code 3: no index"):
        run_command(["sh", "-c", "echo no index >&2; exit 3"], b"", **LIMITS)  # type: ignore[arg-type]
    with pytest.raises((UsageError, DataError), match="no-such-command"):
        run_command(["no-such-command"], b"", **LIMITS)  # type: ignore[arg-type]


def test_processes_in_the_background_end_with_the_command(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    run_command(["sh", "-c", f"(sleep 1; touch {mark}) & true"], b"", **LIMITS)  # type: ignore[arg-type]
    if ALONE:  # also those that leave the session
        run_command(["sh", "-c", f"setsid sh -c 'sleep 1; touch {mark}' & true"], b"", **LIMITS)  # type: ignore[arg-type]
    time.sleep(1.5)
    assert not mark.exists()


@pytest.mark.skipif(not ALONE, reason="this system cannot take the network from a command")
def test_a_command_has_no_network_and_few_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    names = run_command(python("import socket; print(*(name for _, name in socket.if_nameindex()))"), b"", **LIMITS)  # type: ignore[arg-type]
    assert names.output.split() == [b"lo"]
    code = "import os, sys; print('SECRET' in os.environ, os.listdir('.'), sys.stdin.read())"
    assert run_command(python(code), b"in", **LIMITS).output.decode().strip() == "False [] in"  # type: ignore[arg-type]


def test_without_a_way_to_take_the_network_the_command_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "isolation", lambda: ())
    with pytest.raises(UsageError, match="cannot take the network from a command"):
        run_command(["true"], b"", **LIMITS | {"network": False})  # type: ignore[arg-type]
