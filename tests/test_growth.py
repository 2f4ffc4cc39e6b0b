"""`python -m bench.growth`: every verb has limits, and the fit is right on known data. Nothing is timed here."""

from __future__ import annotations

import math

import pytest
from bench.growth.measuring import ALLOWANCE, LINEAR, TWICE, Case, Growth, Use, slope
from bench.growth.verbs import ENTRIES, MEMORY, every_verb


def test_every_verb_has_an_entry_and_every_entry_is_a_verb() -> None:
    verbs = set(every_verb())
    assert (verbs - set(ENTRIES), set(ENTRIES) - verbs) == (set(), set()), "see ENTRIES in bench/growth/verbs.py"
    assert set(MEMORY) <= set(ENTRIES)


@pytest.mark.parametrize("verb", ENTRIES)
def test_a_limit_above_linear_or_twice_the_input_has_a_reason(verb: str) -> None:
    entry = ENTRIES[verb]
    if isinstance(entry, str):
        assert entry
        return
    assert entry
    for case in entry:
        assert case.why or (case.time <= LINEAR and case.memory <= TWICE)
        assert case.sizes[0] * 16 <= case.sizes[1]


@pytest.mark.parametrize("power", [0.5, 1, 1.7, 3])
def test_the_slope_of_a_power_law_is_its_power(power: float) -> None:
    sizes = [100, 200, 400, 800]
    assert slope(sizes, [7e-6 * size**power for size in sizes]) == pytest.approx(power)


def test_the_slope_is_that_of_least_squares() -> None:
    # by hand: logs (0, 0), (1, 1), (2, 4) to base e; the slope is (-1 · 0 + 0 · 1 + 1 · 4) / 2
    assert slope([1, math.e, math.e**2], [1, math.e, math.e**4]) == pytest.approx(2)


def grown(power: float, bytes_each: float, *, time: float = LINEAR) -> Growth:
    """A growth with a start of 0.5 s and 50 MB."""
    case = Case("rows", lambda folder, size: (), (10, 10_000), time)
    sizes = (1, 1000, 2000, 4000)
    seconds = [0.5 if size == 1 else 0.5 + (size / 4000) ** power for size in sizes]
    peaks = [50e6 + (size - 1) * 1e4 * bytes_each + (ALLOWANCE if size > 1 else 0) for size in sizes]
    return Growth("x", case, [Use(n, n * 10_000, s, int(p)) for n, s, p in zip(sizes, seconds, peaks, strict=True)])


def test_the_start_does_not_count() -> None:
    growth = grown(1.7, 1.5)
    assert growth.exponent == pytest.approx(1.7, rel=1e-3)
    assert growth.memory == pytest.approx(1.5, rel=1e-3)


def test_a_missed_limit_is_named() -> None:
    assert grown(1, 1.9).missed == []
    assert grown(1.7, 1.9, time=2).missed == []
    assert grown(1.7, 1.9).missed == ["time grows with the power 1.70, must be at most 1.3"]
    assert grown(1, 3).missed == ["memory is 3.0 times the input, must be at most 2"]


def test_noise_in_too_little_time_is_no_verdict() -> None:
    growth = grown(1.7, 1)
    growth.uses = [use._replace(seconds=0.5 + (use.seconds - 0.5) / 100) for use in growth.uses]
    assert growth.missed == []


def test_a_linear_verb_is_linear_even_if_the_first_size_is_not_small() -> None:
    case = Case("rows", lambda folder, size: (), (20, 10_000))
    growth = Growth("x", case, [Use(n, n * 10_000, 0.3 + n / 100, 10**8) for n in (20, 40, 80, 160)])
    assert growth.exponent == pytest.approx(1)
