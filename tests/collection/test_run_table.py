"""Tables of run and team."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.collection.run import belongs, read_run_table
from cranfield.errors import DataError


def test_commas_tabs_and_blanks(tmp_path: Path) -> None:
    path = tmp_path / "teams"
    path.write_bytes(b"\xef\xbb\xbf# run team\r\na A\r\nb , Team B\n\n c\tTeam C\n")
    assert read_run_table(path, "team") == {"a": "A", "b": "Team B", "c": "Team C"}
    assert belongs(str(path), "team") == belongs({"a": "A", "b": "Team B", "c": "Team C"}, "team")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a A\nb\n", "teams:2: 1 column, expected 2: run system"),
        ("a A\na A\n", "teams:2: run 'a' appears twice"),
        ("a,\n", "teams:1: run 'a': the system is '', expected a text that is not empty"),
    ],
)
def test_bad_lines(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "teams").write_text(text)
    with pytest.raises(DataError, match=message):
        read_run_table(tmp_path / "teams", "system")
