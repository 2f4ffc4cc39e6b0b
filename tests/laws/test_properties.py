"""The declared properties of measures are checked by experiment, in both directions: a property that is declared must
hold, and a property that holds must be declared.

A search over all small lists decides each property of each measure. Declared properties are then tried on random lists,
for every form of the measure. Properties that cannot be checked this way are named, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.measures import AP, MEASURES, MP, REGISTRY, Measure, Trailtext, U, parse
from cranfield.measures.property_tables import (
    DIVERSE,
    RANKED,
    READ_BY_INTENT,
    diverse,
    properties_of,
    property_values,
    ranked,
)
from cranfield.meta.axioms.axiom_experiments import (
    INTENT_EXPERIMENTS,
    LENGTHS,
    RANKED_EXPERIMENTS,
    differ,
    diverse_score,
    lists_of,
    score,
    second_document_effect,
    small_lists,
    with_two,
)
from cranfield.meta.synthetic_lists import FAR, higher_better
from tests.laws.instances import ALL, NEEDS
from tests.oracles.diverse import Diverse
from tests.oracles.diverse import diverse as diverse_lists
from tests.oracles.joined import graded_lists

FORMS = NEEDS | {
    "ESL": "(wanted=2,N=100)",  # after the last wanted document, no other is worth anything
    "LastRel": "(N=100)",  # otherwise infinite if a relevant document is missed
    "RBP": "(gain='linear')",  # by default relevance is binary
    "Utility": "(c=-1)",  # by default a missed document costs nothing
}
"""The form in which a measure shows its properties."""

UNTRIED = {
    "dimensions": "grades of several dimensions: the properties of CAM and MM follow from the measure inside",
    "inclusion": "a score from a sample is an estimate: whether it is normalised or recall-free depends on the sample",
}
"""Measures that need other data than grades, intents, lengths and scores are not tested here."""

PLAIN = [parse(name + FORMS.get(name, "")) for name in MEASURES if REGISTRY[name].needs in ("", "lengths", "scores")]
BY_INTENT = [parse(name) for name in (*(n for n in MEASURES if REGISTRY[n].needs == "intents"), *READ_BY_INTENT)]
FORMS_OF_ALL = (
    *ALL,
    *(measure for measure in PLAIN if measure.needs),
    *map(parse, ["BPM(gain=None)", "NERR8(gain=None)", "NERR9(gain=None)", "NERR10(gain=None)", "NERR11(gain=None)"]),
)


def names(measures: Iterable[Measure]) -> Iterable[object]:
    return [pytest.param(measure, id=str(measure)) for measure in measures]


# -- ranked lists


MODEST = {
    ("xinfAP", "normalised"): "holds if all documents are judged; an estimate from a sample may be off",
    ("infNDCG", "normalised"): "holds if all documents are judged; an estimate from a sample may be off",
    (
        "Rndcg",
        "additive",
    ): "a mean of nDCG at several ranks, but computed from running sums: there are no terms to take the mean of",
    **{
        (name, "diminishing"): "of two documents that make readers stop, the second does less to keep them from a much "
        "better one below; it then may be worth more after the first: 0 0 3, test below"
        for name in ("uCCM", "uDBN", "uDCM", "uSDBN", "rrCCM")
    },
}
"""Properties that hold in these experiments but are not declared, with the reason."""

DESCRIBES = {"normalised", "diminishing"}
"""Properties that make sense only for measures that rate a list."""


@pytest.mark.parametrize("measure", names(PLAIN))
def test_declared_properties_of_ranked_measures_hold(measure: Measure) -> None:
    for name, experiment in RANKED_EXPERIMENTS.items():
        if measure.properties.better == "neither" and name in DESCRIBES:
            assert not getattr(measure.properties, name), name
        else:
            claimed = getattr(measure.properties, name) or (measure.name, name) in MODEST
            assert experiment(measure).holds == claimed, experiment(measure)


def test_a_document_above_a_much_better_one_may_be_worth_more_after_another() -> None:
    # a = 1/8 for grade 1 and 7/8 for grade 3; half of those who click go on: each 1 keeps 1/16 of the readers away
    a, b, kept = 1 / 8, 7 / 8 * 3, 15 / 16
    both, first, second, none = (parse("uDCM").of(grades) for grades in ([1, 1, 3], [1, 0, 3], [0, 1, 3], [0, 0, 3]))
    assert both == pytest.approx(a + kept * a + kept**2 * b)
    assert (first, second, none) == pytest.approx((a + kept * b, a + kept * b, b))
    assert both - first > second - none


BY_PARAMETERS = [
    "NCU(stop='uniform',utility='RR')",
    "NCU(stop='rank-biased',utility='RR')",
    "NCU(stop='rank-biased',utility='RR',gamma=1)",
    "NCU(stop='rank-biased',utility='P',gamma=0)",
    "NCU(stop='cascade',utility='P')",
    "NCU(stop='cascade',utility='RR')",
    "NCU(stop='first',utility='RR')",
    "NCU(stop='preferred',utility='P')",
    "NCU(stop='to-preferred',utility='RR')",
    "NCU(beta=0)",
    "ADM(over='all')",
    "ADM(estimate='rank')",
    "INSQ(report='residual')",
    "INST(report='residual')",
    "CWL(continuation='AP',report='residual')",
    "Q(beta=0)",
    "Rmeasure(beta=0)",
    "Compat(normalize=False)",
]
"""Measures whose properties depend on their parameters."""


@pytest.mark.parametrize("text", BY_PARAMETERS)
def test_declared_properties_follow_the_parameters(text: str) -> None:
    test_declared_properties_of_ranked_measures_hold(parse(text))


NOT_CUT = ("normalised", "graded", "recall_free")
"""Properties that a cutoff may change. The others need more documents than a cutoff of 2 leaves."""

CUT = [
    *(measure @ 2 for measure in PLAIN if measure.cutoff_kind == "rank" and measure.properties.better == "higher"),
    *map(
        parse,
        [
            "AP(norm='min')@2", "Q(norm='min')@2", "gAP(norm='min')@2", "GAP(norm='min')@2", "NCU(norm='min')@2",
            "NCU(stop='first',utility='P')@2", "NCU(stop='rank-biased',utility='P',gamma=0)@2",
            "NCU(stop='rank-biased',utility='P')@2", "NCU(stop='preferred',utility='BR')@2",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize("measure", names(CUT))
def test_declared_properties_follow_the_cutoff(measure: Measure) -> None:
    for name in NOT_CUT:
        finding = RANKED_EXPERIMENTS[name](measure)
        assert finding.holds == (getattr(measure.properties, name) or (measure.name, name) in MODEST), finding


def test_with_twenty_relevant_documents_the_best_ten_score_a_half() -> None:
    for text, best in {"AP@10": 0.5, "Q(norm='R')@10": 0.5, "AP(norm='min')@10": 1.0, "Q@10": 1.0}.items():
        measure = parse(text)
        assert measure.of([1] * 20) == best
        assert measure.properties.normalised == (best == 1.0)
    assert AP.properties.normalised  # without a cutoff


def test_every_property_of_both_figures_except_nonlinear_has_an_experiment() -> None:
    assert set(RANKED) - set(RANKED_EXPERIMENTS) == {"nonlinear"}
    assert set(DIVERSE) == set(INTENT_EXPERIMENTS)


def test_U_scores_text_read_in_any_order_and_MP_moves_up_and_down() -> None:
    # Other measures assume that a list is read in order of its ranks.
    for kind in REGISTRY.values():
        assert kind.properties.nonlinear == (hasattr(kind, "of_trailtext") or hasattr(kind, "moves")), kind.name
    assert MP.properties.nonlinear
    down, about = (MP(moves=moves).of([1, 0, 0, 1, 1]) for moves in ("adjacent", "global"))
    assert differ(down, about)
    here, there = ([(200, 0), (1000, 1), (500, 1)], [(200, 0), (500, 1), (1000, 1)])
    assert differ(*(U(L=5000).of_trailtext(Trailtext.of(text)) for text in (here, there)))


def test_all_other_measures_are_tested() -> None:
    assert {REGISTRY[name].needs for name in MEASURES} <= {"", "lengths", "scores", "intents", *UNTRIED}


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(), lengths=st.sampled_from(sorted(LENGTHS)))
def test_recall_free_measures_ignore_missed_documents(
    graded: tuple[list[float | None], list[float]], lengths: str
) -> None:
    grades, missed = graded
    for measure in (measure for measure in FORMS_OF_ALL if measure.properties.recall_free):
        assert not differ(score(measure, grades, missed, lengths), score(measure, grades, [], lengths)), measure


@settings(max_examples=60, deadline=None)
@given(judged=st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_normalised_measures_give_a_perfect_list_1(judged: list[int]) -> None:
    for measure in (measure for measure in FORMS_OF_ALL if measure.properties.normalised):
        uncut = measure.cutoff_kind != "rank" or measure.cutoff is None
        if uncut and max(judged) >= getattr(measure, "rel", 1):
            assert not differ(score(measure, sorted(judged, reverse=True), []), 1.0), measure


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists(longest=8), data=st.data())
def test_a_document_is_worth_less_after_another_if_diminishing_and_as_much_if_additive(
    graded: tuple[list[float | None], list[float]], data: st.DataObject
) -> None:
    grades, missed = graded[0] + [0, 0], graded[1]
    i, j = sorted(data.draw(st.permutations(range(len(grades))))[:2])
    relevant, other = st.integers(1, 3), st.sampled_from([0, None])
    both = with_two(grades, i, data.draw(relevant), j, data.draw(relevant))
    u, v = data.draw(other), data.draw(other)
    four = [both, *(with_two(both, i, x, j, y) for x, y in ((both[i], v), (u, both[j]), (u, v)))]
    judged = [grade for grade in both if grade is not None] + [0, 0] + missed
    for lengths in LENGTHS:
        lists = lists_of(four, judged, lengths)
        for measure in (measure for measure in FORMS_OF_ALL if measure.properties.better != "neither"):
            if measure.properties.diminishing or measure.properties.additive:
                more = second_document_effect(higher_better(measure, measure.evaluate(lists)))
                assert np.isnan(more) or more < FAR, measure
                assert np.isnan(more) or more > -FAR or measure.properties.diminishing, measure


# -- topics with intents


@pytest.mark.parametrize("measure", names(BY_INTENT))
def test_declared_properties_of_diversity_measures_hold(measure: Measure) -> None:
    claimed = properties_of(measure)
    for name, experiment in INTENT_EXPERIMENTS.items():
        assert experiment(measure).holds == getattr(claimed, name), experiment(measure)


BY_INTENT_AND_PARAMETERS = [
    "ERR-IA(dialect='ndeval')", "alpha-DCG(dialect='ndeval')", "alpha-nDCG(ideal='exact')", "I-rec@1", "D#-nDCG@1",
    "D-nDCG@1", "D-Q@1", "D-Q(norm='min')@1", "Q-IA@2", "P+Q(norm='R')@2", "alpha-nDCG@2",
]  # fmt: skip


@pytest.mark.parametrize("text", BY_INTENT_AND_PARAMETERS)
def test_declared_properties_of_diversity_measures_follow_the_parameters(text: str) -> None:
    measure = parse(text)
    for name in ("graded", "intent_probabilities", "normalised"):
        finding = INTENT_EXPERIMENTS[name](measure)
        assert finding.holds == getattr(properties_of(measure), name), finding


def test_only_a_greedy_ideal_list_can_be_exceeded() -> None:
    assert parse("alpha-nDCG").properties.high > 1
    assert parse("alpha-nDCG(ideal='exact')").properties.high == 1


WITH_UNJUDGED = [
    parse(name).view(view) for name in ("AP", "nDCG", "P", "ERR") for view in ("condensed", "best", "worst")
]


@pytest.mark.parametrize("measure", names(WITH_UNJUDGED))
def test_the_properties_of_a_view_hold_or_are_unknown(measure: Measure) -> None:
    declared = property_values(measure)
    assert [name for name, value in declared.items() if value is None] == ["diminishing", "additive"]
    for name in ("graded", "normalised", "recall_free", "lengths"):
        assert RANKED_EXPERIMENTS[name](measure).holds == declared[name], name


@settings(max_examples=30, deadline=None)
@given(one=diverse_lists(), weights=st.permutations([1, 5, 9]))
def test_ignored_probabilities_and_lengths_make_no_difference_on_random_lists(one: Diverse, weights: list[int]) -> None:
    listed = [document or {} for document in one.documents]
    other = dict(zip("abc", weights, strict=True))
    for measure in BY_INTENT:
        declared = properties_of(measure)
        before = diverse_score(measure, listed, one.missed, one.navigational, floats(one.weights))
        if not declared.intent_probabilities:
            assert not differ(before, diverse_score(measure, listed, one.missed, one.navigational, floats(other)))
        if not declared.lengths:
            after = diverse_score(measure, listed, one.missed, one.navigational, floats(one.weights), length=9)
            assert not differ(before, after), measure


def floats(weights: dict[str, int]) -> dict[str, float]:
    return {intent: float(weight) for intent, weight in weights.items()}


# -- the seed's figures


FIGURE_6 = {
    "graded": "nDCG Q P+ ERR RBP U",
    "normalised": "nDCG AP Q P+",
    "recall_free": "ERR RBP TBG U",
    "diminishing": "ERR U",  # TBG has a neutral face, see below
    "lengths": "TBG U",
    "nonlinear": "U",
}
"""Sakai 2014 Fig. 6: the measures with a smiling face. AP's neutral face for grades: other measures extend it."""


