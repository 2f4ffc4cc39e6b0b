"""`cranfield topics`, as a user meets it."""

import csv
import io
import json
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.samples import Sample, sample
from tests.cli.conftest import Cranfield


def test_the_sheet_of_the_sample_agrees_with_eval(cranfield: Cranfield, collection: Sample) -> None:
    rows = list(
        csv.DictReader(io.StringIO(cranfield("topics", "--sample", "-m", "AP", "--run", "bm25", "-f", "csv").out))
    )
    table = csv.DictReader(io.StringIO(cranfield("eval", "--sample", "-m", "AP", "-q", "-f", "csv").out))
    scores = {(row["topic"], row["run"]): row.get("AP") or row.get("value") for row in table}
    assert len(rows) == 24
    for row in rows:
        assert row["bm25"] == scores[row["topic"], "bm25"]
    differences = [float(row["− median"]) for row in rows if row["− median"]]
    assert differences == sorted(differences)


@pytest.mark.parametrize("words", [(), ("--run", "bm25"), ("--pair", "dense,bm25"), ("-m", "AP,P@5")])
def test_every_format_can_be_printed(cranfield: Cranfield, words: tuple[str, ...]) -> None:
    for format in ("table", "json", "csv", "tsv", "latex", "markdown", "html"):
        done = cranfield("topics", "--sample", *words, "-f", format, "--quiet")
        assert done.code == 0
        if format == "json":
            assert json.loads(done.out)["rows"]


def test_a_run_is_named_by_its_name_or_its_file(cranfield: Cranfield) -> None:
    path = next(run for run in sample().runs if "dense" in run)
    by_name = cranfield("topics", "--sample", "--run", "dense").out
    assert cranfield("topics", "--sample", "--run", path).out == by_name
    pairs = [cranfield("compare", "--sample", "--baseline", one, "-f", "json").out for one in ("dense", path)]
    assert pairs[0] == pairs[1]


def test_a_figure_is_drawn(cranfield: Cranfield, tmp_path: Path) -> None:
    for name, words in (("sheet.csv", ("--run", "bm25")), ("pair.csv", ("--pair", "dense,bm25"))):
        assert cranfield("topics", "--sample", *words, "--plot", str(tmp_path / name)).code == 0
        assert (tmp_path / name).read_text().startswith("topic,")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sample", "--run", "bm26"), "no run 'bm26'; did you mean 'bm25'"),
        (("--sample", "--pair", "bm25"), "--pair bm25: expected two names of runs"),
        (("--sample", "--pair", "bm25,bm25"), "both runs are 'bm25'"),
        (("--sample", "--pair", "a,b", "--run", "a"), "--pair goes without --run and --sort"),
        (("--sample", "--sort", "easiest"), "--sort == 'easiest', must be one of 'hardest'"),
        (("--sample", "--sort", "difference"), "name the run"),
        (("--sample", "--topics", "nowhere.xml"), "nowhere.xml"),
        (("--sample", "-m", "AP,P@5", "--plot", "x.svg"), "--plot draws one measure"),
        (("--sample", "--run", "other.run"), "other.run is a file, but not one of the runs; name one of bm25"),
    ],
)
def test_wrong_input_is_an_error(
    cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    cf.Run.of({"1": {"d": 1.0}}).write(tmp_path / "other.run")
    done = cranfield("topics", *words)
    assert done.code in (1, 2)
    assert message in done.err


def test_sheets_of_all_runs_are_written_in_one_call(cranfield: Cranfield, tmp_path: Path) -> None:
    folder = tmp_path / "sheets"
    done = cranfield("topics", "--sample", "-m", "AP,RR", "--sheets", str(folder))
    assert done.code == 0, done.err
    assert {path.name for path in folder.iterdir()} == {"bm25.html", "coord.html", "dense.html", "fusion.html"}
    page = (folder / "bm25.html").read_text("utf-8")
    assert "Mean AP 0.2924, rank 3 of 4 runs" in page  # as `cranfield eval --sample` has it
    assert page.count("<svg role=") == 2
    assert cranfield("topics", "--sample", "-m", "AP", "--sheets", str(folder), "--run", "bm25").code == 2
