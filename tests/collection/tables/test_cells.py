"""The cells of small files: separators, headers, comments, quotes, compression and errors."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cranfield.collection.tables.cells import Cells, LineForm, read_cells
from cranfield.collection.tables.table_schema import Schema, Words
from cranfield.errors import DataError

SCHEMA = Schema("run team", separators=", ;", header=False, run=Words(), team=Words())


def read(text: str | bytes, widths: Sequence[int] = (2,), **options: Any) -> Cells:
    data = text.encode() if isinstance(text, str) else text
    return read_cells(data, "file", LineForm("run team", widths, comments=options.pop("comments", True), **options))


def rows(text: str | bytes, **options: Any) -> list[list[str]]:
    return [list(row) for row in zip(*read(text, **options).columns, strict=True)]


def numbered(text: str) -> list[tuple[int, list[str]]]:
    return list(zip(read(text).lines, rows(text), strict=True))


@pytest.mark.parametrize(
    "text", ["a\tx y\nb\tz\n", "a,x y\nb,z\n", "a;x y\nb;z\n", 'a,"x y"\n"b", z\n', "a\tx y\rb\tz"]
)
def test_separators_are_detected(text: str) -> None:
    assert rows(text) == [["a", "x y"], ["b", "z"]]


def test_blanks_separate_if_nothing_else_does() -> None:
    assert rows("a  x\nb \t z\n", separators=", ;") == [["a", "x"], ["b", "z"]]


def test_lines_may_have_different_separators() -> None:
    text = "a x\nb,y y\nc;z z\n"
    assert rows(text, mixed=True) == [["a", "x"], ["b", "y y"], ["c", "z z"]]
    with pytest.raises(DataError, match=r"file:3: 3 columns, expected 2: run team$"):
        read("a x\nb y\nc y z\n")


def test_blank_lines_and_comments_keep_the_line_numbers() -> None:
    assert numbered("\ufeff# run team\n\na x\n  # no\nb y") == [(3, ["a", "x"]), (5, ["b", "y"])]
    assert rows("#a x\n", comments=False) == [["#a", "x"]]


def test_quoted_cells_may_have_separators_and_line_breaks() -> None:
    assert numbered('a,"x, ""y"""\nb,"1\n2"\nc,z\n') == [(1, ["a", 'x, "y"']), (2, ["b", "1\n2"]), (4, ["c", "z"])]
    assert rows('a,"x\nb,y\n') == [["a", '"x'], ["b", "y"]]  # not a quoted cell


def test_a_header_is_not_a_row() -> None:
    cells = read("# c\nrun,team\na,x\n", is_header=lambda cells: cells[0] == "run")
    assert (cells.names, cells.header_line, list(cells.lines)) == (["run", "team"], 2, [3])


def test_compressed_files_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "teams.gz"
    path.write_bytes(gzip.compress(b"a x\n"))
    assert list(SCHEMA.read(path)) == [("a", "x")]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a\n")))
    with pytest.raises(DataError, match=r"^standard input:1: 1 column, expected run team$"):
        SCHEMA.read("-")


def test_bytes_that_are_not_utf8_are_kept() -> None:
    assert rows(b"a\xff x\n") == [["a\udcff", "x"]]


@pytest.mark.parametrize(
    ("text", "widths", "message"),
    [
        ("# nothing\n", [2], "file: is empty, expected lines of run team"),
        ("a x\nb y z\n", [2, 3], "file:2: 3 columns, expected 2 as on line 1: run team"),
        ("a x y\n", [2, 4], "file:1: 3 columns, expected run team"),
    ],
)
def test_errors_name_the_line_and_the_columns(text: str, widths: list[int], message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(text, widths)
    assert str(caught.value) == message


def test_an_empty_cell_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "teams"
    path.write_text("a,x\nb,\n")
    with pytest.raises(DataError, match=r"teams:2: the team is '', expected a text that is not empty$"):
        SCHEMA.read(path)
