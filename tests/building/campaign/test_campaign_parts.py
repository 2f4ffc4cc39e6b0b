"""Campaigns that judge by dimension, by nugget, or list against list: from the pool to the leaderboard and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.campaign.campaign_export import export_campaign
from cranfield.building.campaign.campaign_results import Results, campaign_status, score
from cranfield.building.campaign.campaign_setup import add_organiser, import_campaign
from cranfield.building.campaign.campaign_site import campaign_app
from cranfield.building.campaign.campaign_store import Campaign, build_pool
from cranfield.building.serve.project.accounts import add_account
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.evaluation.evaluator import evaluate
from tests.building.campaign.players import PASSWORD, Person
from tests.building.campaign.test_campaign_modes import ABOUT, start
from tests.building.serve.web import Client


def client(campaign: Campaign, name: str = "anna") -> Client:
    add_account(campaign.store, name, password=PASSWORD)
    return Client(campaign_app(campaign, hosts=("localhost",)), name, PASSWORD)


def means(results: Results) -> dict[str, float]:
    board = results.leaderboard()
    return dict(zip(board.run, board.mean.tolist(), strict=True))


def runs_of(files: Path) -> list[str]:
    return sorted(str(path) for path in files.glob("runs/*/*.run"))


def test_a_campaign_that_judges_by_dimension(tmp_path: Path) -> None:
    """By hand, with p = 1/2: red-1 has d1 (relevant) and d2 (relevant, understandable) at ranks 1 and 2, and d4 at 4:
    (1 - p) p = 1/4. blue-1 has d2 at rank 3: (1 - p) p^2 = 1/8. Only d2 is understandable."""
    named = {"mode": "dimensions", "dimensions": ["relevance", "understandability"]}
    with start(tmp_path, ["uRBP(p=0.5)", "P@2"], {}, **named) as campaign:
        anna, done = client(campaign), 0
        while items := anna.state()["items"]:
            doc = items[0]["doc"]
            said = {"relevance": int(doc in ABOUT), "understandability": int(doc == "d2")}
            assert [row["id"] for row in items[0]["rows"]] == list(said)
            assert anna.judge(items[0], grades=said).status_code == 200
            done += 1
        assert done == 12
        campaign.open_phase("results", "olga")
        results = score(campaign)
        assert means(results) == {"red-1": 0.25, "blue-1": 0.125}
        assert results.scores.mean()["red-1"]["P@2"] == 1.0
        files = tmp_path / "files"
        export_campaign(campaign, str(files))
    again = evaluate(
        str(files / "qrels.txt"), runs_of(files), ["uRBP(p=0.5)"],
        dimensions={"understandability": str(files / "qrels.understandability.txt")},
    )  # fmt: skip
    assert sorted(one["uRBP(p=0.5)"] for one in again.mean().values()) == [0.125, 0.25]
    with import_campaign(str(tmp_path / "copy"), str(files)) as copy:
        assert means(score(copy)) == means(results)


def test_a_campaign_that_judges_passages(tmp_path: Path) -> None:
    """By hand: the first two of red-1 hold both nuggets, those of blue-1 (d4, d5) one of two. A third nugget of
    topic 1 is added on the way; no document holds it, so that it does not count."""
    (tmp_path / "docs.jsonl").write_text(
        "".join(json.dumps({"id": f"d{i}", "text": f"alpha beta {i}"}) + "\n" for i in range(1, 9))
    )
    (tmp_path / "nuggets.tsv").write_text("".join(f"{t}\t{n}\tabout {n}\n" for t in "12" for n in "ab"))
    more = {"mode": "nuggets", "docs": [str(tmp_path / "docs.jsonl")], "nuggets": str(tmp_path / "nuggets.tsv")}
    with start(tmp_path, ["I-rec@2", "alpha-nDCG@4"], {}, **more) as campaign:
        anna = client(campaign)
        added = anna.post("/api/nugget", {"offer": anna.state()["open"][0], "text": "one more"})
        assert added.status_code == 200, added.text
        while items := anna.state()["items"]:
            about = sorted(ABOUT.get(items[0]["doc"], set()))
            spans = [{"nugget": name, "start": 0, "end": 5} for name in about]
            assert anna.judge(items[0], spans=spans).status_code == 200
        campaign.open_phase("results", "olga")
        results = score(campaign)
        assert means(results) == {"red-1": 1.0, "blue-1": 0.5}
        assert any("nuggets: 2 topics: weights are missing" in note for note in results.notes)
        files = tmp_path / "files"
        export_campaign(campaign, str(files))
    assert "1 a d1 1\n1 b d1 0\n1 n1 d1 0\n" in (files / "qrels.nuggets.txt").read_text()
    assert (files / "spans.tsv").read_text().splitlines()[1] == "1\ta\td1\t0\t5\tanna\talpha"
    with pytest.warns(CranfieldWarning, match="1 intent without relevant documents is left out: 1/n1"):
        again = evaluate(str(files / "qrels.nuggets.txt"), runs_of(files), ["I-rec@2", "alpha-nDCG@4"])
    assert sorted(map(str, again.mean().values())) == sorted(map(str, results.scores.mean().values()))
    with import_campaign(str(tmp_path / "copy"), str(files)) as copy:
        assert score(copy).scores.mean() == results.scores.mean()
        assert [facet.text for facet in copy.store.facets("nugget", "1")] == ["about a", "about b", "one more"]


def test_passages_need_texts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mode nuggets: there are no texts in which passages could be marked"):
        start(tmp_path, ["I-rec@2"], {}, mode="nuggets")


def prefer(anna: Client, choose: Any) -> list[str]:
    """Judge all pairs; returns the preferences that were sent."""
    said = []
    while items := anna.state()["items"]:
        first = [side["documents"][0]["doc"] for side in items[0]["sides"]]
        assert "red" not in json.dumps(items[0])  # nothing tells whose list it is
        said.append(choose(items[0]["topic"]["id"], first))
        assert anna.judge(items[0], preferred=said[-1]).status_code == 200
    return said


def test_a_campaign_of_lists_side_by_side(tmp_path: Path) -> None:
    """By hand: anna prefers the list of red-1, which begins with d1, on topic 1, and has no preference on topic 2; so
    red-1 wins 1 and 1/2 of its comparisons, and blue-1 0 and 1/2."""

    def choose(topic: str, first: list[str]) -> str:
        return "tie" if topic == "2" else ("left", "right")[first.index("d1")]

    with start(tmp_path, ["wins"], {}, mode="preferences") as campaign:
        assert len(prefer(client(campaign), choose)) == 2
        campaign.open_phase("results", "olga")
        results = score(campaign)
        assert means(results) == {"red-1": 0.75, "blue-1": 0.25}
        assert results.sheets("red")[0].score.tolist() == [1.0, 0.5]
        page = Person(campaign_app(campaign, hosts=("localhost",)), "olga", add_organiser(campaign, "olga"))
        assert "a tie counts half" in page.get("/leaderboard")
        assert "<dt>Pairs of lists to compare</dt><dd>2</dd>" in page.get("/campaign")
        assert "2 of 2 judgments of 2 pairs of lists" in campaign_status(campaign).table().notes
        files = tmp_path / "files"
        export_campaign(campaign, str(files))
    assert (files / "preferences.tsv").read_text().splitlines()[1:] == [
        "1\tblue-1\tred-1\tred-1\tanna",
        "2\tblue-1\tred-1\ttie\tanna",
    ]
    assert not (files / "qrels.txt").exists()
    with import_campaign(str(tmp_path / "copy"), str(files)) as copy:
        assert means(score(copy)) == means(results)
        copy.open_phase("judging", "olga")
        copy.store.set_settings(copy.store.settings().changed(overlap=2))
        assert len(prefer(client(copy, "ben"), choose)) == 2  # the lists are shown again


def test_a_budget_takes_pairs_of_every_topic(tmp_path: Path) -> None:
    with start(tmp_path, ["wins"], {"# budget = 500  ": "budget = 1  "}, mode="preferences") as campaign:
        assert campaign.store.pool_size() == 1
        campaign.open_phase("pooling", "olga")
        assert build_pool(campaign, "olga") == ["1 pair of lists of 2 runs are in the pool"]


def test_nothing_is_ranked_before_something_is_preferred(tmp_path: Path) -> None:
    with (
        start(tmp_path, ["wins"], {}, mode="preferences") as campaign,
        pytest.raises(UsageError, match="nothing is judged yet"),
    ):
        score(campaign)
