"""`cranfield meta loo`: runs and teams left out of the pool."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.assessed import joined_runs
from cranfield.collection.file_formats.blocks import load_or_open
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield

QUIET = ("meta", "loo", "--sample", "--quiet", "--pool-depth", "10")


def test_measures_runs_and_contributions(cranfield: Cranfield) -> None:
    done = cranfield(*QUIET, "-m", "AP", "--condensed", "--show", "all")
    assert (done.code, done.err) == (0, "")
    tables = done.out.split("\n\n")
    assert [table.partition("\n")[0] for table in tables] == [
        "Contributions to the pool (judged documents)",
        "Each run without the documents that only it retrieved",
        "Leave one run out",
    ]
    assert [line.split()[0] for line in tables[2].splitlines()[2:4]] == ["AP", "AP'"]


def test_every_number_in_json_and_csv(cranfield: Cranfield, collection: Sample) -> None:
    from cranfield.meta.judgments.leave_out import leave_one_out

    data = json.loads(cranfield(*QUIET, "-f", "json", "--show", "all").out)
    assert list(data) == ["contributions", "runs", "measures"]
    rows = cranfield(*QUIET, "-f", "csv", "--show", "runs").out.splitlines()
    assert rows[0] == "run,measure,score,without,change,relative,rank,rank without,τ"
    with pytest.warns(cf.errors.CranfieldWarning):
        left = leave_one_out(collection.qrels, list(collection.runs), "AP", pool_depth=10)
    expected = left.columns()["without"].tolist()
    assert [row["without"] for row in data["runs"]["rows"]] == pytest.approx(expected)
    assert [float(row.split(",")[3]) for row in rows[1:]] == pytest.approx(expected)


@pytest.mark.parametrize("format", ["tsv", "latex", "markdown", "html"])
def test_other_formats(cranfield: Cranfield, format: str) -> None:
    done = cranfield(*QUIET, "-f", format)
    assert done.code == 0
    assert "AP" in done.out


def test_teams_and_the_judgments_that_are_written(cranfield: Cranfield, collection: Sample, tmp_path: Path) -> None:
    teams = tmp_path / "teams.txt"
    teams.write_text("bm25 lexical\ncoord,lexical\ndense\tneural\nold neural\n")
    words = ("--teams", str(teams), "--write", str(tmp_path / "without"), "--show", "contributions", "-f", "json")
    done = cranfield("meta", "loo", "--sample", "--pool-depth", "10", *words)
    assert done.code == 0
    assert "warning: runs in the table of teams that are not among the runs: old" in done.err
    assert "warning: runs without a team, left out one by one: fusion" in done.err
    assert "3 files written to" in done.err
    full = len(cf.Qrels.read(collection.qrels))
    for row in json.loads(done.out)["rows"]:
        assert len(cf.Qrels.read(tmp_path / "without" / f"{row['team']}.qrels")) == full - row["unique"]


def test_no_run_is_read_twice(cranfield: Cranfield, collection: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()

    def counting(path: str, *check: object) -> object:
        read[path] += 1
        return load_or_open(path)

    monkeypatch.setattr(joined_runs, "load_or_open", counting)
    assert cranfield(*QUIET, "--condensed").code == 0
    assert read == Counter(dict.fromkeys(collection.runs, 1))


def test_the_figure_is_drawn(cranfield: Cranfield, tmp_path: Path) -> None:
    drawn = tmp_path / "ranks.csv"
    assert cranfield(*QUIET, "--plot", str(drawn)).code == 0
    assert sorted(line.split(",")[0] for line in drawn.read_text().splitlines()) == [
        "bm25", "coord", "dense", "fusion", "system",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "usage: cranfield meta loo QRELS RUN..."),
        (("--sample", "--pool-depth", "0"), 2, "--pool-depth == 0"),
        (("--sample", "--show", "everything"), 2, "show == 'everything', must be one of 'measures'"),
        (("--sample", "--show", "all", "-f", "csv"), 2, "--show all is three tables, but csv holds one"),
        (("--sample", "--teams", "nowhere.txt"), 1, "nowhere.txt"),
        (("--sample", "--plot", "ranks.doc"), 2, "ranks.doc"),
        (("qrels.txt", "mine.run"), 2, "1 run, must be 3 or more"),
        (("qrels.txt", "mine.run", "--teams", "bad.txt"), 2, "1 run, must be 3 or more"),
    ],
)
def test_wrong_options_are_errors(
    cranfield: Cranfield, tiny: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    done = cranfield("meta", "loo", *words)
    assert done.code == code
    assert message in done.err


def test_a_bad_line_in_the_table_of_teams_is_an_error(cranfield: Cranfield, tmp_path: Path) -> None:
    bad = tmp_path / "teams.txt"
    bad.write_text("bm25 A\ndense B C\n")
    done = cranfield("meta", "loo", "--sample", "--quiet", "--teams", str(bad))
    assert (done.code, "teams.txt:2: 3 columns, expected 2: run team" in done.err) == (1, True)
