"""Reading and writing bytes: compression, standard input, damaged files, whole files or none."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.source import expand, load, read_bytes, stem, write_bytes
from cranfield.errors import DataError, UsageError

TEXT = b"".join(b"q%d 0 doc%d %d\n" % (i % 7, i, i % 3) for i in range(500))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_compression_is_detected_from_the_bytes(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "no-known-suffix"
    path.write_bytes(PACKERS[kind](TEXT))
    assert read_bytes(path) == TEXT
    assert Qrels.read(path) == Qrels.of(TEXT) == Qrels.of(path.read_bytes())


@pytest.mark.parametrize("kind", PACKERS)
def test_concatenated_compressed_parts_are_all_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "two-parts"
    path.write_bytes(PACKERS[kind](TEXT[:100]) + PACKERS[kind](TEXT[100:]))
    assert read_bytes(path) == TEXT


@pytest.mark.parametrize("kind", PACKERS)
def test_truncated_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "cut"
    packed = PACKERS[kind](TEXT)
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError) as caught:
        Qrels.read(path)
    assert str(caught.value) == f"{path}: the {kind} data ends too early: the file is truncated"


@pytest.mark.parametrize("kind", ["gzip", "xz", "zstd", "bzip2"])
def test_damaged_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bad"
    packed = bytearray(PACKERS[kind](TEXT))
    packed[len(packed) // 2 : len(packed) // 2 + 40] = b"\x55" * 40
    path.write_bytes(packed)
    with pytest.raises(DataError, match=f"^{path}: the {kind} data (is damaged|ends too early)"):
        Qrels.read(path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        buffer = io.BytesIO(gzip.compress(TEXT))

    monkeypatch.setattr(sys, "stdin", Fake)
    assert Qrels.read("-") == Qrels.of(TEXT)


def test_standard_input_of_a_process() -> None:
    program = "from cranfield.collection.run import Run; print(Run.read('-'))"
    run = subprocess.run([sys.executable, "-c", program], input=b"1 Q0 d 1 1 x\n", capture_output=True, check=True)
    assert run.stdout.decode().strip() == "<Run 'x': 1 topic, 1 document>"


def test_faults_of_standard_input_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        buffer = io.BytesIO(b"1 2\n")

    monkeypatch.setattr(sys, "stdin", Fake)
    with pytest.raises(DataError, match=r"^standard input:1: 2 columns"):
        Run.read("-")


def test_pipes_are_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf '1 0 d 1\\n' > {pipe}"]):
        assert Qrels.read(pipe).to_dict() == {"1": {"d": 1}}


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"^{tmp_path}/none: no such file$"):
        load(tmp_path / "none")
    with pytest.raises(DataError, match=f"^{tmp_path}: is a directory, expected a file$"):
        load(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(TEXT)
    path.chmod(0)
    with pytest.raises(DataError, match=r"cannot be read: permission denied$"):
        load(path)


def test_system_errors_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(DataError, match=r"^locked: cannot be read: permission denied$"):
        load("locked")


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "old.qrels"
    target.write_bytes(b"old")
    qrels = Qrels.of({"q": {"a doc": 1}})
    with pytest.raises(DataError):
        qrels.write(target)
    assert target.read_bytes() == b"old"
    with pytest.raises(DataError, match="cannot be written: No such file or directory"):
        qrels.write(tmp_path / "no" / "x.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="cannot be written"):
        write_bytes(tmp_path / "folder", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "old.qrels"]


def test_globs_are_expanded(tmp_path: Path) -> None:
    for name in ("b.run", "a.run", "[1].run"):
        (tmp_path / name).write_bytes(b"")
    assert [os.path.basename(path) for path in expand([tmp_path / "?.run"])] == ["a.run", "b.run"]
    assert expand([tmp_path / "[1].run"]) == [str(tmp_path / "[1].run")]  # an existing name is not a pattern
    with pytest.raises(UsageError, match=r"\*\.x: no file matches this pattern$"):
        expand([tmp_path / "*.x"])


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/bm25.run.gz", "bm25"), ("x.y.run", "x.y"), ("input.bm25", "input.bm25"), (".run", ".run"), ("z.zst", "z")],
)
def test_names_of_files(path: str, name: str) -> None:
    assert stem(path) == name
