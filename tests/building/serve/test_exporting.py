"""What is exported is what the measures read, and what is imported is what was exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.building.assessor_labels import Labels
from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.project.exporting import COMBINE
from cranfield.building.serve.project.importing import import_log, import_qrels
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.judging_modes import Document, Facet, PoolEntry
from cranfield.building.serve.project.judging_status import live_agreement, pace, status
from cranfield.building.serve.project.judgment_log import Entry
from cranfield.building.serve.project.store import Store
from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.meta.agreement.concordance import read_preferences
from tests.building.serve.working import export_text, new_request


def say(judging: Judging, name: str, doc: str, grade: float | None = None, topic: str = "1", **more: Any) -> None:
    """Judge a document, whatever was offered."""
    judging.find(name, topic, doc, "test").result(10)
    judging.judge(Entry(new_request(), topic, doc, name, grade=grade, milliseconds=2000, **more)).result(10)


@pytest.fixture
def judging(store: Store) -> Judging:
    store.add_documents(Document(f"d{i}", "", f"text {i}") for i in range(10))
    store.set_settings(store.settings().changed(overlap=3))
    return Judging(store, clock=iter(range(1000, 100_000)).__next__)


def test_qrels_take_the_majority_and_of_a_tie_the_lower_grade(store: Store, judging: Judging) -> None:
    for name, first, second in (("anna", 2, 0), ("ben", 2, 1), ("cleo", 0, 2)):
        say(judging, name, "d3", first)
        say(judging, name, "d1", second)
    assert export_text(store, "qrels") == "1 0 d1 0\n1 0 d3 2\n"  # in the order of the pool
    assert export_text(store, "qrels", combine="mean").splitlines()[1] == "1 0 d3 1.3333333333333333"
    assert export_text(store, "qrels", combine="max") == "1 0 d1 2\n1 0 d3 2\n"


def test_rules_by_hand() -> None:
    grades = {
        "majority": 0,
        "median": 1,
        "mean": 1.25,
        "max": 3,
        "min": 0,
    }  # of 0, 0, 2, 3; the two in the middle: 0, 2
    assert {rule: combine([0, 0, 2, 3]) for rule, combine in COMBINE.items()} == grades | {"median": 0}


def test_a_gold_document_of_the_pool_has_its_known_grade(store: Store, judging: Judging) -> None:
    store.add_gold([("1", "d2", 2), ("1", "elsewhere", 1)])
    judging.reload()
    say(judging, "anna", "d2", 0)
    say(judging, "anna", "d1", 1)
    assert export_text(store, "qrels") == "1 0 d1 1\n1 0 d2 2\n"


def test_undone_and_put_off_documents_are_not_exported(store: Store, judging: Judging) -> None:
    say(judging, "anna", "d1", 1)
    say(judging, "anna", "d2", 1)
    judging.undo("anna", new_request()).result(10)
    say(judging, "anna", "d3", state="cannot")
    assert export_text(store, "qrels") == "1 0 d1 1\n"


def test_labels_are_read_for_agreement(store: Store, judging: Judging, tmp_path: Path) -> None:
    for name, grade in (("anna", 1), ("ben", 0)):
        say(judging, name, "d1", grade)
        say(judging, name, "d2", 1)
    (tmp_path / "labels.tsv").write_text(export_text(store, "labels"))
    labels = Labels.read(tmp_path / "labels.tsv")
    assert (len(labels), labels.workers) == (4, ("anna", "ben"))
    assert labels.seconds is not None
    assert labels.seconds.tolist() == [2.0] * 4
    agreement = live_agreement(store)
    assert agreement is not None
    assert agreement.percent.tolist() == [0.5]  # they agree on d2 and not on d1


def test_qrels_by_intent_are_read_by_the_diversity_measures(store: Store, judging: Judging, tmp_path: Path) -> None:
    store.add_facets(
        [Facet("1", "intent", "a", "causes", "inf", 0.75), Facet("1", "intent", "b", "tests", "nav", 0.25)]
    )
    store.set_settings(store.settings().changed(mode="intents"))
    judging.reload()
    for doc, a, b in (("d1", 2, 0), ("d2", 0, 1)):
        say(judging, "anna", doc, float(max(a, b)), payload={"grades": {"a": float(a), "b": float(b)}})
    (tmp_path / "qrels").write_text(export_text(store, "intent-qrels"))
    (tmp_path / "intents").write_text(export_text(store, "intents"))
    scores = cf.evaluate(
        cf.Qrels.read(tmp_path / "qrels", format="diversity"),
        {"run": {"1": {"d1": 2, "d2": 1}}},
        ["I-rec@1", "P-IA@1"],
        intent_probabilities=str(tmp_path / "intents"),
    )
    # The first document is relevant to one of two intents, whose probability is 0.75.
    assert scores.means().ravel().tolist() == [0.5, 0.75]


def test_missing_probabilities_are_equal_and_noted(store: Store) -> None:
    store.add_facets([Facet("1", "intent", "a"), Facet("1", "intent", "b", weight=0.9)])
    store.set_settings(store.settings().changed(mode="intents"))
    with pytest.warns(
        CranfieldWarning, match="1 topic: probabilities are missing, so that all intents are equally likely: 1"
    ):
        assert export_text(store, "intents") == "1 a 0.5 inf\n1 b 0.5 inf\n"


def test_qrels_by_dimension_are_read_by_their_measures(store: Store, judging: Judging, tmp_path: Path) -> None:
    store.set_settings(store.settings().changed(mode="dimensions", dimensions=("relevance", "credibility")))
    judging.reload()
    for doc, rel, cred in (("d1", 1, 0), ("d2", 1, 2)):
        say(judging, "anna", doc, float(rel), payload={"grades": {"relevance": float(rel), "credibility": float(cred)}})
    (tmp_path / "qrels").write_text(export_text(store, "qrels"))
    (tmp_path / "credibility").write_text(export_text(store, "dimension-qrels", dimension="credibility"))
    assert (tmp_path / "credibility").read_text() == "1 0 d1 0\n1 0 d2 2\n"
    run = {"run": {"1": {"d1": 2, "d2": 1}}}
    dimensions = {"credibility": str(tmp_path / "credibility")}
    scores = cf.evaluate(str(tmp_path / "qrels"), run, ["CAM(RR)"], dimensions=dimensions)
    # Relevance: the first document, 1. Credibility: the second document, 1/2. Their mean is 3/4.
    assert scores.means().ravel().tolist() == [0.75]
    with pytest.raises(UsageError, match="did you mean 'credibility'"):
        export_text(store, "dimension-qrels", dimension="credability")


def test_preferences_are_read_back(store: Store, tmp_path: Path) -> None:
    def empty(connection: Connection) -> None:
        connection.run("DELETE FROM pool")

    store.database.write(empty)
    store.add_pool([PoolEntry("1", "x | y", {"first": "x", "second": "y"})])
    store.set_settings(store.settings().changed(mode="preferences"))
    judging = Judging(store)
    offer = judging.offers("anna").result(10).offers[0]
    said = {"preferred": "second", "first": "x", "second": "y"}
    judging.judge(Entry(new_request(), "1", offer.doc, "anna", grade=-1.0, payload=said)).result(10)
    (tmp_path / "preferences.tsv").write_text(export_text(store, "preferences"))
    read = read_preferences(tmp_path / "preferences.tsv")
    assert (read.topic, read.first, read.second, read.preferred, read.assessor) == (
        ("1",),
        ("x",),
        ("y",),
        (-1,),
        ("anna",),
    )


def test_an_export_of_another_mode_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="intents are judged only in mode intents, but the project is in mode graded"):
        export_text(store, "intents")
    with pytest.raises(UsageError, match="what == 'all', must be one of qrels"):
        export_text(store, "all")
    with pytest.raises(UsageError, match="combine == 'sum'"):
        export_text(store, "qrels", combine="sum")


def test_an_id_with_a_blank_cannot_be_in_qrels(store: Store, judging: Judging) -> None:
    store.add_documents([Document("a b", "", "x")])
    say(judging, "anna", "a b", 1)
    with pytest.raises(DataError, match="'a b' is empty or has a blank, which qrels cannot hold; export labels"):
        export_text(store, "qrels")
    assert "1\ta b\tanna\t1" in export_text(store, "labels")


def test_a_document_found_by_search_is_marked_in_the_pool(store: Store, judging: Judging) -> None:
    store.add_documents([Document("far", "", "x")])
    judging.find("anna", "1", "far", "tail flutter").result(10)
    lines = [line.split("\t") for line in export_text(store, "pool").splitlines()]
    assert lines[0] == ["topic", "doc", "source", "query", "added_by", "run", "rank"]
    assert lines[1] == ["1", "d0", "pool", "", "", "secret-run", "0"]
    assert lines[-1] == ["1", "far", "found", "tail flutter", "anna", "", ""]


# ---- the log goes out and comes back


def test_a_log_imported_into_an_empty_project_is_the_same_project(
    store: Store, judging: Judging, tmp_path: Path
) -> None:
    for name in ("anna", "ben"):
        for doc, grade in (("d1", 1), ("d2", 0), ("d1", 2)):
            say(judging, name, doc, grade, reason=f"ü {doc}")
        judging.undo(name, new_request()).result(10)
    (tmp_path / "log.jsonl").write_text(export_text(store, "log"))
    with Store(str(tmp_path / "copy.db")) as copy:
        copy.add_topics(store.topics())
        done = import_log(copy, str(tmp_path / "log.jsonl"))
        assert (done.rows, done.known, done.assessors) == (8, 0, 2)
        assert export_text(copy, "qrels") == export_text(store, "qrels") == "1 0 d1 1\n1 0 d2 0\n"
        assert export_text(copy, "labels") == export_text(store, "labels")
        again = import_log(copy, str(tmp_path / "log.jsonl"))
        assert (again.rows, again.known) == (0, 8)

        def without(text: str) -> list[dict[str, Any]]:
            rows = [json.loads(line) for line in text.splitlines()]
            return [{name: value for name, value in row.items() if name not in ("offer",)} for row in rows]

        assert without(export_text(copy, "log")) == without(export_text(store, "log"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "log.jsonl:2: not valid JSON"),
        ("[]", "log.jsonl:2: no id, expected a row of the log"),
        ('{"id": 1}', "log.jsonl:2: no request, expected a row of the log"),
        ("topic", "log.jsonl:2: topic '9' is not in the project"),
        ("supersedes", "log.jsonl:2: supersedes is 77, which is not the id of an earlier row"),
        ("judged_at", "log.jsonl:2: judged_at is 'noon', expected a date"),
        ("position", "log.jsonl:2: position is 'one', expected a whole number"),
        ("id", "log.jsonl:2: id is None, expected a whole number"),
        ("milliseconds", "log.jsonl:2: milliseconds is 1180591620717411303424, which is too large"),
        ("doc", "log.jsonl:2: doc is ['d1'], expected text"),
        ("grade", "log.jsonl:2: grade is 'good', expected a number"),
    ],
)
def test_a_wrong_log_changes_nothing(
    store: Store, judging: Judging, tmp_path: Path, line: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(judging, "anna", "d1", 1)
    good = json.loads(export_text(store, "log"))
    wrong = {
        "topic": "9", "supersedes": 77, "judged_at": "noon", "position": "one", "id": None, "milliseconds": 2**70,
        "doc": ["d1"], "grade": "good",
    }  # fmt: skip
    second = json.dumps({**good, "id": 2, "request": "another-request", line: wrong[line]}) if line in wrong else line
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text(json.dumps({**good, "request": "first-request"}) + f"\n{second}\n")
    with pytest.raises(DataError) as error:
        import_log(store, "log.jsonl")
    assert message in str(error.value)
    assert store.database.read("SELECT COUNT(*) FROM judgment") == [(1,)]


def test_work_goes_on_after_an_import_and_a_row_that_comes_twice_is_added_once(
    store: Store, judging: Judging, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cranfield.building.serve.project.importing.BLOCK", 800)
    say(judging, "anna", "d1", 1)
    row = json.loads(export_text(store, "log"))
    lines = [
        json.dumps({**row, "id": id, "request": f"request-{id}", "assessor": "dora", "doc": f"d{id}"})
        for id in (7, 8, 7, 9)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    done = import_log(store, str(tmp_path / "log.jsonl"))
    assert (done.rows, done.known, done.assessors) == (3, 1, 1)
    say(judging, "ben", "d2", 2)
    assert store.database.read("SELECT id, assessor, position FROM judgment ORDER BY id") == [
        (1, "anna", 1), (2, "dora", 1), (3, "dora", 2), (4, "dora", 3), (5, "ben", 1),
    ]  # fmt: skip


def test_qrels_come_in_as_judgments_of_one_assessor(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "old.qrels"
    path.write_text("1 0 d1 2\n1 0 new 0\n")
    done = import_qrels(store, str(path), "earlier")
    assert (done.rows, done.known, done.assessors) == (2, 0, 1)
    assert export_text(store, "qrels") == "1 0 d1 2\n1 0 new 0\n"
    assert import_qrels(store, str(path), "earlier").known == 2
    path.write_text("1 0 d1 7\n")
    with pytest.raises(DataError, match="document 'd1' has grade 7, which is not one of 0, 1, 2"):
        import_qrels(store, str(path), "earlier")


# ---- status


def test_status_by_hand(store: Store, judging: Judging) -> None:
    store.add_gold([("1", "d9", 2)])
    judging.reload()
    for doc, grade in (("d1", 1), ("d2", 0), ("d2", 2)):
        say(judging, "anna", doc, grade)
    say(judging, "anna", "d3", state="cannot")
    say(judging, "anna", "d4", state="later")
    say(judging, "anna", "d9", 2)
    say(judging, "ben", "d9", 1)
    state = status(store)
    rows = dict(
        zip(state.assessors, zip(state.judgments, state.cannot, state.later, state.checks, strict=True), strict=True)
    )
    assert rows == {"anna": (2, 1, 1, 1), "ben": (0, 0, 0, 1), "cleo": (0, 0, 0, 0)}
    assert (state.documents, state.wanted, state.counted) == (20, 57, 2)  # 19 documents that are not gold, 3 each
    assert state.gold[:2].tolist() == [1.0, 0.0]
    assert state.seconds[0] == 2.0
    assert dict(zip(state.topics, state.topic_counted.tolist(), strict=True)) == {"1": 2, "2": 0}
    assert "2 of 57 judgments (4%) of 20 documents" in str(state)
    assert json.loads(state.to_json())["counted"] == 2


def test_pace_has_the_median_time_and_the_share_of_gold_by_step(store: Store) -> None:
    store.add_gold([("1", f"d{i}", 1) for i in range(4)])
    store.add_documents(Document(f"d{i}", "", "x") for i in range(10))
    judging = Judging(store)
    for i, (ms, grade) in enumerate([(1000, 1), (3000, 1), (2000, 1), (8000, 0), (6000, 2), (7000, 2)]):
        judging.find("anna", "1", f"d{i}", "x").result(10)
        judging.judge(Entry(new_request(), "1", f"d{i}", "anna", grade=grade, milliseconds=ms)).result(10)
    first, second = pace(store, "anna", window=3)
    assert (first.first, first.seconds, first.gold) == (1, 2.0, 1.0)
    assert (second.first, second.seconds, second.gold) == (4, 7.0, 0.0)


@pytest.mark.parametrize(
    ("third", "message"),
    [
        ({"supersedes": 1}, "log.jsonl:3: supersedes is 1, which another row supersedes already"),
        ({"grade": 10**400}, "log.jsonl:3: grade is 1000"),
        ({"grade": float("inf")}, "log.jsonl:3: grade is inf, expected a number"),
    ],
)
def test_a_log_that_no_project_exports_changes_nothing(
    store: Store, judging: Judging, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, third: Any, message: str
) -> None:
    """Found by fuzz/run judging-log."""
    say(judging, "anna", "d1", 1)
    good = json.loads(export_text(store, "log"))
    rows = [{"id": 1}, {"id": 2, "supersedes": 1}, {"id": 3, **third}]
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text(
        "".join(json.dumps({**good, "request": f"r{row['id']}", **row}) + "\n" for row in rows)
    )
    with pytest.raises(DataError) as error:
        import_log(store, "log.jsonl")
    assert message in str(error.value)
    assert store.database.read("SELECT COUNT(*) FROM judgment") == [(1,)]
