"""The gate: both rules beside scipy, limits, topics, output for build servers, errors."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.comparison.gate import gate_scores
from cranfield.comparison.gate.gate import Conditions
from cranfield.errors import UsageError
from cranfield.scores.scores import Scores

TOPICS = [f"t{i}" for i in range(30)]


def scores(values: Any, run: str = "new", measure: str = "AP") -> Scores:
    return Scores([measure], [run], TOPICS[: len(values)], [[list(values)]])


RNG = np.random.default_rng(1)
BASE = RNG.uniform(0.2, 0.8, 30)
CHANGE = RNG.normal(-0.002, 0.03, 30)


@pytest.mark.parametrize("margin", [0.0, 0.005, 0.01, 0.02])
def test_non_inferior_is_the_one_sided_t_test_of_scipy(margin: float) -> None:
    check = gate_scores(scores(BASE + CHANGE), scores(BASE, "prod"), Conditions(margin=margin)).checks[0]
    theirs = stats.ttest_1samp(CHANGE, -margin, alternative="greater")
    assert check.p == pytest.approx(theirs.pvalue, abs=1e-12)
    assert check.bound == pytest.approx(theirs.confidence_interval(0.95).low, abs=1e-12)
    assert check.passed == (theirs.pvalue <= 0.05)
    assert check.difference == pytest.approx(CHANGE.mean())


def test_another_test_is_wilcoxons_of_scipy() -> None:
    check = gate_scores(scores(BASE + CHANGE), scores(BASE, "prod"), Conditions(test="wilcoxon")).checks[0]
    theirs = stats.wilcoxon(CHANGE + 0.01, alternative="greater", method="exact")
    assert check.p == pytest.approx(theirs.pvalue, abs=1e-9)


def test_observed_compares_the_mean_loss_with_the_margin() -> None:
    base = np.array([0.5, 0.5, 0.5, 0.5])
    new = base - np.array([0.0, 0.0, 0.0, 0.04])  # mean loss 0.01
    for margin, passed in {0.02: True, 0.009: False}.items():
        result = gate_scores(scores(new), scores(base, "prod"), Conditions(margin=margin, rule="observed"))
        assert result.passed is passed
    assert [worst.topic for worst in result.checks[0].worst] == ["t3"]


def test_the_same_rankings_pass_even_without_a_margin() -> None:
    qrels = {str(n): {"a": 1} for n in range(30)}
    prod = {topic: {"a": 2.0, "b": 1.0} for topic in qrels}
    again = {topic: {"a": 9.0, "b": 1.0} for topic in qrels}
    result = cf.gate(qrels, {"new": prod}, "AP", baseline={"prod": again}, margin=0)
    assert result.passed
    assert "the same ranking as prod on all 30 topics" in str(result)


def test_equal_scores_of_other_rankings_show_little() -> None:
    """0 of n topics changed: a loss of 1 on a share s of topics is missed with probability (1 - s)^n."""
    qrels = {str(n): {"a": 1} for n in range(30)}
    prod, new = ({topic: {"a": 2.0, doc: 1.0} for topic in qrels} for doc in "bc")
    check = cf.gate(qrels, {"new": new}, "AP", baseline={"prod": prod}).checks[0]
    assert (check.passed, check.p) == (False, pytest.approx(0.99**30))
    assert "not shown: about 299 topics like these would do" in check.reason
    for topics, passed in {298: False, 299: True}.items():
        same = Scores.from_matrix(np.linspace(0.1, 0.9, topics)[:, None], runs=["new"], measure="AP")
        assert gate_scores(same, same, Conditions()).passed is passed


@pytest.mark.parametrize(("much", "cautions"), [(0, True), (4, True), (5, False)])
def test_a_candidate_that_hardly_changes_passes_with_a_caution(much: int, cautions: bool) -> None:
    change = np.where(np.arange(30) % 2, 0.001, 0.002)
    change[:much] = 0.02
    check = gate_scores(scores(BASE + change), scores(BASE, "prod"), Conditions(margin=0.01)).checks[0]
    assert check.passed
    assert (f"caution: {much} of 30 topics changed by 0.01 or more" in check.reason) is cautions


def test_a_margin_in_percent_is_that_of_each_topic() -> None:
    """With d + r·b, a candidate that loses exactly 10 % on every topic is at the limit, whatever the topics are."""
    base = np.linspace(0.1, 0.9, 30)
    other = scores(base, "prod")
    noise = np.where(np.arange(30) % 2, 1e-4, -1e-4)
    at_limit = gate_scores(scores(0.9 * base + noise), other, Conditions(margin="10%")).checks[0]
    assert at_limit.p == pytest.approx(0.5, abs=0.05)
    assert gate_scores(scores(0.901 * base + noise), other, Conditions(margin="10%")).passed


def test_a_failure_says_whether_the_loss_was_seen_or_only_not_ruled_out() -> None:
    noisy = BASE + np.where(np.arange(30) % 2, 0.2, -0.2)
    result = gate_scores(scores(noisy), scores(BASE, "prod"), Conditions())
    assert "a loss above 0.01 is not ruled out, it may be 0.0" in str(result)
    worse = gate_scores(scores(BASE - 0.1 + CHANGE), scores(BASE, "prod"), Conditions())
    assert "the loss exceeds the margin 0.01, it may be 0.1" in str(worse)


def test_lower_is_better_for_some_measures() -> None:
    lower = gate_scores(scores(BASE - 0.1, measure="ESL"), scores(BASE, "prod", "ESL"), Conditions(rule="observed"))
    assert lower.passed
    higher = gate_scores(scores(BASE + 0.1, measure="ESL"), scores(BASE, "prod", "ESL"), Conditions(rule="observed"))
    assert not higher.passed


def test_a_percentage_is_of_the_mean_of_the_baseline() -> None:
    base, new = np.full(4, 0.5), np.full(4, 0.489)  # 2.2 % below
    for margin, passed in {"3%": True, "2%": False}.items():
        result = gate_scores(scores(new), scores(base, "prod"), Conditions(margin=margin, rule="observed"))
        assert result.passed is passed
    assert result.checks[0].limit == pytest.approx(0.01)


def test_other_topics_are_refused_and_common_ones_compared_by_option() -> None:
    conditions: dict[str, Any] = {"at_least": {"AP": 0.1}}
    with pytest.raises(UsageError, match=r"the topics differ \(gone: t20, t21, t22 and 7 more\); .*common_topics=True"):
        gate_scores(scores(BASE[:20]), scores(BASE, "prod"), Conditions(**conditions))
    result = gate_scores(scores(BASE[:20]), scores(BASE, "prod"), Conditions(**conditions, common_topics=True))
    assert "10 topics left out: not in both new and prod" in result.notes
    assert [check.topics for check in result.checks] == [20, 20]


QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(10)}
RUN = {topic: {"a": 2.0, "b": 1.0} for topic in QRELS}
CHANGED = {**QRELS, "q3": {"a": 0, "b": 1}, "q7": {"a": 0, "b": 1}}  # a fifth of the topics


@pytest.mark.parametrize(
    ("before", "options", "refused", "accept"),
    [
        (CHANGED, {}, "the judgments of 2 of 10 topics differ (q3, q7); score new again, or accept", "judgments"),
        (QRELS, {"depth": 1}, "the rules differ (depth is none, was 1)", "rules"),
        (CHANGED, {"depth": 1}, "the judgments of 2 of 10 topics differ (q3, q7); the rules", ["judgments", "rules"]),
        (CHANGED, {"depth": 1}, "accept_changes='judgments,rules'", "all"),
    ],
)
def test_scores_of_something_else_are_refused_unless_the_change_is_accepted(
    before: dict[str, dict[str, int]], options: dict[str, Any], refused: str, accept: str | list[str]
) -> None:
    against = cf.evaluate(before, {"new": RUN}, "RR", **options)
    with pytest.raises(UsageError) as error:
        cf.gate(QRELS, {"new": RUN}, "RR", against=against)
    assert refused in str(error.value)
    with pytest.raises(UsageError):
        cf.gate(QRELS, {"new": RUN}, "RR", against=against, accept_changes="topics")
    result = cf.gate(QRELS, {"new": RUN}, "RR", against=against, accept_changes=accept, rule="observed")
    assert result.passed
    assert any(note.startswith("accepted: the ") for note in result.notes)


def test_an_identical_evaluation_is_compared_and_an_unknown_one_is_noted() -> None:
    against = cf.evaluate(QRELS, {"new": RUN}, "RR")
    assert cf.gate(dict(reversed(QRELS.items())), {"new": RUN}, "RR", against=against).notes == ("order: score",)
    unknown = Scores.from_dict(against.to_dict())
    note = "new (baseline): the file does not say from what its scores were computed, which was not checked"
    assert note in cf.gate(QRELS, {"new": RUN}, "RR", against=unknown).notes


LIMITS: dict[str, tuple[dict[str, Any], bool, str]] = {
    "at least": ({"at_least": {"map": 0.4}}, True, "0.4250, must be at least 0.4"),
    "below it": ({"at_least": {"AP": 0.43}}, False, "0.4250, must be at least 0.43; worst topics: t0 (0.2000), t1"),
    "at most": ({"at_most": {"AP": 0.4}}, False, "must be at most 0.4; worst topics: t3 (0.7000)"),
    "no topic below": (
        {"no_topic_below": {"AP": 0.25}},
        False,
        "1 topic is below 0.25, of 4; worst topics: t0 (0.2000)",
    ),
    "all topics above": ({"no_topic_below": {"AP": 0.2}}, True, "no topic is below 0.2, of 4"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_limits_without_a_baseline(case: str) -> None:
    conditions, passed, line = LIMITS[case]
    result = gate_scores(scores([0.2, 0.3, 0.5, 0.7]), None, Conditions(**conditions))
    assert result.passed is passed
    assert line in str(result)


def test_no_topic_may_drop_against_the_baseline() -> None:
    conditions = Conditions(margin=1.0, no_topic_drop={"AP": 0.2})
    result = gate_scores(scores([0.2, 0.5]), scores([0.5, 0.6], "prod"), conditions)
    line = "FAIL new AP: 1 topic loses more than 0.2 against prod, of 2; worst topics: t0 (0.5000 -> 0.2000)"
    assert line in str(result).splitlines()


def test_the_margin_is_that_of_the_measures_given() -> None:
    qrels, run = {"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 1.0}, "r": {"b": 1.0}}
    result = cf.gate(qrels, {"new": run}, "RR", baseline={"prod": run}, at_least={"P@1": 0.5})
    assert [(check.measure, check.condition) for check in result.checks] == [("RR", "margin"), ("P@1", "at least")]


def test_the_result_for_build_servers() -> None:
    base = np.full(4, 0.5)
    result = gate_scores(scores(base - 0.1, "<new>, 50%"), scores(base, "prod"), Conditions(at_least={"AP": 0.1}))
    suite = ElementTree.fromstring(result.to_junit()).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("FAIL <new>, 50% AP: 0.4000 is 0.1000 below prod (0.5000)")
    error, notice = result.to_annotations().splitlines()
    assert error.startswith("::error title=gate%3A <new>%2C 50%25 AP::FAIL <new>, 50%25 AP: 0.4000")
    assert notice == "::notice title=gate::gate failed: 1 of 2 checks"
    data = json.loads(result.to_json())
    assert (data["passed"], data["checks"][0]["worst"][0]["topic"]) == (False, "t0")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "rule": ({"rule": "proof"}, "rule == 'proof', must be one of 'non-inferior', 'observed'"),
    "test": ({"test": "tukey"}, "test == 'tukey' is for many systems; use one of two systems, such as t"),
    "unknown test": ({"test": "tt"}, "no test 'tt'"),
    "alpha": ({"alpha": 2}, "alpha == 2"),
    "margin": ({"margin": -0.1}, "margin == -0.1, must be 0 or above: the loss that is tolerated"),
    "margin text": ({"margin": "much"}, "margin == 'much', must be a number or a percentage such as 2%"),
    "measure": ({"at_least": {"RR": 0.1}}, "at_least of RR: not one of the measures AP"),
    "change": ({"accept_changes": "runs"}, "accept_changes == 'runs', must be one of 'judgments', 'topics'"),
    "limit": ({"at_least": {"AP": "high"}}, "at_least == 'high', must be a number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_conditions(case: str) -> None:
    settings, message = WRONG[case]
    with pytest.raises(UsageError, match=message):
        gate_scores(scores(BASE), scores(BASE, "prod"), Conditions(**settings))


def test_nothing_to_check_and_several_baselines() -> None:
    with pytest.raises(UsageError, match="nothing to check: give a baseline, or a limit"):
        gate_scores(scores(BASE))
    with pytest.raises(UsageError, match="no_topic_drop compares topics with a baseline"):
        gate_scores(scores(BASE), None, Conditions(no_topic_drop={"AP": 0.1}))
    two = Scores(["AP"], ["a", "b"], TOPICS, [[BASE.tolist(), BASE.tolist()]])
    with pytest.raises(UsageError, match=r"the baseline has 2 runs \(a, b\), must be one"):
        gate_scores(scores(BASE), two)
    with pytest.raises(UsageError, match="1 topic, but the rule non-inferior needs 2 or more; use the rule observed"):
        gate_scores(scores([0.2]), scores([0.3], "prod"))


def test_a_gate_that_passes_says_which_losses_may_go_unseen() -> None:
    base = np.linspace(0.2, 0.6, 25)
    better = base + np.linspace(0.05, 0.15, 25)
    topics = [str(topic) for topic in range(25)]
    scores, other = (
        Scores.from_matrix(values[:, None], runs=[run], topics=topics, measure="AP")
        for values, run in ((better, "new"), (base, "old"))
    )
    result = gate_scores(scores, other)
    assert result.passed
    # A kind of topic that makes up a share s is not among 25 with probability (1 - s)^25, which is 0.05 for 11.3 %
    assert "with 25 topics, losses on fewer than 11 % of topics may go unseen" in result.notes
