"""ADM: by hand, compared with a plain loop, and its errors for scores that are not estimates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cranfield.assessed.join import assess_arrays, join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import Evaluator, evaluate, score
from cranfield.evaluation.explanation import explain
from cranfield.measures import ADM, AP, parse
from tests.oracles.joined import collections, ranked

close = pytest.approx

QRELS = {"q1": {"d1": 2, "d2": 0, "d3": 1, "d4": 2}, "q2": {"d1": 0, "d5": 1}}
RUN = {"q1": {"d1": 0.9, "d9": 0.6, "d2": 0.5, "d3": 0.1}, "q2": {"d5": 1.0, "d1": 0.0}}

BY_HAND = {
    # largest grade 2, so judgments are 1, 0, 1/2, 1; d4 was not retrieved
    "ADM": (1 - (0.1 + 0.5 + 0.4 + 1) / 4, 1 - (0.5 + 0) / 2),
    # d9 counts as judged 0
    'ADM(over="all")': (1 - (0.1 + 0.6 + 0.5 + 0.4 + 1) / 5, 1 - (0.5 + 0) / 2),
    # from 0.1 to 0.9: 1, 5/8, 1/2, 0
    'ADM(estimate="minmax")': (1 - (0 + 1 / 2 + 1 / 2 + 1) / 4, 1 - 0.5 / 2),
    # 1, 3/4, 1/2, 1/4 and 1, 1/2
    'ADM(estimate="rank")': (1 - (0 + 1 / 2 + 1 / 4 + 1) / 4, 1 - (0.5 + 0.5) / 2),
    # d3 is below the cutoff, so estimated 0
    "ADM@3": (1 - (0.1 + 0.5 + 0.5 + 1) / 4, 1 - 0.5 / 2),
    # judgments 0.5, 0, 0.2, 0.5: they lie between 0 and 1 and count as they are
    "ADM(gain={1:0.2,2:0.5})": (1 - (0.4 + 0.5 + 0.1 + 0.5) / 4, 1 - (0.8 + 0) / 2),
    # judgments 1/2, 0, 1/4, 1/2
    "ADM(max_grade=4)": (1 - (0.4 + 0.5 + 0.15 + 0.5) / 4, 1 - 0.75 / 2),
    # d9 is left out: ranks and ends of the list move up
    'ADM\'(estimate="rank")': (1 - (0 + 2 / 3 + 1 / 6 + 1) / 4, 1 - (0.5 + 0.5) / 2),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    assert str(parse(name)) == name
    assert evaluate(QRELS, RUN, [name]).values[0, 0].tolist() == close(BY_HAND[name])


def test_files_dicts_records_and_arrays_give_the_same(tmp_path: Path) -> None:
    lines = [f"{topic} Q0 {doc} 0 {value} mine" for topic, docs in RUN.items() for doc, value in docs.items()]
    (tmp_path / "mine.run").write_text("\n".join(lines) + "\n")
    names = [name for name in BY_HAND if "'" not in name]
    expected = evaluate(QRELS, RUN, names).values
    records = [(topic, doc, value) for topic, docs in RUN.items() for doc, value in docs.items()]
    for run in (str(tmp_path / "mine.run"), records):
        assert evaluate(QRELS, run, names).values == close(expected)
    both = evaluate(QRELS, [str(tmp_path / "mine.run"), RUN], names).values
    assert both == close(np.repeat(expected, 2, axis=1))
    lists = assess_arrays([[2, np.nan, 0, 1]], [[0.9, 0.6, 0.5, 0.1]])
    assert ADM().evaluate(lists).tolist() == close([1 - (0.1 + 0.5 + 0.4) / 3])


def test_scores_are_kept_only_if_a_measure_needs_them() -> None:
    assert join(QRELS, RUN).scores is None
    assert Evaluator(QRELS, ["AP"]).assess(RUN).scores is None
    assert score(join(QRELS, RUN, JoinOptions(scores=True)), ["ADM"]).values[0, 0].tolist() == close(BY_HAND["ADM"])


def plain(
    judgments: dict[str, int], scores: dict[str, float], largest: float, *, estimate: str, over: str, cutoff: int | None
) -> float:
    """The definition, document by document."""
    order = ranked(scores)
    low, high = min(scores.values()), max(scores.values())

    def estimated(doc: str) -> float:
        if doc not in scores or (cutoff is not None and order.index(doc) >= cutoff):
            return 0.0
        if estimate == "rank":
            return (len(order) - order.index(doc)) / len(order)
        if estimate == "minmax":
            return (scores[doc] - low) / (high - low) if high > low else 1.0
        return scores[doc]

    documents = list(judgments)
    if over == "all":
        documents += [doc for doc in order[:cutoff] if doc not in judgments]
    return 1 - sum(abs(estimated(d) - max(judgments.get(d, 0), 0) / largest) for d in documents) / len(documents)


@settings(max_examples=60, deadline=None)
@given(collection=collections(every_topic=True), cutoff=st.sampled_from([None, 1, 3]))
def test_every_form_agrees_with_a_plain_loop(
    collection: tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]], cutoff: int | None
) -> None:
    judgments, run = collection
    assume(any(grade > 0 for docs in judgments.values() for grade in docs.values()))
    run = {topic: {doc: value / 5 for doc, value in docs.items()} for topic, docs in run.items()}
    largest = max(1, *(grade for docs in judgments.values() for grade in docs.values()))
    for estimate in ("raw", "minmax", "rank"):
        for over in ("judged", "all"):
            measure = ADM(estimate=estimate, over=over, cutoff=cutoff)
            lists = join(judgments, run, JoinOptions(scores=True))
            expected = [
                plain(judgments[topic], run[topic], largest, estimate=estimate, over=over, cutoff=cutoff)
                for topic in lists.topics
            ]
            assert measure.evaluate(lists).tolist() == close(expected, abs=1e-12)
            assert measure.terms(lists).score().tolist() == close(expected, abs=1e-12)
            assert all(-1e-12 <= value <= 1 + 1e-12 for value in expected)
            if estimate == "raw" and cutoff is None:  # tied documents have the same score in any order
                assert measure.view("ties").evaluate(lists).tolist() == close(expected, abs=1e-12)


def test_ties_are_the_mean_over_all_orders() -> None:
    qrels, run = {"q": {"d1": 1, "d2": 0}}, {"q": {"d1": 0.5, "d2": 0.5}}
    # d1 first: 1/2 from its judgment, d2 is below the cutoff; d2 first: 1/2 from its judgment, d1 is missed
    orders = [1 - (0.5 + 0) / 2, 1 - (1 + 0.5) / 2]
    assert evaluate(qrels, run, ["ADM@1[ties]"]).values[0, 0, 0] == close(sum(orders) / 2)
    readings = evaluate(qrels, run, ["ADM@1[ties=best]", "ADM@1[ties=worst]"]).values[:, 0, 0]
    assert readings.tolist() == close(orders)
    # d3 is not judged: one document counts if d1 comes first, two if d3 does
    run = {"q": {"d1": 0.5, "d3": 0.5}}
    orders = [1 - 0.5 / 1, 1 - (1 + 0.5) / 2]
    assert evaluate({"q": {"d1": 1}}, run, ["ADM(over='all')@1[ties]"]).values[0, 0, 0] == close(sum(orders) / 2)


def test_equal_scores_are_estimated_1() -> None:
    assert ADM(estimate="minmax").of([1, 0], scores=[7, 7]) == close(1 - (0 + 1) / 2)


def test_nothing_relevant_nothing_retrieved_nothing_judged() -> None:
    assert ADM().of([0, 0], scores=[0.5, 0.25]) == close(1 - (0.5 + 0.25) / 2)
    assert ADM().of([], missed=[1, 0], scores=[]) == close(1 - 1 / 2)
    assert np.isnan(ADM().of([None], scores=[0.5]))
    assert ADM(over="all").of([None], scores=[0.25]) == close(1 - 0.25)


def test_the_size_of_scores_does_not_matter_to_minmax() -> None:
    huge = 1.5e308
    assert ADM(estimate="minmax").of([1, 0, 0], scores=[huge, 0, -huge]) == close(1 - (0 + 0.5 + 0) / 3)


def test_scores_that_cannot_be_estimates_are_named() -> None:
    with pytest.raises(
        UsageError, match=r"ADM: run 'mine', topic 'q1': score 9 \(and 1 more\), must be between 0 and 1"
    ):
        evaluate({"q1": {"d1": 1}}, {"mine": {"q1": {"d1": 9.0, "d2": -1.0, "d3": 0.5}}}, ["ADM"])
    with pytest.raises(UsageError, match=r'use ADM\(estimate="minmax"\) to stretch .* or ADM\(estimate="rank"\)'):
        ADM().of([1], scores=[1.5])
    with pytest.raises(UsageError, match=r"score inf, must be finite .*; use ADM\(estimate=\"rank\"\)"):
        ADM(estimate="minmax").of([1, 0], scores=[np.inf, 1])


def test_missing_scores_are_an_error_that_says_what_to_give() -> None:
    ways = r"leave out order=.*ADM\(estimate=\"rank\"\).*JoinOptions\(scores=True\).*scores=\[\.\.\.\]"
    with pytest.raises(UsageError, match=ways):
        ADM().of([1])
    with pytest.raises(UsageError, match="ranked without scores"):
        evaluate(QRELS, RUN, ["ADM"], order="file")
    assert ADM(estimate="rank").of([1, 0]) == close(1 - (0 + 0.5) / 2)
    assert evaluate(QRELS, RUN, ["ADM(estimate='rank')"], order="file").values[0, 0, 0] == close(
        BY_HAND['ADM(estimate="rank")'][0]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ADM(estimate='log')", "estimate == 'log', must be one of 'raw', 'minmax', 'rank'"),
        ("ADM(over='some')", "over == 'some', must be one of 'judged', 'all'"),
        ("ADM(max_grade=0)", "max_grade == 0, must be above 0"),
    ],
)
def test_impossible_parameters_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text)


def test_a_wrong_number_of_scores_is_refused() -> None:
    with pytest.raises(UsageError, match="scores: 1 numbers for score, but the list has 2 documents"):
        ADM().of([1, 0], scores=[0.5])


def test_explain_shows_estimates_and_documents_not_retrieved() -> None:
    explanation = explain(QRELS, RUN, "q1", "ADM")
    assert explanation.score == close(BY_HAND["ADM"][0])
    assert explanation.lines[0].counts == close({"estimate": 0.9, "judgment": 1.0, "adds": 0.9})
    # d4, judged 1 and estimated 0, adds nothing
    assert explanation.notes[0] == "the score is the sum of 'adds', 2.0000, divided by 4.0000"
    # if the list ended at rank 2: d1 as above, d2 0 and 0, d3 and d4 missed
    assert explanation.lines[1].so_far == close(1 - (0.1 + 0 + 0.5 + 1) / 4)
    missed = explain({"q": {"d1": 1, "d2": 0}}, {"q": {"d1": 0.5}}, "q", "ADM")
    assert missed.notes[0] == (
        "the score is the sum of 'adds', 0.5000, plus 1.0000 for documents that were not retrieved, divided by 2.0000"
    )


def test_read_by_intent_it_is_the_mean_over_intents() -> None:
    listed = [{"a": 1}, {"b": 1}]
    # a: d1 1 and 0.8; b: d2 1 and 0.4; each has one judged document
    assert parse("ADM-IA").of(listed, scores=[0.8, 0.4]) == close((0.8 + 0.4) / 2)


def test_scores_do_not_change_measures_that_ignore_them() -> None:
    lists = join(QRELS, RUN, JoinOptions(scores=True))
    assert isinstance(lists, Assessed)
    assert AP().evaluate(lists).tolist() == AP().evaluate(join(QRELS, RUN)).tolist()
