"""`cranfield pool bias`: the numbers of tests/test_pool_bias.py, from files; and what can be wrong with those."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield
from tests.evaluation.test_pool_bias import POOLED, QRELS, ranked

NEW = {"q1": ranked("n", "a"), "q2": ranked("a", "n")}
"""P@2 is 1/2 on both topics."""


def written(run: dict[str, dict[str, float]], tag: str) -> str:
    return "".join(f"{topic} Q0 {doc} 0 {score} {tag}\n" for topic, docs in run.items() for doc, score in docs.items())


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = (f"{topic} 0 {doc} {grade}\n" for topic, docs in QRELS.items() for doc, grade in docs.items())
    Path("qrels.txt").write_text("".join(lines))
    for name, run in POOLED.items():
        Path(f"{name}.run").write_text(written(run, name))
    Path("new.run").write_text(written(NEW, "new"))
    return tmp_path


POOL = ("pool", "bias", "qrels.txt", "x.run", "y.run", "z.run", "--pool-depth", "2", "-m", "P@2")


@pytest.mark.usefixtures("files")
def test_losses_and_adjusted_scores(cranfield: Cranfield) -> None:
    """By hand: x alone found b, half of its P@2 on q1; no other run loses anything. Six lists: 1/12 is the mean."""
    result = cranfield(*POOL, "--adjust", "new.run")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "Loss of each run if its first 2 documents had not been pooled",
        "run            P@2",
        "x           0.2500",
        "y           0.0000",
        "z           0.0000",
        "(all runs)  0.0833",
        "",
        "Adjusted scores",
        "run     P@2  P@2 adjusted",
        "new  0.5000        0.5833",
        # the others of x lose 0, those of y and z 1/8: off by 1/4, 1/8 and 1/8
        "caution: runs lose differently; pooled runs, adjusted by the loss of the others, are off by P@2 0.1768",
        "adjusted by the mean loss of 3 pooled runs",
        "1 more note: --why",
    ]


@pytest.mark.usefixtures("files")
def test_a_run_pooled_for_other_topics_is_adjusted_by_its_own_loss(cranfield: Cranfield) -> None:
    """x loses 1/4 where it was pooled; on the other topic it scores 1/2."""
    Path("other.txt").write_text("q7 0 a 1\n")
    Path("x2.run").write_text("q7 Q0 a 1 2 x\nq7 Q0 n 2 1 x\n")
    result = cranfield(*POOL, "--adjust", "x2.run", "--adjust-qrels", "other.txt", "-f", "json")
    assert json.loads(result.out)["adjusted"] == {"x": {"P@2": {"score": 0.5, "adjusted": 0.75}}}
    table = cranfield(*POOL, "--adjust", "x2.run", "--adjust-qrels", "other.txt")
    assert "adjusted by their own loss on other topics: x" in table.out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("line", ["{} {}", "{},{}", "{}\t{}"])
def test_groups_from_a_file(cranfield: Cranfield, line: str) -> None:
    """As with groups from a dict: every run loses 1/2 on q1, and y and z, of one team, on q2."""
    Path("teams.txt").write_text("\ufeff# who is who\n" + "".join(line.format(run, "team") + "\n" for run in "yz"))
    data = json.loads(cranfield(*POOL, "--groups", "teams.txt", "-f", "json", "-q").out)
    assert data["pool_depth"] == 2
    assert data["runs"] == {"x": {"P@2": 0.25}, "y": {"P@2": 0.5}, "z": {"P@2": 0.5}}
    assert [one["P@2"] for one in data["per_topic"]] == [0.5, 0, 0.5, 0.5, 0.5, 0.5]


@pytest.mark.usefixtures("files")
def test_csv_and_tsv_hold_one_table(cranfield: Cranfield) -> None:
    losses = list(csv.reader(cranfield(*POOL, "-f", "csv").out.splitlines()))
    assert losses[0] == ["run", "P@2"]
    assert losses[-1] == ["(all runs)", str(0.5 / 6)]
    topics = list(csv.reader(cranfield(*POOL, "-f", "csv", "-q").out.splitlines()))
    assert topics[:2] == [["run", "topic", "P@2"], ["x", "q1", "0.5"]]
    adjusted = list(csv.reader(cranfield(*POOL, "-f", "tsv", "--adjust", "new.run").out.splitlines(), delimiter="\t"))
    assert adjusted == [["run", "P@2", "P@2 adjusted"], ["new", "0.5", str(0.5 + 0.5 / 6)]]
    assert json.loads(cranfield(*POOL, "-f", "json", "--digits", "2").out)["loss"] == {"P@2": 0.08}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("format", ["latex", "markdown", "html"])
def test_latex_markdown_and_html_hold_all_tables(cranfield: Cranfield, format: str) -> None:
    result = cranfield(*POOL, "-f", format, "--adjust", "new.run")
    assert result.code == 0
    assert "0.0833" in result.out
    assert "0.5833" in result.out


def test_undefined_numbers_are_null_in_json(cranfield: Cranfield, files: Path) -> None:
    """Only x found the one relevant document: without it there is no AP."""
    Path("one.txt").write_text("q1 0 b 1\n")
    result = cranfield("pool", "bias", "one.txt", "x.run", "y.run", "--pool-depth", "2", "-m", "AP", "-f", "json")
    assert json.loads(result.out)["runs"]["x"] == {"AP": None}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("x.run", "--pool-depth", "2"), 2, "1 pooled run given, must be 2 or more"),
        (("x.run", "y.run"), 2, "missing option --pool-depth"),
        (("x.run", "y.run", "--pool-depth", "0"), 2, "--pool-depth == 0"),
        (("x.run", "y.run", "--pool-depth", "2", "--adjust", "x.run"), 2, "run 'x' is pooled"),
        (("x.run", "y.run", "--pool-depth", "2", "--adjust-qrels", "qrels.txt"), 2, "add --adjust RUN"),
        (("x.run", "y.run", "--pool-depth", "2", "--digits", "-1"), 2, "digits == -1"),
        (("x.run", "none.run", "--pool-depth", "2"), 1, "none.run"),
        (("x.run", "y.run", "--pool-depth", "2", "--groups", "three"), 1, "three:2: 3 columns, expected 2: run group"),
        (("x.run", "y.run", "--pool-depth", "2", "--groups", "twice"), 1, "twice:2: run 'x' appears twice"),
        (("x.run", "y.run", "--pool-depth", "2", "--groups", "other"), 1, "1 run is not pooled: w; the pooled runs"),
        (("x.run", "y.run", "--pool-depth", "2", "--groups", "same"), 2, "all pooled runs are from one group"),
        (("-", "-", "--pool-depth", "2"), 2, "standard input can be read only once"),
    ],
)  # fmt: skip
def test_bad_input_is_an_error(cranfield: Cranfield, words: tuple[str, ...], code: int, message: str) -> None:
    for name, text in {"three": "x a\ny b c\n", "twice": "x a\nx b\n", "other": "w a\n", "same": "x a\ny a\n"}.items():
        Path(name).write_text(text)
    result = cranfield("pool", "bias", "qrels.txt", *words)
    assert (result.code, result.out) == (code, "")
    assert message in result.err


@pytest.mark.usefixtures("files")
def test_runs_with_the_same_tag_are_named_by_their_file(cranfield: Cranfield) -> None:
    Path("y.run").write_text(written(POOLED["y"], "x"))
    assert list(json.loads(cranfield(*POOL, "-f", "json").out)["runs"]) == ["x", "y", "z"]


def test_help_explains_the_two_ways_to_adjust(cranfield: Cranfield) -> None:
    result = cranfield("pool", "bias", "--help")
    assert result.code == 0
    assert "--adjust-qrels" in result.out
    assert "$ cranfield pool bias common.qrels" in result.out
