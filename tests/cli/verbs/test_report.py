"""`cranfield report`: the page from runs and from scores, chosen sections, and clear errors."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
from pathlib import Path

import pytest

from cranfield.report.reports.run_report import SECTIONS
from cranfield.samples import Sample, sample
from tests.cli.conftest import Cranfield


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collection: Sample) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(collection.qrels, "qrels.txt")
    for run in collection.runs:
        shutil.copy(run, ".")


def sections(path: str) -> list[str]:
    return re.findall(r'<section class="part" id="(\w+)">', Path(path).read_text("utf-8"))


def test_all_sections_are_in_the_page(cranfield: Cranfield) -> None:
    Path("times.tsv").write_text("".join(f"{run}\t101\t0.5\n" for run in ("bm25", "dense", "fusion")))
    done = cranfield(
        "report",
        "qrels.txt",
        "bm25.run",
        "dense.run",
        "fusion.run",
        "--times",
        "times.tsv",
        "--pool-depth",
        "5",
        "-o",
        "r.html",
    )
    assert done.code == 0, done.err
    assert sections("r.html") == [name for name in SECTIONS if name not in ("answers", "log", "ab")]
    page = Path("r.html").read_text("utf-8")
    assert done.err.count("missing from runs") == 1  # the warning is printed once, and is in the page
    assert "topics missing from runs, scored as empty lists: dense (1 topic: 114)" in page
    assert "Not computed" not in page
    assert page.count("<svg role=") >= 5


def test_the_page_does_not_show_the_folders_of_the_machine(cranfield: Cranfield, tmp_path: Path) -> None:
    folder = tmp_path / "home of somebody"
    folder.mkdir()
    for name in ("qrels.txt", "bm25.run", "dense.run"):
        shutil.copy(Path(sample().qrels).parent / name, folder / name)
    with (folder / "bm25.run").open("a") as file:
        file.write("999 Q0 d 1 1 bm25\n")  # a topic without judgments, for a warning
    scores = str(folder / "scores.json")
    words = (str(folder / "qrels.txt"), f"one={folder / 'bm25.run'}", str(folder / "dense.run"))
    cranfield("gate", *words[:2], "--at-least", "AP=0", "--save", scores)
    for inputs in (words, ("--scores", scores)):
        assert cranfield("report", *inputs, "-o", "page.html", "--sections", "evaluated").code == 0
        page = Path("page.html").read_text("utf-8")
        assert str(tmp_path) not in page
    assert cranfield("report", *words, "-o", "page.html", "--sections", "evaluated").code == 0
    digest = hashlib.sha256((folder / "bm25.run").read_bytes()).hexdigest()
    assert digest in Path("page.html").read_text("utf-8")  # also of a run that was given a name


def test_chosen_sections_only_in_their_order(cranfield: Cranfield) -> None:
    done = cranfield("report", "qrels.txt", "bm25.run", "dense.run", "--sections", "pairs,summary", "-o", "r.html")
    assert done.code == 0
    assert sections("r.html") == ["pairs", "summary"]


def test_scores_and_an_outline(cranfield: Cranfield) -> None:
    Path("scores.csv").write_text("topic,x,y\n1,0.2,0.4\n2,0.3,0.6\n3,0.1,0.7\n")
    Path("report.toml").write_text('title = "Mine"\nsections = ["leaderboard", "evaluated"]\n')
    done = cranfield("report", "-s", "scores.csv", "-m", "AP", "--outline", "report.toml", "-o", "r.html")
    assert done.code == 0, done.err
    assert sections("r.html") == ["leaderboard", "evaluated"]
    page = Path("r.html").read_text("utf-8")
    assert "<h1>Mine</h1>" in page
    # printf 'topic,x,y\n1,0.2,0.4\n2,0.3,0.6\n3,0.1,0.7\n' | sha256sum
    assert "639c00d2d8d2b69c20a3803dada4d82d261892a536ea6bd2507228d84886f22c" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["qrels.txt", "-o", "r.html"], "no run to score against qrels.txt"),
        (["qrels.txt", "bm25.run", "--sections", "leaderbord", "-o", "r.html"], "did you mean 'leaderboard'?"),
        (
            ["qrels.txt", "bm25.run", "--sections", ",", "-o", "r.html"],
            "no section given; there are summary, leaderboard",
        ),
        (["qrels.txt", "bm25.run", "-o", "none/r.html"], "--output none/r.html: the folder none does not exist"),
        (["qrels.txt", "bm25.run", "-o", "."], "--output . is a folder"),
        (["qrels.txt", "bm25.run", "--level", "2", "-o", "r.html"], "--level == 2.0, must be above 0 and below 1"),
        (["qrels.txt", "bm25.run", "--pool-depth", "0", "-o", "r.html"], "--pool-depth == 0"),
        (["qrels.txt", "bm25.run"], "--output is missing; name the file to write, such as -o report.html"),
        (["qrels.txt", "bm25.run", "--ab", "users.csv", "-o", "r.html"], "no metric; name one with --metric"),
        (["qrels.txt", "bm25.run", "--metric", "revenue", "-o", "r.html"], "add --ab TABLE"),
    ],
)
def test_mistakes_are_named(cranfield: Cranfield, words: list[str], message: str) -> None:
    done = cranfield("report", *words)
    assert done.code == 2
    assert message in done.err
    assert not Path("r.html").exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--teams", "none.txt: no such file"),
        ("--topics", "none.txt: no such file"),
        ("--times", "none.txt: no such file"),
        ("--docs", "none.txt: no such file"),
        ("--answers", "none.txt: no such file"),
    ],
)
def test_a_file_that_is_missing_is_an_error_and_not_a_note(cranfield: Cranfield, option: str, message: str) -> None:
    done = cranfield("report", "qrels.txt", "bm25.run", "dense.run", option, "none.txt", "-o", "r.html")
    assert done.code == 1
    assert message in done.err
    assert not Path("r.html").exists()


def test_the_methods_alone(cranfield: Cranfield) -> None:
    done = cranfield("report", "qrels.txt", "bm25.run", "dense.run", "-m", "AP", "--methods-text")
    assert done.code == 0, done.err
    assert done.out.startswith("We evaluated 2 runs on 24 topics by AP")
    assert "@incollection{buckley2005," in done.out
    assert (
        cranfield("report", "qrels.txt", "bm25.run", "dense.run", "-m", "AP", "--methods-text", "-o", "m.tex").code == 0
    )
    both = f"{Path('m.tex').read_text()}\n{Path('m.bib').read_text()}"
    assert both == done.out


def test_answers_a_log_and_an_experiment_are_in_the_page(cranfield: Cranfield) -> None:
    Path("answers.csv").write_text("topic,x,y\n1,0.2,0.4\n2,0.3,0.6\n3,0.1,0.7\n")
    Path("users.csv").write_text("arm,revenue\n" + "".join(f"{arm},{n}\n" for arm in "AB" for n in range(9)))
    assert cranfield("log", "demo", "log", "--days", "2", "--users", "40").code == 0
    words = ["--answers", "answers.csv", "--log", "log", "--ab", "users.csv", "--metric", "revenue"]
    done = cranfield("report", "qrels.txt", "bm25.run", *words, "--sections", "answers,log,ab", "-o", "r.html")
    assert done.code == 0, done.err
    assert sections("r.html") == ["answers", "log", "ab"]
    assert "log/" not in Path("r.html").read_text("utf-8")  # names of files, not folders
    assert "Not computed" not in Path("r.html").read_text("utf-8")


def test_files_are_named_without_their_folders(cranfield: Cranfield) -> None:
    Path("runs").mkdir()
    shutil.move("bm25.run", "runs")
    words = ["qrels.txt", "./runs/bm25.run", "--sections", "evaluated"]
    assert cranfield("report", *words, "-o", "r.html").code == 0
    assert "runs/bm25.run" not in Path("r.html").read_text("utf-8")


def test_teams_of_other_runs_are_an_error(cranfield: Cranfield) -> None:
    Path("teams.csv").write_text("bm26,red\n")
    done = cranfield("report", "qrels.txt", "bm25.run", "dense.run", "--teams", "teams.csv", "-o", "r.html")
    assert done.code == 2
    assert "did you mean 'bm25'?" in done.err


def test_without_the_packages_for_figures_the_error_says_what_to_install(
    cranfield: Cranfield, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "vl_convert" else find_spec(name))
    done = cranfield("report", "qrels.txt", "bm25.run", "-o", "r.html")
    assert done.code == 2
    assert "pip install 'cranfield[plot]'" in done.err
    # Sections without figures need no further packages.
    done = cranfield("report", "qrels.txt", "bm25.run", "--sections", "summary,pairs,methods", "-o", "r.html")
    assert done.code == 0, done.err


def test_one_run_makes_a_report(cranfield: Cranfield) -> None:
    assert cranfield("report", "qrels.txt", "bm25.run", "-o", "r.html").code == 0
    assert "there is one run, so there are no pairs to compare" in Path("r.html").read_text("utf-8")
