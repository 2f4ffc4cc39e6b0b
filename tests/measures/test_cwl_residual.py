"""The residual of C/W/L measures: what unjudged documents, and ranks below the end of the list, could add."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from cranfield.evaluation.evaluator import evaluate
from cranfield.measures import BPM, CWL, INSQ, INST, SDCG, CWLMeasure, Measure, RBPres, parse
from tests.measures.test_cwl import PEERS, Graded, Ranking
from tests.oracles.joined import graded_lists

close = pytest.approx


def test_the_residual_of_a_fixed_C_is_the_weight_of_unjudged_ranks() -> None:
    # W = 1/2, 1/4, 1/8, ...: rank 2 is unjudged, and the list ends at rank 3
    assert CWL(p=0.5, report="residual").of([1, None, 1]) == close(1 / 4 + 1 / 8)
    # @2: W = 2/3, 1/3, for the discounts 1 and 1/log2(3) scaled; the unjudged first rank
    weight = 1 / (1 + 1 / np.log2(3))
    assert SDCG(report="residual", cutoff=2).of([None, 0]) == close(weight)


def test_the_residual_is_the_change_if_all_unjudged_documents_gain_1() -> None:
    # BPM, T = 1: with (None, 1) read as (0, 1) 1/2 per document; as (1, 1) the first is enough: 1
    assert BPM(report="residual").of([None, 1]) == close(1 - 1 / 2)


@settings(max_examples=50, deadline=None)
@given(graded=graded_lists())
def test_the_residual_of_RBP_is_RBPres(graded: Graded) -> None:
    for p in (0.0, 0.5, 0.8):
        assert CWL(p=p, report="residual").of(*graded) == close(RBPres(p=p).of(*graded), abs=1e-9)


@pytest.mark.parametrize("measure", [INSQ(), SDCG(), INST(T=2), CWL(continuation="P")], ids=str)
def test_no_judgment_of_unjudged_documents_adds_more_than_the_residual(measure: CWLMeasure) -> None:
    measure = measure.replace(cutoff=4, max_grade=2)
    residual = measure.replace(report="residual")
    for grades in product((None, 0, 1, 2), repeat=3):
        free = [at for at in range(4) if at >= len(grades) or grades[at] is None]
        for judged in product((0, 1, 2), repeat=len(free)):
            grade_at = dict(zip(free, judged, strict=True))
            full = [grade_at.get(at, grade) for at, grade in enumerate([*grades, None])]
            assert measure.of(full) <= measure.of(grades) + residual.of(grades) + 1e-12


@pytest.mark.peers
@pytest.mark.parametrize(
    ("peer", "measure"), PEERS, ids=lambda parameter: str(parameter) if isinstance(parameter, Measure) else ""
)
def test_residuals_agree_with_cwl_eval(peer: Any, measure: CWLMeasure) -> None:
    rng = np.random.default_rng(11)
    peer.residuals = True
    try:
        for _ in range(4):
            gains = [*rng.choice([0.0, 0.0, np.nan, 0.25, 0.5, 1.0], rng.integers(0, 25)).tolist(), 0.5]
            peer.measure(Ranking("1", np.array(gains), np.ones(len(gains))))
            grades = [None if np.isnan(gain) else gain for gain in gains]
            actual = measure.replace(max_grade=1, report="residual").of(grades)
            assert actual == close(peer.residual_expected_utility, abs=1e-9)
    finally:
        peer.residuals = False


def test_the_residual_is_a_measure_like_any_other() -> None:
    measure = parse("INST(T=2,report='residual')@10")
    assert parse(str(measure)) == measure
    assert measure.properties.better == "neither"
    scores = evaluate({"q": {"d1": 1}}, {"q": {"d1": 2.0, "d2": 1.0}}, [measure])
    assert scores.values[0, 0, 0] == close(measure.of([1, None]))


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
def test_with_ties_the_residual_counts_a_share_of_each_rank() -> None:
    # d1 (judged) and d2 (not) are tied: in one order rank 2 is unknown, in the other rank 1
    in_each_order = [CWL(p=0.5, report="residual").of(grades) for grades in ([1, None], [None, 1])]
    tied = evaluate({"q": {"d1": 1}}, {"q": {"d1": 1.0, "d2": 1.0}}, ["CWL(p=0.5,report='residual')[ties]"])
    assert tied.values[0, 0, 0] == close(sum(in_each_order) / 2)
