"""Optimised interleaving: which lists are allowed, their credit, and the solution of the linear programme."""

from itertools import combinations, permutations

import numpy as np
import pytest

from cranfield.online.interleaving.optimised_lists import allowed_lists, list_policy, place_worth, solve

A, B, C = tuple("abc"), tuple("bda"), tuple("cab")


def prefix_condition(documents: tuple[str, ...], rankings: list) -> bool:
    """Radlinski & Craswell 2013: the first k documents are the union of the first documents of the rankings."""
    for k in range(1, len(documents) + 1):
        tops = [{frozenset(ranking[:i]) for i in range(len(ranking) + 1)} for ranking in rankings]
        unions = {frozenset()}
        for of_system in tops:
            unions = {before | top for before in unions for top in of_system}
        if frozenset(documents[:k]) not in unions:
            return False
    return True


@pytest.mark.parametrize("rankings", [[A, B], [A, B, C], [A, A], [A, B[:1]], [tuple("abcd"), tuple("wxyz")]])
@pytest.mark.parametrize("length", [1, 3, 4])
def test_allowed_lists_are_all_that_satisfy_the_prefix_condition(rankings: list, length: int) -> None:
    documents = sorted(set().union(*rankings))
    every = {one for one in permutations(documents, min(length, len(documents))) if prefix_condition(one, rankings)}
    lists, complete = allowed_lists(rankings, length, 10_000)
    assert complete
    assert len(lists) == len(set(lists))
    assert set(lists) == every


def test_more_lists_than_allowed_are_sampled() -> None:
    lists, complete = allowed_lists([tuple("abcdefgh"), tuple("ijklmnop")], 8, 100)
    assert not complete
    assert len(set(lists)) == len(lists) == 100
    assert all(prefix_condition(one, [tuple("abcdefgh"), tuple("ijklmnop")]) for one in lists)


def test_worth_by_hand() -> None:
    """A ranks a b c, B ranks b d a. c is not in B, so its rank there is 4; the longest list has 3."""
    lists = (("a", "b", "c"),)
    assert place_worth([A, B], lists, "linear").tolist() == [[[3, 1], [2, 3], [1, 0]]]
    assert place_worth([A, B], lists, "inverse")[0] == pytest.approx(np.array([[1, 1 / 3], [1 / 2, 1], [1 / 3, 1 / 4]]))
    assert place_worth([A, B], lists, "binary").tolist() == [[[1, 0], [0, 1], [1, 0]]]
    assert place_worth([A, A], lists, "binary").tolist() == [[[0.5, 0.5]] * 3]


def corners(objective: np.ndarray, equations: np.ndarray, right: np.ndarray) -> float:
    """The least value of the objective over all corners of the feasible set, one set of equations at a time."""
    best = np.inf
    size = np.linalg.matrix_rank(equations)
    for chosen in combinations(range(len(objective)), size):
        part = equations[:, chosen]
        if np.linalg.matrix_rank(part) < size:
            continue
        p = np.linalg.lstsq(part, right, rcond=None)[0]
        if np.all(p > -1e-9) and np.allclose(part @ p, right):
            best = min(best, float(objective[list(chosen)] @ p))
    return best


@pytest.mark.parametrize("credit", ["linear", "inverse", "binary"])
@pytest.mark.parametrize("rankings", [[A, B], [A, C], [tuple("abc"), tuple("xyz")]])
def test_the_solution_is_unbiased_and_the_best_of_all_corners(rankings: list, credit: str) -> None:
    lists, _ = allowed_lists(rankings, 3, 100)
    worth = place_worth(rankings, lists, credit)
    policy = solve(lists, worth, True)
    assert policy.probability.sum() == pytest.approx(1)
    assert policy.probability.min() >= 0
    bias = np.einsum("l,lps->ps", policy.probability, worth)
    expected = np.einsum("lps,p->ls", worth, [1, 1 / 2, 1 / 3])
    variance = ((expected - expected.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    equations = np.vstack([np.ones(len(lists)), (worth[:, :, 0] - worth[:, :, 1]).T])
    least = corners(variance, equations, np.eye(len(equations))[0])
    if credit == "binary" and np.isinf(
        least
    ):  # if all documents are shown, one system may be the better for more of them
        assert policy.bias > 0.1
        return
    assert policy.bias == 0
    assert bias[:, 0] == pytest.approx(bias[:, 1])
    assert policy.probability @ variance == pytest.approx(least, abs=1e-9)


def test_without_a_solution_the_bias_is_as_small_as_possible() -> None:
    """A ranks a b c d, B ranks b c d a: with all four shown, A ranks one of them higher, B three. No list is fair."""
    policy = list_policy((tuple("abcd"), tuple("bcda")), 4, "binary", 100, None)
    gap = policy.worth[:, :, 0] - policy.worth[:, :, 1]
    assert policy.bias == pytest.approx(np.abs(policy.probability @ gap).max())
    sums = np.abs(policy.probability @ np.cumsum(gap, axis=1)).sum()
    rng = np.random.default_rng(0)
    others = rng.dirichlet(np.full(len(policy.lists), 0.3), size=20_000)
    assert sums <= np.abs(others @ np.cumsum(gap, axis=1)).sum(axis=1).min() + 1e-9


def test_a_high_weight_of_bias_gives_the_optimised_lists_and_a_low_one_lists_without_advantage() -> None:
    rankings = (A, B)
    exact = list_policy(rankings, 3, "inverse", 100, None)
    heavy = list_policy(rankings, 3, "inverse", 100, 1e4)
    light = list_policy(rankings, 3, "inverse", 100, 0.0)
    assert heavy.bias == pytest.approx(0, abs=1e-9)
    expected = np.einsum("lps,p->ls", exact.worth, [1, 1 / 2, 1 / 3])
    variance = expected.var(axis=1)
    assert heavy.probability @ variance == pytest.approx(exact.probability @ variance)
    assert light.probability @ variance == pytest.approx(variance.min())
