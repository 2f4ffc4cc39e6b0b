"""`cranfield meta correlate`, `concord` and `ranks`, as a user meets them."""

import csv
import io
import json
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.meta.agreement.concordance import concord
from cranfield.meta.agreement.correlation import correlate
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield

FAST = ("--sample", "--quiet", "-B", "20")


@pytest.mark.parametrize("verb", ["correlate", "concord", "ranks"])
def test_without_arguments_a_usage_is_printed(cranfield: Cranfield, verb: str) -> None:
    done = cranfield("meta", verb)
    assert done.code == 2
    assert f"usage: cranfield meta {verb}" in done.err


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_json_has_the_numbers_of_python(cranfield: Cranfield, collection: Sample) -> None:
    data = json.loads(cranfield("meta", "correlate", *FAST, "-m", "AP,RR,P@5", "-f", "json").out)
    scores = cf.evaluate(collection.qrels, list(collection.runs), ["AP", "RR", "P@5"])
    result = correlate(scores, resamples=20)
    assert [row["tau-b"] for row in data["rows"]] == pytest.approx(result.columns()["value"].tolist())
    assert [row["tau-b low"] for row in data["rows"]] == pytest.approx(result.columns()["low"].tolist())


@pytest.mark.parametrize("format", ["table", "csv", "tsv", "latex", "markdown", "html"])
def test_every_format_can_be_printed(cranfield: Cranfield, format: str) -> None:
    words = ("-f", format, "-c", "tau-a,tau-ap-symmetric,rbo", "-m", "AP,RR,P@5")
    done = cranfield("meta", "correlate", *FAST, *words)
    assert (done.code, done.err) == (0, "")
    if format in ("csv", "tsv"):
        rows = list(csv.DictReader(io.StringIO(done.out), delimiter="," if format == "csv" else "\t"))
        assert len(rows) == 3
        assert {"tau-a", "tau-a low", "rbo high", "p (tau-a)"} <= set(rows[0])


def test_distances_gains_and_pairs(cranfield: Cranfield) -> None:
    assert "d_rank" in cranfield("meta", "correlate", *FAST, "-c", "d-rank").out
    done = cranfield("meta", "correlate", *FAST, "-m", "nDCG,Q", "--gains", "3:2:1,1:1:1", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["measure"] for row in rows] == ["nDCG", "Q"]
    assert float(rows[0]["3:2:1"]) == pytest.approx(1)
    assert "[" in cranfield("meta", "correlate", *FAST, "--pairs").out


