"""Good abandonment in simulated logs whose truth is known: which rule is the least wrong, and how wrong each is."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.online.engines import Engine
from cranfield.online.log_measures import measure_log, parse_online
from cranfield.online.log_measures.ranking_level import ABANDONMENT_RULES
from cranfield.online.logs import simulate_log
from tests.online.log_measures.abandonment_worlds import worlds_log
from tests.online.log_measures.small_logs import log_of

WORLDS, SESSIONS = 60, 200
NAMES = [f"good-abandonment(rule={rule})" for rule in ABANDONMENT_RULES]


@pytest.fixture(scope="module")
def errors() -> dict[str, np.ndarray]:
    """The value minus the truth of every world, by rule."""
    from cranfield.online.engines import open_engine

    rows, truth = worlds_log(WORLDS, SESSIONS)
    with open_engine("duckdb") as engine:
        measured = measure_log(log_of(rows, engine), NAMES, by="arm")
    return dict(zip(ABANDONMENT_RULES, measured.value - truth, strict=True))


def test_the_default_rule_has_the_smallest_error_in_simulated_logs(errors: dict[str, np.ndarray]) -> None:
    size = {rule: float(np.sqrt((error**2).mean())) for rule, error in errors.items()}
    assert parse_online("good-abandonment") == parse_online(f"good-abandonment(rule={min(size, key=size.__getitem__)})")


def test_each_rule_is_off_by_as_much_as_its_note_says(errors: dict[str, np.ndarray]) -> None:
    for rule, error in errors.items():
        stated = ABANDONMENT_RULES[rule]
        # 60 logs of 200 sessions: their quantiles are known to a few hundredths
        assert np.quantile(error, [0.05, 0.95]) == pytest.approx([stated.low, stated.high], abs=0.04), rule
        assert f"{stated.low:+.2f} to {stated.high:+.2f}" in parse_online(f"good-abandonment(rule={rule})").note()


@pytest.mark.parametrize("seed", [1, 4])
def test_the_default_is_close_to_the_truth_of_the_simulated_log(duck: Engine, seed: int) -> None:
    log = simulate_log(engine=duck, users=300, days=7, seed=seed)
    counts = log.truth.counts
    truth = counts["left with answer"].sum() / counts["queries"].sum()
    values = measure_log(log, NAMES).value[:, 0]
    assert abs(values[0] - truth) < 0.03
    assert abs(values[0] - truth) < abs(values[2] - truth)  # that of no-reformulation
