"""Wins and losses: Δ, sign tests, intervals, cycles, verdicts, power."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

from cranfield import UsageError
from cranfield.online.interleaving.interleaving_analysis import analyse_interleaving, cycles_of
from cranfield.online.interleaving.preference_counts import ClusterCounts, count_preferences
from cranfield.online.interleaving.sign_statistics import (
    always_valid,
    always_valid_flips,
    flip_test,
    impressions_needed,
    interleaving_power,
    power_at,
    preference,
    sign_test,
)


def test_delta_by_hand() -> None:
    """Chapelle et al. 2012: (wins + ties / 2) / all − 0.5. 6 wins, 2 losses, 4 ties: 8 / 12 − 1 / 2 = 1 / 6."""
    assert float(preference(6, 2, 4)) == pytest.approx(1 / 6)
    assert math.isnan(float(preference(0, 0, 0)))


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (3, 3), (8, 2), (2, 8), (40, 60), (500, 430)])
def test_the_sign_test_is_scipys_binomial_test(wins: int, losses: int) -> None:
    expected = stats.binomtest(wins, wins + losses, 0.5).pvalue if wins + losses else 1.0
    assert sign_test(wins, losses) == pytest.approx(expected)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (8, 2), (60, 40), (130, 70)])
def test_the_always_valid_p_is_the_inverse_of_a_mixture_of_likelihoods(wins: int, losses: int) -> None:
    """The likelihood ratio of p against 1/2, averaged over the Beta(50, 50) prior of p by numerical integration."""

    def ratio(p: float) -> float:
        return float((2 * p) ** wins * (2 * (1 - p)) ** losses * stats.beta.pdf(p, 50, 50))

    assert always_valid(wins, losses) == pytest.approx(min(1, 1 / integrate.quad(ratio, 0, 1)[0]))


def test_peeking_at_the_always_valid_p_keeps_alpha_and_at_the_sign_test_does_not() -> None:
    """Equal systems, 400 decided impressions, a look after each: how many of 2,000 experiments ever have p < 0.05?"""
    rng = np.random.default_rng(3)
    wins = np.cumsum(rng.random((2_000, 400)) < 0.5, axis=1)
    n = np.arange(1, 401)
    smallest = {k: np.array([always_valid(w, k - w) for w in range(k + 1)]) for k in n.tolist()}
    ever = np.mean([any(smallest[k][row[k - 1]] < 0.05 for k in n.tolist()) for row in wins.tolist()])
    assert ever <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2_000)
    naive = stats.binom.cdf(np.minimum(wins, n - wins), n, 0.5) * 2 < 0.05
    assert naive.any(axis=1).mean() > 0.2


@pytest.mark.parametrize(("wins", "losses"), [(0.3, 0.2), (0.1, 0.04), (0.55, 0.45)])
def test_the_impressions_needed_give_the_power(wins: float, losses: float) -> None:
    """20,000 experiments of this size; the sign test rejects in 80% of them, up to its discreteness."""
    n = math.ceil(impressions_needed(wins, losses, 0.05, 0.8))
    drawn = np.random.default_rng(1).multinomial(n, [wins, losses, max(0.0, 1 - wins - losses)], size=20_000)
    decided = drawn[:, 0] + drawn[:, 1]
    p = np.minimum(1, 2 * stats.binom.cdf(drawn[:, :2].min(axis=1), decided, 0.5))
    assert (p < 0.05).mean() == pytest.approx(0.8, abs=0.05)
    assert float(power_at(wins, losses, n)) == pytest.approx(0.8, abs=0.01)


def test_no_difference_needs_infinitely_many_impressions() -> None:
    assert math.isinf(impressions_needed(0.3, 0.3))
    with pytest.raises(UsageError, match=r"wins \+ losses == 1\.2, must be at most 1"):
        impressions_needed(0.7, 0.5)


def test_power_by_delta_is_power_by_wins_and_losses() -> None:
    """Δ = 0.05 with 40% ties: wins 0.35, losses 0.25. A design effect of 2 doubles the impressions."""
    result = interleaving_power([0.05], ties=0.4, impressions=1000)
    assert result.needed[0] == pytest.approx(impressions_needed(0.35, 0.25))
    assert result.reached[0] == pytest.approx(float(power_at(0.35, 0.25, 1000)))
    assert interleaving_power([0.05], ties=0.4, design_effect=2).needed[0] == pytest.approx(2 * result.needed[0])
    with pytest.raises(UsageError, match=r"delta == 0\.4, must be above 0 and at most 0\.3"):
        interleaving_power([0.4], ties=0.4)


def impressions(seed: int, users: int = 60, each: int = 8) -> tuple[np.ndarray, list[str], list[str]]:
    """Credit, user and query of impressions whose users have tastes of their own."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), each)
    taste = rng.normal(0.3, 1.2, users)[user]
    difference = np.sign(taste + rng.normal(size=len(user))) * (rng.random(len(user)) < 0.7)
    credit = np.stack([np.maximum(difference, 0), np.maximum(-difference, 0)], axis=1)
    return credit, [f"u{one}" for one in user], [f"q{one}" for one in rng.integers(0, 20, len(user))]


