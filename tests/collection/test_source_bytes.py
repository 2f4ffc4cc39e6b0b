"""`load` maps or unpacks files; `write_bytes` leaves whole files on the disk."""

from __future__ import annotations

import io
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from cranfield.collection.compression import packed
from cranfield.collection.source import expand, load, read_bytes, read_stream, write_bytes
from cranfield.errors import DataError

TEXT = b"301 Q0 doc-1 1 0.5 tag\n" * 2000
KINDS = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "zst": "zstd"}


def pack(data: bytes, path: str) -> bytes:
    """Compressed as a file of this name is."""
    return b"".join(packed([data], path))


def fault(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        load(path)
    assert caught.value.path == str(path)
    return caught.value.what


class Standard:
    """Replaces sys.stdin or sys.stdout; the bytes are in `buffer`."""

    def __init__(self, data: bytes = b"") -> None:
        self.buffer = io.BytesIO(data)

    def flush(self) -> None:
        """Nothing is kept back."""


# ------------------------------------------------------------------------------------------ load


def test_plain_file_is_mapped_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(TEXT)
    assert not isinstance(load(path), bytes)
    assert bytes(load(path)) == read_bytes(path) == read_bytes(str(path)) == TEXT


def test_an_empty_file_has_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert load(tmp_path / "empty") == b""


def test_file_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert fault(tmp_path / "a" / "b") == "cannot be read: Not a directory"


@pytest.mark.parametrize(("ending", "kind"), KINDS.items())
def test_a_cut_anywhere_after_the_magic_bytes_is_noticed(ending: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "cut"
    packed_text = pack(TEXT, f"x.{ending}")
    for length in range(10, len(packed_text)):
        path.write_bytes(packed_text[:length])
        assert fault(path) == f"the {kind} data ends too early: the file is truncated"


@pytest.mark.parametrize(("ending", "kind"), KINDS.items())
def test_one_wrong_byte_in_the_data_is_noticed(ending: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "broken"
    damaged = bytearray(pack(TEXT, f"x.{ending}"))
    damaged[len(damaged) // 2] ^= 0xFF
    path.write_bytes(damaged)
    assert fault(path).startswith(f"the {kind} data is damaged: ")


def test_truncated_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Standard(pack(TEXT, "x.gz")[:50]))
    with pytest.raises(DataError) as caught:
        load("-")
    assert str(caught.value) == "standard input: the gzip data ends too early: the file is truncated"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("packed", [TEXT, pack(TEXT, "x.xz"), b""], ids=["plain", "xz", "empty"])
def test_named_pipe_is_read_to_the_end(packed: bytes, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(packed,))
    writer.start()
    assert load(pipe) == (TEXT if packed else b"")
    writer.join()


def test_open_files_of_bytes_and_of_text() -> None:
    assert read_stream(io.BytesIO(pack(TEXT, "x.zst"))) == TEXT
    assert read_stream(io.StringIO("doc-é\udcff")) == "doc-é".encode() + b"\xff"


# ------------------------------------------------------------------------------------------ write_bytes


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_written_files_read_back_and_leave_no_temporary_files(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.run{ending}"
    for data in (b"old", TEXT):
        write_bytes(path, data)
    assert read_bytes(path) == TEXT
    assert (path.stat().st_size < len(TEXT)) == bool(ending)
    assert list(tmp_path.iterdir()) == [path]


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    folder, link, dangling = tmp_path / "data", tmp_path / "link", tmp_path / "dangling"
    folder.mkdir()
    (folder / "a.run").write_bytes(b"old")
    link.symlink_to(folder / "a.run")
    dangling.symlink_to(Path("data") / "b.run")
    write_bytes(link, b"new")
    write_bytes(dangling, b"made")
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a.run": b"new", "b.run": b"made"}


def test_a_link_is_compressed_by_its_own_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.gz").symlink_to(tmp_path / "a.run")
    write_bytes(tmp_path / "a.gz", TEXT)
    assert (tmp_path / "a.run").read_bytes() == pack(TEXT, "a.gz")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_an_old_file_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.touch()
    old.chmod(0o604)
    before = os.umask(0o027)
    try:
        write_bytes(old, TEXT)
        write_bytes(new, TEXT)
    finally:
        os.umask(before)
    assert stat.S_IMODE(old.stat().st_mode) == 0o604
    assert stat.S_IMODE(new.stat().st_mode) == 0o640  # 0o666 without 0o027


def test_many_writers_of_one_file_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    contents = [bytes([letter]) * 100_000 for letter in b"abcdefgh"]
    failed: list[Exception] = []

    def write(data: bytes) -> None:
        try:
            write_bytes(path, data)
        except Exception as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(data,)) for data in contents]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failed == []
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(DataError, match=r"a\.run: cannot be written: No space left on device"):
        write_bytes(path, TEXT)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_dash_is_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Standard()
    monkeypatch.setattr(sys, "stdout", out)
    write_bytes("-", TEXT)
    assert out.buffer.getvalue() == TEXT


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_into_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, TEXT)
    reader.join()
    assert got == [TEXT]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


# ------------------------------------------------------------------------------------------ expand


def test_globs_are_expanded_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.run", "a.run", "c.txt", "deep/d.run"):
        (tmp_path / name).touch()
    patterns = [f"{tmp_path}/c.txt", f"{tmp_path}/[ab].run", "-", f"{tmp_path}/**/d.run", "none.run"]
    names = [os.path.relpath(path, tmp_path) if os.path.isabs(path) else path for path in expand(patterns)]
    assert names == ["c.txt", "a.run", "b.run", "-", "deep/d.run", "none.run"]
