"""What measures say they are like, found out by experiment: a false claim fails, and so does one that is too modest.

A search over all small lists decides each property of each measure; claims that hold for all lists are then tried on
random ones, for every form of the measure. What cannot be found out this way is named, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cranfield.assessed import Assessed, Judged
from cranfield.intents import with_intents
from cranfield.lengths import Lengths
from cranfield.measures import MEASURES, REGISTRY, Measure, Trailtext, U, parse
from cranfield.measures.properties import DIVERSE, RANKED, READ_BY_INTENT, diverse, properties_of, ranked
from tests.laws.instances import ALL, NEEDS
from tests.oracles.diverse import Diverse
from tests.oracles.diverse import diverse as diverse_lists
from tests.oracles.joined import graded_lists, side_by_side

Grades = tuple[float | None, ...]
Array = NDArray[np.float64]

FORMS = NEEDS | {
    "ESL": "(wanted=2,N=100)",  # after the only document that is wanted no other is worth anything
    "LastRel": "(N=100)",  # else infinite where something was missed
    "RBP": "(gain='linear')",  # by default it takes grades for relevant or not
    "Utility": "(c=-1)",  # by default a missed document costs nothing
}
"""In what form a measure shows what it is like."""

UNTRIED = {
    "inclusion": "what a sample tells is an estimate: whether it is normalised or recall-free depends on the sample",
}
"""Measures that need other data than grades, intents and lengths say what they are like without a test here."""

PLAIN = [parse(name + FORMS.get(name, "")) for name in MEASURES if REGISTRY[name].needs in ("", "lengths")]
BY_INTENT = [parse(name) for name in (*(n for n in MEASURES if REGISTRY[n].needs == "intents"), *READ_BY_INTENT)]
FORMS_OF_ALL = (
    *ALL,
    *(measure for measure in PLAIN if measure.needs),
    *map(parse, ["BPM(gain=None)", "NERR8(gain=None)", "NERR9(gain=None)", "NERR10(gain=None)", "NERR11(gain=None)"]),
)
FAR = 1e-9
"""Scores that differ by less are the same."""


def names(measures: Iterable[Measure]) -> Iterable[object]:
    return [pytest.param(measure, id=str(measure)) for measure in measures]


def better(measure: Measure, lists: Assessed) -> Array:
    """Scores, so that higher is better."""
    return measure.evaluate(lists) * (-1 if measure.properties.better == "lower" else 1)


def differ(one: Array | float, other: Array | float) -> bool:
    return not np.allclose(one, other, rtol=0, atol=FAR, equal_nan=True)


# -- ranked lists


LENGTHS: dict[str, Callable[[float | None], int]] = {
    "equal": lambda grade: 500,
    "short if relevant": lambda grade: 10 if grade else 1000,  # the example of 000 §2.2
    "long if relevant": lambda grade: 1000 if grade else 10,
}


def lists_of(many: Sequence[Sequence[float | None]], judged: Sequence[float], lengths: str = "equal") -> Assessed:
    """Lists that share a topic, of documents whose lengths go by their grade.

    There is another topic with a document of grade 3: scales that come from the highest grade of all stay as they are.
    """
    begin = np.cumsum([0, *map(len, many)])[:-1]
    column = np.array([LENGTHS[lengths](grade) for one in many for grade in one], dtype=np.float64)
    return side_by_side(many, judged).replace(
        topics=("topic", "other"),
        judged=Judged.of(np.array([0] * len(judged) + [1]), np.array([*judged, 3.0]), 2),
        lengths=Lengths(begin, {"length": column}),
    )


POOLS = [(2, 2, 2, 2, 1, 1, 1, 1), (1, 1), (2, 1), (2, 1, 1), (1, 1, 1), (2, 2, 1, 1)]
"""The relevant documents of topics: some that no short list finds all, some that it does."""


@cache
def small_lists(lengths: str) -> list[tuple[Assessed, Array]]:
    """All lists of up to four documents, and which four of them are to be compared.

    Two documents are relevant, only the first is, only the second, neither.
    """
    made = []
    for length, pool in product((2, 3, 4), POOLS):
        judged = [*pool, *[0] * length]
        every: list[Grades] = [
            one
            for one in product((0, None, 1, 2), repeat=length)
            if not Counter(grade for grade in one if grade is not None) - Counter(judged)
        ]
        row = {one: number for number, one in enumerate(every)}
        fours = []
        for one in every:
            for i, j in combinations(range(length), 2):
                if one[i] and one[j]:
                    for u, v in product((0, None), repeat=2):
                        fours.append([row[one]] + [row[with_two(one, i, x, j, y)] for x, y in others(one, i, u, j, v)])
        made.append((lists_of(every, judged, lengths), np.array(fours).T))
    return made


def others(one: Grades, i: int, u: float | None, j: int, v: float | None) -> list[tuple[float | None, float | None]]:
    return [(one[i], v), (u, one[j]), (u, v)]


def with_two(one: Sequence[float | None], i: int, x: float | None, j: int, y: float | None) -> Grades:
    made = [*one]
    made[i], made[j] = x, y
    return tuple(made)


def worth_more_after_another(scores: Array) -> Array:
    """What the second document adds when the first is relevant, less what it adds when it is not."""
    both, first, second, neither = scores
    return np.asarray((both - first) - (second - neither))


@cache
def second_documents(measure: Measure) -> tuple[float, float]:
    """How much less, and how much more, a document is worth after a relevant one, at most."""
    low = high = 0.0
    for lengths in LENGTHS if measure.needs == "lengths" else ["equal"]:
        for lists, fours in small_lists(lengths):
            more = worth_more_after_another(better(measure, lists)[fours])
            low, high = min(low, np.nanmin(more, initial=0.0)), max(high, np.nanmax(more, initial=0.0))
    return low, high


def is_diminishing(measure: Measure) -> bool:
    low, high = second_documents(measure)
    return low < -FAR and high < FAR


def is_additive(measure: Measure) -> bool:
    low, high = second_documents(measure)
    return low > -FAR and high < FAR


def is_graded(measure: Measure) -> bool:
    """Do scores differ if all relevant documents are of grade 1?"""
    return any(
        differ(score(measure, one, missed), score(measure, flat(one), flat(missed)))
        for one in product((0, 1, 2), repeat=3)
        for missed in ([1], [3, 2, 1])
    )


def flat(grades: Iterable[int]) -> list[float]:
    return [min(grade, 1) for grade in grades]


def score(measure: Measure, one: Sequence[float | None], missed: Sequence[float], lengths: str = "equal") -> float:
    judged = [grade for grade in one if grade is not None] + [*missed]
    return float(measure.evaluate(lists_of([one], judged, lengths))[0])


def is_normalised(measure: Measure) -> bool:
    """Does the best order of all judged documents score 1 on every topic?"""
    topics = [judged for length in (1, 2, 3) for judged in product((3, 2, 1, 0), repeat=length) if max(judged) > 0]
    return not any(differ(score(measure, sorted(judged, reverse=True), []), 1.0) for judged in topics)


def is_recall_free(measure: Measure) -> bool:
    """Is it the same whatever was missed?"""
    return not any(
        differ(score(measure, one, []), score(measure, one, missed))
        for one in product((0, None, 1, 2), repeat=3)
        for missed in ([1], [1, 1, 0], [2, 1])
    )


def counts_lengths(measure: Measure) -> bool:
    return any(
        differ(score(measure, one, [1]), score(measure, one, [1], lengths))
        for one in product((0, None, 1, 2), repeat=3)
        for lengths in LENGTHS
    )


PLAIN_EXPERIMENTS: dict[str, Callable[[Measure], bool]] = {
    "graded": is_graded,
    "normalised": is_normalised,
    "recall_free": is_recall_free,
    "diminishing": is_diminishing,
    "additive": is_additive,
    "lengths": counts_lengths,
}

MODEST = {
    ("infNDCG", "normalised"): "where all documents are judged; an estimate from a sample may be off",
    (
        "Rndcg",
        "additive",
    ): "a mean of nDCG at several ranks, but computed from running sums: no terms to take a mean of",
}
"""What is true and not claimed, with the reason."""

DESCRIBES = {"normalised", "diminishing"}
"""What is asked only of measures that rate a list: no order of documents is better by the others."""


@pytest.mark.parametrize("measure", names(PLAIN))
def test_ranked_measures_are_what_they_say(measure: Measure) -> None:
    for name, experiment in PLAIN_EXPERIMENTS.items():
        if measure.properties.better == "neither" and name in DESCRIBES:
            assert not getattr(measure.properties, name), name
        else:
            claimed = getattr(measure.properties, name) or (measure.name, name) in MODEST
            assert experiment(measure) == claimed, name


def test_every_row_of_both_figures_is_found_out_but_the_order_of_reading() -> None:
    assert set(RANKED) - set(PLAIN_EXPERIMENTS) == {"nonlinear"}
    assert set(DIVERSE) == set(INTENT_EXPERIMENTS)


def test_only_U_takes_text_in_any_order() -> None:
    # A list has no order of reading but its ranks: a measure is nonlinear if it also takes what was read.
    for kind in REGISTRY.values():
        assert kind.properties.nonlinear == hasattr(kind, "of_trailtext"), kind.name
    here, there = ([(200, 0), (1000, 1), (500, 1)], [(200, 0), (500, 1), (1000, 1)])
    assert differ(*(U(L=5000).of_trailtext(Trailtext.of(text)) for text in (here, there)))


def test_all_others_are_tried() -> None:
    assert {REGISTRY[name].needs for name in MEASURES} <= {"", "lengths", "intents", *UNTRIED}


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(), lengths=st.sampled_from(sorted(LENGTHS)))
def test_recall_free_measures_do_not_look_at_what_was_missed(
    graded: tuple[list[float | None], list[float]], lengths: str
) -> None:
    grades, missed = graded
    for measure in (measure for measure in FORMS_OF_ALL if measure.properties.recall_free):
        assert not differ(score(measure, grades, missed, lengths), score(measure, grades, [], lengths)), measure


@settings(max_examples=60, deadline=None)
@given(judged=st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_a_perfect_list_scores_1_if_normalised(judged: list[int]) -> None:
    for measure in (measure for measure in FORMS_OF_ALL if measure.properties.normalised):
        uncut = measure.cutoff_kind != "rank" or measure.cutoff is None
        if uncut and max(judged) >= getattr(measure, "rel", 1):
            assert not differ(score(measure, sorted(judged, reverse=True), []), 1.0), measure


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists(longest=8), data=st.data())
def test_a_document_is_worth_less_after_another_if_diminishing_and_the_same_if_additive(
    graded: tuple[list[float | None], list[float]], data: st.DataObject
) -> None:
    grades, missed = graded[0] + [0, 0], graded[1]
    i, j = sorted(data.draw(st.permutations(range(len(grades))))[:2])
    some, none = st.integers(1, 3), st.sampled_from([0, None])
    one = with_two(grades, i, data.draw(some), j, data.draw(some))
    pairs = others(one, i, data.draw(none), j, data.draw(none))
    four = [one, *(with_two(one, i, x, j, y) for x, y in pairs)]
    judged = [grade for grade in one if grade is not None] + [0, 0] + missed
    for lengths in LENGTHS:
        lists = lists_of(four, judged, lengths)
        for measure in (measure for measure in FORMS_OF_ALL if measure.properties.better != "neither"):
            if measure.properties.diminishing or measure.properties.additive:
                more = worth_more_after_another(better(measure, lists))
                assert np.isnan(more) or more < FAR, measure
                assert np.isnan(more) or more > -FAR or measure.properties.diminishing, measure


# -- topics with intents


Document = dict[str, int]
KINDS: list[Document] = [{"a": 0}, {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 1}]
MISSED: list[Document] = [{"a": 2, "b": 1}, {"a": 2, "b": 2}]
"""Always missed: the intents of a topic are known."""
WEIGHTS = {"a": 0.6, "b": 0.4}
TYPES: list[tuple[str, ...]] = [(), ("a",)]
"""Which intents are navigational."""


def diverse_score(
    measure: Measure,
    listed: Sequence[Document],
    missed: Sequence[Document],
    navigational: Iterable[str] = (),
    weights: dict[str, float] = WEIGHTS,
    length: int = 3000,
) -> float:
    lists = with_intents(listed, missed, weights, tuple(navigational))
    return float(measure.evaluate(lists.replace(lengths=Lengths.one([length] * len(listed), len(listed))))[0])


def without_a(document: Document) -> Document:
    return {intent: grade for intent, grade in document.items() if intent != "a"} or {"a": 0}


def diminishes_by_intent(measure: Measure) -> bool:
    """Is a document never worth more to an intent, and sometimes less, after another that is relevant to it?"""
    low = high = 0.0
    length = 3
    for navigational in TYPES:
        scores: dict[tuple[int, ...], float] = {}
        for one in product(range(len(KINDS)), repeat=length):
            left = Counter(dict.fromkeys(range(len(KINDS)), length)) - Counter(one)
            missed = [KINDS[kind] for kind in sorted(left.elements())] + MISSED
            scores[one] = diverse_score(measure, [KINDS[kind] for kind in one], missed, navigational)
        for one in scores:
            for i, j in combinations(range(length), 2):
                if KINDS[one[i]].get("a") and KINDS[one[j]].get("a"):
                    x, y = (KINDS.index(without_a(KINDS[one[at]])) for at in (i, j))
                    fours = [one, *(replaced(one, i, p, j, q) for p, q in ((one[i], y), (x, one[j]), (x, y)))]
                    more = worth_more_after_another(np.array([scores[four] for four in fours]))
                    low, high = min(low, float(more)), max(high, float(more))
    return low < -FAR and high < FAR


def replaced(one: tuple[int, ...], i: int, p: int, j: int, q: int) -> tuple[int, ...]:
    return tuple({i: p, j: q}.get(at, kind) for at, kind in enumerate(one))


PAIRS = list(product(KINDS, repeat=2))


def grades_count(measure: Measure) -> bool:
    flat = [[{intent: min(grade, 1) for intent, grade in document.items()} for document in pair] for pair in PAIRS]
    return any(
        differ(diverse_score(measure, pair, MISSED), diverse_score(measure, same, MISSED))
        for pair, same in zip(PAIRS, flat, strict=True)
    )


def probabilities_count(measure: Measure) -> bool:
    even, odd = {"a": 0.5, "b": 0.5}, {"a": 0.1, "b": 0.9}
    return any(
        differ(diverse_score(measure, pair, MISSED, weights=even), diverse_score(measure, pair, MISSED, weights=odd))
        for pair in PAIRS
    )


def missed_documents_do_not_count(measure: Measure) -> bool:
    more: list[list[Document]] = [[{"a": 1}], [{"a": 1, "b": 1}], [{"b": 2}, {"a": 3}]]
    if measure.name == "ERR-IA":
        measure = measure.replace(max_grade=3)  # by default the highest grade of all topics; here there is one topic
    return not any(
        differ(diverse_score(measure, pair, MISSED), diverse_score(measure, pair, MISSED + others))
        for pair in PAIRS
        for others in more
    )


TOPICS: list[list[Document]] = [
    [{"a": 1}, {"b": 1}],
    [{"a": 2}, {"a": 1}, {"b": 1}, {"a": 1, "b": 2}],
    [{"a": 1}, {"a": 2}],
    [{"a": 1, "b": 1}, {"b": 2}, {"a": 3}],
]


def some_order_scores_1(measure: Measure) -> bool:
    """On every topic, whatever its intents' types; an ideal list that is found greedily may be exceeded."""
    for topic, navigational in product(TOPICS, TYPES):
        best = max(diverse_score(measure, order, [], navigational) for order in permutations(topic))
        if differ(best, 1.0) and not 1.0 < best <= measure.properties.high:
            return False
        if best > 1.0 + FAR and measure.properties.high == np.inf:
            return False
    return True