def test_counts_by_user_and_query_are_those_of_the_rows() -> None:
    credit, users, queries = impressions(0)
    counts = count_preferences(["a", "b"], credit, users, queries)
    for names, clusters in ((users, counts.by_user[0]), (queries, counts.by_query[0])):
        rows = {}
        for name, (first, second) in zip(names, credit.tolist(), strict=True):
            row = rows.setdefault(name, [0, 0, 0])
            row[0 if first > second else 2 if second > first else 1] += 1
        expected = {}
        for row in rows.values():
            expected[tuple(row)] = expected.get(tuple(row), 0) + 1
        found = dict(zip(map(tuple, clusters.outcomes.tolist()), clusters.number.tolist(), strict=True))
        assert found == expected
        assert clusters.totals == tuple(counts.totals[0].tolist())


def test_the_interval_by_user_is_the_jackknife_of_whole_users() -> None:
    """Users, with an imaginary win and an imaginary loss, are left out one after the other, literally."""
    credit, users, _ = impressions(1)
    users = [f"u{int(user[1:]) ** 2 // 60}" for user in users]  # of unequal sizes
    low, high = count_preferences(["a", "b"], credit, users).by_user[0].interval(0.9)
    outcome = np.append(np.sign(credit[:, 0] - credit[:, 1]), [1, -1])
    owner = np.array([*users, "win", "loss"])
    names, sizes = np.unique(owner, return_counts=True)
    whole = outcome.mean()
    error = np.sqrt(sum((outcome[owner != name].mean() - whole) ** 2 for name in names))
    reach = stats.t.ppf(0.95, sizes.sum() ** 2 / (sizes**2).sum() - 1) * error
    assert [low, high] == pytest.approx([(whole - reach) / 2, (whole + reach) / 2])


