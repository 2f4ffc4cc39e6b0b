"""`--lengths` and `--missing-length`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q 0 a 1\nq 0 b 0\n")
    Path("mine.run").write_text("q Q0 b 1 2 mine\nq Q0 a 2 1 mine\n")
    Path("lengths.txt").write_text("a 10\nb 20\n")
    Path("few.txt").write_text("a 10\n")
    return "qrels.txt", "mine.run", "-m", "TBG", "--lengths"


# behind b: 4.4 + .39 (.018 L + 7.8) seconds
BEHIND_20_WORDS = 0.64 * 0.77 * 2 ** (-(4.4 + 0.39 * (0.018 * 20 + 7.8)) / 224)
BEHIND_500_WORDS = 0.64 * 0.77 * 2 ** (-(4.4 + 0.39 * (0.018 * 500 + 7.8)) / 224)
BEHIND_10_WORDS = 0.64 * 0.77 * 2 ** (-(4.4 + 0.39 * (0.018 * 10 + 7.8)) / 224)


@pytest.mark.parametrize(
    ("words", "score"),
    [
        (("lengths.txt",), BEHIND_20_WORDS),
        (("few.txt", "--missing-length", "500"), BEHIND_500_WORDS),
        (("few.txt", "--missing-length", "mean"), BEHIND_10_WORDS),
    ],
)
def test_eval_and_explain_with_lengths(
    words: tuple[str, ...], score: float, cranfield: Cranfield, files: tuple[str, ...]
) -> None:
    result = cranfield("eval", *files, *words)
    assert (result.code, f"{score:.4f}" in result.out) == (0, True)
    assert ("without a length" in result.err) == (words[0] == "few.txt")
    assert "TBG: the lengths of documents are used as words" in result.out
    result = cranfield("explain", *files, *words, "--topic", "q")
    assert result.out.startswith(f"TBG of mine on topic q = {score:.4f}\n")
    assert "time" in result.out.splitlines()[1].split()


def test_missing_lengths_are_errors(cranfield: Cranfield, files: tuple[str, ...]) -> None:
    result = cranfield("eval", *files, "few.txt")
    assert result.code == 1
    assert "few.txt: 1 retrieved document without a length: b; add them" in result.err
    result = cranfield("eval", *files[:-1])
    assert result.code == 2
    assert "TBG needs the lengths of documents: give lengths=, a file with lines 'doc length'" in result.err
    assert "--lengths FILE" in result.err
    result = cranfield("eval", *files, "few.txt", "--missing-length", "long")
    assert (result.code, "--missing-length == 'long', must be a number" in result.err) == (2, True)
