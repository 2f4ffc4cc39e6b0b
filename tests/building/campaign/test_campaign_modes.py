"""Campaigns that judge by intent, draw samples, or check assessors with gold documents; and what cannot be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cranfield.building.campaign.campaign_config import config_of, name_database, read_config
from cranfield.building.campaign.campaign_export import export_campaign
from cranfield.building.campaign.campaign_results import score
from cranfield.building.campaign.campaign_setup import add_organiser, import_campaign, init_campaign
from cranfield.building.campaign.campaign_site import campaign_app
from cranfield.building.campaign.campaign_store import Campaign, build_pool
from cranfield.building.campaign.submitting import submit
from cranfield.building.serve.project.accounts import add_account
from cranfield.errors import CranfieldError, UsageError
from cranfield.evaluation.evaluator import evaluate
from tests.building.campaign.players import PASSWORD, Person
from tests.building.serve.web import Client

TOPICS = """<topics>
<topic number="1"><query>wings</query><subtopic number="a" type="inf">flutter</subtopic>
<subtopic number="b" type="nav">the wing page</subtopic></topic>
<topic number="2"><query>heat</query><subtopic number="a" type="inf">shields</subtopic>
<subtopic number="b" type="inf">tubes</subtopic></topic>
</topics>
"""
LISTS = {"red-1": ["d1", "d2", "d3", "d4"], "blue-1": ["d4", "d5", "d2", "d6"]}
ABOUT = {"d1": {"a"}, "d2": {"a", "b"}, "d4": {"b"}, "d6": {"a"}}
"""Which intents a document is about, the same in both topics."""


def start(
    folder: Path,
    measures: list[str],
    toml: dict[str, str],
    *,
    topics: str = TOPICS,
    gold: str | None = None,
    mode: str = "graded",
    **more: Any,
) -> Campaign:
    """A campaign in which two teams have submitted a run each, and the pool is made."""
    (folder / "topics.xml").write_text(topics)
    (folder / "ids.txt").write_text("".join(f"d{i}\n" for i in range(1, 9)))
    named = {} if mode == "graded" else {"measures": measures}
    init_campaign(
        str(folder / "notes"), name="Notes", topics=str(folder / "topics.xml"), doc_ids=str(folder / "ids.txt"),
        gold=gold, mode=mode, **named, **more,
    )  # fmt: skip
    path = folder / "notes" / "campaign.toml"
    text = path.read_text()
    if mode == "graded":
        toml = {'measures = ["nDCG@10", "AP"]': f"measures = {measures!r}", **toml}
    for name, value in toml.items():
        assert text.count(name) == 1, name
        text = text.replace(name, value)
    path.write_text(text)
    campaign = Campaign(str(folder / "notes"))
    for tag, docs in LISTS.items():
        team = tag.partition("-")[0]
        campaign.add_team(team, team, "x@example.org", None, 0.0, log=False)
        lines = [f"{topic} Q0 {doc} {at} {9 - at} {tag}\n" for topic in "12" for at, doc in enumerate(docs, 1)]
        assert submit(campaign, team, f"{tag}.txt", "".join(lines).encode()).submission
    campaign.open_phase("pooling", "olga")
    build_pool(campaign, "olga")
    campaign.open_phase("judging", "olga")
    return campaign


def judge_by_http(campaign: Campaign, *, intents: bool, most: int = 100) -> list[tuple[str, str]]:
    """Judge what is offered with the grades of `ABOUT`; returns the documents in their order."""
    add_account(campaign.store, "anna", password=PASSWORD)
    anna, done = Client(campaign_app(campaign, hosts=("localhost",)), "anna", PASSWORD), []
    while len(done) < most and (items := anna.state()["items"]):
        topic, doc = items[0]["topic"]["id"], items[0]["doc"]
        about = ABOUT.get(doc, set())
        said: dict[str, Any] = {"grades": {row["id"]: int(row["id"] in about) for row in items[0]["rows"]}}
        answer = anna.judge(items[0], **(said if intents else {"grade": int(bool(about))}))
        assert answer.status_code == 200, answer.text
        done.append((topic, doc))
    return done


def test_a_campaign_that_judges_by_intent(tmp_path: Path) -> None:
    """By hand: the first two of red-1 (d1, d2) are about a and b, those of blue-1 (d4, d5) only about b."""
    with start(tmp_path, ["I-rec@2", "D#-nDCG@4"], {'mode = "graded"': 'mode = "intents"'}) as campaign:
        assert len(judge_by_http(campaign, intents=True)) == 12  # 6 documents of 2 topics
        campaign.open_phase("results", "olga")
        results = score(campaign)
        board = results.leaderboard()
        assert dict(zip(board.run, board.mean.tolist(), strict=True)) == {"red-1": 1.0, "blue-1": 0.5}
        export_campaign(campaign, str(tmp_path / "files"))
        password = add_organiser(campaign, "olga")
        page = Person(campaign_app(campaign, hosts=("localhost",)), "olga", password).get("/leaderboard")
        assert "intents: 2 topics: probabilities are missing, so that all intents are equally likely" in page
    files = tmp_path / "files"
    runs = sorted(str(path) for path in files.glob("runs/*/*.run"))
    again = evaluate(
        str(files / "qrels.intents.txt"),
        runs,
        ["I-rec@2", "D#-nDCG@4"],
        intent_probabilities=str(files / "intents.tsv"),
    )
    assert sorted(again.mean().values(), key=str) == sorted(results.scores.mean().values(), key=str)
    with import_campaign(str(tmp_path / "copy"), str(files)) as copy:
        assert score(copy).scores.mean() == results.scores.mean()


def test_topics_without_intents_are_named_before_judging_begins(tmp_path: Path) -> None:
    topics = TOPICS.partition('<topic number="2">')[0] + '<topic number="2"><query>heat</query></topic></topics>'
    with pytest.raises(UsageError, match="mode intents: no intents for topic 2; add subtopics to the topics"):
        start(tmp_path, ["I-rec@2"], {'mode = "graded"': 'mode = "intents"'}, topics=topics)


def test_a_campaign_whose_pool_is_a_sample(tmp_path: Path) -> None:
    """The estimates are those of the judgments in the exported file of the sample."""
    pool = {'method = "depth"': 'method = "stratified"', "# most_per_topic = 50": "most_per_topic = 4"}
    with start(tmp_path, ["xinfAP", "statAP"], pool) as campaign:
        assert len(judge_by_http(campaign, intents=False)) == 8  # 4 of each topic, of 6
        scores = score(campaign).scores
        export_campaign(campaign, str(tmp_path / "files"))
        campaign.open_phase("pooling", "olga")
        with pytest.raises(UsageError, match="judged or offered already, so that no other can be drawn"):
            build_pool(campaign, "olga")
        campaign.open_phase("judging", "olga")
    files = tmp_path / "files"
    assert sum(line.split()[3] == "-1" for line in (files / "qrels.sampled.txt").read_text().splitlines()[1:]) == 4
    runs = sorted(str(path) for path in files.glob("runs/*/*.run"))
    again = evaluate(str(files / "qrels.sampled.txt"), runs, ["xinfAP", "statAP"])
    assert sorted(map(str, again.mean().values())) == sorted(map(str, scores.mean().values()))
    with import_campaign(str(tmp_path / "copy"), str(files)) as copy:
        assert score(copy).scores.mean() == scores.mean()
        export_campaign(copy, str(tmp_path / "files2"))
    assert (tmp_path / "files2" / "sample.tsv").read_bytes() == (files / "sample.tsv").read_bytes()


def test_gold_documents_check_the_assessors_and_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "gold.qrels").write_text("1 0 d7 1\n1 0 d8 0\n2 0 d7 1\n")
    more = {"# gold_rate = 0.1 ": "gold_rate = 0.5 "}
    with start(tmp_path, ["AP"], more, gold=str(tmp_path / "gold.qrels")) as campaign:
        done = judge_by_http(campaign, intents=False)
        gold = {item for item in done if item[1] in ("d7", "d8")}
        assert gold  # half of the offers are gold documents while there are any
        assert len(done) == 12 + len(gold)
        export_campaign(campaign, str(tmp_path / "files"))
    files = tmp_path / "files"
    assert (files / "gold.qrels").read_text() == "1 0 d7 1\n1 0 d8 0\n2 0 d7 1\n"
    assert len((files / "qrels.txt").read_text().splitlines()) == 12
    with import_campaign(str(tmp_path / "copy"), str(files)) as copy:
        assert len(copy.store.database.read("SELECT 1 FROM gold")) == 3


def test_what_cannot_be_compared_is_said_on_the_page(tmp_path: Path) -> None:
    with start(tmp_path, ["AP"], {}) as campaign:
        done = judge_by_http(campaign, intents=False, most=6)
        assert {topic for topic, _ in done} == {"1"}
        campaign.open_phase("results", "olga")
        olga = Person(campaign_app(campaign, hosts=("localhost",)), "olga", add_organiser(campaign, "olga"))
        why = "a comparison needs two or more runs and judged topics; there are 2 runs and 1 judged topic"
        assert f"The runs cannot be compared by AP: {why}." in olga.get("/compare")
        assert f"The runs cannot be compared by AP: {why}." in olga.get("/leaderboard")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"measures": ["I-rec@10"]}, 'I-rec@10 needs judgments by intent; write mode = "intents"'),
        ({"measures": ["D#-nDCG@10"]}, "D#-nDCG@10 cannot be computed from one grade for each document"),
        ({"judging": {"mode": "spans"}}, "judging: mode == 'spans', must be one of 'graded', 'intents', 'nuggets'"),
        ({"judging": {"gold_rate": 0.9}}, "gold_rate == 0.9, must be between 0 and 0.5"),
        ({"judging": {"gold_rate": True}}, "judging.gold_rate == True, must be a number"),
        (
            {"pool": {"method": "stratified", "budget": 9}},
            "AP cannot be estimated from the sample",
        ),
        ({"measures": ["xinfAP"], "pool": {"method": "stratified"}}, "needs the number of documents to draw"),
        ({"measures": ["uRBP"]}, 'uRBP needs judgments in several dimensions; write mode = "dimensions"'),
        ({"measures": ["TBG"]}, "TBG needs lengths, which a campaign does not have"),
        ({"judging": {"mode": "dimensions", "dimensions": ["credibility"]}}, "dimensions must be relevance and at"),
        ({"judging": {"dimensions": ["credibility"]}}, 'dimensions are judged only with mode = "dimensions"'),
        (
            {"measures": ["uRBP"], "judging": {"mode": "dimensions", "dimensions": ["relevance", "credibility"]}},
            "uRBP cannot be computed from grades of relevance and credibility: uRBP: no judgments of understandability",
        ),
        ({"judging": {"mode": "answers"}}, "judge answers with `cranfield judge serve --mode answers`"),
        ({"judging": {"mode": "preferences"}}, 'write measures = ["wins"]'),
        ({"measures": ["wins"]}, 'wins needs preferences; write mode = "preferences"'),
        (
            {"measures": ["wins"], "judging": {"mode": "preferences"}, "pool": {"method": "max-mean"}},
            "preferences compare lists, not documents",
        ),
        ({"judging": {"mode": "nuggets", "gold_rate": 0.1}}, "gold documents have a known grade, which mode nuggets"),
        (
            {"measures": ["statAP"], "judging": {"mode": "nuggets"}, "pool": {"method": "stratified", "budget": 9}},
            "stratified draws a sample, which is judged only with one grade for each document",
        ),
    ],
)
def test_measures_and_judging_must_fit(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(CranfieldError) as error:
        config_of({"name": "Notes", "measures": ["AP"], **tables})
    assert message in str(error.value)


def test_an_import_into_another_database(tmp_path: Path, where: str) -> None:
    with start(tmp_path, ["AP"], {}) as campaign:
        judge_by_http(campaign, intents=False)
        expected = score(campaign).scores.mean()
        export_campaign(campaign, str(tmp_path / "files"))
    database = where if "://" in where else "other.db"
    with import_campaign(str(tmp_path / "copy"), str(tmp_path / "files"), database=database) as copy:
        assert copy.config.database == database
        assert score(copy).scores.mean() == expected
    assert not (tmp_path / "copy" / "campaign.db").exists()


def test_only_the_database_of_a_file_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    before = 'name = "x"\nmeasures = ["AP"]\n\n[rules]\ndepth = 5  # database = "no"\n'
    path.write_text(before)
    name_database(str(path), "a b.db")
    assert path.read_text() == f'database = "a b.db"\n{before}'
    name_database(str(path), "postgresql://me@host/x")
    config = read_config(str(tmp_path))
    assert (config.database, config.rules.depth) == ("postgresql://me@host/x", 5)
