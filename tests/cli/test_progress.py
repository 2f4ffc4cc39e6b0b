"""What a terminal shows while a verb works."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from cranfield.cli import execute, find, progress
from cranfield.cli.declare import Verb, declared
from cranfield.cli.verbs.scoring.eval import EvalVerb
from tests.cli.every_verb import EVERY, words_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_by(verb: str, monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *more: str, longest: float) -> str:
    """What standard error shows until a verb is done, which waits until a line says that it works."""

    def slow(self: Verb) -> None:
        began = time.monotonic()
        while not stream.getvalue() and time.monotonic() - began < longest:
            time.sleep(0.001)

    kind = find(verb)
    monkeypatch.setattr(kind, "check", lambda self: None)
    monkeypatch.setattr(kind, "perform", slow)
    monkeypatch.setattr(progress, "SILENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.001)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    assert execute(kind, f"cranfield {verb}", [*words_of(verb)[len(verb.split()) :], *more]) == 0
    return stream.getvalue()


@pytest.mark.parametrize("verb", EVERY)
def test_every_verb_says_on_a_terminal_that_it_works(
    verb: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = shown_by(verb, monkeypatch, Terminal(), longest=30)
    assert re.fullmatch(r"(working: \d+ s\r)+ +\r", shown)  # blanks remove it
    if any(each.name == "quiet" for each in declared(find(verb))):
        assert shown_by(verb, monkeypatch, Terminal(), "--quiet", longest=0.01) == ""


def test_nothing_is_said_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_by("eval", monkeypatch, io.StringIO(), longest=0.05) == ""


def test_a_warning_a_bar_and_a_result_take_the_place_of_the_line() -> None:
    code = """
        import sys, time, warnings
        from cranfield.cli import main, progress
        from cranfield.cli.verbs.scoring.eval import EvalVerb
        from cranfield.errors import CranfieldWarning

        def run(self):
            time.sleep(0.4)
            warnings.warn("odd", CranfieldWarning)
            with self.progress("counting") as bar:
                for done in range(5):
                    time.sleep(0.1)
                    bar(done, 5)
            time.sleep(0.4)
            self.emit("result")
            time.sleep(0.4)

        EvalVerb.run = run
        progress.SILENCE, progress.PAUSE, progress.PATIENCE = 0.2, 0.05, 0.1
        sys.exit(main(["eval", "--sample"]))
    """
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", textwrap.dedent(code)]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # Linux reports the other side's end as an error
        pass
    os.close(ours)
    assert process.wait(60) == 0
    line, removed = r"(working: \d+ s\r)+", r" {17}\r"
    text = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", shown.decode()).replace("\r\n", "\n")
    bar = r"[^w]*counting[^w]*"
    assert re.fullmatch(
        f"{line}{removed}warning: odd\n{line}{removed}{bar}{line}{removed}result\n{line}{removed}", text
    )


def test_a_bar_shows_on_a_terminal_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {}
    for name, stream, patience, quiet in (
        ("long", Terminal(), 0.0, False),
        ("short", Terminal(), 60.0, False),
        ("quiet", Terminal(), 0.0, True),
        ("file", io.StringIO(), 0.0, False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress, "PATIENCE", patience)
        with EvalVerb(quiet=quiet).progress("reading") as bar:
            for done in (1, 4):
                if bar is not None:
                    bar(done, 4)
        shown[name] = stream.getvalue()
    assert "reading" in shown["long"]
    assert shown["short"] == shown["quiet"] == shown["file"] == ""
