"""Ctrl-C: the exit code 130 from the first moment to the last, no traceback, and no result that passes for complete."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cranfield.cli.guard import guarded
from cranfield.cli.printing import TABLE_FORMATS, Quiet
from tests.cli.conftest import Cranfield

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


# -- while the program starts and works

PROGRAM = """
    import sys
    sys.argv = ["cranfield", "compare", "--sample", "-m", "AP", "--test", "randomised-tukey", "--resamples", "9999999"]
    import cranfield
    print(flush=True)
    from cranfield.cli import script
    script()
"""


SCRIPT = "import sys; sys.argv[0] = 'cranfield'; from cranfield.cli import script; script()"
"""What the installed program does."""


@pytest.mark.parametrize("milliseconds", [0, 3, 8, 15, 30, 60, 150, 400])
def test_ctrl_c_at_any_moment_ends_the_program_with_130_and_no_traceback(milliseconds: int) -> None:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert errors.endswith("interrupted\n")
    assert "Traceback" not in errors


@pytest.mark.parametrize("module", ["cranfield._fork", "cranfield.cli", "cranfield.errors", "numpy"])
@pytest.mark.parametrize("words", [["-m", "cranfield"], ["-c", SCRIPT]])
def test_ctrl_c_during_an_import_of_the_program(module: str, words: list[str], tmp_path: Path) -> None:
    """A module that every Python imports when it starts sends Ctrl-C when the other one is imported."""
    (tmp_path / "sitecustomize.py").write_text(
        textwrap.dedent(f"""
        import _signal, sys

        class Presses:
            def find_spec(self, name, path=None, target=None):
                if name == {module!r}:
                    sys.meta_path.remove(self)
                    _signal.raise_signal(_signal.SIGINT)

        sys.meta_path.insert(0, Presses())
        """)
    )
    done = subprocess.run(
        [sys.executable, *words, "eval", "--sample", "-m", "AP"], capture_output=True, text=True,
        env={"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_a_program_that_imports_the_package_keeps_its_own_rule_for_ctrl_c() -> None:
    code = "import signal, cranfield.cli; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n"


def lose_it() -> None:
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def turn_it_into_another_error() -> None:
    """As numpy does while it is imported."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("the C extensions of some library could not be imported") from None


@pytest.mark.parametrize("library", [lose_it, turn_it_into_another_error])
def test_ctrl_c_that_a_library_loses_is_still_ctrl_c(
    library: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> int:
        library()
        return 0

    before = signal.getsignal(signal.SIGINT)
    assert guarded(work) == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_that_python_ignores_in_a_callback_is_repeated() -> None:
    code = """
        import signal, sys, time
        from cranfield.cli.guard import guarded

        class Closing:
            def __del__(self):
                signal.raise_signal(signal.SIGINT)

        def work():
            thing = Closing()
            del thing
            time.sleep(20)
            return 0

        sys.exit(guarded(work))
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (130, "interrupted\n")


# -- results of the resamples so far


@pytest.fixture
def pressed_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Press Ctrl-C when so many resamples are done; from then on progress is shown as usual."""

    def install(number: int) -> None:
        waiting = [number]

        def progress(done: int, total: int) -> None:
            if waiting and done >= waiting[0] and total % 400 == 0:  # not while runs are scored
                waiting.clear()
                signal.raise_signal(signal.SIGINT)

        @contextmanager
        def shown(self: Quiet, task: str) -> Iterator[object]:
            yield progress

        monkeypatch.setattr(Quiet, "progress", shown)

    return install


LABELS = "topic,doc,worker,label\n" + "".join(
    f"{topic},{doc},{worker},{(doc + worker * topic) % 2}\n"
    for topic in (1, 2, 3) for doc in range(6) for worker in range(4)
)  # fmt: skip
RESAMPLING = {
    "compare": ["compare", "--sample", "-m", "AP", "--test", "randomised-tukey", "--resamples", "60000"],
    "compare max-t": ["compare", "--sample", "-m", "AP", "--test", "max-t", "--resamples", "60000"],
    "compare bootstrap": ["compare", "--sample", "-m", "AP", "--test", "bootstrap", "--resamples", "60000"],
    "labels agree": ["labels", "agree", "labels.csv", "--resamples", "60000"],
    "labels effect": ["labels", "effect", "labels.csv", "a.run", "b.run", "-m", "AP", "--resamples", "400"],
}


@pytest.mark.parametrize(
    ("verb", "format"),
    [("compare", format) for format in TABLE_FORMATS]
    + [(verb, format) for verb in RESAMPLING if verb != "compare" for format in ("table", "json", "csv")],
)
def test_a_result_that_ctrl_c_ended_early_says_so_or_is_not_printed(
    cranfield: Cranfield, verb: str, format: str, pressed_after: Callable[[int], None], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text(LABELS)
    for name, sign in (("a", 1), ("b", -1)):
        lines = (f"{topic} Q0 {doc} 1 {sign * doc} {name}\n" for topic in (1, 2, 3) for doc in range(6))
        Path(f"{name}.run").write_text("".join(lines))
    pressed_after(100)
    output = f"result.{format}"
    words = [*RESAMPLING[verb], "--format", format, "--quiet", "--output", output]
    done = cranfield(*words)
    assert (done.code, done.out, done.err) == (130, "", "interrupted\n")
    assert not list(Path().glob(".*"))  # nothing is left of the writing
    if format in ("csv", "tsv") or verb == "labels agree":  # which keeps no resamples
        assert not Path(output).exists()
    else:
        text = Path(output).read_text()
        assert "interrupted after" in text
        assert format != "json" or any("interrupted after" in note for note in json.loads(text)["notes"])


def test_ctrl_c_is_of_one_command_only(cranfield: Cranfield, pressed_after: Callable[[int], None]) -> None:
    pressed_after(100)
    assert [cranfield(*RESAMPLING["compare"]).code for _ in range(2)] == [130, 0]


def test_no_figure_is_drawn_of_a_result_that_ctrl_c_ended_early(
    cranfield: Cranfield, pressed_after: Callable[[int], None], tmp_path: Path
) -> None:
    pressed_after(100)
    figure = tmp_path / "figure.csv"
    done = cranfield(*RESAMPLING["compare"], "--plot", str(figure))
    assert done.code == 130
    assert "interrupted after" in done.out
    assert not figure.exists()
