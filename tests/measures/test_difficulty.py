"""The α#-IA family as we read it: by hand, against slow twins, and what it becomes without its emphases."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from cranfield.errors import UsageError
from cranfield.measures import Measure, parse
from cranfield.measures.gain import LINEAR, Gain
from cranfield.measures.several_needs.difficulty import NOT_THE_PAPERS_FORMULA, Share, difficulty
from cranfield.measures.several_needs.novelty_ideal import GREEDY, greedy_ideal
from tests.oracles.diverse import Diverse, Weight, diverse, logarithmic, reciprocal

FAMILY = {"alpha#-nDCG-IA": "alpha-nDCG", "alpha#-nERR-IA": "nERR-IA(dialect='ndeval')", "alpha#-nNRBP-IA": "nNRBP"}
"""The measure that each member equals if intents and topics count equally."""

PLAIN: dict[str, Any] = {"intents": "equal", "topics": "equal"}


# -- by hand

DOCUMENTS = [{"a": 2}, {"a": 1, "b": 1}, {"a": 1}, {"a": 1, "c": 3}]
PROBABILITIES = {"a": 0.5, "b": 0.25, "c": 0.25}


def test_a_list_by_hand() -> None:
    # R_a = 4, R_b = R_c = 1; Pr/R = 1/8, 1/4, 1/4: a weighs half as much as b and c
    lists = with_intents([DOCUMENTS[0], None, DOCUMENTS[1]], DOCUMENTS[2:], PROBABILITIES)
    total = 0.5 * 2 / math.log2(2) + (0.5 * 1 / 2 + 1) / math.log2(4)
    # ideal: a1c3 for 1/2 + 3, then a1b1 for 1/4 + 1, a2 for 2/2 · 1/4, a1 for 1/2 · 1/8
    ideal = 3.5 + 1.25 / math.log2(3) + 0.25 / math.log2(4) + 0.0625 / math.log2(5)
    # a1c3 and a1b1 serve all intents: z = 2. Two of four documents never miss a, and miss b or c each with 3/4 · 2/3
    difficult = (0 + 1 / 2 + 1 / 2) / 3
    assert parse("alpha#-nDCG-IA").evaluate(lists)[0] == pytest.approx(difficult * total / ideal, rel=1e-12)
    assert parse("alpha#-nDCG-IA(topics='equal')").evaluate(lists)[0] == pytest.approx(total / ideal, rel=1e-12)


def test_intents_of_equal_weight_by_hand() -> None:
    # a counts 1, b and c half of it; a1c3 for 1 + 3/2, then a1b1 and a2 are at 1/2 + 1/2 and 2/2, the last one is taken
    lists = with_intents([DOCUMENTS[0], None, DOCUMENTS[1]], DOCUMENTS[2:], PROBABILITIES)
    total = 2 / 1 + (1 / 2 + 1 / 2) / 3
    ideal = 2.5 + 1 / 2 + 2 / 4 / 3 + 1 / 8 / 4
    assert parse("alpha#-nERR-IA(intents='equal',topics='equal')").evaluate(lists)[0] == pytest.approx(total / ideal)


def test_a_higher_lowest_grade_by_hand() -> None:
    # of grade 2 or better: a2 for a, a1c3 for c, one each; Pr/R = 1/2 and 1/4
    lists = with_intents(DOCUMENTS[:3], DOCUMENTS[3:], PROBABILITIES)
    plain = parse("alpha#-nNRBP-IA(rel=2,beta=0.5,topics='equal')")
    assert plain.evaluate(lists)[0] == pytest.approx(2 / (2 + 0.5 * 3 * 0.5), rel=1e-12)
    # both documents are needed, and two of two serve both intents in any order
    assert plain.replace(topics="difficult").evaluate(lists)[0] == 0


def test_an_intent_with_probability_0_does_not_count() -> None:
    lists = with_intents([{"b": 2}], [{"a": 1}], {"a": 1.0, "b": 0.0})
    assert parse("alpha#-nDCG-IA(topics='equal')").evaluate(lists)[0] == 0
    assert math.isnan(parse("alpha#-nDCG-IA(rel=2)").evaluate(lists)[0])  # nothing else to be found


def test_with_grades_a_score_has_no_upper_bound() -> None:
    # the greedy list begins with a low grade for all intents, after which nothing counts; the other list has the best
    # document of each intent
    many = [dict.fromkeys("abcdefghij", 1)]
    best = [{intent: 9} for intent in "abcdefghij"]
    score = parse("alpha#-nDCG-IA(alpha=1,topics='equal')").of(best, missed=many)
    assert score == pytest.approx(sum(9 * logarithmic(rank) for rank in range(1, 11)) / 10)
    assert score > GREEDY


# -- difficulty


def cover(documents: Sequence[set[str]]) -> int:
    """The number of documents that the greedy list needs to serve every intent; it takes the last of equal ones."""
    left, missing, count = list(documents)[::-1], set().union(*documents), 0
    while missing:
        best = max(left, key=lambda document: len(document & missing))
        missing = missing - best
        del left[next(i for i, document in enumerate(left) if document is best)]
        count += 1
    return count


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sets(st.sampled_from("abcd"), min_size=1), min_size=1, max_size=6))
def test_difficulty_is_the_mean_over_all_orders(documents: list[set[str]]) -> None:
    intents, needed = set().union(*documents), cover(documents)
    orders = list(permutations(documents))
    recall = sum(len(set().union(*order[:needed])) / len(intents) for order in orders) / len(orders)
    lists = with_intents([dict.fromkeys(sorted(document), 1) for document in documents])
    assert difficulty(intents_of(lists), 1)[0] == pytest.approx(1 - recall, abs=1e-12)


def test_difficulty_of_many_documents() -> None:
    # 6 of 2,000 documents are drawn: the only one of an intent is not among them with 1 - 6/2000; f's 1,995 cannot miss
    lists = with_intents([{intent: 1} for intent in "abcde"] + [{"f": 1}] * 1995)
    assert difficulty(intents_of(lists), 1)[0] == pytest.approx(5 * (1 - 6 / 2000) / 6, abs=1e-12)


def test_topics_without_relevant_documents_have_difficulty_0() -> None:
    judged = b"1 a x 1\n1 a y 1\n1 b y 1\n2 a x 0\n3 a x 1\n3 b x 1\n"
    with pytest.warns(cf.CranfieldWarning, match="2/a"):
        lists = join(judged, {"run": {"1": {"x": 1.0}, "2": {"x": 1.0}, "3": {"x": 1.0}}})
    # topic 1: one document is enough, and one of two orders misses b; topic 3 has only one document
    assert difficulty(intents_of(lists), 1).tolist() == [0.25, 0, 0]
    scores = parse("alpha#-nDCG-IA").evaluate(lists)
    assert np.isnan(scores).tolist() == [False, True, False]
    assert scores[2] == 0


# -- the definition as slow loops

GRADES = {"linear": LINEAR, "table": Gain.of({1: 1, 2: 5, 3: 4})}


def worths(case: Diverse, rel: int, rare: bool, gain: Gain) -> dict[tuple[str, int], float]:
    """The worth of a document, by intent and grade."""
    many = {i: sum(document.get(i, 0) >= rel for document in case.judged) for i in case.intents}
    weight = {i: case.probability(i) / (n if rare else 1) for i, n in many.items() if n}
    return {
        (intent, grade): float(gain(np.array([float(grade)]))[0]) * (weight[intent] / max(weight.values()))
        for intent in weight
        for grade in range(rel, 4)
    }


def gain_after(
    above: Sequence[dict[str, int] | None], document: dict[str, int] | None, worth: dict[tuple[str, int], float],
    rel: int, alpha: float,
) -> float:  # fmt: skip
    total = 0.0
    for intent, grade in (document or {}).items():
        if (intent, grade) in worth:
            left = 1.0
            for other in above:
                left *= 1 - alpha if (other or {}).get(intent, 0) >= rel else 1
            total += worth[intent, grade] * left
    return total


def twin(
    case: Diverse, worth: dict[tuple[str, int], float], rel: int, alpha: float, weight: Weight, cutoff: int
) -> float:
    """The score of the list divided by that of the greedy ideal list."""
    total = sum(
        gain_after(case.documents[: rank - 1], document, worth, rel, alpha) * weight(rank)
        for rank, document in enumerate(case.documents[:cutoff], 1)
    )
    best = ideal_gains(case, worth, rel, alpha)[:cutoff]
    ideal = sum(gain * weight(rank) for rank, gain in enumerate(best, 1))
    return total / ideal if ideal else math.nan


def ideal_gains(case: Diverse, worth: dict[tuple[str, int], float], rel: int, alpha: float) -> list[float]:
    """The gain of the best document at every rank; among equal documents, the last."""
    left = [d for d in case.judged[::-1] if any(grade >= rel for grade in d.values())]
    above: list[dict[str, int] | None] = []
    gains = []
    while left:
        best = max(left, key=lambda document: gain_after(above, document, worth, rel, alpha))
        gains.append(gain_after(above, best, worth, rel, alpha))
        above.append(best)
        del left[next(i for i, document in enumerate(left) if document is best)]
    return gains


@settings(max_examples=100, deadline=None)
@given(
    case=diverse(), alpha=st.sampled_from([0, 0.5, 0.7, 1]), cutoff=st.integers(1, 9), rel=st.sampled_from([1, 2]),
    rare=st.booleans(), gain=st.sampled_from(sorted(GRADES)),
)  # fmt: skip
def test_the_family_agrees_with_its_definition(
    case: Diverse, alpha: float, cutoff: int, rel: int, rare: bool, gain: str
) -> None:
    lists = case.lists()
    useful = [{i for i, grade in d.items() if grade >= rel} for d in case.judged]
    useful = [document for document in useful if document]
    assume(len(useful) <= 5)
    recall = 0.0
    if useful:
        orders, needed, intents = list(permutations(useful)), cover(useful), set().union(*useful)
        recall = sum(len(set().union(*order[:needed])) / len(intents) for order in orders) / len(orders)
    worth = worths(case, rel, rare, GRADES[gain])
    geometric: Weight = lambda rank: 0.7 ** (rank - 1)  # noqa: E731
    for name, weight in zip(FAMILY, (logarithmic, reciprocal, geometric), strict=True):
        measure = parse(name).replace(
            alpha=alpha, cutoff=cutoff, rel=rel, gain=GRADES[gain], intents="rare" if rare else "equal",
            **({"beta": 0.7} if "NRBP" in name else {}),
        )  # fmt: skip
        plain = twin(case, worth, rel, alpha, weight, cutoff)
        difficult = measure.evaluate(lists)[0]
        assert measure.replace(topics="equal").evaluate(lists)[0] == pytest.approx(plain, abs=1e-12, nan_ok=True), name
        assert difficult == pytest.approx((1 - recall) * plain, abs=1e-12, nan_ok=True), name


@pytest.mark.parametrize("alpha", [0, 0.3, 0.5, 1])
@pytest.mark.parametrize("rare", [False, True])
def test_a_large_greedy_ideal_agrees_with_slow_python_at_every_rank(alpha: float, rare: bool) -> None:
    rng = np.random.default_rng(5)
    case = Diverse(
        [{intent: int(rng.integers(0, 4)) for intent in "abcdefgh" if rng.random() < 0.4} or None for _ in range(60)],
        [],
        {intent: int(rng.integers(1, 6)) for intent in "abcdefgh"},
    )
    share = Share("rare" if rare else "equal", LINEAR)
    gains = greedy_ideal(intents_of(case.lists()), 1, alpha, None, share).gain
    assert gains.tolist() == ideal_gains(case, worths(case, 1, rare, LINEAR), 1, alpha)


def test_an_ideal_is_computed_once_for_each_weighting() -> None:
    intents = intents_of(with_intents([{"a": 1}] * 3 + [{"b": 2}]))
    rare = greedy_ideal(intents, 1, 0.5, 10, Share("rare", LINEAR))
    assert greedy_ideal(intents, 1, 0.5, 20, Share("rare", LINEAR)) is rare
    assert greedy_ideal(intents, 1, 0.5, 10) is not rare
    assert rare.gain.tolist() == [2, 1 / 3, 1 / 6, 1 / 12]  # three documents share the weight of a
    assert greedy_ideal(intents, 1, 0.5, 10, Share("equal", LINEAR)).gain.tolist() == [2, 1, 0.5, 0.25]


# -- reductions


def binary(case: Diverse) -> Diverse:
    flat = [None if d is None else {i: min(grade, 1) for i, grade in d.items()} for d in case.documents]
    return Diverse(flat, [{i: min(g, 1) for i, g in d.items()} for d in case.missed], dict.fromkeys(case.weights, 1))


@settings(max_examples=50, deadline=None)
@given(case=diverse(intents="abcde"), alpha=st.floats(0, 1), cutoff=st.none() | st.integers(1, 9))
def test_without_emphasis_they_are_the_novelty_measures(case: Diverse, alpha: float, cutoff: int | None) -> None:
    lists = binary(case).lists()
    for name, other in FAMILY.items():
        ours = parse(name).replace(alpha=alpha, cutoff=cutoff, **PLAIN)
        theirs = parse(other).replace(alpha=alpha, cutoff=cutoff)
        assert ours.evaluate(lists).tolist() == pytest.approx(
            theirs.evaluate(lists).tolist(), rel=1e-12, abs=1e-15, nan_ok=True
        )


@pytest.mark.peers
def test_without_emphasis_they_agree_with_ndeval() -> None:
    rng = np.random.default_rng(3)
    judged = [
        (topic, intent, f"d{document:02}", int(rng.integers(0, 3)))
        for topic in "12345"
        for document in range(40)
        for intent in "1234"
        if rng.random() < 0.3
    ]
    run = {topic: {f"d{d:02}": 100.0 - n for n, d in enumerate(rng.permutation(60)[:30])} for topic in "12345"}
    names = {
        "alpha-nDCG@5": "alpha#-nDCG-IA@5", "alpha-nDCG@20": "alpha#-nDCG-IA@20", "nERR-IA@10": "alpha#-nERR-IA@10",
        "nNRBP": "alpha#-nNRBP-IA",
    }  # fmt: skip
    retrieved = [(topic, document, value) for topic, ranking in run.items() for document, value in ranking.items()]
    theirs = pyndeval.RelevanceEvaluator(judged, list(names), alpha=0.5, beta=0.5).evaluate(retrieved)
    lists = join("".join(f"{t} {i} {d} {g}\n" for t, i, d, g in judged).encode(), {"run": run})
    for other, name in names.items():
        ours = parse(name).replace(gain={1: 1, 2: 1}, **PLAIN).evaluate(lists)
        assert ours.tolist() == pytest.approx([theirs[topic][other] for topic in lists.topics], abs=1e-6), name


# -- names, notes, explanations


def test_all_spellings_are_parsed() -> None:
    same = {
        "alpha#-IA@10": "alpha#-nDCG-IA@10", "α#-IA": "alpha#-nDCG-IA", "α♯-nDCG-IA": "alpha#-nDCG-IA",
        "α#-nERR-IA@5": "alpha#-nERR-IA@5", "AlphaSharpNNRBPIA(alpha=0.2)": "alpha#-nNRBP-IA(alpha=0.2)",
    }  # fmt: skip
    for other, ours in same.items():
        assert parse(other) == parse(ours), other
    assert str(parse("α#-nDCG-IA'(intents='equal')@10")) == 'alpha#-nDCG-IA\'(intents="equal")@10'


def test_a_sharp_after_the_name_adds_intent_recall() -> None:
    lists = with_intents(DOCUMENTS[:3], DOCUMENTS[3:], PROBABILITIES)
    plain, recall, both = (parse(n).evaluate(lists)[0] for n in ("alpha#-nERR-IA", "I-rec", "alpha#-nERR-IA#"))
    assert both == pytest.approx((plain + recall) / 2)


@pytest.mark.parametrize("name", ["alpha#-nDCG-IA[IA]", "D-alpha#-nDCG-IA", "DIN#-alpha#-IA"])
def test_views_by_intent_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="uses all intents itself and takes no -IA, D- or DIN-"):
        parse(name)


def test_a_gain_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(UsageError, match="gain == exp: the gain of grade 2000 is too large for a float; give a table"):
        parse("alpha#-nDCG-IA(gain='exp')").of([{"a": 2000}, {"b": 1}])


JUDGED = b"1 a x 1\n1 a y 2\n1 b y 1\n2 a x 1\n3 a x 1\n3 a y 1\n"
RUN = {topic: {"x": 2.0, "y": 1.0} for topic in "123"}


@pytest.mark.parametrize("name", FAMILY)
def test_every_table_says_that_it_is_not_the_papers_formula(name: str) -> None:
    assert "was not available" in NOT_THE_PAPERS_FORMULA
    assert "do not compare with published scores" in NOT_THE_PAPERS_FORMULA
    assert "was not available" in (type(parse(name)).__doc__ or "")
    zero = "alpha#-IA: every run scores 0 on 2 topics with difficulty 0: 2, 3"
    assert cf.evaluate(JUDGED, RUN, [name]).notes[-2:] == (NOT_THE_PAPERS_FORMULA, zero)
    both = cf.evaluate(JUDGED, RUN, [name, parse(name).replace(topics="equal")])
    assert both.notes.count(NOT_THE_PAPERS_FORMULA) == both.notes.count(zero) == 1
    assert cf.evaluate(JUDGED, RUN, [parse(name).replace(topics="equal")]).notes[-1] == NOT_THE_PAPERS_FORMULA
    first = JUDGED[: JUDGED.index(b"2 a")]
    assert cf.evaluate(first, {"1": RUN["1"]}, [name]).notes[-1] == NOT_THE_PAPERS_FORMULA


@pytest.mark.parametrize("name", FAMILY)
def test_explain_shows_gains_and_the_difficulty_of_the_topic(name: str) -> None:
    explanation = cf.explain(JUDGED, RUN, "1", name)
    measure: Measure = parse(name)
    first, second = (line.counts for line in explanation.lines)
    # R_a = 2, R_b = 1, equally likely: a weighs half as much as b; the second document repeats a
    assert [first["novelty-biased gain"], second["novelty-biased gain"]] == [0.5, 0.5 * 2 * 0.5 + 1]
    assert [first["new intents"], second["intents so far"]] == [1, 2]
    assert [first["topic difficulty"], second["topic difficulty"]] == [0.25, 0.25]
    assert second["adds"] == pytest.approx(1.5 * second["weight"] * 0.25)
    assert NOT_THE_PAPERS_FORMULA in explanation.notes
    easy = cf.explain(JUDGED, RUN, "2", name)
    assert NOT_THE_PAPERS_FORMULA in easy.notes
    assert easy.notes[-1] == "alpha#-IA: every run scores 0 on 1 topic with difficulty 0: 2"
    assert "topic difficulty" not in cf.explain(JUDGED, RUN, "1", measure.replace(topics="equal")).columns
