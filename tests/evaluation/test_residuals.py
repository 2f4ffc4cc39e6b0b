"""Residuals: bounds for measures that do not depend on recall, two scenarios for others."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import cranfield as cf
from cranfield.assessed.lists import Assessed
from cranfield.evaluation.missing_judgments import residual
from cranfield.measures import RBP, Measure, RBPres
from tests.laws.instances import ALL

LISTS = [([1, None, 0, None], [2]), ([None, 2, None, 0], []), ([None, None, 1], [1, 2]), ([0, None, None, 2], [0])]
BOUNDED = [measure for measure in ALL if residual(measure, Assessed.one([1])).bounds]


@pytest.mark.parametrize("measure", BOUNDED, ids=str)
def test_every_possible_judgment_lies_between_the_bounds(measure: Measure) -> None:
    for grades, missed in LISTS:
        low, high, _ = residual(measure, Assessed.one(grades, missed))
        highest = max(grade for grade in [*grades, *missed, 1] if grade is not None)
        unknown = [at for at, grade in enumerate(grades) if grade is None]
        for guess in product(range(highest + 1), repeat=len(unknown)):
            full = [dict(zip(unknown, guess, strict=True)).get(at, grade) for at, grade in enumerate(grades)]
            value = measure.of(full, missed)
            assert np.isnan(value) or low[0] - 1e-12 <= value <= high[0] + 1e-12


def test_measures_named_in_the_documentation_have_bounds() -> None:
    assert {"P", "RBP", "DCG", "ERR", "RR"} <= {measure.name for measure in BOUNDED}


def test_scenarios_are_not_bounds() -> None:
    # AP of (none, 1) is 1/2 with the first not relevant, 1 with it; of (1, none, none) it is 1 at both ends, but
    # 5/6 when only the last turns out relevant
    low, high, bounds = residual("AP", Assessed.one([1, None, None]))
    assert (low[0], high[0], bounds) == (1.0, 1.0, False)
    assert cf.AP().of([1, 0, 1]) == pytest.approx((1 + 2 / 3) / 2)
    low, high, _ = residual(cf.AP, Assessed.one([None, 1]))
    assert (low[0], high[0]) == (0.5, 1.0)


def test_rank_biased_precision_has_its_own_residual() -> None:
    grades = [1, None, 0, None]
    low, high, _ = residual(RBP(), Assessed.one(grades))
    beyond = 0.8 ** len(grades)  # documents after the end of the list, which were not retrieved
    assert high[0] - low[0] == pytest.approx(RBPres().of(grades) - beyond)


def test_unjudged_documents_are_read_before_the_list_is_condensed() -> None:
    low, high, _ = residual("P'@2", Assessed.one([None, 1]))
    assert (low[0], high[0]) == (0.5, 1.0)


def test_residuals_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    from cranfield.cli import main

    main(["eval", "--sample", "-m", "P@10", "--residual", "-f", "csv"])
    header = capsys.readouterr().out.splitlines()[0]
    assert all(name in header for name in ("P@10", "P@10[worst]", "P@10[best]"))