def test_the_sign_flip_test_of_users_is_that_of_all_flips() -> None:
    """All 2^9 ways to turn users around, one after the other."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        net = np.round(rng.normal(1, 3, 9)).astype(int)
        sums = np.abs(np.array(list(product([-1, 1], repeat=9))) @ net)
        kinds, number = np.unique(net, return_counts=True)
        assert flip_test(kinds, number) == pytest.approx((sums >= abs(net.sum())).mean())
    many = rng.normal(0.02, 1, 40_000)
    kinds, number = np.unique(np.round(30 * many).astype(int), return_counts=True)  # too many for all flips
    total = kinds @ number
    assert flip_test(kinds, number) == pytest.approx(2 * stats.norm.sf(abs(total) / np.sqrt(kinds**2 @ number)))
    assert flip_test(np.array([1, 0, -1]), np.array([30, 7, 10])) == pytest.approx(sign_test(30, 10))


def test_the_any_time_p_of_users_is_a_mixture_and_is_cautious_if_no_user_decides_twice() -> None:
    """The integral over drifts with a normal prior of variance 1 / 100."""

    def ratio(drift: float) -> float:
        return math.exp(drift * 40 - drift**2 * 250 / 2) * stats.norm.pdf(drift, scale=0.1)

    assert always_valid_flips(40, 250) == pytest.approx(min(1, 1 / integrate.quad(ratio, -2, 2)[0]))
    assert always_valid_flips(60, 100) > always_valid(80, 20)


def test_the_design_effect_is_the_variance_by_users_over_that_of_independent_impressions() -> None:
    """Users of equal size: the variance of the mean of user means over that of the mean of impressions, by hand."""
    credit, users, _ = impressions(2)
    outcome = np.sign(credit[:, 0] - credit[:, 1])
    by_user = outcome.reshape(60, 8).mean(axis=1)
    expected = by_user.var() / 60 / (outcome.var() / len(outcome))
    counts = count_preferences(["a", "b"], credit, users)
    assert counts.by_user[0].design_effect() == pytest.approx(expected)
    assert expected > 2


def test_a_difference_that_few_users_make_is_not_called_better() -> None:
    """One user of many impressions decides the sign test, and counts as one user."""
    credit = np.array([[1, 0]] * 60 + [[0, 1]] * 9 + [[1, 0]] * 8)
    users = ["busy"] * 60 + [f"u{n}" for n in range(17)]
    alone = analyse_interleaving(count_preferences(["a", "b"], credit))
    by_user = analyse_interleaving(count_preferences(["a", "b"], credit, users))
    assert alone.pairs[0].better == "a"
    assert by_user.pairs[0].better == ""
    assert "sign-flip test of users p = 0.6855" in by_user.verdict
    assert by_user.pairs[0].p_users == pytest.approx(stats.binomtest(9, 18).pvalue)


def test_equal_systems_are_called_different_at_most_at_alpha() -> None:
    """400 experiments without a difference, with users of equal taste."""
    rng = np.random.default_rng(8)
    called = 0
    for _ in range(400):
        outcome = rng.choice([1.0, 0.0, -1.0], size=150, p=[0.3, 0.4, 0.3])
        credit = np.stack([outcome, np.zeros(150)], axis=1)
        result = analyse_interleaving(count_preferences(["a", "b"], credit))
        called += bool(result.pairs[0].better)
    assert called / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_the_mean_difference_in_credit_has_the_error_of_user_means() -> None:
    """Users of equal size: the standard error of the mean of user means, by hand."""
    credit, users, _ = impressions(2)
    by_user = (credit[:, 0] - credit[:, 1]).reshape(60, 8).mean(axis=1)
    moments = count_preferences(["a", "b"], credit, users).credit[0]
    assert moments.mean == pytest.approx(by_user.mean())
    assert moments.error == pytest.approx(by_user.std(ddof=1) / np.sqrt(60))
    assert moments.p == pytest.approx(stats.ttest_1samp(by_user, 0).pvalue)
    z = 1.959964 + 0.841621
    assert moments.needed(0.05, 0.8) == pytest.approx(480 * (z * moments.error / moments.mean) ** 2, rel=1e-5)
    alone = count_preferences(["a", "b"], credit).credit[0]
    assert alone.error == pytest.approx(stats.sem(credit[:, 0] - credit[:, 1]))


def test_many_small_wins_and_few_large_losses_are_no_difference() -> None:
    """70 wins by 0.1 and 30 losses by 0.24 credit: the sign test has p = 0.00008, the mean difference is -0.002."""
    credit = np.array([[0.1, 0.0]] * 70 + [[0.0, 0.24]] * 30)
    result = analyse_interleaving(count_preferences(["a", "b"], credit))
    assert result.pairs[0].p < 0.001
    assert result.pairs[0].better == ""
    assert "the mean difference in credit may be 0" in result.verdict


def test_cycles_are_found_and_the_verdict_names_them() -> None:
    """a beats b, b beats c and c beats a in 80 of 100 impressions each (others tie, which credits cannot all be)."""
    counts = count_preferences(["a", "b", "c"], np.zeros((1, 3)))
    totals = np.array([[80, 0, 20], [20, 0, 80], [80, 0, 20]])
    result = analyse_interleaving(type(counts)(counts.systems, (), (), totals))
    assert result.cycles == (("a", "b", "c"),)
    assert result.verdict == "The preferences are not transitive, so there is no best system: a > b > c > a."
    assert result.matrix().tolist() == [[0, 0.3, -0.3], [-0.3, 0, 0.3], [0.3, -0.3, 0]]


def test_cycles_of_four_systems_by_brute_force() -> None:
    names = tuple("abcd")
    pairs = [(x, y) for x in names for y in names if x < y]
    for signs in product([0, 1], repeat=6):
        beats = {pair if sign else pair[::-1] for pair, sign in zip(pairs, signs, strict=True)}
        expected = {frozenset((x, y, z)) for x, y, z in product(names, repeat=3) if {(x, y), (y, z), (z, x)} <= beats}
        assert {frozenset(cycle) for cycle in cycles_of(beats, names)} == expected


def test_verdicts_of_several_systems() -> None:
    counts = count_preferences(["a", "b", "c"], np.zeros((1, 3)))

    def verdict(*totals: list[int]) -> str:
        return analyse_interleaving(type(counts)(counts.systems, (), (), np.array(totals))).verdict

    assert verdict([80, 0, 20], [80, 0, 20], [50, 0, 50]) == "a is better than all 2 others; 1 pair of 3 not decided."
    assert verdict([50, 0, 50], [50, 0, 50], [50, 0, 50]) == "No difference between the 3 systems is shown."
    assert verdict([50, 0, 50], [80, 0, 20], [50, 0, 50]).endswith("2 pairs of 3 not decided: a > c.")


def test_only_ties_and_bad_input() -> None:
    result = analyse_interleaving(count_preferences(["a", "b"], np.zeros((5, 2))))
    assert result.verdict == "No impression was decided between a and b: all 5 are ties."
    assert result.pairs[0].p == 1
    with pytest.raises(UsageError, match="not a number"):
        count_preferences(["a", "b"], np.array([[np.nan, 1]]))
    with pytest.raises(UsageError, match="2 users or queries for 1 impressions"):
        count_preferences(["a", "b"], np.zeros((1, 2)), ["u", "v"])
    assert math.isnan(ClusterCounts.of(np.array([[1, 0, 0]])).interval(0.95)[0])


def test_credits_that_differ_by_rounding_only_are_ties() -> None:
    counts = count_preferences(["a", "b"], np.array([[0.1 + 0.2, 0.3]]))
    assert counts.totals.tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("name", ["alpha", "power"])
def test_levels_of_0_and_1_are_refused(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"{name} == {value}, must be above 0 and below 1"):
        interleaving_power([0.1], **{name: value})
