"""`cranfield fairness`: by-hand numbers, every format, and errors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """d1 is north, d2 south, d3 half of each; d1 and d2 are relevant. The runs differ in which of them is first."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q 0 d1 1\nq 0 d2 1\nq 0 d3 0\n")
    Path("one.run").write_text("q Q0 d1 1 3 one\nq Q0 d2 2 2 one\nq Q0 d3 3 1 one\n")
    Path("two.run").write_text("q Q0 d2 1 3 two\nq Q0 d1 2 2 two\nq Q0 d3 3 1 two\n")
    Path("groups.txt").write_text("doc group weight\nd1 north 1\nd2 south 1\nd3 north 0.5\nd3 south 0.5\n")
    Path("few.txt").write_text("d1 north\nd2 south\n")
    Path("empty.txt").write_text("")
    Path("wide.txt").write_text("d1 north\nd2 south 1 x\n")
    return "fairness", "qrels.txt", "one.run", "two.run"


def records(text: str) -> dict[tuple[str, str, str], float]:
    rows = csv.DictReader(io.StringIO(text))
    return {(row["run"], row["group"], row["measure"]): float(row["value"] or "nan") for row in rows}


def test_numbers_by_hand(cranfield: Cranfield, files: tuple[str, ...]) -> None:
    result = records(cranfield(*files, "--groups", "groups.txt", "--step", "2", "-f", "csv").out)
    # attention 1, 1/2, 1/4: north gets 1 + 1/8, south 1/2 + 1/8; fair are 3/4 + 1/8 for both
    assert result["one", "north", "exposure"] == 1.125
    assert result["one", "south", "share"] == pytest.approx(0.625 / 1.75)
    assert result["one", "north", "members"] == 1.5
    assert result["one", "north", "per_merit"] == pytest.approx((1.125 / 1.5) / (1 / 1.5))
    assert result["one", "", "EE-D"] == pytest.approx(1.125**2 + 0.625**2)
    assert result["one", "", "EE-R"] == pytest.approx(0.875 * 1.75)
    assert result["one", "", "EE-L"] == pytest.approx(2 * 0.25**2)
    assert result["one", "", "equity"] == pytest.approx(2 * (1.125 / 1.75 - 0.5))
    assert result["one", "", "AWRF"] == pytest.approx(1)  # TREC's attention is the same at ranks 1 and 2
    # d1 above d2, and above half of d3; half of d3 is not above d2: 1.5 of 1 * 1 + 1 * 0.5 + 0.5 * 1
    assert result["one", "north", "parity"] == pytest.approx(0.75)
    assert result["one", "north", "rND"] == 0  # one half of the first two, as of all
    assert result["two", "south", "exposure"] == 1.125


def test_draws_of_one_policy_are_evaluated_together(cranfield: Cranfield, files: tuple[str, ...]) -> None:
    result = records(cranfield(*files, "--groups", "groups.txt", "--draws", "-m", "EE-L", "-f", "csv").out)
    assert result == {("policy of 2 draws", "", "EE-L"): 0}
    alone = records(cranfield(*files, "-m", "EE-L", "-f", "csv").out)  # of documents: 1 and 1/2 where 3/4 are due
    assert alone["one", "", "EE-L"] == pytest.approx(2 * 0.25**2)
    same = records(cranfield(*files, "--groups", "groups.txt", "--individual", "-m", "EE-L", "-f", "csv").out)
    assert same == alone


def test_the_reader_can_be_chosen(cranfield: Cranfield, files: tuple[str, ...]) -> None:
    words = (*files, "--groups", "groups.txt", "-m", "exposure", "-f", "csv")
    assert records(cranfield(*words, "--persistence", "0.9").out)["one", "south", "exposure"] == pytest.approx(
        0.9 + 0.81 / 2
    )
    stopping = records(cranfield(*words, "--persistence", "1", "--stop", "0.5").out)
    assert stopping["one", "south", "exposure"] == pytest.approx(0.5 + 0.25 / 2)
    assert records(cranfield(*words, "--depth", "1").out)["one", "south", "exposure"] == 0
    trec = records(cranfield(*words, "--attention", "trec").out)
    assert trec["one", "north", "share"] == trec["one", "south", "share"] == 0.5


