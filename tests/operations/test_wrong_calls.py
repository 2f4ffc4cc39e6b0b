"""What people call wrongly is an error, or a warning, that names the way."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import cranfield as cf

QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
RUN = {"q1": {"d1": 0.9, "d2": 0.5}, "q2": {"d3": 0.1}}
SCORES = cf.Scores.from_matrix([[0.2, 0.5], [0.3, 0.1]], runs=["a", "b"], topics=["q1", "q2"], measure="AP")
f: Any = cf
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a measure in small letters": (lambda: f.ndcg, "the measure is cf.nDCG"),
    "a measure of trec_eval": (lambda: f.map, "the measure is cf.AP"),
    "a measure in capital letters": (lambda: f.MAP, "the measure is cf.AP"),
    "a measure in a word": (lambda: f.precision, "the measure is cf.P"),
    "a measure with a cutoff": (lambda: f.ndcg_cut_10, 'the measure is cf.parse("nDCG@10")'),
    "a misspelled function": (lambda: f.evalaute, "did you mean cf.evaluate?"),
    "a misspelled function of a group": (lambda: f.labels.mrege, "did you mean 'merge'?"),
    "a cutoff in brackets": (lambda: f.nDCG(10), "a cutoff is written nDCG @ 10"),
    "a cutoff where the grade stands": (lambda: f.P(5), "a cutoff is written P @ 5"),
    "a cutoff by a name": (lambda: f.nDCG(k=10), "a cutoff is written nDCG @ 10"),
    "a cutoff in quotes": (lambda: f.nDCG @ "10", "the cutoff must be a number"),
    "a cutoff of 0": (lambda: f.nDCG @ 0, "must be a whole number, 1 or more"),
    "a parameter in quotes": (lambda: f.AP(rel="1"), "rel == '1', must be a number"),
    "an unknown measure": (lambda: f.evaluate(QRELS, RUN, "nDGC@10"), "did you mean nDCG?"),
    "a number for a measure": (lambda: f.evaluate(QRELS, RUN, 10), "10 is not a measure"),
    "a function for a measure": (lambda: f.evaluate(QRELS, RUN, len), "is not a measure"),
    "runs before judgments": (lambda: f.evaluate(RUN, QRELS), "Judgments come first: evaluate(qrels, runs)"),
    "named runs before judgments": (lambda: f.evaluate({"mine": RUN}, QRELS), "judgments come first"),
    "runs before judgments in compare": (lambda: f.compare(RUN, QRELS, "AP"), "Judgments come first"),
    "runs before judgments in explain": (lambda: f.explain(RUN, QRELS, "q1", "AP"), "Judgments come first"),
    "judgments alone": (lambda: f.evaluate(QRELS), "missing 1 required positional argument: 'runs'"),
    "judgments alone in topics": (lambda: f.topics(QRELS), "these may be judgments"),
    "judgments alone in leaderboard": (lambda: f.leaderboard(QRELS), "give the runs too"),
    "judgments alone in report": (lambda: f.report(QRELS), "give the runs too"),
    "judgments alone in meta": (lambda: f.meta.swap(QRELS), "give the runs too"),
    "judgments by name alone": (lambda: f.compare(qrels=QRELS), "give runs too"),
    "a run too deep": (lambda: f.evaluate(QRELS, {"a": {"b": RUN}}), "one level too many"),
    "a run too shallow": (lambda: f.evaluate(QRELS, {"d1": 0.9}), "one level too few"),
    "judgments too shallow": (lambda: f.evaluate({"d1": 1}, RUN), "one level too few"),
    "a list for judgments": (lambda: f.evaluate(["d1", "d2"], RUN), "expected a dict, a named tuple or"),
    "documents for runs": (lambda: f.evaluate(QRELS, ["d1", "d2"]), "d1: no such file"),
    "a run of lists": (lambda: f.evaluate(QRELS, {"mine": [["d1"], ["d3"]]}), "expected (topic, doc, score)"),
    "pairs for a run": (lambda: f.evaluate(QRELS, [("q1", "d1")]), "expected (topic, doc, score)"),
    "words for scores": (lambda: f.evaluate(QRELS, {"q1": {"d1": "high"}}), "the score is 'high', expected a number"),
    "no score": (lambda: f.evaluate(QRELS, {"q1": {"d1": None}}), "the score is None, expected a number"),
    "other topics": (lambda: f.evaluate(QRELS, {"x": {"d1": 1.0}}), "none of its topics is judged"),
    "nothing judged": (lambda: f.evaluate({}, {}), "no document is judged"),
    "no runs": (lambda: f.evaluate(QRELS, []), "no runs given"),
    "no file": (lambda: f.evaluate("no.qrels", "no.run"), "no.qrels: no such file"),
    "an unknown rule": (lambda: f.evaluate(QRELS, RUN, missing="none"), "must be one of 'zero', 'skip'"),
    "an unknown baseline": (lambda: f.compare(SCORES, "AP", baseline="x"), "no system 'x'; there are 'a', 'b'"),
    "None for scores": (lambda: f.compare(None), "give scores, or judgments and runs"),
    "a number for scores": (lambda: f.topics(5), "must be Scores, a file, a frame"),
    "a measure that was not computed": (lambda: f.meta.swap(SCORES, "RR"), "no measure 'RR'; there are 'AP'"),
    "a level above 1": (lambda: f.compare(SCORES, "AP", alpha=5), "must be above 0 and below 1"),
    "one run to compare": (lambda: f.compare(QRELS, RUN, "AP"), "a comparison needs 2 or more"),
    "an unknown topic": (lambda: f.explain(QRELS, RUN, "q9", "AP"), "judged topics are q1, q2"),
    "a number for labels": (lambda: f.labels.merge(5), "int cannot be read as labels"),
    "a misspelled method": (lambda: f.labels.merge([("t", "a", 1)], "majorty"), "did you mean 'majority'?"),
    "a gate without conditions": (lambda: f.gate(QRELS, RUN), "nothing to check: give a baseline"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_names_the_way(name: str) -> None:
    call, message = WRONG[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said, raised_in = [], ""
        try:
            call()
        except Exception as error:
            raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
            said = [str(error), *getattr(error, "__notes__", ())]
    assert "numpy" not in raised_in
    assert message in "\n".join([*said, *(str(warning.message) for warning in caught)])


def test_what_is_meant_is_understood() -> None:
    assert cf.evaluate({1: {"d1": 1}}, {"1": {"d1": 0.5}}, "AP").means().item() == 1.0  # 1 and "1" are one topic
    assert cf.evaluate({"1": {7: 1}}, {"1": {"7": 0.5}}, "AP").means().item() == 1.0
    assert cf.evaluate(QRELS, RUN, "nDCG@10, AP").measures == ("nDCG@10", "AP")
    assert cf.evaluate(QRELS, RUN, "nDCG@10 AP").measures == ("nDCG@10", "AP")
    assert cf.evaluate(QRELS, RUN, ["map", "ndcg_cut_10"]).measures == ("AP", "nDCG@10")
    assert cf.explain({"1": {"d1": 1}}, {"1": {"d1": 0.5}}, 1, "AP").score == 1.0  # type: ignore[arg-type]


def test_fractional_grades_and_whole_scores_are_no_reason_to_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cf.evaluate({"1": {"d1": 0.5, "d2": 1}}, {"1": {"d1": 3, "d2": 2}}, "nDCG")
