"""`cranfield gate`: exit codes, files, history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield.samples import sample
from tests.cli.conftest import Cranfield

QRELS = sample().qrels
BM25, DENSE, FUSION = (str(Path(QRELS).parent / f"{name}.run") for name in ("bm25", "dense", "fusion"))


def test_exit_codes(cranfield: Cranfield) -> None:
    passed = cranfield("gate", QRELS, "--baseline", DENSE, FUSION, "-m", "nDCG@10", "-m", "R@100", "--margin", "0.01")
    assert (passed.code, passed.out.splitlines()[-1]) == (0, "gate passed: 2 checks")
    failed = cranfield("gate", QRELS, "--baseline", FUSION, BM25, "-m", "nDCG@10")
    assert failed.code == 1
    assert failed.out.startswith(
        "FAIL bm25 nDCG@10: 0.4085 is 0.0816 below fusion (0.4901); the loss exceeds the margin"
    )
    assert "worst topics: 104 (0.3385 -> 0.0814)" in failed.out
    assert cranfield("gate", QRELS, BM25).code == 2


def test_tonight_against_last_night(cranfield: Cranfield, tmp_path: Path) -> None:
    saved, history, junit = (str(tmp_path / name) for name in ("last.json", "builds.jsonl", "gate.xml"))
    words = ("gate", QRELS, "-m", "nDCG@10", "--history", history)
    assert cranfield(*words, FUSION, "--at-least", "nDCG@10=0.45", "--save", saved, "--build", "mon").code == 0
    tonight = cranfield(*words, BM25, "--against", saved, "--junit", junit, "--annotations")
    assert tonight.code == 1
    assert "::error title=gate%3A bm25 nDCG@10::FAIL bm25" in tonight.out
    assert 'failures="1"' in Path(junit).read_text("utf-8")
    table = cranfield("gate", "history", history, "-m", "ndcg10", "--format", "csv").out.splitlines()
    assert table[0] == "build,time,candidate,nDCG@10,passed"
    assert [line.split(",")[0::4] for line in table[1:]] == [["mon", "yes"], ["2", "no"]]


def test_the_figure_of_a_history(cranfield: Cranfield, tmp_path: Path) -> None:
    history = tmp_path / "builds.jsonl"
    for build, mean in {"1": 0.4, "2": 0.5}.items():
        entry = {"build": build, "time": "2027", "candidate": "c", "passed": True, "means": {"AP": mean}}
        with history.open("a") as file:
            file.write(json.dumps(entry) + "\n")
    target = tmp_path / "builds.csv"
    assert cranfield("gate", "history", str(history), "--plot", str(target)).code == 0
    assert target.read_text().splitlines() == ["measure,build,mean", "AP,1,0.4", "AP,2,0.5"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--at-least", "nDCG@10"), "--at-least nDCG@10: expected a measure and a number, such as nDCG@10=0.45"),
        (("--at-least", "nDCG@10=high"), "--at-least nDCG@10=high: expected a measure and a number"),
        (("--at-least", "AP=.1", "--at-least", "AP=.2"), "AP is given twice"),
        (("--baseline", DENSE, "--against", "x"), "--baseline and --against are two baselines; give one of them"),
        (("--baseline", DENSE, "--margin", "0.1", "--margin", "0.2"), "--margin 0.1: expected one number, or MEASURE="),
        (("--baseline", DENSE, "--margin", "x"), "--margin == 'x', must be a number or a percentage such as 2%"),
        (("--baseline", DENSE, "--rule", "x"), "--rule == 'x', must be one of 'non-inferior', 'observed'"),
        (("--baseline", DENSE, "--alpha", "0"), "alpha == 0"),
    ],
)
def test_wrong_options(cranfield: Cranfield, words: tuple[str, ...], message: str) -> None:
    result = cranfield("gate", QRELS, BM25, *words)
    assert result.code == 2
    assert message in result.err


def test_wrong_files(cranfield: Cranfield, tmp_path: Path) -> None:
    bad = tmp_path / "builds.jsonl"
    bad.write_text('{"build": 1}\n')
    result = cranfield("gate", "history", str(bad))
    assert result.code == 1
    assert f"{bad}:1: " in result.err
    assert "is not a build: expected JSON with build, time, candidate, passed and means" in result.err
    other = tmp_path / "scores.json"
    cranfield("gate", QRELS, BM25, "--at-least", "AP=0", "--save", str(other))
    result = cranfield("gate", QRELS, BM25, "-m", "RR", "--against", str(other))
    assert (result.code, "has no scores by RR; it has AP" in result.err) == (2, True)
    assert cranfield("gate", QRELS, BM25, "--baseline", str(tmp_path / "none.run")).code == 1


def test_a_run_or_several_runs_instead_of_saved_scores(cranfield: Cranfield, tmp_path: Path) -> None:
    result = cranfield("gate", QRELS, BM25, "-m", "AP", "--against", DENSE, "--quiet")
    assert result.code == 1
    assert "; --against reads scores that --save wrote, --baseline reads a run" in result.err
    assert "header=" not in result.err
    both = str(tmp_path / "both.json")
    cranfield("gate", QRELS, BM25, DENSE, "--at-least", "AP=0", "--save", both)
    result = cranfield("gate", QRELS, BM25, "-m", "AP", "--against", both)
    assert (result.code, "scores of 2 runs (bm25, dense), must be one" in result.err) == (2, True)


def test_nothing_to_check_names_the_option(cranfield: Cranfield) -> None:
    assert "on the command line: --at-least MEASURE=LIMIT" in cranfield("gate", QRELS, BM25).err