def test_a_custom_target(cranfield: Cranfield, files: tuple[str, ...]) -> None:
    result = cranfield(*files, "--groups", "groups.txt", "-m", "AWRF", "--target", "north=1,south=0")
    # JS of (1/2, 1/2) and (1, 0) in nats: 0.2158; the table shows 1 - 0.2158
    assert "0.7842" in result.out
    assert "AWRF: target: the given shares" in result.out


def test_per_topic_and_every_format(cranfield: Cranfield, files: tuple[str, ...]) -> None:
    words = (*files, "--groups", "groups.txt", "-q")
    table = cranfield(*words).out
    assert table.count("topic ") == 2
    assert "equity is summed over the topics in order" in table
    for format in ("tsv", "latex", "markdown", "html"):
        result = cranfield(*words, "-f", format)
        assert result.code == 0
        assert ("note: equity is summed over the topics in order" in result.err) == (
            format == "tsv"
        )  # has no room for it
        assert (result.err == "") == (format != "tsv")
        assert "EE-L" in result.out
    rows = json.loads(cranfield(*words, "-m", "EE-L", "-f", "json").out)["rows"]
    assert rows[0] == {"run": "one", "topic": "q", "group": "", "measure": "EE-L", "value": 0.125}


def test_documents_without_a_group_are_counted_and_named(cranfield: Cranfield, files: tuple[str, ...]) -> None:
    result = cranfield(*files, "--groups", "few.txt")
    assert result.code == 1
    assert "few.txt: no group for 1 document of the runs and the judgments: d3; add them" in result.err
    result = cranfield(*files, "--groups", "few.txt", "--missing-group", "unknown", "-m", "exposure")
    assert "no group for 1 document of the runs and the judgments, put in 'unknown': d3" in result.err
    assert "unknown" in result.out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("--groups empty.txt", 1, "empty.txt: is empty, expected lines of doc group [weight]"),
        ("--groups wide.txt", 1, "wide.txt:2: 4 columns, expected 2 as on line 1: doc group [weight]"),
        ("--groups none.txt", 1, "none.txt: no such file"),
        ("-m AWRF", 2, "AWRF needs the groups of documents: a file of lines 'doc group'"),
        ("-m nDCG", 2, "measure == 'nDCG', must be one of 'AWRF'"),
        ("--groups groups.txt --protected east", 2, "group == 'east', must be one of 'north', 'south'"),
        ("--groups groups.txt --target east=1", 2, "target: no group 'east'"),
        ("--groups groups.txt --target north", 2, "--target north: expected shares such as"),
        ("--groups groups.txt --target north=1,north=2", 2, "group 'north' is given twice"),
        ("--groups groups.txt -m EE-L --protected north", 2, "protected == ['north'] applies only to FA*IR, rKL, rND"),
        ("--groups groups.txt --step 1", 2, "step == 1, must be 2 or more"),
        ("--attention flat", 2, "kind == 'flat', must be one of"),
        ("--attention log --persistence 0.5", 2, "--persistence 0.5 is for geometric attention"),
        ("--missing drop", 2, "missing == 'drop', must be one of"),
    ],
)
def test_errors_are_explained(
    words: str, code: int, message: str, cranfield: Cranfield, files: tuple[str, ...]
) -> None:
    result = cranfield(*files, *words.split())
    assert result.code == code
    assert message in result.err


def test_eval_and_measures_mention_the_verb(cranfield: Cranfield, files: tuple[str, ...]) -> None:
    result = cranfield("eval", *files[1:], "-m", "AWRF")
    assert (result.code, "AWRF is a measure of fairness: see `cranfield fairness`" in result.err) == (2, True)
    assert "cranfield fairness: AWRF, EE-D" in cranfield("measures").out
    page = " ".join(cranfield("fairness", "--help").out.split())
    assert "rKL" in page
    assert "geometric, log or trec (1, p, p^2, ...;" in page  # Attention("geometric").of starts at 1, p ** 0
