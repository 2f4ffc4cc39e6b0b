"""A mark follows the direction of its test, and the row says where the means contradict it.

A loses a little on 29 topics and gains much on one, so that its mean is higher than that of B by 0.0072: (0.65 − 0.435)
/ 30. A test of ranks or wins finds it lower: the rank sum of the losses is 1 + … + 29 = 435, that of the gain 30, so
W = −405, and there are 29 losses and 1 win.
"""

import json

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.building.kept_pairs import Significance
from cranfield.building.machine.judge_rankings import compare_rankings
from cranfield.building.machine.judged_pairs import BOTH, ScoredTwice
from cranfield.comparison.across_collections import compare_collections
from cranfield.comparison.gate.gate import Conditions, gate_scores
from cranfield.comparison.leaderboard import leaderboard_of
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.comparison.time_tests import compare_times
from cranfield.report.figures import describe_intervals
from cranfield.scores.scores import Scores

A = np.array([0.3 - 0.001 * i for i in range(1, 30)] + [0.95])
B = np.full(30, 0.3)
SCORES = Scores.from_matrix(np.column_stack([A, B]), runs=["A", "B"], measure="AP")
OF_RANKS = ("wilcoxon", "sign", "friedman", "kruskal-wallis")


def test_scipy_finds_the_mean_higher_and_the_ranks_lower() -> None:
    assert (A - B).mean() == pytest.approx(0.0072, abs=5e-5)
    assert stats.wilcoxon(A, B, alternative="less").pvalue < 0.0001
    assert stats.binomtest(1, 30, alternative="less").pvalue < 0.0001


@pytest.mark.parametrize("test", OF_RANKS)
def test_a_mark_follows_the_test_where_the_mean_says_the_opposite(test: str) -> None:
    result = cf.compare(SCORES, test=test, baseline="B")
    (row,) = result.rows()
    assert row["difference"] > 0
    assert row["significant"]
    assert row["against mean"]
    rows = {line.split()[0]: line.split() for line in result.wide().text().splitlines()[1:4]}
    assert rows["A"][2] == "▼≠"
    latex = result.to_latex()
    assert r"$^{\ddagger\neq}$" in latex
    assert r"$^{\dagger" not in latex
    assert r"$\neq$: the test and the means" in latex
    caution = f"the {test} test contradicts the means (≠): B is higher than A, though its mean is lower"
    assert f"caution: {caution}" in result.notes


@pytest.mark.parametrize("test", OF_RANKS)
def test_letters_counts_and_the_leaderboard_say_that_the_means_contradict_the_test(test: str) -> None:
    result = cf.compare(SCORES, test=test)
    (family,) = result.families
    assert result.marks(family) == ["a≠", "b≠"]
    assert [counts.tolist() for counts in family.counts(0.05)] == [[0, 1], [1, 0]]  # B is above A
    assert [row[-1] for row in result.wide(marks="beats").rows] == ["≠", "a≠"]
    counted = result.wide(marks="counts")
    assert [column.header for column in counted.columns][-3:] == ["beats", "loses to", "≠"]
    assert [row[-3:] for row in counted.rows] == [(0, 1, "≠"), (1, 0, "≠")]
    assert r"\mathrm{a}\neq" in result.to_latex(marks="beats")
    board = leaderboard_of(SCORES, test=test)
    assert board.groups == ("a≠", "b≠")
    assert any("contradicts the means" in note for note in board.notes)
    pairs = json.loads(result.to_json())["pairs"]
    assert [pair["against mean"] for pair in pairs] == [True]
    assert "against mean" in result.pairs().text()


def test_a_figure_does_not_show_a_contradicted_system_as_one_that_simply_differs() -> None:
    for test, stands in (("sign", "differs from the baseline, against the means"), ("t", "does not differ")):
        columns = describe_intervals(cf.compare(SCORES, test=test, baseline="B")).columns()
        assert stands in columns["stands"][list(columns["system"]).index("A")]


def test_a_test_of_means_never_contradicts_them() -> None:
    rng = np.random.default_rng(5)
    scores = Scores.from_matrix(rng.beta(1, 4, (12, 5)) + np.linspace(0, 0.5, 5), measure="P@5")
    for test in TESTS.values():
        if test.name not in OF_RANKS:
            result = cf.compare(scores, test=test.name, correction=None if test.simultaneous else "none", resamples=200)
            assert result.significant, test.name
            assert not any(row["against mean"] for row in result.rows()), test.name