def lengths_count(measure: Measure) -> bool:
    return any(
        differ(diverse_score(measure, pair, MISSED), diverse_score(measure, pair, MISSED, length=100)) for pair in PAIRS
    )


INTENT_EXPERIMENTS: dict[str, Callable[[Measure], bool]] = {
    "graded": grades_count,
    "intent_probabilities": probabilities_count,
    "normalised": some_order_scores_1,
    "recall_free": missed_documents_do_not_count,
    "diminishing": diminishes_by_intent,
    "lengths": lengths_count,
}


@pytest.mark.parametrize("measure", names(BY_INTENT))
def test_measures_of_diversity_are_what_they_say(measure: Measure) -> None:
    claimed = properties_of(measure)
    for name, experiment in INTENT_EXPERIMENTS.items():
        assert experiment(measure) == getattr(claimed, name), name


@settings(max_examples=30, deadline=None)
@given(one=diverse_lists(), weights=st.permutations([1, 5, 9]))
def test_what_is_no_matter_makes_no_difference_to_random_lists(one: Diverse, weights: list[int]) -> None:
    listed = [document or {} for document in one.documents]
    other = dict(zip("abc", weights, strict=True))
    for measure in BY_INTENT:
        told = properties_of(measure)
        before = diverse_score(measure, listed, one.missed, one.navigational, floats(one.weights))
        if not told.intent_probabilities:
            assert not differ(before, diverse_score(measure, listed, one.missed, one.navigational, floats(other)))
        if not told.lengths:
            after = diverse_score(measure, listed, one.missed, one.navigational, floats(one.weights), length=9)
            assert not differ(before, after), measure


