"""`cranfield labels merge` and `cranfield labels assessors`, as a user meets them."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from cranfield.building.assessor_labels import Labels
from cranfield.building.merging import MERGING_METHODS, merge, plan_labels, rate_assessors
from cranfield.collection.qrels import Qrels
from tests.cli.conftest import Cranfield


@pytest.fixture
def table(tmp_path: Path) -> str:
    """60 documents of three topics with labels of four assessors, of whom the last one guesses."""
    rng = np.random.default_rng(8)
    lines = ["topic,doc,worker,label"]
    for topic in range(1, 4):
        for doc in range(20):
            truth = int(rng.integers(0, 3))
            for worker, right in enumerate((0.95, 0.85, 0.8, 1 / 3)):
                label = truth if rng.random() < right else (truth + int(rng.integers(1, 3))) % 3
                lines.append(f"{topic},d{doc},w{worker},{label}")
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def gold(tmp_path: Path) -> str:
    path = tmp_path / "gold.qrels"
    path.write_text("".join(f"1 0 d{doc} {doc % 3}\n" for doc in range(15)))
    return str(path)


@pytest.mark.filterwarnings("ignore:bmv looks worse")  # wrong labels are not near to the true ones here
@pytest.mark.parametrize("method", MERGING_METHODS)
def test_the_result_is_the_qrels_of_python(cranfield: Cranfield, table: str, tmp_path: Path, method: str) -> None:
    path = tmp_path / "merged.qrels"
    result = cranfield("labels", "merge", table, "--method", method, "-o", str(path), "--why")
    assert result.code == 0
    merged = merge(table, method)
    assert Qrels.read(path).to_dict() == merged.to_qrels().to_dict()
    assert f"note: {merged.notes[0]}" in result.err.splitlines()


def test_expected_grades_are_written_and_scored(cranfield: Cranfield, table: str, tmp_path: Path) -> None:
    path, run = tmp_path / "expected.qrels", tmp_path / "a.run"
    assert (
        cranfield("labels", "merge", table, "--method", "dawid-skene", "--expected", "-o", str(path), "--quiet").code
        == 0
    )
    expected = merge(table, "dawid-skene").to_qrels(expected=True).to_dict()
    for topic, grades in Qrels.read(path).to_dict().items():
        assert grades == pytest.approx(expected[topic])
    run.write_text("".join(f"1 Q0 d{doc} {doc} {20 - doc} a\n" for doc in range(20)))
    scored = cranfield("eval", str(path), str(run), "-m", "DCG@1", "-f", "json", "--quiet")
    dcg = expected["1"]["d0"] / 3  # a run without topics 2 and 3 scores 0 there
    assert json.loads(scored.out)["rows"][0]["DCG@1"] == pytest.approx(dcg)


def test_gold_posteriors_and_workers(cranfield: Cranfield, table: str, gold: str, tmp_path: Path) -> None:
    posteriors, workers = tmp_path / "p.csv", tmp_path / "w.json"
    words = (
        "labels",
        "merge",
        table,
        "--method",
        "mace",
        "--gold",
        gold,
        "--posteriors",
        str(posteriors),
        "--write-assessors",
        str(workers),
    )
    result = cranfield(*words)
    assert result.code == 0
    assert "note: 15 gold labels, kept as they are" in result.err
    merged = merge(table, "mace", gold=gold)
    with posteriors.open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["p(1)"]) for row in rows] == pytest.approx(merged.posterior[:, 1].tolist())
    report = rate_assessors(table, gold=gold, merged=merged)
    by_name = {row["assessor"]: row["share"] for row in json.loads(workers.read_text())["rows"]}
    assert [by_name[name] for name in report.workers] == pytest.approx(report.share.tolist())


def test_tasks_without_topics_become_a_table(cranfield: Cranfield) -> None:
    text = b"task,worker,label\nt1,a,1\nt1,b,1\nt2,a,0\n"
    result = cranfield("labels", "merge", "-", stdin=text)
    assert result.code == 0
    assert result.out.splitlines()[:3] == [
        "Labels merged by majority",
        "task  label  expected  probability  entropy  labels",
        "t1    1        1.0000       1.0000   0.0000       2",
    ]
    asked = cranfield("labels", "merge", "-", "-f", "qrels", stdin=text)
    assert asked.code == 2
    assert "the topics of items are unknown" in asked.err
    assert "--separator TEXT" in asked.err


def test_settings_reach_the_method(cranfield: Cranfield, table: str) -> None:
    words = ("--class-prior", "0.5,0.3,0.2", "--assessor-prior", "3,1", "--steps", "7", "--tolerance", "0")
    result = cranfield("labels", "merge", table, "--method", "dawid-skene", *words, "-f", "json")
    rows = json.loads(result.out)["rows"]
    with pytest.warns(match="did not converge"):
        merged = merge(table, "dawid-skene", class_prior=[0.5, 0.3, 0.2], assessor_prior=[3, 1], steps=7, tolerance=0.0)
    assert [row["probability"] for row in rows] == pytest.approx(merged.probability.tolist())
    assert "dawid-skene did not converge in 7 steps; allow more steps" in result.err


def test_a_warning_is_printed_once(cranfield: Cranfield, table: str) -> None:
    for words in (["-f", "table"], ["-f", "csv"], ["-f", "qrels"]):
        result = cranfield("labels", "merge", table, "--method", "dawid-skene", "--steps", "2", *words)
        assert (result.out + result.err).count("did not converge in 2 steps") == 1, words


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--method", "dawid"], "no method 'dawid'; did you mean 'dawid-skene'?"),
        (["--steps", "5"], "--steps == 5 is a setting of dawid-skene"),
        (
            ["--method", "dawid-skene", "--assessor-prior", "high"],
            "--assessor-prior high: expected numbers separated by commas",
        ),
        (["--method", "dawid-skene", "--class-prior", "1,0,0"], "must be above 0 for every label"),
        (["--expected", "-f", "csv"], "--expected is for qrels; tables have a column with the expected grade"),
        (["--ties", "none"], "--ties"),
        (["--scale", "0,1"], "label '2' is not on the scale 0, 1"),
    ],
)
def test_wrong_words_are_explained(cranfield: Cranfield, table: str, words: list[str], says: str) -> None:
    result = cranfield("labels", "merge", table, *words)
    assert result.code in (1, 2)
    assert says in result.err


def test_words_without_an_order_name_the_option(cranfield: Cranfield) -> None:
    text = b"task,worker,label\nt1,a,yes\nt1,b,no\n"
    result = cranfield("labels", "merge", "-", "--method", "ordinal", stdin=text)
    assert result.code == 2
    assert "--scale LABELS" in result.err
    assert cranfield("labels", "merge", "-", "--method", "ordinal", "--scale", "no,yes", stdin=text).code == 0


def test_workers_have_the_numbers_of_python(cranfield: Cranfield, table: str, gold: str) -> None:
    for extra, report in (([], rate_assessors(table)), (["--gold", gold], rate_assessors(table, gold=gold))):
        rows = json.loads(cranfield("labels", "assessors", table, *extra, "-f", "json").out)["rows"]
        assert [row["assessor"] for row in rows] == [report.workers[w] for w in np.argsort(report.accuracy)]
        p = {row["assessor"]: row["p"] for row in rows}
        assert [p[name] for name in report.workers] == pytest.approx(report.p.tolist())
    assert {row["assessor"]: row["flag"] for row in rows}["w3"] == "not shown"  # few labels


def test_the_next_labels_are_those_of_python(cranfield: Cranfield, table: str) -> None:
    words = ("--next", "4", "--probability", "0.99", "--most-per-assessor", "1")
    rows = json.loads(cranfield("labels", "assessors", table, *words, "-f", "json").out)["rows"]
    plan = plan_labels(table, count=4, probability=0.99, most_per_assessor=1)
    assert [f"{row['topic']} {row['doc']}" for row in rows] == list(plan.items)
    assert [row["assessor"] for row in rows] == list(plan.worker)


def test_options_of_planning_need_next(cranfield: Cranfield, table: str) -> None:
    result = cranfield("labels", "assessors", table, "--stop-rule", "margin")
    assert result.code == 2
    assert "--stop-rule applies only to --next N" in result.err


@pytest.mark.parametrize("figure", ["entropy", "confusion", "accuracy"])
def test_figures_are_drawn(cranfield: Cranfield, table: str, tmp_path: Path, figure: str) -> None:
    for verb in ("merge", "workers"):
        path = tmp_path / f"{verb}.svg"
        assert cranfield("labels", verb, table, "--plot", str(path), "--figure", figure, "--quiet").code == 0
        assert path.read_text().startswith("<svg")


def test_the_help_lists_all_methods(cranfield: Cranfield) -> None:
    page = " ".join(cranfield("labels", "merge", "--help").out.split())
    for name in MERGING_METHODS:
        assert name in page


def test_several_qrels_are_merged(cranfield: Cranfield, tmp_path: Path) -> None:
    paths = []
    for name, grade in (("ann", 1), ("ben", 1), ("cy", 0)):
        path = tmp_path / f"{name}.qrels"
        path.write_text(f"1 0 d1 {grade}\n")
        paths.append(str(path))
    result = cranfield("labels", "merge", *paths)
    assert result.out == "1 0 d1 1\n"
    assert Labels.read(*paths).workers == ("ann", "ben", "cy")


def test_a_table_is_not_written_to_a_file_of_judgments(cranfield: Cranfield, tmp_path: Path) -> None:
    labels, path = tmp_path / "tasks.csv", tmp_path / "merged.qrels"
    labels.write_text("task,worker,label\n1:d1,a,1\n1:d1,b,0\n")
    result = cranfield("labels", "merge", str(labels), "-o", str(path))
    assert result.code != 0
    assert "the topics of items are unknown" in result.err
    assert "--separator TEXT" in result.err
    assert not path.exists()
    assert cranfield("labels", "merge", str(labels), "--separator", ":", "-o", str(path)).code == 0
    assert path.read_text() == "1 0 d1 0\n"
    assert cranfield("labels", "merge", str(labels), "-o", str(tmp_path / "merged.txt")).code == 0


@pytest.mark.parametrize(
    ("verb", "rows", "option"),
    [
        ("labels merge", "t1,a,1\nt1,b,1\n", "--scale LABELS"),
        ("labels assessors --next 2", "t1,a,1\nt2,b,0\n", "--stop-rule RULE"),
    ],
)
def test_errors_name_the_option_that_helps(
    cranfield: Cranfield, tmp_path: Path, verb: str, rows: str, option: str
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(f"task,worker,label\n{rows}")
    assert f"on the command line: {option}" in cranfield(*verb.split(), str(labels)).err


def test_the_ending_of_the_file_says_the_format(cranfield: Cranfield, table: str, tmp_path: Path) -> None:
    def written(name: str, *more: str) -> str:
        assert cranfield("labels", "merge", table, "-o", str(tmp_path / name), "--quiet", *more).code == 0
        return (tmp_path / name).read_text()

    (first, *rest) = csv.DictReader(io.StringIO(written("x.csv")))
    assert list(first)[:3] == ["topic", "doc", "label"]
    assert len(rest) == 59
    assert written("x.tsv").startswith("topic\tdoc\tlabel\t")
    assert len(json.loads(written("x.json"))["rows"]) == 60
    assert written("y.txt", "-f", "table").startswith("Labels merged by majority")
    for name in ("x.qrels", "x.qrels.tsv", "x.out"):  # topics are known: judgments
        written(name)
        assert Qrels.read(tmp_path / name).to_dict() == merge(table).to_qrels().to_dict()
    assert (
        cranfield("labels", "agree", table, "-o", str(tmp_path / "agree.csv"), "--quiet", "--resamples", "0").code == 0
    )
    assert (tmp_path / "agree.csv").read_text().startswith("coefficient,")


def test_columns_with_unusual_names(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("frage,person,antwort\na,x,1\na,y,1\nb,x,0\n")
    words = ("labels", "merge", str(path), "-f", "csv", "--quiet")
    failed = cranfield(*words)
    assert failed.code == 1
    assert "labels.csv:1: label 'antwort' is not a number" in failed.err
    assert "--columns ROLE=NAME,..." in failed.err
    done = cranfield(*words, "--columns", "task=frage,assessor=person,label=antwort")
    assert [line.split(",")[:2] for line in done.out.splitlines()] == [["task", "label"], ["a", "1"], ["b", "0"]]
    absent = cranfield(*words, "--columns", "task=frage,assessor=person,label=nothing")
    assert "labels.csv:1: no column 'nothing' for the label; there are frage, person, antwort" in absent.err
    partly = cranfield(*words, "--columns", "task=frage,assessor=person")
    assert "labels.csv:1: no column for the label" in partly.err
    assert "among frage, person, antwort" in partly.err
    foreign = cranfield(*words, "--columns", "task=thing,assessor=who,label=said")
    assert "labels.csv:1: is not a header with the columns 'thing', 'who', 'said'" in foreign.err
    assert "columns: no role 'colour'" in cranfield(*words, "--columns", "colour=frage").err


def test_repeated_labels_can_be_kept(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("task,worker,label\na,x,1\na,x,0\na,x,1\na,y,0\nb,y,1\nb,x,1\n")
    failed = cranfield("labels", "merge", str(path))
    assert "models such as Dawid and Skene's count every label" in failed.err
    assert "on_duplicate='keep'" in failed.err or "--on-duplicate keep" in failed.err
    done = cranfield("labels", "merge", str(path), "--on-duplicate", "keep", "-f", "csv", "--quiet")
    rows = {row["task"]: row for row in csv.DictReader(io.StringIO(done.out))}
    assert (rows["a"]["labels"], float(rows["a"]["expected"])) == ("4", 0.5)  # x: 1, 0, 1; y: 0
