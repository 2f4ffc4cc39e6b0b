"""The entry point: verbs, overview, exit codes, and a pipe that is closed early."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cranfield as package
from cranfield.cli import FIRST, GROUPS, MOVED, STAND_INS, VERBS, every_verb, find, script
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def test_the_console_script_is_this_one() -> None:
    if not PYPROJECT.exists():
        pytest.skip("not run from the sources")
    assert 'cranfield = "cranfield.cli:script"' in PYPROJECT.read_text("utf-8")
    assert callable(script)


@pytest.mark.parametrize(("page", "verbs"), [("all", (*VERBS, *GROUPS)), ("stand-ins", STAND_INS)])
def test_overview_names_every_verb_with_an_example(cranfield: Cranfield, page: str, verbs: tuple[str, ...]) -> None:
    result = cranfield("help", page)
    assert result.code == 0
    for verb in verbs:
        assert re.search(rf"^ +{verb} ", result.out, re.MULTILINE)
        assert f"$ cranfield {verb}" in result.out


def test_version(cranfield: Cranfield) -> None:
    assert cranfield("--version") == (0, f"cranfield {package.__version__}\n", "")


@pytest.mark.parametrize(
    ("wrong", "right"), [("evl", "eval"), ("mesures", "measures"), ("evaluate", "eval"), ("lint", "validate")]
)
def test_a_misspelled_verb_gets_a_hint(cranfield: Cranfield, wrong: str, right: str) -> None:
    result = cranfield(wrong)
    assert result.code == 2
    assert result.out == ""
    assert f"no verb '{wrong}'; did you mean '{right}'?" in result.err


@pytest.mark.parametrize(("word", "now"), MOVED.items())
def test_a_word_that_was_a_verb_answers_with_the_new_one(cranfield: Cranfield, word: str, now: str) -> None:
    assert cranfield(word, "qrels.txt") == (2, "", f"error: 'cranfield {word}' is now 'cranfield {now}'\n")
    words = now.partition(" --")[0].split()
    assert cranfield(*words, "--help").code == 0


def test_the_first_page_of_help_fits_a_screen(cranfield: Cranfield) -> None:
    page = cranfield("help").out
    assert len(page.splitlines()) <= 24
    assert len(FIRST) <= 14
    assert all(len(line) <= 80 for line in page.splitlines())
    assert cranfield().out == page == cranfield("--help").out


def test_an_unknown_verb_lists_all_verbs(cranfield: Cranfield) -> None:
    assert "there are eval, " in cranfield("xyzzy").err
    assert cranfield("help", "xyzzy").code == 2


def test_examples_in_help_can_be_parsed(cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most the files of an example are missing."""
    import shlex

    monkeypatch.chdir(tmp_path)  # some examples write a file
    for verb in every_verb():
        for line in find(verb).examples.strip().splitlines():
            example = re.search(r"cranfield (.*?)(?: [|>].*|  #.*)?$", line)
            assert example, line
            if verb != "judge demo":
                result = cranfield(*shlex.split(example[1]))
                assert "--help" not in result.err, line
                assert "bug" not in result.err, line


