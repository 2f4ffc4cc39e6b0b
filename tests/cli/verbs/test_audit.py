"""`cranfield machine audit` and `cranfield machine ppi`, as a user meets them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from cranfield.building.machine.machine_audit import audit
from cranfield.building.machine.powered_intervals import powered_intervals
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.evaluation.evaluator import evaluate
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


@pytest.fixture
def folder(tmp_path: Path, collection: Sample, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The human judgments of the sample, those of its first 8 topics, and two machine files with random errors."""
    monkeypatch.chdir(tmp_path)
    qrels = Qrels.read(collection.qrels)
    rng = np.random.default_rng(0)
    for name, errors in (("good", 0.1), ("bad", 0.5)):
        wrong = rng.random(len(qrels)) < errors
        grades = [min(3, judgment.grade + 1) if w else judgment.grade for judgment, w in zip(qrels, wrong, strict=True)]
        lines = [f"{j.topic} 0 {j.doc} {int(grade)}\n" for j, grade in zip(qrels, grades, strict=True)]
        (tmp_path / f"{name}.qrels").write_text("".join(lines))
    some = set(qrels.topics[:8])
    lines = [f"{j.topic} 0 {j.doc} {int(j.grade)}\n" for j in qrels if j.topic in some]
    (tmp_path / "some.qrels").write_text("".join(lines))
    return tmp_path


