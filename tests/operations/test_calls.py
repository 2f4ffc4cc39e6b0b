"""Operations by JSON: what is asked for by name is what the function returns."""

from __future__ import annotations

import json

import pytest

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.meta.stability.swap import swap_rates
from cranfield.operations import call, known_operations, schema

RUNS = [run for run in cf.sample().runs if "dense" not in run]
"""Those that have all topics."""
pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.NotedWarning")
SAMPLE = {"qrels": cf.sample().qrels, "runs": RUNS, "measures": ["AP", "RR"]}


def test_a_call_answers_as_the_function_does() -> None:
    scores = cf.evaluate(cf.sample().qrels, RUNS, ["AP", "RR"])
    answer = call("swap_rates", json.loads(json.dumps({"scores": SAMPLE, "resamples": 200, "sizes": [5, 9]})))
    assert answer == swap_rates(scores, resamples=200, sizes=[5, 9]).to_dict()
    json.dumps(answer, allow_nan=False)


def test_judgments_and_runs_are_an_input_of_everything_that_takes_scores() -> None:
    scores = cf.evaluate(cf.sample().qrels, RUNS, ["AP", "RR"])
    assert call("compare", {"data": SAMPLE, "measure": "AP"}) == cf.compare(scores, "AP").to_dict()


def test_rows_and_files_are_inputs() -> None:
    labels = [["t1", "ann", 1], ["t1", "ben", 1], ["t2", "ann", 0]]
    answer = call("merge", {"labels": labels, "method": "majority"})
    assert [row["label"] for row in answer["rows"]] == ["1", "0"]


@pytest.mark.parametrize("name", known_operations())
def test_every_operation_has_a_schema_that_is_json(name: str) -> None:
    described = schema(name)
    json.dumps(described)
    assert described["description"]
    assert described["input"]["properties"]
    assert all(entry["description"] for key, entry in described["input"]["properties"].items() if "type" in entry), name


@pytest.mark.parametrize(
    ("name", "request_", "message"),
    [
        ("swap", {}, "no operation 'swap'"),
        ("swap_rates", {}, "swap_rates: scores missing"),
        ("swap_rates", {"scores": SAMPLE, "sizs": 3}, "no input or setting 'sizs'; did you mean 'sizes'?"),
        ("swap_rates", {"scores": SAMPLE, "rate": 2}, "rate == 2, must be between 0 and 1"),
        ("swap_rates", {"scores": 3}, "scores is 3, must be a file, or an object"),
        ("swap_rates", {"scores": {**SAMPLE, "threads": 2}}, "scores: no input 'threads'"),
        ("swap_rates", {"scores": {**SAMPLE, "measures": ["os:system"]}}, "os:system"),
    ],
)
def test_a_wrong_request_is_an_error_that_names_it(name: str, request_: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        call(name, request_)
