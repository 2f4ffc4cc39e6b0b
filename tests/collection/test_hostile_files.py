"""Hostile files: none may hang, none may lose a line silently."""

from __future__ import annotations

import bz2
import io
import lzma
import sys
from pathlib import Path

import pytest

from cranfield.collection.linting.lint import check_files
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import HEAD, load, read_stream
from cranfield.errors import CranfieldWarning, DataError
from cranfield.fairness.attention import Groups

RUN = b"1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n"


def refused(path: Path | str) -> str:
    with pytest.raises(DataError) as caught:
        load(path)
    return str(caught.value)


# ------------------------------------------------------------------------------------------ where the data begins


@pytest.mark.parametrize("before", [b"\n" * 100_000, b"# a comment\n" * 10_000, b"#" * 100_000 + b"\n"])
def test_data_after_many_blank_lines_or_comments_is_found(before: bytes) -> None:
    assert Run.of(before + RUN).to_dict() == {"1": {"a": 2.0, "b": 1.0}}
    assert Qrels.of(before + b"1 0 a 1\n").to_dict() == {"1": {"a": 1}}


def test_the_line_of_a_fault_counts_skipped_lines() -> None:
    with pytest.raises(DataError, match=r"<bytes>:100001: 3 columns, the third is '0\.5'"):
        Run.of(b"\n" * 100_000 + b"1 d1 0.5\n")


def test_judgments_given_as_a_run_are_recognised() -> None:
    with pytest.raises(DataError, match="<bytes>:1: 4 columns, the second is 0: these are judgments"):
        Run.of(b"1 0 doc7 1\n")


# ------------------------------------------------------------------------------------------ compressed


@pytest.mark.parametrize(("pack", "kind"), [(bz2.compress, "bzip2"), (lzma.compress, "xz")])
def test_a_damaged_second_stream_is_an_error(pack, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    second = bytearray(pack(RUN))
    path.write_bytes(pack(RUN) + second)
    assert load(path) == RUN + RUN
    second[:10] = b"garbage..."
    path.write_bytes(pack(RUN) + second)
    assert refused(path).startswith(f"{path}: the {kind} data is damaged")
    path.write_bytes(pack(RUN) + pack(RUN)[:-4])
    assert refused(path) == f"{path}: the {kind} data ends too early: the file is truncated"


def test_an_xz_file_may_be_padded_with_zeros(tmp_path: Path) -> None:
    """Section 2.2 of the .xz file format, version 1.1.0: stream padding is zero bytes, four or a multiple."""
    path = tmp_path / "run"
    path.write_bytes(lzma.compress(RUN) + b"\0" * 8)
    assert load(path) == RUN


# ------------------------------------------------------------------------------------------ without an end


class Endless(io.RawIOBase):
    """Like /dev/zero; a second read would never end."""

    def read(self, size: int = -1) -> bytes:
        assert size > 0, "read to the end of what has no end"
        return b"\0" * size


def test_binary_from_a_pipe_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", type("Standard", (), {"buffer": Endless()})())
    assert refused("-").startswith("standard input:1: contains a NUL byte")


def test_utf16_and_parquet_from_a_pipe_are_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in ("<top>" * HEAD).encode("utf-16"), b"PAR1" + b"\0" * 2 * HEAD:
        monkeypatch.setattr(sys, "stdin", type("Standard", (), {"buffer": io.BytesIO(data)})())
        assert load("-") == data


def test_closed_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert refused("-") == "standard input: is closed"


# ------------------------------------------------------------------------------------------ names and streams


def test_a_path_with_a_nul() -> None:
    assert refused("a\0b") == r"'a\x00b': cannot be read: embedded null byte"


def test_a_stream_that_cannot_be_read(tmp_path: Path) -> None:
    with open(tmp_path / "out", "w") as stream, pytest.raises(DataError, match="out: cannot be read: not readable"):
        read_stream(stream)
    with pytest.raises(DataError, match="out: cannot be read: I/O operation on closed file"):
        read_stream(stream)


# ------------------------------------------------------------------------------------------ tags and marks


def test_too_many_runs_in_one_file_are_an_error() -> None:
    lines = b"".join(b"q Q0 d%d 1 1.0 t%d\n" % (i, i) for i in range(10_001))
    with pytest.raises(DataError, match="<bytes>:10001: more than 10000 runs in one file"):
        runs_of(lines, split_tags=True)
    with pytest.warns(CranfieldWarning, match=r"<data>: 10,001 tags \(t0, .* and 9,996 more\) are read as one run"):
        assert len(Run.of(lines)) == 10_001


def test_a_byte_order_mark_between_lines_is_reported(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(RUN + b"\xef\xbb\xbf2 Q0 a 1 2.0 t\n")
    findings = check_files(runs=[tmp_path / "r"])
    assert [(f.line, f.severity, f.code) for f in findings] == [(3, "warning", "byte-order-mark")]


def test_a_run_name_in_a_table_need_not_be_utf_8() -> None:
    """Found by fuzz/run csv."""
    data = b"query_id,doc_id,score,run\n1,d1,2,a\xff\n1,d2,1,b\n"
    assert [run.name for run in runs_of(data, split_tags=True)] == ["a\udcff", "b"]


def test_a_side_file_of_one_column_is_an_error_not_a_bug(tmp_path: Path) -> None:
    """Found by fuzz/run side: the first line was taken for a header before its columns were counted."""
    path = tmp_path / "groups.txt"
    path.write_text("doc\n")
    with pytest.raises(DataError, match=r"groups\.txt:1: 1 column"):
        Groups.of(path)
