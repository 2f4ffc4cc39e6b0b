"""Every record has text, HTML, LaTeX, JSON and frames."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield import comparison
from cranfield.comparison.gate.gate_history import Build, GateHistory
from cranfield.comparison.yearly_best import yearly_best
from cranfield.record import Record

VALUES = np.random.default_rng(0).random((12, 3))
VALUES[3, 1] = np.nan
SCORES = cf.Scores.from_matrix(VALUES, runs=["<b>a</b>", "x&y", "c|d_1%"], measure="AP")
ODD_QRELS = {str(topic): {"d1": 1, "d2": 0, "d3": 1} for topic in range(3)}
ODD_RUNS = {
    "<b>a</b>": {str(topic): {"d1": 3.0, "d2": 2.0, "d3": 1.0} for topic in range(3)},
    "x&y": {str(topic): {"d2": 3.0, "d1": 2.0} for topic in range(3)},
}
ODD_TIMES = {"<b>a</b>": {"1": 0.1, "2": 0.2, "3": 0.4}, "x&y": {"1": 0.21, "2": 0.39, "3": 0.83}}
TWO: dict[str, Any] = {"systems": ("<b>a</b>", "x&y")}
FEW: dict[str, Any] = {"resamples": 200}

RECORDS = {
    "compare": cf.compare(SCORES),
    "test": comparison.paired_t(SCORES, **TWO),
    "unpaired bootstrap": comparison.unpaired_bootstrap(SCORES, **TWO, **FEW),
    "posterior": comparison.bayesian_t(SCORES, **TWO),
    "interval": comparison.difference_interval(SCORES, **TWO, **FEW),
    "anova": comparison.two_way(SCORES),
    "mixed": comparison.mixed(SCORES),
    "residuals": comparison.residuals(comparison.two_way(SCORES)),
    "years": yearly_best([(2000, "<b>a</b>", 0.2), (2001, "x&y", 0.3), (2002, "c", 0.25)]),
    "means": comparison.two_way(SCORES).means("system"),
    "tukey": comparison.tukey(SCORES),
    "randomised tukey": comparison.randomised_tukey(SCORES, **FEW),
    "friedman": comparison.friedman(SCORES),
    "kruskal-wallis": comparison.kruskal_wallis(SCORES),
    "bootstrap anova": comparison.bootstrap_anova(SCORES, **FEW),
    "documents": comparison.document_bootstrap(ODD_QRELS, ODD_RUNS, "AP", **FEW),
    "applied": comparison.apply_test(SCORES, test="tost", margin=0.1),
    "power": comparison.topic_set_size(SCORES, difference=0.05),
    "curve": comparison.topic_set_size(SCORES, difference=0.05).curve(),
    "simulated": comparison.simulated_power(SCORES, difference=0.05, topics=20, simulations=100, **TWO),
    "times": comparison.compare_times(ODD_TIMES),
    "collections": cf.compare_collections({"first": SCORES, "second": SCORES}),
    "leaderboard": cf.leaderboard(ODD_QRELS, ODD_RUNS, "AP"),
    "gate": cf.gate(ODD_QRELS, {"x&y": ODD_RUNS["x&y"]}, "AP", baseline={"<b>a</b>": ODD_RUNS["<b>a</b>"]}),
    "history of a gate": GateHistory((Build("<b>a</b>", "2026-01-01", "x&y", True, {"AP": 0.5}, {}),), ("AP",)),
}


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_has_every_output(name: str) -> None:
    record: Any = RECORDS[name]
    rows = len(next(iter(record.columns().values())))
    assert rows == len(record.to_pandas()) == len(record.to_polars()) == record.to_arrow().num_rows
    json.loads(record.to_json(), parse_constant=lambda word: pytest.fail(f"{word} is not valid JSON"))
    assert json.loads(record.to_json()) == record.to_dict()
    assert "<table" in record._repr_html_()
    assert "<b>a" not in record._repr_html_()
    body = "\n".join(line for line in record.to_latex().splitlines() if not line.startswith("%"))
    assert r"\begin{tabular}" in body
    assert "x&y" not in body
    assert "object at 0x" not in repr(record)


def concrete(kind: type) -> set[type]:
    """The subclasses of a class that have no subclasses themselves."""
    below = [subclass for child in kind.__subclasses__() for subclass in concrete(child)]
    return set(below) or {kind}


def test_no_record_of_comparison_is_missing_above() -> None:
    known = {kind for kind in concrete(Record) if kind.__module__.startswith("cranfield.comparison.")}
    assert known == {type(record) for record in RECORDS.values()}