def floats(weights: dict[str, int]) -> dict[str, float]:
    return {intent: float(weight) for intent, weight in weights.items()}


# -- the seed's figures


FIGURE_6 = {
    "graded": "nDCG Q P+ ERR RBP U",
    "normalised": "nDCG AP Q P+",
    "recall_free": "ERR RBP TBG U",
    "diminishing": "ERR U",  # TBG has a middling face, see below
    "lengths": "TBG U",
    "nonlinear": "U",
}
"""000 Fig. 6: the measures with a smile; AP's middling face for grades means that other measures extend it."""


@pytest.mark.parametrize("name", RANKED)
def test_figure_6_is_as_in_the_seed(name: str) -> None:
    measures = ("nDCG", "AP", "Q", "P+", "ERR", "RBP", "TBG", "U")
    assert [measure for measure in measures if getattr(ranked()[measure], name)] == FIGURE_6[name].split()


def test_TBG_diminishes_as_long_as_lengths_are_equal() -> None:
    # 000 §2.2 and comment (e) on Fig. 6
    def more(lengths: str) -> tuple[float, float]:
        every = [worth_more_after_another(better(parse("TBG"), lists)[fours]) for lists, fours in small_lists(lengths)]
        return min(map(np.min, every)), max(map(np.max, every))

    assert more("equal")[0] < -0.001
    assert more("equal")[1] < FAR
    assert more("short if relevant")[1] > 0.001


