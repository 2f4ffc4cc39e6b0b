"""`cranfield labels agree`, as a user meets it."""

import json
from pathlib import Path

import pytest

from cranfield.building.agreement import agreement, agreement_with_others, group_agreement, topic_agreement
from cranfield.building.assessor_labels import Labels
from tests.cli.conftest import Cranfield

ROWS = [
    (topic, doc, worker, (topic * doc + doc * number + (doc % 3 == number)) % 3)
    for topic in range(1, 4)
    for doc in range(8)
    for number, worker in enumerate(("anna", "ben", "cleo"))
    if (topic + doc + number) % 5
]


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "labels.csv"
    lines = ["topic,doc,worker,label,time"]
    lines += [f"{topic},d{doc},{worker},{label},{i}" for i, (topic, doc, worker, label) in enumerate(ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def assessors(tmp_path: Path) -> str:
    path = tmp_path / "assessors.tsv"
    path.write_text("worker\tgroup\tcost\nanna\texperts\t2\nben\texperts\t2\ncleo\tcrowd\t0.1\n")
    return str(path)


def rows(cranfield: Cranfield, *words: str) -> list[dict[str, float]]:
    done = cranfield("labels", "agree", *words, "-f", "json", "--quiet")
    assert done.code == 0, done.err
    return json.loads(done.out)["rows"]


def test_json_has_the_numbers_of_python(cranfield: Cranfield, table: str) -> None:
    expected = agreement(Labels.read(table), relevant=2, resamples=100, seed=3, level=0.9)
    words = (table, "--rel", "2", "-B", "100", "--seed", "3", "--level", "0.9")
    printed = {row["name"]: row for row in rows(cranfield, *words)}
    assert list(printed) == list(expected.names)
    for i, name in enumerate(expected.names):
        assert printed[name]["value"] == pytest.approx(expected.values[i])
        assert printed[name]["value low"] == pytest.approx(expected.low[i])


def test_qrels_of_each_assessor_are_read_as_a_table_is(cranfield: Cranfield, table: str, tmp_path: Path) -> None:
    paths = []
    for name in ("anna", "ben", "cleo"):
        path = tmp_path / f"{name}.qrels"
        path.write_text("".join(f"{t} 0 d{d} {label}\n" for t, d, worker, label in ROWS if worker == name))
        paths.append(str(path))
    one, other = rows(cranfield, *paths, "-B", "0"), rows(cranfield, table, "-B", "0")
    assert [row["name"] for row in one] == [row["name"] for row in other]
    assert [row["value"] for row in one] == pytest.approx([row["value"] for row in other])
    done = cranfield("labels", "agree", paths[0], paths[0])
    assert done.code == 2
    assert "is given twice" in done.err


def test_breakdowns_have_the_numbers_of_python(cranfield: Cranfield, table: str, assessors: str) -> None:
    labels = Labels.read(table)
    by_topic = rows(cranfield, table, "--by", "topic", "-c", "percent,overlap", "-B", "0")
    expected = topic_agreement(labels, ["percent", "overlap"], resamples=0)
    assert [row["overlap"] for row in by_topic] == pytest.approx([*expected.values[:, 1], expected.mean[1]])
    by_assessor = rows(cranfield, table, "--by", "assessor", "--label-weights", "quadratic", "-B", "0")
    kappa = dict(
        zip(labels.workers, agreement_with_others(labels, weights="quadratic", resamples=0).kappa, strict=True)
    )
    assert {row["assessor"]: row["kappa"] for row in by_assessor} == pytest.approx(kappa)
    by_group = rows(cranfield, table, "--by", "group", "--assessors", assessors, "-B", "0")
    groups = group_agreement(labels.with_assessors(assessors), resamples=0)
    assert [by_group[0]["percent"], by_group[2]["percent"]] == pytest.approx(groups.percent[[0, 2]].tolist())
    assert by_group[1]["percent"] is None  # the crowd is one assessor
    by_time = rows(cranfield, table, "--by", "time", "--windows", "3")
    assert [name for name in by_time[0] if name.startswith("window")] == ["window 1", "window 2", "window 3"]


def test_the_cost_of_groups_is_printed(cranfield: Cranfield, table: str, assessors: str) -> None:
    done = cranfield("labels", "agree", table, "--by", "group", "--assessors", assessors, "-B", "0")
    labels = sum(worker == "cleo" for _, _, worker, _ in ROWS)
    (line,) = (line for line in done.out.splitlines() if line.startswith("crowd") and "itself" not in line)
    assert line.split() == ["crowd", "1", str(labels), "0.1000", f"{labels * 0.1:.4f}"]


def test_confusions_of_all_pairs_and_of_each(cranfield: Cranfield, table: str) -> None:
    assert cranfield("labels", "agree", table, "--confused").out.startswith(
        "Labels of the same items, all pairs of assessors"
    )
    each = cranfield("labels", "agree", table, "--confused", "--pairs").out
    assert each.count("Labels of the same items, rows: ") == 3
    assert len(rows(cranfield, table, "--confused", "--pairs")) == 3 * 9


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--by", "topic", "--pairs"), "--by topic and --pairs print different tables"),
        (("--by", "time", "-c", "alpha"), "--coefficient applies to the table of all labels and to --by topic"),
        (("--label-weights", "linear"), "--label-weights applies only to --by assessor"),
        (("--windows", "3"), "--windows applies only to --by time"),
        (("--pairs", "--resampled", "topic"), "--resampled and --intervals apply only to the table of all labels"),
        (("--pairs", "-B", "10"), "--resamples and --seed do not apply"),
        (("--by", "group"), "on the command line: --assessors FILE"),
        (("--scale", "0,,1"), "--scale 0,,1: expected labels separated by commas"),
        (("--scale", "0,1"), "label '2' is not on the scale 0, 1"),
        (("-c", "kappa"), "no coefficient 'kappa'"),
    ],
)
def test_options_that_do_not_fit(cranfield: Cranfield, table: str, words: tuple[str, ...], says: str) -> None:
    done = cranfield("labels", "agree", table, *words)
    assert done.code in (1, 2)
    assert says in done.err


def test_a_task_is_split_into_topic_and_document(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("task,worker,label\n1:a,x,yes\n1:a,y,no\n2:b,x,yes\n2:b,y,yes\n")
    done = cranfield("labels", "agree", str(path), "--by", "topic")
    assert "on the command line: --separator TEXT" in done.err
    printed = rows(cranfield, str(path), "--by", "topic", "--separator", ":", "--scale", "no,yes", "-c", "overlap")
    assert [row["overlap"] for row in printed] == [0, 1, 0.5]


def test_repeated_items_give_self_agreement(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("task,worker,label\na,x,1\na,x,0\nb,x,1\nb,x,1\na,y,1\nb,y,0\n")
    done = cranfield("labels", "agree", str(path))
    assert done.code == 1
    assert "--on-duplicate RULE" in done.err
    printed = {row["name"]: row for row in rows(cranfield, str(path), "--on-duplicate", "keep")}
    assert printed["self percent"]["value"] == 0.5


@pytest.mark.parametrize("words", [(), ("--by", "topic"), ("--by", "assessor"), ("--by", "time"), ("--pairs",)])
def test_figures_are_written(cranfield: Cranfield, table: str, tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "figure.svg"
    done = cranfield("labels", "agree", table, *words, "--plot", str(path))
    assert done.code == 0, done.err
    assert "<svg" in path.read_text()
