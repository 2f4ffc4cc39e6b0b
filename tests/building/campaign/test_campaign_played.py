"""A whole campaign over HTTP: 5 teams with 3 runs each on 10 topics, from its start to its leaderboard."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest

from cranfield.building.campaign.campaign_site import campaign_app
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.serve.database.database import Connection
from tests.building.campaign.players import (
    DEPTH,
    TEAMS,
    TOPICS,
    Person,
    grade,
    judge_all,
    make_campaign,
    ranking,
    register,
    run_text,
)

POOL_DEPTH = 10


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Any]:
    """The server of a new campaign; `app.state.password` is that of the organiser olga."""
    password = make_campaign(tmp_path)
    with Campaign(str(tmp_path / "notes")) as campaign:
        made = campaign_app(campaign, hosts=("localhost",))
        made.state.password = password
        yield made


def join_code(organiser: Person) -> str:
    found = re.search(r"join code <code>([^<]+)</code>", organiser.get("/campaign"))
    assert found
    return found[1]


def submit(person: Person, run: int, **more: Any) -> None:
    assert person.name is not None
    answer = person.upload(run_text(person.name, run, **more), f"{person.name}-{run}.txt")
    assert answer.status_code == 303, answer.text


def test_a_whole_campaign_is_played_from_registration_to_the_leaderboard(app: Any) -> None:
    olga = Person(app, "olga", app.state.password)
    code = join_code(olga)
    teams = {name: register(app, name, code) for name in TEAMS}

    # wrong uploads, each with a message that says what to mend
    red = teams["red"]
    lines = run_text("red", 0).splitlines()
    lines[6] = "1 Q0 d5 7"
    bad = red.upload("\n".join(lines) + "\n", "bad.txt")
    assert bad.status_code == 422
    assert "bad.txt was not submitted" in bad.text
    assert "<code>line 7</code> 4 columns, expected 6: topic Q0 doc rank score tag" in bad.text
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("run.txt", run_text("red", 0))
    answer = red.upload(zipped.getvalue(), "run.zip")
    assert answer.status_code == 422
    assert "is a ZIP archive; upload the run itself, as text" in answer.text
    long = run_text("red", 0) + f"3 Q0 d59 {DEPTH + 1} 1 red-0\n"
    if "3 Q0 d59" in run_text("red", 0):
        raise AssertionError("choose a document that is not in the list")
    answer = red.upload(long)
    assert answer.status_code == 422
    assert f"topic &#39;3&#39; has {DEPTH + 1} documents, at most {DEPTH} are allowed" in answer.text
    answer = red.upload(run_text("red", 0, topics=TOPICS[:8]))
    assert answer.status_code == 422
    assert "2 topics are missing: 9, 10" in answer.text
    assert red.upload(b"x" * 100_000_000).status_code == 413
    assert red.upload(run_text("red", 0), csrf="").status_code == 403
    assert "Nothing yet." in red.get("/team")  # nothing of this was kept

    # the runs; two teams in turn, so that several arrive in the same second
    for run in range(3):
        for person in teams.values():
            submit(person, run)
    numbers = re.findall(
        r'<tr><td class="number">(\d+)</td><td>(\w+)</td><td>([\w-]+)</td><td>yes', olga.get("/campaign")
    )
    assert [(team, tag) for _, team, tag in numbers] == [(team, f"{team}-{run}") for run in range(3) for team in TEAMS]
    again = red.upload(run_text("red", 1))
    assert again.headers["location"].endswith("&known=1")
    assert "You submitted exactly this content on" in red.get(again.headers["location"])
    fourth = red.upload(run_text("red", 1, tag="red-x"))
    assert fourth.status_code == 200
    assert "It does not count, because 3 other runs already count" in fourth.text

    # nobody reads the runs of others, nor does what is for others
    digest = re.search(r"/runs/([0-9a-f]{64})", red.get("/team"))
    assert digest
    assert red.get(f"/runs/{digest[1]}").startswith("1 Q0 ")
    assert olga.get(f"/runs/{digest[1]}").startswith("1 Q0 ")
    teams["blue"].get(f"/runs/{digest[1]}", 404)
    teams["blue"].form("/team/mark", 409, digest=digest[1], counts="0")
    for path in ("/campaign", "/judge", "/organise", "/campaign/export", "/organise/export/qrels", "/api/history"):
        teams["blue"].get(path, 403)
    assert "possible only in the phase results" in teams["blue"].get("/leaderboard", 403)
    teams["blue"].form("/campaign/phase", 403, phase="results")

    # pooling: submissions are closed
    olga.form("/campaign/pool", 400)
    olga.form("/campaign/phase", phase="pooling")
    late = red.upload(run_text("red", 2, tag="red-late"))
    assert late.status_code == 403
    assert "possible only in the phase submission; now is the phase pooling" in late.text
    assert "Register a team" in register(app, "late", code, 403).http.get("/register").text
    assert Person(app).http.post("/register", data={"code": code}).status_code == 403
    olga.http.post("/campaign/pool", data={"csrf": "wrong"})
    assert "<dt>Documents in the pool</dt><dd>0</dd>" in olga.get("/campaign")
    page = olga.form("/campaign/pool", 200)
    pool = {
        (topic, doc)
        for topic in TOPICS for team in TEAMS for run in range(3) for doc in ranking(team, run, topic)[:POOL_DEPTH]
    }  # fmt: skip
    assert f"{len(pool)} documents of 15 runs are in the pool" in page

    # judging, by an assessor whom the organiser adds
    page = olga.form("/organise/accounts", 200, name="anna", role="assessor")
    password = re.search(r"The password of <strong>anna</strong> is <code>([^<]+)</code>", page)
    assert password
    assert "possible only in the phase judging" in Person(app, "olga", app.state.password).get("/judge", 403)
    olga.form("/campaign/phase", phase="judging")
    assert judge_all(app, "anna", password[1]) == len(pool)

    # results
    olga.form("/campaign/phase", phase="results")
    expected = leaderboard_by_hand(pool)
    board = teams["pink"].get("/leaderboard")
    shown = re.findall(r'<td class="number">(\d+)</td><td><strong>([\w-]+)</strong></td>.*?"number">([\d.]+)<', board)
    assert [(run, value) for _, run, value in shown] == [(run, f"{value:.4f}") for run, value in expected]
    assert [int(rank) for rank, *_ in shown] == [
        1 + sum(round(other, 12) > round(value, 12) for _, other in expected) for _, value in expected
    ]
    assert "do not differ significantly" in board
    sheet = teams["pink"].get("/sheets?measure=P@5")
    assert "pink-2" in sheet
    assert "red-0" not in sheet
    row = re.search(r"pink-2</h2>.*?<tr><td>1</td>(.*?)<svg", sheet, re.DOTALL)
    assert row
    values = [precision_by_hand(team, run, "1") for team in TEAMS for run in range(3)]
    own = precision_by_hand("pink", 2, "1")
    assert re.findall(r"number[^>]*>([\d.]+)</td>", row[1])[:3] == [
        f"{v:.4f}" for v in (own, median(values), max(values))
    ]
    assert "pink-2" in teams["pink"].get("/sheets?team=red")  # a team sees only its own sheets
    assert "red-2" in olga.get("/sheets?team=red")
    assert "red-0" in teams["pink"].get("/compare")

    # everything as files
    files = zipfile.ZipFile(io.BytesIO(olga.http.get("/campaign/export").content))
    rows = list(csv.DictReader(io.StringIO(files.read("campaign/leaderboard.csv").decode())))
    written = [(row["run"], float(row["mean"])) for row in rows if row["measure"] == "AP"]
    assert [run for run, _ in written] == [run for run, _ in expected]
    assert [value for _, value in written] == pytest.approx([value for _, value in expected])
    qrels = [line.split() for line in files.read("campaign/qrels.txt").decode().splitlines()]
    assert {(topic, doc): int(value) for topic, _, doc, value in qrels} == {item: grade(*item) for item in pool}


def leaderboard_by_hand(pool: set[tuple[str, str]]) -> list[tuple[str, float]]:
    """Mean average precision of all runs, the best first; equal ones in the order of submission."""
    means = {}
    for run in range(3):
        for team in TEAMS:
            values = []
            for topic in TOPICS:
                relevant = {doc for of, doc in pool if of == topic and grade(topic, doc) > 0}
                found, total = 0, 0.0
                for rank, doc in enumerate(ranking(team, run, topic), 1):
                    if doc in relevant:
                        found += 1
                        total += found / rank
                values.append(total / len(relevant))
            means[f"{team}-{run}"] = fmean(values)
    return sorted(means.items(), key=lambda item: -round(item[1], 12))


def precision_by_hand(team: str, run: int, topic: str) -> float:
    """The share of relevant documents among the first 5, which are all in the pool."""
    return sum(grade(topic, doc) > 0 for doc in ranking(team, run, topic)[:5]) / 5


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """As on a full disk: no file grows beyond this size."""
    resource = pytest.importorskip("resource", reason="no limits of the size of files on this system")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [600_000, 3_000_000])
def test_a_full_disk_during_an_upload_is_told_and_leaves_nothing(app: Any, tmp_path: Path, size: int) -> None:
    """The larger file does not even fit where the server keeps uploads while it reads them."""
    red = register(app, "red", join_code(Person(app, "olga", app.state.password)))
    lines = run_text("red", 0).splitlines()
    blanks = " " * (size // len(lines))
    run = "".join(line.replace(" Q0 ", f" Q0 {blanks}") + "\n" for line in lines)
    runs = tmp_path / "notes" / "runs"
    with largest_file(500_000):
        answer = red.upload(run)
    assert answer.status_code == 507
    assert "File too large" in answer.text
    assert ("the run was not submitted" if size < 1_000_000 else "Nothing of this change was saved") in answer.text
    assert not list(runs.iterdir())
    assert "Nothing yet." in red.get("/team")
    assert red.upload(run).status_code == 303
    assert len(list(runs.iterdir())) == 1


def test_a_full_database_during_an_upload_leaves_no_file(app: Any, tmp_path: Path) -> None:
    red = register(app, "red", join_code(Person(app, "olga", app.state.password)))
    store = app.state.site.store

    def allow(more: int) -> None:
        def change(connection: Connection) -> None:
            (pages,) = connection.run("PRAGMA page_count")[0]
            connection.run(f"PRAGMA max_page_count = {pages + more}")

        store.database.write(change)

    allow(0)
    name = "x" * 90 + ".txt"
    answers = [red.upload(run_text("red", 0, tag=f"red-{'y' * 100}{at}"), name) for at in range(20)]
    assert answers[-1].status_code == 507
    assert "the disk is full; nothing of this change was saved" in answers[-1].text
    kept = [answer for answer in answers if answer.status_code in (200, 303)]
    assert len(list((tmp_path / "notes" / "runs").iterdir())) == len(kept) == len(app.state.site.campaign.submissions())
    allow(1000)
    assert red.upload(run_text("red", 0, tag="red-z")).status_code in (200, 303)
