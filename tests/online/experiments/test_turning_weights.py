"""Weights at which the winner by an OEC changes: the analysis with these weights has no difference."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.online.engines import Engine
from cranfield.online.experiments.log_analysis import analyse_log
from cranfield.online.experiments.turning_weights import turning_weights
from cranfield.online.log_measures.oec import oec_of
from cranfield.online.logs import simulate_log

PARTS = [
    {"measure": "CTR@5", "weight": 0.5, "low": 0, "high": 0.4},
    {"measure": "abandonment", "weight": 0.3, "low": 1, "high": 0},
    {"measure": "click-RR", "weight": 0.2},
]


def test_with_its_turning_weight_a_measure_makes_the_arms_equal(duck: Engine) -> None:
    log = simulate_log(duck, users=300, days=3, seed=2)
    result = turning_weights(log, oec_of({"parts": PARTS}))
    whole = next(row for row in analyse_log(log, oec=oec_of({"parts": PARTS})).rows if row.metric == "OEC").effect
    assert result.total[0] == pytest.approx(whole.treatment - whole.control)
    assert result.adds.sum() == pytest.approx(result.total[0])
    for at, weight in enumerate(result.turning.tolist()):
        changed = [part | ({"weight": weight} if at == number else {}) for number, part in enumerate(PARTS)]
        effect = analyse_log(log, oec=oec_of({"parts": changed})).rows[0].effect
        assert effect.treatment == pytest.approx(effect.control, abs=1e-9)
    assert result.reachable.tolist() == (np.sign(result.turning) == 1).tolist()
