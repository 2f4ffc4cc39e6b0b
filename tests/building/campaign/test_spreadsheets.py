"""No cell of an exported table runs in a spreadsheet, and everything is read back as it was."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cranfield.answers.nugget_files import read_nuggets
from cranfield.building.campaign.campaign_export import export_campaign
from cranfield.building.campaign.campaign_setup import import_campaign
from cranfield.building.campaign.campaign_store import Campaign, build_pool
from cranfield.building.campaign.submitting import submit
from cranfield.building.serve.project.accounts import hashed
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.judging_modes import Facet, PoolEntry
from cranfield.building.serve.project.judging_project import read_facets
from cranfield.building.serve.project.judgment_log import Entry
from cranfield.building.serve.project.store import Store
from cranfield.text import guarded, unguarded
from tests.building.campaign.players import make_campaign, run_text
from tests.building.serve.conftest import fill
from tests.building.serve.working import export_text

MARKS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
EVIL = ["=HYPERLINK(1)", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", " =1", "'=1", "a;=1+1", "\uff1d1", 'x",=1', "bm25"]


@given(st.text() | st.text(alphabet="'=+-@ \t\na1"))
def test_a_guard_can_be_taken_away_and_what_is_guarded_does_not_run(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert not guarded(text).lstrip().startswith(MARKS)


def test_every_table_of_a_campaign_is_guarded_and_read_back_as_it_was(tmp_path: Path) -> None:
    make_campaign(tmp_path, toml={"tag = ": "tag = '.*' #"})
    with Campaign(str(tmp_path / "notes")) as campaign:
        password = hashed("a long password")
        for number, text in enumerate(EVIL):
            campaign.add_team(f"team{number}", text, text, password, 1.0, log=True)
            if " " not in text:
                receipt = submit_text(campaign, f"team{number}", text, run_text("red", 0, tag=text))
                assert receipt
        campaign.open_phase("pooling", "olga")
        build_pool(campaign, "olga")
        campaign.open_phase("judging", "olga")
        teams, runs = campaign.teams(), [one.tag for one in campaign.submissions()]
        judging = Judging(campaign.store)
        judging.load()
        offers = judging.offers("olga").result().offers
        for offer in offers:
            judging.judge(
                Entry(f"request {offer.id}", offer.topic, offer.doc, "olga", grade=1.0, offer=offer.id)
            ).result()
        files = export_campaign(campaign, str(tmp_path / "export"))
    tables = [name for name in files if name.endswith(".csv")]
    assert {"teams.csv", "submissions.csv", "assessors.csv", "leaderboard.csv", "scores.csv"} <= set(tables)
    for name in tables:
        text = (tmp_path / "export" / name).read_text()
        for row in csv.reader(io.StringIO(text)):
            assert not [cell for cell in row if cell.lstrip().startswith(MARKS) and not number_like(cell)], name
    titles = csv.DictReader(io.StringIO((tmp_path / "export" / "teams.csv").read_text()))
    assert [unguarded(row["title"]) for row in titles] == EVIL
    import_campaign(str(tmp_path / "again"), str(tmp_path / "export"))
    with Campaign(str(tmp_path / "again")) as again:
        assert [(one.title, one.contact) for one in again.teams()] == [(one.title, one.contact) for one in teams]
        assert [one.tag for one in again.submissions()] == runs


def number_like(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def submit_text(campaign: Campaign, team: str, name: str, text: str) -> bool:
    return submit(campaign, team, f"{name}.run", text.encode()).submission is not None


def test_texts_of_judging_are_guarded_and_ids_are_not(tmp_path: Path) -> None:
    with Store(str(tmp_path / "judgments.db")) as store:
        fill(store)
        store.set_settings(store.settings().changed(mode="nuggets"))
        store.add_facets([Facet("1", "nugget", f"=n{at}", text) for at, text in enumerate(EVIL)], by="anna")
        store.add_pool([PoolEntry("2", f"-d{at}", {}, "search", text) for at, text in enumerate(EVIL)])
        nuggets = [line.split("\t") for line in export_text(store, "nuggets").splitlines()[1:]]
        pool = [line.split("\t") for line in export_text(store, "pool").splitlines() if "-d" in line]
    assert [cells[1] for cells in nuggets] == [f"=n{at}" for at in range(len(EVIL))]  # as other files call them
    assert [cells[-1] for cells in nuggets] == [cells[3] for cells in pool] == [guarded(text) for text in EVIL]
    file = tmp_path / "nuggets.tsv"
    file.write_text("".join(f"1\tn{at}\t{guarded(text)}\n" for at, text in enumerate(EVIL)))
    assert [facet.text for facet in read_facets(str(file), "nugget")] == EVIL
    file.write_text("topic\tnugget\ttext\n" + file.read_text())
    assert [nugget.text for nugget in read_nuggets(str(file))["1"].values()] == [text.strip() for text in EVIL]
