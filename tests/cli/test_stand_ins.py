"""Verbs that are another program get all words untouched, and what is wrong comes out as it does there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cranfield.cli import STAND_INS
from tests.cli.conftest import Cranfield, as_process


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qrels").write_text("1 1 d1 1\n1 2 d2 1\n")
    (tmp_path / "run").write_text("1 Q0 d2 1 2 tag\n1 Q0 d1 2 1 tag\n")
    (tmp_path / "rel").write_text("d1 L1\nd2 L0\n")
    monkeypatch.chdir(tmp_path)


def test_ndeval(cranfield: Cranfield) -> None:
    code, out, err = cranfield("ndeval", "-traditional", "-c", "qrels", "run")
    assert (code, err) == (0, "")
    header, topic, mean = out.splitlines()
    assert header.startswith("runid,topic,ERR-IA@5,")
    # One intent of two at rank 1, the other at rank 2: all intents found, precision 2 / (2 · 20).
    assert topic.startswith("tag,1,")
    assert topic.endswith(",0.050000,1.000000,1.000000,1.000000")
    assert mean == topic.replace("tag,1,", "tag,amean,")


def test_ntcireval_in_a_pipe() -> None:
    labels = as_process("ntcireval", "label", "-r", "rel", stdin=b"x\nd1\n")
    assert labels == (0, "x\nd1 L1\n", "")
    scores = as_process("ntcireval", "compute", "-r", "rel", "-g", "1", stdin=labels.out.encode())
    assert scores.code == 0
    assert " RR=                  0.5000\n" in scores.out


@pytest.mark.parametrize("verb", STAND_INS)
def test_errors_begin_with_the_name_of_the_program(cranfield: Cranfield, verb: str) -> None:
    code, out, err = cranfield(verb, "--nonsense", "x", "y")
    assert (code, out) == (2, "")
    assert err.startswith(f"{verb}: ")


@pytest.mark.parametrize("verb", STAND_INS)
def test_stand_ins_print_their_own_help(cranfield: Cranfield, verb: str) -> None:
    for words in ((verb, "--help"), ("help", verb)):
        code, out, _ = cranfield(*words)
        assert code == 0
        assert out.startswith(f"usage: {verb}")


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="needs a pipe")
@pytest.mark.parametrize(
    ("words", "line", "message"),
    [
        (("trec_eval", "qrels", "-"), "y", "-:1: 1 column, expected 6: topic Q0 doc rank score tag"),
        (("trec_eval", "-", "run"), "y", "-:1: 1 column, expected 4: topic iteration doc grade"),
        (
            ("trec_eval", "-R", "prefs", "-m", "prefs_simp", "-", "run"),
            "y",
            "standard input:1: 1 column, expected topic group subgroup doc level",
        ),
        (("trec_eval", "-R", "qrels_prefs", "-m", "prefs_simp", "-", "run"), "y", "-:1: 1 column, expected 4"),
        (
            ("trec_eval", "-Z", "-", "qrels", "run"),
            "y",
            "standard input:1: 1 column, expected topic measure mean deviation",
        ),
        (("ndeval", "qrels", "-"), "y", "-:1: 1 column, expected 6: topic Q0 doc rank score tag"),
        (("ndeval", "-", "run"), "y", "-:1: 1 column, expected 4: topic intent doc grade"),
        (("gdeval", "zeros", "-"), "y", "-:1: 1 column, expected 6: topic Q0 doc rank score tag"),
        (("gdeval", "-", "run"), "y", "-:1: 1 column, expected 4: topic 0 doc grade"),
        (("ntcireval", "label", "-r", "-", "list"), "y", "-:1: 1 column, expected 2: doc level"),
        (("ntcireval", "compute", "-g", "1", "-r", "-", "list"), "d1 7", "-:1: the level is '7', expected L0, L1, ..."),
        (("ntcireval", "dinlabel", "-din", "-", "list"), "y", "-:1: 1 column, expected 4: intent inf/nav doc gain"),
        (("ntcireval", "eval", "-g", "1", "-sep", ";", "qrels", "-"), "y", "-:1: 1 column, expected 6"),
        (("meta", "study", "-"), "y", "no study '-'"),
        (("meta", "study", "pipe.toml"), "y", "pipe.toml:1: not valid TOML: "),
        (("meta", "study", "pipe.json"), "y", "pipe.json:1: is not valid JSON: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_fault_at_the_beginning_of_a_pipe_without_end_is_reported(
    words: tuple[str, ...], line: str, message: str
) -> None:
    Path("zeros").write_text("1 0 d1 1\n")
    Path("list").write_text("d1\n")
    for name in ("pipe.toml", "pipe.json"):
        Path(name).symlink_to("/dev/stdin")
    with subprocess.Popen(["yes", line], stdout=subprocess.PIPE) as endless:
        command = [sys.executable, "-m", "cranfield", *words]
        done = subprocess.run(command, stdin=endless.stdout, capture_output=True, text=True, timeout=60)
        endless.kill()
    assert message in done.stderr
    assert done.returncode != 0
