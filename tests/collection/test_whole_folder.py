"""Folders of a writer that was killed, ran out of disk or was interrupted: complete, or not there."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import cranfield
from cranfield.collection.whole_folder import INCOMPLETE, check_whole, whole_folder
from cranfield.errors import DataError
from cranfield.samples import sample
from tests.cli.conftest import in_process

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and locks of POSIX")


def content(folder: Path) -> dict[str, str]:
    """The files of a folder, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def write(folder: Path, text: str) -> None:
    with whole_folder(folder) as made:
        Path(made, "inner").mkdir()
        for name in ("a.txt", "inner/b.txt"):
            Path(made, name).write_text(text)
            assert not (folder / name).exists() or (folder / name).read_text() != text


def test_a_new_folder_appears_with_all_files(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "out", "new")
    assert content(tmp_path) == {"deep/out/a.txt": "new", "deep/out/inner/b.txt": "new"}


def test_files_are_replaced_in_a_folder_that_exists_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "out" / "inner").mkdir(parents=True)
    (tmp_path / "out" / "a.txt").write_text("old")
    (tmp_path / "out" / "inner" / "mine.txt").write_text("mine")
    write(tmp_path / "out", "new")
    assert content(tmp_path / "out") == {"a.txt": "new", "inner/b.txt": "new", "inner/mine.txt": "mine"}


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError()])
def test_a_writer_that_fails_leaves_everything_as_it_was(tmp_path: Path, exists: bool, error: BaseException) -> None:
    before = {}
    if exists:
        write(tmp_path / "out", "old")
        before = content(tmp_path)
    expected = DataError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        fail(tmp_path / "out", error)
    assert content(tmp_path) == before


def fail(folder: Path, error: BaseException) -> None:
    with whole_folder(folder) as made:
        Path(made, "a.txt").write_text("new")
        raise error


def test_an_error_names_the_file_as_it_would_be_called(tmp_path: Path) -> None:
    name = re.escape(f"{tmp_path / 'out' / 'a.run'}:3: too long")
    with pytest.raises(DataError, match=name), whole_folder(tmp_path / "out") as made:
        raise DataError(os.path.join(made, "a.run"), 3, "too long")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(DataError, match="out: is a file; give a new folder"), whole_folder(tmp_path / "out"):
        raise AssertionError
    assert content(tmp_path) == {"out": "mine"}


# -- killed

KILLED = """
    import os, signal, sys
    from cranfield.collection.whole_folder import whole_folder
    folder, when, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seen = []

    def audit(event, arguments):
        # os.rename is the event of os.replace too
        if event == ("os.rename" if when == "moving" else "never"):
            seen.append(event)
            if len(seen) == 2:
                os.kill(os.getpid(), number)

    sys.addaudithook(audit)
    with whole_folder(folder) as made:
        for name in ("a.txt", "b.txt", "c.txt"):
            with open(os.path.join(made, name), "w") as file:
                file.write("new")
        if when == "writing":
            os.kill(os.getpid(), number)
"""


def kill(folder: Path, when: str, number: int) -> None:
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(folder), when, str(number)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == -number, result.stderr


@posix
def test_a_new_folder_is_not_there_after_a_kill_and_what_is_left_is_swept(tmp_path: Path) -> None:
    kill(tmp_path / "out", "writing", signal.SIGKILL)
    (left,) = tmp_path.iterdir()
    assert re.fullmatch(r"\.out\.[0-9a-f]{16}\.part", left.name)
    with pytest.raises(DataError, match="is incomplete: its writer was stopped"):
        check_whole(str(left))
    write(tmp_path / "out", "newer")
    assert content(tmp_path) == {"out/a.txt": "newer", "out/inner/b.txt": "newer"}


@posix
def test_a_folder_that_exists_is_marked_if_a_kill_comes_while_files_are_moved_and_the_next_writer_finishes(
    tmp_path: Path,
) -> None:
    write(tmp_path / "out", "old")
    kill(tmp_path / "out", "moving", signal.SIGKILL)
    with pytest.raises(DataError, match="out: is incomplete: its writer was stopped, or is at work"):
        check_whole(str(tmp_path / "out"))
    with whole_folder(tmp_path / "out") as made:
        Path(made, "d.txt").write_text("newer")
    check_whole(str(tmp_path / "out"))
    assert content(tmp_path / "out") == {
        "a.txt": "new", "b.txt": "new", "c.txt": "new", "d.txt": "newer", "inner/b.txt": "old"
    }  # fmt: skip