def test_the_command_of_the_overview_prints_all_parts(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    done = cranfield("machine", "audit", collection.qrels, "good.qrels", "bad.qrels", *collection.runs, "--quiet")
    assert done.code == 0
    for caption in ("Agreement with", "Confusion", "Topics with the lowest", "Agreement among", "Rankings of runs"):
        assert caption in done.out


def test_json_has_the_numbers_of_python(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    words = ("machine", "audit", collection.qrels, "good.qrels", *collection.runs, "-m", "AP", "-f", "json", "--quiet")
    data = json.loads(cranfield(*words).out)
    runs = {run.name: run for run in map(Run.read, collection.runs)}
    expected = audit(collection.qrels, {"good": "good.qrels"}, runs, "AP")
    assert expected.rankings is not None
    assert data["agreement"]["rows"][0]["kappa"] == pytest.approx(expected.agreement.kappa[0, 0])
    assert data["rankings"]["rows"][0]["tau"] == pytest.approx(expected.rankings.tau[0])
    assert data["ranks"]["rows"] == expected.to_dict()["ranks"]["rows"]


def test_one_part_as_csv(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    words = ("machine", "audit", collection.qrels, "good.qrels", "-f", "csv", "--quiet")
    rows = list(csv.DictReader(io.StringIO(cranfield(*words, "--show", "confusion").out)))
    assert sum(int(row["documents"]) for row in rows) == len(Qrels.read(collection.qrels))
    (row,) = csv.DictReader(io.StringIO(cranfield(*words).out))
    assert row["judge"] == "good"


def test_several_parts(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    words = ("machine", "audit", collection.qrels, "good.qrels", "bad.qrels", *collection.runs, "-m", "AP", "--quiet")
    out = cranfield(*words, "--show", "ranks,agreement").out
    assert out.index("Ranks of runs") < out.index("Agreement with")
    assert "Confusion" not in out
    data = json.loads(cranfield(*words, "--show", "ranks", "--show", "agreement", "-f", "json").out)
    everything = json.loads(cranfield(*words, "-f", "json").out)
    assert data == {name: everything[name] for name in ("ranks", "agreement")}
    done = cranfield(*words, "--show", "ranks,agreement", "-f", "csv")
    assert (done.code, "csv holds one; choose one, or --format json" in done.err) == (2, True)
    assert "--show rank: expected one or several of agreement, confusion" in cranfield(*words, "--show", "rank").err


def test_lengths_and_families(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    qrels = Qrels.read(collection.qrels)
    docs = sorted({judgment.doc for judgment in qrels})
    (folder / "lengths.tsv").write_text("".join(f"{doc} {10 + i}\n" for i, doc in enumerate(docs)))
    (folder / "families.tsv").write_text("bm25 lexical\ncoord lexical\ndense neural\nfusion neural\n")
    more = ("--lengths", "lengths.tsv", "--families", "families.tsv", "--quiet")
    done = cranfield("machine", "audit", collection.qrels, "good.qrels", *collection.runs, *more)
    assert done.code == 0
    assert "Spearman's ρ" in done.out
    assert "favour" in done.out


def test_files_that_do_not_tell_are_named_by_options(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    words = (
        "machine",
        "audit",
        collection.qrels,
        "--machine",
        "first=good.qrels",
        "--run",
        collection.runs[0],
        "--quiet",
    )
    done = cranfield(*words, "--run", collection.runs[1], "--show", "ranks")
    assert done.code == 0
    assert "first" in done.out


def test_a_log_of_labels_is_read_as_several_judges(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    lines = [
        json.dumps({"topic": j.topic, "doc": j.doc, "worker": worker, "label": str(int(j.grade))}) + "\n"
        for worker in ("m/a", "m/b")
        for j in Qrels.read(collection.qrels)
    ]
    (folder / "labels.jsonl").write_text("".join(lines))
    done = cranfield("machine", "audit", collection.qrels, "labels.jsonl", "-f", "csv", "--quiet")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["judge"], float(row["kappa"])) for row in rows] == [("m/a", 1.0), ("m/b", 1.0)]


def test_ppi_takes_one_judge_of_a_log(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    lines = [
        json.dumps({"topic": j.topic, "doc": j.doc, "worker": worker, "label": str(int(j.grade))}) + "\n"
        for worker, name in (("m/a", "good"), ("m/b", "bad"))
        for j in Qrels.read(f"{name}.qrels")
    ]
    (folder / "labels.jsonl").write_text("".join(lines))
    words = ("machine", "ppi", "some.qrels", "labels.jsonl", *collection.runs, "-f", "csv", "--quiet")
    assert "has 2 judges: m/a, m/b; choose one with --judge" in cranfield(*words).err
    assert "no judge 'm/c'" in cranfield(*words, "--judge", "m/c").err
    expected = cranfield("machine", "ppi", "some.qrels", "bad.qrels", *collection.runs, "-f", "csv", "--quiet").out
    assert cranfield(*words, "--judge", "m/b").out == expected


def test_a_measure_that_needs_lengths_gets_them(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    runs = [Run.read(path) for path in collection.runs]
    docs = sorted({doc for run in runs for doc in run.columns().docs} | {j.doc for j in Qrels.read("good.qrels")})
    (folder / "lengths.tsv").write_text("".join(f"{doc} {10 + i}\n" for i, doc in enumerate(docs)))
    words = (
        "machine",
        "audit",
        collection.qrels,
        "good.qrels",
        *collection.runs,
        "-m",
        "TBG",
        "--quiet",
        "--show",
        "rankings",
    )
    assert "--lengths FILE" in cranfield(*words).err
    assert cranfield(*words, "--lengths", "lengths.tsv").code == 0


@pytest.mark.parametrize("figure", ["confusion", "ranks", "topics"])
def test_figures(cranfield: Cranfield, folder: Path, collection: Sample, figure: str) -> None:
    words = ("machine", "audit", collection.qrels, "good.qrels", *collection.runs, "--quiet", "--figure", figure)
    assert cranfield(*words, "--plot", "figure.csv").code == 0
    assert (folder / "figure.csv").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["good.qrels", "--show", "ranks"], 2, "--show ranks: this audit has no such part; give two runs or more"),
        (["good.qrels", "--show", "lengths"], 2, "--lengths FILE"),
        (["good.qrels", "--show", "judges"], 2, "give two machine files or more"),
        ([], 2, "no machine judgments: only the file of human judgments is given"),
        (["RUN"], 2, "no machine judgments: 1 file looks like a run"),
        (["good.qrels", "--figure", "ranks", "--plot", "x.csv"], 2, "--figure ranks: this audit has no ranks"),
        (["good.qrels", "--figure", "ranks"], 2, "--figure needs a file to draw to"),
        (["none.qrels"], 1, "none.qrels: no such file"),
        (["good.qrels", "--families", "f.tsv"], 2, "families of runs are given, but no runs"),
        (["other.qrels"], 2, "no document is judged by both the human judgments and other"),
        (["good.qrels", "--resamples", "-1"], 2, "--resamples == -1, must be a whole number, 0 or more"),
    ],
)
def test_bad_input_of_audit(
    cranfield: Cranfield, folder: Path, collection: Sample, words: list[str], code: int, message: str
) -> None:
    (folder / "other.qrels").write_text("999 0 nothing 1\n")
    (folder / "f.tsv").write_text("bm25 lexical\n")
    done = cranfield(
        "machine", "audit", collection.qrels, *(collection.runs[0] if word == "RUN" else word for word in words)
    )
    assert message in done.err
    assert done.code == code


# -- ppi


def test_ppi_has_the_numbers_of_python(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    words = (
        "machine",
        "ppi",
        "some.qrels",
        "good.qrels",
        *collection.runs,
        "-m",
        "AP",
        "--baseline",
        "bm25",
        "-f",
        "json",
    )
    data = json.loads(cranfield(*words, "--quiet").out)
    human, machine = (evaluate(name, list(collection.runs), "AP") for name in ("some.qrels", "good.qrels"))
    expected = powered_intervals(human, machine, baseline="bm25")
    assert [row["low"] for row in data["rows"]] == pytest.approx(expected.means.low.tolist())
    assert data["baseline"] == "bm25"


def test_ppi_prints_both_intervals_the_assumption_and_no_warning_about_topics(
    cranfield: Cranfield, folder: Path, collection: Sample
) -> None:
    done = cranfield("machine", "ppi", "some.qrels", "good.qrels", *collection.runs)
    assert done.code == 0
    assert "classical" in done.out
    assert "assumption: the topics with human judgments are a random sample" in done.out
    assert "without judgments ignored" not in done.err


def test_ppi_says_how_many_topics_are_needed(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    words = (
        "machine",
        "ppi",
        "some.qrels",
        "good.qrels",
        *collection.runs,
        "--half-width",
        "0.1",
        "--quiet",
        "-f",
        "csv",
    )
    rows = list(csv.DictReader(io.StringIO(cranfield(*words, "--machine-topics", "500").out)))
    assert all(1 < float(row["topics needed"]) <= float(row["topics needed without machine"]) for row in rows)
    per_topic = len(Qrels.read("some.qrels")) / 8
    assert float(rows[0]["labels needed"]) == np.ceil(float(rows[0]["topics needed"]) * per_topic)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--baseline", "x"], "no run 'x'"),
        (["--baseline", "bm25", "--pairs"], "exclude each other"),
        (["--machine-topics", "5"], "--machine-topics applies only to --half-width"),
        (["--half-width", "0"], "--half-width == 0.0, must be above 0"),
        (["--lambda", "2"], "--lambda == 2.0, must be between 0 and 1"),
        (["--level", "1"], "--level == 1.0, must be above 0 and below 1"),
        (["--half-width", "0.1", "--lambda", "1"], "--half-width tunes λ"),
        (["-m", "AP,P@5", "--plot", "x.csv"], "--plot draws one measure, but there are 2"),
    ],
)
def test_bad_input_of_ppi(
    cranfield: Cranfield, folder: Path, collection: Sample, words: list[str], message: str
) -> None:
    done = cranfield("machine", "ppi", "some.qrels", "good.qrels", *collection.runs, *words)
    assert message in done.err
    assert done.code == 2


def test_an_empty_file_is_named_and_not_taken_for_a_run(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    (folder / "empty.qrels").write_text("")
    done = cranfield("machine", "audit", collection.qrels, "empty.qrels", *collection.runs)
    assert (done.code, done.out) == (1, "")
    assert "empty.qrels: is empty, expected machine judgments or a run" in done.err


def test_rankings_of_one_topic_are_refused_with_what_they_need(
    cranfield: Cranfield, folder: Path, collection: Sample
) -> None:
    lines = Path(collection.qrels).read_text().splitlines(keepends=True)
    topic = lines[0].split()[0]
    (folder / "one.qrels").write_text("".join(line for line in lines if line.split()[0] == topic))
    done = cranfield("machine", "audit", "one.qrels", "good.qrels", *collection.runs, "--show", "rankings", "--quiet")
    assert done.code == 2
    assert "judgments of two topics or more" in done.err


def test_the_level_is_checked_also_without_runs(cranfield: Cranfield, folder: Path, collection: Sample) -> None:
    done = cranfield("machine", "audit", collection.qrels, "good.qrels", "--alpha", "2")
    assert done.code == 2
    assert "alpha == 2" in done.err