def test_the_figure_is_drawn(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "heat.csv"
    assert cranfield("meta", "correlate", *FAST, "-m", "AP,RR", "-c", "tau-b,tau-ap", "--plot", str(path)).code == 0
    lines = path.read_text().splitlines()
    assert lines[0] == "coefficient,row,column,value,low,high"
    assert [line.split(",")[0] for line in lines[1:]] == [
        "Kendall's τ_b",
        *["τ_AP"] * 2,
    ]
    assert cranfield("meta", "correlate", *FAST, "-m", "AP,RR", "-c", "d-rank", "--plot", str(path)).code == 0
    assert path.read_text().splitlines()[0] == "row,column,value"
    path = tmp_path / "heat.svg"
    assert cranfield("meta", "correlate", *FAST, "-m", "AP,RR", "-c", "d-rank", "--plot", str(path)).code == 0
    assert "Distance between rankings of systems" in path.read_text()


def test_from_saved_scores(cranfield: Cranfield, tmp_path: Path) -> None:
    saved = tmp_path / "scores.csv"
    assert cranfield("eval", "--sample", "--quiet", "-m", "AP,RR,P@5", "-q", "-f", "csv", "-o", str(saved)).code == 0
    words = ("-B", "20", "-f", "csv", "--quiet")
    fresh = cranfield("meta", "correlate", "--sample", "-m", "AP,RR,P@5", *words)
    assert cranfield("meta", "correlate", "--scores", str(saved), *words).out == fresh.out
    fresh = cranfield("meta", "concord", "--sample", "-m", "AP,RR", "--gold-measure", "P@5", "-f", "csv", "--quiet")
    kept = cranfield(
        "meta", "concord", "--scores", str(saved), "-m", "AP,RR", "--gold-measure", "P@5", "-f", "csv", "--quiet"
    )
    assert kept.out == fresh.out


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_concordance_with_two_gold_standards(cranfield: Cranfield, collection: Sample) -> None:
    words = ("meta", "concord", "--sample", "--quiet", "-m", "AP,Q,RR", "--gold-measure", "P@5,P@10")
    data = json.loads(cranfield(*words, "-f", "json").out)["rows"]
    scores = cf.evaluate(collection.qrels, list(collection.runs), ["AP", "Q", "RR", "P@5", "P@10"])
    result = concord(scores, ["P@5", "P@10"]).columns()
    assert [row["wins"] for row in data] == result["wins"].tolist()
    assert {row["gold"] for row in data} == {"P@5", "P@10", "P@5 AND P@10"}
    shown = cranfield(*words, "--why").out
    assert shown.count("Concordance with") == 3
    assert shown.count("pairs of lists") == 1


def test_agreement_with_people(cranfield: Cranfield, tmp_path: Path) -> None:
    judged = tmp_path / "judged.csv"
    judged.write_text("topic,A,B,preferred\n101,bm25,dense,A\n102,bm25,dense,dense\n103,bm25,dense,tie\n")
    done = cranfield("meta", "concord", *FAST, "-m", "AP,RR", "--preferences", str(judged), "-f", "json")
    data = json.loads(done.out)
    assert {row["measure"] for row in data["rows"]} == {"AP", "RR"}
    assert all(row["agree"] + row["tied"] + row["disagree"] == 2 for row in data["rows"])
    assert "1 judgment left out: neither list was preferred" in data["notes"]


def test_preferred_ranks(cranfield: Cranfield) -> None:
    done = cranfield("meta", "ranks", "--sample", "--quiet", "-f", "json")
    rows = json.loads(done.out)["rows"]
    assert len(rows) == 24
    assert set(rows[0]) == {"topic", "max rp", "r1", "run", "grade 3", "grade 2", "grade 1"}
    by_run = json.loads(cranfield("meta", "ranks", "--sample", "--quiet", "--by-run", "-f", "json").out)["rows"]
    assert [row["run"] for row in by_run] == ["bm25", "coord", "dense", "fusion"]
    assert all(row["max r1"] <= row["max rp"] for row in by_run)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("correlate", "--sample", "-c", "tua-b"), "did you mean 'tau-b'"),
        (("correlate", "--sample", "-c", "tau-b,d-rank"), "give it alone"),
        (("correlate", "--sample", "-m", "AP"), "1 measure, must be 2 or more"),
        (("correlate", "--sample", "--gains", "1:1", "-m", "Q"), "2 numbers, there are 3 grades"),
        (("correlate", "--scores", "x.csv", "--gains", "1:1"), "--gains needs judgments and runs"),
        (("correlate", "--sample", "-c", "rbo", "-p", "1.5"), "--persistence == 1.5"),
        (("correlate", "--sample", "--format", "xml"), "--format"),
        (("correlate", "--sample", "--plot", "x.doc"), "x.doc"),
        (("concord", "--sample"), "either --gold-measure MEASURE"),
        (("concord", "--sample", "-m", "AP", "--gold-measure", "P@5"), "1 measure to compare"),
        (("concord", "--sample", "--preferences", "nowhere.csv"), "nowhere.csv"),
        (("ranks", "qrels.txt"), "no run to score"),
    ],
)
def test_wrong_options_are_errors(cranfield: Cranfield, words: tuple[str, ...], message: str) -> None:
    done = cranfield("meta", *words)
    assert done.code in (1, 2)
    assert message in done.err


@pytest.mark.parametrize("verb", [("meta", "power"), ("meta", "swap"), ("meta", "correlate"), ("compare",)])
def test_the_name_of_a_measure_in_a_file_of_scores_imports_nothing(
    cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    trap = f"trap_{verb[-1]}"  # another one each time: what is imported stays so
    (tmp_path / f"{trap}.py").write_text("open('imported', 'w').close()\n")
    rows = [f"{m},{r},{t},0.{i}" for m in (f"{trap}:go", "AP") for i, r in enumerate("abc") for t in "123"]
    (tmp_path / "s.csv").write_text("\n".join(["measure,run,topic,value", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    assert cranfield(*verb, "--scores", "s.csv", "--quiet").code == 0
    assert not (tmp_path / "imported").exists()
