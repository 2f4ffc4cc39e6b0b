"""Expectations over browsing paths of any measure."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.answers.sessions import Query, Session, expected_over_paths, session_scores
from cranfield.errors import UsageError
from cranfield.measures import ERR
from tests.oracles.slow_sessions import expected

LISTS = [[0, 1, 0], [2, 0], [0, 1, 2]]
QRELS = {"1": {f"d{q}-{r}": grade for q, grades in enumerate(LISTS) for r, grade in enumerate(grades)}}
SESSION = Session(
    "s", "1", tuple(Query(tuple(f"d{q}-{r}" for r in range(len(grades)))) for q, grades in enumerate(LISTS))
)


def test_few_paths_are_all_counted() -> None:
    result = expected_over_paths([SESSION], QRELS, "ERR(max_grade=2)", down=0.7, reform=0.6)
    by_hand = expected(LISTS, 0.7, 0.6, ERR(max_grade=2).of)
    assert result.value[0] == pytest.approx(by_hand)
    assert result.low[0] == result.high[0] == result.value[0]
    assert result.paths[0] == 1 + 3 + 3 * 2  # ends in list 1, 2 or 3
    assert not result.sampled[0]


def test_expected_ap_agrees_with_its_formula() -> None:
    result = expected_over_paths([SESSION], QRELS, "AP", down=0.7, reform=0.6)
    assert result.value[0] == pytest.approx(
        session_scores({"x": [SESSION]}, QRELS, ["esAP(down=0.7,reform=0.6)"]).values.item()
    )


def test_many_paths_are_sampled_with_an_interval() -> None:
    exact = expected_over_paths([SESSION], QRELS, "AP").value[0]
    inside = 0
    for seed in range(40):
        result = expected_over_paths([SESSION], QRELS, "AP", most_paths=5, samples=400, seed=seed)
        assert result.sampled[0]
        inside += int(result.low[0] <= exact <= result.high[0])
    # 95% intervals: at least 33 of 40 hold the truth, unless a chance below 0.002 comes true
    assert inside >= 33
    again = expected_over_paths([SESSION], QRELS, "AP", most_paths=5, samples=400, seed=39)
    assert again.value[0] == result.value[0]
    assert np.ptp([again.low[0], again.high[0]]) > 0


def test_measures_that_need_more_than_grades_are_errors() -> None:
    with pytest.raises(UsageError, match="TBG needs lengths, but paths have only grades"):
        expected_over_paths([SESSION], QRELS, "TBG")
