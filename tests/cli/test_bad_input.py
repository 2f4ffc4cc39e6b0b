"""Bad input: a message with file and line, exit code 1, no traceback, and nothing is written."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

GOOD_QRELS = b"1 0 a 1\n1 0 b 0\n"
GOOD_RUN = b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"
LONG = 10_000_000

RUNS = {
    "empty": (b"", "file: is empty, expected run"),
    "blank": (b"\n\n# nothing\n", "file: is empty, expected run"),
    "short line": (b"1 Q0 a 1 2 t\n1 Q0 b\n", "file:2: 3 columns, expected 6: topic Q0 doc rank score tag"),
    "long line": (b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t more\n", "file:2: 7 columns, expected 6"),
    "text for a number": (b"1 Q0 a 1 2 t\n1 Q0 b 2 high t\n", "file:2: the score is 'high', expected a number"),
    "nan": (b"1 Q0 a 1 2 t\n1 Q0 b 2 NaN t\n", "file:2: the score is 'NaN'"),
    "duplicate": (b"1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", "file:2: document 'a' appears twice for topic '1'"),
    "binary": (b"1 Q0 a 1 2 t\n\x00\x01\x02\xff\n", "file:2: a NUL byte"),
    "truncated gzip": (gzip.compress(GOOD_RUN * 100)[:-12], "file: the gzip data ends too early"),
    "damaged gzip": (gzip.compress(GOOD_RUN)[:12] + b"????????????", "file: the gzip data"),
    "10 MB without a blank": (b"x" * LONG, "file:1: 1 column, expected 6"),
    "10 MB document id": (b"1 Q0 a 1 2 t\n1 Q0 " + b"x" * LONG + b" 1 high t\n", "file:2: "),
    "broken json": (b'{"1": {"a": 1', "file:1: "),
}
QRELS = {
    "empty": (b"", "file: is empty, expected qrels"),
    "short line": (b"1 0 a 1\n1 0 b\n", "file:2: 3 columns, expected 4: topic iteration doc grade"),
    "text for a number": (b"1 0 a 1\n1 0 b good\n", "file:2: the grade is 'good', expected a number"),
    "nan": (b"1 0 a 1\n1 0 b nan\n", "file:2: the grade is 'nan'"),
    "duplicate": (b"1 0 a 1\n1 0 a 1\n", "file:2: document 'a' appears twice for topic '1'"),
    "different grades": (
        b"1 0 a 1\n1 0 a 0\n",
        "file:2: document 'a' appears twice for topic '1', first on line 1, with",
    ),
    "binary": (bytes(range(256)), "file"),
    "truncated gzip": (gzip.compress(GOOD_QRELS * 100)[:-12], "file: the gzip data ends too early"),
    "10 MB without a blank": (b"x" * LONG, "file:1: 1 column, expected 4"),
}


@pytest.fixture
def refused(cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Score with the files named; return the line of the error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.qrels").write_bytes(GOOD_QRELS)
    (tmp_path / "good.run").write_bytes(GOOD_RUN)

    def score(qrels: str, run: str, code: int = 1) -> str:
        before = sorted(tmp_path.iterdir())
        result = cranfield("eval", qrels, run, "-m", "AP", "-o", "scores.txt")
        assert (result.code, result.out) == (code, "")
        assert sorted(tmp_path.iterdir()) == before
        assert result.err.startswith("error: ")
        assert result.err.count("\n") == 1
        assert len(result.err) < 1000
        return result.err.removeprefix("error: ")

    return score


@pytest.mark.parametrize("case", RUNS)
def test_bad_runs_are_errors(refused: Callable[..., str], tmp_path: Path, case: str) -> None:
    content, message = RUNS[case]
    (tmp_path / "file").write_bytes(content)
    assert refused("good.qrels", "file").startswith(message)


@pytest.mark.parametrize("case", QRELS)
def test_bad_qrels_are_errors(refused: Callable[..., str], tmp_path: Path, case: str) -> None:
    content, message = QRELS[case]
    (tmp_path / "file").write_bytes(content)
    assert refused("file", "good.run").startswith(message)


def test_a_directory_is_an_error(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert (
        refused("good.qrels", "folder") == refused("folder", "good.run") == "folder: is a directory, expected a file\n"
    )


def test_a_missing_file_is_an_error(refused: Callable[..., str]) -> None:
    assert refused("good.qrels", "absent") == refused("absent", "good.run") == "absent: no such file\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_an_error(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(GOOD_RUN)
    (tmp_path / "file").chmod(0)
    assert refused("good.qrels", "file") == "file: cannot be read: permission denied\n"


def test_an_unreadable_file_is_an_error_for_root_too(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As above, if the tests run as root: opening the file raises the error of the system."""
    import builtins

    opened = builtins.open

    def refuse(name: object, *rest: object, **more: object) -> object:
        if name == "locked":
            raise PermissionError(13, "Permission denied", name)
        return opened(name, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(builtins, "open", refuse)
    assert refused("good.qrels", "locked") == "locked: cannot be read: permission denied\n"


def test_a_run_without_judged_topics_is_an_error(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"7 Q0 a 1 2 t\n")
    message = refused("good.qrels", "file")
    assert "none of its topics is judged: the run has 7, the judgments have 1" in message


def test_qrels_without_a_relevant_document_are_warned_about(cranfield: Cranfield, tiny: Path) -> None:
    (tiny / "none").write_text("1 0 a 0\n")
    result = cranfield("eval", "none", "mine.run", "-m", "AP")
    assert result.code == 0
    assert result.out.splitlines()[1].split() == ["mine", "1", "-"]
    printed = result.err.splitlines()
    assert printed[0].startswith("warning: no document is judged relevant")
    assert all(line.startswith("warning: ") for line in printed)


@pytest.mark.parametrize(
    "words", [("explain", "good.qrels", "file", "--topic", "1"), ("collection", "stats", "good.qrels", "file")]
)
def test_other_verbs_report_the_same_errors(
    cranfield: Cranfield, refused: Callable[..., str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_bytes(RUNS["short line"][0])
    result = cranfield(*words)
    assert (result.code, result.out) == (1, "")
    assert result.err == "error: " + refused("good.qrels", "file")


def test_convert_leaves_no_partial_file(cranfield: Cranfield, tmp_path: Path) -> None:
    source, target = tmp_path / "bad.run", tmp_path / "out.json"
    source.write_bytes(RUNS["nan"][0])
    result = cranfield("convert", str(source), str(target))
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"error: {source}:2: ")
    assert list(tmp_path.iterdir()) == [source]


def test_as_a_program(program: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(GOOD_QRELS)
    (tmp_path / "r").write_bytes(RUNS["short line"][0])
    result = program("eval", str(tmp_path / "q"), str(tmp_path / "r"))
    assert (result.code, result.out) == (1, "")
    assert result.err == f"error: {tmp_path / 'r'}:2: 3 columns, expected 6: topic Q0 doc rank score tag\n"


def test_explain_rejects_a_negative_depth(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(GOOD_QRELS)
    (tmp_path / "r").write_bytes(GOOD_RUN)
    for depth in ("0", "-1"):
        result = cranfield("explain", str(tmp_path / "q"), str(tmp_path / "r"), "--topic", "1", "--depth", depth)
        assert result == (2, "", f"error: --depth == {depth}, must be a whole number, 1 or more\n")


def test_invisible_marks_are_spelled_out(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(GOOD_QRELS)
    (tmp_path / "r").write_bytes("1 Q0 a 1 2 \u202et\n\ufeff2 Q0 a 1 2 \u202et\n".encode())
    result = cranfield("eval", str(tmp_path / "q"), str(tmp_path / "r"), "-m", "AP")
    assert r"(\ufeff2)" in result.err
    assert r"\u202et" in result.out
    assert "\u202e" not in result.out
