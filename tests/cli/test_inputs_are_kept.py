"""A file that a verb reads is not replaced by the result, whichever verb, option and input it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cranfield.cli import find
from cranfield.cli.declare import declared
from tests.cli.conftest import in_process
from tests.cli.every_verb import EVERY, PLAIN, prepare, words_of

READ_AS_THEY_ARE = {"--collections", "--docs", "--certificate", "--key"}
"""Options of files that are read, but not from standard input."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("inputs")
    before = os.getcwd()
    os.chdir(place)
    prepare(place)
    os.chdir(before)
    return place


@pytest.mark.parametrize("verb", [verb for verb in EVERY if verb not in PLAIN])
def test_no_option_replaces_an_input(verb: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    words = words_of(verb)
    if "-o" in words:  # an option may be given once
        del words[words.index("-o") : words.index("-o") + 2]
    inputs = [word for word in words if Path(word).is_file()]
    options = [one.label for one in declared(find(verb)) if one.writes and one.spellings]
    for option in options:
        for name in inputs:
            content = Path(name).read_bytes()
            done = in_process(*words, option, name)
            assert (done.code, done.err) == (
                2,
                f"error: {option} {name} is an input, which would be lost; name another file\n",
            )
            assert Path(name).read_bytes() == content


@pytest.mark.parametrize("words", [
    "eval qrels.txt a.run -o ./qrels.txt",
    "eval qrels.txt a.run -o link.txt",
    "eval qrels.txt *.run -o b.run",
    "eval qrels.txt a.run --dimension credibility=machine.qrels -o machine.qrels",
    "convert a.run a.run --to csv",
    "judge export judgments.db qrels -o judgments.db",
    "log check log -o log/ubi_events.jsonl",
    "clicks fit log --save log/ubi_queries.jsonl",
    "gate qrels.txt b.run --baseline a.run -m AP --margin 9 --junit qrels.txt",
    "gate qrels.txt b.run --baseline a.run -m AP --margin 9 --format json --output a.run",
])  # fmt: skip
def test_another_name_of_an_input_is_noticed(words: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    if not Path("link.txt").exists():
        Path("link.txt").symlink_to("qrels.txt")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    done = in_process(*words.split())
    assert done.code == 2
    assert "is an input, which would be lost" in done.err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_results_may_be_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for _ in range(2):
        assert in_process("campaign", "status", "campaign", "-o", "campaign/status.txt").code == 0
        assert in_process("measures", "AP", "-o", "AP").code == 0
        assert in_process("eval", "qrels.txt", "a.run", "-m", "AP", "-o", "out.csv").code == 0
        assert in_process("eval", "qrels.txt", "a.run", "-m", "AP", "-o", os.devnull).code == 0


@pytest.mark.parametrize("verb", EVERY)
def test_each_option_of_a_file_says_whether_it_is_read_or_written(verb: str) -> None:
    files = [one for one in declared(find(verb)) if one.spellings and "FILE" in one.metavar]
    assert [one.label for one in files if not one.reads and not one.writes and one.label not in READ_AS_THEY_ARE] == []
    assert [one.label for one in files if one.reads and one.writes] == []
