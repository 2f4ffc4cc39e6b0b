"""Generalisability: Brennan's example, the equations of expected mean squares, and simulated variances."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cranfield.errors import UsageError
from cranfield.meta.stability.generalisability import g_studies, g_study
from cranfield.meta.stability.variance_components import FRatios
from cranfield.scores.scores import Scores

SYNTHETIC_4 = np.array(
    [
        [5, 6, 5, 5, 5, 3, 4, 5, 6, 7, 3, 3],
        [9, 3, 7, 7, 7, 5, 5, 5, 7, 7, 5, 2],
        [3, 4, 3, 3, 5, 3, 3, 5, 6, 5, 1, 6],
        [7, 5, 5, 3, 3, 1, 4, 3, 5, 3, 3, 5],
        [9, 2, 9, 7, 7, 7, 3, 7, 2, 7, 5, 3],
        [3, 4, 3, 5, 3, 3, 6, 3, 4, 5, 1, 2],
        [7, 3, 7, 7, 7, 5, 5, 7, 5, 5, 5, 4],
        [5, 8, 5, 7, 7, 5, 5, 4, 3, 2, 1, 1],
        [9, 9, 8, 8, 6, 6, 6, 5, 5, 8, 1, 1],
        [4, 4, 4, 3, 3, 5, 6, 5, 5, 7, 1, 1],
    ]
).T
"""Brennan, Generalizability Theory, 2001, Table 3.2 (synthetic data set no. 4), persons as systems, items as topics."""


def test_brennans_variance_components() -> None:
    # Brennan 2001, Table 6.2: mean squares and variance components of the p × i design
    result = g_study(SYNTHETIC_4)
    assert [component.source for component in result.components] == ["system", "topic", "system × topic"]
    assert [component.df for component in result.components] == [9, 11, 99]
    assert [component.mean_square for component in result.components] == pytest.approx(
        [10.2963, 11.6273, 2.7872], abs=5e-5
    )
    assert [component.variance for component in result.components] == pytest.approx([0.6258, 0.8840, 2.7872], abs=5e-5)
    assert sum(component.share for component in result.components) == pytest.approx(1)


def test_brennans_intervals() -> None:
    # Brennan 2001, Table 6.5: 80% intervals, Feldt's for Eρ² and Arteaga et al.'s for Φ
    now = g_study(SYNTHETIC_4, level=0.8, normal=True).stability()
    assert (now.rho2, now.rho2_low, now.rho2_high) == pytest.approx((0.729, 0.541, 0.876), abs=5e-4)
    assert (now.phi, now.phi_low, now.phi_high) == pytest.approx((0.672, 0.457, 0.845), abs=6e-4)


def test_intervals_widen_with_the_jackknife_of_systems_and_topics() -> None:
    values = np.random.default_rng(3).exponential(1, (6, 9)) + np.random.default_rng(4).exponential(2, (6, 1))

    def log_ratio(scores: np.ndarray) -> float:  # log MS_s / MS_st
        components = g_study(scores.T).components
        return float(np.log(components[0].mean_square / components[2].mean_square))

    parts = [[log_ratio(np.delete(values, i, axis=axis)) for i in range(values.shape[axis])] for axis in (0, 1)]
    variance = sum((len(part) - 1) * np.var(part) for part in parts)
    times = np.sqrt(variance / (2 / 5 + 2 / 40))  # of normal effects: mean squares with 5 and 40 degrees of freedom
    wide, narrow = (g_study(values.T, normal=normal) for normal in (False, True))
    assert wide.widening[0] == pytest.approx(times)
    assert times > 1
    odds = [-np.log1p(-study.stability().rho2_high) - log_ratio(values) for study in (wide, narrow)]
    assert odds[0] / odds[1] == pytest.approx(times)


def test_trec_3_agrees_with_gt4ireval() -> None:
    # Manual of gt4ireval 1.1 (Urbano): AP on TREC-3 without the worst quarter, 30 systems and 50 queries, whose mean
    # squares are 0.15074, 0.85296 and 0.010152
    values = _with_mean_squares(np.random.default_rng(0), 30, 50, 0.15074, 0.85296, 0.010152)
    result = g_study(values, normal=True)
    assert [component.variance for component in result.components] == pytest.approx(
        [0.0028117, 0.028093, 0.010152], rel=1e-4
    )
    assert [100 * component.share for component in result.components] == pytest.approx(
        [6.8482, 68.425, 24.727], rel=1e-4
    )
    now, more, needed = result.stability(), result.stability(200), result.needed(0.95)
    assert (now.rho2, now.rho2_low, now.rho2_high) == pytest.approx((0.93265, 0.89311, 0.96287), abs=2e-5)
    assert (now.phi, now.phi_low, now.phi_high) == pytest.approx((0.78613, 0.66141, 0.88039), abs=2e-5)
    assert (more.rho2, more.rho2_low, more.rho2_high) == pytest.approx((0.98227, 0.97095, 0.99045), abs=2e-5)
    assert (more.phi, more.phi_low, more.phi_high) == pytest.approx((0.93632, 0.88654, 0.96715), abs=2e-5)
    assert (needed.rho2, needed.rho2_low, needed.rho2_high) == (69, 37, 114)
    assert (needed.phi, needed.phi_low, needed.phi_high) == (259, 130, 487)
    sure = g_study(values, level=0.99, normal=True).needed(0.95)
    assert (sure.rho2_low, sure.rho2_high, sure.phi_low, sure.phi_high) == (30, 133, 103, 596)


def _with_mean_squares(
    rng: np.random.Generator, systems: int, topics: int, own: float, topic: float, error: float
) -> np.ndarray:
    """Scores (topics × systems) that have exactly these mean squares."""
    s, t = rng.normal(size=systems), rng.normal(size=topics)
    e = rng.normal(size=(topics, systems))
    s, t = s - s.mean(), t - t.mean()
    e = e - e.mean(axis=0) - e.mean(axis=1, keepdims=True) + e.mean()
    s *= math.sqrt(own * (systems - 1) / topics / (s**2).sum())
    t *= math.sqrt(topic * (topics - 1) / systems / (t**2).sum())
    e *= math.sqrt(error * (systems - 1) * (topics - 1) / (e**2).sum())
    return np.asarray(s + t[:, None] + e)


def test_more_topics_are_more_stable_and_the_target_is_reached() -> None:
    result = g_study(SYNTHETIC_4)
    assert result.stability(24).rho2 > result.stability(12).rho2
    needed = result.needed(0.9)
    assert result.stability(int(needed.rho2)).rho2 >= 0.9 > result.stability(int(needed.rho2) - 1).rho2
    assert result.stability(int(needed.phi)).phi >= 0.9 > result.stability(int(needed.phi) - 1).phi
    assert needed.rho2_low <= needed.rho2 <= needed.rho2_high
    assert (
        result.stability(int(needed.rho2_high)).rho2_low >= 0.9 > result.stability(int(needed.rho2_high) - 1).rho2_low
    )


def test_three_facets_satisfy_the_equations_of_expected_mean_squares() -> None:
    rng = np.random.default_rng(5)
    s, t, f = 6, 9, 4
    cube = (
        rng.normal(0, 2, (s, 1, 1)) + rng.normal(0, 3, (1, t, 1)) + rng.normal(0, 1, (1, 1, f))
        + rng.normal(0, 1, (s, t, 1)) + rng.normal(0, 1, (s, 1, f)) + rng.normal(0, 1, (1, t, f))
        + rng.normal(0, 1, (s, t, f))
    )  # fmt: skip
    shards = {str(level): cube[:, :, level].T for level in range(f)}
    result = g_study(shards, facet="shard")
    v = {component.source: component.estimate for component in result.components}
    ms = {component.source: component.mean_square for component in result.components}
    st, sf, tf = "system × topic", "system × shard", "topic × shard"
    e = ms["system × topic × shard"]
    # Brennan 2001, ch. 3: the mean squares of the p × i × h design
    assert ms[st] == pytest.approx(e + f * v[st])
    assert ms[sf] == pytest.approx(e + t * v[sf])
    assert ms[tf] == pytest.approx(e + s * v[tf])
    assert ms["system"] == pytest.approx(e + f * v[st] + t * v[sf] + t * f * v["system"])
    assert ms["topic"] == pytest.approx(e + f * v[st] + s * v[tf] + s * f * v["topic"])
    assert ms["shard"] == pytest.approx(e + t * v[sf] + s * v[tf] + s * t * v["shard"])
    # mean squares themselves, by hand
    by_system = cube.mean(axis=(1, 2))
    assert ms["system"] == pytest.approx(t * f * by_system.var(ddof=1))
    left = (
        cube - cube.mean(2, keepdims=True) - cube.mean(1, keepdims=True) - cube.mean(0, keepdims=True)
        + cube.mean((1, 2), keepdims=True) + cube.mean((0, 2), keepdims=True) + cube.mean((0, 1), keepdims=True)
        - cube.mean()
    )  # fmt: skip
    assert e == pytest.approx((left**2).sum() / ((s - 1) * (t - 1) * (f - 1)))
    w = {component.source: component.variance for component in result.components}
    error = w[st] / 20 + w[sf] / 3 + w["system × topic × shard"] / 60
    assert result.stability(20, 3).rho2 == pytest.approx(w["system"] / (w["system"] + error))
    absolute = error + w["topic"] / 20 + w["shard"] / 3 + w[tf] / 60
    assert result.stability(20, 3).phi == pytest.approx(w["system"] / (w["system"] + absolute))
    needed = result.needed(0.6, levels=8)
    if math.isfinite(needed.rho2):
        assert result.stability(int(needed.rho2), 8).rho2 >= 0.6
    assert math.isnan(result.stability().rho2_low)


def test_no_number_of_topics_reaches_the_target_with_a_large_facet() -> None:
    rng = np.random.default_rng(1)
    cube = rng.normal(0, 0.3, (5, 1, 1)) + rng.normal(0, 1, (5, 1, 2)) + rng.normal(0, 0.5, (5, 30, 2))
    result = g_study({"a": cube[:, :, 0].T, "b": cube[:, :, 1].T}, facet="assessor")
    assert result.needed(0.99).rho2 == math.inf
    assert "no number of topics" in str(result)


def test_known_variances_are_estimated() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(0, 1, (1, 200)) + rng.normal(0, 2, (300, 1)) + rng.normal(0, 3, (300, 200))
    variances = [component.variance for component in g_study(values).components]
    assert variances == pytest.approx([1, 4, 9], rel=0.2)


def test_the_worst_systems_can_be_dropped_for_every_measure() -> None:
    rng = np.random.default_rng(4)
    values = np.stack([rng.random((20, 30)) + np.linspace(0, 1, 20)[:, None] for _ in range(2)])
    scores = Scores(["AP", "RR"], [f"s{i}" for i in range(20)], [str(i) for i in range(30)], values)
    actual = g_studies(scores, drop=0.25, target=0.9)
    assert [study.sizes["system"] for study in actual] == [15, 15]
    assert actual.studies[0].notes[0] == "5 of 20 systems left out, the worst 25% by their means"
    assert actual.studies[0].stability().rho2 < g_study(scores, "AP").stability().rho2
    rows = actual.table().rows
    assert [row[0] for row in rows] == ["AP", "RR"]
    assert len(actual.columns()["source"]) == 6
    assert actual.studies[1].d_study([10, 20]).rows[1][0] == 20


def test_noise_alone_and_no_noise_at_all() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        now = g_study(rng.normal(size=(8, 4))).stability()
        assert 0 <= now.rho2_low <= now.rho2_high <= 1
        assert 0 <= now.phi_low <= now.phi_high <= 1
    same = g_study(rng.random((10, 1)) + np.zeros(4))  # systems do not differ
    assert math.isnan(same.stability().rho2)  # neither variance of systems nor error variance: 0/0
    assert same.stability().phi == 0
    assert same.needed().phi == math.inf
    plain = g_study(rng.random((10, 1)) + np.linspace(0, 1, 4))  # topics shift all systems alike
    assert plain.stability().rho2 == 1
    assert plain.needed().rho2 == 0


def test_a_negative_estimate_has_a_note() -> None:
    rng = np.random.default_rng(7)
    values = rng.normal(size=(6, 5))
    values -= values.mean(axis=1, keepdims=True)  # topics are all the same on average
    result = g_study(values)
    assert result["topic"].variance == 0 > result["topic"].estimate
    assert any("topic is below 0" in note for note in result.notes)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ([[0.1, 0.2], [0.3, 0.4]], {}, "2 systems, must be 3 or more"),
        ([[0.1, 0.2, 0.3]], {}, "1 topic, must be 2 or more"),
        (np.full((5, 4), 0.3), {}, "all scores are 0.3, so there is no variance"),
        (np.ones((5, 4)), {"level": 1}, "level == 1"),
        (np.ones((5, 4)), {"drop": -0.1}, "drop == -0.1"),
        ({"a": np.ones((5, 4)), "b": np.ones((5, 3))}, {}, "'b' has other systems than the first level: run4"),
        ({"a": np.ones((5, 4))}, {}, "1 level of the facet"),
        ({"a": np.eye(4), "b": np.eye(4)}, {"facet": "topic"}, "facet == 'topic', must be another name"),
    ],
)
def test_bad_input_is_refused(data: object, options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        g_study(data, **options)  # type: ignore[arg-type]


def test_bad_arguments_are_refused() -> None:
    result = g_study(SYNTHETIC_4)
    with pytest.raises(UsageError, match="topics == 0"):
        result.stability(0)
    with pytest.raises(UsageError, match="target == 1"):
        result.needed(1)
    with pytest.raises(UsageError, match="there is none"):
        result.stability(10, 2)
    with pytest.raises(UsageError, match="no source 'shard'"):
        result["shard"]


def test_two_wrong_signs_do_not_make_an_upper_bound() -> None:
    # f is below the quantile for errors and below what the one for errors lacks to the one without: the product of both
    # differences would be above 0, though systems have no variance.
    ratios = FRatios(1e-3, 1.0, 4, 3)
    assert ratios.relative(0.95) == (0, 0)
    assert ratios.absolute(0.95) == (0, 0)
