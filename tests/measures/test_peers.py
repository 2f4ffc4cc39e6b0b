"""Side by side with pytrec_eval (trec_eval 9.0.8) and ir_measures on random collections."""

from __future__ import annotations

import math
import platform
from functools import cache
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import assume, example, given, settings

from cranfield.assessed.lists import Assessed
from cranfield.measures import AP, F, Measure, P, SetF, bpref, nDCG, parse, parse_many
from tests.oracles.joined import collections, joined

pytestmark = pytest.mark.peers

NOT_PER_TOPIC_NUMBERS = {"relstring", "runid", "num_q", "gm_map", "gm_bpref"}
TREC_EVAL = sorted(pytrec_eval.supported_measures - NOT_PER_TOPIC_NUMBERS)

Collection = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]


Values = dict[str, dict[str, float]]


def trec_eval(collection: Collection, names: list[str], level: int = 1, judged_only: bool = False) -> Values:
    """By topic and name."""
    judgments, run = collection
    evaluator = pytrec_eval.RelevanceEvaluator(judgments, names, level, judged_only)
    found: Values = evaluator.evaluate(run)
    return found


def scores(lists: Assessed, measure: Measure) -> dict[str, float]:
    return dict(zip(lists.topics, measure.evaluate(lists).tolist(), strict=True))


def ours(collection: Collection, measure: Measure) -> dict[str, float]:
    """By topic."""
    judgments, run = collection
    return scores(joined(judgments, {"run": run}), measure)


def as_compiled(value: float) -> Any:
    """Equal to the last bit on x86. On other processors, C compilers fuse a product and a sum of trec_eval's code."""
    return value if platform.machine() in ("x86_64", "AMD64") else pytest.approx(value, rel=1e-14, abs=0)


def zero_for_undefined(value: float) -> float:
    """trec_eval gives 0 where a measure is undefined (no relevant documents); we keep the difference."""
    return 0.0 if math.isnan(value) else value


@settings(max_examples=100, deadline=None)
@given(collections())
def test_every_measure_of_trec_eval_to_the_last_bit(collection: Collection) -> None:
    judgments, run = collection
    # if all grades of a topic are negative, trec_eval reads memory of the topic before it and may hang
    assume(all(max(of.values()) >= 0 for of in judgments.values()))
    lists = joined(judgments, {"run": run})
    for level in (1, 2):
        theirs = trec_eval(collection, TREC_EVAL, level)
        for name in next(iter(theirs.values()), {}):
            mine = scores(lists, read(name, level))
            for topic, values in theirs.items():
                if name == "Rndcg" and level == 2 and values[name] == 0:
                    continue  # trec_eval uses the relevance level only to give 0 if no document reaches it
                assert zero_for_undefined(mine[topic]) == as_compiled(values[name]), name


@cache
def read(name: str, level: int) -> Measure:
    measure = parse(name)
    return measure.replace(rel=level) if "rel" in measure.parameters() else measure


@settings(max_examples=60, deadline=None)
@given(collections(lowest=-2))
def test_condensed_lists_are_trec_evals_judged_documents_only(collection: Collection) -> None:
    names = ["map", "P", "ndcg", "ndcg_cut", "recip_rank", "Rprec", "recall", "set_P", "success", "bpref", "num_ret"]
    judgments, run = collection
    assume(all(max(of.values()) >= 0 for of in judgments.values()))
    lists = joined(judgments, {"run": run})
    for topic, values in trec_eval(collection, names, judged_only=True).items():
        for name, expected in values.items():
            actual = zero_for_undefined(scores(lists, read(name, 1).view("condensed"))[topic])
            assert actual == as_compiled(expected), name