@posix
def test_a_signal_to_end_leaves_nothing(tmp_path: Path) -> None:
    kill(tmp_path / "out", "writing", signal.SIGTERM)
    assert not list(tmp_path.iterdir())


@posix
def test_another_writer_at_work_is_left_alone(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "out") as first:
        Path(first, "a.txt").write_text("first")
        write(tmp_path / "out2", "second")
        with whole_folder(tmp_path / "out") as second:
            assert Path(first).exists()
            Path(second, "b.txt").write_text("second")
        os.rename(tmp_path / "out", tmp_path / "taken")
    assert content(tmp_path / "out") == {"a.txt": "first"}


def test_what_spark_has_not_finished_is_incomplete(tmp_path: Path) -> None:
    (tmp_path / "_temporary").mkdir()
    with pytest.raises(DataError, match="is incomplete: Spark was stopped"):
        check_whole(str(tmp_path))
    (tmp_path / "_SUCCESS").write_text("")
    check_whole(str(tmp_path))


# -- all verbs that write a folder

FILES = sample()
COLLECTION = [FILES.qrels, *FILES.runs]
WRITERS = {
    "collection split": ["collection", "split", *COLLECTION, "--folder", "out"],
    "collection shard": ["collection", "shard", *COLLECTION, "--shards", "2", "--folder", "out"],
    "meta loo": ["meta", "loo", *COLLECTION, "-m", "P@5", "--write", "out"],
    "log demo": ["log", "demo", "out", "--users", "5", "--days", "1"],
    "log demo parquet": ["log", "demo", "out", "--users", "5", "--days", "1", "--layout", "tables"],
    "clicks simulate": ["clicks", "simulate", "model.json", *FILES.runs[:1], "-o", "out", "--simulated-sessions", "5"],
    "campaign init": ["campaign", "init", "out", "--topics", FILES.topics],
    "campaign export": ["campaign", "export", "campaign", "out"],
}
OTHERS = {
    "collection/whole_folder.py": "this is what makes them",
    "building/topic_sets/topic_split.py": "within one of them",
    "collection/shards.py": "within one of them",
    "building/campaign/campaign_export.py": "within one of them",
    "building/campaign/running.py": "the empty folder in which a command runs, removed afterwards",
    "building/campaign/campaign_store.py": "the runs of a campaign: a folder to which files are added",
    "online/logs/log_tables.py": "a temporary folder",
    "meta/study/inputs.py": "results of steps, each complete: a study that was stopped goes on",
    "cli/verbs/scoring/topics.py": "pages, each complete, beside those that are there",
    "assessed/kept_parts.py": "a cache, whose files are complete",
}
"""Modules that make folders, and why they may."""


def test_every_module_that_makes_a_folder_makes_it_whole() -> None:
    root = Path(cranfield.__file__).parent
    makers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"\b(?:os\.mkdir|os\.makedirs|\w\.mkdir)\(", path.read_text())
    }
    assert makers == set(OTHERS)


@pytest.mark.parametrize("verb", WRITERS)
def test_a_full_disk_leaves_no_half_a_folder(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if verb == "campaign export":
        assert in_process("campaign", "init", "campaign", "--topics", FILES.topics).code == 0
    if verb == "clicks simulate":
        Path("log.csv").write_text("session,query,position,doc,clicked\n1,101,1,d1,1\n1,101,2,d2,0\n2,101,1,d1,0\n")
        assert in_process("clicks", "fit", "log.csv", "--model", "PBM", "--save", "model.json", "--quiet").code == 0
    there = set(tmp_path.iterdir())

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        failed = in_process(*WRITERS[verb])
    assert failed.code == 1
    assert re.search(r"error: out\S*: cannot be written: No space left on device", failed.err), failed.err
    assert set(tmp_path.iterdir()) == there
    assert in_process(*WRITERS[verb]).code == 0
    assert not list(Path("out").rglob(INCOMPLETE))


@pytest.mark.parametrize("verb", ["check", "sessions", "measures", "documents", "preferences"])
def test_a_log_whose_writer_was_stopped_is_refused(verb: str, tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text("query_id,user,time\nq,u,2026-01-01 00:00:00\n")
    (tmp_path / INCOMPLETE).write_text("")
    refused = in_process("log", verb, str(tmp_path))
    assert (refused.code, refused.out) == (1, "")
    assert f"error: {tmp_path}: is incomplete" in refused.err
