"""Documents with equal scores: by id in either direction, or as in the file, wherever an order can be named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.assessed.join_options import JoinOptions
from cranfield.cli import main
from cranfield.cluster.evaluate_tables import evaluate_tables
from cranfield.errors import UsageError
from cranfield.meta.reproduction.reproduction import reproduce

QRELS = {"q": {"a": 1}}
TIED = {"q": {"b": 1.0, "a": 1.0, "c": 1.0, "top": 2.0}}
# By hand: `top` is first; then c b a (z-a), a b c (a-z), b a c (the file). a is at rank 4, 2 or 3.
RR = {"z-a": 1 / 4, "a-z": 1 / 2, "file": 1 / 3}
pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    lines = (f"q Q0 {doc} {rank} {score} t\n" for rank, (doc, score) in enumerate(TIED["q"].items(), 1))
    (tmp_path / "t.run").write_text("".join(lines))
    return str(tmp_path / "qrels"), str(tmp_path / "t.run")


@pytest.mark.parametrize("ties", RR)
def test_dicts_files_tables_and_frames_agree(ties: str, files: tuple[str, str]) -> None:
    for run in (TIED, files[1], cf.Run.of(TIED), Path(files[1]).read_bytes()):
        assert cf.evaluate(QRELS, run, "RR", ties=ties).values.item() == RR[ties]
    assert cf.evaluate(QRELS, [files[1]], "RR", ties=ties, shards=2).values.item() == RR[ties]


@pytest.mark.parametrize("ties", RR)
def test_every_other_reader_of_lists_follows(ties: str) -> None:
    run = cf.Run.of(TIED, name="t")
    order = {"z-a": "cba", "a-z": "abc", "file": "bac"}[ties]
    assert [place.doc for place in run.ranking("q", ties=ties)] == ["top", *order]
    assert list(run.top(2, ties=ties).to_dict()["q"]) == ["top", order[0]]
    explained = cf.explain(QRELS, run, "q", "RR", options=JoinOptions(ties=ties))
    assert [line.doc for line in explained.lines] == ["top", *order]
    # k = 0: the scores are 1 / rank
    assert cf.fuse([run, run], "rrf(k=0)", ties=ties).to_dict()["q"]["a"] == 2 * RR[ties]
    other = {"q": {"top": 3.0, "a": 2.0, "b": 1.0, "c": 0.5}}
    again = reproduce(QRELS, (run, other), measures=["RR"], ties=ties)["RR", "baseline"]
    assert (again.tau == 1) == (ties == "a-z")


def test_a_rule_for_ties_needs_the_order_by_score(files: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match="ties == 'a-z' is for order='score'"):
        cf.evaluate(QRELS, files[1], "RR", order="rank", ties="a-z")
    with pytest.raises(UsageError, match="ties == 'x', must be"):
        cf.evaluate(QRELS, TIED, "RR", ties="x")
    with pytest.raises(UsageError, match="ties == 'a-z' is for order='score'"):
        cf.Run.of(TIED).ranking("q", "file", ties="a-z")


def test_the_command_line_takes_the_rule_and_says_it(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *files, "-m", "RR", "--ties", "a-z"]) == 0
    printed = capsys.readouterr().out
    assert "0.5000" in printed
    assert "equal scores: a-z" in printed
    assert main(["eval", *files, "-m", "RR", "--ties", "a-z", "--format", "json"]) == 0
    assert "equal scores: a-z" in json.loads(capsys.readouterr().out)["notes"]
    assert main(["eval", *files, "-m", "RR"]) == 0
    assert "0.2500" in capsys.readouterr().out


def test_tables_of_an_engine_take_the_rule() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = pyarrow.table({"run": ["t"] * 4, "topic": ["q"] * 4, "doc": [*TIED["q"]], "score": [*TIED["q"].values()]})
    assert evaluate_tables(QRELS, rows, "RR", ties="a-z").values.item() == RR["a-z"]
