"""Shapes that people bring: lists of documents, yes and no, a level too many or too few, other columns, named files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import cranfield as cf
from cranfield import DataError, Qrels, Run, UsageError
from tests.cli.conftest import in_process as cranfield

RANKED = {"q": {"b": 1.0, "a": 0.5}, "r": {"c": 1.0}}


@pytest.mark.parametrize(
    "thing",
    [
        {"q": ["b", "a"], "r": ["c"]},
        {"q": ("b", "a"), "r": {"c": 1.0}},
        b'{"q": ["b", "a"], "r": ["c"]}',
        b'{\n "q": ["b", "a"],\n "r": ["c"]\n}',
        b'{"q": ["b", "a"]}\n{"r": ["c"]}\n',
    ],
)
def test_a_list_of_documents_is_a_ranking(thing: Any) -> None:
    assert Run.of(thing).to_dict() == RANKED


def test_a_list_of_documents_in_judgments_holds_the_relevant_ones() -> None:
    assert Qrels.of({"q": ["b", "a"], "r": {"c"}}).to_dict() == {"q": {"b": 1, "a": 1}, "r": {"c": 1}}


def test_lists_are_evaluated_with_and_without_names() -> None:
    qrels = {"q": {"a": 1}}
    for runs in ({"q": ["b", "a"]}, {"mine": {"q": ["b", "a"]}}, [{"q": ["b", "a"]}]):
        assert next(iter(cf.evaluate(qrels, runs, "RR").mean().values())) == {"RR": 0.5}


@pytest.mark.parametrize(
    "thing",
    [
        {"q": {"a": True, "b": False}},
        [("q", "a", True), ("q", "b", False)],
        pd.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "relevant": [True, False], "rel": [True, False]}),
        b"qid,docid,rating\nq,a,TRUE\nq,b,false\n",
        b"qid,docid,rating\nq,a,yes\nq,b,no\n",
        b'{"qid": "q", "docid": "a", "rel": true}\n{"qid": "q", "docid": "b", "rel": false}\n',
    ],
)
def test_true_and_false_are_the_grades_1_and_0(thing: Any) -> None:
    assert Qrels.of(thing).to_dict() == {"q": {"a": 1, "b": 0}}


WRONG: dict[str, tuple[Any, Any, str]] = {
    "a level too many": (
        Run,
        {"m": {"q": {"d": 1}}},
        "one level too many: 'm' has {'q': {...}}, expected {topic: {doc",
    ),
    "qrels too deep": (
        Qrels,
        {"m": {"q": {"d": 1}}},
        "one level too many: 'm' has {'q': {...}}, expected {topic: {doc",
    ),
    "a level too few": (Run, {"d": 1.5}, "'d' has the number 1.5, one level too few: expected {topic: {doc: score}}"),
    "a document twice": (Run, {"q": ["a", "a"]}, "topic 'q': document 'a' appears twice in its list"),
    "pairs in a list": (Run, {"q": [("a", 1)]}, "in a list, expected a document's id"),
    "a bool as a score": (Run, {"q": {"a": True}}, "the score is True, expected a number"),
    "a bool among texts": (Qrels, b"qid,docid,rel\nq,a,true\nq,b,2\n", "the grade is 'true', expected a number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_shape_is_named(case: str) -> None:
    kind, thing, message = WRONG[case]
    with pytest.raises(DataError) as caught:
        kind.of(thing)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("runs", "message"), [({"d": 1.0}, "one level too few"), ({"m": {"x": {"q": {"d": 1.0}}}}, "one level too many")]
)
def test_evaluate_names_a_wrong_shape_too(runs: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        cf.evaluate({"q": {"d": 1}}, runs, "RR")


# -- columns

COLUMNS = {"topic": "search term", "doc": "sku", "score": "ES-score", "grade": "stars"}


def test_columns_of_other_names() -> None:
    run = b"search term,sku,rank,ES-score\nlamp,L1,9,2.5\n"
    assert Run.of(run, columns=COLUMNS).to_dict() == {"lamp": {"L1": 2.5}}
    frame = pd.DataFrame({"search term": ["lamp"], "sku": ["L1"], "stars": [4], "score": [0.1]})
    assert Qrels.of(frame, columns=COLUMNS).to_dict() == {"lamp": {"L1": 4}}
    lines = b'{"search term": "lamp", "sku": "L1", "stars": 4}\n'
    assert Qrels.of(lines, columns=COLUMNS).to_dict() == {"lamp": {"L1": 4}}


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Qrels, b"query,docid,rating\nlamp,a,3\n", {"lamp": {"a": 3}}),  # Quepid, basic
        (Qrels, b"Query Text,Doc ID,Doc Position,Rating\nlamp,a,1,3\n", {"lamp": {"a": 3}}),  # Quepid, general
        (Run, b"Query Text,Doc ID,Doc Position,Rating\nlamp,a,2,3\nlamp,b,1,0\n", {"lamp": {"a": 0.5, "b": 1.0}}),
        (Run, b"query,_id,_score,position\nlamp,a,3.5,1\n", {"lamp": {"a": 3.5}}),
    ],
)
def test_columns_that_tools_write(kind: Any, text: bytes, expected: Any) -> None:
    assert kind.of(text).to_dict() == expected


def test_wrong_columns() -> None:
    with pytest.raises(UsageError, match="columns: no role 'price'; there are topic, doc, grade"):
        Run.of(b"", columns={"price": "x"})
    with pytest.raises(
        DataError,
        match=r"no column for the document among query, ware, score; .*to say which it is, such as: "
        r"columns={'doc': 'ware'}",
    ):
        Run.of(b"query,ware,score\nq,d,3\n")
    with pytest.raises(UsageError, match="no table has the column 'ware' of the doc; there are qid, docid, score"):
        Run.of(b"qid,docid,score\nq,d,3\n", columns={"doc": "ware"})


def test_a_table_without_a_named_column_is_read_with_the_usual_names() -> None:
    judged, ranked = b"frage,ware,stars\nlamp,L1,2\n", b"query_id,doc_id,score\nlamp,L2,3\nlamp,L1,1\n"
    scores = cf.evaluate(judged, ranked, "RR", columns={"topic": "frage", "doc": "ware", "grade": "stars"})
    assert scores.mean()["run"]["RR"] == 1 / 2  # the relevant document is second
    with pytest.raises(
        UsageError, match="no table has the column 'star' of the grade; there are query_id, doc_id, grade"
    ):
        cf.evaluate(b"query_id,doc_id,grade\nlamp,L1,2\n", ranked, "RR", columns={"grade": "star"})


# -- the command line


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "qrels.csv").write_text("term,sku,stars\nlamp,L1,3\nlamp,L2,0\n")
    (tmp_path / "a.run").write_text("lamp Q0 L1 1 2 tag\n")
    (tmp_path / "b.run").write_text("lamp Q0 L2 1 2 tag\nlamp Q0 L1 2 1 tag\n")
    return tmp_path


def test_columns_and_names_on_the_command_line(files: Path) -> None:
    words = ("--columns", "topic=term,doc=sku,grade=stars", "-m", "mrr", "--format", "csv")
    result = cranfield("eval", str(files / "qrels.csv"), f"prod={files / 'a.run'}", f"new={files / 'b.run'}", *words)
    assert [line.split(",")[0] for line in result.out.splitlines()] == ["run", "prod", "new"]
    wrong = cranfield("eval", str(files / "qrels.csv"), str(files / "a.run"))
    assert wrong.code != 0
    bad = cranfield("eval", str(files / "qrels.csv"), str(files / "a.run"), "--columns", "topic")
    assert (bad.code, "--columns topic: expected roles and columns" in bad.err) == (2, True)


def test_a_file_as_the_baseline(files: Path) -> None:
    (files / "qrels.txt").write_text("".join(f"{t} 0 d{t} 1\n" for t in range(9)))
    for name, first in {"prod": "d", "x": "e"}.items():
        lines = [f"{t} Q0 {first}{t} 1 2 run\n{t} Q0 d{t}{'' if first == 'e' else 'z'} 2 1 run\n" for t in range(9)]
        (files / f"{name}.run").write_text("".join(lines))
    words = ("compare", str(files / "qrels.txt"), str(files / "x.run"), "-m", "RR", "--quiet", "--format", "json")
    for baseline in (str(files / "prod.run"), f"prod={files / 'prod.run'}"):
        result = cranfield(*words, "--baseline", baseline)
        assert result.code == 0, result.err
        assert '"baseline": "prod"' in result.out


def test_a_pattern_cannot_have_one_name(files: Path) -> None:
    result = cranfield(
        "eval", str(files / "qrels.csv"), f"all={files}/*.run", "--columns", "topic=term,doc=sku,grade=stars"
    )
    assert (result.code, "2 files match, must be one to be called 'all'" in result.err) == (2, True)
