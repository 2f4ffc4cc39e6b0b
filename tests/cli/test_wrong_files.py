"""Files that are not what they should be: the message names the cause and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

QRELS = "1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n"
RUN = "1 Q0 d1 1 9.5 a\n1 Q0 d2 2 8.5 a\n2 Q0 d1 1 9.5 a\n"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
HTML = "<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n"
NUMBERS = QRELS.replace("d", "10")
"""Documents whose ids are numbers: they might be ranks."""

FAULTS: list[tuple[str, bytes, str]] = [
    ("run", QRELS.encode(), "run:1: 4 columns, the second is 0: these are judgments, expected a run"),
    ("run", NUMBERS.encode(), "run:1: 4 columns, the second is 0: these are judgments, expected a run"),
    ("qrels", RUN.encode(), "qrels:1: 6 columns: this is a run, expected judgments (topic iteration doc grade); are "),
    ("run", b"topic Q0 doc rank score tag\n" + RUN.encode(), "run:1: the score is 'score', expected a number; if this "
     "line is a header, remove it"),
    ("qrels", b"topic iteration doc grade\n" + QRELS.encode(), "if this line is a header, remove it"),
    ("run", RUN.replace("\n", "\r").encode(), "run: has CR alone at the end of lines, expected LF; to convert it: tr "),
    ("qrels", QRELS.replace("\n", "\r").encode(), "qrels: has CR alone at the end of lines"),
    ("run", RUN.encode("utf-16"), "run: is UTF-16 text, expected UTF-8; to convert it: iconv -f UTF-16 -t UTF-8"),
    ("qrels", QRELS.encode("utf-16-le"), "qrels: is UTF-16 text"),
    ("qrels", QRELS.encode("utf-16-be"), "qrels: is UTF-16 text"),
    ("run", LFS.encode(), "run: is a pointer of git-lfs, not the file itself; to fetch that: git lfs pull"),
    ("qrels", LFS.encode(), "qrels: is a pointer of git-lfs"),
    ("run", HTML.encode(), "run: is an HTML page, perhaps an error page of a web server; download the file again"),
    ("qrels", HTML.lower().encode(), "qrels: is an HTML page"),
    ("run", RUN.replace(".5", ",5").encode(), "run:1: the score is '9,5', expected a number; numbers need a decimal "
     "point: 9.5"),
    ("qrels", QRELS.replace("d2 0", "d2 0,5").encode(), "qrels:2: the grade is '0,5', expected a number; numbers need"),
    ("run", RUN.replace("1 Q0", "001 Q0").replace("2 Q0", "002 Q0").encode(), "run: none of its topics is judged: "
     "the run has 001, 002, the judgments have 1, 2; '001' and '1' differ by leading zeros or case"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text(QRELS)
    Path("run").write_text(RUN)


@pytest.mark.parametrize("how", ["file", "standard input"])
@pytest.mark.parametrize(("name", "content", "message"), FAULTS)
def test_the_message_names_the_cause(cranfield: Cranfield, name: str, content: bytes, message: str, how: str) -> None:
    Path(name).write_bytes(content)
    files = {"qrels": "qrels", "run": "run"}
    if how == "standard input":
        files[name] = "-"
        message = message.replace(f"{name}:", "standard input:", 1) if message.startswith(f"{name}:") else message
    done = cranfield("eval", files["qrels"], files["run"], "-m", "AP", stdin=content)
    assert done.code == 1
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_swapped_files_name_the_cause(cranfield: Cranfield) -> None:
    done = cranfield("eval", "run", "qrels", "-m", "AP")
    assert "this is a run, expected judgments" in done.err
    assert "are judgments and runs swapped? judgments come first" in done.err


def test_some_topics_with_leading_zeros_are_named(cranfield: Cranfield) -> None:
    Path("run").write_text(RUN.replace("2 Q0", "02 Q0"))
    done = cranfield("eval", "qrels", "run", "-m", "AP")
    assert "'02' and '2' differ by leading zeros or case, and are different topics" in done.err


def test_validate_goes_on_after_a_file_it_cannot_recognise(cranfield: Cranfield) -> None:
    Path("thing").write_text("what is this\nsome words here and there\n")
    Path("run").write_text(RUN + "2 Q0 d3 2 x a\n")
    done = cranfield("validate", "thing", "qrels", "run")
    assert done.code == 1
    assert "thing: error: cannot tell whether it is a run, qrels or topics" in done.out
    assert "run:4: error: the score is 'x', expected a number" in done.out
    assert done.out.splitlines()[-1].startswith("3 files: 2 errors")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--missing", "none"), "--missing == 'none', must be one of 'zero', 'skip'"),
        (("--precision", "16"), "--precision == 16, must be 64 or 32"),
        (("--depth", "0"), "--depth == 0, must be a whole number, 1 or more"),
    ],
)
def test_messages_name_the_option_not_the_parameter(
    cranfield: Cranfield, option: tuple[str, str], message: str
) -> None:
    assert cranfield("eval", "qrels", "run", *option).err == f"error: {message}\n"
