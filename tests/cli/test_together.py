"""`--together`: documents that are relevant only together, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield


def test_a_file_on_the_command_line(cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("q 0 p1 1\nq 0 p2 1\nq 0 s 1\n")
    Path("run").write_text("q Q0 p1 1 9 r\nq Q0 p2 2 8 r\nq Q0 s 3 7 r\n")
    Path("sets").write_text("q pair p1\nq pair p2\n")
    done = cranfield("eval", "qrels", "run", "-m", "RR", "--together", "sets")
    assert done.out.splitlines()[1].split()[-1] == "0.5000"
    assert "1 set of documents relevant only together" in done.out + done.err
