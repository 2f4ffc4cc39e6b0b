"""Data that measures need in addition to grades and ranks: the command line and Python report errors alike."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.errors import CranfieldError, CranfieldWarning
from cranfield.evaluation.explanation import explain
from tests.cli.conftest import Cranfield

FILES = {
    "qrels": "1 0 d1 1\n1 0 d2 0\n1 0 d3 2\n",
    "by-intent": "1 a d1 1\n1 a d2 0\n1 b d2 0\n1 b d3 2\n",
    "empty-intent": "1 a d1 1\n1 b d1 0\n1 b d3 0\n",
    "below-0": "1 0 d1 1\n1 0 d2 -2\n1 0 d3 2\n",
    "run": "1 Q0 d1 1 9 r\n1 Q0 d2 2 8 r\n1 Q0 d3 3 7 r\n",
    "sum": "1 a 0.6\n1 b 0.6\n",
    "more": "1 a 0.5\n1 b 0.3\n1 c 0.2\n",
    "fewer": "1 a 1\n",
    "types": "1 a nav\n1 b sideways\n",
    "lengths": "d1 500\n",
    "drawn": "1 d1 0\n1 d2 0.5\n1 d3 0.5\n",
    "some-drawn": "1 d1 0.5\n",
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)


ERRORS: list[tuple[str, str, dict[str, Any], str]] = [
    # qrels, measure, further files, message
    ("by-intent", "ERR-IA", {"intent_probabilities": "sum"}, "sum: topic '1': intent probabilities sum to 1.2, expect"),
    ("by-intent", "ERR-IA", {"intent_probabilities": "fewer"}, "fewer: no probability for intent 'b' of topic '1'"),
    (
        "by-intent",
        "DIN-nDCG",
        {"intent_types": "types"},
        "types:2: topic '1', intent 'b': type 'sideways', must be inf",
    ),
    ("qrels", "ERR-IA", {"intent_probabilities": "sum"}, "intents are described, but qrels have none"),
    ("qrels", "TBG", {"lengths": "lengths"}, "lengths: 2 retrieved documents without a length: d2, d3; add them"),
    (
        "qrels",
        "statAP",
        {"inclusion": "drawn"},
        "drawn:1: topic '1', document 'd1': probability 0, but the document is judged",
    ),
    ("qrels", "statAP", {"inclusion": "some-drawn"}, "some-drawn: no probability for 2 judged documents: 1/d2, 1/d3"),
    # nothing given: which file would supply it
    ("qrels", "TBG", {}, "TBG needs the lengths of documents: give lengths=, a file with lines 'doc length'"),
    ("qrels", "U", {}, "U needs the lengths of documents: give lengths="),
    ("qrels", "statAP", {}, "statAP needs the probability with which each document was drawn to be judged"),
    ("qrels", "statAP", {}, "give inclusion=, a file with lines 'topic doc probability'"),
    (
        "qrels",
        "I-rec",
        {},
        "the judgments have no intents: diversity measures need qrels with a line 'topic intent doc",
    ),
    ("qrels", "ADM", {}, "ADM: run 'r', topic '1': score 9 (and 2 more), must be between 0 and 1"),
    ("qrels", "ADM", {"order": "rank"}, "give runs with scores and leave out order="),
    ("qrels", "Accuracy", {}, "needs the number of documents in the collection: write Accuracy(N="),
    # gains
    ("qrels", "nDCG(gain={1:-3,2:1})", {}, "nDCG: gain == {1:-3,2:1}: grade 1 gains -3, must be 0 or more"),
    ("qrels", "INST(gain={1:-3,2:1})", {}, "INST: gain == {1:-3,2:1}: grade 1 gains -3, must be 0 or more"),
    ("by-intent", "D-nDCG(gain={1:-3,2:1})", {}, "gain == {1:-3,2:1}: grade 1 gains -3, must be 0 or more"),
    ("qrels", "nDCG(gain={1:3})", {}, "grade 2 is in the judgments but not in the gain table {1:3}; add it"),
]


def words(given: dict[str, Any]) -> list[str]:
    return [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
@pytest.mark.parametrize(("qrels", "measure", "given", "message"), ERRORS)
def test_errors_name_the_missing_file_and_the_option(
    cranfield: Cranfield, qrels: str, measure: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(CranfieldError) as raised:
        cf.evaluate(qrels, "run", [measure], **given)
    assert message in str(raised.value)
    for verb, more in (("eval", []), ("explain", ["--topic", "1"])):
        result = cranfield(verb, qrels, "run", *more, "-m", measure, *words(given))
        assert (result.code, result.out) in ((1, ""), (2, ""))
        assert message in result.err


WARNINGS: list[tuple[str, str, dict[str, Any], str]] = [
    ("by-intent", "ERR-IA", {"intent_probabilities": "more"}, "more: 1 intent has a probability but no relevant docum"),
    ("empty-intent", "ERR-IA", {}, "1 intent without relevant documents is left out: 1/b"),
    (
        "qrels",
        "TBG",
        {"lengths": "lengths", "missing_length": 80},
        "2 retrieved documents without a length: d2, d3; assumed: 80",
    ),
    (
        "qrels",
        "nDCG(gain={1:3,2:1})",
        {},
        "nDCG(gain={1:3,2:1}): grade 2 gains less than grade 1; check the gain table",
    ),
    ("by-intent", "D-nDCG(gain={1:3,2:1})", {}, "D-nDCG(gain={1:3,2:1}): grade 2 gains less than grade 1"),
    ("qrels", "CG(gain={1:5,else:linear})", {}, "CG(gain={1:5,else:linear}): grade 2 gains less than grade 1"),
    ("qrels", "CG(gain={0:2,1:1,2:3})", {}, "grade 1 gains less than grade 0"),
]


@pytest.mark.parametrize(("qrels", "measure", "given", "message"), WARNINGS)
def test_warnings_count_and_name_strange_values(
    cranfield: Cranfield, qrels: str, measure: str, given: dict[str, Any], message: str
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cf.evaluate(qrels, "run", [measure], **given)
    assert sum(message in str(one.message) and one.category is CranfieldWarning for one in caught) == 1
    for verb, more in (("eval", []), ("explain", ["--topic", "1"])):
        result = cranfield(verb, qrels, "run", *more, "-m", measure, *words(given))
        assert result.code == 0
        assert result.err.count(message) == 1


def test_several_measures_with_one_strange_table_warn_once() -> None:
    with pytest.warns(CranfieldWarning, match=r"^nDCG\(gain=.*\), Q\(gain=.*\): grade 2 gains less") as caught:
        cf.evaluate("qrels", "run", ["nDCG(gain={1:3,2:1})", "Q(gain={1:3,2:1})", "AP", "nDCG"])
    assert len(caught) == 1


def test_valid_tables_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cf.evaluate(
            "qrels",
            "run",
            ["nDCG(gain={1:1,2:1})", "nDCG(gain='exp')", "NWRR(penalty={1:9,2:3})", "BPM(cost={0:2,1:1,2:1})"],
        )
        explain("qrels", "run", "1", "nDCG(gain={1:1,2:3})")


GAINED = ["nDCG", "nDCG(gain='exp')", "DCG", "CG", "nCG", "Q", "RBP(gain='linear')", "INST", "SDCG", "ERR", "gP", "gR"]
GAINED += ["gAP", "GAP", "O", "P+", "Pmeasure", "NCU", "Rmeasure", "nERR", "SBTO", "ADM(estimate='rank')", "BPM"]


@pytest.mark.parametrize("name", GAINED)
def test_a_grade_below_0_gains_what_grade_0_does(name: str) -> None:
    # d2 has grade 0 in the one, grade -2 in the other
    below, zero = (cf.evaluate(qrels, "run", [name]).values[0, 0, 0] for qrels in ("below-0", "qrels"))
    assert below == zero
