"""The E-step of PBM and UBM in the core against the same loop in Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cranfield import _core


def literal_step(
    pair: list[int], place: list[int], skipped: list[float], theta: list[float], pairs: int
) -> tuple[list[float], float]:
    success, likelihood = [0.0] * len(theta), 0.0
    for p, r, count in zip(pair, place, skipped, strict=True):
        a, e = theta[p], theta[pairs + r]
        if count:
            # Without a click: attractive but not examined, or examined but not attractive.
            success[p] += count * a * (1 - e) / (1 - a * e)
            success[pairs + r] += count * e * (1 - a) / (1 - a * e)
            likelihood += count * math.log(1 - a * e)
    return success, likelihood


def test_the_core_counts_as_the_loop_in_python_does() -> None:
    rng = np.random.default_rng(0)
    pair, place = rng.integers(0, 30, 500).astype(np.int32), rng.integers(0, 10, 500).astype(np.int32)
    skipped, theta = rng.integers(0, 4, 500).astype(float), rng.uniform(0.01, 0.99, 40)
    success, likelihood = _core.examination_step(pair, place, skipped, theta, 30, 2)
    wanted = literal_step(pair.tolist(), place.tolist(), skipped.tolist(), theta.tolist(), 30)
    np.testing.assert_allclose(success, wanted[0])
    assert likelihood == pytest.approx(wanted[1])


def test_many_cells_give_the_same_answer_with_any_number_of_threads() -> None:
    rng = np.random.default_rng(1)
    pair = np.sort(rng.integers(0, 20_000, 160_000)).astype(np.int32)
    place = rng.integers(0, 10, len(pair)).astype(np.int32)
    skipped, theta = rng.integers(0, 3, len(pair)).astype(float), rng.uniform(0.01, 0.99, 20_010)
    success, likelihood = _core.examination_step(pair, place, skipped, theta, 20_000, 1)
    wanted = literal_step(pair.tolist(), place.tolist(), skipped.tolist(), theta.tolist(), 20_000)
    np.testing.assert_allclose(success, wanted[0])
    assert likelihood == pytest.approx(wanted[1])
    for threads in (2, 5):
        again = _core.examination_step(pair, place, skipped, theta, 20_000, threads)
        np.testing.assert_array_equal(again[0], success)
        assert again[1] == likelihood


def test_a_click_that_is_certain_and_did_not_happen_is_impossible() -> None:
    one = np.zeros(1, np.int32)
    for skipped in (1.0, 2.0):
        assert _core.examination_step(one, one, np.array([skipped]), np.ones(2), 1, 1)[1] == -math.inf


def test_logarithms_with_the_weight_0_count_as_0() -> None:
    assert _core.weighted_log(np.array([0.0, 2.0]), np.array([0.0, 0.5])) == pytest.approx(2 * math.log(0.5))
    assert _core.weighted_log(np.array([1.0]), np.array([0.0])) == -math.inf
    with pytest.raises(ValueError, match="columns of different lengths"):
        _core.weighted_log(np.ones(1), np.ones(2))


def test_a_document_that_is_always_clicked_has_no_part_in_it() -> None:
    ones = np.ones(2)
    success, likelihood = _core.examination_step(np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1), ones, 1, 1)
    assert success.tolist() == [0, 0]
    assert likelihood == 0


def test_wrong_arrays_are_errors() -> None:
    one, number = np.zeros(1, np.int32), np.ones(1)
    with pytest.raises(ValueError, match="columns of different lengths"):
        _core.examination_step(one, one, np.ones(2), np.ones(2), 1, 1)
    with pytest.raises(ValueError, match="more pairs than parameters"):
        _core.examination_step(one, one, number, number, 2, 1)
    for pair, place in ((-1, 0), (1, 0), (0, 1)):
        with pytest.raises(ValueError, match="a cell without a parameter"):
            _core.examination_step(one + np.int32(pair), one + np.int32(place), number, np.full(2, 0.5), 1, 1)
