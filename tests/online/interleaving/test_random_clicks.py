"""Clicks at random favour nobody, for every method that promises this; and the bias of those that do not is shown."""

import numpy as np
import pytest

from cranfield.online.interleaving.interleaved import Interleaver
from cranfield.online.interleaving.interleaved_batch import QueryLists, interleave_many, list_seeds

A, B, C = list("abcdefgh"), list("bdaecghi"), list("fabhcdxy")
SHIFTED = [list("abcd"), list("bcda")]
FAIR = [
    "team-draft", "team-draft(skip_shared=true)", "probabilistic", "probabilistic(tau=0.5,replacement=false)",
    "optimised", "optimised(credit=linear)", "pairwise",
]  # fmt: skip
COUNT = 60_000


def advantage(rankings: list, method: str, length: int, click: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean credit of every system over the first one, and its standard error; places are clicked with `click`."""
    lists = QueryLists.of({"q": {f"s{n}": ranking for n, ranking in enumerate(rankings)}})
    maker = Interleaver(method, length=length)
    made = interleave_many(lists, maker, np.zeros(COUNT, dtype=np.int64), list_seeds(11, COUNT))
    clicks = np.random.default_rng(12).random(made.document.shape) < click
    credit = made.credit(clicks)
    over_first = credit[:, 1:] - credit[:, :1]
    return over_first.mean(axis=0), over_first.std(axis=0) / np.sqrt(COUNT)


@pytest.mark.parametrize(
    "click", [np.full(5, 0.5), 1 / np.arange(1.0, 6), np.eye(5)[2] * 0.9], ids=["even", "top", "third"]
)
@pytest.mark.parametrize(
    "rankings",
    [[A, B], SHIFTED, [A, B[:2]], [A[:1], B], [list("ax"), list("xyzw")], [A, list("mnopq")]],
    ids=["overlap", "shifted", "short", "one", "last-shared", "disjoint"],
)
@pytest.mark.parametrize("method", FAIR)
def test_random_clicks_favour_nobody(method: str, rankings: list, click: np.ndarray) -> None:
    """Clicks depend only on the place: evenly, most at the top, or only at one place. Lists may end early."""
    mean, error = advantage(rankings, method, 5, click)
    assert np.all(np.abs(mean) <= 4.5 * error + 1e-9)


@pytest.mark.parametrize(
    "method", ["team-draft", "probabilistic", "probabilistic(replacement=false)", "optimised", "pairwise"]
)
@pytest.mark.parametrize("depths", [(8, 8, 8), (5, 5, 5), (3, 3, 3), (1, 4, 3)], ids=str)
def test_random_clicks_favour_none_of_three(method: str, depths: tuple[int, ...]) -> None:
    """Rankings longer than the page, as long, and shorter."""
    rankings = [ranking[:depth] for ranking, depth in zip([A, B, C], depths, strict=True)]
    mean, error = advantage(rankings, method, 5, 1 / np.arange(1.0, 6))
    assert np.all(np.abs(mean) <= 4.5 * error + 1e-9)


@pytest.mark.parametrize("rankings", [[A, B], [A, B, C], [A, B[:2]]])
def test_sample_only_scores_are_fair_if_all_places_are_clicked_alike(rankings: list) -> None:
    mean, error = advantage(rankings, "sosm", 5, np.full(5, 0.5))
    assert np.all(np.abs(mean) <= 4.5 * error + 1e-9)


def test_balanced_interleaving_favours_the_list_that_is_shifted_up() -> None:
    """Radlinski, Kurup & Joachims 2008: with A = a b c d and B = b c d a, random clicks favour B.

    By hand, with one click on each of 4 places alike: the lists are a b c d and b a c d. A click on a is a win of A (k
    = 1); on b of B (k = 1); on c of B (k = 2, A has it at 3); on d of B (k = 3). So B wins three times as often.
    """
    wins = np.zeros(2)
    lists = QueryLists.of({"q": {"A": SHIFTED[0], "B": SHIFTED[1]}})
    made = interleave_many(lists, Interleaver("balanced", length=4), np.zeros(400, dtype=np.int64), list_seeds(1, 400))
    for place in range(4):
        credit = made.credit(np.tile(np.arange(4) == place, (400, 1)))
        wins += [(credit[:, 0] > credit[:, 1]).sum(), (credit[:, 1] > credit[:, 0]).sum()]
    assert wins[1] == 3 * wins[0]


def test_team_draft_can_miss_a_difference_that_probabilistic_interleaving_sees() -> None:
    """Chapelle et al. 2012: A = a b c, B = b c a, only c is relevant, and B ranks it higher.

    By hand: the lists of two places are a b and b a (team draft never shows c there); of three, c always comes third,
    and each team takes it half of the time.
    """
    lists = QueryLists.of({"q": {"A": list("abc"), "B": list("bca")}})
    for method, sees in (("team-draft", False), ("probabilistic", True)):
        made = interleave_many(
            lists, Interleaver(method, length=3), np.zeros(COUNT, dtype=np.int64), list_seeds(2, COUNT)
        )
        clicked = made.document == lists.names[0].index("c")
        credit = made.credit(clicked)
        difference = credit[:, 1] - credit[:, 0]
        error = difference.std() / np.sqrt(COUNT)
        assert (difference.mean() > 5 * error) == sees
