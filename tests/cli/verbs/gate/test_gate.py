"""`cranfield gate`: exit codes, files, history."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

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


NO_VERDICT = {
    "a missing file": ((QRELS, "none.run", "--at-least", "AP=0"), "none.run: no such file"),
    "a missing baseline": ((QRELS, BM25, "--baseline", "none.run"), "none.run: no such file"),
    "a run instead of saved scores": ((QRELS, BM25, "--against", DENSE), "--against reads scores that --save wrote"),
    "an unknown measure": ((QRELS, BM25, "-m", "XYZ"), "no measure 'XYZ'"),
    "an unknown option": ((QRELS, BM25, "--margn", "1"), "no option '--margn'"),
    "no judgments": (("--at-least", "AP=0"), "no judgments; give QRELS RUN..."),
}


@pytest.mark.parametrize("case", NO_VERDICT)
def test_without_a_verdict_the_code_is_2_and_build_servers_get_the_error(
    cranfield: Cranfield, tmp_path: Path, case: str
) -> None:
    words, message = NO_VERDICT[case]
    junit = tmp_path / "gate.xml"
    result = cranfield("gate", *words, "--junit", str(junit), "--format", "json", "--annotations")
    assert result.code == 2
    assert message in result.err
    suite = ElementTree.fromstring(junit.read_text("utf-8")).find("testsuite")
    assert suite is not None
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    error = suite.find("testcase/error")
    assert error is not None
    assert message in (error.get("message") or "")
    data, _, annotation = result.out.partition("::error title=gate::")
    assert (json.loads(data)["passed"], message in json.loads(data)["error"]) == (None, True)
    assert message in annotation


@pytest.mark.parametrize("word", ["gate", "pool"])
def test_a_group_that_does_something_by_itself_needs_something_to_do(cranfield: Cranfield, word: str) -> None:
    result = cranfield(word)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"usage: cranfield {word} ")


def changed_judgments(folder: Path) -> str:
    """The sample's judgments with a fifth of the lines changed."""
    lines = [line.split() for line in Path(QRELS).read_text("utf-8").splitlines()]
    for line in lines[::5]:
        line[3] = "1" if line[3] == "0" else "0"
    path = folder / "changed.txt"
    path.write_text("".join(" ".join(line) + "\n" for line in lines), "utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["last.json", "last.csv", "last.parquet"])
def test_scores_of_other_judgments_are_no_baseline(cranfield: Cranfield, tmp_path: Path, name: str) -> None:
    saved, changed = str(tmp_path / name), changed_judgments(tmp_path)
    cranfield("gate", changed, BM25, "--at-least", "AP=0", "--save", saved)
    words = ("gate", QRELS, BM25, "-m", "AP", "--against", saved, "--rule", "observed")
    result = cranfield(*words)
    assert (result.code, result.out) == (2, "")
    assert f"{saved}: bm25 cannot be compared with bm25 (baseline): the judgments of 24 of 24 topics" in result.err
    assert result.err.rstrip().endswith("or accept by name: --accept-changes judgments")
    for accept in (["judgments"], ["judgments,rules"], []):
        accepted = cranfield(*words, "--accept-changes", *accept)
        assert (accepted.code, "accepted: the judgments of 24 of 24" in accepted.out) == (0, True)
    assert cranfield("gate", QRELS, BM25, "--at-least", "AP=0", "--accept-changes").code == 2


def test_a_history_says_where_the_judgments_changed(cranfield: Cranfield, tmp_path: Path) -> None:
    history = str(tmp_path / "builds.jsonl")
    for build, qrels in {"mon": QRELS, "tue": QRELS, "wed": changed_judgments(tmp_path)}.items():
        cranfield("gate", qrels, BM25, "--at-least", "AP=0", "--history", history, "--build", build)
    assert cranfield("gate", "history", history).out.splitlines()[-1] == "wed: not the judgments of tue"


def test_a_run_or_several_runs_instead_of_saved_scores(cranfield: Cranfield, tmp_path: Path) -> None:
    result = cranfield("gate", QRELS, BM25, "-m", "AP", "--against", DENSE, "--quiet")
    assert result.code == 2
    assert "; --against reads scores that --save wrote, --baseline reads a run" in result.err
    assert "header=" not in result.err
    both = str(tmp_path / "both.json")
    cranfield("gate", QRELS, BM25, DENSE, "--at-least", "AP=0", "--save", both)
    result = cranfield("gate", QRELS, BM25, "-m", "AP", "--against", both)
    assert (result.code, "scores of 2 runs (bm25, dense), must be one" in result.err) == (2, True)


def test_nothing_to_check_names_the_option(cranfield: Cranfield) -> None:
    assert "on the command line: --at-least nDCG@10=0.45" in cranfield("gate", QRELS, BM25).err


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of the size of files")
def test_a_full_disk_or_a_kill_leaves_a_history_that_goes_on(cranfield: Cranfield, tmp_path: Path) -> None:
    """Half of a line would make each later build fail."""
    import resource

    history = tmp_path / "builds.jsonl"
    words = ("gate", QRELS, BM25, "--at-least", "AP=0", "--history", str(history))
    assert cranfield(*words).code == 0
    before = history.read_bytes()
    most = len(before) + 20
    full = subprocess.run(
        [sys.executable, "-m", "cranfield", *words],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    assert (full.returncode, full.stderr.splitlines()[-1]) == (
        2,
        f"error: {history}: cannot be written: File too large",
    )
    assert history.read_bytes() == before
    history.write_bytes(before + before[:20])  # as a kill leaves it
    assert len(cranfield("gate", "history", str(history), "--format", "csv").out.splitlines()) == 2
    assert cranfield(*words).code == 0
    history.write_bytes(history.read_bytes().rstrip())  # as an editor may leave it
    assert cranfield(*words).code == 0
    rows = cranfield("gate", "history", str(history), "--format", "csv").out.splitlines()[1:]
    assert [row.partition(",")[0] for row in rows] == ["1", "2", "3"]
