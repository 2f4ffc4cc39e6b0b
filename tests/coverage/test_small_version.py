"""Intervals cover and levels hold on data like people's: the cases of bench.coverage with fewer data sets."""

import pytest
from bench.coverage.case import TOLERANCE, Case, measure
from bench.coverage.parts import PARTS, cases_of
from scipy.stats import binom

CHANCE = 0.001
"""How often a case that is exactly at its limit would fail."""


def small_cases() -> list[Case]:
    return [case for part in PARTS for case in cases_of(part) if case.small]


@pytest.mark.parametrize("case", small_cases(), ids=lambda case: case.name)
def test_a_claim_holds_at_the_defaults_or_the_procedure_says_that_it_does_not(case: Case) -> None:
    found = measure(case, case.small)
    share = found.silent / found.outcomes
    allowed = binom.ppf(1 - CHANCE, found.trials, case.wrong * TOLERANCE) / found.trials
    assert share <= allowed, (
        f"{share:.1%} of {found.trials} data sets are wrong without a caution; {allowed:.1%} is allowed"
    )
