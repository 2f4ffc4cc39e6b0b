"""Threads that evaluate while Python ends."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files for which reading takes long enough that a thread is likely to work without the GIL at any moment."""
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("".join(f"q{t} 0 d{d} {d % 3}\n" for t in range(50) for d in range(200)))
    Path("run").write_text("".join(f"q{t} Q0 d{d} {d + 1} {1 / (1 + d)} r\n" for t in range(50) for d in range(1000)))


def outcome(code: str) -> tuple[int, str, str]:
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


WORK = """
        import os, sys, threading
        import cranfield as cf

        def work():
            while True:
                cf.evaluate("qrels", {"mine": "run"}, ["AP"])
                started.set()

        started = threading.Event()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        started.wait()
"""


def test_daemon_threads_that_evaluate_do_not_disturb_the_end() -> None:
    """Python stops such threads; in the middle of an evaluation that would abort the process (exit code -6)."""
    assert [outcome(f"{WORK}        sys.exit(3)") for _ in range(20)] == [(3, "", "")] * 20


def test_evaluation_at_exit_works() -> None:
    code = """
        import atexit

        def late():
            print(round(cf.evaluate("qrels", {"mine": "run"}, ["P@3"]).mean()["mine"]["P@3"], 4))

        atexit.register(late)
        import cranfield as cf
        cf.evaluate({"q": {"d": 1}}, {"mine": {"q": {"d": 1.0}}}, ["AP"])
    """
    # documents d0, d1 and d2 have the grades 0, 1 and 2: two of three are relevant
    assert outcome(code) == (0, "0.6667\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_wait_for_threads_that_it_does_not_have() -> None:
    code = f"""{WORK}
        import signal
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                sys.exit(4)  # unlike os._exit, this runs what is registered for the exit
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status))
    """
    assert outcome(code) == (0, "4\n" * 5, "")


CORE = Path(__file__).parents[2] / "src" / "core"


@pytest.mark.skipif(not CORE.is_dir(), reason="needs the sources of the core")
def test_the_core_releases_the_gil_only_in_the_way_that_exit_waits_for() -> None:
    files = [path.name for path in CORE.rglob("*.[ch]pp") if "gil_scoped_release" in path.read_text()]
    assert files == ["unlock.hpp"]
