"""`cranfield answers sessions`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

FILES = {
    "qrels.txt": "1 0 a 2\n1 0 c 1\n1 0 x 1\n2 0 e 1\n",
    "mine.jsonl": (
        '{"session": "s", "topic": "1", "query": 1, "list": ["a", "b"], "clicks": [{"doc": "b", "time": 3}]}\n'
        '{"session": "s", "topic": "1", "query": 2, "list": ["b", "c"], "clicks": [{"doc": "z"}]}\n'
        '{"session": "t", "topic": "2", "query": 1, "list": ["d", "e"]}\n'
    ),
    "other.jsonl": (
        '{"session": "s", "topic": "1", "query": 1, "list": ["x", "b"]}\n'
        '{"session": "t", "topic": "2", "query": 1, "list": ["e"]}\n'
    ),
    "lengths.txt": "a 1000\nb 500\nc 300\ne 100\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(cranfield: Cranfield, line: str) -> str:
    result = cranfield(*line.split())
    assert result.code == 0, result.err
    return result.out


def test_scores_of_systems(cranfield: Cranfield) -> None:
    lines = printed(cranfield, "answers sessions qrels.txt mine.jsonl other.jsonl -m sDCG,sRBP").splitlines()
    # s: 2 + 1 / (log4(5) · log2(4)) = 2.4307, t: 1/log2(3) = 0.6309; their mean is 1.5308
    assert lines[1].split()[:3] == ["mine", "2", "1.5308"]
    assert lines[2].split()[:3] == ["other", "2", "1.0000"]
    assert "mine: 1 × click on a document that its list does not show, left out: line 2" in "\n".join(lines)
    assert "mine: 1 document left out that an earlier list of the session shows" in "\n".join(lines)


def test_scores_feed_compare(cranfield: Cranfield, folder: Path) -> None:
    printed(cranfield, "answers sessions qrels.txt mine.jsonl other.jsonl -m nsDCG -q --format json -o scores.json")
    assert "mine" in printed(cranfield, "compare --scores scores.json -m nsDCG")
    assert json.loads((folder / "scores.json").read_text())["topics"] == ["s", "t"]


def test_clicks_need_no_judgments(cranfield: Cranfield) -> None:
    out = printed(
        cranfield, "answers sessions none mine.jsonl --gains-from clicks -m sU(L=1000) --lengths lengths.txt -q -f csv"
    )
    # one click, at rank 2 of the first list: 0.5 · (1 − (400 + 0.2 · 500) / 1000)
    assert "0.25" in out
    result = cranfield("answers", "sessions", "none", "mine.jsonl")
    assert result.code == 2
    assert "--gains" in result.err


def test_explain_and_plot(cranfield: Cranfield, folder: Path) -> None:
    out = printed(cranfield, "answers sessions qrels.txt mine.jsonl -m sDCG --explain s")
    assert "query discount" in out
    assert "sDCG of session s: 2.4307" in out
    printed(cranfield, "answers sessions qrels.txt mine.jsonl -m sU --lengths lengths.txt --explain s --plot read.csv")
    assert "query 1: document 1 (a)" in (folder / "read.csv").read_text()
    assert "did you mean 's'" in cranfield("answers", "sessions", "qrels.txt", "mine.jsonl", "--explain", "S").err


def test_write_json_lines(cranfield: Cranfield, folder: Path) -> None:
    result = cranfield("answers", "sessions", "qrels.txt", "mine.jsonl", "--write", "again.jsonl")
    assert result.code == 0
    assert "wrote 2 sessions, 3 queries, 1 click to again.jsonl" in result.err
    assert json.loads((folder / "again.jsonl").read_text().splitlines()[0])["clicks"] == [{"rank": 2, "time": 3.0}]


def test_paths_of_any_measure(cranfield: Cranfield) -> None:
    rows = json.loads(printed(cranfield, "answers sessions qrels.txt mine.jsonl --paths RR --format json"))["rows"]
    # s: a is at the top of every path; t: e is second
    assert [(row["session"], row["RR"], row["paths"]) for row in rows] == [("s", 1.0, 3), ("t", 0.5, 1)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("qrels.txt mine.jsonl -m sU", "--lengths FILE"),
        ("qrels.txt mine.jsonl --click-gain 1", "--click-gain applies only to --gains-from clicks"),
        ("qrels.txt mine.jsonl --plot x.svg", "give --explain SESSION and -m sU"),
        ("qrels.txt mine.jsonl --samples 5", "--samples applies only to --paths"),
        ("qrels.txt mine.jsonl --write x -m sDCG", "--write does not score"),
        ("qrels.txt mine.jsonl other.jsonl --paths AP", "--paths reads the sessions of one file"),
        ("qrels.txt mine.jsonl -m AP", "no measure of sessions 'AP'"),
        ("qrels.txt mine.jsonl -m sU --lengths lengths.txt --missing-length far", "expected a number or mean"),
    ],
)
def test_wrong_options_are_errors(cranfield: Cranfield, line: str, message: str) -> None:
    result = cranfield("answers", "sessions", *line.split())
    assert result.code == 2
    assert message in result.err
