"""FA*IR's test, compared with scipy's binomial distribution, all rankings of a small length, and the paper's table."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from cranfield.errors import UsageError
from cranfield.fairness import audit, fair_ranking, ranked_group_fairness
from cranfield.fairness.ranked_group import corrected_alpha, failure_probability, least_members
from tests.cli.conftest import Cranfield, in_process

# Zehlike et al. 2017, Table 2: the least number of members among the first 1 to 12 documents, alpha = 0.1
TABLE = {
    0.1: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    0.2: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1],
    0.3: [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2],
    0.4: [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3],
    0.5: [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4],
    0.6: [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
    0.7: [0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6],
}


@pytest.mark.parametrize("proportion", TABLE)
def test_the_papers_table(proportion: float) -> None:
    assert least_members(12, proportion, 0.1).tolist() == TABLE[proportion]


@given(st.integers(1, 60), st.floats(0.05, 0.95), st.floats(0.001, 0.5))
def test_the_least_number_is_a_quantile_of_the_binomial_distribution(k: int, proportion: float, alpha: float) -> None:
    size = np.arange(1, k + 1)
    expected = binom.ppf(alpha, size, proportion)
    expected += np.isclose(binom.cdf(expected, size, proportion), alpha, rtol=1e-9, atol=0)  # F must be above alpha
    assert least_members(k, proportion, alpha).tolist() == expected.tolist()


def rejected(ranking: tuple[int, ...], proportion: float, level: float) -> bool:
    """By the definition: whether too few members are in some prefix."""
    chances = [binom.cdf(sum(ranking[:i]), i, proportion) for i in range(1, len(ranking) + 1)]
    return min(chances) <= level * (1 + 1e-12)


def chance_of_rejection(k: int, proportion: float, level: float) -> float:
    """Over all rankings of k documents, each with its probability."""
    return sum(
        proportion ** sum(ranking) * (1 - proportion) ** (k - sum(ranking))
        for ranking in product((0, 1), repeat=k)
        if rejected(ranking, proportion, level)
    )


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 8), st.sampled_from([0.25, 0.4, 0.5, 0.8]), st.sampled_from([0.01, 0.05, 0.1, 0.2]))
def test_the_corrected_level_by_brute_force(k: int, proportion: float, alpha: float) -> None:
    assert failure_probability(least_members(k, proportion, alpha), proportion) == pytest.approx(
        chance_of_rejection(k, proportion, alpha)
    )
    level = corrected_alpha(k, proportion, alpha)
    assert chance_of_rejection(k, proportion, level) <= alpha + 1e-12
    levels = sorted({binom.cdf(m, i, proportion) for i in range(1, k + 1) for m in range(i)})
    larger = [other for other in levels if other > level * (1 + 1e-9)]
    assert not larger or chance_of_rejection(k, proportion, larger[0]) > alpha


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=8), st.sampled_from([0.3, 0.5]))
def test_the_p_value_by_brute_force(ranking: list[int], proportion: float) -> None:
    smallest = min(binom.cdf(sum(ranking[:i]), i, proportion) for i in range(1, len(ranking) + 1))
    for alpha in (0.05, 0.3):
        test = fair_ranking(ranking, proportion, alpha=alpha)
        assert test.p_value == pytest.approx(chance_of_rejection(len(ranking), proportion, smallest))
        assert test.fair == (test.p_value > alpha)


def test_fair_rankings_fail_as_often_as_the_level_allows() -> None:
    """Simulated: 2,000 rankings of 40 documents; the exact probability is at most 0.1, within four standard errors."""
    draws = np.random.default_rng(1).random((2000, 40)) < 0.3
    least = np.array(fair_ranking(draws[0], 0.3).least)
    failed = (np.cumsum(draws, axis=1) < least).any(axis=1).mean()
    exact = failure_probability(least, 0.3)
    assert exact <= 0.1
    assert abs(failed - exact) < 4 * np.sqrt(exact * (1 - exact) / 2000)
    uncorrected = failure_probability(least_members(40, 0.3, 0.1), 0.3)
    assert uncorrected > 0.2  # without the correction


def test_one_ranking_by_hand() -> None:
    # p = 1/2: no member among four has probability 1/16, among five 1/32
    test = fair_ranking([False] * 5 + [True], 0.5, corrected=False)
    assert (test.fair, test.first_failure, test.members_above) == (False, 4, (0, 0, 0, 0, 0, 1))
    assert fair_ranking([0] * 5, 0.5).p_value == 1 / 32
    assert fair_ranking([1, 0, 1, 0], 0.5).fair
    assert fair_ranking([0, 0, 0], 0).fair
    assert not fair_ranking([1, 1, 0], 1).fair


def test_groups_of_documents() -> None:
    groups = {"a": "p", **dict.fromkeys("bcdef", "other")}
    rankings = {"q1": [list("bcdefa")], "q2": [list("abcd"), list("bcdef")], "q3": [[]]}
    scores = ranked_group_fairness(rankings, groups, "p", proportion=0.5).to_dict()["run"]
    assert scores["q1"] == {"fair": 0, "fair_p": fair_ranking([0, 0, 0, 0, 0, 1], 0.5).p_value}
    assert scores["q2"]["fair"] == 1 / 2  # the first ranking passes, the second does not
    assert np.isnan(scores["q3"]["fair"])
    with pytest.raises(UsageError, match="document 'a' belongs to several groups"):
        ranked_group_fairness({"q": [["a"]]}, {"a": {"p": 0.5, "r": 0.5}}, "p", proportion=0.5)


@pytest.mark.parametrize(
    ("ranking", "proportion", "alpha", "message"),
    [
        ([], 0.5, 0.1, "must be a list of 0 and 1"),
        ([2], 0.5, 0.1, "must be a list of 0 and 1"),
        ([1], 1.5, 0.1, "proportion == 1.5, must be between 0 and 1"),
        ([1], 0.5, -1, "alpha == -1, must be between 0 and 1"),
        ([1] * 2001, 0.5, 0.1, "2001 documents, must be 2000 at most; cut the ranking"),
    ],
)
def test_wrong_rankings_and_levels_are_refused(
    ranking: list[int], proportion: float, alpha: float, message: str
) -> None:
    with pytest.raises(UsageError, match=f"FA\\*IR: .*{message}"):
        fair_ranking(ranking, proportion, alpha=alpha)


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cranfield: Cranfield = in_process
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("q 0 d0 1\n")
    Path("run").write_text("".join(f"q Q0 d{n} {n} {-n} r\n" for n in range(6)))
    Path("groups").write_text("".join(f"d{n} {'south' if n == 5 else 'north'}\n" for n in range(6)))
    words = ("fairness", "qrels", "run", "--groups", "groups", "-m", "FA*IR", "--protected", "south", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(cranfield(*words, "--proportion", "0.5").out)))
    by_measure = {row["measure"]: row["value"] for row in rows if row["group"] == "south"}
    assert float(by_measure["fair"]) == 0
    assert float(by_measure["fair_p"]) == pytest.approx(fair_ranking([0] * 5 + [1], 0.5).p_value)
    lacking = cranfield(*words)
    assert (lacking.code, "FA*IR needs the least share of a group in a fair ranking" in lacking.err) == (2, True)
    assert "--proportion P" in lacking.err
    with pytest.raises(UsageError, match=r"proportion == 0\.5 applies only to FA"):
        audit({"q": {"d0": 1}}, {"r": {"q": ["d0"]}}, {"d0": "a"}, ["AWRF"], proportion=0.5)
