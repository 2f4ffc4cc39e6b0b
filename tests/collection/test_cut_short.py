"""Files that another program cuts short while they are read.

A mapping of such a file raises SIGBUS beyond its new end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cranfield import DataError, Run, evaluate
from cranfield.assessed.lengths import LengthTable
from cranfield.collection import source
from cranfield.collection.records import Reading, from_content

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses to cut a mapped file short")

PAGE = 1 << 16
"""More than a page of memory on any machine."""
LINES = "".join(f"1 Q0 d{i} {i} {-i} tag\n" for i in range(20_000))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "a.run"
    path.write_text(LINES)
    return path


@pytest.mark.parametrize("left", [0, 7, 100, 3 * PAGE + 5, len(LINES) - 1])
def test_a_file_that_is_cut_short_after_it_was_loaded_is_an_error_with_its_name(run: Path, left: int) -> None:
    buffer = source.load(run)
    os.truncate(run, left)
    with pytest.raises(DataError, match=r"a\.run: was cut short by another program while it was read"):
        from_content(buffer, Reading("run"), "elsewhere")


def test_text_of_a_file_that_is_cut_short_is_an_error(run: Path) -> None:
    buffer = source.load(run)
    os.truncate(run, PAGE)
    with pytest.raises(DataError, match="was cut short"):
        source.text_of(buffer)


def test_a_file_that_is_replaced_or_grows_is_read_as_it_was(run: Path, tmp_path: Path) -> None:
    buffer = source.load(run)
    (tmp_path / "other").write_text("1 Q0 d1 1 1 tag\n")
    os.replace(tmp_path / "other", run)
    assert len(from_content(buffer, Reading("run"), "a.run")) == 20_000
    buffer = source.load(run)
    with run.open("a") as file:
        file.write(LINES)
    assert len(from_content(buffer, Reading("run"), "a.run")) == 1


def test_the_command_line_survives_a_run_that_is_cut_short(run: Path, tmp_path: Path) -> None:
    """The second run is a pipe: while the command waits for it, the first one is loaded, and is cut short."""
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    pipe = tmp_path / "b.run"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "cranfield", "eval", str(tmp_path / "qrels"), str(run), str(pipe), "-m", "AP"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        with pipe.open("w") as file:  # waits until the command has opened it
            os.truncate(run, 10)
            file.write("1 Q0 d1 1 1 other\n")
        _, errors = process.communicate()
    assert process.returncode == 1
    assert f"error: {run}: was cut short by another program while it was read" in errors


def test_other_bus_errors_still_end_the_process_with_a_traceback_of_faulthandler() -> None:
    """Also when faulthandler is enabled after a file was mapped, and our handler comes after it."""
    code = """
        import ctypes, faulthandler, mmap, os, tempfile
        from cranfield.collection import source
        path = tempfile.mkstemp()[1]
        os.truncate(path, 1 << 20)
        first = source.load(path)
        faulthandler.enable()
        second = source.load(path)
        with open(path, "rb") as file:
            theirs = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        os.truncate(path, 0)
        assert bytes(first[-3:]) == bytes(second[-3:]) == bytes(3)
        os.unlink(path)
        theirs[-1]
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert result.returncode < 0, result.stderr
    assert result.stderr.count("Fatal Python error: Bus error") == 1


def test_tied_documents_are_in_descending_order_of_their_ids() -> None:
    """By numpy: score descending, then id descending, as trec_eval does."""
    rng = np.random.default_rng(3)
    ids = [f"{'x' * rng.integers(0, 9)}{i}" for i in rng.permutation(5_000)]
    scores = rng.integers(0, 40, len(ids)) / 4
    text = "".join(f"1 Q0 {doc} 1 {score} tag\n" for doc, score in zip(ids, scores.tolist(), strict=True))
    expected = [ids[i] for i in sorted(range(len(ids)), key=lambda i: (scores[i], ids[i]), reverse=True)]
    assert [line.doc for line in Run.of(text.encode()).ranking("1", "score")] == expected
    ranks = {doc: rank for rank, doc in enumerate(expected, 1)}
    judged = ids[::500]
    score = evaluate({"1": dict.fromkeys(judged, 1)}, Run.of(text.encode()), ["AP"]).values.item()
    places = sorted(ranks[doc] for doc in judged)
    assert score == pytest.approx(np.mean([nth / rank for nth, rank in enumerate(places, 1)]))


def test_a_nul_byte_far_into_a_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "late.run"
    path.write_text(LINES + "1 Q0 late\0id 1 1 tag\n" + "2 Q0 d1 1 1 tag\n")
    for read in (lambda: Run.read(path), lambda: evaluate({"1": {"d1": 1}}, path, ["AP"])):
        with pytest.raises(DataError, match=r"late\.run:20001: a NUL byte: binary data, expected text"):
            read()


@pytest.mark.parametrize("read", [Run.read, LengthTable.of], ids=["csv", "side file"])
def test_a_nul_byte_far_into_a_table_is_refused_with_its_line(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    header = "query_id,doc_id,score\n" if read == Run.read else ""
    path.write_text(header + "".join(f"d{i},{i + 1},{i}\n" for i in range(9_000)) + "d\0x,1,1\n")
    with pytest.raises(DataError, match=rf"late\.csv:{9_002 if header else 9_001}: a NUL byte"):
        read(path)
