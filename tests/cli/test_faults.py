"""Faults around the program: no memory, signals, few open files, forks; and text that spreadsheets run."""

from __future__ import annotations

import builtins
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.cli.guard import NO_MEMORY, guarded
from cranfield.cli.options.by_class import joined
from cranfield.table import Column, Table
from tests.cli.conftest import Cranfield

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks of POSIX")


# -- the handlers of errors


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError(), 1, f"error: {NO_MEMORY}\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (RecursionError(), 1, "error: the data is nested too deep\n"),
        (cf.DataError("a.run", 3, "too long"), 1, "error: a.run:3: too long\n"),
    ],
)
def test_an_error_is_printed_without_any_import(
    error: BaseException, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*names: Any, **more: Any) -> Any:
        raise MemoryError

    def work() -> int:
        monkeypatch.setattr(builtins, "__import__", refuse)
        raise error

    try:
        assert guarded(work) == code
    finally:
        monkeypatch.undo()
    assert capsys.readouterr().err == message


def test_a_failure_of_another_package_is_not_called_a_bug(capsys: pytest.CaptureFixture[str]) -> None:
    import duckdb

    def work() -> int:
        raise duckdb.Error("the disk is full")

    assert guarded(work) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: duckdb: Error: the disk is full")
    assert "bug" not in said


def test_an_import_that_fails_for_lack_of_memory_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> int:
        try:
            raise MemoryError
        except MemoryError as error:
            raise ImportError("the C extensions of some library could not be imported") from error

    assert guarded(work) == 1
    assert capsys.readouterr().err == f"error: {NO_MEMORY}\n"


# -- writing files

WRITES = """
    import os, signal, sys, threading
    from cranfield.collection import source
    actual = os.fsync

    def fsync(descriptor):
        os.kill(os.getpid(), {signal})
        actual(descriptor)

    os.fsync = fsync
    source.write_bytes(sys.argv[1], b"new")
"""


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_during_writing_leaves_the_old_file_and_no_other(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    code = textwrap.dedent(WRITES).replace("{signal}", f"signal.{name}")
    result = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert result.returncode == -getattr(signal, name)
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]
    assert path.read_text() == "old"


def test_data_is_on_the_disk_before_the_file_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    synchronise, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("fsync"), synchronise(file)))
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("rename"), rename(*paths)))
    cf.Run.of({"1": {"d": 1.0}}).write(tmp_path / "a.run")
    assert done == ["fsync", "rename"]


@posix
def test_many_runs_are_joined_with_few_open_files(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    for number in range(200):
        (tmp_path / f"{number}.run").write_text(f"1 Q0 d1 1 1 tag{number}\n")
    code = """
        import resource, sys
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        from cranfield.cli import main
        sys.exit(main(["eval", *sys.argv[1:], "-m", "AP", "--format", "csv", "--quiet"]))
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "qrels"), str(tmp_path / "*.run")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == 201


# -- forks


@posix
def test_a_child_that_is_forked_while_a_thread_computes_a_cached_value_does_not_hang() -> None:
    """Python 3.11 locks a cached property of all objects while its value is computed for one of them."""
    code = """
        import os, signal, threading
        import numpy as np
        from cranfield.assessed.lists import Assessed

        class Slow:
            @property
            def highest(self):
                inside.set()
                release.wait()
                return 1.0

        inside, release = threading.Event(), threading.Event()
        lists = Assessed.one([1, 0])
        slow = lists.replace(judged=Slow())
        thread = threading.Thread(target=lambda: slow.max_grade)
        thread.start()
        assert inside.wait(20)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if lists.max_grade == 1.0 else 1)
        _, status = os.waitpid(child, 0)
        release.set()
        thread.join()
        print(status)
    """
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert (result.stdout, result.stderr) == ("0\n", "")


@posix
def test_a_child_that_is_forked_while_a_thread_imports_does_not_hang() -> None:
    """A module has a lock while it is imported; modules are imported on first use."""
    code = """
        import os, signal, sys, threading
        import cranfield as cf

        thread = threading.Thread(target=lambda: cf.evaluate)
        thread.start()
        while "cranfield.evaluation.evaluator" not in sys.modules:
            pass
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            cf.evaluate
            os._exit(0)
        _, status = os.waitpid(child, 0)
        thread.join()
        print(status)
    """
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert (result.stdout, result.stderr) == ("0\n", "")


# -- CSV

HOSTILE = ("=1+1", "+1", "-2", "@SUM(A1)", " =1", "bm25")


def test_control_characters_are_escaped_in_csv_and_numbers_stay_numbers() -> None:
    table = Table((Column("run"), Column("AP", "number")), (("a\x1b[2J\x07", -0.5),))
    assert table.csv() == "run,AP\na\\x1b[2J\\x07,-0.5"
    assert table.tsv() == "run\tAP\na\\x1b[2J\\x07\t-0.5"


def test_text_that_a_spreadsheet_would_run_gets_a_guard_on_request() -> None:
    rows = tuple((name, -0.5) for name in HOSTILE)
    plain, safe = (
        Table((Column("run"), Column("AP", "number")), rows, guard_formulas=guard).csv().splitlines()[1:]
        for guard in (False, True)
    )
    assert plain == [f"{name},-0.5" for name in HOSTILE]
    assert safe == [f"'{name},-0.5" for name in HOSTILE[:-1]] + ["bm25,-0.5"]


def test_names_of_classes_are_guarded_too() -> None:
    parts = [("=1+1", 2, "run,AP\nbm25,0.5")]
    assert joined(parts, "csv", guard_formulas=True) == "class,run,AP\n'=1+1,bm25,0.5"
    assert joined(parts, "csv") == "class,run,AP\n=1+1,bm25,0.5"


@pytest.mark.parametrize("per_topic", [[], ["-q"]])
def test_eval_guards_names_of_runs_and_topics_on_request(
    cranfield: Cranfield, per_topic: list[str], tmp_path: Path
) -> None:
    (tmp_path / "qrels").write_text("=7 0 d1 1\n")
    (tmp_path / "a.run").write_text("=7 Q0 d1 1 1 @a\x1b\n")
    words = ["eval", str(tmp_path / "qrels"), str(tmp_path / "a.run"), "-m", "AP", "--format", "csv", *per_topic]
    row, safe_row = (cranfield(*words, *guard).out.splitlines()[1] for guard in ([], ["--guard-formulas"]))
    assert "@a\\x1b" in row
    assert "'@a\\x1b" in safe_row
    assert "'@" not in row
    assert "'=7" in safe_row if per_topic else "=7" not in safe_row


# -- a limit of the address space

LIMITED = """
    import resource, sys
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) << 10,) * 2)
    from cranfield.cli import main
    sys.exit(main(sys.argv[2:]))