def test_the_overview_imports_nothing_heavy() -> None:
    program = (
        "import sys; from cranfield.cli import main; main(['help']); main(['meta', 'help']); "
        "sys.exit(str({'numpy', 'rich', 'argparse'} & set(sys.modules) or 0))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stderr == "0\n"


def test_wrong_usage_exits_with_2_and_wrong_data_with_1(program: Cranfield, tiny: Path) -> None:
    assert program("eval", "qrels.txt", "mine.run", "-m", "AP").code == 0
    unknown = program("eval", "qrels.txt", "mine.run", "--no-such-option")
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err.startswith("error: no option '--no-such-option'")
    assert "cranfield eval --help" in unknown.err
    absent = program("eval", "qrels.txt", "absent.run")
    assert absent == (1, "", "error: absent.run: no such file\n")


@pytest.mark.parametrize("words", [("eval", "-m"), ("eval", "--depth", "x"), ("explain", "q"), ("explain", "--sample")])
def test_wrong_command_lines_are_errors(cranfield: Cranfield, words: tuple[str, ...]) -> None:
    result = cranfield(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1


def test_a_pipe_closed_early_is_not_an_error(collection: Sample) -> None:
    """As `| head -1`, with more to print than a pipe holds."""
    words = [sys.executable, "-m", "cranfield", "eval", collection.qrels, *collection.runs * 30, "-q", "--quiet"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_an_error(collection: Sample) -> None:
    words = [sys.executable, "-m", "cranfield", "eval", "--sample", "--quiet"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert done.stderr == b"error: standard output: No space left on device\n"


def test_what_modules_do_at_the_exit_is_done(tmp_path: Path) -> None:
    """The process ends without taking the interpreter apart, but not without this."""
    (tmp_path / "mine.py").write_text(
        "import atexit, cranfield as cf\n"
        "atexit.register(lambda: open('left', 'w').write('yes'))\n"
        "@cf.measure\n"
        "def Retrieved(lists):\n"
        "    return lists.retrieved * 1.0\n"
    )
    words = [sys.executable, "-m", "cranfield", "eval", "--sample", "-m", "mine:Retrieved", "--quiet"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("run ")
    assert (tmp_path / "left").read_text() == "yes"


def test_an_interrupt_exits_with_130(tmp_path: Path) -> None:
    """While it waits for a run on standard input."""
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    words = [sys.executable, "-m", "cranfield", "eval", str(tmp_path / "qrels"), "-"]

    def listen() -> None:
        """A shell starts jobs in the background with interrupts ignored, and their children inherit this."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listen) as process:
        assert process.stderr is not None
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not _waits_for_input(process.pid):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read() == b"interrupted\n"


def _waits_for_input(pid: int) -> bool:
    """The qrels are read and the program sleeps in a read of its standard input."""
    try:
        return Path(f"/proc/{pid}/wchan").read_text() in ("pipe_read", "anon_pipe_read") or _state(pid) == "S"
    except OSError:
        time.sleep(3)
        return True


def _state(pid: int) -> str:
    time.sleep(0.5)
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_bug_is_reported_in_one_line(cranfield: Cranfield, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(args: list[str]) -> int:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr("cranfield.cli.run", broken)
    monkeypatch.delenv("CRANFIELD_TRACEBACK", raising=False)
    result = cranfield("eval")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("error: ZeroDivisionError: division by zero (test_entry.py:")
    assert result.err.count("\n") == 1
    monkeypatch.setenv("CRANFIELD_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        cranfield("eval")


def test_eval_imports_nothing_heavy(collection: Sample) -> None:
    """Packages that would delay the start: rich, scipy, frames."""
    program = (
        "import sys; from cranfield.cli import main; code = main(sys.argv[1:]); "
        "heavy = {'rich', 'scipy', 'pandas', 'polars', 'pyarrow'} & set(sys.modules); "
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    words = [sys.executable, "-c", program, "eval", collection.qrels, *collection.runs, "-m", "nDCG@10", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_demo_scores_the_sample_and_its_next_steps_work(cranfield: Cranfield, collection: Sample) -> None:
    import shlex

    result = cranfield("eval", "--sample")
    assert result.code == 0
    assert re.search(r"^fusion +24 ", result.out, re.MULTILINE)
    steps = re.findall(r"^  cranfield (.*)$", result.out, re.MULTILINE)
    assert len(steps) == 5
    for step in steps:
        followed = cranfield(*shlex.split(step))
        assert followed.code == 0, (step, followed.err)


def test_trec_eval_gets_its_arguments_unchanged(cranfield: Cranfield, collection: Sample) -> None:
    from cranfield.compat import trec_eval

    bm25 = next(run for run in collection.runs if "bm25" in run)
    words = ["-q", "-c", "-m", "map", "-m", "P.5,10", "-h"]
    assert cranfield("trec_eval", "-q", "-c", "-m", "map", collection.qrels, bm25).out.startswith("map    ")
    with pytest.MonkeyPatch.context() as patch:
        seen: list[list[str]] = []

        def remember(argv: list[str]) -> int:
            seen.append(list(argv))
            return 7

        patch.setattr(trec_eval, "main", remember)
        assert cranfield("trec_eval", *words).code == 7
        assert seen == [words]


def test_a_file_in_the_place_of_a_verb_of_a_group_is_named(cranfield: Cranfield, tmp_path: Path) -> None:
    table = tmp_path / "users.csv"
    table.write_text("arm,revenue\n")
    result = cranfield("ab", str(table))
    assert result.code == 2
    assert f"'{table}' is a file, expected a verb of cranfield ab before it: assign, analyse, power, aa" in result.err
