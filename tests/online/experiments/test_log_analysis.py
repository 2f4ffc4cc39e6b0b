"""Experiments from a log: the values are those of the online measures of each arm."""

from __future__ import annotations

import pytest

from cranfield.errors import UsageError
from cranfield.online.engines import Engine
from cranfield.online.experiments.log_analysis import analyse_log
from cranfield.online.log_measures import measure_log
from cranfield.online.logs import simulate_log


def test_arms_have_the_values_of_the_online_measures(duck: Engine) -> None:
    log = simulate_log(duck, users=300, days=4, seed=2)
    result = analyse_log(log, ["CTR@5", "abandonment"], lower=["abandonment"], segments=["country"])
    assert result.metrics == ("CTR@5", "abandonment")
    measured = measure_log(log, ["CTR@5", "abandonment"], by=["arm"]).to_pandas().set_index(["measure", "arm"])
    for row in result.rows:
        assert row.effect.control == pytest.approx(measured.loc[(row.metric, "A"), "value"])
        assert row.effect.treatment == pytest.approx(measured.loc[(row.metric, "B"), "value"])
    assert result.by_segment is not None
    assert set(result.by_segment.segment) == {"country"}


def test_days_come_from_the_log_and_columns_are_not_named(duck: Engine) -> None:
    log = simulate_log(duck, users=200, days=4, seed=3)
    found = analyse_log(log, "CTR@5", by_day=True).by_day
    assert found is not None
    assert found.day == (0, 1, 2, 3)
    with pytest.raises(UsageError, match="unit is for tables; a log names its users, arms and days itself"):
        analyse_log(log, "CTR@5", unit="user")
