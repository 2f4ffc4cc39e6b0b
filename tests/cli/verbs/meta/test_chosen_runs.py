"""`--top N` and `--gains` of the verbs of `cranfield meta`, as a user meets them."""

import json
from pathlib import Path

import pytest

from cranfield.samples import sample
from tests.cli.conftest import Cranfield

# `cranfield eval --sample -m AP`: fusion 0.4247, dense 0.3676, bm25 0.2924, coord 0.0918
BEST = ["bm25", "dense", "fusion"]


@pytest.mark.parametrize("verb", ["power", "swap", "correlate", "gtheory", "meaningful", "concord", "robust"])
def test_only_the_best_runs_are_used(cranfield: Cranfield, verb: str) -> None:
    extra = {"concord": ["--gold-measure", "P@5"], "robust": ["--repeats", "2"]}.get(verb, [])
    measures = ["-m", "AP,RR", "-f", "json"]
    chosen = cranfield("meta", verb, "--sample", *measures, *extra, "--top", "3")
    assert chosen.code == 0, chosen.err
    files = [f"{name}={path}" for name in BEST for path in sample().runs if Path(path).stem == name]
    named = cranfield("meta", verb, sample().qrels, *files, *measures, *extra)
    assert json.loads(chosen.out)["rows"] == json.loads(named.out)["rows"]


def test_another_measure_can_choose_them(cranfield: Cranfield) -> None:
    pairs = ("meta", "power", "--sample", "-m", "AP", "-t", "t", "--show", "pairs", "-f", "json", "--top", "3")
    for words, left_out in (((), "coord"), (("--top-by", "NumRet"), "dense")):  # dense retrieves nothing for a topic
        rows = json.loads(cranfield(*pairs, *words).out)["rows"]
        assert {row[name] for row in rows for name in ("system", "other")} == {*BEST, "coord"} - {left_out}


def test_saved_scores_are_chosen_too(cranfield: Cranfield, tmp_path: Path) -> None:
    saved = tmp_path / "scores.csv"
    saved.write_text(cranfield("eval", "--sample", "-m", "AP,RR", "-q", "-f", "csv").out)
    pairs = ("meta", "power", "-m", "RR", "-t", "t", "--show", "pairs", "-f", "json", "--top", "3")
    rows = json.loads(cranfield(*pairs, "--scores", str(saved)).out)["rows"]
    assert {row[name] for row in rows for name in ("system", "other")} == set(BEST)


def test_measures_with_other_gains_are_rows(cranfield: Cranfield) -> None:
    """Sakai 2007 Table 6: the power of a measure with several gains, the best grade first."""
    done = cranfield("meta", "power", "--sample", "-m", "Q,AP", "--gains", "10:5:1,1:1:1", "-t", "t", "-f", "json")
    power = {row["measure"]: row["share"] for row in json.loads(done.out)["rows"]}
    assert power.keys() == {"Q", "AP", "Q(gain={1:1,2:5,3:10})", "Q(gain={1:1,2:1,3:1})"}
    named = cranfield("meta", "power", "--sample", "-m", "Q(gain={1:1,2:5,3:10})", "-t", "t", "-f", "json")
    assert power["Q(gain={1:1,2:5,3:10})"] == json.loads(named.out)["rows"][0]["share"]


def test_the_best_runs_of_each_collection_are_used(cranfield: Cranfield) -> None:
    folder = Path(sample().qrels).parent
    collections = [f"--collection={name}={folder}/qrels.txt:{folder}/*.run" for name in ("news", "web")]
    done = cranfield("meta", "power", *collections, "-m", "RR", "-t", "t", "--top", "3", "-f", "json")
    assert [(row["measure"], row["pairs"]) for row in json.loads(done.out)["rows"]] == [("RR", 3)] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--top", "1"), "--top 1: must be 2 or more"),
        (("--top-by", "RR"), "add --top N"),
        (("--top", "2", "--top-by", "AP,RR"), "give one measure"),
        (("-m", "AP", "--gains", "1:1:1"), "no measure of AP has gains"),
        (("-m", "Q", "--gains", "1:1"), "2 numbers, there are 3 grades"),
    ],
)
def test_wrong_choices_say_what_to_do(cranfield: Cranfield, options: tuple[str, ...], message: str) -> None:
    done = cranfield("meta", "power", "--sample", *options)
    assert done.code == 2
    assert message in done.err
