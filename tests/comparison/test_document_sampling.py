"""Significance over samples of documents."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import ttest_rel

import cranfield as cf
from cranfield.assessed.lists import Assessed
from cranfield.comparison import document_bootstrap
from cranfield.comparison.document_sampling import TopicOfCollection
from cranfield.errors import UsageError
from cranfield.measures import parse

RANKING = ["d1", "x", "d2", "d3"]
GRADES = {"d2": 2.0, "missed": 1.0, "d1": 0.0, "d3": 1.0}


@pytest.mark.parametrize("name", ["AP", "nDCG", "P@2", "ERR", "bpref", "Q", "RBP", "R", "AP'", "AP[best]"])
def test_every_resample_of_a_short_list_is_scored_like_the_list_written_out(name: str) -> None:
    """All 3^5 resamples in which each document is drawn 0, 1 or 2 times, against lists with the copies side by side."""
    number: dict[str, int] = {}
    topic = TopicOfCollection.of("q", [RANKING], GRADES, number)
    every = np.array(list(itertools.product(range(3), repeat=len(number))))
    scores = parse(name).evaluate(topic.resampled(0, every, 2.0))
    for counts, score in zip(every.tolist(), scores.tolist(), strict=True):
        drawn = dict(zip(number, counts, strict=True))
        grades = [GRADES.get(doc) for doc in RANKING for _ in range(drawn[doc])]
        missed = [GRADES["missed"]] * drawn["missed"]
        written_out = Assessed.one(grades, missed)
        # the largest grade is that of the whole collection; a second topic, without a list, has it
        both = Assessed.from_table(
            ["a"] * len(written_out.row), ["q"] * len(written_out.row), written_out.rank, written_out.grade,
            judged={"q": [g for g in [*grades, *missed] if g is not None], "other": [2.0]},
            retrieved={("a", "q"): len(grades)},
        )  # fmt: skip
        assert score == pytest.approx(float(parse(name).evaluate(both)[0]), nan_ok=True), counts


def random_topic(rng: np.random.Generator, documents: int = 60) -> tuple[dict[str, int], dict[str, float]]:
    grades = {f"d{n}": int(rng.random() < 0.3) for n in range(documents)}
    return grades, {f"d{n}": float(rng.random()) for n in range(documents)}


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # b lacks a topic
def test_scores_and_the_topic_test_are_those_of_the_collection_itself() -> None:
    rng = np.random.default_rng(1)
    topics = {f"t{n}": random_topic(rng) for n in range(8)}
    qrels = {topic: grades for topic, (grades, _) in topics.items()}
    runs = {
        "a": {topic: run for topic, (_, run) in topics.items()},
        "b": {topic: random_topic(rng)[1] for topic in topics if topic != "t3"},
    }
    tests = document_bootstrap(qrels, runs, "AP", resamples=30)
    scores = cf.evaluate(qrels, runs, "AP").to_dict()
    for r, run in enumerate(tests.runs):
        assert tests.scores[r].tolist() == pytest.approx([scores[run][topic]["AP"] for topic in tests.topics])
    assert tests.over_topics[0] == pytest.approx(ttest_rel(tests.scores[0], tests.scores[1]).pvalue)
    share = (tests.topic_error[0] ** 2).mean() / np.var(tests.scores[0] - tests.scores[1], ddof=1)
    assert tests.document_share[0] == pytest.approx(share)
    assert tests.columns()["p documents"][0] == pytest.approx(tests.over_documents[0])


def test_the_error_of_a_count_is_that_of_a_poisson_variable() -> None:
    """Of m relevant retrieved documents, a resample has a Poisson number with mean and variance m."""
    qrels = {"q": {f"d{n}": 1 for n in range(25)} | {"other": 0}}
    runs = {"all": {"q": {f"d{n}": 1.0 * n for n in range(25)}}, "some": {"q": {f"d{n}": 1.0 * n for n in range(16)}}}
    runs["none"] = {"q": {"other": 1.0}}
    tests = document_bootstrap(qrels, runs, "NumRelRet", resamples=4000, seed=3)
    # The first two count the same 16 documents, so their difference is the number of copies of the other 9.
    assert tests.topic_error[:, 0] == pytest.approx([3, 5, 4], rel=0.05)
    assert tests.topic_p[0, 0] == pytest.approx(0.0027, abs=0.002)  # z = 9 / 3


def test_runs_that_do_not_differ_are_rarely_called_different() -> None:
    """Two random orders of random documents, 300 times: about 5 % of the differences are significant at 5 %."""
    rng, rejected = np.random.default_rng(11), 0
    for trial in range(300):
        grades, first = random_topic(rng)
        _, second = random_topic(rng)
        runs = {"a": {"q": first}, "b": {"q": second}}
        tests = document_bootstrap({"q": grades}, runs, "AP", resamples=100, seed=trial)
        rejected += bool(tests.topic_p[0, 0] < 0.05)
    assert 3 <= rejected <= 28  # 15 are expected, with a standard deviation of 3.8: 3.3 deviations around it


def test_the_same_seed_gives_the_same_answer_whatever_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    grades, first = random_topic(rng)
    runs = {"a": {"q": first}, "b": {"q": random_topic(rng)[1]}}
    expected = document_bootstrap({"q": grades}, runs, "AP", resamples=50, seed=7).topic_error
    monkeypatch.setattr("cranfield.comparison.document_sampling.COUNTS_AT_ONCE", 60)
    assert document_bootstrap({"q": grades}, runs, "AP", resamples=50, seed=7).topic_error.tolist() == expected.tolist()


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # that they are the same
def test_the_same_run_twice_does_not_differ() -> None:
    grades, run = random_topic(np.random.default_rng(4))
    tests = document_bootstrap({"q": grades}, {"a": {"q": run}, "b": {"q": run}}, "nDCG", resamples=20)
    assert tests.topic_p.tolist() == [[1.0]]
    assert tests.over_documents.tolist() == [1.0]


def test_mistakes_are_named() -> None:
    runs = {"a": {"q": {"d": 1.0}}, "b": {"q": {"x": 2.0, "d": 1.0}}}
    with pytest.raises(UsageError, match="ERR-IA needs more than ranks and grades"):
        document_bootstrap({"q": {"d": 1}}, runs, "ERR-IA")
    with pytest.raises(UsageError, match="baseline == 'c', the runs are a, b"):
        document_bootstrap({"q": {"d": 1}}, runs, "AP", baseline="c")
    with pytest.raises(UsageError, match="1 run, must be 2 or more"):
        document_bootstrap({"q": {"d": 1}}, {"a": runs["a"]}, "AP")