def test_a_negative_grade_is_not_a_judgment() -> None:
    # the list a, d, c without b (grade -1) and x (unjudged): AP is 1, as by trec_eval -J and judged_only of ir_measures
    collection = ({"a": {"a": 1, "b": -1, "c": 0, "d": 1}}, {"a": {"b": 5.0, "a": 4.0, "x": 3.0, "d": 2.0, "c": 1.0}})
    assert ours(collection, AP().view("condensed"))["a"] == 1
    assert trec_eval(collection, ["map"], judged_only=True)["a"]["map"] == 1
    (peer,) = ir_measures.iter_calc([ir_measures.AP(judged_only=True)], *collection)
    assert peer.value == 1
    assert ours(collection, parse("Judged"))["a"] == 3 / 5
    assert ours(collection, parse("Unjudged@2"))["a"] == 1 / 2
    # bpref and infAP follow trec_eval: an unjudged document is not counted as non-relevant
    assert ours(collection, bpref())["a"] == trec_eval(collection, ["bpref"])["a"]["bpref"] == 1


def test_a_gain_table_or_rel_makes_a_negative_grade_a_judgment() -> None:
    grades = [-1, None, 1]
    ndcg = 1 / np.log2(3)  # the document of grade -1 stays at rank 1, so grade 1 is at rank 2
    assert parse("nDCG'").of(grades) == 1
    assert parse("nDCG'(gain={-1:0,1:1})").of(grades) == pytest.approx(ndcg)
    assert parse("nDCG'(gain={-2:0,1:1})").of(grades) == 1
    assert parse("P'(rel=-1)@2").of(grades) == 1


@settings(max_examples=60, deadline=None)
@given(collections(lowest=0))
def test_gain_tables_of_trec_eval(collection: Collection) -> None:
    judgments, run = collection
    gains = {1: 4, 2: 9}  # grades 0 and 3 keep their gains, as in trec_eval -m ndcg.1=4,2=9
    regained = {t: {d: gains.get(grade, grade) for d, grade in of.items()} for t, of in judgments.items()}
    for topic, values in trec_eval((regained, run), ["ndcg", "ndcg_rel", "Rndcg", "G"]).items():
        for name, expected in values.items():
            actual = zero_for_undefined(ours(collection, parse(f"{name}_1=4,2=9"))[topic])
            assert actual == pytest.approx(expected, abs=1e-12), name


def test_set_f_of_both_peers_does_not_square_beta() -> None:
    # P = 1/2, R = 1/4: with β = 2 the F measure is 5PR/(4P + R) = .2778; both peers give 3PR/(2P + R) = .3
    collection = ({"a": {"d1": 1, "d3": 1, "d4": 1, "d5": 1}}, {"a": {"d1": 2.0, "d2": 1.0}})
    assert trec_eval(collection, ["set_F.2"])["a"]["set_F"] == pytest.approx(0.3)
    peer = list(ir_measures.iter_calc([ir_measures.SetF(beta=2.0)], *collection))
    assert [metric.value for metric in peer] == pytest.approx([0.3])
    assert ours(collection, parse("SetF(beta=2)"))["a"] == pytest.approx(0.3)
    assert ours(collection, SetF(beta=4))["a"] == pytest.approx(0.625 / (4 / 2 + 1 / 4))
    assert ours(collection, F(beta=2))["a"] == pytest.approx(5 / 8 / (4 / 2 + 1 / 4))