"""


def limited(*words: str, kilobytes: int = 6_000_000) -> subprocess.CompletedProcess[str]:
    """Run a command as after `ulimit -v KILOBYTES`."""
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), str(kilobytes), *words]
    return subprocess.run(command, capture_output=True, text=True)


@posix
@pytest.mark.parametrize(
    "words",
    [
        ["report", "--sample", "-o", "report.html"],
        ["plot", "boxes", "--sample", "-m", "AP", "-o", "boxes.svg"],
        ["compare", "--sample", "-m", "AP", "--plot", "pairs.html"],
    ],
)
def test_figures_under_a_limit_of_addresses_are_a_clear_error(words: list[str], tmp_path: Path) -> None:
    result = limited(*words[:-1], str(tmp_path / words[-1]))
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = (line for line in result.stderr.splitlines() if not line.startswith("warning: "))
    assert line.startswith("error: figures cannot be drawn, because the address space is limited to 6.1 GB (ulimit -v)")
    assert words[0] != "report" or line.endswith("on the command line: --sections NAMES")
    assert not list(tmp_path.iterdir())


@posix
@pytest.mark.parametrize(
    "words",
    [
        ["report", "--sample", "--sections", "summary,pairs,methods", "-o", "report.html"],
        ["plot", "boxes", "--sample", "-m", "AP", "-o", "boxes.json"],
    ],
)
def test_what_needs_no_drawing_works_under_a_limit_of_addresses(words: list[str], tmp_path: Path) -> None:
    result = limited(*words[:-1], str(tmp_path / words[-1]))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / words[-1]).exists()


@posix
@pytest.mark.parametrize(
    ("kilobytes", "message"),
    [
        (
            300_000,
            "error: not enough memory: the address space is limited to 0.31 GB, and 0.5 GB ",
        ),
        (1_200_000, "error: not enough memory: DuckDB, which reads logs, needs 1.5 GB of addresses, and 0."),
        (3_000_000, ""),
    ],
)
def test_a_log_under_a_limit_of_addresses_is_read_or_a_clear_error(
    kilobytes: int, message: str, tmp_path: Path
) -> None:
    """DuckDB hangs at the second limit, and crashes at lower ones, if it is started there."""
    path = tmp_path / "log.csv"
    path.write_text(
        "user,reward,propensity,new\n" + "".join(f"u{n},{n % 2},0.5,{0.25 + n % 2 / 2}\n" for n in range(30))
    )
    done = limited("clicks", "offpolicy", str(path), "--policy", "new", "--least-ess", "0", kilobytes=kilobytes)
    assert done.returncode == (2 if message else 0), done.stderr
    if message:
        assert done.stderr.startswith(message)
        assert "raise the limit (ulimit -v)" in done.stderr


def test_a_package_that_does_not_fit_into_memory_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cranfield import frames

    def refuse(name: str) -> Any:
        raise ImportError("duckdb.so: failed to map segment from shared object")

    monkeypatch.setattr(frames.importlib, "import_module", refuse)

    def work() -> int:
        frames.need("duckdb", "a log")
        return 0

    assert guarded(work) == 1
    assert capsys.readouterr().err == f"error: {NO_MEMORY}\n"
