"""`--dimension`: judgments of further dimensions of relevance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q 0 a 1\nq 0 b 1\nq 0 c 0\n")
    Path("clear.txt").write_text("q 0 a 0\nq 0 b 2\nq 0 c 1\n")
    Path("mine.run").write_text("q Q0 a 1 3 mine\nq Q0 b 2 2 mine\nq Q0 c 3 1 mine\n")
    return "qrels.txt", "mine.run"


def test_eval_with_a_dimension(cranfield: Cranfield, files: tuple[str, str]) -> None:
    words = ("-m", "uRBP(p=0.5),CAM(RR)", "-m", "MM(RR)", "--dimension", "understandability=clear.txt", "-f", "json")
    data = json.loads(cranfield("eval", *files, *words).out)
    # relevant and clear at rank 2 alone; relevant first at 1, clear first at 2
    row = data["rows"][0]
    assert (row["uRBP(p=0.5)"], row["CAM(RR)"]) == (0.25, 0.75)
    assert row["MM(RR)"] == pytest.approx(2 / (1 + 2))


def test_explain_with_a_dimension(cranfield: Cranfield, files: tuple[str, str]) -> None:
    result = cranfield("explain", *files, "--topic", "q", "-m", "uRBP", "--dimension", "understandability=clear.txt")
    assert result.code == 0
    assert "understandability gain" in result.out
    assert "uRBP of mine on topic q = 0.1600" in result.out  # 0.2 * 0.8


def test_a_dimension_from_standard_input(cranfield: Cranfield, files: tuple[str, str]) -> None:
    words = ("eval", *files, "-m", "uRBP", "--dimension", "understandability=-")
    assert "0.1600" in cranfield(*words, stdin=Path("clear.txt").read_bytes()).out
    result = cranfield(*words, "--dimension", "credibility=-")
    assert (result.code, "'-' is given more than once" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "uRBP: no judgments of understandability; give them as"),
        (("--dimension", "clear.txt"), "--dimension clear.txt: expected a name and a file, such as credibility=FILE"),
        (("--dimension", "x=clear.txt", "--dimension", "x=qrels.txt"), "--dimension x: given twice"),
        (("--dimension", "credibility=clear.txt"), "there are relevance, credibility"),
        (("--dimension", "understandability=none.txt"), "none.txt: no such file"),
    ],
)
def test_errors_are_explained(
    words: tuple[str, ...], message: str, cranfield: Cranfield, files: tuple[str, str]
) -> None:
    result = cranfield("eval", *files, "-m", "uRBP", *words)
    assert result.code != 0
    assert message in result.err
