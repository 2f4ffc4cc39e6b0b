"""Verbs that are another program get all words untouched, and what is wrong comes out as it does there."""

from __future__ import annotations

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