def test_marks_agree_with_the_one_sided_tests_on_random_scores() -> None:
    """The one-sided p of the marked direction is at most half of α, and that of the other one is not."""
    rng = np.random.default_rng(11)
    values = rng.normal(0, 0.02, (25, 8)) + np.where(rng.random((25, 8)) < 0.06, 0.6, 0) + np.linspace(0, 0.03, 8)
    scores = Scores.from_matrix(values, measure="AP")
    for test, tail in (("wilcoxon", stats.wilcoxon), ("sign", _sign_tail)):
        result = cf.compare(scores, test=test, correction="none", direction="given")
        (family,) = result.families
        assert family.against(0.05).any()  # otherwise the next lines show nothing
        winner, loser = family.beaten(0.05)
        for better, worse in zip(winner.tolist(), loser.tolist(), strict=True):
            assert tail(values[:, better], values[:, worse], alternative="greater").pvalue <= 0.025


def _sign_tail(x: np.ndarray, y: np.ndarray, alternative: str) -> object:
    return stats.binomtest(int((x > y).sum()), int((x != y).sum()), alternative=alternative)


def test_marks_of_a_measure_where_lower_is_better_follow_the_test() -> None:
    scores = Scores.from_matrix(np.column_stack([A, B]), runs=["A", "B"], measure="E")
    (family,) = cf.compare(scores, test="sign").families
    winner, loser = family.beaten(0.05)
    assert [family.matrix.systems[i] for i in (winner[0], loser[0])] == ["A", "B"]  # A is lower on 29 topics


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
def test_pairs_kept_by_fewer_judgments_and_by_merging_have_the_direction_of_the_test(test: str) -> None:
    how = Significance(TESTS.find(test), "none", TestSettings())
    signs, reason = how.signs(SCORES.values[0], ["A", "B"], SCORES.topics, "AP")
    assert (signs.tolist(), reason) == ([-1], None)


def test_times_that_the_test_orders_the_other_way_are_noted() -> None:
    times = {name: {str(i): float(x) for i, x in enumerate(values)} for name, values in (("A", A), ("B", B))}
    result = compare_times({**times, "A": {**times["A"], "29": 30.0}}, test="sign")  # slower by far on one topic
    assert result.faster.tolist() == ["B"]
    assert result.against.tolist() == [True]
    assert any("contradicts the means" in note for note in result.notes)
    assert "against mean" not in compare_times(times, test="t").table().text()


def test_a_gate_does_not_pass_a_mean_loss_that_a_test_of_ranks_overlooks() -> None:
    """The candidate gains 0.01 on 29 topics and loses 0.9 on one: it loses (0.9 − 0.29) / 30 = 0.0203 on average."""
    before = Scores.from_matrix(np.full((30, 1), 0.9), runs=["old"], measure="AP")
    now = Scores.from_matrix(np.array([[0.91]] * 29 + [[0.0]]), runs=["new"], measure="AP")
    for test in ("wilcoxon", "sign"):
        (verdict,) = gate_scores(now, before, Conditions(margin=0.005, test=test)).checks
        assert verdict.p <= 0.05
        assert not verdict.passed
        assert "0.8797 is 0.0203 below old" in verdict.reason
        assert "the mean loses more than the margin 0.005, though most topics do not" in verdict.reason


def test_the_interval_over_collections_has_the_sign_of_the_difference_of_its_row() -> None:
    """a is worse than b on each of four collections; the row is a − b, so both intervals are below 0."""
    parts = {
        name: Scores.from_matrix([[0.2 + step, 0.5], [0.3, 0.6 + 2 * step], [0.1, 0.4]], runs=["a", "b"], measure="AP")
        for name, step in zip("wxyz", (0.0, 0.01, 0.02, 0.03), strict=True)
    }
    row = {name: column[0] for name, column in compare_collections(parts).columns().items()}
    assert (row["system"], row["other"]) == ("a", "b")
    assert row["difference"] < 0
    assert row["low"] < row["high"] < 0
    assert row["collection low"] < row["collection high"] < 0


def test_an_audit_calls_a_conclusion_reversed_only_if_its_test_points_the_other_way() -> None:
    """With human judgments the mean of A is higher, with machine judgments lower; A loses on 29 topics with both."""
    machine = Scores.from_matrix(np.column_stack([np.append(A[:-1], 0.31), B]), runs=["A", "B"], measure="AP")
    assert machine.means()[0, 0] < machine.means()[0, 1]
    rankings, changes, _ = compare_rankings([ScoredTwice("m", BOTH, SCORES, machine, ())], test="sign")
    assert changes.change.tolist() == []
    assert rankings.swapped.tolist() == [1]