IR_MEASURES = [
    "AP", "AP(rel=2)", "AP@5", "AP(rel=2)@3", "MAP", "Bpref", "BPref(rel=2)", "infAP", "infAP(rel=2)",
    "IPrec@0.1", "IPrec@0.5", "IPrec(rel=2)@0.3", "nDCG", "nDCG@5", "NDCG@10", "nDCG(dcg='log2')@3",
    "nDCG(gains={0:0,1:5,2:7})@5", "nDCG(gains={1:2})", "NumRel", "NumRet", "NumRelRet", "NumRet(rel=2)",
    "P@1", "P@10", "P(rel=2)@5", "Precision@5", "R@5", "Recall@10", "R(rel=2)@5", "Rprec", "RPrec(rel=2)",
    "RR", "MRR", "RR(rel=2)", "RR@3", "SetAP", "SetAP(rel=2)", "SetF", "SetF(beta=0.5)", "SetF(rel=2,beta=2.0)",
    "SetP", "SetP(rel=2)", "SetP(relative=True)", "SetRelP", "SetR", "SetR(rel=2)", "Success@1", "Success(rel=2)@5",
]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(collections(lowest=0, ties=False))
def test_measure_strings_of_ir_measures(collection: Collection) -> None:
    judgments, run = collection
    theirs = {name: ir_measures.parse_measure(name) for name in [*IR_MEASURES, "Judged@5", "Judged"]}
    # nDCG with gains is computed alone: next to another nDCG, the peer may use the gains of one for the other,
    # depending on Python's hash seed
    alone = [[peer] for name, peer in theirs.items() if "gains" in name]
    values: dict[object, dict[str, float]] = {}
    for batch in [[peer for peer in theirs.values() if [peer] not in alone], *alone]:
        for metric in ir_measures.iter_calc(batch, judgments, run):
            values.setdefault(metric.measure, {})[metric.query_id] = metric.value
    lists = joined(judgments, {"run": run})
    for name, peer in theirs.items():
        mine = scores(lists, parse(name))
        for topic, expected in values[peer].items():
            if topic in run:
                assert zero_for_undefined(mine[topic]) == pytest.approx(expected, abs=1e-9), name


def test_ir_measures_reads_recall_points_as_trec_eval_9() -> None:
    # 21 of 30 relevant are recall 0.7, and 0.7 · 30 + 0.9 is 21.9: the peers agree with the exact definition here
    judgments = {"a": {f"d{number:02}": 1 for number in range(30)}}
    run = {"a": {f"d{number:02}": 100.0 - number for number in range(21)}}
    [metric] = ir_measures.iter_calc([ir_measures.parse_measure("IPrec@0.7")], judgments, run)
    assert metric.value == ours((judgments, run), parse("IPrec@0.7"))["a"] == 1
    # recall 0.05 of 21 needs 1.05 documents: two, but trec_eval 9 takes 1.05 + 0.9 = 1.95, one
    judgments = {"a": {f"d{number:02}": 1 for number in range(21)}}
    run = {"a": {"d01": 2.0}}
    [metric] = ir_measures.iter_calc([ir_measures.parse_measure("IPrec@0.05")], judgments, run)
    assert metric.value == ours((judgments, run), parse("iprec_at_recall_0.05"))["a"] == 1
    assert ours((judgments, run), parse("IPrec@0.05"))["a"] == 0


def test_a_topic_that_the_run_lacks_is_scored_as_an_empty_list() -> None:
    judgments, run = {"a": {"d1": 1}, "b": {"d1": 1}}, {"a": {"d1": 1.0}}
    assert set(trec_eval((judgments, run), ["map"])) == {"a"}
    assert ours((judgments, run), AP()) == {"a": 1, "b": 0}


@given(collections(lowest=0, ties=False))
@settings(max_examples=30, deadline=None)
@example(({"a": {"d1": 0}}, {"a": {"d1": 1.0}}))
def test_undefined_where_ir_measures_gives_0(collection: Collection) -> None:
    judgments, run = collection
    for metric in ir_measures.iter_calc([ir_measures.AP], judgments, run):
        relevant = sum(grade >= 1 for grade in judgments[metric.query_id].values())
        mine = ours(collection, AP())[metric.query_id]
        assert math.isnan(mine) == (relevant == 0)
        assert zero_for_undefined(mine) == pytest.approx(metric.value, abs=1e-9)


def test_trec_evals_lists_of_cutoffs() -> None:
    collection = ({"a": {"d1": 1, "d2": 2}}, {"a": {"d1": 2.0, "d3": 1.0, "d2": 0.5}})
    peer = trec_eval(collection, ["P.2,3", "ndcg_cut.1,2"])["a"]
    assert {f"P_{m.k}": ours(collection, m)["a"] for m in parse_many("P.2,3")} == {k: peer[k] for k in ("P_2", "P_3")}
    assert parse_many("ndcg_cut_1,2") == (nDCG() @ 1, nDCG() @ 2)
    assert parse_many("P") == (P(),)
