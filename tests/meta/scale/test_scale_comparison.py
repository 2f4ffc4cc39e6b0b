"""Verdicts on several scales: scipy on values transformed by hand, and laws of tests that need only an order."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from cranfield.assessed.join import join
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.meta.scale.scale_comparison import compare_scales, scale_differs
from cranfield.scores.scores import Scores

RUNS = ("a", "b", "c")


@pytest.fixture
def values() -> np.ndarray:
    """systems × topics."""
    rng = np.random.default_rng(3)
    return np.asarray(0.3 + 0.3 * rng.beta(2, 3, (1, 20)) + rng.normal(0, 0.05, (3, 20)) + [[0], [0.03], [0.06]])


def lists_of(ranks: dict[str, list[int]], relevant: list[int]) -> Assessed:
    """Lists of three documents with one relevant document at a rank (0: none), and topics with so many relevant."""
    qrels = {f"t{t}": {f"d{n}": 1 for n in range(count)} for t, count in enumerate(relevant)}
    runs = {
        run: {
            f"t{t}": {("d0" if rank == place else f"x{rank}"): 4.0 - rank for rank in (1, 2, 3)}
            for t, place in enumerate(places)
        }
        for run, places in ranks.items()
    }
    return join(qrels, runs)


RANKS = {"a": [1, 1, 2, 1, 1, 3, 1, 2, 1, 1], "b": [2, 0, 3, 2, 0, 0, 3, 0, 2, 1]}
"""The rank of the relevant document of each topic."""


def test_p_on_scores_and_on_ranks_is_that_of_scipy_after_holm(values: np.ndarray) -> None:
    result = compare_scales(Scores.from_matrix(values.T, RUNS, measure="AP"))
    assert result.scales == ("scores", "ranks")
    ranked = stats.rankdata(values).reshape(values.shape)
    for place, data in enumerate((values, ranked)):
        p = [stats.ttest_rel(data[i], data[j]).pvalue for i, j in combinations(range(3), 2)]
        assert result.p[place, 0] == pytest.approx(multipletests(p, method="holm")[1])
    p = [stats.wilcoxon(values[i], values[j]).pvalue for i, j in combinations(range(3), 2)]
    assert result.p[0, 1] == pytest.approx(multipletests(p, method="holm")[1])  # without ties both are exact
    wins = [(int((values[i] > values[j]).sum()), values.shape[1]) for i, j in combinations(range(3), 2)]
    p = [stats.binomtest(won, n).pvalue for won, n in wins]
    assert result.p[0, 2] == pytest.approx(multipletests(p, method="holm")[1])


def test_the_interval_scale_of_rr_at_3_has_three_equal_steps() -> None:
    # RR@3 is 0, 1/3, 1/2 or 1, so on the interval scale it is 0, 1/3, 2/3 or 1.
    steps = np.array([0, 1, 2 / 3, 1 / 3])
    a, b = steps[RANKS["a"]], steps[RANKS["b"]]
    result = compare_scales(lists_of(RANKS, [1] * 10), "RR@3")
    place = result.scales.index("interval")
    assert result.difference[place, 0] == pytest.approx(a.mean() - b.mean())
    assert result.p[place, 0, 0] == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert result.defaults == {"RR@3": "t of interval"}


@pytest.mark.parametrize(
    ("measure", "relevant", "default"),
    [
        ("P@3", [1, 2] * 5, "t of scores"),  # steps of 1/3 on all topics
        ("R@3", [1] * 10, "t of scores"),
        ("R@3", [1, 2] * 5, "sign of scores"),  # steps of 1 and of 1/2
        ("AP@3", [2] * 10, "t of interval"),
        ("AP@3", [1, 2] * 5, "sign of scores"),
        ("RR@3", [1, 2] * 5, "t of interval"),  # needs no missed document
        ("AP", [2] * 10, "sign of scores"),  # no cutoff, so there is no interval scale
    ],
)
def test_the_default_needs_no_assumption_that_is_not_met(measure: str, relevant: list[int], default: str) -> None:
    result = compare_scales(lists_of(RANKS, relevant), measure)
    assert result.defaults == {measure: default}
    said = any("cannot be compared" in note for note in result.notes)
    assert said == (relevant != [relevant[0]] * 10 and measure in ("R@3", "AP@3"))


def test_why_the_scales_of_topics_differ() -> None:
    lists = lists_of(RANKS, [1, 2] * 5)
    assert scale_differs(lists, "AP") == "topics have 1 to 2 relevant documents"
    assert scale_differs(lists, "P") == ""  # all lists have three documents
    shorter = join({"t0": {"d0": 1}}, {"a": {"t0": {"d0": 1.0}}, "b": {"t0": {"d0": 1.0, "x": 0.5}}})
    assert scale_differs(shorter, "P") == "lists have 1 to 2 documents"
    assert scale_differs(Scores.from_matrix([[0.1, 0.2]], measure="mine"), "mine").startswith("it is not known")


def test_the_sign_test_is_the_same_on_all_scales_and_under_any_increasing_transformation(values: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    before = compare_scales(Scores.from_matrix(values.T, RUNS, measure="AP"))
    power = rng.uniform(0.2, 5, values.shape[1])  # another transformation on each topic
    after = compare_scales(Scores.from_matrix((values**power).T, RUNS, measure="AP"))
    sign = before.tests.index("sign")
    assert (before.p[:, sign] == before.p[0, sign]).all()
    flip = before.system != after.system
    assert (np.where(flip, -1, 1) * after.verdict[0, sign] == before.verdict[0, sign]).all()


def test_pairs_whose_verdict_depends_are_named() -> None:
    # b wins on 11 of 12 topics by little and loses one by much: signs differ (p = 26 / 4096), means do not.
    a = np.full(12, 0.4)
    b = np.array([*(a[:11] + np.linspace(0.01, 0.03, 11)), 0.0])
    result = compare_scales(Scores.from_matrix(np.stack([a, b], axis=1), ["a", "b"], measure="AP"))
    assert result.depends.tolist() == [True]
    assert stats.ttest_rel(a, b).pvalue > 0.05
    assert stats.binomtest(11, 12).pvalue < 0.05
    assert "1 of 1 verdict depends on the choice: a and b" in "\n".join(result.notes)
    (row,) = result.table().rows
    assert row[:4] == ("AP", "a", "b", "<")  # the better mean first, but the other wins on most topics
    assert row[4] == "="


def test_low_scores_of_a_measure_of_costs_are_good(values: np.ndarray) -> None:
    costs = compare_scales(Scores.from_matrix(values.T, RUNS, measure="ESL"))
    gains = compare_scales(Scores.from_matrix(1 - values.T, RUNS, measure="AP"))
    assert costs.system.tolist() == gains.system.tolist()
    assert (costs.difference[0] >= 0).all()
    assert (costs.verdict == gains.verdict).all()


def test_without_a_test_of_order_there_is_no_default(values: np.ndarray) -> None:
    with pytest.raises(UsageError, match="sign"):
        compare_scales(Scores.from_matrix(values.T, RUNS, measure="AP"), tests=["t"])


def test_the_default_keeps_its_level_where_topics_have_scales_of_their_own() -> None:
    """Systems that are exchangeable on each topic, whose scales differ: at most 5 % of verdicts, give or take noise."""
    rng = np.random.default_rng(5)
    found, trials = 0, 1000
    for _ in range(trials):
        scores = rng.random((2, 25)) ** rng.uniform(0.2, 6, 25)
        result = compare_scales(Scores.from_matrix(scores.T, ["a", "b"], measure="AP"))
        found += int((result.default_verdict != 0).sum())
    # The sign test of 25 topics rejects with probability 0.0433 (scipy.stats.binom, 7 wins or fewer, twice).
    exact = 2 * stats.binom.cdf(7, 25, 0.5)
    assert abs(found / trials - exact) < 3 * np.sqrt(exact * (1 - exact) / trials)
