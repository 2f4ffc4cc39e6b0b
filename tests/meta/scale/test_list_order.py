"""Orders of lists by preferences: by hand, by brute force over all chains, and beside RBTO."""

from __future__ import annotations

from itertools import pairwise, permutations, product
from pathlib import Path

import numpy as np
import pytest

from cranfield import DataError, UsageError
from cranfield.meta.scale.list_order import ListOrder, fit, list_of, list_order, read_list_preferences
from cranfield.meta.scale.scale import scale


def longest_ways(order: ListOrder) -> list[int]:
    """The longest chain down from each list, over all chains."""
    size = len(order.lists)

    def down(at: int) -> int:
        return max((1 + down(other) for other in range(size) if order.above[at, other]), default=0)

    return [down(at) for at in range(size)]


def test_a_chain_by_hand() -> None:
    """11 > 10 > 01 > 00 gives 1, 2/3, 1/3, 0: RBP(p=0.5) has 3/4, 1/2, 1/4, 0, which is on the same line."""
    order = list_order([((1, 1), (1, 0)), ((1, 0), (0, 1)), ((0, 1), (0, 0))], ["RBP(p=0.5)", "P@2"])
    assert order.lists == ("11", "10", "01", "00")
    assert order.value.tolist() == pytest.approx([1, 2 / 3, 1 / 3, 0])
    assert order.better_than == ("10", "01", "00", "")
    rows = {row[0]: row[1:] for row in order.distances().rows}
    assert rows["RBP(p=0.5)"][:5] == (6, 0, 0, 1, 0)
    # P@2 is 1, 1/2, 1/2, 0: the best line has slope 0.9 and ends at 0.05; its residuals are ±0.05 and ±0.15
    assert rows["P@2"][:3] == (5, 1, 0)
    assert rows["P@2"][4] == pytest.approx(np.sqrt((2 * 0.05**2 + 2 * 0.15**2) / 4))


@pytest.mark.parametrize("length", [2, 3, 4])
def test_with_the_rank_based_order_rbp_is_the_induced_measure(length: int) -> None:
    """RBTO prefers the list whose first other document is better; RBP with p = 1/2 is on an interval scale of it."""
    lists = sorted(product((0, 1), repeat=length), reverse=True)
    order = list_order(list(pairwise(lists)), ["RBP(p=0.5)", "AP"])
    assert order.total
    assert order.interval
    rows = {row[0]: row for row in order.distances().rows}
    assert rows["RBP(p=0.5)"][5] == pytest.approx(0, abs=1e-9)
    assert (rows["AP"][5] > 0) == (scale("AP", length, recall_base=length).kind != "interval")


def test_steps_make_the_partial_order_of_swaps_and_replacements() -> None:
    """Of lists of 3: a list is better if each of its prefixes has as many relevant documents or more, and is not it."""
    order = list_order([((1, 1, 1), (0, 0, 0))], with_steps=True)
    lists = [np.cumsum(list_of(text)) for text in order.lists]
    for (a, above), (b, below) in permutations(enumerate(lists), 2):
        assert order.above[a, b] == bool((above >= below).all())
    assert order.level.tolist() == longest_ways(order)
    assert order.interval
    assert not order.total  # 100 and 011


def test_levels_and_covers_of_a_random_order() -> None:
    rng = np.random.default_rng(2)
    lists = list(product((0, 1), repeat=3))
    pairs = [(lists[b], lists[a]) for a in range(8) for b in range(a + 1, 8) if rng.random() < 0.35]
    order = list_order(pairs)
    assert order.level.tolist() == longest_ways(order)
    n = len(order.lists)
    for a, b in product(range(n), repeat=2):
        between = any(order.above[a, c] and order.above[c, b] for c in range(n))
        assert order.covers[a, b] == (order.above[a, b] and not between)


def test_ways_of_different_length_have_no_interval_scale() -> None:
    """11 > 10 > 01 > 00 and 11 > 02 > 00: three steps one way and two the other."""
    order = list_order([((1, 1), (1, 0)), ((1, 0), (0, 1)), ((0, 1), (0, 0)), ((1, 1), (0, 2)), ((0, 2), (0, 0))])
    assert not order.interval
    assert "no measure is on an interval scale of this order" in " ".join(order.notes)


def test_circles_and_wrong_lists_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="in a circle: 10 > 01 > 10"):
        list_order([((1, 0), (0, 1)), ((0, 1), (1, 0)), ((1, 1), (1, 0))])
    with pytest.raises(UsageError, match="in a circle: 10 > 10"):
        list_order([((1, 0), (1, 0))])
    with pytest.raises(UsageError, match="lists of 2 and 3 documents"):
        list_order([((1, 0), (0, 1, 0))])
    path = tmp_path / "order.csv"
    path.write_text("better,worse\n1 0,0 1\n1x,00\n")
    with pytest.raises(DataError, match=r"order\.csv:3: list '1x', must be grades from the top"):
        read_list_preferences(path)
    path.write_text("better,worse\n1 0,0 1\n")
    assert read_list_preferences(path) == [((1, 0), (0, 1))]


def test_no_line_fits_a_measure_with_one_value() -> None:
    assert np.isnan(fit(np.array([0.0, 1.0]), np.array([0.5, 0.5]))).all()
