"""Cycles among preferences, against a search through all orders."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from cranfield.online.log_measures.click_preferences import in_cycles, majority, shortest_cycle

NAMES = "abcde"
PAIRS = [(first, second) for first in NAMES for second in NAMES if first != second]


def every_cycle(pairs: set[tuple[str, str]]) -> list[tuple[str, ...]]:
    """All cycles, by brute force."""
    return [
        order
        for length in range(2, len(NAMES) + 1)
        for order in permutations(NAMES, length)
        if order[0] == min(order) and all((a, b) in pairs for a, b in zip(order, (*order[1:], order[0]), strict=True))
    ]


@given(st.sets(st.sampled_from(PAIRS)))
def test_the_shortest_cycle_is_one_of_the_shortest_of_all(pairs: set[tuple[str, str]]) -> None:
    cycles = every_cycle(pairs)
    found = shortest_cycle(pairs)
    if not cycles:
        assert found is None
        return
    assert found is not None
    assert len(found.members) == min(map(len, cycles))
    around = (*found.members[1:], found.members[0])
    assert all(pair in pairs for pair in zip(found.members, around, strict=True))


@given(st.sets(st.sampled_from(PAIRS)))
def test_pairs_in_cycles_are_those_of_all_cycles(pairs: set[tuple[str, str]]) -> None:
    steps = {pair for order in every_cycle(pairs) for pair in zip(order, (*order[1:], order[0]), strict=True)}
    assert in_cycles(pairs) == steps


def test_a_tie_is_no_preference() -> None:
    assert majority({("a", "b"): 2, ("b", "a"): 2, ("b", "c"): 1}) == {("b", "c")}
