"""The command line names the option that solves an error of the library, which names its own parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.cli import find, way_out
from tests.cli.conftest import Cranfield


@pytest.mark.parametrize(
    ("verb", "message", "hint"),
    [
        ("eval", "TBG needs document lengths: give them as lengths={doc: length}", "--lengths FILE"),
        ("eval", "2 documents have no length; set missing_length=N or 'mean'", "--missing-length N"),
        ("compare", "document 'd' appears twice; keep one: on_duplicate='first' or 'max'", "--on-duplicate RULE"),
        (
            "collection stats",
            "document 'd' appears twice; keep one: on_duplicate='first' or 'max'",
            "--on-duplicate RULE",
        ),
        (
            "explain",
            'no judgments of clarity: dimensions={"clarity": qrels}',
            "--dimension NAME=FILE",
        ),
        ("meta power", "statAP needs probabilities: inclusion={topic: {doc: probability}}", "--inclusion FILE"),
        ("eval", "the judgments have no intents; read them as 'diversity'", "--qrels-format FORMAT"),
        ("eval", "give runs with scores and leave out order=", "--order RULE"),
        ("fairness", "AWRF needs groups: groups={doc: group}", "--groups FILE"),
        ("fairness", 'no group for d3: missing_group="unknown"', "--missing-group GROUP"),
        ("meta study", "'mine:X' would run the code of module 'mine'; allow it: modules=", "--import MODULE"),
        ("meta scale", "too many to enumerate; use shorter lists or draw some: draw=100000", "--draw N"),
    ],
)
def test_an_error_names_the_option_that_solves_it(verb: str, message: str, hint: str) -> None:
    assert way_out(message, find(verb)) == f"on the command line: {hint}"
    assert way_out(f"{message} ({hint})", find(verb)) == ""  # already named


def test_a_verb_without_the_option_prints_no_hint() -> None:
    assert way_out("lengths == 3, must be a file", find("eval")) == ""
    assert way_out("no lengths: give lengths={doc: length}", find("collection stats")) == ""
    assert way_out("RBP(p=2): p == 2, must be between 0 and 1", find("fairness")) == ""


@pytest.mark.parametrize(
    ("qrels", "words", "option"),
    [
        ("1 0 a 1\n", ("-m", "TBG"), "--lengths"),
        ("1 0 a 1\n", ("-m", "TBG", "--lengths", "few"), "--missing-length"),
        ("1 0 a 1\n", ("-m", "statAP"), "--inclusion"),
        ("1 0 a 1\n", ("-m", "uRBP"), "--dimension"),
        ("1 0 a 1\n", ("-m", "I-rec"), "--qrels-format"),
        ("1 0 a 1\n1 0 a 1\n", (), "--on-duplicate"),
    ],
)
def test_the_option_is_named_once(
    cranfield: Cranfield,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    qrels: str,
    words: tuple[str, ...],
    option: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text(qrels)
    Path("run").write_text("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n")
    Path("few").write_text("a 10\n")
    result = cranfield("eval", "qrels", "run", *words)
    assert result.code in (1, 2)
    assert result.err.count(option) == 1
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "eval --sample --run-format x",
            "--run-format == 'x', must be one of trec, msmarco, msmarco-scored, beir, json",
        ),
        (
            "eval --sample --qrels-format x",
            "--qrels-format == 'x', must be one of trec, diversity, msmarco, beir, sampled, json",
        ),
        ("compare --sample --effect-size x", "--effect-size == 'x', must be one of 'd_z', 'd_av'"),
    ],
)
def test_a_wrong_value_is_said_of_the_option_that_has_it(cranfield: Cranfield, words: str, message: str) -> None:
    done = cranfield(*words.split())
    assert done.code == 2
    assert done.err.startswith(f"error: {message}")
    assert "on the command line" not in done.err
