"""Comparisons over collections, against hand arithmetic and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cranfield.comparison.across_collections import compare_collections
from cranfield.errors import UsageError
from cranfield.scores.scores import Scores

ONE = Scores.from_matrix([[0.3, 0.5], [0.4, 0.6], [0.2, 0.5]], runs=["a", "b"], measure="AP")
TWO = Scores.from_matrix([[0.1, 0.2], [0.2, 0.4]], runs=["a", "b"], measure="AP")


def test_topics_are_random_and_collections_fixed() -> None:
    """Differences .2 .2 .3 and .1 .2: means .2333 and .15, variances .00333 and .005."""
    result = compare_collections({"one": ONE, "two": TWO}, baseline="a")
    parts = [0.01 / 3 / 3, 0.005 / 2]
    error = math.sqrt(sum(parts)) / 2
    degrees = sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 1)
    difference = (0.7 / 3 + 0.15) / 2
    assert result.difference[0] == pytest.approx(difference)
    assert result.p[0] == pytest.approx(2 * stats.t.sf(difference / error, degrees))
    half = stats.t.ppf(0.975, degrees) * error
    assert (result.low[0], result.high[0]) == pytest.approx((difference - half, difference + half))
    assert (result.mean[0], result.other_mean[0]) == pytest.approx(((1.6 / 3 + 0.3) / 2, (0.3 + 0.15) / 2))
    assert (result.win.tolist(), result.loss.tolist()) == ([1 + 1], [0])


def test_collections_are_the_units_of_the_other_test() -> None:
    rng = np.random.default_rng(5)
    parts = {f"c{at}": Scores.from_matrix(rng.random((9, 3)), runs=["a", "b", "c"], measure="AP") for at in range(8)}
    result = compare_collections(parts, baseline="a", correction="none")
    means = np.array([scores.means()[0] for scores in parts.values()])
    for at, name in enumerate(["b", "c"], 1):
        assert result.system[at - 1] == name
        assert result.unit_p[at - 1] == pytest.approx(stats.ttest_rel(means[:, at], means[:, 0]).pvalue)
    ranked = compare_collections(parts, baseline="a", test="wilcoxon", correction="none")
    assert ranked.unit_p[0] == pytest.approx(stats.wilcoxon(means[:, 1], means[:, 0], method="exact").pvalue)
    assert ranked.p.tolist() == result.p.tolist()


def test_one_collection_split_into_two_halves_of_equal_size_has_the_difference_of_the_whole() -> None:
    """With equal numbers of topics the mean over parts is the mean over all topics."""
    rng = np.random.default_rng(2)
    values = rng.random((20, 2))
    parts = {str(at): Scores.from_matrix(values[at::2], runs=["a", "b"], measure="AP") for at in (0, 1)}
    result = compare_collections(parts, baseline="a")
    assert result.difference[0] == pytest.approx((values[:, 1] - values[:, 0]).mean())


def test_p_of_topics_is_uniform_if_nothing_differs() -> None:
    """4,000 pairs of equal systems on 3 collections of different size and variance: 5 % have p ≤ .05."""
    rng = np.random.default_rng(9)
    runs = [f"r{at}" for at in range(90)]
    parts = {
        str(n): Scores.from_matrix(rng.normal(0.5, spread, (n, 90)), runs=runs, measure="AP")
        for n, spread in ((8, 0.1), (20, 0.3), (50, 0.2))
    }
    result = compare_collections(parts, correction="none")
    assert len(result.p) == 90 * 89 // 2
    assert (result.p <= 0.05).mean() == pytest.approx(0.05, abs=0.02)


def test_systems_that_lack_a_collection_are_left_out_and_named() -> None:
    more = Scores.from_matrix([[0.3, 0.5, 0.6], [0.4, 0.6, 0.1]], runs=["a", "b", "c"], measure="AP")
    result = compare_collections({"one": ONE, "more": more})
    assert result.system == ("a",)
    assert any(note.endswith("c (one)") for note in result.notes)


def test_identical_systems_do_not_differ() -> None:
    same = Scores.from_matrix([[0.3, 0.3], [0.4, 0.4]], runs=["a", "b"], measure="AP")
    result = compare_collections({"one": same, "two": same}, baseline="a")
    assert result.p.tolist() == [1.0]
    assert result.table().text()


def test_a_test_of_all_pairs_at_once_needs_no_correction_over_collections() -> None:
    rng = np.random.default_rng(5)
    parts = {f"c{at}": Scores.from_matrix(rng.random((9, 3)), runs=["a", "b", "c"], measure="AP") for at in range(4)}
    result = compare_collections(parts, test="tukey")
    assert result.unit_adjusted.tolist() == result.unit_p.tolist()
    assert (result.adjusted >= result.p).all()


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        ({"one": ONE}, {}, "there is one collection, one; a comparison over collections needs 2 or more"),
        ({"one": ONE, "two": TWO}, {"baseline": "x"}, "no run 'x'"),
        ({"one": ONE, "two": TWO.select(runs="b")}, {"baseline": "a"}, "the baseline 'a' has no run for two"),
        ({"one": ONE, "two": TWO.select(runs="b")}, {}, "only b has all collections"),
        ({"one": ONE.select(runs="a"), "two": TWO.select(runs="b")}, {}, "no run has all 2 collections"),
    ],
)
def test_what_cannot_be_compared_is_an_error(parts: dict[str, Scores], options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        compare_collections(parts, **options)  # type: ignore[arg-type]
    assert message in str(error.value)
