"""`cranfield campaign`: init, status, export, import."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.campaign.submitting import submit
from cranfield.building.serve.project.accounts import matching_hash
from cranfield.cli import main


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    (tmp_path / "topics.tsv").write_text("1\twing flutter\n2\tboundary layer\n")
    (tmp_path / "ids.txt").write_text("d1\nd2\n")
    where = str(tmp_path / "notes")
    command = [
        "campaign",
        "init",
        where,
        "--topics",
        str(tmp_path / "topics.tsv"),
        "--doc-ids",
        str(tmp_path / "ids.txt"),
    ]
    assert main([*command, "-m", "AP", "--title", "Notes", "--organiser", "olga"]) == 0
    out = capsys.readouterr().out
    password = re.search(r"olga \(organiser\): the password is (\S+)", out)
    code = re.search(r"join code (\S+)", out)
    assert password
    assert code
    with Campaign(where) as campaign:
        assert matching_hash(campaign.store, "olga", password[1])
        campaign.register("red", "Red", "r@example.org", "a long password", code[1])
        assert submit(campaign, "red", "r", b"1 Q0 d1 1 2 one\n2 Q0 d2 1 2 one\n").submission
        assert submit(campaign, "red", "r", b"1 Q0 d3 1 2 two\n2 Q0 d2 1 2 two\n").submission is None
    return where


def test_status_shows_the_phase_and_the_teams(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "status", folder]) == 0
    out = capsys.readouterr().out
    assert "phase: submission" in out
    assert re.search(r"red\s+active\s+1\s+1\s+1\s+one", out)


def test_a_leaderboard_without_judgments_is_an_error(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "status", folder, "--show", "leaderboard"]) == 2
    assert "nothing is judged yet" in capsys.readouterr().err
    assert main(["campaign", "status", folder, "-m", "AP"]) == 2


def test_export_and_import_make_an_equal_campaign(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, again = tmp_path / "files", tmp_path / "again"
    assert main(["campaign", "export", folder, str(files)]) == 0
    assert main(["campaign", "import", f"{folder}-copy", str(files), "--organiser", "olga"]) == 0
    assert main(["campaign", "export", f"{folder}-copy", str(again)]) == 0
    assert "1 team, 1 submission" in capsys.readouterr().out
    for path in files.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (again / path.relative_to(files)).read_bytes(), path
    assert main(["campaign", "export", folder, str(files)]) == 1
    assert "is not empty" in capsys.readouterr().err


def test_init_needs_topics_and_a_new_folder(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "init", str(tmp_path / "other")]) == 2
    assert "--topics FILE" in capsys.readouterr().err
    assert main(["campaign", "init", folder, "--topics", str(tmp_path / "topics.tsv")]) == 1
    assert "already exists" in capsys.readouterr().err


def test_a_folder_without_a_campaign_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "status", str(tmp_path)]) == 1
    assert "campaign.toml: the file does not exist" in capsys.readouterr().err
