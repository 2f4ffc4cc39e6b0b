"""`cranfield completion`: the scripts, tried in the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cranfield.cli import GROUPS, STAND_INS, VERBS
from tests.cli.conftest import Cranfield


@pytest.fixture
def script(cranfield: Cranfield, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = cranfield("completion", shell)
    assert (done.code, done.err) == (0, "")
    path = tmp_path / f"cranfield.{shell}"
    path.write_text(done.out)
    return str(path)


def bash(script: str, words: str, folder: Path) -> set[str]:
    """The completions of the last word."""
    last = len(words.split(" ")) - 1
    commands = (
        f'source {script}; COMP_WORDS=({words!s}); COMP_CWORD={last}; COMP_WORDS[{last}]="${{COMP_WORDS[{last}]-}}"; '
        '_cranfield; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", commands], capture_output=True, text=True, cwd=folder, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.split())


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_completes_verbs_options_values_and_files(script: str, tmp_path: Path) -> None:
    (tmp_path / "bm25.run").touch()
    assert bash(script, "cranfield ", tmp_path) == {*VERBS, *STAND_INS, *GROUPS, "help"}
    assert bash(script, "cranfield me", tmp_path) == {"measures", "meta"}
    assert bash(script, "cranfield meta ", tmp_path) == set(GROUPS["meta"].verbs)
    assert bash(script, "cranfield pool ", tmp_path) == set(GROUPS["pool"].verbs)
    assert bash(script, "cranfield pool bm", tmp_path) == {"bm25.run"}
    assert bash(script, "cranfield pool bm25.run --meth", tmp_path) == {"--method"}
    assert bash(script, "cranfield pool simulate --meth", tmp_path) == {"--methods"}
    assert bash(script, "cranfield eval --stat", tmp_path) == {"--statistic"}
    assert bash(script, "cranfield eval --format ", tmp_path) >= {"json", "csv", "trec"}
    assert bash(script, "cranfield compare -t rand", tmp_path) == {"randomisation", "randomised-tukey"}
    assert bash(script, "cranfield meta power --show ov", tmp_path) == {"overlap"}
    assert bash(script, "cranfield power --test an", tmp_path) == {"anova"}
    assert bash(script, "cranfield plot cu", tmp_path) == {"curves"}
    assert bash(script, "cranfield eval qrels.txt bm", tmp_path) == {"bm25.run"}
    assert bash(script, "cranfield eval --lengths bm", tmp_path) == {"bm25.run"}


@pytest.mark.parametrize("script", ["zsh", "fish"], indirect=True)
def test_the_script_is_valid(script: str) -> None:
    shell = script.rpartition(".")[2]
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_completes_by_verb(script: str) -> None:
    def complete(words: str) -> set[str]:
        command = ["fish", "-c", f"source {script}; complete -C '{words}'"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return {line.partition("\t")[0] for line in done.stdout.splitlines()}

    assert complete("cranfield me") == {"measures", "meta"}
    assert complete("cranfield meta sw") == {"swap"}
    assert complete("cranfield pool simulate --meth") == {"--methods"}
    assert complete("cranfield compare --test rand") == {"randomisation", "randomised-tukey"}
    assert complete("cranfield meta power --show ov") == {"overlap"}


def test_an_unknown_shell_is_an_error(cranfield: Cranfield) -> None:
    refused = cranfield("completion", "csh")
    assert (refused.code, refused.out) == (2, "")
    assert "must be one of 'bash', 'zsh', 'fish'" in refused.err
