"""Uploads that name modules, hold XML entities, or have paths for names: nothing runs, nothing leaves its folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.campaign.campaign_export import export_campaign
from cranfield.building.campaign.campaign_results import campaign_status
from cranfield.building.campaign.campaign_setup import import_campaign
from cranfield.building.campaign.campaign_site import campaign_app
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.serve.project.accounts import add_account
from cranfield.building.serve.project.importing import import_log
from cranfield.errors import CranfieldError
from tests.building.campaign.players import PASSWORD, Person, make_campaign, register, run_text
from tests.building.campaign.test_every_route import app, changing
from tests.building.serve.test_log_file import ROW

__all__ = ["app"]
MODULE = "hostilemodule"
NAMES = [f"{MODULE}:M", f"{MODULE}:M@10", f"{MODULE}:M(x=1)"]
NAME_OF_FILES = [
    "../../../outside.txt", "..\\..\\outside.txt", "/etc/outside.txt", "a\nb: c.txt", "..", ".", " ", "x" * 5_000,
    "con.txt", "run.gz", "\u202egnp.run", "<b>.txt", "=1+1.txt", "-rf", "campaign.db", "%2e%2e%2foutside.txt",
]  # fmt: skip
LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
XML = f'<?xml version="1.0"?><!DOCTYPE t [<!ENTITY l0 "ha">{LAUGHS}]><topics><topic number="1">&l9;</topic></topics>'


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module that can be imported, in the working folder and on the path; the test fails if somebody does."""
    (tmp_path / f"{MODULE}.py").write_text("M = None\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    assert sys.modules.pop(MODULE, None) is None, "an upload ran code"


def test_no_field_of_any_form_imports_a_module(app: Any, module: None) -> None:
    olga = Person(app, "olga")
    fields = (
        "name", "role", "title", "contact", "code", "password", "text", "topic", "id", "type", "weight", "team",
        "phase", "digest", "doc", "query", "offer", "state", "grade", "reason", "request", "measure", "tag", "active",
    )  # fmt: skip
    for method, path in sorted(changing(app), key=lambda route: route[1] == "/logout"):
        for name in NAMES[:1] if path == "/login" else NAMES:
            values = dict.fromkeys(fields, name)
            headers = {"x-csrf-token": olga.csrf}
            for sent in ({"data": {**values, "csrf": olga.csrf}}, {"json": values}):
                answer = olga.http.request(method, path, headers=headers, **sent)  # type: ignore[arg-type]
                assert answer.status_code < 500, (path, answer.text[:500])
    for path in ("/", "/organise", "/campaign", "/leaderboard", "/judge", f"/organise/export/{NAMES[0]}"):
        assert olga.http.get(path).status_code < 500


def test_a_run_that_names_a_module_is_only_a_name(tmp_path: Path, module: None) -> None:
    """As tag, topic and document: from the upload to the leaderboard, the export, and the import of the export."""
    make_campaign(tmp_path)
    where = str(tmp_path / "notes")
    with Campaign(where) as campaign:
        served = campaign_app(campaign, hosts=("localhost",))
        team = register(served, "red", campaign.join_code)
        for tag in NAMES:
            assert team.upload(run_text("red", 0, tag=tag)).status_code in (303, 422)
        team.upload(run_text("red", 1).replace(" Q0 d1 ", f" Q0 {NAMES[0]} "))
        team.upload(run_text("red", 2).replace("1 Q0", f"{NAMES[0]} Q0"))
        team.upload(run_text("red", 3), name=NAMES[0])
        campaign_status(campaign)
        export_campaign(campaign, str(tmp_path / "out"))
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({**ROW, "doc": name, "assessor": "anna", "reason": name, "id": at, "request":
        f"request-{at}"}) + "\n" for at, name in enumerate(NAMES, 1)))  # fmt: skip
    with import_campaign(str(tmp_path / "back"), str(tmp_path / "out")) as back:
        assert import_log(back.store, str(log)).rows == len(NAMES)
    for name in ("submissions.csv", "teams.csv", "state.json", "judgments.jsonl"):
        path = tmp_path / "out" / name
        path.write_text(path.read_text().replace("red", NAMES[0]))
    with pytest.raises(CranfieldError):
        import_campaign(str(tmp_path / "again"), str(tmp_path / "out"))


def test_the_name_of_a_file_is_never_a_path(tmp_path: Path) -> None:
    make_campaign(tmp_path)
    with Campaign(str(tmp_path / "notes")) as campaign:
        add_account(campaign.store, "olga", "organiser", PASSWORD)
        served = campaign_app(campaign, hosts=("localhost",))
        team = register(served, "red", campaign.join_code)
        before = {path for path in tmp_path.rglob("*") if path.parent.name != "runs"}
        for at, name in enumerate(NAME_OF_FILES):
            answer = team.upload(run_text("red", 0, tag=f"tag{at}"), name=name)
            assert answer.status_code < 500, (name, answer.text[:500])
            assert "<b>.txt" not in team.http.get("/team").text
        for submission in campaign.submissions():
            assert len(submission.file) <= 100
            assert not set(submission.file) & set("/\\\n\0\u202e"), submission.file
            answer = team.http.get(f"/runs/{submission.digest}")
            disposition = answer.headers["content-disposition"]
            assert disposition == f'attachment; filename="{submission.digest[:12]}.run"'
        assert len(campaign.submissions()) > 3
        left = {path for path in tmp_path.rglob("*") if path.parent.name != "runs"}
        assert {path for path in left - before if not path.name.startswith("campaign.db")} == set()
        assert {path.name for path in (tmp_path / "notes" / "runs").iterdir()} == {
            Path(campaign.path_of(one.digest)).name for one in campaign.submissions()
        }


@pytest.mark.parametrize("digest", ["..%2fcampaign.db", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "a%00b", "x" * 3_000])
def test_no_download_leaves_its_folder(tmp_path: Path, digest: str) -> None:
    make_campaign(tmp_path)
    with Campaign(str(tmp_path / "notes")) as campaign:
        add_account(campaign.store, "olga", "organiser", PASSWORD)
        olga = Person(campaign_app(campaign, hosts=("localhost",)), "olga")
        for path in ("/runs/", "/organise/export/", "/static/", "/static/../../../"):
            answer = olga.http.get(f"{path}{digest}")
            assert answer.status_code in (303, 400, 404, 405), (path, answer.status_code)
            assert b"SQLite" not in answer.content
            assert b"root:" not in answer.content


def test_xml_with_entities_is_not_a_run(tmp_path: Path) -> None:
    make_campaign(tmp_path)
    with Campaign(str(tmp_path / "notes")) as campaign:
        team = register(campaign_app(campaign, hosts=("localhost",)), "red", campaign.join_code)
        for text in (
            XML,
            XML.replace("l9;<", "f;<").replace("<!ENTITY l0", '<!ENTITY f SYSTEM "/etc/passwd"><!ENTITY l0'),
        ):
            answer = team.upload(text)
            assert answer.status_code == 422
            assert "root:" not in answer.text
            assert answer.text.count("haha") == 0
        assert campaign.submissions() == []