FIGURE_7 = {
    "graded": "ERR-IA D#-nDCG D-U U-IA DIN#-nDCG P+Q#",  # (a): all but alpha-nDCG
    "intent_probabilities": "ERR-IA D#-nDCG D-U U-IA DIN#-nDCG P+Q#",  # (b): the original alpha-nDCG has none
    "normalised": "alpha-nDCG D#-nDCG",  # (c): DIN# "almost"; P+Q# has no list that is ideal for every intent
    "recall_free": "ERR-IA D-U U-IA",  # (d): the others need an ideal list
    "diminishing": "alpha-nDCG ERR-IA D#-nDCG D-U U-IA",  # (f), and D# by its intent recall, which (f) leaves aside
    "lengths": "D-U U-IA",  # (g)
}
"""000 Fig. 7, whose faces are lost, by the comments below it."""


@pytest.mark.parametrize("name", DIVERSE)
def test_figure_7_is_as_the_seed_comments_it(name: str) -> None:
    measures = ("alpha-nDCG", "ERR-IA", "D#-nDCG", "D-U", "U-IA", "DIN#-nDCG", "P+Q#")
    assert [measure for measure in measures if getattr(diverse()[measure], name)] == FIGURE_7[name].split()


def test_D_sharp_diminishes_by_intent_recall_only() -> None:
    assert diminishes_by_intent(parse("D#-nDCG"))
    assert not diminishes_by_intent(parse("D-nDCG"))
