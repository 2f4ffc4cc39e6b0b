"""Letters: two systems differ exactly if they share no letter, and no letter is redundant."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.comparison import pair_tests
from cranfield.comparison.result_tables import letters


@st.composite
def symmetric(draw: st.DrawFn) -> np.ndarray:
    n = draw(st.integers(1, 7))
    upper = np.triu(np.array(draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))).reshape(n, n), 1)
    return upper | upper.T


@given(symmetric())
def test_two_systems_share_a_letter_exactly_when_they_do_not_differ(differ: np.ndarray) -> None:
    shown = letters(differ)
    assert shown is not None
    for i in range(len(differ)):
        for j in range(len(differ)):
            if i != j:
                assert bool(set(shown[i]) & set(shown[j])) == (not differ[i, j])


@given(symmetric())
def test_every_group_is_maximal(differ: np.ndarray) -> None:
    shown = letters(differ)
    assert shown is not None
    for letter in set("".join(shown)):
        members = [i for i, of in enumerate(shown) if letter in of]
        assert not differ[np.ix_(members, members)].any()
        for other in set(range(len(differ))) - set(members):
            assert differ[other, members].any(), "another system would fit into the group"


def test_systems_share_one_letter_if_nothing_differs() -> None:
    assert letters(np.zeros((3, 3), dtype=bool)) == ["a", "a", "a"]


def test_every_system_has_its_own_letter_if_everything_differs() -> None:
    assert letters(~np.eye(3, dtype=bool)) == ["a", "b", "c"]


def test_capital_letters_follow_the_small_ones() -> None:
    shown = letters(~np.eye(52, dtype=bool))
    assert shown is not None
    assert (shown[25:28], shown[51]) == (["z", "A", "B"], "Z")


def test_numbers_separated_by_commas_follow_the_letters() -> None:
    differ = ~np.eye(80, dtype=bool)
    for i in range(79):  # neighbours do not differ: 79 groups of two
        differ[i, i + 1] = differ[i + 1, i] = False
    shown = letters(differ)
    assert shown is not None
    assert (shown[0], shown[1], shown[79]) == ("1", "1,2", "79")
    for i in range(80):
        for j in range(80):
            if i != j:
                assert bool(set(shown[i].split(",")) & set(shown[j].split(","))) == (not differ[i, j])


def test_groups_that_do_not_fit_in_a_line_are_not_shown() -> None:
    differ = ~np.eye(90, dtype=bool)  # one system that differs from none, and so is in each of 89 groups
    differ[0] = differ[:, 0] = False
    assert letters(differ) is None


def test_too_many_groups_are_not_shown() -> None:
    pairs = np.zeros((40, 40), dtype=bool)  # twenty systems each of which differs from a partner only: 2^20 groups
    for i in range(0, 40, 2):
        pairs[i, i + 1] = pairs[i + 1, i] = True
    assert letters(pairs) is None


def test_a_ranking_with_too_many_groups_counts_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: a and b are alike, c is far below both on every topic. Of lower scores, the lower one is better."""
    noise = np.linspace(0, 0.01, 8)
    values = np.column_stack([0.8 + noise, 0.8 + noise[::-1], 0.2 + noise**2])
    monkeypatch.setattr(pair_tests, "MOST_LETTERS", 2)
    for measure, expected in (
        ("AP", {"a": (1, 0), "b": (1, 0), "c": (0, 2)}),
        ("LastRel", {"a": (0, 1), "b": (0, 1), "c": (2, 0)}),
    ):
        compared = cf.compare(cf.Scores.from_matrix(values, runs=["a", "b", "c"], measure=measure))
        table = compared.ranking()
        assert [column.header for column in table.columns] == ["rank", "system", "mean", "beats", "loses to", "topics"]
        assert {row[1]: row[3:5] for row in table.rows} == expected
        assert "beats, loses to: the number" in "\n".join(table.notes)
        assert compared.to_dict()["ranking"][0]["beats"] == max(wins for wins, _ in expected.values())