@pytest.mark.parametrize("name", RANKED)
def test_figure_6_agrees_with_the_seed(name: str) -> None:
    measures = ("nDCG", "AP", "Q", "P+", "ERR", "RBP", "TBG", "U")
    assert [measure for measure in measures if getattr(ranked()[measure], name)] == FIGURE_6[name].split()


def test_TBG_diminishes_as_long_as_lengths_are_equal() -> None:
    # Sakai 2014 §2.2 and comment (e) on Fig. 6
    def extra_worth(lengths: str) -> tuple[float, float]:
        every = [
            second_document_effect(parse("TBG").evaluate(fours.lists)[fours.rows]) for fours in small_lists(lengths)
        ]
        return min(map(np.min, every)), max(map(np.max, every))

    assert extra_worth("equal")[0] < -0.001
    assert extra_worth("equal")[1] < FAR
    assert extra_worth("short if relevant")[1] > 0.001


FIGURE_7 = {
    "graded": "ERR-IA D#-nDCG D-U U-IA DIN#-nDCG P+Q#",  # (a): all except alpha-nDCG
    "intent_probabilities": "ERR-IA D#-nDCG D-U U-IA DIN#-nDCG P+Q#",  # (b): the original alpha-nDCG has none
    "normalised": "alpha-nDCG D#-nDCG",  # (c): DIN# "almost"; for P+Q# no list is ideal for every intent
    "recall_free": "ERR-IA D-U U-IA",  # (d): the others need an ideal list
    "diminishing": "alpha-nDCG ERR-IA D#-nDCG D-U U-IA",  # (f), and D# by its intent recall, which (f) leaves aside
    "lengths": "D-U U-IA",  # (g)
}
"""Sakai 2014 Fig. 7, according to the comments below it; its faces did not survive in the copy at hand."""


@pytest.mark.parametrize("name", DIVERSE)
def test_figure_7_agrees_with_the_comments_of_the_seed(name: str) -> None:
    measures = ("alpha-nDCG", "ERR-IA", "D#-nDCG", "D-U", "U-IA", "DIN#-nDCG", "P+Q#")
    assert [measure for measure in measures if getattr(diverse()[measure], name)] == FIGURE_7[name].split()


def test_D_sharp_diminishes_by_intent_recall_only() -> None:
    assert INTENT_EXPERIMENTS["diminishing"](parse("D#-nDCG")).holds
    assert not INTENT_EXPERIMENTS["diminishing"](parse("D-nDCG")).holds
