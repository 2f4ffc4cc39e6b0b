"""One reader for all small side files: separators, headers, comments, quotes, compression and errors."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cranfield.collection.side_files import SideTable, read_side_file
from cranfield.errors import DataError


def read(tmp_path: Path, text: str | bytes, **options: Any) -> SideTable:
    path = tmp_path / "file"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_side_file(path, "run team", options.pop("columns", [2]), **options)


@pytest.mark.parametrize(
    "text", ["a\tx y\nb\tz\n", "a,x y\nb,z\n", "a;x y\nb;z\n", 'a,"x y"\n"b", z\n', "a\tx y\rb\tz"]
)
def test_separators_are_detected(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text).rows == [["a", "x y"], ["b", "z"]]


def test_blanks_separate_if_nothing_else_does(tmp_path: Path) -> None:
    assert read(tmp_path, "a  x\nb \t z\n", separators=", ;").rows == [["a", "x"], ["b", "z"]]


def test_lines_may_have_different_separators(tmp_path: Path) -> None:
    text = "a x\nb,y y\nc;z z\n"
    assert read(tmp_path, text, mixed=True).rows == [["a", "x"], ["b", "y y"], ["c", "z z"]]
    with pytest.raises(DataError, match=r"file:3: 3 columns, expected 2: run team$"):
        read(tmp_path, "a x\nb y\nc y z\n")


def test_blank_lines_and_comments_keep_the_line_numbers(tmp_path: Path) -> None:
    table = read(tmp_path, "\ufeff# run team\n\na x\n  # no\nb y")
    assert list(table) == [(3, ["a", "x"]), (5, ["b", "y"])]
    assert read(tmp_path, "#a x\n", comments=False).rows == [["#a", "x"]]


def test_quoted_cells_may_have_separators_and_line_breaks(tmp_path: Path) -> None:
    table = read(tmp_path, 'a,"x, ""y"""\nb,"1\n2"\nc,z\n')
    assert list(table) == [(1, ["a", 'x, "y"']), (2, ["b", "1\n2"]), (4, ["c", "z"])]
    assert read(tmp_path, 'a,"x\nb,y\n').rows == [["a", '"x'], ["b", "y"]]  # not a quoted cell


def test_a_header_is_not_a_row(tmp_path: Path) -> None:
    table = read(tmp_path, "# c\nrun,team\na,x\n", header=lambda cells: cells[0] == "run")
    assert (table.header, table.header_line, list(table)) == (["run", "team"], 2, [(3, ["a", "x"])])


def test_compressed_files_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(tmp_path, gzip.compress(b"a x\n")).rows == [["a", "x"]]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a\n")))
    with pytest.raises(DataError, match=r"^standard input:1: 1 column, expected run team$"):
        read_side_file("-", "run team", [2])


def test_bytes_that_are_not_utf8_are_kept(tmp_path: Path) -> None:
    assert read(tmp_path, b"a\xff x\n").rows == [["a\udcff", "x"]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("# nothing\n", {}, "file: is empty, expected lines of run team"),
        ("a x\nb y z\n", {"columns": [2, 3]}, "file:2: 3 columns, expected 2 as on line 1: run team"),
        ("a,x\nb,\n", {"filled": 2}, "file:2: column 2 is empty, expected run team"),
        ("a x y\n", {"columns": [2, 4]}, "file:1: 3 columns, expected run team"),
    ],
)
def test_errors_name_the_line_and_the_columns(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, text, **options)
    assert str(caught.value) == str(tmp_path / message)
