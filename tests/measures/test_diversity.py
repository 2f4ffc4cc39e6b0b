"""Diversity measures: compared with ndeval, slow loops, numbers in papers and simpler measures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pyndeval
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assessed.hits_by_intent import intents_of, with_intents
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.errors import UsageError
from cranfield.measures import ERR, MEASURES, REGISTRY, AlphaNDCG, Measure, P, Q, Success, nDCG, parse
from cranfield.measures.ranked_lists.first import preferred
from cranfield.measures.several_needs.novelty import log_discount
from cranfield.measures.several_needs.novelty_ideal import STATES, exact_ideal, greedy_cascade, greedy_ideal
from cranfield.views.by_intent import ByIntent
from tests.oracles.diverse import (
    Diverse,
    best_sum,
    diverse,
    global_gains,
    greedy,
    logarithmic,
    novelty_gains,
    novelty_sum,
    reciprocal,
    relevant,
)
from tests.oracles.joined import DOCUMENTS

DIVERSE = [parse(name) for name in MEASURES if REGISTRY[name].needs == "intents"]
VARIANTS = [
    parse(name)
    for name in (
        "alpha-DCG(alpha=0.9)@2", "alpha-DCG(dialect='ndeval')@3", "alpha-nDCG(alpha=0)@3", "alpha-nDCG(ideal='exact')",
        "alpha-nDCG(alpha=1,rel=2)", "NRBP(alpha=0.2,beta=0.9)@4", "nNRBP(beta=0)", "ERR-IA(dialect='ndeval')",
        "ERR-IA(max_grade=5)@2", "nERR-IA@2", "P+Q(beta=0.1,gain='exp')@3", "RBU(p=0.5,effort=0.2,max_grade=4)@3",
        "I-rec(rel=2)@2", "Ef-P@3", "PMP@2", "D-nDCG@3", "D#-Q(gamma=0.2)", "DIN-nDCG", "DIN#-Q@3", "AP-IA", "P-IA@2",
        "nERR[IA]", "P+Q#", "alpha-nDCG#(gamma=0.1)", "alpha#-nDCG-IA(alpha=0.9,gain='exp')@3",
        "alpha#-nERR-IA(rel=2,topics='equal')", "alpha#-nNRBP-IA(beta=0.9,intents='equal')@4",
        "alpha#-nDCG-IA#(gamma=0.1)",
    )
]  # fmt: skip
ALL = [*DIVERSE, *VARIANTS]

quiet = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
Judgments = dict[str, dict[str, dict[str, int]]]


def score(name: str, case: Diverse) -> float:
    return float(parse(name).evaluate(case.lists())[0])


def qrels(judgments: Judgments) -> bytes:
    lines = [
        f"{topic} {intent} {document} {grade}"
        for topic, documents in judgments.items()
        for document, grades in documents.items()
        for intent, grade in grades.items()
    ]
    return "\n".join([*lines, ""]).encode()


@st.composite
def judged_by_intent(draw: st.DrawFn) -> tuple[Judgments, dict[str, dict[str, float]]]:
    """A collection with intents, and a run of all its topics without ties."""
    judgments: Judgments = {}
    run = {}
    for topic in draw(st.lists(st.sampled_from("123"), min_size=1, max_size=3, unique=True)):
        documents = draw(st.lists(st.sampled_from(DOCUMENTS), min_size=1, unique=True))
        judgments[topic] = {d: {i: draw(st.integers(-1, 2)) for i in "1234"} for d in documents}
        ranking = draw(st.permutations(DOCUMENTS))[: draw(st.integers(1, len(DOCUMENTS)))]
        run[topic] = {document: 100.0 - rank for rank, document in enumerate(ranking)}
    return judgments, run


NDEVAL = {
    **{name: f"{name}(dialect='ndeval')" for name in ("ERR-IA", "nERR-IA", "alpha-DCG")},
    "strec": "I-rec",
}


@quiet
@pytest.mark.peers
@settings(max_examples=50, deadline=None)
@given(
    collection=judged_by_intent(),
    alpha=st.sampled_from([0.5, 0.25, 0.75, 0]),  # sums of their powers are exact, so rounding makes no ties
    beta=st.sampled_from([0.5, 0.8, 0.1]),
    rel=st.sampled_from([1, 2]),
)
def test_agree_with_ndeval_topic_by_topic(
    collection: tuple[Judgments, dict[str, dict[str, float]]], alpha: float, beta: float, rel: int
) -> None:
    judgments, run = collection
    flat = [
        (topic, intent, document, grade)
        for topic, documents in judgments.items()
        for document, grades in documents.items()
        for intent, grade in grades.items()
    ]
    retrieved = [(topic, document, value) for topic, ranking in run.items() for document, value in ranking.items()]
    theirs = pyndeval.RelevanceEvaluator(flat, relevance_level=rel, alpha=alpha, beta=beta).evaluate(retrieved)
    lists = join(qrels(judgments), {"run": run})
    for name in pyndeval.DEFAULT_MEASURES:
        base, _, cutoff = name.partition("@")
        measure = parse(NDEVAL.get(base, base))
        if measure.views and rel > 1:
            continue  # AP-IA and P-IA count an intent without a document of that grade as 0
        changes = {"alpha": alpha, "beta": beta, "rel": rel, "cutoff": int(cutoff) if cutoff else None}
        known = {key: value for key, value in changes.items() if key in measure.parameters() or key == "cutoff"}
        ours = measure.replace(**known).evaluate(lists)
        for topic, value in zip(lists.topics, ours, strict=True):
            # a topic without relevant documents is undefined here, and 0 or not a number there
            assert np.nan_to_num(value) == pytest.approx(np.nan_to_num(theirs[topic][name]), abs=1e-6), (name, topic)


def test_spellings_of_ir_measures_and_ndeval() -> None:
    same = {
        "alpha_nDCG@20": "alpha-nDCG@20", "alpha_DCG@20": "alpha-DCG@20", "StRecall@10": "I-rec@10",
        "ERR_IA@20": "ERR-IA@20", "nERR_IA@5": "nERR-IA@5", "P_IA@5": "P-IA@5", "AP_IA": "AP-IA",
        "strec@5": "I-rec@5", "MAP-IA": "AP-IA", "α-nDCG": "alpha-nDCG", "D♯-nDCG@10": "D#-nDCG@10",
    }  # fmt: skip
    for theirs, ours in same.items():
        assert parse(theirs) == parse(ours), theirs


@pytest.mark.parametrize("measure", ALL, ids=str)
def test_names_parse_back(measure: Measure) -> None:
    for variant in (measure, measure.view("condensed"), measure.view("ties")):
        assert parse(str(variant)) == variant


# -- the papers' numbers

# Sakai 2013 Fig. 1: i is informational, j navigational; the level of the document at rank 5 is not given
FIGURE_1: list[dict[str, int] | None] = [{"i": 1}, {"i": 3, "j": 1}, None, {"j": 3}, {"i": 2}]


def test_002_figure_1_effective_precision() -> None:
    lists = with_intents(FIGURE_1, navigational=["j"])
    assert (REGISTRY["Ef-P"]() @ 5).evaluate(lists).tolist() == [3 / 5]
    assert P().evaluate(lists).tolist() == [4 / 5]  # the document at rank 4 is redundant


def test_002_figure_1_by_the_grades_of_one_list() -> None:
    types = {"i": "informational", "j": "navigational"}
    assert parse("Ef-P@5").of(FIGURE_1, intent_types=types) == 3 / 5
    assert parse("Ef-P@5").of(FIGURE_1) == 4 / 5  # if j is informational
    # precision for the most probable intent: i at ranks 1, 2, 5; j at ranks 2, 4
    assert parse("PMP@5").of(FIGURE_1, intent_probabilities={"i": 0.9, "j": 0.1}) == 3 / 5
    assert parse("PMP@5").of(FIGURE_1, intent_probabilities={"i": 0.1, "j": 0.9}) == 2 / 5
    # nonuniform: i is twice as likely as j
    assert parse("P-IA@5").of(FIGURE_1, intent_probabilities="nonuniform") == pytest.approx((2 * 3 / 5 + 2 / 5) / 3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"intent_types": {"i": "inf"}}, "intent_types: no type for intent 'j'"),
        ({"intent_types": {"i": "inf", "j": "both"}}, "type 'both', must be informational"),
        ({"intent_probabilities": {"i": 0.5, "j": 0.1}}, "intent probabilities sum to 0.6, expected 1"),
    ],
)
def test_wrong_intents_of_one_list_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        parse("Ef-P@5").of(FIGURE_1, **given)
    with pytest.raises(UsageError, match="no document has grades by intent"):
        parse("P@5").of([1, 0], **given)


def test_002_figure_1_preferred_rank() -> None:
    by_intent = ByIntent().apply(with_intents(FIGURE_1, navigational=["j"]))
    hits = by_intent.relevant()
    assert hits.rank[preferred(hits)].tolist() == [2, 4]  # of i, and rp = 4 (not 2) of j


def test_002_figure_1_is_as_q_by_intent_unless_the_best_comes_first() -> None:
    lists = with_intents(FIGURE_1, navigational=["j"])
    by_q = parse("Q-IA(norm='min')@5")
    assert (parse("P+Q@5").evaluate(lists) == by_q.evaluate(lists)).all()
    other = [dict(document) if document else None for document in FIGURE_1]
    other[1] = {"i": 3, "j": 3}
    changed = with_intents(other, navigational=["j"])
    # the only j document that counts is at rank 2: (1 + 3)/(2 + 6); Q has (1 + 3)/(2 + 6) and (2 + 6)/(4 + 6)
    difference = parse("P+Q@5").evaluate(changed) - by_q.evaluate(changed)
    assert difference == pytest.approx([0.5 * (4 / 8 - (4 / 8 + 8 / 10) / 2)])


def test_000_novelty_biased_gains_of_one_intent() -> None:
    # 000 after (25): 1 for the first relevant document of an intent, 0.5 for the second, 0.25 for the third
    terms = parse("alpha-DCG").terms(with_intents([{"a": 1}, {"a": 1}, {"a": 1}]))
    assert terms is not None
    assert terms.columns["novelty-biased gain"].tolist() == [1, 0.5, 0.25]


# -- the definitions as slow loops


def twin(kind: str, case: Diverse, alpha: float, cutoff: int, beta: float) -> float:
    """Each novelty measure from its definition."""
    weight: Callable[[int], float] = logarithmic
    if "ERR-IA" in kind:
        weight = reciprocal
    if "NRBP" in kind:
        weight = lambda rank: beta ** (rank - 1)  # noqa: E731
    total = novelty_sum(case.documents, case.intents, alpha, weight, cutoff)
    if kind.startswith(("alpha-n", "n")):
        ideal = novelty_sum(greedy(case.judged, case.intents, alpha), case.intents, alpha, weight, cutoff)
        return total / ideal if ideal else math.nan
    if kind == "NRBP":
        return total * (1 - (1 - alpha) * beta) / len(case.intents) if case.intents else math.nan
    return total


@settings(max_examples=30, deadline=None)
@given(
    case=diverse(), alpha=st.sampled_from([0, 0.25, 0.5, 1]), cutoff=st.integers(1, 9), beta=st.sampled_from([0, 0.7])
)
def test_novelty_measures_agree_with_their_definition(case: Diverse, alpha: float, cutoff: int, beta: float) -> None:
    for kind in ("alpha-DCG", "alpha-nDCG", "nERR-IA(dialect='ndeval')", "NRBP", "nNRBP"):
        given_beta = {"beta": beta} if "NRBP" in kind else {}
        measure = parse(kind).replace(alpha=alpha, cutoff=cutoff, **given_beta)
        expected = twin(kind, case, alpha, cutoff, beta)
        assert measure.evaluate(case.lists())[0] == pytest.approx(expected, abs=1e-12, nan_ok=True), kind


@settings(max_examples=30, deadline=None)
@given(case=diverse(intents="abcd"), alpha=st.sampled_from([0.1, 0.5, 0.9]), cutoff=st.integers(1, 6))
def test_the_exact_ideal_is_the_best_of_all_orders(case: Diverse, alpha: float, cutoff: int) -> None:
    useful = [document for document in case.judged if any(grade >= 1 for grade in document.values())]
    assume(0 < len(useful) <= 6)
    best = best_sum(useful, case.intents, alpha, logarithmic, cutoff)
    exact = AlphaNDCG(alpha=alpha, ideal="exact", cutoff=cutoff)
    total = novelty_sum(case.documents, case.intents, alpha, logarithmic, cutoff)
    assert exact.evaluate(case.lists())[0] == pytest.approx(total / best, abs=1e-12)
    assert exact.evaluate(case.lists())[0] <= exact.replace(ideal="greedy").evaluate(case.lists())[0] + 1e-12


def test_a_list_can_beat_the_greedy_ideal_but_not_the_exact_one() -> None:
    # the greedy list begins with the document of three intents, and then has one new intent at a time
    better = [{"a": 1, "b": 1}, {"c": 1, "d": 1}]
    missed = [{"b": 1, "c": 1, "e": 1}]
    lists = with_intents(better, missed)
    cut = AlphaNDCG(alpha=0.9) @ 2
    # greedy: 3, then {"a", "b"} or {"c", "d"} for 1.1
    expected = (2 + 2 / math.log2(3)) / (3 + 1.1 / math.log2(3))
    assert cut.evaluate(lists)[0] == pytest.approx(expected)
    assert (AlphaNDCG(alpha=0.9, ideal="exact") @ 2).evaluate(lists)[0] <= 1


def test_exact_refuses_topics_that_are_too_large() -> None:
    bits = np.array([[(n >> i) & 1 for n in range(1, 18)] for i in range(5)], dtype=float)
    with pytest.raises(UsageError, match=rf"'x': 17 relevant documents .* {STATES:,} sets .*; use ideal='greedy'"):
        exact_ideal(bits, 0.5, log_discount, None, "x")
    matrix = np.random.default_rng(0).integers(0, 2, (20, 2000)).astype(float)
    with pytest.raises(UsageError, match=r"2000 relevant documents are too many"):
        exact_ideal(matrix, 0.5, log_discount, None, "x")  # 2^2000 overflows a float
    alike = np.ones((2, 60_000))  # documents of the same intents count as one kind
    assert exact_ideal(alike[:, :500], 0.5, log_discount, 2, "x") == pytest.approx(2 + 1 / math.log2(3))


def test_a_large_ideal_is_greedy_at_every_rank() -> None:
    rng = np.random.default_rng(7)
    matrix = (rng.random((20, 300)) < 0.1).astype(float)
    documents = [{f"{i:02}": 1 for i in np.flatnonzero(column).tolist()} or None for column in matrix.T]
    intents = intents_of(with_intents(documents))
    gains = greedy_ideal(intents, 1, 0.5, None).gain
    assert len(gains) == int(matrix.any(axis=0).sum())
    assert (np.diff(gains) <= 0).all()
    assert gains[0] == matrix.sum(axis=0).max()
    worth = np.array([(1 - 0.5 ** row.sum()) / 0.5 for row in matrix])  # each intent's gains, whatever the order
    assert gains.sum() == pytest.approx(worth.sum())


@pytest.mark.parametrize("alpha", [0, 0.5, 0.75, 1])
def test_the_greedy_ideal_agrees_with_slow_python_at_every_rank(alpha: float) -> None:
    rng = np.random.default_rng(11)
    case = Diverse(
        [{intent: int(rng.integers(0, 3)) for intent in "abcdefgh" if rng.random() < 0.4} or None for _ in range(40)],
        [],
        dict.fromkeys("abcdefgh", 1),
    )
    ideal = greedy(case.judged, case.intents, alpha)
    useful = [document for document in ideal if any(relevant(document, intent) for intent in case.intents)]
    gains = greedy_ideal(intents_of(case.lists()), 1, alpha, None).gain
    assert gains.tolist() == novelty_gains(useful, case.intents, alpha)  # these alphas are exact in binary


def test_the_greedy_cascade_agrees_with_slow_python_at_every_rank() -> None:
    """Many documents have the same grades for the same intents; all numbers are exact in binary."""
    rng = np.random.default_rng(3)
    documents = [{i: int(rng.integers(1, 3)) for i in "abc" if rng.random() < 0.6} or {"a": 1} for _ in range(60)]
    intents = intents_of(with_intents(documents))
    chance, share = {1: 0.25, 2: 0.5}, {"a": 1.0, "b": 0.5, "c": 0.25}
    left, waiting, expected = dict(share), list(documents), []
    for _ in range(12):  # further down, products are no longer exact
        gains = [sum(chance[grade] * left[i] for i, grade in document.items()) for document in waiting]
        expected.append(max(gains))
        for i, grade in waiting.pop(gains.index(max(gains))).items():
            left[i] *= 1 - chance[grade]
    satisfied = np.where(intents.grade == 2, 0.5, 0.25)
    found = greedy_cascade(intents, satisfied, np.array([share[name] for name in intents.names]), None)
    assert len(found.gain) == 60
    assert found.gain[:12] == pytest.approx(expected, rel=1e-12)


def test_the_greedy_ideal_is_computed_once_for_all_measures_and_cutoffs() -> None:
    intents = intents_of(with_intents([{"a": 1}] * 300))
    first = greedy_ideal(intents, 1, 0.5, 10)
    assert greedy_ideal(intents, 1, 0.5, 20) is first  # computed down to rank 100 at once
    deeper = greedy_ideal(intents, 1, 0.5, 150)
    assert len(deeper.gain) == 150
    assert deeper.gain[: len(first.gain)].tolist() == first.gain.tolist()
    assert greedy_ideal(intents, 1, 0.25, 10) is not deeper
    assert greedy_ideal(intents, 2, 0.5, 10).gain.tolist() == []


def test_an_intent_without_relevant_documents_keeps_its_probability() -> None:
    # Sakai 2014 (26) sums over the intents of the topic: b has no document of grade 2, so its AP counts as 0
    lists = with_intents([{"a": 2}, {"b": 1}], probabilities={"a": 0.25, "b": 0.75})
    assert parse("AP-IA(rel=2)").evaluate(lists)[0] == 0.25
    # pyndeval leaves such intents out
    left_out = pyndeval.RelevanceEvaluator([("1", "a", "x", 2), ("1", "b", "y", 1)], ["MAP-IA"], relevance_level=2)
    assert left_out.evaluate([("1", "x", 2.0), ("1", "y", 1.0)])["1"]["MAP-IA"] == pytest.approx(1)


@settings(max_examples=30, deadline=None)
@given(case=diverse(), cutoff=st.integers(1, 9))
def test_counting_measures_agree_with_their_definition(case: Diverse, cutoff: int) -> None:
    top = case.documents[:cutoff]
    covered = [intent for intent in case.intents if any(relevant(document, intent) for document in top)]
    expected = len(covered) / len(case.intents) if case.intents else math.nan
    assert score(f"I-rec@{cutoff}", case) == pytest.approx(expected, nan_ok=True)
    effective = sum(
        any(
            relevant(document, intent)
            and not (intent in case.navigational and any(relevant(other, intent) for other in top[:rank]))
            for intent in case.intents
        )
        for rank, document in enumerate(top)
    )
    assert score(f"Ef-P@{cutoff}", case) == pytest.approx(effective / cutoff)
    most = max((case.weights[intent] for intent in case.intents), default=0)
    popular = [intent for intent in case.intents if case.weights[intent] == most]
    popular_count = sum(any(relevant(document, intent) for intent in popular) for document in top)
    assert score(f"PMP@{cutoff}", case) == pytest.approx(popular_count / cutoff)


@settings(max_examples=30, deadline=None)
@given(case=diverse(), p=st.sampled_from([0, 0.5, 0.8]), effort=st.sampled_from([0, 0.03]))
def test_rbu_agrees_with_its_definition(case: Diverse, p: float, effort: float) -> None:
    total = 0.0
    for rank, document in enumerate(case.documents):
        utility = 0.0
        for intent in case.intents:
            highest = max(other.get(intent, 0) for other in case.judged)
            satisfied = [
                (2 ** (other or {}).get(intent, 0) - 1) / 2**highest for other in [*case.documents[:rank], document]
            ]
            utility += case.probability(intent) * satisfied[-1] * math.prod(1 - s for s in satisfied[:-1])
        total += (1 - p) * p**rank * (utility - effort)
    measure = REGISTRY["RBU"](p=p, effort=effort)
    assert measure.evaluate(case.lists())[0] == pytest.approx(total, abs=1e-12)


@settings(max_examples=10, deadline=None)
@given(case=diverse(lowest=-1), cutoff=st.one_of(st.none(), st.integers(1, 6)))
def test_by_intent_is_the_mean_over_intents_for_every_measure(case: Diverse, cutoff: int | None) -> None:
    every = dict.fromkeys("abc", 3)  # the same largest grade for all intents
    case = Diverse(case.documents, [*case.missed, every], case.weights)
    for name in MEASURES:
        kind = REGISTRY[name]
        given_n = {"N": 100} if "N" in kind.parameters() else {}
        if kind.needs or kind.cutoff_kind == "recall":
            continue
        measure = kind(**given_n, cutoff=cutoff if kind.cutoff_kind == "rank" else None)
        expected = sum(
            case.probability(intent) * np.nan_to_num(measure.of(*case.of_intent(intent))) for intent in case.intents
        )
        actual = measure.view(ByIntent()).evaluate(case.lists())[0]
        assert actual == pytest.approx(expected, rel=1e-9, abs=1e-12), measure


def err_sum(documents: list[dict[str, int] | None], case: Diverse, highest: int, cutoff: int) -> float:
    """Σ Pr(i|q) ERR_i, Sakai 2014 (15) and (26), rank by rank."""
    total = 0.0
    for intent in case.intents:
        unsatisfied = 1.0
        for rank, document in enumerate(documents[:cutoff], 1):
            satisfied = (2 ** max((document or {}).get(intent, 0), 0) - 1) / 2**highest
            total += case.probability(intent) * unsatisfied * satisfied / rank
            unsatisfied *= 1 - satisfied
    return total


@settings(max_examples=60, deadline=None)
@given(case=diverse(), cutoff=st.integers(1, 9))
def test_nERR_IA_is_ERR_IA_divided_by_that_of_the_greedy_list(case: Diverse, cutoff: int) -> None:
    assume(case.intents)
    weights = {intent: 2 ** (weight % 3) for intent, weight in case.weights.items()}  # exact, so ties are ties
    case = Diverse(case.documents, case.missed, weights)
    highest = max(grade for document in case.judged for grade in document.values())
    left, ideal = case.judged[::-1], list[dict[str, int] | None]()
    while left:
        best = max(left, key=lambda document: round(_adds(ideal, document, case, highest), 12))
        ideal.append(best)
        del left[next(i for i, document in enumerate(left) if document is best)]
    expected = err_sum(case.documents, case, highest, cutoff) / err_sum(ideal, case, highest, cutoff)
    assert score(f"nERR-IA@{cutoff}", case) == pytest.approx(expected, abs=1e-9)
    assert score(f"ERR-IA@{cutoff}", case) == pytest.approx(err_sum(case.documents, case, highest, cutoff), abs=1e-12)


def _adds(above: list[dict[str, int] | None], document: dict[str, int], case: Diverse, highest: int) -> float:
    """The share of readers that a document satisfies after those above it."""
    adds = 0.0
    for intent in case.intents:
        satisfied = [(2 ** max((d or {}).get(intent, 0), 0) - 1) / 2**highest for d in [*above, document]]
        adds += case.probability(intent) * satisfied[-1] * math.prod(1 - s for s in satisfied[:-1])
    return adds


@settings(max_examples=60, deadline=None)
@given(case=diverse(), cutoff=st.integers(1, 9))
def test_with_grades_of_0_and_1_and_equal_intents_nERR_IA_is_that_of_ndeval(case: Diverse, cutoff: int) -> None:
    assume(case.intents)
    binary = Diverse(
        [None if d is None else {i: int(g >= 1) for i, g in d.items()} for d in case.documents],
        [{i: int(g >= 1) for i, g in d.items()} for d in case.missed],
        dict.fromkeys(case.weights, 1),
    )
    ndeval = score(f"nERR-IA(dialect='ndeval')@{cutoff}", binary)
    assert score(f"nERR-IA@{cutoff}", binary) == pytest.approx(ndeval, abs=1e-9)


GRADED = {"q": {"d1": {"1": 2, "2": 0}, "d2": {"1": 0, "2": 1}}}


def test_one_spelling_has_one_definition_and_notes_say_how_the_web_track_differs() -> None:
    for name, other in {"ERR_IA@5": "ERR-IA@5", "nERR_IA@5": "nERR-IA@5", "alpha_DCG": "alpha-DCG"}.items():
        assert parse(name) == parse(other)
    lines = [("q", i, d, grade) for d, grades in GRADED["q"].items() for i, grade in grades.items()]
    diverse_qrels = cf.Qrels.of("".join(f"{q} {i} {d} {grade}\n" for q, i, d, grade in lines).encode())
    scores = cf.evaluate(diverse_qrels, {"r": {"q": {"d1": 2.0, "d2": 1.0}}}, ["ERR-IA", "nERR-IA"])
    # by hand: (2² − 1)/4 for intent 1 at rank 1, 1/4 for intent 2 at rank 2; this is also the ideal order
    assert scores.mean()["r"] == pytest.approx({"ERR-IA": (3 / 4 + 1 / 4 / 2) / 2, "nERR-IA": 1})
    notes = " ".join(scores.notes)
    assert "TREC's Web track divides it by its largest value" in notes
    assert 'ERR-IA(dialect="ndeval")' in notes
    assert "nERR-IA uses grades and probabilities of intents; TREC's Web track does not: nERR-IA(dialect=\"n" in notes
    tracks = cf.evaluate(diverse_qrels, {"r": {"q": {"d1": 2.0}}}, ["ERR-IA(dialect='ndeval')"])
    assert not any("Web track" in note for note in tracks.notes)


# -- alpha-nDCG with intent probabilities, and with an alpha of each topic

TWO_INTENTS: list[dict[str, int] | None] = [{"b": 1}, {"a": 1, "b": 1}, {"a": 1}]
LIKELY = {"a": 0.75, "b": 0.25}


def test_alpha_dcg_with_intent_probabilities_by_hand() -> None:
    """ng(r) = Σ Pr(i|q) I_i(r) (1 − α)^C_i(r−1), Sakai 2014 Fig. 7 (b) and Clarke et al. 2011."""
    discount = [1, math.log2(3), 2]
    gains = [0.25, 0.75 + 0.25 / 2, 0.75 / 2]
    dcg = sum(gain / over for gain, over in zip(gains, discount, strict=True))
    assert parse("alpha-DCG(probabilities=True)").of(TWO_INTENTS, intent_probabilities=LIKELY) == pytest.approx(dcg)
    best = [1.0, 0.75 / 2, 0.25 / 2]  # both intents, a again, b again
    ideal = sum(gain / over for gain, over in zip(best, discount, strict=True))
    for kind in ("greedy", "exact"):
        measure = parse(f"alpha-nDCG(probabilities=True,ideal='{kind}')")
        assert measure.of(TWO_INTENTS, intent_probabilities=LIKELY) == pytest.approx(dcg / ideal)
    assert parse("alpha-DCG(probabilities=True)").properties.intent_probabilities


@settings(max_examples=30, deadline=None)
@given(case=diverse(), alpha=st.sampled_from([0, 0.25, 0.5, 1]), cutoff=st.integers(1, 9))
def test_equal_probabilities_change_alpha_dcg_by_a_constant(case: Diverse, alpha: float, cutoff: int) -> None:
    assume(case.intents)
    case = Diverse(case.documents, case.missed, dict.fromkeys(case.weights, 1))
    for name, constant in (("alpha-DCG", len(case.intents)), ("alpha-nDCG", 1)):
        plain, likely = (score(f"{name}(alpha={alpha}{more})@{cutoff}", case) for more in ("", ",probabilities=True"))
        assert likely * constant == pytest.approx(plain, abs=1e-9)


def test_a_note_says_that_probabilities_do_not_count() -> None:
    lists = with_intents(TWO_INTENTS, (), LIKELY)
    assert "does not use the probabilities of intents" in (parse("alpha-nDCG").note(lists) or "")
    assert parse("alpha-nDCG(probabilities=True)").note(lists) is None
    assert parse("alpha-nDCG").note(with_intents(TWO_INTENTS)) is None


def by_topic(**alphas: float) -> Any:
    """Scores of the same list on topics with these alphas."""
    lines = [f"{q} {i} d{n} {g}\n" for q in alphas for n, d in enumerate(TWO_INTENTS) for i, g in (d or {}).items()]
    run = {q: {f"d{n}": float(-n) for n in range(3)} for q in alphas}
    judged = cf.Qrels.of("".join(lines).encode())
    return lambda name, **more: cf.evaluate(judged, {"r": run}, [name], **more).values[0, 0].tolist()


@pytest.mark.parametrize(
    "name", ["alpha-DCG", "alpha-nDCG", "NRBP", "nNRBP", "ERR-IA(dialect='ndeval')", "nERR-IA(dialect='ndeval')",
             "alpha-DCG(dialect='ndeval')", "alpha-nDCG(ideal='exact')", "alpha#-nDCG-IA"],
)  # fmt: skip
def test_alpha_can_differ_by_topic(name: str) -> None:
    alphas = {"q1": 0.1, "q2": 0.9, "q3": 0.1}
    measure, scored = parse(name), by_topic(**alphas)
    expected = [scored(measure.replace(alpha=alpha))[n] for n, alpha in enumerate(alphas.values())]
    assert scored(measure.replace(alpha="topic"), topic_numbers={"alpha": alphas}) == pytest.approx(expected)
    assert parse(str(measure.replace(alpha="topic"))).alpha == "topic"  # type: ignore[attr-defined]
    assert measure.replace(alpha="topic").of(TWO_INTENTS, topic_numbers={"alpha": 0.9}) == pytest.approx(expected[1])


def test_an_alpha_of_each_topic_needs_a_table_with_all_topics() -> None:
    scored = by_topic(q1=0.5, q2=0.5)
    with pytest.raises(UsageError, match='alpha-nDCG: alpha == "topic" needs a table of topics: give topic_numbers='):
        scored("alpha-nDCG(alpha='topic')")
    with pytest.raises(cf.CranfieldError, match="topic_numbers: alpha-nDCG: no alpha for 1 topic: q2"):
        scored("alpha-nDCG(alpha='topic')", topic_numbers={"alpha": {"q1": 0.5}})
    with pytest.raises(UsageError, match="alpha-nDCG: alpha == 'topics', must be a number"):
        parse("alpha-nDCG(alpha='topics')")


# -- intents without relevant documents

EMPTY = b"q 1 d1 1\nq 2 d2 1\nq 3 d1 0\n"
THREE = {"q": {"1": 0.2, "2": 0.3, "3": 0.4, "4": 0.1}}


@quiet
def test_intents_without_relevant_documents_are_kept_by_option() -> None:
    run = {"r": {"q": {"d1": 2.0, "x": 1.0}}}

    def scored(name: str, **more: Any) -> float:
        return cf.evaluate(cf.Qrels.of(EMPTY), run, [name], **more).means().item()

    # d1 is relevant to intent 1; 3 has judgments but no relevant document, 4 only a probability
    assert scored("P-IA@1", intent_probabilities=THREE) == pytest.approx(0.2 / 0.5)
    assert scored("P-IA@1", intent_probabilities=THREE, empty_intents="keep") == pytest.approx(0.2)
    assert scored("P-IA@1", empty_intents="keep") == pytest.approx(1 / 3)  # 4 is not known without its probability
    assert scored("D-CG@1", intent_probabilities=THREE, empty_intents="keep") == pytest.approx(0.2)
    assert scored("I-rec", intent_probabilities=THREE) == 1 / 2
    assert scored("I-rec", intent_probabilities=THREE, empty_intents="keep") == 1 / 4
    kept = cf.evaluate(cf.Qrels.of(EMPTY), run, ["P-IA@1"], empty_intents="keep")
    assert "intents without relevant documents keep their probability; no document can serve them" in kept.notes
    with pytest.raises(UsageError, match="empty_intents == 'drop', must be one of 'renormalise', 'keep'"):
        scored("P-IA@1", empty_intents="drop")


RELEVANT_TO_NOTHING = b"""\
1 1 a 1
1 2 a 0
1 2 b 1
1 3 e 1
1 0 c 0
1 0 d 0
2 1 x 1
2 2 x 1
2 0 y 0
"""
"""As the Web track of 2009 and NTCIREVAL write it: intent 0 and grade 0 for documents that no intent wants."""


@pytest.mark.parametrize("rule", ["renormalise", "keep"])
@pytest.mark.filterwarnings("error")
def test_intent_0_of_documents_relevant_to_nothing_is_not_an_intent(rule: str) -> None:
    run = {"1": {"a": 3.0, "c": 2.0, "b": 1.0}, "2": {"y": 2.0, "x": 1.0}}
    qrels = cf.Qrels.of(RELEVANT_TO_NOTHING)
    assert qrels.intents == ("1", "2", "3")
    scores = cf.evaluate(qrels, run, ["I-rec", "strec@3", "alpha-nDCG@3", "Judged@3"], empty_intents=rule)
    got = {topic: list(row.values()) for topic, row in scores.to_dict()["run"].items()}
    # 2 of 3 intents and 2 of 2 are served; c and y are judged
    assert got["1"][:2] == pytest.approx([2 / 3, 2 / 3])
    assert got["2"][:2] == [1, 1]
    assert got["1"][3] == got["2"][3] == 1
    flat = [(t, i, d, int(g)) for t, i, d, g in (line.split() for line in RELEVANT_TO_NOTHING.decode().splitlines())]
    retrieved = [(topic, doc, score) for topic, docs in run.items() for doc, score in docs.items()]
    theirs = pyndeval.RelevanceEvaluator(flat, ["strec@5", "alpha-nDCG@5"]).evaluate(retrieved)
    ours = cf.evaluate(qrels, run, ["strec@5", "alpha-nDCG@5"], empty_intents=rule).to_dict()["run"]
    for topic, expected in theirs.items():
        assert list(ours[topic].values()) == pytest.approx([expected["strec@5"], expected["alpha-nDCG@5"]], abs=1e-6)
    # a file of probabilities does not have to name it
    likely = {"1": {"1": 0.5, "2": 0.25, "3": 0.25}, "2": {"1": 0.5, "2": 0.5}}
    weighted = cf.evaluate(qrels, run, ["P-IA@1"], empty_intents=rule, intent_probabilities=likely)
    assert weighted.values.ravel().tolist() == [0.5, 0]


@quiet
def test_intent_0_is_an_intent_if_a_document_is_relevant_to_it() -> None:
    qrels = cf.Qrels.of(b"1 0 a 1\n1 1 a 1\n2 0 x 0\n2 1 x 1\n")
    assert qrels.intents == ("0", "1")
    run = {"1": {"a": 1.0}, "2": {"x": 1.0}}
    kept = cf.evaluate(qrels, run, ["I-rec"], empty_intents="keep")
    assert kept.values.ravel().tolist() == [1, 0.5]
    named = {"1": {"0": 0.5, "1": 0.5}, "2": {"0": 0.4, "1": 0.6}}  # the user says that it is one
    only_zero = cf.Qrels.of(b"1 0 b 0\n1 1 a 1\n1 2 a 1\n")
    probabilities = {"1": {"0": 0.4, "1": 0.3, "2": 0.3}}
    described = cf.evaluate(only_zero, run, ["I-rec"], empty_intents="keep", intent_probabilities=probabilities)
    assert described.values.ravel().tolist() == pytest.approx([2 / 3])
    assert cf.evaluate(qrels, run, ["I-rec"], empty_intents="keep", intent_probabilities=named).values[0, 0, 1] == 0.5


@quiet
@pytest.mark.parametrize("name", sorted({str(measure) for measure in DIVERSE} | {"D-nDCG[best]", "ERR-IA[ties]"}))
def test_every_measure_takes_intents_without_relevant_documents(name: str) -> None:
    run = {"r": {"q": {"d1": 2.0, "x": 1.0}}}
    scores = cf.evaluate(cf.Qrels.of(EMPTY), run, [name], empty_intents="keep", intent_probabilities=THREE)
    assert np.isfinite(scores.values).all()


@settings(max_examples=30, deadline=None)
@given(case=diverse(), cutoff=st.integers(1, 9))
def test_err_by_intent_in_both_dialects(case: Diverse, cutoff: int) -> None:
    assume(case.intents)
    assert score(f"ERR-IA@{cutoff}", case) == pytest.approx(score(f"ERR@{cutoff}[IA]", case), abs=1e-12)
    binary = Diverse(
        [None if d is None else {i: int(g >= 1) for i, g in d.items()} for d in case.documents],
        [{i: int(g >= 1) for i, g in d.items()} for d in case.missed],
        dict.fromkeys(case.weights, 1),
    )
    perfect = sum(0.5**rank / rank for rank in range(1, cutoff + 1))  # ERR of relevant documents only
    plain = score(f"ERR-IA@{cutoff}", binary)
    assert score(f"ERR-IA(dialect='ndeval')@{cutoff}", case) == pytest.approx(plain / perfect, abs=1e-12)


@pytest.mark.parametrize("name", ["alpha-DCG(dialect='ndeval',alpha=0)", "ERR-IA(dialect='ndeval',alpha=1e-9)"])
def test_the_ndeval_dialect_refuses_a_divisor_over_too_many_ranks(name: str) -> None:
    with pytest.raises(UsageError, match="a sum over too many ranks; give a cutoff"):
        parse(name).of([{"a": 1}])
    assert parse(f"{name}@1").of([{"a": 1}]) == 1


def test_without_a_cutoff_ndeval_divides_by_the_whole_series() -> None:
    case = [{"a": 1}]
    assert parse("ERR-IA(dialect='ndeval')").of(case) == pytest.approx(0.5 / math.log(2))  # Σ 2^-r / r = ln 2
    series = sum(0.5 ** (rank - 1) / math.log2(rank + 1) for rank in range(1, 200))
    assert parse("alpha-DCG(dialect='ndeval')").of(case) == pytest.approx(1 / series)
    assert parse("ERR-IA(dialect='ndeval',alpha=1)").of(case) == 1


# -- D-measures


@settings(max_examples=30, deadline=None)
@given(case=diverse(), cutoff=st.integers(1, 9))
def test_d_measures_are_measures_of_the_global_gain(case: Diverse, cutoff: int) -> None:
    documents = [document or {} for document in case.documents]
    gains = global_gains(case, documents)
    missed = [global_gains(case, [document])[0] for document in case.missed]
    for name in ("nDCG", "DCG", "CG", "nCG"):
        expected = (parse(name) @ cutoff).of(gains, missed)
        assert score(f"D-{name}@{cutoff}", case) == pytest.approx(expected, nan_ok=True), name
    expected = (Q(rel=1e-9, norm="min") @ cutoff).of(gains, missed)
    assert score(f"D-Q(norm='min')@{cutoff}", case) == pytest.approx(expected, nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(case=diverse(), cutoff=st.integers(1, 9))
def test_documents_without_a_new_gain_are_not_relevant_for_din_measures(case: Diverse, cutoff: int) -> None:
    documents = [document or {} for document in case.documents]
    gains = global_gains(case, documents, din=True)
    ideal = sorted((global_gains(case, [document])[0] for document in case.judged), reverse=True)
    ideal = [gain for gain in ideal if gain > 0]
    top = sum(gain * logarithmic(rank) for rank, gain in enumerate(ideal[:cutoff], 1))
    actual = sum(gain * logarithmic(rank) for rank, gain in enumerate(gains[:cutoff], 1))
    assert score(f"DIN-nDCG@{cutoff}", case) == pytest.approx(actual / top if top else math.nan, nan_ok=True)
    # Sakai 2013 (10) and (11): J(r) and C(r) count documents with a gain; R and the ideal list stay those of D-Q
    total, count = 0.0, 0
    for rank, gain in enumerate(gains[:cutoff], 1):
        if gain > 0:
            count += 1
            total += (count + sum(gains[:rank])) / (rank + sum(ideal[:rank]))
    expected = total / min(cutoff, len(ideal)) if ideal else math.nan
    assert score(f"DIN-Q(norm='min')@{cutoff}", case) == pytest.approx(expected, nan_ok=True)


def test_a_second_document_for_a_navigational_intent_is_not_relevant() -> None:
    scores = cf.evaluate(
        b"q 1 d1 1\nq 1 d2 1\nq 2 d3 1\n",
        {"run": {"q": {"d1": 3, "d2": 2, "x": 1}}},
        ["DIN-Q@3", "DIN#-Q@3", "DIN-NCUrbP", "D-Q@3"],
        intent_probabilities={"q": {"1": 0.5, "2": 0.5}},
        intent_types={"q": {"1": "navigational", "2": "informational"}},
    )
    # Each document has the global gain 1/2, so cg*(1) = 1/2 and BR(1) = (1 + 1/2) / (1 + 1/2) = 1. d2 gains nothing and
    # is not relevant: DIN-Q = 1 / min(3, 3). I-rec is 1/2. D-Q adds BR(2) = (2 + 1) / (2 + 1) = 1.
    # The NCU of readers who stop at relevant document n of 3 with weights 1, .95, .95^2: (1 / 2.8525) · P(1).
    assert scores.values.ravel() == pytest.approx([1 / 3, 1 / 4 + 1 / 6, 1 / (1 + 0.95 + 0.95**2), 2 / 3])


# -- reductions


@settings(max_examples=30, deadline=None)
@given(case=diverse(types=False), cutoff=st.integers(1, 9))
def test_without_navigational_intents(case: Diverse, cutoff: int) -> None:
    for name in ("nDCG", "Q", "Q(norm='min')"):
        same = score(f"DIN-{name}@{cutoff}", case), score(f"D-{name}@{cutoff}", case)
        assert same[0] == pytest.approx(same[1], nan_ok=True)
    by_q = score(f"Q-IA(norm='min')@{cutoff}", case)
    assert score(f"P+Q@{cutoff}", case) == pytest.approx(by_q, abs=1e-12, nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(case=diverse(intents="a"), cutoff=st.integers(1, 9))
def test_with_one_intent(case: Diverse, cutoff: int) -> None:
    assume(case.intents)
    listed, missed = case.of_intent("a")
    assert score(f"I-rec@{cutoff}", case) == (Success() @ cutoff).of(listed, missed)
    assert score(f"ERR-IA@{cutoff}", case) == pytest.approx((ERR() @ cutoff).of(listed, missed))
    assert score(f"D-nDCG@{cutoff}", case) == pytest.approx((nDCG() @ cutoff).of(listed, missed))
    binary = [None if grade is None else int(grade >= 1) for grade in listed]
    plain = (nDCG() @ cutoff).of(binary, [int(grade >= 1) for grade in missed])
    assert score(f"alpha-nDCG(alpha=0)@{cutoff}", case) == pytest.approx(plain)


@settings(max_examples=30, deadline=None)
@given(case=diverse(), gamma=st.sampled_from([0, 0.3, 0.5, 1]), cutoff=st.integers(1, 9))
def test_sharp_mixes_intent_recall_and_the_measure(case: Diverse, gamma: float, cutoff: int) -> None:
    recall = score(f"I-rec@{cutoff}", case)
    for sharp, plain in {"D#-nDCG": "D-nDCG", "DIN#-Q": "DIN-Q", "P+Q#": "P+Q", "AP-IA#": "AP-IA"}.items():
        expected = gamma * recall + (1 - gamma) * score(f"{plain}@{cutoff}", case)
        assert score(f"{sharp}(gamma={gamma})@{cutoff}", case) == pytest.approx(expected, nan_ok=True)


# -- laws, as for measures that need no intents


@settings(max_examples=30, deadline=None)
@given(case=diverse(lowest=-1))
def test_scores_stay_within_bounds_and_are_the_sum_of_their_terms(case: Diverse) -> None:
    lists = case.lists()
    for measure in ALL:
        value, limits = measure.evaluate(lists)[0], measure.properties
        assert np.isnan(value) or limits.low - 1e-12 <= value <= limits.high + 1e-12, measure
        terms = None if measure.views else measure.terms(lists)
        if terms is not None:
            assert terms.score()[0] == pytest.approx(value, abs=1e-12, nan_ok=True)
            assert all(len(column) == len(terms.hits) for column in terms.columns.values())


@settings(max_examples=30, deadline=None)
@given(case=diverse())
def test_a_cutoff_reads_only_the_top(case: Diverse) -> None:
    for measure in (measure for measure in ALL if measure.cutoff):
        cut = Diverse(case.documents[: measure.k], [*(d for d in case.documents[measure.k :] if d), *case.missed],
                      case.weights, case.navigational)  # fmt: skip
        if measure.name.startswith(("alpha-n", "alpha#-n", "n")):
            continue  # documents are numbered differently, so the greedy list may break ties differently
        same = measure.evaluate(case.lists())[0], measure.evaluate(cut.lists())[0]
        assert same[0] == pytest.approx(same[1], abs=1e-12, nan_ok=True), measure


@settings(max_examples=30, deadline=None)
@given(case=diverse())
def test_condensed_is_the_list_without_unjudged_documents(case: Diverse) -> None:
    condensed = Diverse([d for d in case.documents if d is not None], case.missed, case.weights, case.navigational)
    for measure in ALL:
        same = measure.view("condensed").evaluate(case.lists())[0], measure.evaluate(condensed.lists())[0]
        assert same[0] == pytest.approx(same[1], abs=1e-12, nan_ok=True), measure


@settings(max_examples=10, deadline=None)
@given(case=diverse(), first=st.integers(0, 2), size=st.integers(2, 3))
def test_ties_are_the_mean_over_the_orders_of_tied_documents(case: Diverse, first: int, size: int) -> None:
    head, tied, tail = case.documents[:first], case.documents[first : first + size], case.documents[first + size :]
    assume(len(tied) == size)
    ranks = [rank for rank, document in enumerate(case.documents, 1) if document is not None]
    bounds = [(first + 1, first + size) if first < rank <= first + size else (rank, rank) for rank in ranks]
    low, high = np.array(bounds, dtype=np.int64).reshape(-1, 2).T
    lists = case.lists().replace(tie_first=low, tie_last=high)
    orders = []
    for order in permutations(range(size)):
        # the documents keep their numbers and only change places
        at = [*range(first), *(first + n for n in order), *range(first + size, len(case.documents))]
        assert len(head) + size + len(tail) == len(at)
        number = {place: n for n, place in enumerate(place for place, d in enumerate(case.documents) if d is not None)}
        hits = [(rank, number[place]) for rank, place in enumerate(at, 1) if place in number]
        rank, hit = np.array(hits, dtype=np.int64).reshape(-1, 2).T
        plain = case.lists()
        orders.append(plain.replace(rank=rank, grade=plain.grade[hit], document=plain.document[hit]))  # type: ignore[index]
    for measure in ALL:
        mean = np.mean([measure.evaluate(each)[0] for each in orders])
        assert measure.view("ties").evaluate(lists)[0] == pytest.approx(mean, abs=1e-12, nan_ok=True), measure


@quiet
@settings(max_examples=20, deadline=None)
@given(collection=judged_by_intent(), other=judged_by_intent())
def test_a_score_does_not_depend_on_the_other_lists(
    collection: tuple[Judgments, dict[str, dict[str, float]]],
    other: tuple[Judgments, dict[str, dict[str, float]]],
) -> None:
    judgments, run = collection
    together = join(qrels(judgments), {"other": {**{topic: {"x": 1.0} for topic in run}, **other[1]}, "run": run})
    alone = join(qrels(judgments), {"run": run})
    rows = np.flatnonzero(together.run == 1)
    for measure in (measure for measure in ALL if measure.__dict__.get("ideal") != "exact"):
        assert np.array_equal(measure.evaluate(together)[rows], measure.evaluate(alone), equal_nan=True), measure


NO_RELEVANT = {
    "I-rec": math.nan, "alpha-DCG": 0, "alpha-nDCG": math.nan, "NRBP": math.nan, "nNRBP": math.nan, "ERR-IA": math.nan,
    "nERR-IA": math.nan, "P+Q": math.nan, "Ef-P": 0, "PMP": 0, "RBU": -0.03 * (1 - 0.8**2), "nP+Q": math.nan,
    "nDIN-nDCG": math.nan,
    "alpha-DCG(dialect='ndeval')": 0, "ERR-IA(dialect='ndeval')": math.nan, "D-nDCG": math.nan, "AP-IA": math.nan,
    "alpha#-nDCG-IA": math.nan, "alpha#-nERR-IA": math.nan, "alpha#-nNRBP-IA": math.nan,
}  # fmt: skip


@pytest.mark.parametrize("name", NO_RELEVANT)
def test_no_relevant_documents(name: str) -> None:
    actual = parse(name).of([{"a": 0}, None], missed=[{"b": 0}])
    assert actual == pytest.approx(NO_RELEVANT[name], nan_ok=True)
    said = re.search(r"No relevant documents: (.*)\.", type(parse(name)).__doc__ or "")
    if parse(name).views == () and said:
        assert (said[1] == "undefined") == math.isnan(NO_RELEVANT[name])


def test_every_diversity_measure_documents_topics_without_relevant_documents() -> None:
    assert {measure.name for measure in DIVERSE} <= set(NO_RELEVANT)


@pytest.mark.parametrize("measure", ALL, ids=str)
def test_nothing_retrieved(measure: Measure) -> None:
    actual = measure.of([], missed=[{"a": 2}])
    assert actual == 0


@pytest.mark.parametrize("measure", [*ALL, parse("nDCG-IA"), parse("D-Q")], ids=str)
def test_missing_intents_are_an_error_that_says_what_to_give(measure: Measure) -> None:
    with pytest.raises(UsageError, match=r"the judgments have no intents: .* 'topic intent document grade'"):
        measure.of([1, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpha-nDCG(alpha=1.5)", "alpha == 1.5, must be between 0 and 1"),
        ("alpha-nDCG(ideal='best')", "ideal == 'best', must be one of 'greedy', 'exact'"),
        ("alpha-DCG(dialect='trec')", "dialect == 'trec'"),
        ("alpha#-IA(intents='all')", "alpha#-nDCG-IA: intents == 'all', must be one of 'rare', 'equal'"),
        ("alpha#-nERR-IA(topics='hard')", "alpha#-nERR-IA: topics == 'hard', must be one of 'difficult', 'equal'"),
        ("alpha#-nNRBP-IA(beta=1)", "alpha#-nNRBP-IA: beta == 1, must be below 1"),
        ("NRBP(beta=1)", "beta == 1, must be below 1"),
        ("P+Q(beta=-1)", "beta == -1"),
        ("P+Q(norm='max')", "norm == 'max'"),
        ("RBU(p=1)", "p == 1, must be below 1"),
        ("RBU(effort=2)", "effort == 2"),
        ("D#-nDCG(gamma=2)", "gamma == 2, must be between 0 and 1"),
        ("D-AP", "AP counts no gains"),
    ],
)
def test_parameters_out_of_range_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        parse(text)


# -- explain


@quiet
@pytest.mark.parametrize("view", ["", "'", "[ties=best]"])
@pytest.mark.parametrize("measure", ALL, ids=str)
def test_explain_ends_at_the_score(measure: Measure, view: str) -> None:
    viewed = measure if not view else measure.view({"'": "condensed"}.get(view, view.strip("[]")))
    judged = qrels({"1": {"a": {"1": 1, "2": 0}, "b": {"1": 2, "2": 1}, "c": {"2": 1}, "d": {"3": 2}, "e": {"1": 0}}})
    run = {"1": {"a": 4.0, "x": 4.0, "b": 3.0, "e": 2.0, "c": 1.0, "y": 0.5}}
    options = JoinOptions(intent_types={"1": {"1": "nav", "2": "inf", "3": "inf"}})
    explanation = cf.explain(judged, run, "1", viewed, options=options)
    assert explanation.score == pytest.approx(viewed.evaluate(join(judged, {"run": run}, options))[0])
    assert explanation.lines[-1].so_far == pytest.approx(explanation.score)
    if not viewed.views:
        adds = sum(line.counts.get("adds", 0.0) for line in explanation.lines)
        over = re.search(r"divided by ([\d.]+)", "\n".join(explanation.notes))
        assert adds / (float(over[1]) if over else 1) == pytest.approx(explanation.score, abs=1e-3)


def test_explain_shows_intents_seen_and_global_gain() -> None:
    judged = qrels({"1": {"a": {"1": 1}, "b": {"1": 1, "2": 3}}})
    run = {"1": {"a": 2.0, "b": 1.0}}
    seen = [line.counts for line in cf.explain(judged, run, "1", "alpha-nDCG").lines]
    assert [line["new intents"] for line in seen] == [1, 1]
    assert [line["intents so far"] for line in seen] == [1, 2]
    assert [line["novelty-biased gain"] for line in seen] == [1, 1.5]
    gains = [line.counts["gain"] for line in cf.explain(judged, run, "1", "D-nDCG").lines]
    assert gains == [0.5 * 1, 0.5 * 1 + 0.5 * 3]
    explanation = cf.explain(judged, run, "1", "AP-IA#")
    assert explanation.notes[1:] == (
        "first seen: intent 1 at rank 1, intent 2 at rank 2",
        "0.5 of the score is intent recall 1.0000, the rest as above",
        "intent 1: AP 1.0000, probability 0.5000",
        "intent 2: AP 0.5000, probability 0.5000",
    )


@quiet
def test_explain_names_the_intents_seen_and_not_seen() -> None:
    judged = qrels({"0": {"x": {"9": 1}}, "1": {"a": {"beta": 1}, "b": {"1": 1, "2": 3}, "c": {"3": 2}, "d": {"3": 1}}})
    run = {"1": {"x": 4.0, "b": 3.0, "a": 2.0, "d": 1.0}}

    def notes(measure: str) -> tuple[str, ...]:
        return cf.explain(judged, run, "1", measure).notes

    assert "first seen: intent 1 at rank 2, intent 2 at rank 2, intent beta at rank 3; not seen: intent 3" in notes(
        "alpha-nDCG@3"
    )
    assert "first seen: intent 2 at rank 2; not seen: intent 3" in notes("I-rec(rel=2)")  # 1 and beta are never 2
    assert "first seen: none; not seen: intent 1, intent 2, intent 3, intent beta" in notes("D#-nDCG@1")
    assert not any("seen" in note for note in notes("nDCG-IA"))  # which shows the score of every intent


@pytest.mark.parametrize("text", ["I-rec[IA]", "D-P+Q@5", "alpha-nDCG-IA", "DIN#-P+Q"])
def test_diversity_measures_refuse_views_by_intent(text: str) -> None:
    with pytest.raises(UsageError, match="uses all intents itself and takes no -IA, D- or DIN-"):
        parse(text)
