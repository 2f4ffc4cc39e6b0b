"""A module is imported only if a person names it: no file that a verb reads makes it import one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield
from tests.cli.every_verb import EVERY, NAMES, PLAIN, each_file, prepare, reading, tidy, with_file, words_of

CANARY = "canary_for_tests"
HOSTILE = (
    "scores.csv", "study.toml", "a.run", "campaign/campaign.toml", "qrels.txt", "scores.json", "labels.csv",
    "cited.jsonl", "history.jsonl", "oec.toml", "campaign", "log", "judgments.db",
)  # fmt: skip
"""A file of each kind, to be given in place of a file of another kind."""
ALL = bool(os.environ.get("CRANFIELD_EVERY"))
"""Whether to give every verb every file in every place, which takes a minute, and not one other file."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Files in which every name is that of a measure in a module, which is in the current folder."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / f"{CANARY}.py").write_text("def M1(lists):\n    return lists.topic * 0.5\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        prepare(folder, lambda mark: NAMES[mark] if mark == "X4" else f"{CANARY}:{mark}")
        yield folder


PLACES = each_file()


def commands(verb: str) -> Iterator[list[str]]:
    """The verb with hostile files of the right kind, then with a file of another kind, or of every other kind."""
    yield words_of(verb)
    if ALL:
        yield from (with_file(verb, place, file) for named, place in PLACES if named == verb for file in HOSTILE)
    elif places := reading(verb):
        number = EVERY.index(verb)
        yield with_file(verb, places[number % len(places)], HOSTILE[number % len(HOSTILE)])


@pytest.mark.parametrize("verb", [verb for verb in EVERY if verb not in PLAIN])
def test_no_file_makes_a_verb_import_a_module(cranfield: Cranfield, folder: Path, verb: str) -> None:
    path = list(sys.path)
    for words in commands(verb):
        done = cranfield(*words)
        tidy(folder)
        assert sys.modules.pop(CANARY, None) is None, words
        assert sys.path == path
        assert "this is a bug" not in done.err, words


def test_a_person_may_name_a_module(cranfield: Cranfield, folder: Path) -> None:
    """The same files import it if the command line names it: the tests above can fail."""
    try:
        assert cranfield("eval", "qrels.txt", "a.run", "-m", f"{CANARY}:M1").code == 0
        assert CANARY in sys.modules
    finally:
        sys.modules.pop(CANARY, None)
        from cranfield.measures import REGISTRY

        REGISTRY.pop("M1", None)


def test_a_module_in_the_working_folder_replaces_no_package(tmp_path: Path) -> None:
    """`python -m` puts the working folder first, and a folder of data may hold a file of any name."""
    for name in ("numpy", "json", "tomllib", "difflib", "altair", "duckdb"):
        (tmp_path / f"{name}.py").write_text("open('trace', 'w').write('run')\n")
    command = [sys.executable, "-m", "cranfield", "eval", "--sample", "-m", "AP"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "trace").exists()
