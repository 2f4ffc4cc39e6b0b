"""The replacement for ir_measures returns the numbers and types of ir_measures."""

from __future__ import annotations

import shutil
from typing import Any

import ir_measures
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.compat import ir_measures as ours
from cranfield.errors import UsageError
from tests.compat.random_collections import DOCS, Lists, judgments, runs

QRELS = {"q1": {"d1": 2, "d2": 0, "d3": 1, "d4": 3}, "q2": {"d1": 0}, "q3": {"d1": 1}}
RUN = {"q1": {"d1": 1.0, "x": 2.0, "d3": 0.5, "d4": 0.25}, "q2": {"x": 1.0}, "q9": {"d1": 1.0}}

NAMES = [
    "nDCG", "nDCG@3", "nDCG(gains={1:5,3:7})@5", "nDCG(judged_only=True)@5", "AP", "AP(rel=2)@5",
    "AP(judged_only=True)", "P@1", "P(rel=2)@5", "P(judged_only=True)@5", "RR", "RR(rel=2)", "R@2", "R(rel=2)@5",
    "Rprec", "Rprec(rel=2)", "Bpref", "Bpref(rel=2)", "infAP", "IPrec@0.1", "IPrec(rel=2)@0.5", "Success@1",
    "Success(rel=2)@5", "SetP", "SetRelP", "SetR", "SetF", "SetF(beta=0.5)", "SetAP", "NumQ", "NumRet",
    "NumRet(rel=2)", "NumRelRet", "NumRel",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_measures_have_the_names_and_values_of_ir_measures(name: str) -> None:
    theirs, mine = ir_measures.parse_measure(name), ours.parse_measure(name)
    assert repr(mine).replace(" ", "") == repr(theirs)
    value = ir_measures.calc_aggregate([theirs], QRELS, RUN)[theirs]
    assert ours.calc_aggregate([mine], QRELS, RUN)[mine] == pytest.approx(value, abs=1e-9)
    assert ours.calc_aggregate([theirs], QRELS, RUN)[theirs] == pytest.approx(value, abs=1e-9)
    assert ours.calc_aggregate([name], QRELS, RUN)[mine] == pytest.approx(value, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(judgments(), runs())
def test_every_topic_of_random_collections(qrels: dict[str, dict[str, int]], run: Lists) -> None:
    """ir_measures computes each measure alone: together, nDCG and NumRet may get parameters of another measure."""
    chosen = [ir_measures.parse_measure(name) for name in NAMES]
    theirs = {
        (m.query_id, m.measure): m.value for measure in chosen for m in ir_measures.iter_calc([measure], qrels, run)
    }
    mine = {(m.query_id, m.measure): m.value for m in ours.iter_calc(chosen, qrels, run)}
    undefined = {key for key, value in theirs.items() if value != value}
    assert mine.keys() == theirs.keys()
    assert all(mine[key] == 0 for key in undefined)  # precision of an empty list: 0 here, 0/0 in C
    for key in theirs.keys() - undefined:
        assert mine[key] == pytest.approx(theirs[key], abs=1e-9), key


def test_judged_counts_negative_grades_as_ir_measures_does() -> None:
    qrels, run = {"q": {"a": 1, "b": -1, "c": 0}}, {"q": {"b": 5.0, "a": 4.0, "x": 3.0, "c": 1.0}}
    for name in ("Judged", "Judged@2", "AP(judged_only=True)", "P(judged_only=True)@2"):
        measure = ir_measures.parse_measure(name)
        theirs = ir_measures.calc_aggregate([measure], qrels, run)[measure]
        assert ours.parse_measure(name).calc_aggregate(qrels, run) == pytest.approx(theirs, abs=1e-9), name


def test_reciprocal_rank_with_a_cutoff() -> None:
    for cutoff in (1, 2, 10):
        theirs = ir_measures.calc_aggregate([ir_measures.RR @ cutoff], QRELS, RUN)
        assert list(ours.calc_aggregate([ours.RR @ cutoff], QRELS, RUN).values()) == list(theirs.values())


def test_err_has_gdevals_highest_grade() -> None:
    """By hand: (2^2 − 1)/16 at rank 2, then (2^1 − 1)/16 at 3 and (2^3 − 1)/16 at 4 if not stopped before."""
    stops = 3 / 16, 1 / 16, 7 / 16
    err = stops[0] / 2 + (1 - stops[0]) * (stops[1] / 3 + (1 - stops[1]) * stops[2] / 4)
    assert (ours.ERR @ 20).calc_aggregate({"q1": QRELS["q1"]}, RUN) == pytest.approx(err)


def test_rbp_is_graded_unless_a_relevance_level_is_given() -> None:
    """By hand: grades 2, 1, 3 of at most 3 at ranks 2, 3, 4 with p = 0.5; or 1 each."""
    qrels = {"q1": QRELS["q1"]}
    assert ours.RBP(p=0.5).calc_aggregate(qrels, RUN) == pytest.approx(0.5 * (2 / 3 / 2 + 1 / 3 / 4 + 3 / 3 / 8))
    assert ours.RBP(p=0.5, rel=1).calc_aggregate(qrels, RUN) == pytest.approx(0.5 * (1 / 2 + 1 / 4 + 1 / 8))


def test_frames_named_tuples_and_dicts_are_the_same() -> None:
    qrels = [ours.Qrel(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()]
    run = [ours.ScoredDoc(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
    expected = ours.calc([ours.nDCG @ 10, ours.AP], QRELS, RUN)
    assert ours.calc([ours.nDCG @ 10, ours.AP], iter(qrels), iter(run)) == expected
    assert ours.calc([ours.nDCG @ 10, ours.AP], pandas.DataFrame(qrels), pandas.DataFrame(run)) == expected
    assert ours.calc([ours.nDCG @ 10, ours.AP], QRELS, []).aggregated == {ours.nDCG @ 10: 0.0, ours.AP: 0.0}


def test_results_have_the_types_of_ir_measures() -> None:
    results = ours.calc([ours.AP], QRELS, RUN)
    assert results._fields == ir_measures.CalcResults._fields
    assert [metric.query_id for metric in results.per_query] == ["q1", "q2", "q3"]
    assert results.per_query[0]._fields == ir_measures.Metric._fields
    assert ours.AP.calc(QRELS, RUN).aggregated == results.aggregated[ours.AP]
    assert list(ours.AP.iter_calc(QRELS, RUN)) == results.per_query


def test_an_evaluator_scores_many_runs() -> None:
    evaluator = ours.evaluator([ours.RR], QRELS)
    values = [evaluator.calc_aggregate(run)[ours.RR] for run in (RUN, {}, RUN)]
    assert values == [0.5 / 3, 0.0, 0.5 / 3]


@pytest.mark.parametrize("measure", [cf.nDCG @ 10, cf.AP, "Q@10", "D#-nDCG@10"])
def test_measures_of_cranfield_are_unknown(measure: Any) -> None:
    with pytest.raises((ValueError, NameError), match=r"unsupported measure|measure not found|problem parsing"):
        ours.calc_aggregate([measure], QRELS, RUN)


@pytest.mark.parametrize(
    "name",
    [
        "P.5,10",
        "map",
        "ndcg_cut_10",
        "iprec_at_recall",
        "set_F_0.5",
        "recall",
        "num_rel_ret",
        "official",
        "set",
        "all_trec",
    ],
)
@pytest.mark.filterwarnings("ignore:.*which ir_measures does not have")
def test_names_of_trec_eval(name: str) -> None:
    assert [repr(m) for m in ours.parse_trec_measure(name)] == [repr(m) for m in ir_measures.parse_trec_measure(name)]


def test_reading() -> None:
    qrels, run = "q1 0 d1 2\nq1 0 d2 0\n", "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\n"
    assert list(ours.read_trec_qrels(qrels)) == list(ir_measures.read_trec_qrels(qrels))
    assert list(ours.read_trec_run(run)) == list(ir_measures.read_trec_run(run))


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("P", "P needs a cutoff"),
        ("INST", r"INST needs a max_rel: write INST\(max_rel=3\)"),
        ("SDCG(max_rel=3)", "SDCG needs a cutoff"),
        ("SDCG(max_rel=3,dcg='exp-log2')@5", "dcg == 'exp-log2', must be one of 'log2'"),
        ("INSQ(min_rel=3,max_rel=3)", "min_rel == 3, max_rel == 3, must be whole numbers, the first below"),
        (type("Foo", (ours.Measure,), {"NAME": "Foo", "__name__": "Foo"})(), r"Unsupported measures \{Foo\}"),
        (5, "unsupported measure 5; expected one of ir_measures"),
    ],
)
def test_things_that_are_not_a_measure(measure: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ours.calc_aggregate([measure], QRELS, RUN)


def test_a_wrong_parameter_is_an_assertion_error_as_in_ir_measures() -> None:
    for module in (ir_measures, ours):
        for name in ("AP(beta=2)", "AP@'x'", "P", "nDCG(dcg='log3')"):
            measure = module.parse_measure(name)
            with pytest.raises(AssertionError):
                measure.validate_params()
            if "beta" not in name:  # a KeyError there, since the name cannot be written
                with pytest.raises(AssertionError):
                    module.calc_aggregate([measure], QRELS, RUN)
    with pytest.raises(AssertionError, match="AP: no parameter 'beta'; its parameters: cutoff, rel, judged_only"):
        ours.AP(beta=2).validate_params()


@pytest.mark.parametrize(
    ("text", "kind"),
    [("AP(2)", ValueError), ("AP(", ValueError), ("AP; P", ValueError), ("AP + P", ValueError), ("Foo@2", NameError)],
)
def test_names_that_cannot_be_parsed(text: str, kind: type[Exception]) -> None:
    for module in (ir_measures, ours):
        with pytest.raises(kind):
            module.parse_measure(text)


def test_unknown_names_of_trec_eval() -> None:
    for name in ("gm_map", "relstring", "map_5,10x", "foo", "map.5"):
        for module in (ir_measures, ours):
            with pytest.raises(ValueError, match=r"."):
                module.parse_trec_measure(name)


@pytest.mark.parametrize("name", list(ir_measures.measures.registry))
def test_every_measure_of_ir_measures_is_supported(name: str) -> None:
    """All names exist, with the same parameters, defaults and meaning of `@`."""
    theirs = ir_measures.measures.registry[name]
    mine = getattr(ours, name)
    assert name in ours.__all__
    assert ours.parse_measure(name) == mine
    assert (mine.NAME, mine.params) == (theirs.NAME, theirs.params)
    assert ours.measures.registry[name] is mine
    assert mine.SUPPORTED_PARAMS.keys() == theirs.SUPPORTED_PARAMS.keys()
    for key, info in theirs.SUPPORTED_PARAMS.items():
        own = mine.SUPPORTED_PARAMS[key]
        assert (own.dtype, own.required) == (info.dtype, info.required)
        for value, other in ((own.default, info.default), (own.choices, info.choices)):
            absent = other is ir_measures.measures.base._NOT_PROVIDED
            assert value is ours.measures.base._NOT_PROVIDED if absent else value == other
    assert (mine.AT_PARAM, mine.DEFAULT) == (theirs.AT_PARAM, theirs.DEFAULT)
    assert type(mine.aggregator()).__name__ == type(theirs.aggregator()).__name__


# -- C/W/L, Compat and Accuracy, compared with cwl-eval and ir_measures

SORTED_IN_PYTHON = [
    "INST(max_rel=3)", "INST(T=2.5,min_rel=1,max_rel=3)", "INSQ(max_rel=3)", "INSQ(T=0.5,max_rel=12)",
    "SDCG(max_rel=3)@5", "SDCG(min_rel=1,max_rel=2)@30", "BPM(max_rel=3)@10", "BPM(T=2.0,max_rel=2)@3",
    "NERR8(max_rel=3)@5", "NERR9(max_rel=12)@20", "NERR10(max_rel=3)", "NERR10(p=0.5,min_rel=1,max_rel=3)",
    "NERR11(T=2.0,max_rel=3)", "Compat", "Compat(p=0.5)", "Compat(p=0.8,normalize=False)",
    "RBP(rel=1)", "RBP(p=0.5,rel=2)", "RR@1", "RR@3", "RR(rel=2)@10", "Judged", "Judged@1", "Judged@3",
]  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(judgments(), runs())
def test_models_of_readers_on_random_collections(qrels: dict[str, dict[str, int]], run: Lists) -> None:
    """Grades outside of min_rel and max_rel count as the nearer of the two on both sides.

    Equal and nearly equal scores are ordered as in the tool behind each measure.
    """
    chosen = [ir_measures.parse_measure(name) for name in SORTED_IN_PYTHON]
    theirs = {
        (m.query_id, m.measure): m.value for measure in chosen for m in ir_measures.iter_calc([measure], qrels, run)
    }
    mine = {(m.query_id, m.measure): m.value for m in ours.iter_calc(chosen, qrels, run)}
    assert mine.keys() == theirs.keys()
    for key in theirs:
        assert mine[key] == pytest.approx(theirs[key], abs=1e-9), key


@settings(max_examples=40, deadline=None)
@given(judgments(), runs(), st.sampled_from(["Accuracy", "Accuracy(rel=2)", "Accuracy@5"]))
def test_accuracy_on_random_collections(qrels: dict[str, dict[str, int]], run: Lists, name: str) -> None:
    """With another measure, so that topics without a pair to compare are reported, as 0."""
    run = run | {"no relevant one": {"x": 1.0}}
    chosen = [ir_measures.parse_measure(name), ir_measures.Compat]
    try:
        theirs = {m.query_id: m.value for m in ir_measures.iter_calc(chosen, qrels, run) if m.measure == chosen[0]}
    except ZeroDivisionError:  # nothing but relevant documents
        return
    mine = {m.query_id: m.value for m in ours.iter_calc(chosen, qrels, run) if m.measure == chosen[0]}
    assert mine == pytest.approx(theirs, abs=1e-12)
    alone = {m.query_id: m.value for m in ours.iter_calc(chosen[:1], qrels, run)}
    theirs_alone = {m.query_id: m.value for m in ir_measures.iter_calc(chosen[:1], qrels, run)}
    assert alone == pytest.approx(theirs_alone, abs=1e-12)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a script of Perl")
def test_gdeval_orders_ties_from_the_last_id_in_64_bits() -> None:
    run = {"1": {"a": 1.0, "b": 1.0, "c": 1.0 + 1e-12, "d": 0.5}}
    for graded in "abcd":
        qrels = {"1": {graded: 2, "other": 1}}
        for name in ("ERR@3", "nDCG(dcg='exp-log2')@3"):
            measure = ir_measures.parse_measure(name)
            theirs = ir_measures.calc_aggregate([measure], qrels, run)[measure]
            assert ours.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(theirs, abs=5e-6)


@pytest.mark.parametrize("shape", ["dict", "tuples", "frame", "Run"])
def test_runs_of_every_kind_are_ranked_as_in_the_original(shape: str) -> None:
    """By hand: b and a are tied, c is a little higher in 64 bits, and tied in 32 bits."""
    rows = [("q", "b", 1.0), ("q", "a", 1.0), ("q", "c", 1.0 + 1e-12)]
    run: Any = [ir_measures.ScoredDoc(*row) for row in rows]
    if shape != "tuples":
        as_dict = {"q": {doc: score for _, doc, score in rows}}
        run = {"dict": as_dict, "Run": cf.Run.of(as_dict)}.get(shape, pandas.DataFrame(run))
    names = ["RR", "RR@10", "RBP(rel=1,p=0.5)"]  # c b a; c a b; c b a, as given
    expected = {"a": (1 / 3, 1 / 2, 1 / 8), "b": (1 / 2, 1 / 3, 1 / 4), "c": (1, 1, 1 / 2)}
    for doc, values in expected.items():
        found = ours.calc_aggregate([ours.parse_measure(name) for name in names], {"q": {doc: 1}}, run)
        assert tuple(found.values()) == pytest.approx(values)


def test_accuracy_of_nothing_but_relevant_documents() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    assert list(ours.Accuracy.iter_calc(qrels, run)) == []  # ir_measures divides by zero
    assert ours.calc_aggregate([ours.Accuracy, ours.AP], qrels, run)[ours.Accuracy] == 0


# -- diversity, compared with pyndeval

DIVERSITY = [
    "alpha_DCG@5", "alpha_DCG(alpha=0.3)@10", "alpha_nDCG@5", "alpha_nDCG(alpha=0.9,rel=2)@20", "ERR_IA@5",
    "ERR_IA(rel=2)@10", "nERR_IA@5", "nERR_IA(rel=2)@3", "NRBP", "NRBP(alpha=0.2,beta=0.8)", "nNRBP", "nNRBP(rel=2)",
    "AP_IA", "P_IA@5", "StRecall@1", "StRecall(rel=2)@5",
]  # fmt: skip


@st.composite
def judged_by_intent(draw: st.DrawFn) -> list[ir_measures.Qrel]:
    """Two topics with two or three intents each; every intent has a highly relevant document."""
    judgments = []
    for topic in ("1", "2"):
        for intent in draw(st.sampled_from([("1", "2"), ("1", "2", "5")])):
            docs = st.dictionaries(st.sampled_from(DOCS[:12]), st.sampled_from([0, 1, 2]), max_size=8)
            grades = draw(docs) | {draw(st.sampled_from(DOCS[:12])): 2}
            judgments += [ir_measures.Qrel(topic, doc, grade, intent) for doc, grade in grades.items()]
    return judgments


@settings(max_examples=40, deadline=None)
@given(judged_by_intent(), runs())
def test_diversity_on_random_collections(qrels: list[ir_measures.Qrel], run: Lists) -> None:
    chosen = [ir_measures.parse_measure(name) for name in DIVERSITY]
    theirs = {
        (m.query_id, m.measure): m.value for measure in chosen for m in ir_measures.iter_calc([measure], qrels, run)
    }
    mine = {(m.query_id, m.measure): m.value for m in ours.iter_calc(chosen, qrels, run)}
    assert mine.keys() == theirs.keys()
    for key in theirs:
        assert mine[key] == pytest.approx(theirs[key], abs=1e-6), key


BY_INTENT = [("q", "a", 1, "1"), ("q", "b", 0, "1"), ("q", "a", 2, "2"), ("q", "c", 1, "2")]


def test_judged_only_and_other_measures_with_judgments_by_intent() -> None:
    """By hand: without x the list is a c; of grades 2 (the higher one of a) and 1."""
    qrels = [ours.Qrel(*judgment) for judgment in BY_INTENT]
    run = {"q": {"x": 3.0, "a": 2.0, "c": 1.0}}
    chosen = [ours.P_IA @ 2, ours.P_IA(judged_only=True) @ 2, ours.P(rel=2) @ 2, ours.NumRet, ours.NumQ]
    assert list(ours.calc_aggregate(chosen, qrels, run).values()) == [
        (1 / 2 + 1 / 2) / 2,
        (1 / 2 + 2 / 2) / 2,
        0.5,
        3,
        1,
    ]
    assert list(ours.calc_aggregate(chosen[:2], qrels, {"other": {"a": 1.0}}).values()) == [0, 0]


def test_judged_only_leaves_out_negative_grades_of_judgments_by_intent() -> None:
    """By hand: b has grade -1 only, so the list without b and x is a c, as without intents."""
    qrels = [*(ours.Qrel(*judgment) for judgment in BY_INTENT if judgment[1] != "b"), ours.Qrel("q", "b", -1, "1")]
    run = {"q": {"x": 4.0, "b": 3.0, "a": 2.0, "c": 1.0}}
    assert list(ours.calc_aggregate([ours.P_IA(judged_only=True) @ 2], qrels, run).values()) == [(1 / 2 + 2 / 2) / 2]


def test_diversity_needs_intents() -> None:
    with pytest.raises(UsageError, match="intent"):
        ours.alpha_nDCG.calc_aggregate(QRELS, RUN)
