"""Functions of scores take judgments and runs too, and say the same about both."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
QRELS = cf.sample().qrels
RUNS = [run for run in cf.sample().runs if "dense" not in run]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    SCORES = cf.evaluate(QRELS, RUNS, ["AP", "RR"])
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "compare": (cf.compare, {"baseline": "bm25"}),
    "topics": (cf.topics, {"run": "bm25"}),
    "leaderboard": (cf.leaderboard, {}),
    "anova": (cf.anova, {}),
    "power": (cf.power, {"difference": 0.05}),
    "meta.power": (cf.meta.power, {"resamples": 20}),
    "meta.swap": (cf.meta.swap, {"resamples": 20}),
    "meta.tests": (cf.meta.tests, {"simulations": 10, "tests": ["t"]}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_judgments_and_runs_give_what_their_scores_give(name: str) -> None:
    function, settings = FUNCTIONS[name]
    expected = str(function(SCORES["AP"], "AP", **settings))
    assert str(function(QRELS, RUNS, "AP", **settings)) == expected
    if name != "leaderboard":
        assert str(function(qrels=QRELS, runs=RUNS, **{measure_of(function): "AP"}, **settings)) == expected


def measure_of(function: Callable[..., Any]) -> str:
    return next(name for name in inspect.signature(function).parameters if name in ("measure", "measures"))


def test_scores_may_be_a_file_or_a_dict(tmp_path: Path) -> None:
    SCORES.write(tmp_path / "scores.csv")
    expected = cf.meta.swap(SCORES, "AP", resamples=20).to_dict()["rows"]
    assert cf.meta.swap(tmp_path / "scores.csv", "AP", resamples=20).to_dict()["rows"] == expected
    assert cf.meta.swap(SCORES["AP"].to_dict(), "AP", resamples=20).to_dict()["rows"] == expected


def test_a_gold_standard_is_computed_too() -> None:
    with_gold = cf.evaluate(QRELS, RUNS, ["AP", "RR", "P@5"])
    assert str(cf.meta.concord(QRELS, RUNS, "P@5", ["AP", "RR"])) == str(
        cf.meta.concord(with_gold, "P@5", ["AP", "RR"])
    )


def test_assessed_lists_are_joined() -> None:
    lists = cf.join(QRELS, RUNS)
    assert str(cf.meta.inform(QRELS, RUNS, "AP")) == str(cf.meta.inform(lists, "AP"))


def test_a_gate_of_scores_names_its_baseline() -> None:
    of_runs = cf.gate(QRELS, RUNS[1:], "AP", baseline=RUNS[0], margin=0.1)
    assert [check.passed for check in cf.gate(SCORES, "AP", baseline="bm25", margin=0.1).checks] == [
        check.passed for check in of_runs.checks
    ]


def test_a_report_is_a_page(tmp_path: Path) -> None:
    page = cf.report(QRELS, RUNS, "AP", sections=["summary", "leaderboard"])
    page.save(tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text("utf-8")
    of_scores = cf.report(SCORES, "AP", sections=["summary"])
    assert of_scores.sections[0].points[0] == page.sections[0].points[0]


def test_runs_without_judgments_are_an_error() -> None:
    with pytest.raises(UsageError, match="judgments and runs go together"):
        cf.compare(runs=RUNS)  # type: ignore[call-overload]
